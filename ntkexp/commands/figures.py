"""`ntkexp figures`: draw every figure that has its runs, and name the commands of the others.

ntkexp figures                       all: each from outputs, where that has all its runs, else from
                                     the reference results
ntkexp figures alignment 2 4         of one paper, by number
ntkexp figures rademacher            by a part of the file's name
ntkexp figures --changed             only where runs or code changed since
ntkexp figures alignment 2 --exp mine    from runs of one's own, in outputs/figures/own
"""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ntkexp.commands.command import Command, flag, words
from ntkexp.errors import UserError


class Inches(float):
    """A length above 0."""

    def __new__(cls, word: str) -> Self:
        from argparse import ArgumentTypeError

        with contextlib.suppress(ValueError):
            if 0 < float(word) < math.inf:
                return super().__new__(cls, word)
        raise ArgumentTypeError(f"{word}: expected inches, above 0")


@dataclass(eq=False, repr=False)
class Figures(Command):
    """draw every figure that has its runs; with --exp from runs of one's own"""

    call = "figures [PAPER] [FIG ...] [--reference] [--runs DIR ...] [--exp NAME] [FLAGS]"
    short = "figures [PAPER] [FIG] [--out DIR]"

    names: list[str] = words(
        PAPER="of one paper; --paper NAME says the same",
        FIG="this figure, by its number or a part of its file's name",
    )
    paper: str | None = flag("of one paper", "NAME")
    reference: bool = flag("from the reference results, whatever runs there are of one's own")
    runs: list[Path] = flag(
        "from runs in these folders; without it from one's own, the newest, where they have all "
        "that the figure needs, else from the reference results",
        "DIR ...",
    )
    out: Path | None = flag("where they go; outputs/figures unless told", "DIR")
    changed: bool = flag("only where runs or code changed since")
    exp: str | None = flag(
        "one's own runs of this experiment, into outputs/figures/own/NAME; several with commas "
        "between",
        "NAME",
    )
    columns: str | None = flag(
        "with --exp: a column for each value of this option (or several, with commas between); "
        "without it of all in which runs differ",
        "KEY",
    )
    width: Inches | None = flag("with --exp: of the picture", "INCHES")
    style: Path | None = flag(
        "with --exp: a style sheet for matplotlib, over the papers' look", "FILE"
    )
    csv: bool = flag("with --exp: what is plotted, as a table beside the picture")

    def execute(self) -> int:
        """Draw what is asked for. Returns 1 if a script failed; missing runs are no failure."""
        from ntkexp import figures
        from ntkexp.papers.scripts import FIGURES
        from ntkexp.results.files import refuse_unwritable
        from ntkexp.results.folders import OUTPUTS, roots

        out = self.out or FIGURES
        refuse_unwritable(out)
        if self.reference and self.runs:
            raise UserError("--reference, --runs: expected one of the two")
        own, kept = roots(OUTPUTS)
        if self.exp:
            places = [kept] if self.reference else self.runs
            return self._of_ones_own(self.exp.split(","), places, out)
        if self.columns or self.width or self.style or self.csv:
            raise UserError(
                "--columns, --width, --style and --csv are for --exp: runs of one's own"
            )
        inputs = self.runs or ([kept] if self.reference else [own, kept])
        record = figures.Drawn(out, inputs)
        wanted = figures.chosen(self.names, self.paper)
        wanted = [script for script in wanted if not (self.changed and record.stands(script))]
        if not wanted:
            print("every figure is as its runs are")
            return 0
        source = ["--runs", *map(str, self.runs)] if self.runs else []
        source += ["--reference"] if self.reference else []
        return figures.draw_all(wanted, source, out, record)

    def _of_ones_own(self, experiments: Sequence[str], places: Sequence[Path], out: Path) -> int:
        from ntkexp.figures import chosen, own

        wanted = chosen(self.names, self.paper)
        papers = {script.paper for script in wanted}
        if len(papers) > 1 or wanted == chosen([], *papers):
            named = " ".join(self.names) or "2 3"
            raise UserError(f"--exp {self.exp}: of which figures? such as alignment {named}")
        keys = self.columns.split(",") if self.columns else ()
        for path in own().save(
            wanted, experiments, places, out,
            columns=keys, width=self.width, style=self.style, csv=self.csv,
        ):  # fmt: skip
            print(path, flush=True)
        return 0

    @classmethod
    def candidates(cls, typed: list[str]) -> list[str]:
        from ntkexp.papers.scripts import scripts

        names = ((script.paper, script.figure) for script in scripts())
        return list(dict.fromkeys(name for pair in names for name in pair if name))
