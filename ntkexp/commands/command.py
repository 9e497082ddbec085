"""What a command is: a dataclass whose fields are its flags, each with its sentence.

    @dataclass(eq=False, repr=False)
    class Data(Command):
        \"\"\"list the images that are here\"\"\"

        call = "data [--forget] [NAME ...]"
        names: list[str] = words()
        forget: bool = flag("delete decoded copies")

Parsing, help and the tab key go by them. Without comparison and repr a class is made in half the
time: the page of all commands makes every one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from importlib import import_module
from types import NoneType
from typing import Any, ClassVar, NoReturn, Self, get_args, get_type_hints

from ntkexp.errors import UserError
from ntkexp.home import at_home

# Each and its file.
FILES = {
    "train": "train", "study": "train", "probe": "probe", "options": "options", "list": "list",
    "show": "list", "claims": "claims", "figures": "figures", "report": "report", "data": "data",
    "completion": "completion",
}  # fmt: skip
WIDTH = 96  # of a page of help
RUNS = "runs in these folders alone; without it one's own and the reference runs"


def flag(
    about: str = "", takes: str = "", *, short: str = "", key: str = "", needed: bool = False,
    choices: Sequence[str] | None = None,
) -> Any:  # fmt: skip
    """A field that is a flag, with the sentence on it; help leaves out a flag that has none.

    `takes`: the value that follows, a NAME, a FILE, a DIR; with dots behind it, several. Without
    it the flag is given or not. `key`: the key of a config that the flag sets.
    """
    told = {"about": about, "takes": takes, "short": short, "key": key, "choices": choices}
    if takes.endswith(" ...") and not needed:
        return field(default_factory=list, metadata=told)
    return field(default=MISSING if needed else None if takes else False, metadata=told)


def words(**about: str) -> Any:
    """The field of all words that are no flags, with sentences on those that have one."""
    return field(default_factory=list, metadata={"words": about})


def names_of(one: Field[Any]) -> list[str]:
    """The words of a flag, its short one first."""
    name = f"--{one.name.replace('_', '-')}"
    return [one.metadata["short"], name] if one.metadata["short"] else [name]


@dataclass(eq=False, repr=False)
class Command:
    """The docstring of a command is the sentence on it, `call` how it is called, `short` the same
    on the page of all commands, where that is shorter."""

    call: ClassVar[str]
    short: ClassVar[str] = ""

    def execute(self) -> int | str:
        """An exit code, or what is to be printed."""
        raise NotImplementedError

    @classmethod
    def candidates(cls, typed: list[str]) -> Iterable[str]:
        """What may stand in the place of the last of these words, which is no flag."""
        return ()

    @classmethod
    def flags(cls) -> list[Field[Any]]:
        return [one for one in fields(cls) if "takes" in one.metadata]

    @classmethod
    def flag_words(cls) -> list[str]:
        return [name for one in cls.flags() for name in names_of(one)]

    @classmethod
    def parsed(cls, given: Sequence[str]) -> Self:
        """The command that these words ask for; an error is one line, and how it is called."""
        import argparse

        parser = argparse.ArgumentParser(usage=cls.call, add_help=False, allow_abbrev=False,
                                         argument_default=argparse.SUPPRESS)  # fmt: skip
        parser.error = cls.refuse  # type: ignore[method-assign]
        types = get_type_hints(cls)
        for one in fields(cls):
            if "words" in one.metadata:
                parser.add_argument(one.name, nargs="*")
            elif not (takes := one.metadata["takes"]):
                parser.add_argument(*names_of(one), action="store_true")
            else:
                # That of `list[Path]` and of `Path | None` is Path.
                kind = types[one.name]
                kind = next((part for part in get_args(kind) if part is not NoneType), kind)
                parser.add_argument(
                    *names_of(one),
                    nargs="+" if takes.endswith(" ...") else None,
                    type=kind,
                    choices=one.metadata["choices"],
                    required=one.default is MISSING and one.default_factory is MISSING,
                )
        found, unknown = parser.parse_known_intermixed_args([*map(at_home, given)])
        if unknown:
            cls.refuse_flags(unknown)
        command = cls(**vars(found))
        for one in cls.flags():
            folders = getattr(command, one.name) if one.metadata["takes"] == "DIR ..." else ()
            if missing := [folder for folder in folders if not folder.is_dir()]:
                raise UserError(f"--{one.name} {missing[0]}: no such folder")
        return command

    @classmethod
    def refuse_flags(cls, unknown: Sequence[str]) -> NoReturn:
        cls.refuse(f"unrecognized arguments: {' '.join(unknown)}")

    @classmethod
    def refuse(cls, message: str) -> NoReturn:
        raise UserError(f"{cls.__name__.lower()}: {message}\nusage: ntkexp {cls.call}")

    @classmethod
    def about(cls) -> str:
        return " ".join((cls.__doc__ or "").split())

    @classmethod
    def help(cls) -> str:
        """The page of this command: what it takes, flag by flag."""
        told: dict[str, str] = {}
        for one in fields(cls):
            told |= one.metadata.get("words", {})
            if about := one.metadata.get("about"):
                takes = one.metadata["takes"]
                told[f"{names_of(one)[-1]} {takes}" if takes else names_of(one)[0]] = about
        lines = [f"usage: ntkexp {cls.call}", "", *textwrap.wrap(cls.about(), WIDTH)]
        lines += [""] * bool(told)
        column = max(map(len, told), default=0) + 4
        for name, about in told.items():
            lines += entry(f"  {name}", about, column)
        return "\n".join(lines)


def entry(call: str, about: str, column: int) -> list[str]:
    """A sentence beside a call, from this column on; below it where the call is too long."""
    lines = [" " * column + line for line in textwrap.wrap(about, WIDTH - column)]
    if len(call) >= column:
        return [call, *lines]
    return [call + lines[0][len(call) :], *lines[1:]]


def find(name: str) -> type[Command]:
    kind: type[Command] = getattr(import_module(f"{__package__}.{FILES[name]}"), name.capitalize())
    return kind
