"""Two papers on one page: each under its title, and nothing of one taken for the other's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ntkexp.claims.ledger import ledger as claims_of
from ntkexp.claims.rendering import as_summary, as_text
from ntkexp.claims.verdict import judge
from ntkexp.papers.scripts import read
from ntkexp.report import facts
from ntkexp.report.ledger import ledger
from ntkexp.report.sheets import figures

MAIN = claims_of(["alignment"])[0]
OTHER = replace(MAIN, work="idle", figure="5.1")
TITLE = "Implicit Regularization via Neural Feature Alignment"


def test_claims_of_one_id_stand_under_their_papers_with_ids_of_their_own() -> None:
    drawn = {("idle", "5.1"): "idle-fig51", ("idle", "1"): "idle-fig01"}
    page = ledger([judge(MAIN, []), judge(OTHER, [])], drawn)
    places = [page.index(word) for word in (
        f">{TITLE}</h3>", f'id="{MAIN.id}"', ">idle</h3>", f'id="idle-{MAIN.id}"',
    )]  # fmt: skip
    assert places == sorted(places)
    # Figure 1 of the main paper is not drawn; that of the other is another figure.
    assert '<a href="#idle-fig51">5.1</a>' in page
    assert '"#idle-fig01"' not in page


def test_text_and_summary_go_paper_by_paper() -> None:
    findings = [judge(MAIN, []), judge(OTHER, [])]
    assert as_text(findings, 120).index(TITLE) < as_text(findings, 120).index("\nidle\n")
    headings = [line for line in as_summary(findings).splitlines() if line.startswith("#")]
    assert headings == [f"### {TITLE}", "### idle"]


def test_a_figure_shows_the_runs_of_its_own_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scripts" / "idle"
    folder.mkdir(parents=True)
    (folder / "fig02_rates.py").write_text('"""Figure 2: rates.\n\nBy width."""\nFIGURE = "2"\n')
    here = facts.scripts()
    both = [*here, read(folder / "fig02_rates.py")]
    monkeypatch.setattr(facts, "scripts", lambda: both)
    svg = '<?xml version="1.0"?>\n<svg><g id="a"/></svg>'
    for place in ("fig02_spectrum.svg", "idle/fig02_rates.svg"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(svg)
    main, other = facts.drawings(tmp_path, facts.groups([]), [])
    assert (main.id, other.id) == ("fig02_spectrum", "idle-fig02_rates")
    assert "vgg19_clean" in {group.experiment for group in main.groups}
    assert other.groups == ()
    page = figures([main, other])
    assert page.index(f"<h3>{TITLE}</h3>") < page.index("<h3>idle</h3>") < page.index("By width.")
