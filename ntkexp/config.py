"""The typed schema of an experiment, and what makes two runs the same run.

Imports neither torch nor pandas: `ntkexp --help` and shell completion pass through here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from typing import Any

from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ntkexp.errors import UserError, unknown_key

SCHEMA_VERSION = 1

# Keys that say how or where a run is made, never what comes out of it.
EXECUTION_KEYS = ("device", "cuda_graph", "paths", "checkpoint", "progress", "rerun", "launcher")
DESCRIPTION_KEYS = ("about", "figures")


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

    train_examples: int | None = None
    test_examples: int | None = None
    noise: float = 0.0
    noise_excludes_true: bool = False
    difficult: Difficult = Difficult.none
    difficult_examples: int = 0
    augment: Augment = Augment.none


@dataclass
class DiskConfig(DataConfig):
    """Points uniform in the square [-1, 1]^2; the test set is a grid x grid lattice of it."""

    name: str = "disk"
    train_examples: int = 500
    grid: int = 50


@dataclass
class ModelConfig:
    name: str = MISSING
    init: Init = Init.kaiming


@dataclass
class MLPConfig(ModelConfig):
    name: str = "mlp"
    depth: int = 6
    width: int = 80


@dataclass
class VGGConfig(ModelConfig):
    name: str = "vgg"
    depth: int = 19
    base: int = 64


@dataclass
class ResNetConfig(ModelConfig):
    name: str = "resnet18"
    base: int = 64
    norm: Norm = Norm.batch


@dataclass
class OptimConfig:
    """SGD. `batch_size: null` is full batch; `stop_loss: null` trains to the limit."""

    lr: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 0.0
    batch_size: int | None = 100
    schedule: Schedule = Schedule.constant
    epochs: int | None = None
    steps: int | None = None
    stop_loss: float | None = 0.01
    stop_patience: int = 2


@dataclass
class ProbingConfig:
    """When the probes look, at how many fixed examples of each split, and in which mode."""

    spacing: Spacing = Spacing.log
    start: int = 5
    growth: float = 1.15
    every: int = 100
    steps: list[int] = field(default_factory=list)
    examples: int = 100
    batch_norm: BatchNorm = BatchNorm.eval


@dataclass
class EvaluateConfig:
    """How many fixed examples of each split the loss and accuracy are taken on; None is all."""

    train_examples: int | None = None
    test_examples: int | None = None
    batch_size: int = 500


@dataclass
class ScaleConfig:
    """Upper limits that shrink any experiment; null leaves a thing at its size."""

    name: str = "paper"
    train_examples: int | None = None
    test_examples: int | None = None
    width: int | None = None
    base: int | None = None
    steps: int | None = None
    probe_examples: int | None = None
    evaluate_examples: int | None = None
    growth: float | None = None


@dataclass
class PathsConfig:
    outputs: str = "outputs"


@dataclass
class CheckpointConfig:
    every_seconds: float = 60.0


@dataclass
class LauncherConfig:
    """How a sweep runs its jobs; `None` divides what the machine has between them."""

    name: str = MISSING
    jobs: int | None = None
    threads: int | None = None
    fail_fast: bool = False
    retry_failed: bool = False
    dry_run: bool = False


@dataclass
class SlurmConfig(LauncherConfig):
    """What to ask SLURM for, per job; `sbatch` holds further options by their long names.

    `array` jobs run at once; one whose time is up is told `notice_seconds` before and comes back
    up to `requeues` times. `cluster: local` is a stand-in without SLURM, for tests.
    """

    cluster: str = "slurm"
    partition: str | None = None
    gpus: int | None = None
    cpus: int = 2
    memory_gb: int | None = None
    minutes: int = 240
    array: int = 256
    notice_seconds: int = 120
    requeues: int = 100
    folder: str = "${paths.outputs}/.submitit/%j"
    sbatch: dict[str, Any] = field(default_factory=dict)


@dataclass
class ExperimentConfig:
    """What every experiment has, trained or not. `about` and `figures` are for `ntkexp list`."""

    name: str = "adhoc"
    about: str = ""
    figures: list[int] = field(default_factory=list)
    paths: PathsConfig = field(default_factory=PathsConfig)
    launcher: LauncherConfig = field(default_factory=LauncherConfig)
    progress: bool = True
    rerun: bool = False


@dataclass
class TrainConfig(ExperimentConfig):
    seed: int = 0
    recipe: str = "paper"
    data: DataConfig = MISSING
    model: ModelConfig = MISSING
    optim: OptimConfig = field(default_factory=OptimConfig)
    probe: dict[str, Any] = field(default_factory=dict)
    probing: ProbingConfig = field(default_factory=ProbingConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    scale: ScaleConfig = field(default_factory=ScaleConfig)
    device: str = "auto"
    cuda_graph: bool = True
    tf32: bool = False
    deterministic: bool = False
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)


@dataclass
class StudyConfig(ExperimentConfig):
    study: dict[str, Any] = field(default_factory=dict)


def identity(config: DictConfig) -> str:
    """The run's id: a hash of everything that decides its results, and of the tables' version."""
    container = OmegaConf.to_container(config, resolve=True, enum_to_str=True)
    assert isinstance(container, dict)
    told = {k: v for k, v in container.items() if k not in EXECUTION_KEYS + DESCRIPTION_KEYS}
    told["schema_version"] = SCHEMA_VERSION
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def shrink(config: DictConfig, typed: Collection[str]) -> None:
    """Apply the limits of `scale` to everything the user did not type himself."""
    scale = config.scale
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
    for key, holds, accepted in RULES:
        if not _has(config, key):
            continue
        value = OmegaConf.select(config, key)
        if value is not None and not holds(value):
            raise UserError(f"{key}={value}: expected {accepted}")
    if config.optim.epochs is None and config.optim.steps is None:
        way_out = (
            ", or an experiment, +exp=NAME (see ntkexp list)" if config.name == "adhoc" else ""
        )
        raise UserError(f"optim.epochs and optim.steps are both null: give one of them{way_out}")
    if _has(config, "data.difficult"):
        _check_difficult(config)


def refuse_added(config: DictConfig, where: str = "") -> None:
    """Hydra's `+key=value` adds a key to any node: one that nothing would ever read."""
    kind = OmegaConf.get_type(config)
    known = [one.name for one in fields(kind)] if is_dataclass(kind) else None
    for key in map(str, config):
        full = f"{where}.{key}".lstrip(".")
        if known is not None and key not in known:
            raise UserError(unknown_key(full, where, known))
        if not OmegaConf.is_missing(config, key) and isinstance(config[key], DictConfig):
            refuse_added(config[key], full)


def checked(kind: type, options: Any, where: str) -> Any:
    """`options`, a node named `where`, as an instance of the dataclass `kind`."""
    try:
        return OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(kind), options or {}))
    except OmegaConfBaseException as error:
        key, names = f"{where}.{error.full_key}", [known.name for known in fields(kind)]
        if error.full_key not in names:
            raise UserError(unknown_key(key, where, names)) from error
        raise UserError(f"{key}: {str(error.msg).splitlines()[0]}") from error


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


def _positive(value: float) -> bool:
    return value > 0


def _not_negative(value: float) -> bool:
    return value >= 0


RULES: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("data.noise", lambda share: 0 <= share <= 1, "a share from 0 to 1"),
    ("data.train_examples", _positive, "1 or more examples, or null for all"),
    ("data.test_examples", _positive, "1 or more examples, or null for all"),
    ("data.difficult_examples", _not_negative, "0 or more examples"),
    ("data.grid", lambda side: side >= 2, "2 or more points a side"),
    ("model.depth", _positive, "1 or more layers"),
    ("model.width", _positive, "1 or more units"),
    ("model.base", _positive, "1 or more channels"),
    ("optim.lr", _positive, "a number above 0"),
    ("optim.momentum", lambda share: 0 <= share < 1, "a number from 0 to below 1"),
    ("optim.weight_decay", _not_negative, "a number from 0"),
    ("optim.batch_size", _positive, "1 or more examples, or null for the full batch"),
    ("optim.epochs", _positive, "1 or more epochs, or null"),
    ("optim.steps", _positive, "1 or more steps, or null"),
    ("optim.stop_loss", _positive, "a loss above 0, or null to train to the limit"),
    ("optim.stop_patience", _positive, "1 or more evaluations"),
    ("probing.start", _positive, "a step from 1"),
    ("probing.growth", lambda factor: factor > 1, "a factor above 1"),
    ("probing.every", _positive, "a step from 1"),
    ("probing.examples", _positive, "1 or more examples"),
    ("evaluate.batch_size", _positive, "1 or more examples"),
    ("launcher.jobs", _positive, "1 or more jobs at once, or null"),
    ("launcher.threads", _positive, "1 or more threads a job, or null"),
    ("launcher.minutes", _positive, "1 or more minutes"),
    ("launcher.array", _positive, "1 or more jobs at once"),
    ("checkpoint.every_seconds", _not_negative, "seconds from 0"),
)
