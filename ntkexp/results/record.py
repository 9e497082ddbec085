"""A run as the claims, the figures and the report see it: tables, and what made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pandas as pd

from ntkexp.experiments import SEEDS, axes, followers, members_by_themselves, stand_ins
from ntkexp.results.numbers import metric
from ntkexp.results.summary import ALONG_TRAINING, Summary

if TYPE_CHECKING:
    from torch import nn

    from ntkexp.data import Dataset
    from ntkexp.probes import Batch
    from ntkexp.tangent import TangentKernel

# From the evidence that counts most to that which counts least.
SCALES = ("paper", "narrow", "stand-in", "altered", "small")
# The channels of VGG and ResNet18 in the papers; other networks have theirs by themselves.
FULL_BASE = 64
NARROWED = ("vgg", "resnet18")
# How long a run goes on. With a constant rate they leave its steps as they are: a claim's horizon
# says whether it came far enough.
HORIZON_KEYS = ("optim.epochs", "optim.steps", "optim.stop_loss", "optim.stop_patience",
                "optim.stop_after_losses")  # fmt: skip
# When a run is looked at and on how many examples its accuracy is taken: no step depends on it.
LOOKING_KEYS = ("evaluate", "probing.spacing", "probing.start", "probing.growth", "probing.every",
                "probing.steps", "probe.spectrum.uncentred")  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Record:
    """Tables of one run, with what made them.

    `typed`: the overrides of its command beside the experiment; `life`: the provenance of its last
    life; `decides`: what its id is the hash of, with dotted keys, None where it has no run.json;
    `folder`: where it lies, None of a run that a test made up; `ended`: when, as its status says;
    `summary`: what its status says of its tables, None of an older run.
    """

    experiment: str
    run: str
    config: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    typed: tuple[str, ...] = ()
    life: Mapping[str, Any] = field(default_factory=dict)
    finished: bool = True
    decides: Mapping[str, Any] | None = None
    folder: Path | None = None
    ended: str = ""
    summary: Summary | None = None

    def __repr__(self) -> str:
        return f"<run {self.experiment}/{self.run}: {', '.join(self.tables)}>"

    def metric(self, path: str) -> float:
        """A number by its path, such as `evals.test.loss` (ntkexp/results/numbers/metric.py)."""
        return metric.value(path, self.tables)

    def network(self, step: int | None = None, *, trust: bool = False) -> nn.Module:
        """The network as it was at the end, or at a step of `keep.weights`, in eval mode.

        Args:
            trust: import a class that the run names and that is not of ntkexp.
        """
        module: nn.Module = _remade().network(self, step, trust=trust)
        return module

    def data(self, *, trust: bool = False) -> Dataset:
        """The examples it was trained and tested on: `.train` and `.test`."""
        dataset: Dataset = _remade().data(self, trust=trust)
        return dataset

    def batch(self, name: str = "train", *, trust: bool = False) -> Batch:
        """The examples that its probes looked at."""
        batch: Batch = _remade().batch(self, name, trust=trust)
        return batch

    def kernel(
        self, batch: str = "train", step: int | None = None, *, trust: bool = False
    ) -> TangentKernel:
        """The tangent kernel of a batch, as its probes saw it, at the end or at a step of
        `keep.weights`."""
        kernel: TangentKernel = _remade().kernel(self, batch, step, trust=trust)
        return kernel

    def lies_in(self, folder: Path) -> bool:
        return self.folder is not None and self.folder.resolve().is_relative_to(folder.resolve())

    @property
    def seed(self) -> int:
        return int(self.config.get("seed", self.config.get("study.seed", 0)))

    @property
    def axes(self) -> tuple[str, ...]:
        """The keys that its experiment sweeps. Runs that differ in other keys are not compared."""
        return axes(self.experiment)

    @property
    def axis(self) -> float:
        """The value of what its experiment sweeps over, of several keys the first."""
        return float(self.config[self.axes[0]])

    @property
    def swept(self) -> tuple[Any, ...]:
        """The values of all that its experiment sweeps over; of a component all its options."""
        return tuple(self._value(key) for key in self.axes)

    def _value(self, key: str) -> Any:
        below = sorted(option for option in self.config if option.startswith(f"{key}."))
        return tuple((option, self.config[option]) for option in below) or self.config.get(key)

    @cached_property
    def one_of_its_experiment(self) -> bool:
        """True if its tables are as its experiment's: of one network, or of many that differ in
        the same options, but for their seeds. What is said of an experiment reads no others."""
        expected = members_by_themselves().get(self.experiment)
        keys = {key.removeprefix("members.") for key in self.config if key.startswith("members.")}
        if expected is None or self.folder is None:  # of none that is known here, or made up
            return True
        return bool(keys) == bool(expected) and keys - {"seed"} == expected - {"seed"}

    @property
    def recipe(self) -> str | None:
        """paper or released; None of a study, which has neither."""
        return self.config.get("recipe")

    @property
    def iteration(self) -> int:
        """The last iteration that its tables tell of; 0 of a run that trains nothing."""
        if self.summary is not None:
            return self.summary.iteration
        for name in ALONG_TRAINING:
            if name in self.tables and "step" in self.tables[name] and len(self.tables[name]):
                return int(self.tables[name]["step"].max())
        return 0

    @property
    def altered(self) -> tuple[str, ...]:
        """The overrides that make it another run than the experiment as it stands."""
        return tuple(word for word in self.typed if not among(word, HORIZON_KEYS + LOOKING_KEYS))

    @property
    def horizon_typed(self) -> bool:
        """True if its command said when it ends."""
        return any(among(word, HORIZON_KEYS) for word in self.typed)

    @property
    def stands_in_for(self) -> str:
        """The paper's network and data, where its experiment has smaller or other ones. Asked of
        the experiment as it is now: runs from before it said so are judged by it, too."""
        return stand_ins().get(self.experiment) or str(self.config.get("stands_in_for") or "")

    @cached_property
    def scale(self) -> str:
        """paper: the experiment as it stands. narrow: a convolutional net of fewer channels, and
        nothing else altered. stand-in: as it stands, which is smaller or other than the paper."""
        if self.config.get("scale.name", "paper") != "paper":
            return "small"
        altered = [word for word in self.altered if not among(word, ("model.base",))]
        if self.stands_in_for:
            return "altered" if altered else "stand-in"
        full = FULL_BASE if self.config.get("model.name") in NARROWED else 0
        if self.config.get("model.base", full) < full and "model.base" not in self.axes:
            return "altered" if altered else "narrow"
        return "altered" if self.altered else "paper"

    @cached_property
    def setting(self) -> tuple[tuple[str, str], ...]:
        """Everything that decides its steps, but the seed and what is swept."""
        constant = self.config.get("optim.schedule", "constant") == "constant"
        return self._setting((*LOOKING_KEYS, *(HORIZON_KEYS if constant else ())))

    @cached_property
    def options(self) -> tuple[tuple[str, str], ...]:
        """The same, with how long it goes on and when it is looked at."""
        return self._setting(())

    def _setting(self, free: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        free = (*SEEDS, *free, *self.axes, *followers().get(self.experiment, ()))
        # Neutral values are no part of it: a run from before an option had its neutral value.
        decides = self.config if self.decides is None else self.decides
        # A reference is `weights`, and `weights.from` beside options of its own.
        setting = {
            key.removesuffix(".from"): str(self._without_seed(key, value))
            for key, value in decides.items()
            if not among(key, free)
        }
        setting |= {"recipe": str(self.recipe), "scale": self.scale}
        return tuple(sorted(setting.items())) + tuple(sorted(self.checksums.items()))

    def _without_seed(self, key: str, value: object) -> object:
        """For a file of another run, the options of that run without its seed and what is swept."""
        if not (isinstance(value, str) and value.startswith("run:")):
            return value
        reference = f"{key.removesuffix('.from')}."
        options = {k: v for k, v in self.config.items() if k.startswith(reference)}
        free = (".id", ".seed", ".folder")
        others = {k: v for k, v in options.items() if not k.endswith(free) and k not in self.axes}
        return sorted(others.items())

    @property
    def checksums(self) -> Mapping[str, str]:
        """Checksums of the images it was trained on, by file; files of other runs are left out."""
        files = dict(self.life.get("data", {}))
        return {file: sha256 for file, sha256 in files.items() if not file.startswith("run ")}

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines for a reader: remarks of the provenance, altered options, how far it came."""
        changes = (f"{self.experiment}: {' '.join(self.altered)}",) if self.altered else ()
        going = f"{self.experiment}, recipe={self.recipe}: goes on, kept at {self.iteration:,}"
        instead = f"{self.experiment}: stands in for {self.stands_in_for}"
        return (
            *self.life.get("remarks", ()),
            *changes,
            *((instead,) if self.stands_in_for else ()),
            *(() if self.finished else (going,)),
        )


def _remade() -> ModuleType:
    """Imported when asked for: reading results needs neither networks nor data."""
    return import_module("ntkexp.execution.remade")


def among(word: str, keys: Iterable[str]) -> bool:
    """True if a key, or the key of an override, is one of `keys` or lies below one of them."""
    key = word.lstrip("+~").partition("=")[0]
    return any(key == listed or key.startswith(f"{listed}.") for listed in keys if listed)
