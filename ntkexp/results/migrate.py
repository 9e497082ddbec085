"""Gives runs of version 0.1 the id that this version gives them, and a run.json.

Exact: such a folder is named after the hash of its own config, which is computed again first. A
folder of another name, and a run that was not finished, stay as they are and are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ntkexp.errors import UserError
from ntkexp.identity import digest, hashed, identity_of_version_1, read_plain
from ntkexp.results.commits.atomic import cannot_write, write_text
from ntkexp.results.folders import runs
from ntkexp.results.provenance.card import FILE, Card, read_card
from ntkexp.results.provenance.facts import last_life
from ntkexp.results.status import read_status

# Words of a command line that say how it is done, not what.
NO_KEYS = ("exp", "hydra")


@dataclass(frozen=True)
class Moved:
    """What became of one folder; `now` is None where it stays."""

    before: Path
    now: Path | None
    why: str = ""


def migrate(roots: Iterable[Path], swept: Mapping[str, Sequence[str]]) -> Iterator[Moved]:
    """Migrate every run below `roots`; `swept` has the keys that experiments sweep by themselves.

    Repeatable: killed in between, the same call goes on.
    """
    for folder in runs(roots):
        try:
            yield from _migrate(folder, swept)
        except UserError as error:
            yield Moved(folder, None, str(error))


def _migrate(folder: Path, swept: Mapping[str, Sequence[str]]) -> Iterator[Moved]:
    if read_card(folder) is not None:
        return
    status = read_status(folder)
    if status is None or (status["state"] not in ("finished", "failed") and not kept(status)):
        yield Moved(folder, None, "was not finished: finish it with the ntkexp that began it")
        return
    config = read_plain((folder / "config.yaml").read_text(encoding="utf-8"))
    hashed_values = hashed(config)
    target = folder.with_name(digest(hashed_values))
    # A kill between the two steps below leaves a folder of the new name without a card.
    if folder.name not in (identity_of_version_1(config), target.name):
        yield Moved(folder, None, "its name is not the hash of its config")
        return
    if folder != target and target.exists():
        yield Moved(folder, None, f"{target} is there already")
        return
    card = _card(folder, config, hashed_values, swept)
    try:
        if folder != target:
            folder.rename(target)
    except OSError as error:
        raise cannot_write(target, error) from error
    write_text(target / FILE, card.text())
    yield Moved(folder, target)


def kept(status: Mapping[str, Any]) -> bool:
    """Whether the folder holds rows of a run that went on elsewhere (results/reference/keep.py)."""
    return "kept_at" in status


def _card(
    folder: Path,
    config: Mapping[str, Any],
    hashed_values: Mapping[str, Any],
    swept: Mapping[str, Sequence[str]],
) -> Card:
    life = last_life(folder)
    experiment = str(config["name"])
    values = dict(typed_in(life.get("argv", ())))
    sweeping = {"-m", "--multirun"} & set(life.get("argv", ()))
    axes = {key for key, value in values.items() if _several(value)} if sweeping else set()
    if sweeping:
        axes |= set(swept.get(experiment, ())) - set(values)
    return Card(
        experiment=experiment,
        command="study" if "study" in config else "train",
        hashed=hashed_values,
        axes=tuple(sorted(axes)),
        typed=tuple(sorted(values)),
        facts={"data": life.get("data", {}), "threads": life.get("threads")},
    )


def typed_in(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The keys that a command line set, with their values.

    >>> dict(typed_in(["ntkexp", "train", "-m", "+exp=disk", "seed=0,1", "+probe.spectrum={}"]))
    {'seed': '0,1', 'probe.spectrum': '{}'}
    """
    for word in argv:
        key, sign, value = word.lstrip("+~").partition("=")
        if sign and not word.startswith("-") and key.partition(".")[0].split("/")[0] not in NO_KEYS:
            yield key, value


def _several(value: str) -> bool:
    """Whether a sweep makes several jobs of an override: commas outside brackets, or a range."""
    depth = 0
    for letter in value:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            return True
    return value.startswith(("range(", "choice(", "glob(", "interval("))
