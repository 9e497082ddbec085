"""ResNet20, the small network of He et al. 2015 (https://arxiv.org/abs/1512.03385, section 4.2).

ntkexp train +exp=spectral/resnet20
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ntkexp.models.resnet18 import Resnet18
from ntkexp.options import count, option


@dataclass
class Resnet20(Resnet18):
    """A 3x3 stem, no max pool, three stages of three blocks with base * (1, 2, 4) channels.

    Where channels change, shortcuts are 1x1 convolutions, as in resnet18; the paper's identity with
    zeros has 1 % fewer parameters.

    >>> sum(weight.numel() for weight in Resnet20().build((3, 32, 32), 10).parameters())
    272474
    """

    stages: ClassVar = (1, 2, 4)
    blocks: ClassVar = (3, 3, 3)

    base: int = option(16, count("channels"), "channels of the first stage")
