"""The typed schema of an experiment, and what makes two runs the same run.

Imports neither torch nor pandas: `ntkexp --help` and shell completion pass through here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from omegaconf import MISSING


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
    """When the probes look, and at how many fixed examples of each split."""

    spacing: Spacing = Spacing.log
    start: int = 5
    growth: float = 1.15
    every: int = 100
    steps: list[int] = field(default_factory=list)
    examples: int = 100


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
    growth: float | None = None


@dataclass
class PathsConfig:
    outputs: str = "outputs"


@dataclass
class CheckpointConfig:
    every_seconds: float = 60.0


@dataclass
class TrainConfig:
    name: str = MISSING
    about: str = ""
    figures: list[int] = field(default_factory=list)
    seed: int = 0
    data: DataConfig = MISSING
    model: ModelConfig = MISSING
    optim: OptimConfig = field(default_factory=OptimConfig)
    probe: dict[str, Any] = field(default_factory=dict)
    probing: ProbingConfig = field(default_factory=ProbingConfig)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    scale: ScaleConfig = field(default_factory=ScaleConfig)
    tf32: bool = False
    device: str = "auto"
    paths: PathsConfig = field(default_factory=PathsConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    progress: bool = True
    rerun: bool = False
