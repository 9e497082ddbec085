"""Images that the members of a run share are read once and are in memory once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ntkexp.data.images.files import LabelledImages
from ntkexp.data.images.options import SplitName


@dataclass
class _Kept:
    images: dict[tuple[str, SplitName], LabelledImages] = field(default_factory=dict)
    inputs: list[Tensor] = field(default_factory=list)


_kept: ContextVar[_Kept | None] = ContextVar("what was read before", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Inside, images stay in memory once read, and equal inputs of networks are one tensor."""
    before = _kept.set(_Kept())
    try:
        yield
    finally:
        _kept.reset(before)


def shared_images(
    name: str, split: SplitName, read: Callable[[], LabelledImages]
) -> LabelledImages:
    """The result of `read`; inside `sharing` that of the first time."""
    if (kept := _kept.get()) is None:
        return read()
    if (name, split) not in kept.images:
        kept.images[name, split] = read()
    return kept.images[name, split]


def shared_inputs(inputs: Tensor) -> Tensor:
    """Inputs of equal numbers; inside `sharing` the tensor of the first who asked for them.

    Members of one seed see the same images whatever their label noise.
    """
    if (kept := _kept.get()) is None:
        return inputs
    for before in kept.inputs:
        if torch.equal(before, inputs):
            return before
    kept.inputs.append(inputs)
    return inputs
