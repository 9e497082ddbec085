"""Kuzushiji-MNIST: 60,000 training and 10,000 test characters of ten kinds, 1x28x28.

ntkexp train +exp=mlp_mnist data=kmnist
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ntkexp.data.images.dataset import ImageKind, Images


@dataclass
class Kmnist(Images):
    images: ClassVar = ImageKind("kmnist", (1, 28, 28), torchvision="KMNIST")
