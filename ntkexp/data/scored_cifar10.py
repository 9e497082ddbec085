"""CIFAR-10's training images in deciles of a difficulty score.

ntkexp train +exp=lazy/c_scores_vgg11 model.base=8
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.deciles import Scored


@dataclass
class ScoredCifar10(Scored):
    images: ClassVar = Cifar10.images
