"""Where each figure comes from: command, config, hardware, time and seeds of its runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ntkexp.claims.effort import line
from ntkexp.experiments import MAIN, Experiment, axes, experiments
from ntkexp.figures import drawn_in
from ntkexp.papers.registry import named
from ntkexp.papers.scripts import Script, folder_of, scripts
from ntkexp.results.record import Record
from ntkexp.results.select import REFERENCE_RESULTS, newest, of_recipe, runs_to_show
from ntkexp.results.status import varied

RELEASED = "recipe=released"
# How the stem of a figure of that recipe ends.
OF_RELEASED = "_released"
# What the config of a group says that its heading does not.
HIDDEN = ("name", "seed", "study.seed", "study.name")


@dataclass(frozen=True)
class ShownRuns:
    """The runs of one experiment, by one recipe, that the page shows."""

    experiment: str
    about: str
    records: tuple[Record, ...]
    recipe: str = "paper"
    left_out: tuple[Record, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.experiment}, {RELEASED}" if self.recipe == "released" else self.experiment

    @property
    def command(self) -> str:
        changes = {change for record in self.records for change in record.typed}
        recipe = [RELEASED] if self.recipe == "released" else []
        return " ".join([line(self.experiment), *recipe, *sorted(changes)])

    @property
    def seeds(self) -> list[int]:
        return sorted({record.seed for record in self.records})

    @property
    def swept(self) -> str:
        """The keys and values in which the runs differ, but for the seed."""
        texts = []
        for key in axes(self.experiment):
            values = {record.config.get(key) for record in self.records}
            texts.append(f"{key} = {', '.join(map(short, sorted(values, key=_place)))}")
        return "; ".join(texts)

    @property
    def apart(self) -> Sequence[str]:
        """The keys by which its runs are told apart, beside the seed."""
        if axes(self.experiment):
            return axes(self.experiment)
        configs = [record.config for record in self.records]
        # Runs that are older than an option have no value of it.
        of_all = [key for key in varied(configs) if all(key in config for config in configs)]
        return [key for key in of_all if key not in HIDDEN]

    @property
    def scale(self) -> str:
        return self.records[0].scale if self.records else "no runs"

    @property
    def hardware(self) -> str:
        return "; ".join(dict.fromkeys(_hardware(record.life) for record in self.records))

    @property
    def seconds(self) -> float:
        return sum(float(record.life.get("seconds", 0.0)) for record in self.records)

    @property
    def notes(self) -> list[str]:
        return list(dict.fromkeys(note for record in self.records for note in record.notes))

    @property
    def config(self) -> Mapping[str, Any]:
        """The config all runs share, by dotted key."""
        hidden = {*HIDDEN, *axes(self.experiment)}
        first = self.records[0].config if self.records else {}
        return {key: value for key, value in first.items() if key not in hidden}


def short(value: object) -> str:
    """A swept value as one would type it.

    >>> short(0.0010), short(True)
    ('0.001', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _place(value: object) -> tuple[bool, float, str]:
    """Orders swept values: numbers first, by size."""
    if isinstance(value, int | float):
        return False, float(value), ""
    return True, 0.0, str(value)


def _hardware(life: Mapping[str, Any]) -> str:
    if "gpu" in life:
        return str(life["gpu"])
    threads = life.get("threads")
    cores = f"{threads} threads" if threads else f"{life.get('cpu_count', '?')} cores"
    return f"{life.get('cpu') or 'CPU'}, {cores}"


def groups(records: Sequence[Record], own: Collection[Record] = ()) -> list[ShownRuns]:
    """Every experiment with the runs that are shown: of one's `own` the newest, or else those that
    the ledger chooses; once more where there are runs by the released recipe. Of experiments that
    are not declared here, all runs."""
    shown = []
    for experiment in experiments():
        of_experiment = [record for record in records if record.experiment == experiment.name]
        shown.append(_chosen(experiment, of_recipe(of_experiment, "paper"), "paper", own))
        released = [record for record in of_experiment if record.recipe == "released"]
        if released:
            shown.append(_chosen(experiment, released, "released", own))
    declared = {experiment.name for experiment in experiments()}
    for name in sorted({record.experiment for record in records} - declared):
        runs = [record for record in records if record.experiment == name]
        shown.append(ShownRuns(name, str(runs[0].config.get("about") or ""), tuple(runs)))
    return shown


def _chosen(
    experiment: Experiment, records: Sequence[Record], recipe: str, own: Collection[Record]
) -> ShownRuns:
    newer = newest(record for record in records if record in own)
    chosen = sorted(newer or runs_to_show(records), key=_order)
    others = tuple(record for record in records if record not in chosen)
    return ShownRuns(experiment.name, experiment.about, tuple(chosen), recipe, others)


def _order(record: Record) -> tuple[tuple[tuple[bool, float, str], ...], int]:
    return tuple(map(_place, record.swept)), record.seed


@dataclass(frozen=True)
class Drawing:
    """A drawn figure: its file, its caption, and whose runs it shows; `source` says it in words,
    where that is known."""

    stem: str
    paper: str
    number: str | None
    svg: str
    caption: str
    groups: tuple[ShownRuns, ...]
    source: str = ""

    @property
    def id(self) -> str:
        """Unique on the page."""
        return self.stem if self.paper == MAIN else f"{self.paper}-{self.stem}"

    @property
    def name(self) -> str:
        return named(self.number) if self.number else self.stem.removeprefix("fig_")

    @property
    def heading(self) -> str:
        """The caption's first sentence."""
        title = self.caption.partition("\n")[0].removesuffix(".")
        if self.stem.endswith(OF_RELEASED):
            title += f" ({RELEASED})"
        return title if title.startswith(self.name) or not self.number else f"{self.name}: {title}"

    @property
    def details(self) -> str:
        """The rest of the caption."""
        return " ".join(self.caption.partition("\n")[2].split())


def drawings(
    folder: Path, groups: Sequence[ShownRuns], reference: Sequence[ShownRuns]
) -> list[Drawing]:
    """The figures drawn in `folder`, paper by paper, those with a number first; with the groups of
    the `reference` results where they were drawn from those."""
    drawn, record = [], drawn_in(folder)
    for script in scripts():
        source = str(record.get(script.name, {}).get("from", ""))
        among = reference if source.startswith(f"from {REFERENCE_RESULTS}") else groups
        for recipe, ending in (("paper", ""), ("released", OF_RELEASED)):
            file = folder_of(script.paper, folder) / f"{script.stem}{ending}.svg"
            if file.is_file():
                shown = tuple(group for group in _shown_by(script, among) if group.recipe == recipe)
                svg, caption = file.read_text(encoding="utf-8"), script.caption
                drawn.append(
                    Drawing(file.stem, script.paper, script.figure, svg, caption, shown, source)
                )
    return drawn


def _shown_by(script: Script, groups: Sequence[ShownRuns]) -> list[ShownRuns]:
    """The runs behind a figure: of the experiments that name it, or else that it is named after."""
    figures_of = {
        experiment.name: experiment.figures
        for experiment in experiments()
        if experiment.paper == script.paper
    }
    of_paper = [group for group in groups if group.experiment in figures_of]
    if script.figure is not None:
        return [group for group in of_paper if script.figure in figures_of[group.experiment]]
    names = {group: group.experiment.rpartition("/")[2] for group in of_paper}
    whole = [group for group, name in names.items() if name in script.stem]
    return whole or [group for group, name in names.items() if name.split("_")[0] in script.stem]


MEMBERS = "members"
# Columns of the table of members; its other columns are what the networks differ in.
ENDS = ("step", "outcome")


def first_of(record: Record) -> Record:
    """The run with the rows of its first network alone; a run of one network as it is."""
    if MEMBERS not in record.tables:
        return record
    first = record.tables[MEMBERS].iloc[0]
    tables = dict(record.tables)
    for name, frame in tables.items():
        keys = [key for key in first.index if key not in ENDS and key in frame]
        tables[name] = frame[(frame[keys] == first[keys]).all(axis=1)]
    return replace(record, tables=tables)


def which_network(record: Record) -> str:
    """`the first of 6 networks: seed 0`; nothing of a run of one."""
    if MEMBERS not in record.tables:
        return ""
    members = record.tables[MEMBERS]
    keys = [key for key in members.columns if key not in ENDS]
    values = ", ".join(f"{key} {members[key].iloc[0]}" for key in keys)
    return f"the first of {len(members)} networks: {values}"
