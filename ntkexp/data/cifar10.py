"""CIFAR-10: 50,000 training and 10,000 test photographs of ten kinds, 3x32x32.

ntkexp train +exp=vgg19_clean data.noise=0.5 data.augment=crop_flip
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ntkexp.data.images.dataset import ImageKind, Images


@dataclass
class Cifar10(Images):
    images: ClassVar = ImageKind(
        "cifar10",
        (3, 32, 32),
        examples={"train": 50_000, "test": 10_000},
        mean=(0.4914, 0.4822, 0.4465),
        std=(0.2023, 0.1994, 0.2010),
        torchvision="CIFAR10",
        pickled=True,
    )
