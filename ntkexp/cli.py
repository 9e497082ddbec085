"""The command line: subcommands, and nothing heavier than Hydra until a job begins."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import FrameType

import ntkexp
from ntkexp.errors import UserError, denied
from ntkexp.execution import threads


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    The exit code is 0 for done, 2 for bad input, 1 for a failed run, 128 + n for signal n.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    threads.set_waiting()
    # A letter that the terminal cannot show becomes a question mark.
    with contextlib.suppress(AttributeError):
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with _interrupts():
            code = _dispatch(words)
        sys.stdout.flush()
    except UserError as error:
        print(f"ntkexp: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # Whoever read the output has seen enough, as in `ntkexp list | head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except PermissionError as error:
        print(f"ntkexp: {denied(error)}", file=sys.stderr)
        return 2
    return code


@contextlib.contextmanager
def _interrupts() -> Iterator[None]:
    """Ctrl-C ends the process at once, except while a run handles it.

    Python's own way raises an exception at whatever line is running. Some imports swallow it,
    others print it as a traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        os.write(2, b"interrupted\n")
        os._exit(128 + number)

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("--help", "-h", "help"):
        from ntkexp.usage import help_of_all

        print(help_of_all())
        return 0
    if words[0] == "--version":
        print(f"ntkexp {ntkexp.__version__}")
        return 0
    command, rest = words[0], words[1:]
    if command == "complete" and len(rest) == 1:  # the tab key's question
        return _carry_out(command, rest)
    if command not in COMMANDS:
        raise UserError(f"{command}: no such command; expected one of {', '.join(COMMANDS)}")
    if {"--help", "-h"} & set(rest):
        from ntkexp.usage import help_of

        print(help_of(command))
        if command in ("train", "study"):
            from ntkexp.commands.handbook import groups

            print("", "what can be set, told by ntkexp options GROUP[=NAME]:", *groups(), sep="\n")
        return 0
    return _carry_out(command, rest)


def _carry_out(command: str, words: list[str]) -> int:
    """Call what is behind a command: it returns an exit code, or what is to be printed."""
    if command in ("train", "study"):
        from ntkexp.commands import application

        return application.run(command, words)
    module, function = COMMANDS.get(command, "commands.completion:complete").split(":")
    answer = getattr(import_module(f"ntkexp.{module}"), function)(words)
    if isinstance(answer, int):
        return answer
    print(answer)
    return 0


# Imported when it is called: this module stays light. Of train and study the names alone are used.
COMMANDS = {
    "train": "commands.application:run",
    "study": "commands.application:run",
    "probe": "commands.probe:probe",
    "options": "commands.handbook:options",
    "list": "commands.catalogue:overview",
    "show": "commands.catalogue:show",
    "claims": "claims.command:claims",
    "figures": "figures:figures",
    "report": "report.page:report",
    "data": "data.images.sources:inventory",
    "completion": "commands.completion:script",
}
