"""The file of an experiment as its author wrote it: what it goes on from, which components it
chooses, and on which line each of its keys stands."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf

from ntkexp import components, projects
from ntkexp.errors import UserError
from ntkexp.home import at_home

# The folders of configs that a command names, beside those of the package and of projects.
_named: ContextVar[tuple[Path, ...]] = ContextVar("_named", default=())
OVERRIDE, OPTIONAL = "override", "optional"


@contextmanager
def folders_named(folders: tuple[Path, ...]) -> Iterator[None]:
    """Inside the block experiments are looked for in these folders of configs as well."""
    token = _named.set(folders)
    try:
        yield
    finally:
        _named.reset(token)


def homes() -> Iterator[Traversable]:
    """The folders of configs, in the order in which Hydra looks at them."""
    yield resources.files("ntkexp.configs")
    yield from _named.get()
    yield from (folder for _, folder in projects.configs())


def find(name: str) -> ExperimentFile | None:
    """The experiment that `+exp=NAME` chooses, if there is a file of this name."""
    for home in homes():
        place = home.joinpath("exp", f"{name}.yaml")
        if place.is_file():
            return ExperimentFile(name, place)
    return None


def _expand_tildes(node: DictConfig | ListConfig) -> None:
    """A `~/` that begins a value is the home folder, as on a command line."""
    inside: Any = (
        node.items_ex(resolve=False)
        if isinstance(node, DictConfig)
        else enumerate(node._iter_ex(resolve=False))
    )
    for key, value in [*inside]:
        if isinstance(value, DictConfig | ListConfig):
            _expand_tildes(value)
        elif isinstance(value, str) and value != at_home(value):
            node[key] = at_home(value)


@dataclass(frozen=True)
class ExperimentFile:
    name: str
    place: Traversable

    def __str__(self) -> str:
        path = str(self.place)
        return path.removeprefix(f"{Path.cwd()}{os.sep}")

    @property
    def is_of_the_house(self) -> bool:
        return str(self.place).startswith(str(next(homes())))

    @cached_property
    def text(self) -> str:
        """An editor's byte order mark is no part of it."""
        try:
            return self.place.read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UserError(f"{self}: is no text in UTF-8 ({error.reason})") from error

    @cached_property
    def config(self) -> DictConfig:
        """What it says; one that gives no name has that of its file."""
        config = OmegaConf.create(self.text) if self._holds_keys() else None
        if not isinstance(config, DictConfig) or not config:
            raise UserError(
                f"{self}: expected keys and values, such as name: {self.name} and "
                "defaults: [disk]; it has none"
            )
        config.setdefault("name", self.name)
        _expand_tildes(config)
        return config

    def _holds_keys(self) -> bool:
        return isinstance(self._tree, yaml.MappingNode)

    @cached_property
    def _tree(self) -> yaml.Node | None:
        try:
            tree: yaml.Node | None = yaml.compose(self.text, Loader=yaml.CSafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise UserError(f"{self}:{line}: {error.problem}; expected YAML") from error
        return tree

    def at(self, key: str) -> str:
        """The file, with the line of a dotted key or of the last of its parts that stands there."""
        line, _ = self._found(key)
        return str(self) if line is None else f"{self}:{line}"

    def _found(self, key: str) -> tuple[int | None, str]:
        """The line of a dotted key, and the part of it that does not stand there.

        The items of a list have numbers. What stands in one key with dots, as in `members`, is
        found as well.
        """
        node, line, rest = self._tree, None, key
        while rest:
            inside = []
            if isinstance(node, yaml.MappingNode):
                inside = [(name.value, name, value) for name, value in node.value]
            elif isinstance(node, yaml.SequenceNode):
                inside = [(str(number), item, item) for number, item in enumerate(node.value)]
            for name, place, value in inside:
                if rest == name or rest.startswith(f"{name}."):
                    line, node = place.start_mark.line + 1, value
                    rest = rest.removeprefix(name).lstrip(".")
                    break
            else:
                break
        return line, rest

    def tells(self, key: str) -> str:
        """The place of a key, or else of the choice of the component whose it is; that of neither
        is the file alone where it goes on from none, and empty where it does."""
        if not self._found(key)[1]:
            return self.at(key)
        group = key.partition(".")[0]
        chosen = [at for at, words, _ in self.entries() if words[-1] == f"/{group}"]
        return chosen[0] if chosen else "" if self.bases else str(self)

    def chooses(self, group: str, name: str) -> str:
        """The place of the entry of its defaults that names this component; empty without one."""
        return next(
            (
                at
                for at, words, chosen in self.entries()
                if words[-1].strip("/") == group
                and name in (chosen if isinstance(chosen, ListConfig) else [chosen])
            ),
            "",
        )

    def refuse_mistakes(self) -> None:
        """Refuse what Hydra would take for something else, in a line with the place."""
        self.choices  # noqa: B018 - which reads and checks the list of defaults
        for group in components.GROUPS:
            node = self.config._get_node(group)
            if node is not None and not isinstance(node, DictConfig):
                raise UserError(
                    f"{self.at(group)}: {group}: {node}: expected its options, as keys and values; "
                    f"{OVERRIDE} /{group}: NAME, in defaults, chooses another"
                )

    @cached_property
    def bases(self) -> tuple[ExperimentFile, ...]:
        """The experiments that it goes on from."""
        names = [name for _, words, name in self.entries() if words == ["exp"]]
        found = [find(name) for name in names if name != "_self_"]
        return tuple(filter(None, found))

    @cached_property
    def choices(self) -> dict[str, tuple[str, str]]:
        """Place in the config -> group and name of the component that the file chooses for it."""
        chosen: dict[str, tuple[str, str]] = {}
        for at, words, name in self.entries():
            *verbs, word = words
            group, _, package = word.partition("@")
            bare = group.lstrip("/")
            # Hydra would look for an experiment, or for a second of this group.
            meant = word[0] == "/" and (
                package or OVERRIDE in verbs or bare not in components.GROUPS
            )
            if words != ["exp"] and not (meant and {OVERRIDE, OPTIONAL}.issuperset(verbs)):
                raise UserError(
                    f"{at}: {' '.join(words)}: {name}: expected {OVERRIDE} /{bare}: {name}"
                )
            if isinstance(name, str) and words != ["exp"]:
                chosen[package or bare] = bare, name
        of_training = [group for group in ("data", "model", "optim") if group in chosen]
        if "study" in chosen and of_training:
            raise UserError(
                f"{self.at('defaults')}: chooses a study, which trains no network, and a "
                f"{of_training[0]}; expected one of them"
            )
        return chosen

    def entries(self) -> Iterator[tuple[str, list[str], Any]]:
        """(place, words before the colon, what is behind it) of its list of defaults; the words
        are `exp` alone for an experiment that it goes on from."""
        defaults: Any = self.config._get_node("defaults")
        if defaults is None:
            return
        if not isinstance(defaults, ListConfig):
            raise UserError(f"{self.at('defaults')}: defaults={defaults}: expected a list")
        for number, entry in enumerate(defaults._iter_ex(resolve=False)):
            at = self.at(f"defaults.{number}")
            if isinstance(entry, DictConfig):
                for word, name in entry.items_ex(resolve=False):
                    yield at, str(word).split(), name
            else:
                yield at, ["exp"], str(entry).removeprefix("/exp/")

    def chain(self) -> Iterator[ExperimentFile]:
        """It, and the experiments that it goes on from: who chooses first wins."""
        yield self
        for base in self.bases:
            yield from base.chain()

    def chosen(self, place: str) -> str | None:
        """The component that stands at a place of its config, as far as experiments choose."""
        return next((one.choices[place][1] for one in self.chain() if place in one.choices), None)
