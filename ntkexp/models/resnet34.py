"""ResNet34 for small images (He et al. 2015, https://arxiv.org/abs/1512.03385).

ntkexp train +exp=resnet18_cifar10 model=resnet34 model.norm=none model.init=residual
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ntkexp.models.resnet18 import Resnet18


@dataclass
class Resnet34(Resnet18):
    """resnet18 with 3, 4, 6 and 3 blocks in its stages.

    >>> net = Resnet34(base=2).build((3, 32, 32), 10)
    >>> [len(stage) for stage in (net.stage1, net.stage2, net.stage3, net.stage4)]
    [3, 4, 6, 3]
    """

    blocks: ClassVar = (3, 4, 6, 3)
