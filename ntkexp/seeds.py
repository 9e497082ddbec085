"""Independent streams of random numbers from one seed."""

from __future__ import annotations

import hashlib

import torch


def derived_seed(seed: int, purpose: str, *counters: int) -> int:
    """A number in [0, 2^32) that hashing makes unrelated for every other purpose or counter.

    Thirty-two bits, because that is all that PyTorch's CPU generator takes in.

    >>> derived_seed(0, "init") != derived_seed(0, "batches")
    True
    """
    text = "/".join([str(seed), purpose, *map(str, counters)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def generator(seed: int, purpose: str, *counters: int) -> torch.Generator:
    """The stream of one purpose ("init", "batches", "noise", ...) and counters (epoch, step).

    Always a CPU generator, so that no number depends on the device; and made anew from its
    arguments, so that a resumed run draws what an uninterrupted one would have drawn.

    >>> torch.rand(1, generator=generator(0, "batches", 3)).item() < 1
    True
    """
    return torch.Generator().manual_seed(derived_seed(seed, purpose, *counters))
