"""The command line: subcommands, and nothing heavier than Hydra until a job begins."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

import ntkexp
from ntkexp.commands.command import FILES, entry, find
from ntkexp.errors import UserError, denied, meant, printable

COLUMN = 43  # of the page of all commands, where the sentence on one begins


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    The exit code is 0 for done, 2 for bad input, 1 for a failed run, 128 + n for signal n.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:  # `>&-`
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
    # A letter that the terminal cannot show becomes a question mark.
    with contextlib.suppress(AttributeError):
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with _interrupts():
            answer = _answer(words)
        _print(answer)
    except UserError as error:
        print(f"ntkexp: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read the output has seen enough, as in `ntkexp list | head`.
        _end_of_output()
        return 128 + signal.SIGPIPE
    except PermissionError as error:
        print(f"ntkexp: {denied(error)}", file=sys.stderr)
        return 2
    return answer if isinstance(answer, int) else 0


def _print(answer: int | str) -> None:
    """Print an answer, and what waits to be printed. A run that is done is done, whoever reads."""
    try:
        if isinstance(answer, str):
            print(answer)
        sys.stdout.flush()
    except OSError as error:
        if isinstance(answer, str) and isinstance(error, BrokenPipeError):
            raise
        _end_of_output()
        if isinstance(answer, str):
            raise UserError(f"standard output: {error.strerror}") from error


def _end_of_output() -> None:
    """Python flushes once more at its end, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _interrupts() -> Iterator[None]:
    """Ctrl-C ends the process at once, except while a run handles it.

    Python's own way raises an exception at whatever line is running. Some imports swallow it,
    others print it as a traceback.
    """

    def end(number: int, frame: FrameType | None) -> None:
        os.write(2, b"interrupted\n")
        os._exit(128 + number)

    try:
        before = signal.signal(signal.SIGINT, end)
    except ValueError:  # outside of the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _answer(words: list[str]) -> int | str:
    """What a command answers: an exit code, or what is to be printed."""
    if not words or words[0] in ("--help", "-h", "help"):
        return _help()
    if words[0] == "--version":
        if words[1:] == ["--verbose"]:
            from ntkexp.commands.version import verbose

            return verbose()
        return f"ntkexp {ntkexp.__version__}"
    name, *rest = words
    if name == "complete" and len(rest) == 1:  # the tab key's question
        from ntkexp.commands.completion import candidates

        return "\n".join(candidates(rest[0]))
    if name not in FILES:
        raise UserError(
            f"{name}: no such command{meant(name, [*FILES])}\nntkexp takes: {', '.join(FILES)}"
        )
    command = find(name)
    if {"--help", "-h"} & set(rest):
        return command.help()
    from ntkexp.execution import threads

    threads.set_waiting()
    return command.parsed(rest).execute()


def _help() -> str:
    """The page of all commands."""
    lines = ["ntkexp: watch what a neural network's tangent features do while it learns", ""]
    for command in map(find, FILES):
        lines += entry(f"  ntkexp {command.short or command.call}", command.about(), COLUMN)
    lines += ["  ntkexp COMMAND --help                    what a command takes, flag by flag"]
    lines += ["  ntkexp --version | --help", ""]
    lines += ["  ntkexp train +exp=disk --cfg job         prints the config and runs nothing"]
    return "\n".join(lines)
