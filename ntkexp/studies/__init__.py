"""Experiments without a network to train: one file a study, found by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ntkexp import components
from ntkexp.errors import UserError
from ntkexp.studies.base import Study

__all__ = ["Study", "choose", "names"]


def names() -> list[str]:
    """Every study there is."""
    return components.names("study")


def choose(selected: Mapping[str, Any]) -> Study:
    """The study of a config node `study: {name: ..., options}`, checked."""
    if not isinstance(selected, Mapping):
        raise UserError(f"study={selected}: expected one of {', '.join(names())}")
    options = dict(selected)
    name = options.pop("name", None)
    if name not in names() and "." not in str(name):
        raise UserError(f"study.name={name}: {components.unknown('study', str(name))}")
    study = components.made("study", str(name), options, "study")
    assert isinstance(study, Study)
    study.check()
    return study
