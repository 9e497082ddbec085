"""`ntkexp probe`: the tables and figures of networks that other code trained.

ntkexp probe --model lit:Net --checkpoints 'ck/*.ckpt' --data lit:load --name mine
ntkexp figures alignment 2 3 --exp mine
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ntkexp.commands.command import Command, flag, words
from ntkexp.commands.train import Study
from ntkexp.errors import UserError


@dataclass(eq=False, repr=False)
class Probe(Command):
    """look at checkpoints that other code made, on given examples"""

    call = "probe --model MODULE:NAME --checkpoints FILE ... --data DATA --name NAME [FLAGS]"
    short = "probe --model NAME --checkpoints FILE"

    model: str = flag(
        "a class or function without arguments that gives the network", "MODULE:NAME", needed=True
    )
    checkpoints: list[str] = flag(
        "files, folders of Hugging Face, or patterns in quotes", "FILE ...", needed=True
    )
    data: str = flag(
        "MODULE:FUNCTION, which gives {'train': (x, y), 'test': (x, y)}; an .npz file; a folder "
        "with train/ and test/; or a data set of ntkexp",
        "DATA",
        needed=True,
    )
    name: str = flag("what the run is called: its tables go to outputs/NAME", "NAME", needed=True)
    objective: str | None = flag(
        "cross_entropy, binary or squared_error; what suits the labels unless told", "NAME"
    )
    examples: int | None = flag(
        "the first so many of each split are looked at; at most 100 unless told", "N"
    )
    steps: str | None = flag(
        "of the files in their order, where they do not say it themselves", "N,N,..."
    )
    outputs: str | None = flag("of networks with many classes: how many, label or trace", "WHICH")
    weights: str | None = flag(
        "the key of the weights in files that hold several, as an average (ema)", "KEY"
    )
    allow: str | None = flag(
        "classes that a checkpoint may make beside tensors; never functions, nor what runs code",
        "CLASS,...",
    )
    trust: bool = flag("read checkpoints that run code of their own: files of yours alone")
    overrides: list[str] = words()

    def execute(self) -> int:
        """Look at checkpoints, as `ntkexp study study=checkpoints` does."""
        from ntkexp.compose.words import words_of

        if wrong := [word for word in self.overrides if "=" not in word]:
            self.refuse_flags(wrong)
        # Networks and data of one's own lie where one works.
        sys.path.insert(0, str(Path.cwd()))
        options = {
            "name": self.name,
            "study": "checkpoints",
            "study.model": self.model,
            "study.checkpoints": _files(self.checkpoints, ordered=self.steps is not None),
            "study.data": self.data,
            "study.objective": self.objective,
            "study.outputs": self.outputs,
            "study.steps": _steps(self.steps),
            "study.weights": self.weights,
            "study.allow": self.allow.split(",") if self.allow else [],
            "study.trust": self.trust,
            "probe": ["spectrum", "alignment"],
            "probing.spacing": "linear",
            "probing.every": 1,
            "probing.examples": self.examples,
        }
        given = {key: value for key, value in options.items() if value is not None}
        code = Study([*words_of(given), *self.overrides]).execute()
        if code == 0:
            outputs = [word for word in self.overrides if word.startswith("paths.outputs=")]
            runs = f" --runs {outputs[-1].partition('=')[2]}" if outputs else ""
            print(f"ntkexp figures alignment 2 3{runs} --exp {self.name}    draws them")
        return code

    @classmethod
    def refuse_flags(cls, unknown: Sequence[str]) -> NoReturn:
        raise UserError(f"probe: {unknown[0]}: no such flag, and no option key=value")


def _files(patterns: Sequence[str], *, ordered: bool) -> list[str]:
    import glob

    files = []
    for pattern in patterns:
        matches = sorted(glob.glob(pattern)) or [pattern]  # noqa: PTH207 - absolute ones as well
        if ordered and len(matches) > 1:
            raise UserError(
                f"--checkpoints {pattern}: with --steps name the files one by one, in their order"
            )
        files += matches
    return files


def _steps(given: str | None) -> list[int]:
    try:
        return [int(step) for step in given.split(",")] if given else []
    except ValueError as error:
        raise UserError(f"--steps {given}: expected numbers with commas between") from error
