"""The errors of Hydra and OmegaConf, said in a line or two of our own."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable

from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ntkexp import components, projects
from ntkexp.errors import UserError, meant, unknown_key
from ntkexp.experiments import experiments
from ntkexp.options import plain

# In a group's folder: configs that others of it choose, and nobody types.
PARTS = "for"

# What Hydra says, and what we say for it.
OF_HYDRA = {
    r"Multiple values for (\S+)\.": r"\1: chosen twice; expected one +\1=NAME",
    r"delete from config\. '([^']+)' does not exist": r"~\1: there is no such key to leave out",
    r"delete from config\. The value of '([^']+)' is (.*) and not (.*)\.": (
        r"~\1=\3: it is \2; expected ~\1"
    ),
    r"Error merging override ~([^=\s]+)": (
        r"~\1: cannot be left out; expected \1=VALUE for another value"
    ),
}


def other_command(config_name: str, words: Sequence[str]) -> str:
    """The line to print where an experiment was asked of the wrong subcommand; else empty."""
    values = (word.partition("=")[2] for word in words if word.lstrip("+").startswith("exp="))
    asked = {name for value in values for name in value.split(",")}
    for experiment in experiments():
        if experiment.name in asked and experiment.command != config_name:
            what = "trains a network" if experiment.command == "train" else "trains no network"
            return f"exp={experiment.name}: {what}; expected {experiment.line}"
    return ""


def explained(error: BaseException) -> str:
    """The error of Hydra or OmegaConf in one or two lines that name key, value and choice."""
    cause = error.__cause__ or error
    text, reason = str(error), str(cause)
    if match := re.search(r"Could not (?:find|load) '([^/']+)/([^']+)'", text):
        return unknown_option(match[1], match[2])
    if match := re.search(r"Could not override '([^']+)'", text):
        key, inner = match[1], re.search(r"Key '([^']+)' not in", reason)
        if inner and inner[1] != key.rpartition(".")[2]:
            key = f"{key}.{inner[1]}"
        return _unknown_key(key, getattr(cause, "parent_node", None))
    for pattern, ours in OF_HYDRA.items():
        if match := re.search(pattern, text):
            return match.expand(ours)
    if match := re.search(r"Error merging override (\S+)", text):
        key, _, value = match[1].lstrip("+").partition("=")
        group, _, name = key.partition(".")
        if name == "name" and group in components.GROUPS:
            return f"{key}={value}: expected {group}=NAME of {', '.join(options_of(group))}"
        return f"{key}={value}: {plain(_one_line(reason))}"
    if match := re.search(r"In 'exp/(\S+)':.*Key '(\w+)' not in '(\w+)'", text + reason, re.S):
        return f"exp={match[1]}: sets {match[2]}, which {match[3]} lacks: choose another experiment"
    if match := re.search(r"You must specify '([^']+)'", text):
        return f"{match[1]} is not chosen: add {match[1]}=NAME or +exp=NAME (see ntkexp list)"
    return _one_line(text if cause is error else f"{text} {reason}")


def unknown_option(group: str, option: str) -> str:
    choices = options_of(group)
    guess = meant(option, choices)
    return f"{group}={option}: no such option{guess}\n{group} takes: {', '.join(choices)}"


def options_of(group: str) -> list[str]:
    """The names that may be chosen of a group: files of configs, and components."""
    folder = resources.files("ntkexp.configs").joinpath(group)
    places = [folder, *(configs / group for _, configs in projects.configs())]
    found = {name for place in places for name in _named(place)}
    return sorted(found.union(components.names(group) if group in components.GROUPS else ()))


def _named(folder: Traversable, before: str = "") -> Iterator[str]:
    """The names of the configs in a folder, and in folders of it: `disk`, `lazy/yin_yang`."""
    for file in folder.iterdir() if folder.is_dir() else ():
        if file.name.endswith(".yaml"):
            yield before + file.name.removesuffix(".yaml")
        elif not before and file.name != PARTS:
            yield from _named(file, f"{file.name}/")


def _unknown_key(key: str, parent: object) -> str:
    if not isinstance(parent, DictConfig):
        return unknown_key(key, "", [])
    where = str(parent._get_full_key(None))
    choices = [str(name) for name in parent if name != "hydra"]
    if where in components.MANY:
        name = key.removeprefix(where).lstrip(".").partition(".")[0]
        if not name:
            return f"{key}: sets a {where} that is not chosen; expected '{where}=[NAME,...]' for it"
        if name not in options_of(where):
            return unknown_option(where, name)
        together = ",".join([*choices, name])
        return f"{key}: {where} {name} is not chosen; expected '{where}=[{together}]' beside it"
    return unknown_key(key, where, choices)


def _one_line(text: str) -> str:
    kept = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not re.match(r"\s*(full_key|object_type|reference_type)", line)
    ]
    return " ".join(kept)


@contextlib.contextmanager
def plain_errors(config_name: str, words: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(other_command(config_name, words) or explained(error)) from error
