"""The words and flags of every command. Loads nothing heavy: help is there at once."""

from __future__ import annotations

import argparse
import contextlib
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from ntkexp.errors import UserError

TITLE = "ntkexp: watch what a neural network's tangent features do while it learns"
# On the page of all commands: the column where the sentence on a command begins, and the width.
COLUMN, WIDTH = 43, 96
RUNS = "runs in these folders alone; without it one's own and the reference runs"


class Usage(NamedTuple):
    """The call of a command, a sentence on it, and one on each of its flags.

    `short`: the call as the page of all commands shows it, where that is shorter. `names`: true if
    it takes words beside its flags. A flag is followed by the value it takes: a NAME, a FILE, a
    DIR, INCHES; with dots it takes several.
    """

    words: str
    about: str
    short: str = ""
    flags: Mapping[str, str] = {}
    names: bool = True


OF_RUNS = {
    "-m": "a sweep: every combination of values with commas between them",
    "--rerun": "run it again, even if it is done",
    "--with-parents": "first make what it needs and is not there",
    "--dry-run": "say what would run and what is done; run nothing",
    "--fail-fast": "after the first failure of a sweep start no more, stop the running ones",
    "--retry-failed": "do jobs of a sweep again that failed by themselves",
    "--cfg job": "print the config and run nothing",
    "--config-dir DIR": "experiments and options of one's own",
}

USAGES = {
    "train": Usage(
        "ntkexp train [FLAGS] +exp=NAME [key=value ...]",
        "train and probe; -m sweeps, --rerun does it again, --with-parents makes what it needs "
        "first",
        "train +exp=NAME [key=value ...]",
        OF_RUNS,
    ),
    "study": Usage(
        "ntkexp study [FLAGS] +exp=NAME [key=value ...]",
        "an experiment without a network to train",
        "study +exp=NAME [key=value ...]",
        OF_RUNS,
    ),
    "probe": Usage(
        "ntkexp probe --model MODULE:NAME --checkpoints FILE ... --data DATA --name NAME [FLAGS]",
        "look at checkpoints that other code made, on given examples",
        "probe --model NAME --checkpoints FILE",
        {
            "--model MODULE:NAME": "a class or function without arguments that gives the network",
            "--checkpoints FILE ...": "files, folders of Hugging Face, or patterns in quotes",
            "--data DATA": "MODULE:FUNCTION, which gives {'train': (x, y), 'test': (x, y)}; an "
            ".npz file; a folder with train/ and test/; or a data set of ntkexp",
            "--name NAME": "what the run is called: its tables go to outputs/NAME",
            "--objective NAME": "cross_entropy, binary or squared_error; what suits the labels "
            "unless told",
            "--examples N": "the first so many of each split are looked at; 100 unless told",
            "--steps N,N,...": "of the files in their order, where they do not say it themselves",
            "--outputs WHICH": "of networks with many classes: how many, label or trace",
            "--allow CLASS,...": "classes that a checkpoint may make beside tensors",
            "--trust": "read checkpoints that run code of their own",
        },
    ),
    "options": Usage(
        "ntkexp options [GROUP[=NAME] ...]",
        "what can be chosen and set, an option in a sentence; without a group the groups",
    ),
    "list": Usage(
        "ntkexp list [NAME] [--where CONDITION] [--sort KEY] [--json] [FLAGS]",
        "every experiment, its figures, its runs; of one experiment how far its runs came",
        "list [NAME]",
        {
            "--where CONDITION": "a line a run, those alone for which this holds, such as "
            "'test_loss < 0.3 and model.width == 40' (pandas' query)",
            "--sort KEY": "a line a run, in order of this number or key of the config",
            "--json": "everything of each run, for other programs",
            "--reference": "the runs that come with ntkexp in place of one's own",
            "--config-dir DIR": "experiments of one's own as well",
        },
    ),
    "show": Usage(
        "ntkexp show RUN [RUN] [--json]",
        "a run's config, provenance and last numbers; of two runs everything in which they "
        "differ, and where their tables first do",
        "show RUN [RUN]",
        {"--json": "its config and last numbers, for other programs"},
    ),
    "claims": Usage(
        "ntkexp claims [--paper NAME] [--figure N] [--runs DIR ...] "
        "[--json | --markdown | --summary]",
        "does it reproduce? every claim, its verdict",
        "claims [--paper NAME] [--json]",
        {
            "--paper NAME": "of one paper",
            "--figure N": "of one figure",
            "--runs DIR ...": RUNS,
            "--json": "everything of each claim, for other programs",
            "--markdown": "as a table",
            "--summary": "how many hold, and no more",
        },
        names=False,
    ),
    "figures": Usage(
        "ntkexp figures [PAPER] [FIG ...] [--runs DIR ...] [--out DIR] [--exp NAME] [FLAGS]",
        "draw every figure that has its runs; with --exp from runs of one's own",
        "figures [PAPER] [FIG] [--out DIR]",
        {
            "PAPER": "of one paper; --paper NAME says the same",
            "FIG": "this figure, by its number or a part of its file's name",
            "--paper NAME": "of one paper",
            "--runs DIR ...": RUNS,
            "--out DIR": "where they go; outputs/figures unless told",
            "--changed": "only where runs or code changed since",
            "--exp NAME": "one's own runs of this experiment, into outputs/figures/own/NAME; "
            "several with commas between",
            "--columns KEY": "with --exp: a column for each value of this option (or several, with "
            "commas between); without it of all in which runs differ",
            "--width INCHES": "with --exp: of the picture",
            "--style FILE": "with --exp: a style sheet for matplotlib, over the papers' look",
            "--csv": "with --exp: what is plotted, as a table beside the picture",
        },
    ),
    "report": Usage(
        "ntkexp report [--runs DIR ...] [--figures DIR] [--bench DIR ...] [--out FILE]",
        "all of it as one page to look at",
        "report [--runs DIR] [--out FILE]",
        {
            "--runs DIR ...": RUNS,
            "--figures DIR": "figures that were drawn there; outputs/figures unless told",
            "--bench DIR ...": "timings of these folders",
            "--out FILE": "the page; outputs/report/index.html unless told",
        },
        names=False,
    ),
    "data": Usage(
        "ntkexp data [--forget] [NAME ...]",
        "list the images that are here, fetch those of these names; --forget deletes their "
        "decoded copies",
        flags={"--forget": "delete decoded copies; files that were fetched stay"},
    ),
    "completion": Usage("ntkexp completion bash|zsh|fish", "a script for the shell's tab key"),
}


def help_of_all() -> str:
    """The page of all commands."""
    lines = [TITLE, ""]
    for command in USAGES.values():
        call = f"ntkexp {command.short}" if command.short else command.words
        lines += _entry(f"  {call}", command.about, COLUMN)
    lines += ["  ntkexp COMMAND --help                    what a command takes, flag by flag"]
    lines += ["  ntkexp --version | --help", ""]
    lines += ["  ntkexp train +exp=disk --cfg job         prints the config and runs nothing"]
    return "\n".join(lines)


def help_of(name: str) -> str:
    """The page of one command."""
    command = USAGES[name]
    lines = [f"usage: {command.words}", "", *textwrap.wrap(command.about, WIDTH)]
    lines += [""] * bool(command.flags)
    column = max((len(flag) for flag in command.flags), default=0) + 4
    for flag, about in command.flags.items():
        lines += _entry(f"  {flag}", about, column)
    return "\n".join(lines)


def _entry(call: str, about: str, column: int) -> list[str]:
    first, *more = textwrap.wrap(about, WIDTH - column)
    if len(call) >= column:
        return [call, *(" " * column + line for line in (first, *more))]
    return [f"{call:<{column}}{first}", *(" " * column + line for line in more)]


def parsed(command: str, words: Sequence[str]) -> argparse.Namespace:
    """The flags of a command, and the other `names`; an error is one line, and its usage."""
    usage = USAGES[command]
    parser = CommandParser(command)
    kinds: dict[str, Callable[[str], object]] = {"DIR": Path, "FILE": Path, "INCHES": _length}
    for name, *takes in (flag.split() for flag in usage.flags if flag.startswith("-")):
        if not takes:
            parser.add_argument(name, action="store_true")
            continue
        kind = kinds.get(takes[0], str)
        if takes[-1] == "...":
            parser.add_argument(name, nargs="+", type=kind, default=[])
        else:
            parser.add_argument(name, type=kind)
    if usage.names:
        parser.add_argument("names", nargs="*")
    return parser.parse_intermixed_args(words)


def _length(word: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (inches := float(word)) < math.inf:
            return inches
    raise argparse.ArgumentTypeError(f"{word}: expected inches, above 0")


class CommandParser(argparse.ArgumentParser):
    """Says what is wrong in one line, with the command's usage."""

    def __init__(self, command: str) -> None:
        super().__init__(usage=USAGES[command].words, add_help=False, allow_abbrev=False)
        self.command = command

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.command}: {message}\nusage: {self.usage}")
