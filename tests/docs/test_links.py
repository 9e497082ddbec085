"""Every relative link and anchor of README, CONTRIBUTING and docs/ leads somewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.docs.pages import TOP, pages

PAGES = pages()
CODE = re.compile(r"^ *```.*?^ *```$|(?<!`)`[^`\n]+`(?!`)|<!--.*?-->", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+)\)|<(?:img|a) [^>]*(?:src|href)=\"([^\"]+)\"")
ABROAD = ("http://", "https://", "mailto:")
# Files that are named in words, in code and in prose; globs and the docs of others are not meant.
NAMED = re.compile(r"(?<![\w/.*])(docs/[\w/]+\.(?:md|ipynb))")
SOURCES = ("ntkexp", "scripts", "configs", "tests", "examples", ".ci")
MADE_UP = ("tests/docs/test_links.py",)


def links(path: Path) -> Iterator[str]:
    """The targets of a page's links and images, but for those in code."""
    text = path.read_text(encoding="utf-8")
    # Code within the brackets of a link goes, the link stays.
    for found in LINK.finditer(CODE.sub("", text)):
        target = found[1] or found[2]
        if not target.startswith(ABROAD):
            yield target


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"^ *```.*?^ *```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    seen: Counter[str] = Counter()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading)
        seen[re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")] += 1
    # Of one that is there twice GitHub and the site number the second in ways of their own.
    return {anchor for anchor, count in seen.items() if count == 1}


@pytest.mark.parametrize("name", PAGES)
def test_every_link_resolves(name: str) -> None:
    page = PAGES[name]
    for target in links(page):
        place, _, anchor = unquote(target).partition("#")
        found = (page.parent / place).resolve() if place else page
        assert found.exists(), f"{name}: {target}: no such file"
        assert found.is_relative_to(TOP), f"{name}: {target}: outside of the repository"
        if anchor:
            there = anchors(found)
            assert anchor in there, f"{name}: {target}: the anchors are {sorted(there)}"


def test_every_page_that_code_names_is_there() -> None:
    files = [file for folder in SOURCES for file in (TOP / folder).rglob("*") if file.is_file()]
    files += [TOP / "setup.cfg", TOP / "Makefile", TOP / "mkdocs.yml", *PAGES.values()]
    missing = [
        f"{file.relative_to(TOP)}: {name}"
        for file in files
        if file.suffix in (".py", ".sh", ".yaml", ".yml", ".md", ".cfg", ".js", "")
        and file.relative_to(TOP).as_posix() not in MADE_UP
        for name in NAMED.findall(file.read_text(encoding="utf-8"))
        if not (TOP / name).is_file()
    ]
    assert not missing
