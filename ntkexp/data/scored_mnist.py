"""MNIST's training images in deciles of a difficulty score.

ntkexp train +exp=lazy/c_scores_mlp
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ntkexp.data.deciles import Scored
from ntkexp.data.mnist import Mnist


@dataclass
class ScoredMnist(Scored):
    images: ClassVar = Mnist.images
