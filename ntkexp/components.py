"""Components, of which a run is made: each is one file of its kind's folder, found by its name.

    @dataclass
    class WeightNorm(Probe):                  # ntkexp/probes/weight_norm.py: probe=[weight_norm]
        p: float = option(2.0, positive())    # an option, its default and its rule

A component is the class that bears its file's name: `weight_norm.py` has `WeightNorm`. Its fields
are its options, and its file also has what it computes. Listing components imports none of them;
choosing one imports its file alone, with PyTorch where it needs that. A folder of that name in a
project of one's own (ntkexp/projects.py) is searched too, and a class anywhere else is chosen by
its full name: `model=my.module.Class`.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, get_args, get_type_hints

from omegaconf import MISSING, DictConfig, OmegaConf

from ntkexp import projects
from ntkexp.errors import UserError, first_line, meant
from ntkexp.options import Rule, checked, option


@dataclass
class Component:
    """The base of all components: a dataclass whose fields are its options.

    `version` changes only when equal options give other numbers, beyond rounding. `small` has the
    largest value of an option under `scale=small`, `tiny` that under `scale=tiny`, where a run is a
    matter of seconds: it comes before `small`. `how` names the options that say how a run is
    made and never what comes out of it: they are no part of its id.
    """

    kind: ClassVar[str] = ""
    version: ClassVar[int] = 1
    small: ClassVar[Mapping[str, int]] = {}
    tiny: ClassVar[Mapping[str, int]] = {}
    how: ClassVar[frozenset[str]] = frozenset()

    name: str = MISSING

    def __init_subclass__(cls) -> None:
        """Give the class an option `name`: its file's name, or else the full name of the class."""
        stem = cls.__module__.rpartition(".")[2]
        full = f"{cls.__module__}.{cls.__qualname__}"
        accepted = (stem, full) if class_name(stem) == cls.__name__ else (full,)
        rule = Rule(
            lambda name: name in accepted, f"{accepted[0]}; {cls.kind}=NAME chooses another"
        )
        cls.name = option(accepted[0], rule)
        cls.__annotations__ = {"name": "str", **inspect.get_annotations(cls)}

    def check(self, config: Any = None) -> None:
        """Refuse options that do not go together, or not with the rest of the run's `config`.

        Both are plain values: nothing is loaded by then. One line names the key and what is
        accepted. The rules of single options have been checked.
        """

    def lacks(self, method: str) -> UserError:
        """The error that a component of one's own has not the method that makes what it is for."""
        return UserError(f"{self.kind}={self.name}: its class has no method {method}")

    @classmethod
    def limits(cls, scale: Mapping[str, Any]) -> Mapping[str, int]:
        """The largest value of each option under the config node `scale`."""
        tiny = {**cls.small, **cls.tiny}
        limits = {"small": cls.small, "tiny": tiny}.get(scale["name"], {})
        of_scale = {key: scale[key] for key in tiny if scale.get(key) is not None}
        return {**limits, **of_scale}


@dataclass(frozen=True)
class Kind:
    """A kind of component: its group in a config, and the folder of a package that has its files.

    `neutral` is the name that a config means where it does not say one: such a component with its
    neutral options leaves no trace in a run's id (ntkexp/identity.py). Of a kind with `many` any
    number may be chosen, each a key of its own. `home` is the module of its base class, where that
    is not the folder's base.py.
    """

    group: str
    folder: str
    neutral: str | None = None
    many: bool = False
    home: str = ""


# A new kind is one line here, and a field of TrainConfig or StudyConfig (ntkexp/config.py).
KINDS = (
    Kind("data", "data"),
    Kind("model", "models"),
    Kind("transform", "transforms", neutral="plain"),
    Kind("objective", "objectives", neutral="usual"),
    Kind("optim", "optim", neutral="sgd"),
    Kind("probe", "probes", many=True),
    Kind("logger", "loggers", many=True),
    Kind("study", "studies"),
    # The engines import the schema, which takes their options.
    Kind("launcher", "launch", home="config"),
)
GROUPS = {kind.group: kind for kind in KINDS}
GROUPS_OF_MANY = tuple(kind.group for kind in KINDS if kind.many)


def names(group: str) -> list[str]:
    """The names of all components of a group, from the names of their files; none is imported."""
    return sorted(_files(group))


def find(group: str, name: str, *, importing: bool = True) -> type[Component]:
    """The component of a group with this name, or the class with this full name.

    Without `importing` a class by its full name is found only where it has been imported: what a
    kept run names is never imported on reading.
    """
    if "." in name:
        home = name.rpartition(".")[0]
        if not importing and home not in sys.modules:
            raise UserError(f"{_key(group, name)}: {home} is not imported when a run is read")
        return _of_kind(group, name, imported(_key(group, name), name))
    if name not in _files(group):
        raise UserError(f"{_key(group, name)}: {unknown(group, name)}")
    package = _files(group)[name]
    module = loaded(_key(group, name), f"{package}.{GROUPS[group].folder}.{name}")
    return _of_kind(group, name, getattr(module, class_name(name)))


def unknown(group: str, name: str) -> str:
    """The message that there is no such component, with those that exist."""
    existing = names(group)
    return f"no such {group}{meant(name, existing)}; there are {', '.join(existing)}"


def node_of(group: str, name: str) -> DictConfig:
    """The options of a component as a typed config node, each at its default."""
    node = OmegaConf.structured(find(group, name))
    assert isinstance(node, DictConfig)
    node.name = name
    for key in node:
        if OmegaConf.get_type(node, str(key)) is dict:
            OmegaConf.set_struct(node[key], False)  # takes any keys
    return node


# Asked of every component of every config; Python evaluates the annotations anew each time.
_hints: Callable[[type], dict[str, Any]] = cache(get_type_hints)


def inside(component: type[Component]) -> Mapping[str, str]:
    """Option -> group, of the options that are components themselves, as a study's network is."""
    hints = _hints(component)
    return {
        option_field.name: part.kind
        for option_field in fields(component)
        for part in (hints[option_field.name], *get_args(hints[option_field.name]))
        if isinstance(part, type) and issubclass(part, Component)
    }


def made(group: str, name: str, options: Any, where: str) -> Component:
    """A component from the node `options` named `where`, which need not be complete."""
    component = checked(find(group, name), options, where)
    assert isinstance(component, Component)
    component.name = name
    return component


def key_of(name: str) -> str:
    """The key of a component among several: its name, or the short form of a full name.

    >>> key_of("spectrum"), key_of("my.module.WeightNorm")
    ('spectrum', 'weight_norm')
    """
    return file_name(name.rpartition(".")[2])


def class_name(name: str) -> str:
    """The class that a file of this name holds.

    >>> class_name("weight_norm"), class_name("resnet18")
    ('WeightNorm', 'Resnet18')
    """
    return "".join(part.capitalize() for part in name.split("_"))


def file_name(kind: str) -> str:
    """The name of the file that would hold a class.

    >>> file_name("WeightNorm")
    'weight_norm'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()


@cache
def _files(group: str) -> Mapping[str, str]:
    """Component -> the package whose folder has it."""
    package_of: dict[str, str] = {}
    for package, folder in projects.folders(GROUPS[group].folder):
        for file in sorted(filter(Path.is_file, folder.glob("*.py"))):
            wanted = rf"^class {class_name(file.stem)}\("
            if not re.search(wanted, file.read_text(encoding="utf-8"), re.MULTILINE):
                continue
            if file.stem in package_of:
                raise UserError(
                    f"{file}: {package_of[file.stem]} has a {group} of this name; expected another"
                )
            package_of[file.stem] = package
    return package_of


def imported(key: str, name: str) -> Any:
    """The class or function of this full name; `key` is what was typed, for messages."""
    home, _, last = name.rpartition(".")
    if ":" in name:
        raise UserError(f"{key}: expected {name.replace(':', '.')}")
    try:
        module = _found(key, home)
    except UserError:
        raise
    except (ModuleNotFoundError, ValueError, TypeError) as error:
        form = "MODULE:NAME" if key.startswith("--") else "MODULE.CLASS"
        raise UserError(
            f"{key}: {error}; expected {form} of what is installed, in this folder or on PYTHONPATH"
        ) from error
    if not hasattr(module, last):
        raise UserError(f"{key}: {home} has no {last}{meant(last, [*vars(module)])}")
    return getattr(module, last)


def _found(key: str, module: str) -> ModuleType:
    """A module; of the folder at work as well, as `python -m` has it, behind what is installed."""
    try:
        return loaded(key, module)
    except ModuleNotFoundError:
        sys.path.append(str(Path.cwd()))
        return loaded(key, module)


def not_made(key: str, options: str, error: Exception) -> UserError:
    """The error of a class or function that does not take its arguments, which are `options`."""
    reason = first_line(error)
    wanted = re.findall(r"'(\w+)'", reason) if " missing " in reason else []
    values = ", ".join(f"{name}: VALUE" for name in wanted)
    way_out = f"; expected '{options}={{{values}}}'" if wanted else ""
    return UserError(f"{key}: cannot be made ({reason}){way_out}")


def loaded(key: str, module: str) -> ModuleType:
    """The module of this name; an error in its own lines is told by file and line."""
    try:
        return importlib.import_module(module)
    except UserError:
        raise
    except Exception as error:
        if not (place := _place(error)):  # there is no such module
            raise
        told = f"{key}: {place}: {type(error).__name__}: {error}"
        if key.startswith("data=") and "from a frozen one" in str(error):
            told += "; expected ntkexp.data.base.Data as its base, whose build gives a Dataset"
        raise UserError(told) from error


def _place(error: Exception) -> str:
    """File and line of an error at import, the last of the folder of what was imported; empty where
    nothing of it had begun."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename != __file__ and "importlib" not in frame.filename
    ]
    homes = [Path(frame.filename).parent for frame in frames]
    of_module = [frame for frame, home in zip(frames, homes, strict=True) if home == homes[0]]
    return f"{of_module[-1].filename}:{of_module[-1].lineno}" if of_module else ""


def _of_kind(group: str, name: str, candidate: Any) -> type[Component]:
    if isinstance(candidate, type) and issubclass(candidate, Component) and candidate.kind == group:
        if "__dataclass_params__" not in vars(candidate):
            raise UserError(f"{_key(group, name)}: is no dataclass; expected @dataclass above it")
        return candidate
    home = GROUPS[group].home or f"{GROUPS[group].folder}.base"
    base = f"expected a class that inherits from that of ntkexp.{home}"
    way_out = f", or {group}=torch {group}.of={name}" if "torch" in names(group) else ""
    raise UserError(f"{_key(group, name)}: is no {group}; {base}{way_out}")


def _key(group: str, name: str) -> str:
    return f"{group}={name}"
