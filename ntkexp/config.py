"""The typed schema of an experiment: what is no component, and the fields that take components.

Imports neither torch nor pandas: `ntkexp --help` and shell completion pass through here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from omegaconf import MISSING, DictConfig

from ntkexp.components import Component
from ntkexp.data.base import Data
from ntkexp.machine import available_bytes
from ntkexp.models.base import BatchNorm, Model
from ntkexp.objectives.base import Objective
from ntkexp.optim.base import Optimiser
from ntkexp.options import (
    FOR_ALL,
    MANY,
    SEED,
    STEPS,
    Rule,
    count,
    each,
    not_negative,
    option,
    positive,
    whole,
)
from ntkexp.references import StartFrom
from ntkexp.studies.base import Study
from ntkexp.transforms.base import Transform

if TYPE_CHECKING:
    from ntkexp.launch.job import Job

# A name is a folder's: it must stay inside `paths.outputs`, and be readable in a list. One slash
# separates a paper from its experiment, as in lazy/yin_yang. What `reference` holds was kept from
# elsewhere, and a folder named like a run's id would be taken for a run.
PART = r"\w[\w.+=-]{0,99}"
FOLDER_NAME = Rule(
    lambda name: (
        re.fullmatch(rf"{PART}(/(?![0-9a-f]{{12}}$){PART})?", name) is not None
        and name.partition("/")[0] != "reference"
    ),
    "1 to 100 letters, digits, and . _ + - =, beginning with a letter or digit; one slash may "
    "separate a paper from its experiment, as in lazy/yin_yang",
)
SUBSET = Rule(lambda name: bool(name.strip()), "the name of a subset, such as noisy")
METRIC = Rule(lambda name: bool(name.strip()), "the name of a metric, such as r_squared")
FOLDER = Rule(
    lambda path: bool(path.strip()) and path.isprintable(), "a folder, such as outputs or /scratch"
)
GROWTH = Rule(lambda x: 1.001 <= x <= 1000, "a factor from 1.001 to 1000")
DEVICE = Rule(
    lambda name: re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?", name) is not None,
    "auto, cpu, cuda or cuda:N",
)


class Spacing(StrEnum):
    """When to probe. log: 0 and the distinct int(start * growth^k). linear: every `every`."""

    log = "log"
    linear = "linear"
    list = "list"


class Check(StrEnum):
    """The answer to outputs that are random or couple the examples of a batch."""

    refuse = "refuse"
    warn = "warn"


@dataclass
class ProbingConfig:
    """When the probes look, at how many fixed examples of each split, and in which mode."""

    spacing: Spacing = option(Spacing.log, about="log (start, growth), linear (every) or list")
    start: int = option(5, whole(1, MANY, "as the first step after 0"), "first step after 0 (log)")
    growth: float = option(1.15, GROWTH, "ratio of a step to the last with spacing=log")
    every: int = option(100, count("steps"), "steps between looks with spacing=linear")
    steps: list[int] = option([], STEPS, "the looks with spacing=list")
    losses: list[float] = option([], each(positive()), "looks where the loss passes these, too")
    examples: int = option(
        100, count("examples"), "examples of each split for a kernel; at most so many unless chosen"
    )
    batch_norm: BatchNorm = option(
        BatchNorm.eval,
        about="kernels by running statistics, or (train, 50 times dearer) by those of their batch",
    )
    check: Check = option(Check.refuse, about="what to do with random or coupled examples")


@dataclass
class EvaluateConfig:
    """On which examples the network is evaluated, and what is measured there.

    Easy and difficult examples are evaluated wherever there are such.
    """

    train_examples: int | None = option(None, FOR_ALL, "of the training set, for loss and accuracy")
    test_examples: int | None = option(None, FOR_ALL, "of the test set, for loss and accuracy")
    batch_size: int = option(500, count("examples"), "examples that are in memory at once")
    subsets: list[str] = option([], each(SUBSET), "also noisy, intact, or groups of the data")
    metrics: list[str] = option([], each(METRIC), "numbers beside loss and accuracy: r_squared")


EXAMPLES = count("examples", null="for no limit")


@dataclass
class ScaleConfig:
    """Upper limits that shrink any experiment.

    Components have limits of their own (`small`); a number here takes their place, null does not.
    """

    name: str = option("paper", about="paper, small or tiny, which shrink every experiment")
    train_examples: int | None = option(None, EXAMPLES, "most examples to train on")
    test_examples: int | None = option(None, EXAMPLES, "most examples to test on")
    width: int | None = option(None, count("units", null="for no limit"), "most units a layer")
    base: int | None = option(None, count("channels", null="for no limit"), "most in layer one")
    steps: int | None = option(None, count("steps", null="for no limit"), "most updates")
    probe_examples: int | None = option(None, EXAMPLES, "most examples of a kernel")
    evaluate_examples: int | None = option(None, EXAMPLES, "most examples for loss and accuracy")
    growth: float | None = option(
        None, positive(1000, null="for no limit", least=1), "least ratio of a look to the last"
    )


@dataclass
class KeepConfig:
    """The weights and updates of a training that are kept."""

    weights: list[int] = option([], STEPS, "steps whose weights are kept, beside the last")
    updates: int = option(1, count("updates"), "updates for each row of the table steps")
    work: bool = option(False, about="what a longer run needs to go on from this one")


@dataclass
class PathsConfig:
    """Where things are."""

    outputs: str = option("outputs", FOLDER, "the folder that holds all runs")


@dataclass
class CheckpointConfig:
    """How much a killed run may lose."""

    every_seconds: float | None = option(
        None,
        not_negative(),
        "seconds from commit to commit; null: 60, of old runs up to 600",
    )


@dataclass
class Launcher(Component):
    """How a sweep runs its jobs; null divides what the machine has between them.

    A launcher is a file of ntkexp/launch/, its options and its engine together.
    """

    kind: ClassVar[str] = "launcher"

    jobs: int | None = option(None, count("jobs at once", null="", most=1000), "jobs at once")
    threads: int | None = option(None, count("threads a job", null="", most=1000), "cores of a job")
    fail_fast: bool = option(False, about="the first failure ends a sweep")
    retry_failed: bool = option(False, about="failed jobs of a sweep are done again")
    dry_run: bool = option(False, about="say what would run, and run nothing")

    def memory_bytes(self) -> int | None:
        """The memory that a run may have; None where this machine does not know it."""
        return available_bytes()

    def run(self, jobs: Sequence[Job], config: DictConfig, done_before: int) -> int:
        """Carry out the jobs of a sweep, beside which so many were done before, and set their
        outcomes. Returns 128 + n where signal n ended it."""
        raise self.lacks("run(jobs, config, done_before)")


@dataclass
class ExperimentConfig:
    """The options of every experiment, trained or not.

    The ledger calls runs with `stands_in_for` `stand-in`, and not `paper`.
    """

    name: str = option("adhoc", FOLDER_NAME, "the experiment, and the folder of its runs")
    about: str = option("", about="what ntkexp list says of it")
    figures: list[str] = option([], about="figures that it is for")
    stands_in_for: str = option("", about="the paper's network and data in whose place it is")
    paths: PathsConfig = field(default_factory=PathsConfig)
    launcher: Launcher = MISSING
    members: Any = option(None, about="options of the networks of one run: {seed: [0, 1, 2]}")
    device: str = option("auto", DEVICE, "where it computes; auto is a GPU if there is one")
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    scale: ScaleConfig = field(default_factory=ScaleConfig)
    probe: dict[str, Any] = field(default_factory=dict)
    probing: ProbingConfig = field(default_factory=ProbingConfig)
    keep: KeepConfig = field(default_factory=KeepConfig)
    progress: bool = option(True, about="show how far it has come")
    rerun: bool = option(False, about="run it again, even if it is done")
    with_parents: bool = option(False, about="first run what it needs and is not there")
    objective_metric: str | None = option(None, about="a number to print, as evals.test.loss")
    logger: dict[str, Any] = field(default_factory=dict)

    @property
    def examples_are_chosen(self) -> bool:
        """True if somebody chose `probing.examples`: then so many are wanted. What it is by itself,
        or by `scale`, is at most so many; one id is one run, so a typed 100 is as the default."""
        return self.probing.examples not in (ProbingConfig.examples, self.scale.probe_examples)


@dataclass
class TrainConfig(ExperimentConfig):
    """`weights` are those with which the network begins, where it does not begin as drawn."""

    seed: int = option(0, SEED, "the start of all random numbers")
    recipe: str = option("paper", about="paper: as its text says; released: as its code does")
    weights: StartFrom = field(default_factory=StartFrom)
    data: Data = MISSING
    model: Model = MISSING
    transform: Transform = MISSING
    objective: Objective = MISSING
    optim: Optimiser = MISSING
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    cuda_graph: bool = option(True, about="replay updates as one CUDA graph, which is faster")
    tf32: bool = option(False, about="GPUs multiply in TF32: faster, with three digits")
    deterministic: bool = option(False, about="a GPU gives the same bits every time, slower")


@dataclass
class StudyConfig(ExperimentConfig):
    study: Study = MISSING
