"""The overrides on a command line: checked before Hydra composes, explained where it cannot."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import Any, get_type_hints

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, Sweep
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import ConfigKeyError, OmegaConfBaseException
from yaml import YAMLError

from ntkexp import components
from ntkexp.components import GROUPS_OF_MANY
from ntkexp.compose.composition import composed_once
from ntkexp.compose.experiment_file import ExperimentFile, find, homes
from ntkexp.compose.swaps import experiment_at_work
from ntkexp.config import TrainConfig
from ntkexp.errors import UserError, meant, unknown_key
from ntkexp.experiments import experiments
from ntkexp.keys import EXECUTION_KEYS
from ntkexp.options import first_line, reworded, rules_of

GROUPS = ("exp", "recipe", "scale", *components.GROUPS)
# The settings of Hydra's own that may be typed: they change nothing that the store relies on.
SEARCHPATH, VERBOSE, SWEEPER = "hydra.searchpath", "hydra.verbose", "hydra/sweeper"
# Jobs of a sweep, which is composed before its first job begins.
MOST_JOBS = 10_000
# Typed keys that make no other run of an experiment, or are counted apart.
HARMLESS = frozenset({"exp", "seed", "recipe", "scale", *EXECUTION_KEYS})
# A folder of a group: its configs are chosen by other configs of the group, nobody types them.
PARTS = "for"


def ranges_quoted(words: Sequence[str]) -> list[str]:
    """A range among the values of `members` as a word: Hydra would sweep over it."""
    return [
        re.sub(r"(?<![\"'])\brange\([^()]*\)", r"'\g<0>'", word)
        if re.match(r"\+*members[.=]", word)
        else word
        for word in words
    ]


def check_overrides(
    words: Sequence[str], *, sweeping: bool = False, sweeps: str = "expected -m to sweep over them"
) -> None:
    """Refuse overrides that cannot mean anything; `sweeps` says what to do about several values."""
    parser = OverridesParser.create()
    for word in words:
        override = _parsed(parser, word)
        if re.match(r"hydra([./]|$)", override.key_or_group):
            _check_hydra(word, override, sweeping)
        if override.is_sweep_override() and not sweeping:
            raise UserError(f"{word}: several values; {sweeps}, or [...] for a list")
        if override.key_or_group in GROUPS:
            _check_group(word, override)
        if re.fullmatch(r"seed=(\[.*\]|\d+-\d+)", word):
            raise UserError(f"{word}: expected a whole number; several are -m seed=0,1 or -m "
                            "'seed=range(0,4)'")  # fmt: skip
        owner, _, option = override.key_or_group.rpartition(".")
        if override.is_delete() and owner in GROUPS and owner not in GROUPS_OF_MANY:
            raise UserError(
                f"{word}: every {owner} has its {option}, or none; expected "
                f"{owner}.{option}=VALUE, or {owner}=NAME for another"
            )
        if override.key_or_group == "launcher" and override.value() != "local" and not sweeping:
            if override.value() not in options_of("launcher"):
                raise UserError(unknown_option("launcher", str(override.value())))
            raise UserError(f"{word}: sends the jobs of a sweep; expected -m beside it")


def check_sweep(overrides: Sequence[Override]) -> None:
    """Refuse a sweep over nothing, and one that would be composed for minutes."""
    jobs = 1
    for override in overrides:
        if not override.is_sweep_override():
            continue
        word = override.input_line
        if isinstance(override.value(), IntervalSweep):
            raise UserError(
                f"{word}: an interval has no list of values; expected a,b,c or range(...)"
            )
        try:
            length = sum(1 for _ in islice(override.sweep_iterator(), MOST_JOBS + 1))
        except (HydraException, ValueError) as error:
            raise UserError(f"{word}: {error}; expected range(...) or a,b,c") from error
        if length == 0:
            raise UserError(f"{word}: has no values; expected one or more to sweep over")
        jobs *= length
        if jobs > MOST_JOBS:
            raise UserError(
                f"{word}: makes a sweep of {jobs:,} jobs or more; expected at most {MOST_JOBS:,} "
                "in one, so sweep over it in parts"
            )


def _parsed(parser: OverridesParser, word: str) -> Override:
    try:
        override = parser.parse_override(word)
    except (HydraException, ValueError) as error:
        reason = str(error).partition("\n")[0] if "=" in word else "no ="
        accepted = "key=value, the value in quotes where it has brackets, commas or quotes itself"
        if word.removesuffix(".yaml") != word:
            accepted = "--config-dir FOLDER +exp=NAME for the file FOLDER/exp/NAME.yaml"
        elif word in options_of("exp"):
            accepted = f"+exp={word}"
        raise UserError(f"{word!r}: cannot be read ({reason}); expected {accepted}") from error
    if not override.key_or_group:
        raise UserError(f"{word!r}: names no key; expected key=value")
    return override


def _check_hydra(word: str, override: Override, sweeping: bool) -> None:
    key = override.key_or_group
    if key.replace("/", ".").startswith("hydra.sweeper"):
        if not sweeping:
            raise UserError(f"{word}: is about a sweep; expected -m beside it")
        names = ConfigStore.instance().list(SWEEPER)
        sweepers = sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml"))
        if key == SWEEPER and override.value() not in sweepers:
            raise UserError(f"{word}: no such sweeper; expected one of {', '.join(sweepers)}")
    elif key not in (SEARCHPATH, VERBOSE):
        launchers = ", ".join(options_of("launcher"))
        raise UserError(
            f"{word}: Hydra's own settings stand fixed; expected paths.outputs=FOLDER for where "
            f"results go, launcher=NAME for where sweeps run ({launchers}), "
            f"{SEARCHPATH}=[...] for more configs, or {VERBOSE}=true for its log"
        )


def _check_group(word: str, override: Override) -> None:
    group, value = override.key_or_group, override.value()
    many = group in GROUPS_OF_MANY
    if override.is_delete():
        way_out = f"{group}=[] for none" if many else f"{group}=NAME for another"
        raise UserError(f"{word}: {group} cannot be left out; expected {way_out}")
    if group == "exp" and not override.is_add():
        raise UserError(f"{word}: an experiment is added to the config; expected +{word}")
    for choice in value.list if isinstance(value, ChoiceSweep) and value.list else [value]:
        # Keys of a node are checked when it is composed.
        if isinstance(choice, Sweep) or (isinstance(choice, dict) and group != "exp"):
            continue
        for name in choice if isinstance(choice, list) and many else [choice]:
            # A quoted string is plain here; in a list it is still an object of Hydra's.
            if not str(name) or not (isinstance(name, str) or hasattr(name, "text")):
                number = "one or more, as a list," if many else "one"
                accepted = "ntkexp list" if group == "exp" else ", ".join(options_of(group))
                raise UserError(f"{word}: expected {number} of {accepted}")


def typed_keys(overrides: Sequence[str]) -> Iterator[str]:
    """The keys that overrides set: `+a.b=1`, `a.b=2` and `group@a.b=3` all set `a.b`."""
    for override in overrides:
        group, _, place = override.lstrip("+~").partition("=")[0].partition("@")
        yield place or group


def altering(config: DictConfig, typed: frozenset[str]) -> frozenset[str]:
    """The typed keys, without those that have the value which their experiment gives them."""
    if config.name == "adhoc" or all(key.partition(".")[0] in HARMLESS for key in typed):
        return typed
    try:
        command = "study" if "study" in config else "train"
        base = composed_once(command, f"+exp={config.name}")
    except (HydraException, ValueError):  # a name that is no experiment's, or a number
        return typed
    return frozenset(key for key in typed if at(base, key) != at(config, key))


def at(config: DictConfig, key: str) -> Any:
    """The value of a key, to be compared."""
    return comparable(OmegaConf.select(config, key, throw_on_missing=False))


def comparable(value: Any) -> Any:
    if isinstance(value, DictConfig | ListConfig):
        return OmegaConf.to_container(value, resolve=True, enum_to_str=True)
    return str(value) if isinstance(value, str) else value


def options_of(group: str) -> list[str]:
    """The names that may be chosen of a group: files of configs, and components."""
    names = {name for home in homes() for name in _config_names(home.joinpath(group))}
    return sorted(names.union(components.names(group) if group in components.GROUPS else ()))


def _config_names(folder: Traversable, before: str = "") -> Iterator[str]:
    """The names of the configs in a folder, and in folders of it: `disk`, `lazy/yin_yang`."""
    for file in folder.iterdir() if folder.is_dir() else ():
        if file.name.endswith(".yaml"):
            yield before + file.name.removesuffix(".yaml")
        elif not before and file.name != PARTS:
            yield from _config_names(file, f"{file.name}/")


@contextlib.contextmanager
def plain_errors(config_name: str, words: Sequence[str]) -> Iterator[None]:
    """Inside the block errors of Hydra and OmegaConf become ours, in one or two lines."""
    try:
        yield
    except (HydraException, OmegaConfBaseException, YAMLError) as error:
        raise UserError(other_command(config_name, words) or explained(error)) from error
    except ValueError as error:
        # OmegaConf's own, where a key below a list is no number.
        part = re.fullmatch(r"invalid literal for int\(\) with base 10: '(.*)'", str(error))
        for word in words if part else ():
            above, below, _ = word.partition("=")[0].partition(f".{part and part[1]}")
            if below:
                raise UserError(f"{word}: {above} is a list; expected {above}=[...]") from error
        raise


def other_command(config_name: str, words: Sequence[str]) -> str:
    """The line to print where an experiment was asked of the wrong subcommand; else empty."""
    values = (word.partition("=")[2] for word in words if word.lstrip("+").startswith("exp="))
    names = {name for value in values for name in value.split(",")}
    for experiment in experiments():
        if experiment.name in names and experiment.command != config_name:
            does = "trains a network" if experiment.command == "train" else "trains no network"
            return f"exp={experiment.name}: {does}; expected {experiment.line}"
    return ""


def explained(error: BaseException) -> str:
    """The error of Hydra or OmegaConf in one or two lines that name key, value and choice."""
    cause = error.__cause__ or error
    text, reason = str(error), str(cause)
    if (match := re.search(r"In 'exp/([^']+)'", text)) and (file := find(match[1])):
        return in_experiment(file, text, error.__context__)
    if match := re.search(r"Could not (?:find|load) '([^/']+)/([^']+)'", text):
        for file in chain.chain() if (chain := experiment_at_work()) else ():
            if place := file.chooses(match[1], match[2]):
                return f"{place}: {unknown_option(match[1], match[2])}"
        return unknown_option(match[1], match[2])
    if match := re.search(r"Could not override '([^']+)'", text):
        key, inner = match[1], re.search(r"Key '([^']+)' not in", reason)
        if inner and inner[1] not in key.split("."):  # a key of the mapping that was given
            key = f"{key}.{inner[1]}"
        return no_such_key(key, getattr(cause, "parent_node", None))
    if match := re.search(r"Multiple values for (\S+)\.", text):
        return f"{match[1]}: chosen twice; expected one +{match[1]}=NAME"
    if match := re.search(r"Error merging override (\S+)", text):
        told = f"{match[1].lstrip('+')}: {reworded(_one_line(reason))}"
        keys = rules_of(get_type_hints(TrainConfig).get(match[1].partition("=")[0]))
        return f"{told} of {', '.join(keys)}" if keys and "mapping" in told else told
    if match := re.search(r"You must specify '([^']+)'", text):
        return f"{match[1]} is not chosen: add {match[1]}=NAME or +exp=NAME (see ntkexp list)"
    return _one_line(text if cause is error else f"{text} {reason}")


def in_experiment(file: ExperimentFile, text: str, cause: BaseException | None) -> str:
    """The error of a key of an experiment's file, with its place there."""
    if match := re.search(r"Could not (?:find|load) '([^/']+)/([^']+)'", text):
        place = file.chooses(match[1], match[2]) or file.at("defaults")
        return f"{place}: {unknown_option(match[1], match[2])}"
    if match := re.search(r"Could not override '([^']+)'", text):
        places = [at for at, words, _ in file.entries() if words[-1].strip("/") == match[1]]
        return f"{[*places, file][0]}: {match[1]}: no such group{meant(match[1], GROUPS)}"
    if not isinstance(cause, OmegaConfBaseException) or not cause.full_key:
        return f"{file}: {_one_line(text)}"
    key, where = str(cause.full_key), file.at(str(cause.full_key))
    if isinstance(cause, ConfigKeyError):
        return f"{where}: {no_such_key(key, cause.parent_node)}"
    return f"{where}: {key}: {first_line(cause)}"


def unknown_option(group: str, option: str) -> str:
    choices = options_of(group)
    guess = meant(option, choices)
    if group == "exp":  # more than a hundred: the mistyped word would be far up on the screen
        here = Path()
        for folder in (here, *here.iterdir(), *(Path(str(home)).parent for home in homes())):
            if (file := folder / "exp" / f"{option}.yaml").is_file():
                guess = f"; {file} is one, with --config-dir {folder}"
        if any(name.startswith(f"{option}/") for name in choices):
            guess = f"; ntkexp list {option} has those of this paper"
        return f"exp={option}: no such experiment{guess} (ntkexp list has all)"
    if ":" in option:
        guess = f"; expected {group}={option.replace(':', '.')}"
    choices += ["a class of one's own as MODULE.CLASS"] if group in components.GROUPS else []
    return f"{group}={option}: no such option{guess}\n{group} takes: {', '.join(choices)}"


def no_such_key(key: str, parent: object) -> str:
    """The message that the node `parent` of a config does not have this key."""
    if not isinstance(parent, DictConfig):
        return unknown_key(key, "", [])
    where = str(parent._get_full_key(None))
    choices = [str(name) for name in parent if name != "hydra"]
    if where in components.GROUPS_OF_MANY:
        name = key.removeprefix(where).lstrip(".").partition(".")[0]
        if not name:
            return f"{key}: sets a {where} that is not chosen; expected '{where}=[NAME,...]' for it"
        if name not in options_of(where):
            return unknown_option(where, name)
        together = ",".join([*choices, name])
        return f"{key}: {where} {name} is not chosen; expected '{where}=[{together}]' beside it"
    if not choices:  # `members` where there are none
        above, _, name = key.rpartition(".")
        return f"{key}: no such key; expected '{above}={{{name}:VALUE}}'"
    return unknown_key(key, where, choices, _elsewhere(key, where, parent))


def _elsewhere(key: str, where: str, parent: DictConfig) -> str:
    """Which nodes of the config have a key of this name, or which other components."""
    name = key.removeprefix(where).lstrip(".")
    if not where:
        below = [group for group in components.GROUPS if name in (parent.get(group) or ())]
        return f"; did you mean {below[0]}.{name}?" if below else ""
    if where not in components.GROUPS:
        return ""
    have = [
        option
        for option in components.names(where)
        if name in rules_of(components.find(where, option))
    ]
    return f"; {where}={', '.join(have)} {'have' if have[1:] else 'has'} it" if have else ""


def _one_line(text: str) -> str:
    lines = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not re.match(r"\s*(full_key|object_type|reference_type)", line)
    ]
    return " ".join(lines)
