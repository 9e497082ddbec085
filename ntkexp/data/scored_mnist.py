"""MNIST's training images in deciles of a difficulty score.

ntkexp train +exp=lazy/c_scores_mlp
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ntkexp.data.mnist import Mnist
from ntkexp.data.scored.options import Scored


@dataclass
class ScoredMnist(Scored):
    images: ClassVar = Mnist.images
