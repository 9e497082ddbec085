"""The config of a run that is timed."""

from __future__ import annotations

from collections.abc import Sequence

from omegaconf import DictConfig

from ntkexp.compose.composition import by_itself, compose
from ntkexp.compose.finalise import finalise


def composed(words: Sequence[str], typed: frozenset[str] = frozenset()) -> DictConfig:
    """What `ntkexp train WORD...` makes of its words; `typed` are the keys that count as set."""
    with by_itself():
        config = compose("train", words)
        finalise(config, typed)
    return config
