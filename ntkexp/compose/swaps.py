"""Another component in an experiment: `+exp=mlp_mnist model=lenet5`.

The options of an experiment belong to the component that it chose. Where the command line, or an
experiment that goes on from it, chooses another for the same place, those stay that the other has
as well; the rest falls away, said in a line each. Words that were typed stay, and what the file
that made the choice says: there a key that nobody has remains an error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from ntkexp import components
from ntkexp.components import GROUPS, GROUPS_OF_MANY, Component, key_of
from ntkexp.compose.experiment_file import ExperimentFile, find, homes
from ntkexp.errors import UserError
from ntkexp.options import check_value, first_line, rules_of

# The words of the config that is being composed.
_typed: ContextVar[Sequence[str]] = ContextVar("_typed", default=())
# What fell away: once each, and still to be said.
_said: set[str] = set()
_to_say: list[str] = []
# Nodes whose keys are the dotted keys of options, and what such a key is called.
BY_KEY = {"members": "members.", "hydra.sweeper.params": "the axis "}


@contextmanager
def typed_here(words: Sequence[str]) -> Iterator[None]:
    """Inside the block configs are composed of these words."""
    token = _typed.set(tuple(words))
    try:
        yield
    finally:
        _typed.reset(token)


def left_out(what: str) -> None:
    """Note what falls away, to be said once."""
    if what not in _said:
        _said.add(what)
        _to_say.append(what)


def say_what_is_left_out() -> None:
    """Of a config that is whole; one that is refused has a line of its own."""
    for what in _to_say:
        print(f"{what}: left out", file=sys.stderr)
    _to_say.clear()


def forget() -> None:
    """Say again what falls away: another command begins."""
    _said.clear()
    _to_say.clear()


def experiment_at_work() -> ExperimentFile | None:
    """The file of the experiment that the words at work choose."""
    named = [word.partition("=")[2] for word in _typed.get() if re.match(r"\+*exp=", word)]
    return find(named[-1]) if named else None


@contextmanager
def placed(typed: Collection[str]) -> Iterator[None]:
    """Inside the block an error of a key that nobody typed begins with its place in the file of
    one's own that gives it, or that chooses its component."""
    try:
        yield
    except UserError as error:
        key = re.match(r"[\w.]*", str(error))[0]  # type: ignore[index]
        file = experiment_at_work()
        for one in file.chain() if file and key not in typed else ():
            if one.is_of_the_house:
                break
            if place := one.tells(key):
                raise UserError(f"{place}: {error}") from error
        raise


@dataclass(frozen=True)
class Choice:
    """A component as it was chosen, by its own name or as one of its variants (configs/model)."""

    name: str
    component: type[Component]
    sets: frozenset[str] = frozenset()  # by the variant

    @property
    def options(self) -> frozenset[str]:
        return frozenset(rules_of(self.component))


def choice(group: str, name: str) -> Choice | None:
    """What a name of a group means; None where it means nothing, which Hydra refuses."""
    for home in homes():
        file = home.joinpath(group, f"{name}.yaml")
        if not file.is_file():
            continue
        config: Any = OmegaConf.create(file.read_text(encoding="utf-8"))
        [base] = [entry for entry in config.pop("defaults", []) if entry != "_self_"] or [name]
        below = choice(group, base)
        return below and Choice(name, below.component, below.sets | {str(key) for key in config})
    known = name in components.names(group) or re.fullmatch(r"\w+(\.\w+)+", name)
    return Choice(name, components.find(group, name)) if known else None


def typed_choices(words: Iterable[str]) -> dict[str, tuple[str, list[str]]]:
    """Place in the config -> group and name of the component that the words choose for it; several
    names in a sweep."""
    chosen: dict[str, tuple[str, list[str]]] = {}
    for word in words:
        key, _, value = word.lstrip("+").partition("=")
        group, _, package = key.partition("@")
        if group in GROUPS and group not in GROUPS_OF_MANY and not value.startswith("{"):
            chosen[package or group] = group, [name.strip("'\" ") for name in value.split(",")]
    return chosen


def swapped_in(experiment: str, typed: Iterable[str]) -> set[str]:
    """The groups in which an experiment's component may be another: those that were typed, and in
    which it chooses another than the experiment that it goes on from."""
    chain = [*file.chain()] if (file := find(experiment)) else []
    chosen = [place for one in chain for place in one.choices]
    return {group for group in GROUPS if group in typed or chosen.count(group) > 1}


def settled(file: ExperimentFile) -> DictConfig:
    """The config of an experiment's file without what belongs to components that are not chosen."""
    config: DictConfig = file.config.copy()
    # Who chooses first wins: the words, then the experiment, then what it goes on from.
    final = typed_choices(_typed.get())
    for one in (experiment_at_work() or file).chain():
        for place, (group, name) in one.choices.items():
            final.setdefault(place, (group, [name]))
    for place, (group, names) in final.items():
        before = file.chosen(place) or _usual(place)
        if before is None or names == [before]:
            continue
        former, others = choice(group, before), [choice(group, name) for name in names]
        if former is not None and None not in others:
            with open_dict(config):
                _Swap(file, config, place, former, [*filter(None, others)]).carry_out()
    for group in GROUPS_OF_MANY:
        _leave_out_unchosen(file, config, group)
    return config


def _leave_out_unchosen(file: ExperimentFile, config: DictConfig, group: str) -> None:
    """Take out the options of probes, or loggers, that are not among those chosen by the words or
    by an experiment that goes on from this one."""
    typed = [word.partition("=")[2] for word in _typed.get() if re.match(rf"\+*{group}=", word)]
    chosen = typed[-1:]
    for one in (experiment_at_work() or file).chain():
        if chosen or one.name == file.name:
            break
        chosen = [str(names) for _, words, names in one.entries() if words[-1] == f"/{group}"]
    node = OmegaConf.select(config, group)
    if not chosen or not isinstance(node, DictConfig):
        return
    named = re.findall(r"\w[\w.]*", chosen[0])
    keys = {key_of(name) for name in named}
    with open_dict(config):
        for key in [*map(str, node)]:
            if key not in keys:
                del node[key]
                left_out(f"{group}.{key} of exp={file.name}: {group}=[{','.join(named)}]")


@cache
def _usual(group: str) -> str | None:
    """The component of a group where no experiment chooses one."""
    train: Any = OmegaConf.create(next(homes()).joinpath("train.yaml").read_text(encoding="utf-8"))
    entries = [entry for entry in train.defaults if isinstance(entry, DictConfig)]
    return next((entry[group] for entry in entries if group in entry), None)


@dataclass(frozen=True)
class _Swap:
    """Another component than `former` at a `place` of the config of a file. A sweep has several
    `others`; what one of them lacks is no axis."""

    file: ExperimentFile
    config: DictConfig
    place: str
    former: Choice
    others: Sequence[Choice]

    def carry_out(self) -> None:
        for where in BY_KEY:
            self._settle_keys(where)
        if len(self.others) > 1:
            return
        self._settle_options(self.others[0])
        self._settle_values(self.config)

    def _settle_options(self, other: Choice) -> None:
        """Of the options at the place itself."""
        node = OmegaConf.select(self.config, self.place)
        if not isinstance(node, DictConfig):
            return
        for option, value in [*node.items_ex(resolve=False)]:
            key = f"{self.place}.{(name := str(option))}"
            if name in other.sets:  # the variant says it
                del node[option]
            elif name not in other.options and name in self.former.options:
                del node[option]
                left_out(f"{_told(key, value)} of {self._who} is {self.former.name}'s")
            elif name in other.options and (reason := _misfit(other, key, value)):
                del node[option]
                left_out(f"{_told(key, value)} of {self._who}: {reason}")

    def _settle_keys(self, where: str) -> None:
        """Of nodes that name options by dotted keys."""
        node = OmegaConf.select(self.config, where)
        for word, values in [*node.items_ex(resolve=False)] if isinstance(node, DictConfig) else ():
            owner, _, option = (key := str(word)).rpartition(".")
            if owner != self.place or option not in self.former.options:
                continue
            reasons = [
                f"{other.name} has no {option}"
                for other in self.others
                if option not in other.options
            ] or [
                reason
                for other in self.others
                for value in (values if isinstance(values, ListConfig) else ())
                if (reason := _misfit(other, key, value))
            ]
            if reasons:
                del node[key]
                left_out(f"{BY_KEY[where]}{key} of {self._who}: {reasons[0]}")
        if isinstance(node, DictConfig) and not node:
            OmegaConf.update(self.config, where, None)

    def _settle_values(self, node: DictConfig, above: str = "") -> None:
        """Of values that are an option of the component, as ${model.width} is."""
        for name, value in [*node.items_ex(resolve=False)]:
            key = f"{above}.{name!s}".lstrip(".")
            if isinstance(value, DictConfig):
                self._settle_values(value, key)
            elif isinstance(value, str):
                for option in re.findall(rf"\$\{{{re.escape(self.place)}\.(\w+)\}}", value):
                    if option not in self.others[0].options and name in node:
                        del node[name]
                        other = self.others[0].name
                        left_out(f"{key}={value} of {self._who}: {other} has no {option}")

    @property
    def _who(self) -> str:
        return f"exp={self.file.name}"


def _told(key: str, value: Any) -> str:
    return key if isinstance(value, DictConfig) else f"{key}={value}"


def _misfit(other: Choice, key: str, value: Any) -> str:
    """Why a value is none for the component's option; empty where it is one."""
    if isinstance(value, DictConfig):
        return ""
    name = key.rpartition(".")[2]
    node = OmegaConf.structured(other.component)
    try:
        for one in _meanings(value):
            node[name] = one
            if one is not None:
                check_value(key, node[name], rules_of(other.component)[name])
    except UserError as error:
        return str(error).partition(": ")[2]
    except OmegaConfBaseException as error:
        return first_line(error)
    return ""


def _meanings(value: Any) -> list[Any]:
    """What a value stands for; at each scale, if it says so, and nothing if it is another key's."""
    if "${" not in str(value):
        return [value]
    try:
        scales = [{"scale": {"name": name}, "value": value} for name in ("paper", "small")]
        return [OmegaConf.create(scale).value for scale in scales]
    except OmegaConfBaseException:
        return []
