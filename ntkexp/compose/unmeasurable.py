"""What an experiment measures and cannot of other data or another network than it chose.

`+exp=lazy/yin_yang data=disk` asks for the subsets of the yin-yang, `+exp=disk data=mnist` for
eigenfunctions of the plane. Probes and subsets that nobody typed fall away there, said in a line
each. Where nothing else is typed than an experiment, all stays and is checked as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from omegaconf import DictConfig, OmegaConf, open_dict

from ntkexp import components
from ntkexp.compose.check import complete_chosen
from ntkexp.compose.swaps import left_out, swapped_in
from ntkexp.config import TrainConfig
from ntkexp.data.base import Data
from ntkexp.errors import UserError
from ntkexp.options import check_options

# Lists of the names of subsets.
NAMED = ("evaluate.subsets", "probe.alignment.groups")


def leave_out_unmeasurable(config: DictConfig, typed: Collection[str]) -> None:
    """Take from a config, in place, the probes and subsets that its components cannot have."""
    swapped = swapped_in(config.name, typed)
    if "data" not in config or not swapped:
        return
    complete_chosen(config)
    check_options(config)
    data = OmegaConf.to_object(config.data)
    assert isinstance(data, Data)
    for key in NAMED:
        if "data" in swapped and key not in typed and (named := OmegaConf.select(config, key)):
            _leave_out_subsets(config, key, [*named], data)
    reasons = [
        reason
        for key in [*map(str, config.probe)]
        if not _is_typed(f"probe.{key}", typed) and (reason := _refused(config, key))
    ]
    if reasons and not config.probe:
        raise UserError(
            f"probe: none of those of exp={config.name} can measure this; expected probe=[NAME], "
            f"such as probe=[spectrum]\n{reasons[-1].partition('; expected')[0]}"
        )


def _leave_out_subsets(config: DictConfig, key: str, named: list[str], data: Data) -> None:
    there = data.subsets()
    if there is None:
        return
    OmegaConf.update(config, key, [name for name in named if name in there])
    for name in named:
        if name not in there:
            left_out(f"{key}={name} of exp={config.name}: data={data.name} has no such subset")


def _is_typed(probe: str, typed: Collection[str]) -> bool:
    return any(key == "probe" or f"{key}.".startswith(f"{probe}.") for key in typed)


def _refused(config: DictConfig, key: str) -> str:
    """Why a probe fell away; empty where it stays, perhaps without an option that it had."""
    node = config.probe[key]
    usual = components.node_of("probe", node.name)
    while True:
        plain = OmegaConf.to_object(config)
        assert isinstance(plain, TrainConfig)
        try:
            plain.probe[key].check(plain)
        except UserError as error:
            reason = str(error)
        else:
            return ""
        option = re.match(rf"probe\.{key}\.(\w+)=", reason)
        if option and node[option[1]] != usual[option[1]]:
            node[option[1]] = usual[option[1]]
            left_out(f"{reason}; of exp={config.name}")
            continue
        with open_dict(config):
            del config.probe[key]
        left_out(f"probe.{key} of exp={config.name}: {reason.removeprefix(f'probe.{key}: ')}")
        return reason
