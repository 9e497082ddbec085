"""The site: every page is in its navigation, and it needs no network to be read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import TOP

DOCS = TOP / "docs"
# What a page loads by itself; a link may lead anywhere.
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]* src=\"?((?:https?:)?//[^\" >]+)"
    r"|<link[^>]* rel=\"?(?:stylesheet|preconnect|preload|icon)\"?"
    r"[^>]* href=\"?((?:https?:)?//[^\" >]+)"
    r"|url\([\"']?((?:https?:)?//[^)\"']+)"
)


def named(nav: Any) -> Iterator[str]:
    """The pages and folders that a navigation names."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, list):
        for item in nav:
            yield from named(item)
    else:
        for item in nav.values():
            yield from named(item)


def test_every_page_is_in_the_navigation_and_once() -> None:
    config = yaml.safe_load((TOP / "mkdocs.yml").read_text(encoding="utf-8"))
    names = list(named(config["nav"]))
    assert len(names) == len(set(names))
    for name in names:
        # The notebook's page is made of it.
        assert (DOCS / name).exists() or (DOCS / name).with_suffix(".ipynb").exists(), name
    folders = [name for name in names if name.endswith("/")]
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    alone = {page for page in pages if not page.startswith(tuple(folders))}
    assert alone <= set(names), "not in mkdocs.yml"


def test_a_paper_leads_to_all_of_its_pages() -> None:
    """The navigation of a folder goes by its README: whoever reads files gets there by it, too."""
    for paper in ("adaptive", "lazy", "gallery", "measured"):
        text = (DOCS / paper / "README.md").read_text(encoding="utf-8")
        for page in (DOCS / paper).glob("*.md"):
            assert page.name == "README.md" or f"({page.name})" in text, page.name


@pytest.mark.on_demand
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(
    tmp_path: Path,
) -> None:
    pytest.importorskip("material")
    site = tmp_path / "site"
    words = ("build", "--strict", "--quiet", "--site-dir", str(site))
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", *words],
        cwd=TOP,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for file in [*site.rglob("*.html"), *site.rglob("*.css")]:
        found = LOADED.findall(file.read_text(encoding="utf-8"))
        assert not found, f"{file.relative_to(site)}: {found}"
    assert "tangent_kernel_tiles" in (site / "api" / "tangent.html").read_text(encoding="utf-8")
    if browser := shutil.which("chromium") or shutil.which("google-chrome"):
        assert found_in_files(browser, site) > 0


def found_in_files(browser: str, site: Path) -> int:
    """How many pages the search finds in a site that is opened from its files."""
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000")
    address = f"{(site / 'index.html').as_uri()}?q=eigenvalue"
    done = subprocess.run(
        [browser, *flags, "--dump-dom", address], capture_output=True, text=True, timeout=120
    )
    found = re.search(r"(\d+) matching documents", done.stdout)
    return int(found[1]) if found else 0
