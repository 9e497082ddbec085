"""Figures of the papers, drawn from runs of one's own."""

from __future__ import annotations

import runpy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.errors import UserError, meant
from ntkexp.papers.scripts import Script
from ntkexp.results.files import write_text
from ntkexp.results.folders import OUTPUTS, packaged
from ntkexp.results.reading import collect
from ntkexp.results.record import Record
from ntkexp.results.select import has_rows
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.trained import Columns, SeedRuns, values

OWN = "own"
# Columns that fit on a page; more of them make it wider.
ON_A_PAGE, COLUMN = 4, 1.6
# Keys of a run's setting that follow from the others, or from where it was made.
NO_TITLES = ("scale", "recipe")


def figure(
    script: Script,
    records: Iterable[Record] | Mapping[str, Iterable[Record]],
    keys: Sequence[str],
    width: float | None,
    style: Path | str | None,
) -> Figure:
    """A figure of any runs (`ntkexp.figures.draw`)."""
    named = records if isinstance(records, Mapping) else _by_experiment(records)
    make = _made_from(script)
    with drawing.look(style):
        return _drawn(_columns(named, make, keys), make, width)


def save(
    scripts: Sequence[Script], experiments: Sequence[str], places: Sequence[Path], out: Path,
    *, columns: Sequence[str], width: float | None, style: str | None, csv: bool,
) -> Iterator[Path]:  # fmt: skip
    """Draw the runs of these experiments into a folder of their own; gives the files."""
    makes = [_made_from(script) for script in scripts]
    records = {name: _records_of(name, places) for name in experiments}
    folder = out / OWN / ",".join(experiments)
    for script, make in zip(scripts, makes, strict=True):
        with drawing.look(style):
            groups = _columns(records, make, columns)
            yield from drawing.save(_drawn(groups, make, width), folder, script.stem)
        if csv:
            write_text(table := folder / f"{script.stem}.csv", _numbers(groups, make))
            yield table


def _made_from(script: Script) -> Columns:
    """The maker of a figure, of any runs; refused where it takes the paper's runs alone."""
    make = runpy.run_path(str(script.path))["main"].make
    if not isinstance(make, Columns) or make.numbers is None:
        raise UserError(f"{script.name}: is drawn of the paper's runs alone, not of others")
    return make


def _records_of(experiment: str, places: Sequence[Path]) -> list[Record]:
    """Every run of an experiment: one's own, or where there is none those of the reference."""
    installed = [folder for folder in [packaged()] if folder]
    for roots in [places] if places else [[OUTPUTS], installed]:
        of_experiment = [run for run in collect(roots) if run.experiment == experiment]
        if of_experiment:
            return of_experiment
    where = ", ".join(map(str, places or [OUTPUTS]))
    raise UserError(f"--exp {experiment}: no finished run in {where} (ntkexp list has all)")


def _by_experiment(records: Iterable[Record]) -> dict[str, list[Record]]:
    by_experiment: dict[str, list[Record]] = {}
    for record in records:
        by_experiment.setdefault(record.experiment, []).append(record)
    return by_experiment


def _columns(
    records: Mapping[str, Iterable[Record]], make: Columns, keys: Sequence[str] = ()
) -> list[SeedRuns]:
    """The columns of a figure: the runs of each title, those that differ in more than their seed
    apart.

    `keys`: the options that tell columns apart; without them all in which the runs differ.
    """
    columns: list[SeedRuns] = []
    for title, of_title in records.items():
        complete = has_rows(of_title, make.tables)
        if not complete:
            raise UserError(f"{title}: no run has the tables {', '.join(make.tables)}")
        for record in complete:
            if any(key.startswith("members.") for key in record.config):
                raise UserError(
                    f"{title}: {record.run} is a run of many networks (members), a figure takes "
                    "runs of one; choose others with --runs"
                )
        differing = _differing(complete)
        for key in keys:
            if not any(key in record.config for record in complete):
                accepted = sorted(complete[0].config)
                raise UserError(f"--columns {key}: no option of {title}{meant(key, accepted)}")
        if keys and (others := [key for key in differing if key not in keys]):
            raise UserError(
                f"{title}: runs differ in {', '.join(others)} as well: add it to --columns, or "
                "choose runs with --runs"
            )
        columns += _grouped(title, complete, [*keys] or differing, make.tables)
    for column in columns:
        if make.numbers is not None and make.numbers(column).empty:
            raise UserError(
                f"{column.label}: the tables {', '.join(make.tables)} have no rows of the split, "
                "subset or centring that the figure shows"
            )
    return columns


def _drawn(columns: Sequence[SeedRuns], make: Columns, width: float | None = None) -> Figure:
    if width is None and len(columns) > ON_A_PAGE:
        width = COLUMN * len(columns)
    return make.draw(columns) if width is None else make.draw(columns, width)


def _numbers(columns: Sequence[SeedRuns], make: Columns) -> str:
    """CSV of what a figure shows and of accuracies, a row a value: its column, run, seed, step."""
    frames = []
    for column in columns:
        seeds = {record.run: record.seed for record in column.records}
        accuracy = values(column.tables["evals"], accuracy="accuracy").dropna(subset="value")
        rows = pd.concat([make.numbers(column), accuracy])
        rows.insert(0, "column", column.label)
        rows.insert(1, "seed", rows["run"].map(seeds))
        frames.append(rows)
    return pd.concat(frames).to_csv(index=False)


def _differing(records: Sequence[Record]) -> list[str]:
    """The options in which runs differ, but their seeds and how long they go on."""
    settings = [dict(record.setting) for record in records]
    swept = [key for key in records[0].axes if len({str(r.config.get(key)) for r in records}) > 1]
    keys = sorted({key for setting in settings for key in setting} - {*NO_TITLES, *swept})
    return swept + [
        key
        for key in keys
        if key in records[0].config and len({setting.get(key) for setting in settings}) > 1
    ]


def _grouped(
    title: str, records: Sequence[Record], keys: Sequence[str], tables: Sequence[str]
) -> list[SeedRuns]:
    groups: dict[tuple[object, ...], dict[int, Record]] = {}
    for record in sorted(records, key=lambda record: record.iteration):
        values = tuple(record.config.get(key) for key in keys)
        # Of two runs of one seed the one that came further.
        groups.setdefault(values, {})[record.seed] = record
    columns = []
    for values in sorted(groups, key=lambda values: [_ordered(value) for value in values]):
        of_seeds = [groups[values][seed] for seed in sorted(groups[values])]
        words = [
            f"{key.rpartition('.')[2].replace('_', ' ')} {_said(value)}"
            for key, value in zip(keys, values, strict=True)
        ]
        name = "\n".join([title, *words])
        columns.append(SeedRuns(tuple(of_seeds), runs.joined(of_seeds, tables), name))
    return columns


def _said(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _ordered(value: object) -> tuple[bool, float, str]:
    """Numbers in order of their size, before words."""
    number = isinstance(value, int | float)
    return not number, float(value) if number else 0.0, str(value)
