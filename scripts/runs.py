"""Which runs a figure draws: one's own if they have all that it needs, else the reference's.

Of one's own the newest are drawn, of others those that the ledger chooses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, TypeVar

import pandas as pd

from ntkexp.claims.effort import line
from ntkexp.figures import MISSING_RUNS
from ntkexp.results.folders import OUTPUTS, roots
from ntkexp.results.reading import collect
from ntkexp.results.record import Record
from ntkexp.results.select import Counts, has_rows, newest, of_recipe, runs_to_show, whose

Drawn = TypeVar("Drawn")


@dataclass
class Places:
    """Where a figure looks for runs: in `folders`, or in that of each experiment below `home`.

    `own`: the newest runs are drawn. `whole`: each experiment that is asked for must have runs
    there, of a sweep two values. `drawn`: the runs that were found.
    """

    folders: tuple[Path, ...] = ()
    home: Path | None = None
    own: bool = False
    whole: bool = False
    drawn: list[Record] = field(default_factory=list)

    def of(self, experiment: str) -> list[Path]:
        return [*self.folders, *([self.home / experiment] if self.home else [])]

    @property
    def source(self) -> str:
        """Whose runs were drawn, such as `outputs/disk/c57568321b89`; empty where none was."""
        return whose(self.drawn, roots(OUTPUTS)[1])


def sources(given: Sequence[Path], reference: bool) -> Iterator[Places]:
    """Where runs are looked for, one after the other until a figure has what it needs: folders that
    were given; or one's own runs, the reference's, and one's own as far as they go."""
    own, installed = roots(OUTPUTS)
    if given:
        yield Places(tuple(given))
    elif reference:
        yield Places(home=installed)
    else:
        yield Places(home=own, own=True, whole=True)
        yield Places(home=installed)
        yield Places(home=own, own=True)


class NoRuns(SystemExit):
    """A figure lacks runs; `words` say which."""

    def __init__(self, words: Iterable[str]) -> None:
        super().__init__(MISSING_RUNS)
        self.words = list(words)


def first(
    draw: Callable[[Places], Drawn],
    experiments: Sequence[str],
    given: Sequence[Path],
    reference: bool,
) -> tuple[Drawn, str]:
    """What is drawn from the first source that has what it needs, and whose runs that are; where
    they are not one's own although there are some, with the reason."""
    *others, last = sources(given, reference)
    why = ""
    for places in others:
        try:
            return draw(places), f"{places.source}{why}"
        except NoRuns as lacking:
            if places.own and any(path.is_dir() for e in experiments for path in places.of(e)):
                why = f" ({lacking.words[0].splitlines()[0]})"
        except Exception as error:  # whatever a script meets in a run that is not as the paper's
            if not places.whole:
                raise
            reason = str(error).partition("\n")[0]
            why = f" (not from {places.source}: {type(error).__name__}, {reason})"
    return draw(last), last.source


Where = Places | Sequence[Path]


def chosen(
    experiment: str,
    where: Where,
    tables: Iterable[str],
    recipe: str = "paper",
    counts: Counts = lambda _: True,
) -> list[Record]:
    """The runs of an experiment that are drawn, of those with the tables; none without one.

    `counts`: tells whether a run's tables hold what is drawn.
    """
    places = _places(where)
    complete = [r for r in of_experiment(experiment, places, tables, recipe) if counts(r)]
    shown = _shown(experiment, places, complete)
    places.drawn += shown
    return shown


def _shown(experiment: str, places: Places, complete: list[Record]) -> list[Record]:
    if places.own:
        return complete
    shown = runs_to_show(complete)
    settings = {record.setting for record in complete}
    if len(settings) > 1:
        print(
            f"{experiment}: runs of {len(settings)} configs, drawing those like {shown[0].run}; "
            "--runs chooses others",
            file=sys.stderr,
        )
    return shown


def of_experiment(
    experiment: str, where: Where, tables: Iterable[str], recipe: str = "paper"
) -> list[Record]:
    """All runs of an experiment with the tables; of one's own the newest."""
    places = _places(where)
    found = of_recipe(collect(root for root in places.of(experiment) if root.is_dir()), recipe)
    complete = has_rows(
        [r for r in found if r.experiment == experiment and r.one_of_its_experiment], tables
    )
    if not places.own:
        return complete
    shown = newest(complete, values=2 if places.whole else 1)
    # Runs by the released recipe are drawn beside the others where there are some.
    if places.whole and recipe == "paper" and not shown:
        swept = (
            f"{experiment}: one value alone of {', '.join(complete[0].axes)}" if complete else ""
        )
        stop([swept or missing(experiment, places, tables)])
    return shown


def chosen_of(
    experiments: Iterable[str],
    where: Where,
    tables: Sequence[str],
    choice: Callable[[str, Where, Sequence[str]], list[Record]] = chosen,
) -> list[Record]:
    """The runs of the experiments that have some, and for each without the command that makes it;
    where none has, that alone and exit code 3."""
    places = _places(where)
    drawn = {name: choice(name, places, tables) for name in experiments}
    if not any(drawn.values()):
        stop(missing(name, places, tables) for name in drawn)
    for name, records in drawn.items():
        if not records:
            print(f"not drawn, no runs of {name}: {line(name)}", file=sys.stderr)
        places.drawn += records
    return [record for records in drawn.values() for record in records]


def joined(records: Iterable[Record], tables: Iterable[str]) -> dict[str, pd.DataFrame]:
    """The tables of several runs, each with a column `run` that tells them apart."""
    records = list(records)
    return {
        name: pd.concat([r.tables[name].assign(run=r.run) for r in records], ignore_index=True)
        for name in tables
    }


def needed(experiment: str, where: Where, tables: Sequence[str]) -> list[Record]:
    """The runs that `chosen` gives; without one, the command that makes it, and exit code 3."""
    records = chosen(experiment, where, tables)
    if not records:
        stop([missing(experiment, where, tables)])
    return records


def one(experiment: str, where: Where, tables: Sequence[str]) -> Record:
    """One run, for figures that cannot show several, and says so of others: of the lowest seed."""
    places = _places(where)
    found = _shown(experiment, places, of_experiment(experiment, places, tables))
    if not found:
        stop([missing(experiment, places, tables)])
    lowest, *others = sorted(found, key=lambda record: (record.seed, record.run))
    if others:
        print(
            f"{experiment}: drawing {lowest.run} of {1 + len(others)} runs; --runs chooses another",
            file=sys.stderr,
        )
    places.drawn.append(lowest)
    return lowest


def missing(experiment: str, where: Where, tables: Iterable[str]) -> str:
    """The message that runs are missing, with the command that makes them."""
    places = _places(where)
    gone = next((f"no such folder: {path}" for path in places.folders if not path.is_dir()), None)
    # Where one's own are looked for as far as they go, the reference has none.
    several = [root / experiment for root in roots(OUTPUTS)]
    folders = several if places.own and not places.whole else places.of(experiment)
    reason = gone or f"no finished run with {', '.join(tables)} in {', '.join(map(str, folders))}"
    return f"{experiment}: {reason}\nto make it: {line(experiment)}"


def stop(words: Iterable[str]) -> NoReturn:
    raise NoRuns(words)


def _places(where: Where) -> Places:
    return where if isinstance(where, Places) else Places(tuple(where))
