"""One page that shows everything, from the runs and figures at hand.

A template is filled with the ledger, the figures, the runs and the benchmarks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

import pandas as pd

from ntkexp.claims.rendering import works
from ntkexp.claims.verdict import Finding, Verdict
from ntkexp.errors import UserError
from ntkexp.papers.registry import Paper
from ntkexp.report import sheets
from ntkexp.report.facts import Drawing, ShownRuns, first_of, short, which_network
from ntkexp.report.ledger import ledger
from ntkexp.report.panels import builders, panels
from ntkexp.report.sheets import benchmarks, folded, packed, soft, text
from ntkexp.results.record import SCALES, Record


def plotly_script() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise UserError(
            "report: needs plotly, which is not installed; pip install 'ntkexp[report]'"
        ) from error
    return str(get_plotlyjs())


HERE = resources.files("ntkexp.report")


def page(
    findings: Sequence[Finding],
    drawings: Sequence[Drawing],
    groups: Sequence[ShownRuns],
    tables: Mapping[str, pd.DataFrame],
    plotly: str,
) -> str:
    """One HTML document that needs nothing but itself. `plotly`: the library's script."""
    shown = [group for group in groups if group.records]
    # The first drawing of a figure is that of the paper's recipe.
    drawn: dict[tuple[str, str | None], str] = {
        (drawing.paper, drawing.number): drawing.id
        for drawing in reversed(drawings)
        if drawing.number
    }
    papers = list(works(findings))
    return Template(_file("page.html")).substitute(
        style=_file("style.css"),
        papers=text("; ".join(paper.citation for paper in papers)),
        links="".join(map(_link, papers)),
        claims=ledger(findings, drawn),
        figures=sheets.figures(drawings) or soft("No figure is drawn yet: ntkexp figures"),
        explore=_file("explore.html") if shown else soft("No finished runs yet: ntkexp list"),
        benchmarks=benchmarks(tables),
        footer=_footer(groups),
        summary=_summary(findings),
        opens=text(opening(shown)),
        runs=packed(json.dumps([_runs(group) for group in shown], separators=(",", ":"))),
        plotly=packed(plotly),
        script=_file("page.js"),
    )


def _link(paper: Paper) -> str:
    return f'<li><a href="#claims-{paper.name}">{text(paper.title)}</a></li>'


def _file(name: str) -> str:
    return HERE.joinpath(name).read_text(encoding="utf-8").strip()


def _summary(findings: Sequence[Finding]) -> str:
    counts = (
        (sum(finding.verdict is verdict for finding in findings), verdict) for verdict in Verdict
    )
    words = ", ".join(f"{count} {verdict}" for count, verdict in counts)
    return f'<a href="#claims">{len(findings)} claims</a>: {words}.'


def opening(shown: Sequence[ShownRuns]) -> str:
    """The id of the run the picker opens on: of the paper's size if there is one, of the main paper
    if it can be, and with the most to look at."""
    records = [record for group in shown for record in group.records]
    for scale in SCALES:
        of_scale = [record for record in records if record.scale == scale]
        if of_scale:
            return _run_id(max(of_scale, key=_interest))
    return ""


def _interest(record: Record) -> tuple[bool, int]:
    # Experiments of the main paper have bare names.
    return "/" not in record.experiment, len(builders(record))


def _run_id(record: Record) -> str:
    return f"{record.experiment}/{record.run}"


def _runs(group: ShownRuns) -> dict[str, Any]:
    return {"name": group.name, "runs": [_run(group, record) for record in group.records]}


def _run(group: ShownRuns, record: Record) -> dict[str, Any]:
    values = record.swept if record.axes else [record.config.get(key) for key in group.apart]
    swept = "".join(f"{k} {short(v)}, " for k, v in zip(group.apart, values, strict=True))
    scale = "" if record.scale == "paper" else f" ({record.scale})"
    network = [words] if (words := which_network(record)) else []
    about = [group.about, f"run {record.run}", *network, f"scale {record.scale}", *record.notes]
    return {
        "id": _run_id(record),
        "label": f"{group.name}, {swept}seed {record.seed}{scale}",
        "about": "; ".join(about),
        "panels": panels(first_of(record)),
    }


def _footer(groups: Sequence[ShownRuns]) -> str:
    versions = {
        f"{name} {version}"
        for group in groups
        for record in group.records
        for name, version in record.life.get("versions", {}).items()
        if name in ("torch", "numpy")
    }
    made_with = f"Runs made with {', '.join(sorted(versions))}. " if versions else ""
    others = (
        f"{text(group.name)}: {' '.join(record.run for record in group.left_out)}"
        for group in groups
        if group.left_out
    )
    left_out = folded("Runs left out: another setting of their experiment is shown", others)
    written = f"<p>{text(made_with)}Written by <code>ntkexp report</code>.</p>"
    return left_out.replace("<details open>", "<details>") + written
