"""Lines as a terminal shows them: wrapped at its width, with a colour for the state of a run."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from shutil import get_terminal_size

from ntkexp.errors import printable

COLOURS = {
    "finished": 32, "running": 33, "stopped": 33, "interrupted": 33,
    "failed": 31, "diverged": 31, "damaged": 31,
}  # fmt: skip
STATE = re.compile(rf"(?<=  )({'|'.join(COLOURS)})\b")


def fitted(text: str) -> str:
    """The lines wrapped at words, the rest of each indented; unchanged outside of a terminal."""
    text = printable(text)
    if not sys.stdout.isatty():
        return text
    width = get_terminal_size().columns
    lines = [part for line in text.splitlines() for part in _wrapped(line, width)]
    return "\n".join(lines if "NO_COLOR" in os.environ else map(_coloured, lines))


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())] + "    "
    # Two blanks stand between columns: textwrap would keep them at the end of a line.
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def _coloured(line: str) -> str:
    return STATE.sub(lambda match: f"\x1b[{COLOURS[match[0]]}m{match[0]}\x1b[0m", line, count=1)
