"""The configs of a sweep's jobs, without asking Hydra, which takes a quarter of a second for each.

They mostly differ in plain values (`seed=3`), which Hydra sets last: what comes before is composed
once and shared.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from enum import Enum
from functools import cache

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

# Values that can be set on a finished config without a second thought.
PLAIN = (bool, int, float, str, type(None))


class Kind(Enum):
    choice = "an option of a group"
    plain = "a value for a key"
    other = "anything else: an added key, a whole node"


class Composer:
    """Composes `overrides` on top of the sweep's own config, `master`."""

    def __init__(self, loader: ConfigLoader, master: DictConfig) -> None:
        self.loader, self.master = loader, master
        self._parser = OverridesParser.create(config_loader=loader)
        self._read = cache(self._parse)
        self._bases: dict[tuple[str, ...], DictConfig] = {}

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        """The config of one job, as `load_sweep_config` has it, without Hydra's own node."""
        read = [self._read(override) for override in overrides]
        plain = [override for override, kind in read if kind is Kind.plain]
        if _overlap(plain, [override for override, kind in read if kind is Kind.other]):
            return self._by_hydra(overrides)
        rest = tuple(o for o, (_, kind) in zip(overrides, read, strict=True) if kind != Kind.plain)
        if rest not in self._bases:
            self._bases[rest] = self._by_hydra(rest)
        config = copy.deepcopy(self._bases[rest])
        try:
            for override in plain:
                OmegaConf.update(config, override.key_or_group, override.value(), merge=True)
        except OmegaConfBaseException:
            # Wrong in some way: Hydra says it in its own words, which we know how to explain.
            return self._by_hydra(overrides)
        return config

    def _by_hydra(self, overrides: Sequence[str]) -> DictConfig:
        config = self.loader.load_sweep_config(self.master, list(overrides))
        with open_dict(config):
            del config["hydra"]
        return config

    def _parse(self, text: str) -> tuple[Override, Kind]:
        override = self._parser.parse_override(text)
        value = override.value()
        if self.loader.get_group_options(override.key_or_group) and not isinstance(value, dict):
            return override, Kind.choice
        plain = (
            text[0] not in "+~"
            and override.package is None
            and not override.key_or_group.startswith("hydra")
            and isinstance(value, PLAIN)
            and "${" not in text
        )
        return override, Kind.plain if plain else Kind.other


def _overlap(plain: Sequence[Override], others: Sequence[Override]) -> bool:
    """True if the order matters in which plain values and other overrides are applied."""
    return any(
        f"{value.key_or_group}.".startswith(f"{other.key_or_group}.")
        for value in plain
        for other in others
    )
