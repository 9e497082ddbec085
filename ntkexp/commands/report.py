"""`ntkexp report`: one page that shows everything, from the runs and figures at hand."""

from dataclasses import dataclass
from pathlib import Path

from ntkexp.commands.command import RUNS, Command, flag
from ntkexp.errors import UserError


@dataclass(eq=False, repr=False)
class Report(Command):
    """all of it as one page to look at"""

    call = "report [--runs DIR ...] [--figures DIR] [--bench DIR ...] [--out FILE]"
    short = "report [--runs DIR] [--out FILE]"

    runs: list[Path] = flag(RUNS, "DIR ...")
    figures: Path | None = flag("figures that were drawn there; outputs/figures unless told", "DIR")
    bench: list[Path] = flag("timings of these folders", "DIR ...")
    out: Path | None = flag("the page; outputs/report/index.html unless told", "FILE")

    def execute(self) -> str:
        """Write the page and say where it is."""
        from ntkexp.claims.ledger import ledger
        from ntkexp.claims.verdict import judge_all
        from ntkexp.papers.scripts import FIGURES
        from ntkexp.report.facts import drawings, groups
        from ntkexp.report.page import page, plotly_script
        from ntkexp.report.sheets import read_timings
        from ntkexp.results.files import make_folder, refuse_unwritable, write_text
        from ntkexp.results.folders import OUTPUTS, roots
        from ntkexp.results.reading import collect

        out = self.out or OUTPUTS / "report" / "index.html"
        if out.is_dir():
            page_there = out / "index.html"
            raise UserError(f"--out {out}: is a folder; expected a file, such as {page_there}")
        if self.figures and not self.figures.is_dir():
            raise UserError(f"--figures {self.figures}: no such folder")
        refuse_unwritable(out.parent)
        records = collect(self.runs or roots(OUTPUTS))
        _, reference = roots(OUTPUTS)
        kept = [record for record in records if self.runs or record.lies_in(reference)]
        shown = groups(records, set(records).difference(kept))
        text = page(
            judge_all(ledger(), records),
            drawings(self.figures or FIGURES, shown, groups(kept)),
            shown,
            read_timings(*(self.bench or [root / "bench" for root in roots(OUTPUTS)])),
            plotly_script(),
        )
        make_folder(out.parent)
        write_text(out, text)
        return str(out)
