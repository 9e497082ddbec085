"""Figures of the papers, drawn from runs of one's own."""

from __future__ import annotations

import runpy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ntkexp import components
from ntkexp.errors import UserError, first_line, meant
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
    records: Record | Iterable[Record] | Mapping[str, Iterable[Record]],
    keys: Sequence[str],
    width: float | None,
    style: Path | str | None,
) -> Figure:
    """A figure of any runs (`ntkexp.figures.draw`)."""
    if isinstance(records, Record):
        records = [records]
    named = records if isinstance(records, Mapping) else _by_experiment(records)
    if not named:
        raise UserError("runs: none are given; expected one or more, as ntkexp.run gives them")
    make = runpy.run_path(str(script.path))["main"].make
    if not _takes_any(make):
        raise UserError(
            f"{script.name}: takes runs by the name of their experiment; expected "
            f"ntkexp figures {script.paper} {script.figure or script.stem} --exp NAME"
        )
    with drawing.look(style):
        return _drawn(_columns(named, make, keys), make, width)


def save(
    scripts: Sequence[Script], experiments: Sequence[str], places: Sequence[Path], out: Path,
    *, columns: Sequence[str], width: float | None, style: str | None, csv: bool,
) -> Iterator[Path]:  # fmt: skip
    """Draw the runs of these experiments into a folder of their own; gives the files."""
    mains = [runpy.run_path(str(script.path))["main"] for script in scripts]
    records = {name: _records_of(name, places) for name in experiments}
    folder = out / OWN / ",".join(experiments)
    for script, main in zip(scripts, mains, strict=True):
        make = main.make
        with drawing.look(style):
            if not _takes_any(make):
                if columns or width or csv:
                    raise UserError(f"{script.name}: has no --columns, --width and --csv")
                yield from _in_place_of(main, experiments, places, folder / script.stem)
                continue
            groups = _columns(records, make, columns)
            yield from drawing.save(_drawn(groups, make, width), folder, script.stem)
        if csv:
            write_text(table := folder / f"{script.stem}.csv", _numbers(groups, make))
            yield table


def _takes_any(make: drawing.Make) -> bool:
    """True of a figure with a column for any runs; others have theirs from their experiments."""
    return isinstance(make, Columns) and make.numbers is not None


def _in_place_of(
    main: Any, experiments: Sequence[str], places: Sequence[Path], stem: Path
) -> list[Path]:
    """A figure with these experiments, the newest runs of each, in the place of its own."""
    if len(experiments) != len(main.experiments):
        raise UserError(
            f"--exp {','.join(experiments)}: {stem.name} is of {len(main.experiments)} "
            f"experiments; expected {','.join(main.experiments)}, or others in their places"
        )
    try:
        return drawing.drawn(main.make, ",".join(experiments), stem, places)[0]
    except runs.NoRuns as lacking:
        raise UserError(lacking.words[0].partition("\n")[0]) from lacking
    except UserError:
        raise
    except Exception as error:  # whatever a script meets in runs of another experiment
        what = f"{type(error).__name__}, {first_line(error)}"
        raise UserError(f"{stem.name}: is not drawn of {','.join(experiments)}: {what}") from error


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
            raise UserError(f"{title}: {_lacking(of_title, make.tables)}")
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


def _lacking(records: Iterable[Record], tables: Sequence[str]) -> str:
    """Which tables no run has, and the probes that write them."""
    there = {name for record in records for name in record.tables}
    writers = {
        name: [table.name for table in components.find("probe", name).tables]
        for name in components.names("probe")
    }
    absent = [table for table in tables if table not in there] or tables
    probes = [probe for table in absent for probe in writers if table in writers[probe]]
    return f"no run has the table{'s' * (len(absent) > 1)} {', '.join(absent)}" + (
        f"; expected one with 'probe=[{','.join(probes)}]'" if probes else ""
    )


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
