"""`ntkexp list` and `ntkexp show`: the experiments one can run, and the runs one has."""

from dataclasses import dataclass
from pathlib import Path

from ntkexp.commands.command import Command, flag, words
from ntkexp.errors import UserError


@dataclass(eq=False, repr=False)
class List(Command):
    """every experiment, its figures, its runs; of one experiment how far its runs came"""

    call = "list [NAME|PAPER] [--where CONDITION] [--sort KEY] [--json] [FLAGS]"
    short = "list [NAME]"

    names: list[str] = words()
    where: str | None = flag(
        "a line a run, those alone for which this holds, such as 'test_loss < 0.3 and model.width "
        "== 40' (pandas' query)",
        "CONDITION",
    )
    sort: str | None = flag("a line a run, in order of this number or key of the config", "KEY")
    json: bool = flag("everything of each run, for other programs")
    reference: bool = flag("the runs that come with ntkexp in place of one's own")
    config_dir: Path | None = flag("experiments of one's own as well", "DIR")

    def execute(self) -> str:
        from ntkexp.commands.catalogue import Catalogue
        from ntkexp.commands.terminal import fitted

        if len(self.names) > 1:
            raise UserError(f"ntkexp list takes one experiment, got {' '.join(self.names)}")
        name = self.names[0].removeprefix("+exp=") if self.names else None
        catalogue = Catalogue(self.config_dir, reference=self.reference)
        if self.json or self.sort or self.where:
            from shutil import get_terminal_size

            # pandas is half a second: only here is it worth it.
            from ntkexp.commands.run_table import as_json, as_text, table

            frame = table(catalogue.runs(name), self.where, self.sort)
            if self.json:
                return as_json(frame)
            return as_text(frame, get_terminal_size().columns, self.sort)
        papers = [None, *(experiment.paper for experiment in catalogue.experiments)]
        return fitted(catalogue.overview(name) if name in papers else catalogue.detail(name or ""))

    @classmethod
    def candidates(cls, typed: list[str]) -> list[str]:
        from ntkexp.experiments import experiments

        return [experiment.name for experiment in experiments()]


@dataclass(eq=False, repr=False)
class Show(Command):
    """a run's config, provenance and last numbers; of two runs everything in which they differ,
    and where their tables first do"""

    call = "show RUN [RUN] [--json]"
    short = "show RUN [RUN]"

    names: list[str] = words()
    json: bool = flag("its config and last numbers, for other programs")

    def execute(self) -> str:
        from ntkexp.commands.catalogue import described, differences
        from ntkexp.commands.terminal import fitted
        from ntkexp.results.folders import found

        if len(self.names) not in (1, 2):
            raise UserError("ntkexp show takes one run or two, to compare: folders or ids")
        runs = [found(name) for name in self.names]
        if self.json:
            from ntkexp.commands.run_table import as_json, table

            return as_json(table(runs))
        return fitted(described(*runs) if len(runs) == 1 else differences(*runs))

    @classmethod
    def candidates(cls, typed: list[str]) -> list[str]:
        from ntkexp.results.folders import OUTPUTS, runs

        return [run.name for run in runs(OUTPUTS)]
