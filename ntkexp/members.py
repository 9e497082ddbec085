"""`members: {seed: range(100)}`: the configs of many networks in one run. Imports no torch.

Every key names an option and lists its values; several keys make every combination, the last one
changing fastest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ntkexp.errors import UserError, unknown_key
from ntkexp.keys import DESCRIPTION_KEYS, EXECUTION_KEYS
from ntkexp.options import reworded

Columns = Mapping[str, object]
RANGE = re.compile(r"range\((-?\d+)(?:,\s*(-?\d+))?(?:,\s*(-?\d+))?\)")
MOST_MEMBERS = 100_000
# Keys that all networks of a run have in common.
SHARED = (
    *EXECUTION_KEYS,
    *DESCRIPTION_KEYS,
    "members",
    "name",
    "recipe",
    "scale",
    "probing",
    "keep",
    # Settings of the process.
    "tf32",
    "deterministic",
)


def expanded(members: Any) -> dict[str, list[Any]]:
    """The values of every key, ranges written out."""
    if not isinstance(members, Mapping) or not members:
        raise UserError(f"members={members}: expected keys and values, such as {{seed: range(10)}}")
    return {str(key): _values(str(key), values) for key, values in members.items()}


def of_config(config: DictConfig) -> list[tuple[dict[str, Any], DictConfig]]:
    """Each member's values and its whole config."""
    values = expanded(config.members)
    members = []
    for chosen in product(*values.values()):
        columns = dict(zip(values, chosen, strict=True))
        member = config.copy()
        member.members = None
        for key, value in columns.items():
            _set(member, key, value)
        members.append((columns, member))
    return members


def _values(key: str, given: Any) -> list[Any]:
    if isinstance(given, str) and (match := RANGE.fullmatch(given.strip())):
        bounds = [int(bound) for bound in match.groups() if bound is not None]
        try:
            steps = range(*bounds)
        except ValueError as error:
            raise UserError(f"members.{key}={given}: {error}") from error
        if len(steps) > MOST_MEMBERS:
            raise UserError(
                f"members.{key}={given}: {len(steps):,} of them; at most {MOST_MEMBERS:,}"
            )
        given = list(steps)
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise UserError(f"members.{key}={given}: expected a list such as [0, 1], or range(10)")
    values = list(given)
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        values, kinds = [float(value) for value in values], {float}
    if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
        raise UserError(f"members.{key}={list(given)}: expected numbers or words, all of one kind")
    if len(set(values)) < len(values):
        raise UserError(f"members.{key}={list(given)}: a value stands there twice")
    return values


def _set(config: DictConfig, key: str, value: Any) -> None:
    if key.partition(".")[0] in SHARED:
        raise UserError(f"members.{key}: all networks of a run have one {key}")
    parent, _, leaf = key.rpartition(".")
    node = OmegaConf.select(config, parent) if parent else config
    if not isinstance(node, DictConfig) or leaf not in node:
        choices = [str(name) for name in node] if isinstance(node, DictConfig) else []
        raise UserError(f"members.{unknown_key(key, parent, choices)}")
    try:
        OmegaConf.update(config, key, value)
    except Exception as error:
        raise UserError(f"members.{key}={value}: {reworded(str(error).splitlines()[0])}") from error
