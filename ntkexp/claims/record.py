"""A finished run as the claims see it, and the choice of runs that a claim is judged on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ntkexp import results
from ntkexp.config import EXECUTION_KEYS
from ntkexp.results.facts import last_life
from ntkexp.results.reading import flat_config

# What a sweep varies on purpose; runs that differ in anything else are not compared.
AXES = {
    "easy_difficult_depth": "model.depth",
    "complexity_width": "model.width",
    "complexity_noise": "data.noise",
    "complexity_channels": "model.base",
}
# From the evidence that counts most to that which counts least.
SCALES = ("paper", "narrow", "altered", "small")
FULL_BASE = 64
SEEDS = ("seed", "study.seed")


@dataclass(frozen=True, eq=False)
class Record:
    """Tables of one run, with what made them. `altered`: overrides typed beside the experiment;
    `life`: the provenance of the life that finished it."""

    experiment: str
    run: str
    config: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    altered: tuple[str, ...] = ()
    life: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return int(self.config.get("seed", self.config.get("study.seed", 0)))

    @property
    def axis(self) -> float:
        """The value of what its experiment sweeps over."""
        return float(self.config[AXES[self.experiment]])

    @property
    def scale(self) -> str:
        """paper: the experiment as it stands. narrow: a convolutional net of fewer channels."""
        if self.config.get("scale.name", "paper") != "paper":
            return "small"
        channels = self.config.get("model.base", FULL_BASE)
        if channels < FULL_BASE and AXES.get(self.experiment) != "model.base":
            return "narrow"
        return "altered" if self.altered else "paper"

    @property
    def setting(self) -> tuple[tuple[str, str], ...]:
        """Everything that decides its results, but the seed and what is swept."""
        free = {*SEEDS, AXES.get(self.experiment)}
        return tuple(sorted((k, str(v)) for k, v in self.config.items() if k not in free))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of it: provenance's remarks, and how it was altered."""
        changes = (f"{self.experiment}: {' '.join(self.altered)}",) if self.altered else ()
        return (*self.life.get("remarks", ()), *changes)


class StoredTables(Mapping[str, pd.DataFrame]):
    """Each read when first asked for: a ledger with one claim chosen opens few files."""

    def __init__(self, folder: Path) -> None:
        self.files = {file.stem: file for file in sorted(folder.glob("*.parquet"))}
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._read:
            self._read[name] = pd.read_parquet(self.files[name])
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self.files

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


def collect(roots: Iterable[Path]) -> list[Record]:
    """Every finished run at or below `roots` or their folders `reference`, each once."""
    places = [place for root in roots for place in (root, root / "reference")]
    found = {folder.name: folder for folder in reversed(list(results.finished(places)))}
    return [_record(folder) for _, folder in sorted(found.items())]


def _record(folder: Path) -> Record:
    config, life = flat_config(folder), last_life(folder)
    experiment = str(config["name"])
    return Record(
        experiment=experiment,
        run=folder.name,
        config=config,
        tables=StoredTables(folder),
        altered=altered(life.get("argv", ()), experiment),
        life=life,
    )


def altered(argv: Sequence[str], experiment: str) -> tuple[str, ...]:
    """The overrides of a command that make its run another than the experiment as it stands.

    >>> altered(["ntkexp", "train", "+exp=disk", "seed=3", "optim.lr=0.1"], "disk")
    ('optim.lr=0.1',)
    """
    harmless = {*SEEDS, *EXECUTION_KEYS, "exp", "recipe", "scale", AXES.get(experiment)}
    return tuple(
        word
        for word in argv
        if "=" in word
        and not word.startswith(("-", "hydra"))
        and (key := word.lstrip("+~").partition("=")[0]) not in harmless
        and key.partition(".")[0] not in harmless
    )


def choose(records: Sequence[Record], recipe: str) -> list[Record]:
    """Of one experiment's runs those of one setting: of the best scale, then the most seeds."""
    settings: dict[tuple[tuple[str, str], ...], list[Record]] = {}
    for record in records:
        settings.setdefault(record.setting, []).append(record)

    def rank(members: list[Record]) -> tuple[int, bool, int]:
        first = members[0]
        other_recipe = first.config.get("recipe", recipe) != recipe
        return SCALES.index(first.scale), other_recipe, -len(members)

    return min(settings.values(), key=rank, default=[])


def choose_jointly(records: Mapping[str, Sequence[Record]], recipe: str) -> list[Record]:
    """Runs of every experiment at the best scale that all of them have; nothing without one."""
    for scale in SCALES:
        chosen = [
            choose([record for record in found if record.scale == scale], recipe)
            for found in records.values()
        ]
        if all(chosen):
            return [record for members in chosen for record in members]
    return []
