"""What is generated of the documentation is what comes now; `make pages` writes it anew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ntkexp.claims.claim import Section
from ntkexp.claims.command import judged, records_of
from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import judge
from ntkexp.experiments import MAIN
from ntkexp.scripts.tools.pages import gallery, networks, verdicts
from tests.papers.alignment.claim_examples import EXAMPLES

ANEW = "make pages writes it anew"


def test_the_gallery_is_what_the_figures_say() -> None:
    pages = gallery.pages()
    assert {file.stem for file in gallery.GALLERY.glob("*.md")} == set(pages)
    for paper, text in pages.items():
        file = gallery.GALLERY / f"{paper}.md"
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: {ANEW}"
    for image in (gallery.DOCS / "figures").rglob("fig*.png"):
        assert f"{image.name})" in "".join(pages.values()), image.name


def test_the_table_of_networks_is_what_was_measured() -> None:
    page = networks.DOCUMENT.read_text(encoding="utf-8")
    assert networks.document(page) == page, f"{networks.DOCUMENT.name}: {ANEW}"


def test_every_claim_on_the_main_paper_stands_beside_a_sentence_of_its_text() -> None:
    """But for the notebooks' curves, which are no sentences; and the page names no other claim."""
    text = {claim.id for claim in ledger([MAIN]) if claim.section is not Section.notebooks}
    assert set(verdicts.statements()) == text


@pytest.mark.on_demand
def test_the_verdicts_are_those_of_the_reference_results() -> None:
    findings = judged(records_of([verdicts.REFERENCE]))
    for file, text in verdicts.written(findings).items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: {ANEW}"


def test_a_horizon_names_the_runs_that_came_so_far_by_recipe_and_those_that_did_not() -> None:
    claim = next(claim for claim in ledger([MAIN]) if claim.id == "fig11-rise")
    made = [one for one in EXAMPLES[claim.id](True) if one.experiment != "mlp_mnist"]
    runs = [replace(one, config={**one.config, "recipe": "paper"}) for one in made]
    found = [judge(claim, runs, recipe) for recipe in claim.recipes]
    assert verdicts.reached(found) == (
        "`recipe=paper`: vgg19_clean, resnet18_cifar10 (not mlp_mnist); `recipe=released`: none"
    )
    assert verdicts.reached([judge(claim, [])]) == "none"


def test_a_statement_judged_without_some_of_its_networks_says_so() -> None:
    claim = replace(next(one for one in ledger([MAIN]) if one.id == "fig11-rise"), work=MAIN)
    made = [one for one in EXAMPLES[claim.id](True) if one.experiment != "mlp_mnist"]
    some = judge(claim, made)
    page = "| `fig11-rise`: holds, `fig11-rise`: no runs / fails |"
    both = verdicts.with_verdicts(page, [some])
    words = "`fig11-rise`: holds (2 of 3 experiments)"
    assert both == f"| {words}, {words} |"
    assert verdicts.with_verdicts(both, [some]) == both
    assert verdicts.with_verdicts(f"{words} / fails", [judge(claim, [])]) == "`fig11-rise`: no runs"
    assert "| 1 | 0 | 0 | 0 | 1 |" in verdicts.counted([some])


def test_statements_on_smaller_networks_are_not_counted_as_full_size() -> None:
    claim = next(claim for claim in ledger([MAIN]) if claim.id == "fig02-t40")
    whole = EXAMPLES[claim.id](True)
    narrow = [replace(one, config={**one.config, "model.base": 16}) for one in whole]
    for runs, words in ((whole, "| 1 | none |"), (narrow, "| 0 | 2 |"), ([], "| 0 | none |")):
        assert words in verdicts.counted([judge(claim, runs)])
