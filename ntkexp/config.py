"""The typed schema of an experiment: what is no component, and the fields that take components.

Imports neither torch nor pandas: `ntkexp --help` and shell completion pass through here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from omegaconf import MISSING

from ntkexp.data.base import Data
from ntkexp.models.base import BatchNorm, Model
from ntkexp.objectives.base import Objective
from ntkexp.optim.base import Optimiser
from ntkexp.options import (
    MANY,
    SEED,
    Rule,
    count,
    each,
    not_negative,
    one_of,
    option,
    positive,
    whole,
)
from ntkexp.references import StartFrom
from ntkexp.studies.base import Study
from ntkexp.transforms.base import Transform

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
    """When the probes look, at how many fixed examples of each split, and in which mode.

    They also look where the training loss first falls below one of `losses`. `check` is for
    networks of one's own: those of ntkexp are known to keep examples apart.
    """

    spacing: Spacing = Spacing.log
    start: int = option(5, whole(1, MANY, "as the first step after 0"))
    growth: float = option(1.15, Rule(lambda x: 1.001 <= x <= 1000, "a factor from 1.001 to 1000"))
    every: int = option(100, count("steps"))
    steps: list[int] = option([], each(whole(0, MANY, "as a step")))
    losses: list[float] = option([], each(positive()))
    examples: int = option(100, count("examples"))
    batch_norm: BatchNorm = BatchNorm.eval
    check: Check = Check.refuse


@dataclass
class EvaluateConfig:
    """How many fixed examples of each split the loss and accuracy are taken on; None is all.

    `subsets` are evaluated besides all and, where there are such, easy and difficult examples:
    noisy and intact labels, or groups that the data name. `metrics` are measured beside loss and
    accuracy: those that the objective has (ntkexp/objectives/metrics.py).
    """

    train_examples: int | None = option(None, count("examples", null="for all"))
    test_examples: int | None = option(None, count("examples", null="for all"))
    batch_size: int = option(500, count("examples"))
    subsets: list[str] = option([], each(SUBSET))
    metrics: list[str] = option([], each(METRIC))


@dataclass
class ScaleConfig:
    """Upper limits that shrink any experiment.

    Components have limits of their own (`small`); a number here takes their place, null does not.
    """

    name: str = "paper"
    train_examples: int | None = option(None, count("examples", null="for no limit"))
    test_examples: int | None = option(None, count("examples", null="for no limit"))
    width: int | None = option(None, count("units", null="for no limit"))
    base: int | None = option(None, count("channels", null="for no limit"))
    steps: int | None = option(None, count("steps", null="for no limit"))
    probe_examples: int | None = option(None, count("examples", null="for no limit"))
    evaluate_examples: int | None = option(None, count("examples", null="for no limit"))
    growth: float | None = option(None, positive(1000, null="for no limit", least=1))


@dataclass
class KeepConfig:
    """The parts of training that stay: `weights` of these steps, the last ones always; in
    the table steps every so many of the `updates`."""

    weights: list[int] = option([], each(whole(0, MANY, "as a step")))
    updates: int = option(1, count("updates"))


@dataclass
class PathsConfig:
    outputs: str = option("outputs", FOLDER)


@dataclass
class CheckpointConfig:
    every_seconds: float = option(60.0, not_negative())


@dataclass
class LauncherConfig:
    """How a sweep runs its jobs; `None` divides what the machine has between them."""

    name: str = option(MISSING, one_of("local"))
    jobs: int | None = option(None, count("jobs at once", null="", most=1000))
    threads: int | None = option(None, count("threads a job", null="", most=1000))
    fail_fast: bool = False
    retry_failed: bool = False
    dry_run: bool = False


@dataclass
class SlurmConfig(LauncherConfig):
    """The resources to ask SLURM for, per job; `sbatch` holds further options by their long names.

    `array` jobs run at once; one whose time is up is told `notice_seconds` before and comes back
    up to `requeues` times. `cluster: local` is a stand-in without SLURM, for tests.
    """

    name: str = option("slurm", one_of("slurm"))
    cluster: str = option("slurm", one_of("slurm", "local"))
    partition: str | None = None
    gpus: int | None = option(None, whole(0, 1000, "GPUs", null=""))
    cpus: int = option(2, count("cores", most=10_000))
    memory_gb: int | None = option(None, count("gigabytes", null="", most=1_000_000))
    minutes: int = option(240, count("minutes", most=1_000_000))
    array: int = option(256, count("jobs at once", most=1_000_000))
    notice_seconds: int = option(120, count("seconds", most=1_000_000))
    requeues: int = option(100, whole(0, 1_000_000, "times"))
    folder: str = option("${paths.outputs}/.submitit/%j", FOLDER)
    sbatch: dict[str, Any] = field(default_factory=dict)


@dataclass
class ExperimentConfig:
    """The options of every experiment, trained or not. `about` and `figures` are for `ntkexp list`.

    `stands_in_for`: the paper's own network and data, where the experiment has a smaller network or
    other images in their place. Then the ledger calls its runs `stand-in` and not `paper`.

    `objective_metric` names the number that a run returns (ntkexp/results/numbers/metric.py).
    """

    name: str = option("adhoc", FOLDER_NAME)
    about: str = ""
    figures: list[str] = field(default_factory=list)
    stands_in_for: str = ""
    paths: PathsConfig = field(default_factory=PathsConfig)
    launcher: LauncherConfig = field(default_factory=LauncherConfig)
    members: Any = None
    device: str = option("auto", DEVICE)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    scale: ScaleConfig = field(default_factory=ScaleConfig)
    probe: dict[str, Any] = field(default_factory=dict)
    probing: ProbingConfig = field(default_factory=ProbingConfig)
    keep: KeepConfig = field(default_factory=KeepConfig)
    progress: bool = True
    rerun: bool = False
    with_parents: bool = False
    objective_metric: str | None = None
    logger: dict[str, Any] = field(default_factory=dict)


@dataclass
class TrainConfig(ExperimentConfig):
    """`weights` are those with which the network begins, where it does not begin as drawn."""

    seed: int = option(0, SEED)
    recipe: str = "paper"
    weights: StartFrom = field(default_factory=StartFrom)
    data: Data = MISSING
    model: Model = MISSING
    transform: Transform = MISSING
    objective: Objective = MISSING
    optim: Optimiser = MISSING
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    cuda_graph: bool = True
    tf32: bool = False
    deterministic: bool = False


@dataclass
class StudyConfig(ExperimentConfig):
    study: Study = MISSING
