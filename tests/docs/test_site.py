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

from ntkexp.scripts.tools.pages import site as pages
from ntkexp.scripts.tools.pages.site import DOCS, NOTEBOOK
from tests.docs.pages import TOP

# What a page loads by itself; a link may lead anywhere.
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]* src=\"?((?:https?:)?//[^\" >]+)"
    r"|<link[^>]* rel=\"?(?:stylesheet|preconnect|preload|icon)\"?"
    r"[^>]* href=\"?((?:https?:)?//[^\" >]+)"
    r"|url\([\"']?((?:https?:)?//[^)\"']+)"
)


def named(nav: Any) -> Iterator[str]:
    """The pages that a navigation names."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, list):
        for item in nav:
            yield from named(item)
    else:
        for item in nav.values():
            yield from named(item)


def test_every_page_is_in_the_navigation_and_once() -> None:
    # BaseLoader: the file names a function, which only the builder calls.
    config = yaml.load((TOP / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    names = list(named(config["nav"]))
    assert len(names) == len(set(names))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert set(names) == pages | {NOTEBOOK.with_suffix(".md").as_posix()}


def test_a_paper_leads_to_all_of_its_pages() -> None:
    """By its README: so whoever reads files gets there, too."""
    for paper in ("adaptive", "lazy", "linearised", "gallery", "measured"):
        text = (DOCS / paper / "README.md").read_text(encoding="utf-8")
        for page in (DOCS / paper).glob("*.md"):
            assert page.name == "README.md" or f"({page.name})" in text, page.name


@pytest.mark.on_demand
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(
    tmp_path: Path,
) -> None:
    pytest.importorskip("material")
    pages.main()
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
    assert "tangent_operator" in (site / "api" / "tangent.html").read_text(encoding="utf-8")
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
