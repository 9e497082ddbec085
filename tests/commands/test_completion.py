"""The tab key, in the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ntkexp import components
from ntkexp.commands.command import FILES
from ntkexp.commands.completion import SCRIPTS, candidates
from ntkexp.commands.train import Train

CASES = [
    ("ntkexp tr", ["train"]),
    ("ntkexp train data=", [f"data={name}" for name in sorted(components.names("data"))]),
    ("ntkexp train +exp=vgg11", ["+exp=vgg11_directions"]),
    ("ntkexp train +exp=disk -m optim.mo", ["optim.momentum="]),
    ("ntkexp study +exp=super", ["+exp=supernat"]),
    ("ntkexp figures al", ["alignment"]),
    ("ntkexp figures alignment 14", ["14"]),
    ("ntkexp figures --o", ["--out"]),
    ("ntkexp list --c", ["--config-dir"]),
    ("ntkexp data mn", ["mnist"]),
    ("ntkexp train --with", ["--with-parents"]),
]


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line for line, _ in CASES])
def test_candidates(line: str, expected: list[str]) -> None:
    assert candidates(line) == expected


def test_every_subcommand_is_offered_and_every_flag_of_training() -> None:
    assert set(candidates("ntkexp ")) == {*FILES, "--help", "--version"}
    offered = set(candidates("ntkexp train -"))
    assert {*Train.flag_words()} <= offered


def test_a_fresh_word_offers_groups_and_keys() -> None:
    found = candidates("ntkexp train +exp=disk ")
    assert {"data=", "seed=", "optim."} <= set(found)
    assert not [word for word in found if word.startswith("schema")]


@pytest.fixture
def shell_environment(tmp_path: Path) -> dict[str, str]:
    """A PATH on which `ntkexp` is this very installation."""
    command = tmp_path / "ntkexp"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ntkexp "$@"\n')
    command.chmod(0o755)
    return os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}


def asked(shell: str, source: str, environment: dict[str, str], tmp_path: Path) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(SCRIPTS[shell])
    done = subprocess.run(
        [shell, "-c", source], env=environment, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_bash(shell_environment: dict[str, str], tmp_path: Path) -> None:
    # What bash itself sets before it calls the function.
    source = """
    source ./script
    COMP_LINE='ntkexp train +exp=vgg11' COMP_POINT=23
    _ntkexp
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    assert asked("bash", source, shell_environment, tmp_path) == ["vgg11_directions"]


def test_zsh(shell_environment: dict[str, str], tmp_path: Path) -> None:
    source = """
    compdef() { : }
    compadd() { shift 3; print -l -- $@ }
    source ./script
    LBUFFER='ntkexp train data='
    _ntkexp
    """
    found = asked("zsh", source, shell_environment, tmp_path)
    assert found == ["data=cifar10", "data=disk", "data=kmnist", "data=mnist"]


def test_fish(shell_environment: dict[str, str], tmp_path: Path) -> None:
    source = "source ./script; complete -C 'ntkexp train +exp=vgg11'"
    found = asked("fish", source, shell_environment, tmp_path)
    assert found == ["+exp=vgg11_directions"]
