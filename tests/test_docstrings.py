"""The examples in docstrings give what they say."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
# Needs the site's packages, which tests do without.
SITE = "site_docstrings.py"
FILES = [
    file.relative_to(TOP)
    for folder in ("ntkexp", "scripts")
    for file in sorted((TOP / folder).rglob("*.py"))
    if re.search("^ *>>> ", file.read_text(), re.MULTILINE) and file.name != SITE
]


@pytest.mark.parametrize("file", FILES, ids=str)
def test_its_examples_give_what_they_say(file: Path) -> None:
    outcome = doctest.testmod(import_module(".".join(file.with_suffix("").parts)))
    assert outcome.attempted and not outcome.failed
