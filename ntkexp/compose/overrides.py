"""Checks of the overrides on a command line that need no composed config.

Hydra raises a bare ValueError for some wrong overrides, composes for minutes for others, and
accepts some that nothing here would read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, RangeSweep, Sweep
from hydra.core.plugins import Plugins
from hydra.errors import HydraException

from ntkexp import components
from ntkexp.components import MANY
from ntkexp.compose.explain import options_of, unknown_option
from ntkexp.errors import UserError

GROUPS = ("exp", "launcher", "recipe", "scale", *components.GROUPS)
# Of Hydra's own settings those that may be typed, and change nothing the results store relies on.
SEARCHPATH, VERBOSE, SWEEPER = "hydra.searchpath", "hydra.verbose", "hydra/sweeper"
MOST_JOBS = 10_000


def check_overrides(words: Sequence[str], sweeps: str = "expected -m to sweep over them") -> None:
    """Refuse overrides that cannot mean anything; `words` begin with Hydra's flags.

    `sweeps` says what to do about several values.
    """
    sweeping = bool({"-m", "--multirun"} & set(words))
    parser = OverridesParser.create()
    for word in _without_flags(words):
        override = _parsed(parser, word)
        key = override.key_or_group
        if key.partition(".")[0].partition("/")[0] == "hydra":
            _check_hydra(word, override, sweeping)
        if override.is_sweep_override() and not sweeping:
            raise UserError(f"{word}: several values; {sweeps}, or [...] for a list")
        if key in GROUPS:
            _check_group(word, override)


def typed_keys(overrides: Sequence[str]) -> Iterator[str]:
    """The keys that overrides set: `+a.b=1` and `a.b=2` both set `a.b`."""
    for override in overrides:
        yield override.lstrip("+~").partition("=")[0].partition("@")[0]


def ranges_quoted(words: Sequence[str]) -> list[str]:
    """A range among the values of `members` as a word: Hydra would sweep over it."""
    return [
        re.sub(r"(?<![\"'])\brange\([^()]*\)", r"'\g<0>'", word)
        if re.match(r"\+*members[.=]", word)
        else word
        for word in words
    ]


def check_sweep(overrides: Sequence[Override]) -> None:
    """Refuse a sweep over nothing, and one that would be composed for minutes."""
    jobs = 1
    for override in overrides:
        if override.is_sweep_override():
            jobs *= _length(override)
    if jobs > MOST_JOBS:
        widest = max(overrides, key=lambda one: _length(one) if one.is_sweep_override() else 0)
        raise UserError(
            f"{widest.input_line}: makes a sweep of {jobs:,} jobs; expected at most "
            f"{MOST_JOBS:,} in one, so sweep over it in parts"
        )


def _without_flags(words: Sequence[str]) -> list[str]:
    """Flags stand first, and only overrides hold an `=` or begin like one."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        flag = rest.pop(0)
        if flag not in ("-m", "--multirun", "-r", "--run", "--resolve"):
            rest = rest[1:]
    return rest


def _parsed(parser: OverridesParser, word: str) -> Override:
    try:
        override = parser.parse_override(word)
    except (HydraException, ValueError) as error:
        found = error.__cause__ or error
        # What Hydra cannot tell it calls None.
        said = "" if str(found) == "None" else " ".join(str(found).split())[:100]
        reason = said if "=" in word else "no ="
        raise UserError(
            f"{word!r}: cannot be read{f' ({reason})' if reason else ''}; expected key=value, the "
            "value in quotes where it has brackets, commas or quotes itself"
        ) from error
    if not override.key_or_group:
        raise UserError(f"{word!r}: names no key; expected key=value")
    return override


def _check_hydra(word: str, override: Override, sweeping: bool) -> None:
    key = override.key_or_group
    if key.replace("/", ".").startswith("hydra.sweeper"):
        if not sweeping:
            raise UserError(f"{word}: is about a sweep; expected -m beside it")
        known = sweepers()
        if key == SWEEPER and override.value() not in known:
            raise UserError(f"{word}: no such sweeper; expected one of {', '.join(known)}")
    elif key not in (SEARCHPATH, VERBOSE):
        raise UserError(_about_hydra(word, key))


def sweepers() -> list[str]:
    """The names that `hydra/sweeper` takes: ours, and those of plugins that are installed."""
    Plugins.instance()  # which looks for them
    names = ConfigStore.instance().list(SWEEPER)
    return sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))


def _about_hydra(word: str, key: str) -> str:
    if key == "hydra/launcher":
        return (
            f"{word}: sweeps run by this program's own launchers, not by a plugin of Hydra's; "
            f"expected one of launcher={', launcher='.join(options_of('launcher'))}"
        )
    return (
        f"{word}: Hydra's own settings stand fixed; expected paths.outputs=FOLDER for where "
        f"results go, {SEARCHPATH}=[...] for more configs, or {VERBOSE}=true for its log"
    )


def _check_group(word: str, override: Override) -> None:
    group = override.key_or_group
    if override.is_delete():
        way_out = f"{group}=[] for no {group}s" if group in MANY else f"{group}=NAME for another"
        raise UserError(f"{word}: {group} cannot be left out; expected {way_out}")
    if group == "exp" and not override.is_add():
        raise UserError(f"{word}: an experiment is added to the config; expected +{word}")
    if override.is_force_add():
        raise UserError(f"{word}: {group} is there already; expected {word.lstrip('+')}")
    value = override.value()
    for one in value.list if isinstance(value, ChoiceSweep) and value.list else [value]:
        _check_choice(word, group, one)


def _check_choice(word: str, group: str, value: object) -> None:
    if isinstance(value, Sweep):
        return
    if isinstance(value, dict) and group not in ("exp", "recipe"):
        if group in MANY:
            for name, node in value.items():
                chosen = str(node.get("name", name)) if isinstance(node, dict) else str(name)
                if "." not in chosen and chosen not in options_of(group):
                    raise UserError(unknown_option(group, chosen))
        return  # keys of the node, which are checked when it is composed
    names = value if isinstance(value, list) and group in MANY else [value]
    for name in names:
        # A quoted string is plain here; in a list it is still an object of Hydra's, with a text.
        if not str(name) or not (isinstance(name, str) or hasattr(name, "text")):
            many = "one or more, as a list," if group in MANY else "one"
            there_are = ", ".join(options_of(group))
            accepted = "those of ntkexp list" if group == "exp" else there_are
            raise UserError(f"{word}: expected {many} of {accepted}")


def _length(override: Override) -> int:
    sweep = override.value()
    if isinstance(sweep, IntervalSweep):
        raise UserError(
            f"{override.input_line}: an interval has no list of values; expected range(...) or "
            "values with commas between them"
        )
    if isinstance(sweep, RangeSweep):
        found = _length_of_range(sweep, str(override.input_line))
    else:
        found = sum(1 for _ in override.sweep_iterator())
    if found == 0:
        raise UserError(f"{override.input_line}: has no values; expected one or more to sweep over")
    return found


def _length_of_range(sweep: RangeSweep, word: str) -> int:
    assert sweep.start is not None
    assert sweep.stop is not None
    numbers = (sweep.start, sweep.stop, sweep.step)
    if sweep.step == 0 or not all(map(math.isfinite, numbers)):
        raise UserError(f"{word}: expected range(first, end, step) of finite numbers, step not 0")
    if all(isinstance(number, int) for number in numbers):
        return max(0, -(-(int(sweep.stop) - int(sweep.start)) // int(sweep.step)))
    steps = (sweep.stop - sweep.start) / sweep.step
    return math.ceil(min(max(0.0, steps), 1e15))
