"""What is generated of the documentation is what comes now; `make pages` writes it anew."""

from __future__ import annotations

import pytest

from ntkexp.claims.claim import Section
from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import judge_all
from ntkexp.experiments import MAIN
from ntkexp.results.reading import collect
from ntkexp.scripts.alignment import fig_memorising
from ntkexp.scripts.runs import chosen
from ntkexp.scripts.tools.pages import gallery, networks, verdicts

ANEW = "make pages writes it anew"


@pytest.mark.on_demand
def test_the_gallery_is_what_the_figures_say() -> None:
    pages = gallery.pages()
    assert {file.stem for file in gallery.GALLERY.glob("*.md")} == set(pages)
    for paper, text in pages.items():
        file = gallery.GALLERY / f"{paper}.md"
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: {ANEW}"
    for image in (gallery.DOCS / "figures").rglob("fig*.png"):
        assert f"{image.name})" in "".join(pages.values()), image.name


def test_the_gallery_names_the_words_of_the_runs_that_are_drawn() -> None:
    page = (gallery.GALLERY / "alignment.md").read_text(encoding="utf-8")
    section = page.partition("figures alignment memorising\n")[2].partition("```")[0]
    commands = section.replace("\\\n", "").splitlines()
    for experiment in fig_memorising.EXPERIMENTS.split(","):
        record = chosen(experiment, [gallery.REFERENCE], fig_memorising.TABLES,
                        counts=fig_memorising.knows_few)[0]  # fmt: skip
        (words,) = [line.split() for line in commands if f"+exp={experiment}" in line]
        assert words[:2] == ["ntkexp", "train"]
        assert set(words[3:]) == set(record.typed)


def test_the_table_of_networks_is_what_was_measured() -> None:
    page = networks.DOCUMENT.read_text(encoding="utf-8")
    assert networks.document(page) == page, f"{networks.DOCUMENT.name}: {ANEW}"


def test_every_claim_on_the_main_paper_stands_beside_a_sentence_of_its_text() -> None:
    """But for the notebooks' curves, which are no sentences; and the page names no other claim."""
    text = {claim.id for claim in ledger([MAIN]) if claim.section is not Section.notebooks}
    assert set(verdicts.statements()) == text


@pytest.mark.on_demand
def test_the_verdicts_are_those_of_the_reference_results() -> None:
    findings = judge_all(ledger(), collect([verdicts.REFERENCE]))
    for file, text in verdicts.written(findings).items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: {ANEW}"
