"""Errors that a user hears of in one line."""

from collections.abc import Sequence
from pathlib import Path


class UserError(ValueError):
    """Bad input. The message names the key, file or layer, what came, and what is accepted.

    The command line prints it in one or two lines and exits with 2; no traceback.
    """


class UnknownNameError(UserError, KeyError):
    """What is asked for by name is not there; code that catches KeyError goes on."""

    __str__ = Exception.__str__


class Interrupted(Exception):
    """A signal asked the run to stop; everything up to here is committed."""


class SweepStopped(Exception):
    """A signal ended a batch of jobs; the sweeper that asked for it must not ask for another."""


class Diverged(Exception):
    """A run that has nothing to go on from: its loss is infinite or not a number, or its optimiser
    cannot make another update, `why` says for what reason. `losses` are the last that were numbers,
    `way_out` says what to change."""

    def __init__(self, step: int, *losses: float, why: str = "", way_out: str = "") -> None:
        before = ", ".join(f"{loss:.6g}" for loss in losses)
        told = f"the loss is not finite at step {step}" + f"; before it was {before}" * bool(losses)
        super().__init__(
            (f"{why} at step {step}" if why else told) + f"; {way_out}" * bool(way_out)
        )
        self.step = step


class RunFailed(Exception):
    """A run that did not finish: it raised an error, or its loss was infinite or not a number."""

    def __init__(self, folder: object, reason: str) -> None:
        super().__init__(f"{folder}: {reason}")
        self.folder, self.reason = folder, reason


class DamagedRunError(UserError):
    """A file of a run is not what the run wrote."""

    def __init__(self, path: Path, fault: str) -> None:
        super().__init__(f"{path} {fault}; --rerun does the run again from its beginning")
        self.path = path


class UnreadableRunError(DamagedRunError):
    """A file or folder cannot be read now. That says nothing of what is in it."""

    def __init__(self, path: Path, error: OSError) -> None:
        way_out = "" if isinstance(error, PermissionError) else "; try again"
        UserError.__init__(self, f"{path}: cannot be read ({error.strerror}){way_out}")
        self.path = path


class RunTakenError(UserError):
    """Another living process works on this run."""


class RunLostError(RunTakenError):
    """Another process took this run over while this one was stopped or out of reach."""


def not_read(path: Path, error: OSError) -> DamagedRunError:
    """The error for a file that should be there and could not be read."""
    if isinstance(error, FileNotFoundError):
        return DamagedRunError(path, "is missing")
    return UnreadableRunError(path, error)


def cannot_write(path: Path, error: OSError) -> UserError:
    reason = error.strerror or str(error)
    return UserError(f"cannot write {path}: {reason}; nothing already there was changed")


def denied(error: PermissionError) -> UserError:
    """The line for a file or folder of another account; an error about no file is raised."""
    if error.filename is None:
        raise error
    return UserError(f"{error.filename}: {error.strerror}; this account may not use it")


# What others call it.
ELSEWHERE = {
    "loss": "objective", "mse": "squared_error", "ce": "cross_entropy", "bce": "binary",
    "optimizer": "optim", "optimiser": "optim", "dataset": "data", "net": "model",
    "network": "model", "swish": "silu", "run": "train", "resume": "train", "fit": "train",
    "plot": "figures", "draw": "figures",
}  # fmt: skip


def meant(word: str, choices: Sequence[str]) -> str:
    """A guess, to go behind `no such ...`; nothing where none is near."""
    import difflib  # the command line imports this file first, and few words are mistyped

    same = (word.lower(), ELSEWHERE.get(word.lower()))
    near = [choice for choice in choices if choice.lower() in same]
    near += difflib.get_close_matches(word, choices, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def unknown_key(key: str, where: str, choices: Sequence[str], elsewhere: str = "") -> str:
    """The message that the config node `where` ("" is the top) has no such key, and where there is
    one of this name.

    >>> print(unknown_key("optm.lr", "", ["optim", "model"]))
    optm.lr: no such key; did you mean optim?
    the top level takes: optim, model
    """
    part = key.removeprefix(where).lstrip(".").partition(".")[0]
    takes = f"\n{where or 'the top level'} takes: {', '.join(choices)}" if choices else ""
    return f"{key}: no such key{meant(part, choices) or elsewhere}{takes}"


def printable(text: str) -> str:
    r"""Text without what would steer a terminal: of a stranger's run anything may be printed.

    >>> printable("a\x1b[31mb\n")
    'a?[31mb\n'
    """
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def first_line(error: Exception) -> str:
    """The first line of what an error says, else its kind."""
    return str(error).partition("\n")[0] or type(error).__name__
