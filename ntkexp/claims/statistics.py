"""From a number to a statistic: of which runs, networks or pairs it is taken.

A number is a pure function of tables, which its parameters name. What else it takes, a column or a
split, is given where the statement stands:

    def growth(spectrum: pd.DataFrame, evals: pd.DataFrame, statistic: str) -> float: ...

    claim("max-growth", ..., statistic=by_run(growth, statistic="max", panels=PANELS))

`config` is the options of the run, with dotted keys, and `axis` the value that its experiment
sweeps. A number may come as several, by the words of their panels; nan is none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import truediv
from typing import Any

import pandas as pd

from ntkexp.claims.claim import FEWEST, Case, Statistic
from ntkexp.claims.curves import rank_correlation
from ntkexp.errors import UserError, meant
from ntkexp.results.record import Record

# Gives a float, or a mapping or series of several.
Number = Callable[..., Any]
# The panel of a run: by its experiment, or a function of the run; None has none.
Panels = Mapping[str, str] | Callable[[Record], str] | None
# (panel, seed, what a number is taken of, ...)
Group = tuple[Any, ...]
Groups = Callable[[Sequence[Record]], Iterable[Group]]


def by(groups: Groups) -> Callable[..., Statistic]:
    """Takes a number of what `groups` finds among runs, such as the networks of two regimes.

    >>> by_parity = by(lambda runs: [("odd", 0, runs[1::2]), ("even", 0, runs[::2])])
    >>> [(case.panel, case.value) for case in by_parity(len)([1, 2, 3])]
    [('odd', 1.0), ('even', 2.0)]
    """

    def of(number: Number, /, **options: Any) -> Statistic:
        def cases(records: Sequence[Record]) -> Iterator[Case]:
            for panel, seed, *parts in groups(records):
                yield from named(panel, seed, number(*parts, **options))

        return cases

    return of


def by_run(number: Number, /, panels: Panels = None, **options: Any) -> Statistic:
    """A number of each run."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        for record in records:
            found = number(**read(number, record, options), **options)
            yield from named(panel_of(record, panels), record.seed, found)

    return cases


def by_axis(number: Number, /, axis: str, **options: Any) -> Statistic:
    """The same; the panel is the value that its experiment sweeps, which is named `axis`."""
    of_runs = by_run(number, lambda record: f"{axis} = {record.axis:g}", **options)
    return lambda records: of_runs(sorted(records, key=lambda run: (run.axis, run.seed)))


def by_network(number: Number, /, panels: Panels = None, **options: Any) -> Statistic:
    """A number of each network of a run, which has the rows of its `seed` in each table."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        for record in records:
            tables = read(number, record, options)
            for seed, rows in of_seeds(tables):
                yield from named(panel_of(record, panels), seed, number(**rows, **options))

    return cases


def of_mean(number: Number, /, panels: Panels = None, **options: Any) -> Statistic:
    """A number of a run's mean over its networks, and the same without each of them: where one
    network decides a mean, it is partly right."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        for record in records:
            tables = read(number, record, options)
            panel = panel_of(record, panels)
            yield from named(panel, record.seed, number(**tables, **options))
            for seed, _ in of_seeds(tables):
                yield from named(
                    ", ".join(filter(None, (panel, "without one"))), seed,
                    number(**without(tables, seed), **options),
                )  # fmt: skip

    return cases


def without(tables: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The tables less the rows of one network."""
    return {
        name: table[table["seed"] != seed]
        if isinstance(table, pd.DataFrame) and "seed" in table
        else table
        for name, table in tables.items()
    }


def trend(number: Number, /, panels: Panels = None, **options: Any) -> Statistic:
    """The rank correlation of a number with the swept value, over the runs that share a seed."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        sweeps: dict[tuple[str, int], list[Record]] = {}
        for record in records:
            sweeps.setdefault((record.experiment, record.seed), []).append(record)
        for (_, seed), runs in sorted(sweeps.items()):
            if len(runs) >= FEWEST:
                numbers = [number(**read(number, run, options), **options) for run in runs]
                order = rank_correlation([run.axis for run in runs], numbers)
                yield Case(panel_of(runs[0], panels), seed, order)

    return cases


def beside(
    number: Number,
    /,
    control: str,
    combine: Callable[[float, float], float] = truediv,
    panels: Panels = None,
    **options: Any,
) -> Statistic:
    """A number of each run over that of a control, a run of another experiment of its scale."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        found = [(run, number(**read(number, run, options), **options)) for run in records]
        controls = [(run.scale, value) for run, value in found if run.experiment == control]
        for run, value in found:
            for scale, of_control in controls if run.experiment != control else ():
                if scale == run.scale:
                    yield Case(panel_of(run, panels), run.seed, combine(value, of_control))

    return cases


def only(experiments: Sequence[str], statistic: Statistic) -> Statistic:
    """The statistic of the runs of these experiments alone."""
    return lambda records: statistic([run for run in records if run.experiment in experiments])


def together(*statistics: Statistic) -> Statistic:
    return lambda records: [case for statistic in statistics for case in statistic(records)]


def with_words(words: str, statistic: Statistic) -> Statistic:
    """The same cases, with words that tell their panels from those of other statistics."""
    return lambda records: [
        case._replace(panel=", ".join(filter(None, (case.panel, words))))
        for case in statistic(records)
    ]


def named(panel: str, seed: int, found: Any) -> Iterator[Case]:
    """What a number gave as cases; of several each has its words in its panel."""
    if not isinstance(found, Mapping | pd.Series):
        yield Case(panel, seed, float(found))
        return
    for words, value in found.items():
        yield Case(", ".join(filter(None, (panel, str(words)))), seed, float(value))


def read(number: Number, record: Record, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a number asks of a run by the names of its parameters."""
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(number).parameters.items():
        if name in ("config", "axis"):
            found[name] = getattr(record, name)
        elif name not in options and parameter.default is parameter.empty:
            if name not in record.tables:
                raise UserError(
                    f"{number.__module__}.{number.__name__}: {record.experiment} has no table "
                    f"{name}{meant(name, [*record.tables])}; it has {', '.join(record.tables)}"
                )
            found[name] = record.tables[name]
    return found


def of_seeds(tables: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(seed, its rows of each table) of the networks of a run, in order of their seeds."""
    for (seed,), rows in of_networks(tables, ["seed"]):
        yield int(str(seed)), rows


def of_networks(
    tables: Mapping[str, Any], keys: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """(its values of the keys, its rows of each table) of each network that all tables have."""
    parts = {
        name: dict(iter(table.groupby([*keys])))
        for name, table in tables.items()
        if isinstance(table, pd.DataFrame) and {*keys} <= {*table}
    }
    for key in sorted(set.intersection(*map(set, parts.values()))):
        yield key, {**tables, **{name: part[key] for name, part in parts.items()}}


def panel_of(record: Record, panels: Panels) -> str:
    if callable(panels):
        return panels(record)
    return panels[record.experiment] if panels else ""
