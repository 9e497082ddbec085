"""The typed schema of an experiment, and what makes two runs the same run.

Imports neither torch nor pandas: `ntkexp --help` and shell completion pass through here.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from omegaconf import MISSING, DictConfig, OmegaConf

from ntkexp.errors import UserError
from ntkexp.options import (
    MANY,
    SEED,
    Rule,
    check_options,
    count,
    each,
    not_negative,
    one_of,
    option,
    positive,
    share,
    whole,
)
from ntkexp.options import checked as checked
from ntkexp.options import refuse_added as refuse_added

SCHEMA_VERSION = 1

# Keys that say how or where a run is made, never what comes out of it.
EXECUTION_KEYS = ("device", "cuda_graph", "paths", "checkpoint", "progress", "rerun", "launcher")
DESCRIPTION_KEYS = ("about", "figures")

IMAGE_SHAPES = {"mnist": (1, 28, 28), "kmnist": (1, 28, 28), "cifar10": (3, 32, 32)}
IMAGE_CLASSES = 10

# A name is a folder's: it must stay inside `paths.outputs`, and be readable in a list.
FOLDER_NAME = Rule(
    lambda name: re.fullmatch(r"\w[\w.+=-]{0,99}", name) is not None,
    "1 to 100 letters, digits, and . _ + - =, beginning with a letter or digit",
)
FOLDER = Rule(
    lambda path: bool(path.strip()) and path.isprintable(), "a folder, such as outputs or /scratch"
)
DEVICE = Rule(
    lambda name: re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?", name) is not None,
    "auto, cpu, cuda or cuda:N",
)


class Difficult(StrEnum):
    """What the difficult part of a training set is made of."""

    none = "none"
    random_labels = "random_labels"
    kmnist = "kmnist"


class Augment(StrEnum):
    none = "none"
    crop_flip = "crop_flip"


class Init(StrEnum):
    """kaiming: normal weights (fan-in, ReLU gain), zero biases. default: PyTorch's own."""

    kaiming = "kaiming"
    default = "default"


class Norm(StrEnum):
    batch = "batch"
    none = "none"


class Schedule(StrEnum):
    constant = "constant"
    cosine = "cosine"


class Spacing(StrEnum):
    """When to probe. log: 0 and the distinct int(start * growth^k). linear: every `every`."""

    log = "log"
    linear = "linear"
    list = "list"


class BatchNorm(StrEnum):
    """The mode of batch normalisation when a kernel is taken.

    eval: with running statistics, examples do not interact. train: with the statistics of the
    probe batch, whose kernel is that of the whole batch as one function, some 50 times dearer.
    """

    eval = "eval"
    train = "train"


@dataclass
class DataConfig:
    name: str = MISSING


@dataclass
class ImagesConfig(DataConfig):
    """mnist, kmnist or cifar10; `None` examples means all of them.

    A share `noise` of the training labels is redrawn uniformly, so that one in ten of those is
    right by chance, unless `noise_excludes_true`. The difficult part comes on top of
    `train_examples`; noise does not touch it. The test set is always clean.
    """

    name: str = option(MISSING, one_of(*IMAGE_SHAPES))
    train_examples: int | None = option(None, count("examples", null="for all"))
    test_examples: int | None = option(None, count("examples", null="for all"))
    noise: float = option(0.0, share("a share"))
    noise_excludes_true: bool = False
    difficult: Difficult = Difficult.none
    difficult_examples: int = option(0, whole(0, MANY, "examples"))
    augment: Augment = Augment.none


@dataclass
class DiskConfig(DataConfig):
    """Points uniform in the square [-1, 1]^2; the test set is a grid x grid lattice of it."""

    name: str = option("disk", one_of("disk"))
    train_examples: int = option(500, count("examples"))
    grid: int = option(50, whole(2, 1_000_000, "points a side"))


@dataclass
class ModelConfig:
    name: str = MISSING
    init: Init = Init.kaiming


@dataclass
class MLPConfig(ModelConfig):
    name: str = option("mlp", one_of("mlp"))
    depth: int = option(6, count("hidden layers", most=1000))
    width: int = option(80, count("units"))


@dataclass
class VGGConfig(ModelConfig):
    name: str = option("vgg", one_of("vgg"))
    depth: int = option(19, one_of(11, 13, 16, 19))
    base: int = option(64, count("channels"))


@dataclass
class ResNetConfig(ModelConfig):
    name: str = option("resnet18", one_of("resnet18"))
    base: int = option(64, count("channels"))
    norm: Norm = Norm.batch


@dataclass
class OptimConfig:
    """SGD. `batch_size: null` is full batch; `stop_loss: null` trains to the limit."""

    lr: float = option(0.01, positive())
    momentum: float = option(
        0.9, Rule(lambda number: 0 <= number < 1, "a number from 0 to below 1")
    )
    weight_decay: float = option(0.0, not_negative())
    batch_size: int | None = option(100, count("examples", null="for the full batch"))
    schedule: Schedule = Schedule.constant
    epochs: int | None = option(None, count("epochs", null=""))
    steps: int | None = option(None, count("steps", null=""))
    stop_loss: float | None = option(0.01, positive(null="to train to the limit"))
    stop_patience: int = option(2, count("evaluations"))


@dataclass
class ProbingConfig:
    """When the probes look, at how many fixed examples of each split, and in which mode.

    They also look where the training loss first falls below one of `losses`.
    """

    spacing: Spacing = Spacing.log
    start: int = option(5, whole(1, MANY, "as the first step after 0"))
    growth: float = option(1.15, Rule(lambda x: 1.001 <= x <= 1000, "a factor from 1.001 to 1000"))
    every: int = option(100, count("steps"))
    steps: list[int] = option([], each(whole(0, MANY, "as a step")))
    losses: list[float] = option([], each(positive()))
    examples: int = option(100, count("examples"))
    batch_norm: BatchNorm = BatchNorm.eval


@dataclass
class EvaluateConfig:
    """How many fixed examples of each split the loss and accuracy are taken on; None is all."""

    train_examples: int | None = option(None, count("examples", null="for all"))
    test_examples: int | None = option(None, count("examples", null="for all"))
    batch_size: int = option(500, count("examples"))


@dataclass
class ScaleConfig:
    """Upper limits that shrink any experiment; null leaves a thing at its size."""

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
    """What to ask SLURM for, per job; `sbatch` holds further options by their long names.

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
    """What every experiment has, trained or not. `about` and `figures` are for `ntkexp list`."""

    name: str = option("adhoc", FOLDER_NAME)
    about: str = ""
    figures: list[int] = field(default_factory=list)
    paths: PathsConfig = field(default_factory=PathsConfig)
    launcher: LauncherConfig = field(default_factory=LauncherConfig)
    members: Any = None
    device: str = option("auto", DEVICE)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    progress: bool = True
    rerun: bool = False


@dataclass
class TrainConfig(ExperimentConfig):
    seed: int = option(0, SEED)
    recipe: str = "paper"
    data: DataConfig = MISSING
    model: ModelConfig = MISSING
    optim: OptimConfig = field(default_factory=OptimConfig)
    probe: dict[str, Any] = field(default_factory=dict)
    probing: ProbingConfig = field(default_factory=ProbingConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    scale: ScaleConfig = field(default_factory=ScaleConfig)
    cuda_graph: bool = True
    tf32: bool = False
    deterministic: bool = False


@dataclass
class StudyConfig(ExperimentConfig):
    study: dict[str, Any] = field(default_factory=dict)


def shrink(config: DictConfig, typed: Collection[str]) -> None:
    """Apply the limits of `scale` to everything the user did not type himself."""
    scale = config.scale
    check_options(scale, "scale")
    limits = {
        "data.train_examples": scale.train_examples,
        "data.test_examples": scale.test_examples,
        "data.difficult_examples": scale.train_examples and max(1, scale.train_examples // 10),
        "model.width": scale.width,
        "model.base": scale.base,
        "optim.steps": scale.steps,
        "probing.examples": scale.probe_examples,
        "evaluate.train_examples": scale.evaluate_examples,
        "evaluate.test_examples": scale.evaluate_examples,
    }
    for key, limit in limits.items():
        if limit is None or key in typed or not _has(config, key):
            continue
        value = OmegaConf.select(config, key)
        OmegaConf.update(config, key, limit if value is None else min(value, limit))
    if scale.growth is not None and "probing.growth" not in typed:
        config.probing.growth = max(config.probing.growth, scale.growth)


def check(config: DictConfig) -> None:
    """Refuse values that no run can have; each message names its key."""
    from ntkexp.models import size  # it reads the options that are declared here

    check_options(config)
    if config.optim.epochs is None and config.optim.steps is None:
        way_out = (
            ", or an experiment, +exp=NAME (see ntkexp list)" if config.name == "adhoc" else ""
        )
        raise UserError(f"optim.epochs and optim.steps are both null: give one of them{way_out}")
    if _has(config, "data.difficult"):
        _check_difficult(config)
    if config.probing.spacing == Spacing.list and not config.probing.steps:
        raise UserError("probing.steps=[]: probing.spacing=list needs one step or more, [0, 10]")
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    size.check(plain)


def check_study(config: DictConfig) -> None:
    """The same for a study; its own options are checked where it is chosen."""
    refuse_added(config)
    check_options(config)


def _check_difficult(config: DictConfig) -> None:
    wanted, examples = config.data.difficult, config.data.difficult_examples
    if wanted == Difficult.none and examples:
        raise UserError(
            f"data.difficult_examples={examples}, but data.difficult=none; "
            "set data.difficult=random_labels or kmnist"
        )
    if wanted != Difficult.none and not examples:
        raise UserError(
            f"data.difficult={wanted}, but data.difficult_examples=0; expected 1 or more"
        )


def _has(config: DictConfig, key: str) -> bool:
    parent, _, leaf = key.rpartition(".")
    node = OmegaConf.select(config, parent) if parent else config
    return isinstance(node, DictConfig) and leaf in node
