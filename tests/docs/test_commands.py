"""Every command in README, CONTRIBUTING and docs/ is executed, or marked and checked."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Ntkexp
from tests.docs import spoken
from tests.docs.pages import KINDS, OTHERS, SHELL, TOP, Block, Said, blocks, commands, pages, spans

PAGES = pages()
RUN_ID = re.compile(r"\b[0-9a-f]{12}\b")
NUMBER = re.compile(r"\d+\.?\d*")
# What a shell would do more than split words.
SHELL_SIGNS = re.compile(r"[|;&<>$*]|^[A-Z_]+=")
# The pages that somebody types first; the commands of the others run on demand.
FIRST = (
    *("README.md", "docs/index.md", "docs/change_one_thing.md", "docs/tangent.md"),
    *("docs/verdicts.md", "docs/curvature.md"),
)


def holding(*words: str) -> list[str]:
    """The pages that have a block with one of these marks, or without one."""
    return [
        name
        for name, path in PAGES.items()
        if any(b.mark.word in words and b.kind not in OTHERS and not b.file for b in blocks(path))
    ]


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_executed_or_says_why_not(name: str) -> None:
    for block in blocks(PAGES[name]):
        where = f"{name}:{block.line}"
        assert block.kind in KINDS, f"{where}: ```{block.kind}: expected one of {KINDS}"
        if block.mark.word == "run by":
            test = TOP / block.mark.reason
            assert test.is_file(), f"{where}: no {block.mark.reason}"
            assert PAGES[name].name in test.read_text(encoding="utf-8"), where
        elif block.mark.word in ("slow", "not run"):
            assert len(block.mark.reason.split()) > 1, f"{where}: a reason"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in FIRST else [pytest.mark.on_demand])
        for name in holding("run", "exits with")
    ],
)
def test_the_commands_of_a_page_run(
    name: str, inside: Ntkexp, made_images: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Reader(name, inside, tmp_path, monkeypatch).read(("run", "exits with"))


@pytest.mark.on_demand
@pytest.mark.parametrize("name", holding("slow"))
def test_the_slow_commands_of_a_page_run(
    name: str, inside: Ntkexp, made_images: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Reader(name, inside, tmp_path, monkeypatch).read(("run", "exits with", "slow"))


@pytest.mark.parametrize(
    "name",
    # The gallery is made of the figures' own commands.
    [
        pytest.param(name, marks=[pytest.mark.on_demand] if "/gallery/" in name else [])
        for name in PAGES
    ],
)
def test_what_is_not_run_is_composed_or_parsed(name: str, inside: Ntkexp) -> None:
    said = [one for one in spans(PAGES[name]) if spoken.is_command(one)]
    for block in blocks(PAGES[name]):
        if block.kind in SHELL and block.mark.word in ("slow", "not run"):
            said += [one.command for one in commands(block)]
    for command in dict.fromkeys(said):
        try:
            spoken.check(command, inside)
        except (Exception, SystemExit) as error:
            pytest.fail(f"{name}: {command}\n{error}")


def shown(output: str) -> list[str]:
    """The ids of runs in an output, and its lines with 0 for every number, which may be another."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    return RUN_ID.findall(output) + [NUMBER.sub("0", RUN_ID.sub("ID", line)) for line in lines]


class Reader:
    """Somebody who types what a page says, in a folder of their own."""

    def __init__(
        self, name: str, inside: Ntkexp, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.name, self.inside, self.folder = name, inside, folder
        self.variables: dict[str, object] = {}
        monkeypatch.chdir(folder)
        monkeypatch.syspath_prepend(folder)

    def read(self, marks: tuple[str, ...]) -> None:
        for block in blocks(PAGES[self.name]):
            if block.mark.word not in marks:
                continue
            if block.file:
                file = self.folder / block.file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.content, encoding="utf-8")
            elif block.kind == "python":
                where = f"{self.name}:{block.line}"
                exec(compile(block.text, where, "exec"), self.variables)
            elif block.kind in SHELL:
                self.type(block)

    def type(self, block: Block) -> None:
        said = list(commands(block))
        for one in said:
            where = f"{self.name}:{block.line}: {one.command}"
            done = self.execute(one)
            last = block.mark.word == "exits with" and one is said[-1]
            code = int(block.mark.reason) if last else 0
            assert done.returncode == code, f"{where}\n{done.stdout}\n{done.stderr}"
            told = done.stdout + done.stderr
            missing = {*shown(one.output)} - {*shown(told)}
            assert not missing, f"{where}\nshows {missing}, but says\n{told}"

    def execute(self, one: Said) -> subprocess.CompletedProcess[str]:
        words = shlex.split(one.command, comments=True)
        if words[0] == "ntkexp" and not SHELL_SIGNS.search(" ".join(words)):
            return self.inside(*words[1:])
        return subprocess.run(
            ["bash", "-c", one.command],
            cwd=self.folder,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )
