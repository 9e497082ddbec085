"""Hydra as users have it, but two of its results are kept for the life of a test process.

These are its list of defaults and the config before any key is set. Both depend only on which
configs are chosen; they take most of a command's first quarter of a second, and hundreds of tests
choose the same.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import pytest
from hydra._internal import config_loader_impl as loader
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.defaults_list import DefaultsList, Overrides
from hydra._internal.hydra import Hydra
from omegaconf import DictConfig

create_defaults_list = loader.create_defaults_list
compose = ConfigLoaderImpl._compose_config_from_defaults_list
_lists: dict[Hashable, DefaultsList] = {}
_composed: dict[Hashable, DictConfig] = {}


def make_plain(patch: pytest.MonkeyPatch) -> None:
    """Hydra as users have it."""
    patch.setattr(loader, "create_defaults_list", create_defaults_list)
    patch.setattr(ConfigLoaderImpl, "_compose_config_from_defaults_list", compose)


def make_quick(patch: pytest.MonkeyPatch) -> None:
    # Hydra composes every config twice, first for `hydra.mode` alone, which no test sets.
    patch.setattr(Hydra, "get_mode", lambda *words, **more: None)
    patch.setattr(loader, "create_defaults_list", _defaults_list)
    patch.setattr(ConfigLoaderImpl, "_compose_config_from_defaults_list", _compose)


def _sources(repo: Any) -> tuple[tuple[str, str], ...] | None:
    """Where configs come from; None where a test may write files that are others later."""
    places = tuple((source.scheme(), source.path) for source in repo.get_sources())
    return None if any(scheme == "file" for scheme, _ in places) else places


def _defaults_list(repo: Any, config_name: Any, overrides_list: Any, **how: bool) -> DefaultsList:
    arguments = {"repo": repo, "config_name": config_name, "overrides_list": overrides_list, **how}
    chosen = [word.input_line for word in overrides_list if repo.group_exists(word.key_or_group)]
    sources = _sources(repo)
    # A class by its full name may be another one in the next test.
    if sources is None or any("." in word for word in chosen):
        return create_defaults_list(**arguments)
    key = (sources, config_name, *chosen, *how.items())
    if key not in _lists:
        _lists[key] = create_defaults_list(**arguments)
    values = Overrides(repo=repo, overrides_list=overrides_list).config_overrides
    return replace(_lists[key], config_overrides=values)


def _compose(self: ConfigLoaderImpl, defaults: Any, repo: Any) -> DictConfig:
    sources = _sources(repo)
    if sources is None or any("." in (config.config_path or "") for config in defaults):
        return compose(self, defaults=defaults, repo=repo)
    key = (sources, repr(defaults))
    if key not in _composed:
        _composed[key] = compose(self, defaults=defaults, repo=repo)
    return copy.deepcopy(_composed[key])
