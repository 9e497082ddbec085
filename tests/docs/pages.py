"""What stands in README, CONTRIBUTING and docs/: fenced blocks, their marks, and commands in lines.

A block of commands (```bash, or ```console with its output) or of Python is executed with the
others of its page, in order and in one folder, unless a comment above it says otherwise:

    <!-- slow: REASON -->              executed on demand (`make slow`)
    <!-- not run: REASON -->           its ntkexp commands are composed or parsed
    <!-- run by tests/FILE.py -->      that test executes it, and looks closer
    <!-- exits with 1 -->              its last command does

`page` or `section` before the words makes it hold for the whole page, or to the next heading of
its level: `<!-- page not run: REASON -->`. A block of Python, YAML or TOML whose first line is
`# a/name` is a file of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[2]
SHELL = ("bash", "console")
# Blocks that nobody executes by themselves.
OTHERS = ("yaml", "toml", "text")
KINDS = (*SHELL, "python", *OTHERS)
FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\S*)")
MARK = re.compile(r"<!-- (?:(page|section) )?(slow:|not run:|run by|exits with) (.+) -->")
HEADING = re.compile(r"^(#+) ")
FILE = re.compile(r"# ([\w./-]+\.(?:py|yaml|toml))\n")
SPAN = re.compile(r"(?<!`)`((?:[^`\n]|\n(?!\s*\n))+)`(?!`)")


@dataclass(frozen=True)
class Mark:
    word: str = "run"
    reason: str = ""


RUN = Mark()


@dataclass(frozen=True)
class Block:
    line: int
    kind: str
    text: str
    mark: Mark

    @property
    def file(self) -> str | None:
        """The name of the file that it is."""
        found = FILE.match(self.text) if self.kind not in SHELL else None
        return found and found[1]

    @property
    def content(self) -> str:
        return self.text.partition("\n")[2] if self.file else self.text


@dataclass(frozen=True)
class Said:
    """A command, and what the page shows of its output."""

    command: str
    output: str = ""


def pages() -> dict[str, Path]:
    found = [TOP / "README.md", TOP / "CONTRIBUTING.md", *sorted((TOP / "docs").rglob("*.md"))]
    return {path.relative_to(TOP).as_posix(): path for path in found}


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page, each with the mark that holds for it."""
    lines = iter(enumerate(path.read_text(encoding="utf-8").splitlines(), start=1))
    found: list[Block] = []
    of_page = of_section = own = None
    level = 0
    for number, line in lines:
        if mark := MARK.fullmatch(line.strip()):
            scope, word, reason = mark.groups()
            one = Mark(word.rstrip(":"), reason)
            if scope == "page":
                of_page = one
            elif scope == "section":
                of_section = one
            else:
                own = one
        elif heading := HEADING.match(line):
            if len(heading[1]) <= level:
                of_section = None
            level = len(heading[1]) if of_section is None else level
        elif fence := FENCE.match(line):
            inside = []
            for _, text in lines:
                if text.strip() == "```":
                    break
                inside.append(text.removeprefix(fence["indent"]))
            text = "".join(f"{one}\n" for one in inside)
            found.append(Block(number, fence["kind"], text, own or of_section or of_page or RUN))
            own = None
        elif line.strip():
            assert own is None, f"{path}:{number}: a mark without a block below it"
    return found


def commands(block: Block) -> Iterator[Said]:
    """The commands of a block; those of a console begin with a dollar, and output follows."""
    text = block.text.replace("\\\n", " ")
    if block.kind == "bash":
        yield from (Said(line) for line in text.splitlines() if line.partition("#")[0].strip())
        return
    for part in text.removeprefix("$ ").split("\n$ "):
        command, _, output = part.partition("\n")
        yield Said(command, output)


def spans(path: Path) -> Iterator[str]:
    """What stands in a line between backticks, outside of fenced blocks."""
    text = re.sub(r"^ *```.*?^ *```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for found in SPAN.finditer(text):
        yield " ".join(found[1].replace("\\|", "|").split())
