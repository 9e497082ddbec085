"""What `scale` makes of an experiment: upper limits for everything that the user did not type."""

from __future__ import annotations

from collections.abc import Collection

from omegaconf import DictConfig, OmegaConf

from ntkexp.compose.check import component_nodes, component_type
from ntkexp.options import check_options


def shrink(config: DictConfig, typed: Collection[str]) -> None:
    """Apply the limits of `scale` to everything the user did not type himself."""
    scale = config.scale
    check_options(scale, "scale")
    limits = {
        "probing.examples": scale.probe_examples,
        "evaluate.train_examples": scale.evaluate_examples,
        "evaluate.test_examples": scale.evaluate_examples,
    }
    for key, node in component_nodes(config):
        kind = component_type(node)
        own = kind.limits(scale) if kind else {}
        limits |= {f"{key}.{option}": limit for option, limit in own.items()}
    for key, limit in limits.items():
        if limit is None or key in typed or key.partition(".")[0] not in config:
            continue
        value = OmegaConf.select(config, key)
        OmegaConf.update(config, key, limit if value is None else min(value, limit))
    if scale.growth is not None and "probing.growth" not in typed:
        config.probing.growth = max(config.probing.growth, scale.growth)
