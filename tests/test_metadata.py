"""What the project says of itself agrees with what it is."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import ntkexp
from ntkexp.papers import registry
from ntkexp.papers.registry import paper

TOP = Path(ntkexp.__file__).parents[1]


@pytest.fixture
def citation() -> dict[str, Any]:
    told: dict[str, Any] = yaml.safe_load((TOP / "CITATION.cff").read_text(encoding="utf-8"))
    return told


def test_version_and_licence_are_the_same_everywhere(citation: dict[str, Any]) -> None:
    changes = re.findall(r"^## (\S+)", (TOP / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert ntkexp.__version__ == citation["version"] == changes[0]
    stated = ConfigParser()
    stated.read(TOP / "setup.cfg")
    assert stated["metadata"]["license"] == citation["license"] == "MIT"
    assert (TOP / "LICENSE").read_text().startswith("MIT License")


def test_every_paper_with_figures_here_is_cited_beside_the_other_works(
    citation: dict[str, Any],
) -> None:
    titles = [work["title"] for work in citation["references"]]
    assert len(set(titles)) == len(titles) >= 5
    assert all(work["authors"] for work in citation["references"])
    ours = [name for name in registry.names() if paper(name).package.startswith("ntkexp.")]
    assert "alignment" in ours
    for name in ours:
        assert paper(name).title in titles


def test_the_classifiers_name_the_versions_of_python_that_are_accepted() -> None:
    stated = ConfigParser()
    stated.read(TOP / "setup.cfg")
    named = re.findall(r"Python :: 3\.(\d+)", stated["metadata"]["classifiers"])
    accepted = re.findall(r"3\.(\d+)", stated["options"]["python_requires"])
    assert [int(version) for version in named] == [*range(*map(int, accepted))]
