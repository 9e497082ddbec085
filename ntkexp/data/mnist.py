"""MNIST: 60,000 training and 10,000 test digits, 1x28x28.

    ntkexp train +exp=mlp_mnist data.noise=0.2                   a fifth of the labels redrawn
    ntkexp train +exp=mlp_mnist data.train_examples=10000 \\
      data.difficult=kmnist data.difficult_examples=1000         plus 1,000 KMNIST characters
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ntkexp.data.images.dataset import ImageKind, Images


@dataclass
class Mnist(Images):
    images: ClassVar = ImageKind("mnist", (1, 28, 28), torchvision="MNIST")
