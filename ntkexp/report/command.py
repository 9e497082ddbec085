"""`ntkexp report`: the page, from the runs and figures at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ntkexp.claims.command import judged, records_of
from ntkexp.errors import UserError
from ntkexp.papers.scripts import FIGURES
from ntkexp.report.benchmarks import read_timings
from ntkexp.report.facts import drawings, groups
from ntkexp.report.page import page
from ntkexp.results.files import make_folder, refuse_unwritable, write_text
from ntkexp.results.folders import OUTPUTS, roots
from ntkexp.usage import CommandParser


def report(words: Sequence[str]) -> Path:
    """Write the page and say where it is."""
    given = parser().parse_args(words)
    out: Path = given.out
    if out.is_dir():
        raise UserError(f"--out {out}: is a folder; expected a file, such as {out / 'index.html'}")
    for flag, folders in (("--figures", given.figures), ("--bench", given.bench)):
        for folder in folders:
            if not folder.is_dir():
                raise UserError(f"{flag} {folder}: no such folder")
    refuse_unwritable(out.parent)
    records = records_of(given.runs)
    found = groups(records)
    text = page(
        judged(records),
        drawings(given.figures[0] if given.figures else FIGURES, found),
        found,
        # What the reference carries of them: see scripts/reference.sh bench.
        read_timings(*(given.bench or [root / "bench" for root in roots(OUTPUTS)])),
        plotly_script(),
    )
    make_folder(out.parent)
    write_text(out, text)
    return out


def plotly_script() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise UserError(
            "report: needs plotly, which is not installed; pip install 'ntkexp[report]'"
        ) from error
    return str(get_plotlyjs())


def parser() -> CommandParser:
    found = CommandParser("report")
    found.add_argument("--runs", nargs="+", type=Path, default=[])
    found.add_argument("--figures", nargs=1, type=Path, default=[])
    found.add_argument("--bench", nargs="+", type=Path, default=[])
    found.add_argument("--out", type=Path, default=OUTPUTS / "report" / "index.html")
    return found
