"""`ntkexp probe`: the tables and figures of networks that other code trained.

ntkexp probe --model lit:Net --checkpoints 'ck/*.ckpt' --data lit:load --name mine
ntkexp figures alignment 2 3 --exp mine
"""

from __future__ import annotations

import glob
import sys
from collections.abc import Sequence
from pathlib import Path

from ntkexp.errors import UserError
from ntkexp.usage import CommandParser


def probe(words: Sequence[str]) -> int:
    """Look at checkpoints, as `ntkexp study study=checkpoints` does."""
    from ntkexp.commands import application
    from ntkexp.compose.words import words_of

    arguments, overrides = parser().parse_known_args(words)
    if wrong := [word for word in overrides if "=" not in word or word.startswith("-")]:
        raise UserError(f"probe: {wrong[0]}: no such flag, and no option key=value")
    # Networks and data of one's own lie where one works.
    sys.path.insert(0, str(Path.cwd()))
    options = {
        "name": arguments.name,
        "study": "checkpoints",
        "study.model": arguments.model,
        "study.checkpoints": _files(arguments.checkpoints, ordered=arguments.steps is not None),
        "study.data": arguments.data,
        "study.objective": arguments.objective,
        "study.outputs": arguments.outputs,
        "study.steps": _steps(arguments.steps),
        "study.allow": arguments.allow.split(",") if arguments.allow else [],
        "study.trust": arguments.trust,
        "probe": ["spectrum", "alignment"],
        "probing.spacing": "linear",
        "probing.every": 1,
        "probing.examples": arguments.examples,
    }
    code = application.run("study", [*words_of(options), *overrides])
    if code == 0:
        outputs = [word for word in overrides if word.startswith("paths.outputs=")]
        runs = f" --runs {outputs[-1].partition('=')[2]}" if outputs else ""
        print(f"ntkexp figures alignment 2 3{runs} --exp {arguments.name}    draws them")
    return code


def _files(patterns: Sequence[str], *, ordered: bool) -> list[str]:
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


def parser() -> CommandParser:
    command = CommandParser("probe")
    for flag in ("--model", "--data", "--name"):
        command.add_argument(flag, required=True)
    command.add_argument("--checkpoints", required=True, nargs="+")
    command.add_argument("--objective", default="usual")
    command.add_argument("--examples", type=int, default=100)
    command.add_argument("--steps")
    command.add_argument("--outputs", default="all")
    command.add_argument("--allow")
    command.add_argument("--trust", action="store_true")
    return command
