"""The page: templates filled with the ledger, the figures, the runs and the benchmarks."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any

import pandas as pd

from ntkexp.claims.record import Record
from ntkexp.claims.rendering import commands, notes, row, summary
from ntkexp.claims.verdict import Finding, Verdict
from ntkexp.report.facts import Drawing, Group
from ntkexp.report.panels import panels

HERE = resources.files("ntkexp.report")


def page(
    findings: Sequence[Finding],
    drawings: Sequence[Drawing],
    groups: Sequence[Group],
    benchmarks: Mapping[str, pd.DataFrame],
    plotly: str,
) -> str:
    """One HTML document that needs nothing but itself."""
    shown = [group for group in groups if group.records]
    return Template(_file("page.html")).substitute(
        style=_file("style.css"),
        claims=_claims(findings),
        figures="\n".join(map(_figure, drawings))
        or _absent("No figure is drawn yet: make figures"),
        explore=_EXPLORE if shown else _absent("No finished runs yet: ntkexp list"),
        benchmarks=_benchmarks(benchmarks),
        footer=_footer(shown),
        runs=_json([_runs(group) for group in shown]),
        plotly=plotly,
        script=_file("page.js"),
    )


def _file(name: str) -> str:
    return HERE.joinpath(name).read_text(encoding="utf-8").strip()


def _json(value: object) -> str:
    """JSON that a script element can hold: no `</script>` inside."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")


def _absent(text: str) -> str:
    return f'<p class="soft">{html.escape(text)}</p>'


def _claims(findings: Sequence[Finding]) -> str:
    counts = {verdict: sum(found.verdict is verdict for found in findings) for verdict in Verdict}
    buttons = "".join(
        f'<button type="button" aria-pressed="false" data-verdict="{_class(verdict)}">'
        f'<span class="verdict {_class(verdict)}">{count}</span> {verdict}</button>'
        for verdict, count in counts.items()
    )
    heads = "".join(f"<th>{name}</th>" for name in ("Figure", "Claim", *_BESIDE.values()))
    rows = "\n".join(map(_claim, findings))
    told = "".join(f"<li>{html.escape(note)}</li>" for note in notes(findings))
    missing = "".join(f"<li><code>{html.escape(line)}</code></li>" for line in commands(findings))
    return (
        f"<p>{html.escape(summary(findings))}. A claim holds <em>partly</em> when it does for some "
        "of its seeds or panels. <em>narrow</em> is a convolutional net of fewer channels, "
        "<em>small</em> a miniature. Verdicts are computed.</p>"
        f'<div class="tally">{buttons}</div>'
        f'<div class="scroll"><table class="claims"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        + (f'<p class="soft small">About the runs:</p><ul class="small">{told}</ul>' if told else "")
        + (f"<details><summary>Commands that make the missing runs</summary><ul>{missing}</ul>"
           "</details>" if missing else "")
    )  # fmt: skip


_BESIDE = {"paper": "Paper", "holds if": "Holds if", "measured": "Measured", "verdict": "Verdict",
           "scale": "Scale"}  # fmt: skip


def _class(verdict: Verdict) -> str:
    return verdict.replace(" ", "-")


def _claim(finding: Finding) -> str:
    cells = {name: html.escape(cell) for name, cell in row(finding).items()}
    claim, kind = finding.claim, _class(finding.verdict)
    return (
        f'<tr id="{claim.id}" data-verdict="{kind}">'
        f'<td data-name="Figure">{cells["figure"]}</td>'
        f'<td class="wide">{html.escape(claim.says)}'
        f'<br><span class="soft small">{html.escape(claim.number)}</span></td>'
        f'<td class="wide" data-name="Paper">{cells["paper"]}</td>'
        f'<td class="wide" data-name="Holds if">{cells["holds if"]}</td>'
        f'<td class="wide measured" data-name="Measured">{cells["measured"]}</td>'
        f'<td><span class="verdict {kind}">{cells["verdict"]}</span></td>'
        f'<td class="wide" data-name="Scale">{cells["scale"]}</td></tr>'
    )


def _figure(drawing: Drawing) -> str:
    title, _, rest = drawing.caption.partition("\n")
    heading = title if title.startswith(drawing.name) else f"{drawing.name}. {title}"
    told = " ".join(rest.split())
    return (
        f'<article class="sheet" id="{drawing.stem}"><h3>{html.escape(heading)}</h3>'
        f'<p class="small soft">{html.escape(told)}</p>'
        f'<div class="drawing">{inlined(drawing.svg, drawing.stem, heading)}</div>'
        f"{''.join(map(_facts, drawing.groups))}</article>"
    )


def inlined(svg: str, prefix: str, label: str) -> str:
    """An SVG as a part of a page: without its prologue, and with ids that no other figure has."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", body)
    body = re.sub(r'((?:xlink:)?href)="#([^"]+)"', rf'\1="#{prefix}-\2"', body)
    return body.replace("<svg", f'<svg role="img" aria-label="{html.escape(label)}"', 1).strip()


def _facts(group: Group) -> str:
    if not group.records:
        return f'<pre>{html.escape(group.command)}</pre><p class="soft small">no runs</p>'
    told = {
        "runs": f"{len(group.records)}, {_plural('seed', group.seeds)}",
        "swept": group.swept,
        "scale": group.scale,
        "hardware": group.hardware,
        "time": f"{duration(group.seconds)} in all",
        "data": "; ".join(group.notes),
    }
    entries = "".join(
        f"<dt>{name}</dt><dd>{html.escape(value)}</dd>" for name, value in told.items() if value
    )
    config = "\n".join(f"{key}: {value}" for key, value in group.config.items())
    return (
        f"<pre>{html.escape(group.command)}</pre>"
        f'<dl class="facts">{entries}</dl>'
        f"<details><summary>Config of {html.escape(group.experiment)}</summary>"
        f"<pre>{html.escape(config)}</pre></details>"
    )


def _plural(word: str, values: Sequence[int]) -> str:
    return f"{word}{'s' if len(values) > 1 else ''} {', '.join(map(str, values))}"


def duration(seconds: float) -> str:
    """
    >>> duration(4000)
    '1.1 hours'
    """
    for size, name in ((3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 1.5 * size or (name == "hours" and seconds >= size):
            return f"{seconds / size:.2g} {name}"
    return f"{seconds:.0f} seconds"


_EXPLORE = """
<p class="small soft">Hover for values, drag to zoom all panels along the iterations, double-click to
zoom out. The slider moves the spectrum and the eigenfunctions; a click on a curve takes it there.</p>
<div class="controls">
<label>Run <select id="run"></select></label>
<label><input type="checkbox" id="show-train" checked> train</label>
<label><input type="checkbox" id="show-test" checked> test</label>
<label><input type="checkbox" id="show-layers" checked> layers</label>
<label class="time" id="time">Iteration <input type="range" id="step" min="0" max="0" value="0">
<output id="step-told" for="step"></output></label>
</div>
<p class="small soft" id="run-about"></p>
<div class="panels" id="panels"></div>
"""


def _runs(group: Group) -> dict[str, Any]:
    return {"name": group.experiment, "runs": [_run(group, record) for record in group.records]}


def _run(group: Group, record: Record) -> dict[str, Any]:
    swept = f"{group.swept.partition(' ')[0]} {record.axis:g}, " if group.swept else ""
    about = [group.about, f"run {record.run}", record.scale, *record.notes]
    return {
        "id": f"{record.experiment}/{record.run}",
        "label": f"{record.experiment}, {swept}seed {record.seed}",
        "about": "; ".join(about),
        "panels": panels(record),
    }


def _benchmarks(tables: Mapping[str, pd.DataFrame]) -> str:
    if not tables:
        return _absent("No benchmark tables yet: make bench")
    return "".join(
        f'<article class="sheet"><h3>{html.escape(name)}</h3><div class="scroll">'
        f"{_table(frame)}</div></article>"
        for name, frame in tables.items()
    )


def _table(frame: pd.DataFrame) -> str:
    numeric = [pd.api.types.is_numeric_dtype(frame[name]) for name in frame]
    kinds = [' class="number"' if one else "" for one in numeric]
    heads = "".join(
        f"<th{kind}>{html.escape(str(name).replace('_', ' '))}</th>"
        for name, kind in zip(frame, kinds, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{kind}>{_cell(value)}</td>" for value, kind in zip(values, kinds, strict=True)
        )
        + "</tr>"
        for values in frame.itertuples(index=False)
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.3g}"
    return html.escape(str(value))


def _footer(groups: Iterable[Group]) -> str:
    versions = {
        f"{name} {version}"
        for group in groups
        for record in group.records
        for name, version in (record.life.get("versions") or {}).items()
        if name in ("torch", "numpy")
    }
    told = f"Runs made with {', '.join(sorted(versions))}." if versions else ""
    return f"<p>{told} Written by <code>ntkexp report</code>.</p>"
