"""Commands that are not executed here: whether what they say still exists.

A training or a study with options is composed and checked, of a sweep the first job and the last.
One without is an experiment that must be there. The words of other ntkexp commands are parsed.
Targets of make, scripts, their flags, and extras of pip must be there.
"""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Sequence
from importlib import import_module

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from ntkexp.claims.ledger import ledger
from ntkexp.commands.claims import Claims
from ntkexp.commands.command import FILES, find
from ntkexp.commands.data import Data
from ntkexp.commands.figures import Figures
from ntkexp.commands.train import Train
from ntkexp.compose.overrides import ranges_quoted
from ntkexp.data.images.sources import image_sets
from ntkexp.experiments import experiments
from ntkexp.figures import chosen
from ntkexp.launch.job import jobs_of
from tests.conftest import Ntkexp
from tests.docs.pages import TOP
from tests.tiny_runs import composer

# Words that stand for others.
PLACEHOLDER = re.compile(
    r"(?<![\w.])(NAME|PAPER|FIG|DIR|RUN|N|ID|FILE|SHELL|FOLDER)(?!\w)|\.\.\.|…"
)
PROGRAMS = ("ntkexp ", "make ", "python scripts/", "python -m scripts.", "scripts/", "pip install ")
ASSIGNED = re.compile(r"[A-Z_]+=\S*$")
_right: set[str] = set()  # which several pages say
SHARED_FLAGS = ("--runs", "--out", "--help")  # of all figures: scripts/drawing.py


def is_command(span: str) -> bool:
    """Whether a piece of code in a line is a command, and a whole one."""
    whole = " " in span and not PLACEHOLDER.search(span)
    return whole and span.startswith(PROGRAMS)


def check(command: str, inside: Ntkexp) -> None:
    """Fails where a command could not be given as it stands."""
    if command in _right:
        return
    words = shlex.split(command, comments=True)
    if "|" in words:
        words = words[: words.index("|")]
    while words and ASSIGNED.match(words[0]):
        words = words[1:]
    if not words or PLACEHOLDER.search(command):
        return
    program, rest = words[0], words[1:]
    if "torchvision." in command and not _torchvision():
        return
    if program == "ntkexp":
        _ntkexp(rest, inside)
    elif program == "make":
        _make(rest)
    elif program == "python" and not command.startswith("python -m venv"):
        _script(rest[1].replace(".", "/") + ".py" if rest[0] == "-m" else rest[0], rest)
    elif program == "bash" or program.startswith("scripts/"):
        _shell(rest if program == "bash" else words)
    elif program == "pip":
        _extras(command)
    _right.add(command)


def _torchvision() -> bool:
    """False beside a torch that its compiled part was not built for."""
    try:
        import_module("torchvision.models")
    except (ImportError, RuntimeError):
        return False
    return True


def _ntkexp(words: Sequence[str], inside: Ntkexp) -> None:
    name, rest = words[0], list(words[1:])
    assert name in FILES or name.startswith("--"), f"no command {name}"
    if name in ("train", "study") and any("=" in word for word in rest):
        options = [word for word in rest if not word.startswith("-")]
        if len(options) == 1 and options[0].startswith("+exp="):
            # Each of them is composed, and lives for two steps, in tests/test_experiments.py.
            (word,) = options
            known = {one.name: one.command for one in experiments()}
            assert known.get(word.removeprefix("+exp=")) == name, f"ntkexp {name} has no {word}"
            return
        shown = {"--cfg", "-c", "--info"} & set(rest)
        if shown or any(word.startswith(("--config-dir", "hydra")) for word in rest):
            done = inside(name, *rest, *([] if shown else ["--dry-run"]))
            assert done.returncode == 0, done.stderr
        else:
            _jobs(name, Train.parsed(rest).for_hydra()[1])
    elif name in ("list", "completion"):
        done = inside(name, *rest)
        assert done.returncode == 0, done.stderr
    elif name == "figures":
        figures = Figures.parsed(rest)
        assert chosen(figures.names, figures.paper)
    elif name == "claims":
        claims = Claims.parsed(rest)
        known = ledger(None if claims.paper is None else [claims.paper])
        assert any(claims.figure in (None, claim.figure) for claim in known)
    elif name == "data":
        assert set(Data.parsed(rest).names) <= set(image_sets())
    elif not name.startswith("--"):
        find(name).parsed(rest)


def _jobs(name: str, overrides: Sequence[str]) -> None:
    made = composer(name)
    parsed = OverridesParser.create(made.loader).parse_overrides(ranges_quoted(overrides))
    (batch,) = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    # The first job and the last have the ends of every axis.
    assert jobs_of(made, [batch[0], batch[-1]][: len(batch)])


def _make(words: Sequence[str]) -> None:
    text = (TOP / "Makefile").read_text(encoding="utf-8")
    for word in words:
        name, assigned, _ = word.partition("=")
        found = rf"^{name}\s*\?=" if assigned else rf"^{name}:"
        assert re.search(found, text, re.MULTILINE), f"make knows no {name}"


def _script(name: str, words: Sequence[str]) -> None:
    found = list(TOP.glob(name))
    assert found, f"no {name}"
    text = found[0].read_text(encoding="utf-8")
    figure = found[0].name.startswith("fig")
    for word in words:
        flag = word.partition("=")[0]
        if flag.startswith("--"):
            assert f'"{flag}"' in text or (figure and flag in SHARED_FLAGS), f"{name}: no {flag}"


def _shell(words: Sequence[str]) -> None:
    file = TOP / words[0]
    assert file.is_file(), f"no {words[0]}"
    text = file.read_text(encoding="utf-8")
    for word in words[1:]:
        assert re.search(rf"(?<![\w-]){re.escape(word)}\b", text), f"{words[0]}: no {word}"


def _extras(command: str) -> None:
    setup = configparser.ConfigParser()
    setup.read(TOP / "setup.cfg")
    for named in re.findall(r"(?:ntkexp|\.)\[([\w,]+)\]", command):
        for extra in named.split(","):
            assert extra in setup["options.extras_require"], f"no extra {extra}"
