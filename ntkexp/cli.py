"""The command line: subcommands, and nothing heavier than Hydra until a job begins."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
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
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise
        # Files of a run say so themselves. This is what the command prints, into a file.
        with contextlib.suppress(OSError):
            print(f"ntkexp: cannot write what it prints: {error.strerror}", file=sys.stderr)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - what is left unsaid stays so
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
        print(_help(), end="")
        return 0
    if words[0] == "--version":
        print(f"ntkexp {ntkexp.__version__}")
        return 0
    command, rest = words[0], words[1:]
    if command == "complete":
        return _complete(rest)
    if command not in COMMANDS:
        raise UserError(f"{command}: no such command; expected one of {', '.join(COMMANDS)}")
    if {"--help", "-h"} & set(rest):
        print(_help(command), end="")
        return 0
    return COMMANDS[command](rest)


# Every command imports what it needs when it is called: this module stays light.


def _help(command: str | None = None) -> str:
    from ntkexp.usage import help_of, help_of_all

    return help_of_all() if command is None else help_of(command)


def _train(words: list[str]) -> int:
    from ntkexp import application

    return application.run("train", words)


def _study(words: list[str]) -> int:
    from ntkexp import application

    return application.run("study", words)


def _list(words: list[str]) -> int:
    from ntkexp.catalogue import overview

    print(overview(words))
    return 0


def _show(words: list[str]) -> int:
    from ntkexp.catalogue import describe, differences

    if len(words) not in (1, 2):
        raise UserError("ntkexp show takes one run or two, to compare: folders or ids")
    print(describe(words[0]) if len(words) == 1 else differences(words))
    return 0


def _claims(words: list[str]) -> int:
    from ntkexp.claims.command import claims

    print(claims(words))
    return 0


def _figures(words: list[str]) -> int:
    from ntkexp.figures.command import figures

    return figures(words)


def _report(words: list[str]) -> int:
    from ntkexp.report.command import report

    print(report(words))
    return 0


def _data(words: list[str]) -> int:
    from ntkexp.data.images.sources import inventory

    print(inventory(words))
    return 0


def _completion(words: list[str]) -> int:
    from ntkexp.completion import script

    print(script(*words), end="")
    return 0


def _complete(words: list[str]) -> int:
    from ntkexp.completion import candidates

    print("\n".join(candidates(words[0])))
    return 0


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "train": _train,
    "study": _study,
    "list": _list,
    "show": _show,
    "claims": _claims,
    "figures": _figures,
    "report": _report,
    "data": _data,
    "completion": _completion,
}
