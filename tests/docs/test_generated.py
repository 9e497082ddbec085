"""What is generated of the documentation is what comes now; `make pages` writes it anew."""

from __future__ import annotations

import pytest

from ntkexp.claims.ledger import ledger as claims
from ntkexp.claims.verdict import judge_all
from ntkexp.results.reading import collect
from ntkexp.scripts.alignment import fig_memorising
from ntkexp.scripts.runs import chosen
from ntkexp.scripts.tools.pages import gallery, ledger, site, verdicts

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


def test_every_claim_has_its_interval_on_the_page_of_thresholds() -> None:
    page = ledger.thresholds()
    for claim in claims():
        assert f"\n| `{claim.id}` | {claim.figure or ''} | " in page, claim.id


@pytest.mark.on_demand
def test_the_verdicts_are_those_of_the_reference_results() -> None:
    findings = judge_all(claims(), collect([verdicts.REFERENCE]))
    assert verdicts.PAGE.read_text(encoding="utf-8") == verdicts.written(findings), ANEW
    page = ledger.statements()
    for finding in findings:
        (row,) = [line for line in page.splitlines() if f"| `{finding.claim.id}` | " in line]
        assert finding.verdict in row and finding.claim.says in row.replace("\\|", "|")


def test_a_page_is_filled_with_what_it_asks_for() -> None:
    page = site.filled("<!-- README: Five minutes -->\nelsewhere\n<!-- end -->\n<!-- tables -->\n")
    assert "ntkexp list" in page and "\nelsewhere" not in page
    assert "### evals" in page and "<!-- tables -->" not in page


def test_links_out_of_the_documentation_become_text_and_the_notebook_its_page() -> None:
    kept = "[c](train.md#x), ![d](figures/d.png)\n```\n[e](../f)\n```\n"
    page = f"[a](../ntkexp/cli.py), [b](tour.ipynb), {kept}"
    assert site.with_links(page, site.DOCS) == f"a, [b](tour.md), {kept}"
