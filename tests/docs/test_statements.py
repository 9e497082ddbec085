"""A page of statements names every statement of its work in the ledger, and nothing else."""

from __future__ import annotations

import re

import pytest

from ntkexp.claims.claim import Section
from ntkexp.claims.ledger import ledger
from tests.docs.pages import TOP

WORKS = ("adaptive", "curvature", "information", "lazy", "linearised", "spectral")
ID = re.compile(r"`([a-zA-Z0-9]+(?:-[a-zA-Z0-9]+)+)`")
WORD = re.compile(r"`([a-zA-Z0-9]+)`")  # one may be an id, too


@pytest.mark.parametrize("work", WORKS)
def test_each_statement_stands_on_its_page(work: str) -> None:
    page = (TOP / "docs" / work / "statements.md").read_text(encoding="utf-8")
    named = {f"{work}-{name}" for name in ID.findall(page)} - {f"{work}-"}
    claims = {claim.id: claim.section for claim in ledger([work])}
    assert named <= claims.keys()
    named |= {f"{work}-{name}" for name in WORD.findall(page)}
    stated = {name for name, section in claims.items() if section is Section.paper}
    assert stated <= named


@pytest.mark.parametrize("work", WORKS)
def test_what_has_no_row_names_a_test_that_is_there_or_a_reason(work: str) -> None:
    page = (TOP / "docs" / work / "statements.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    for *_, answer in rows:
        assert len(answer.strip(" |")) > 3
    for file in re.findall(r"`(tests/[\w/.]+)`", page):
        assert (TOP / file).exists(), file
