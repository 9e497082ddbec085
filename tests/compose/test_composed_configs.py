"""What every experiment composes to, and its id, as they were when the snapshot was taken.

    python -m tests.compose.test_composed_configs alignment     writes the snapshot of a paper anew

A paper has a snapshot once it has runs to keep. A key that was added since, or one whose value
moved, is listed here by hand: whoever changes what an experiment is has to say so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from ntkexp.config import ProbingConfig, ScaleConfig
from ntkexp.experiments import experiments
from ntkexp.identity import identity, plain
from tests.tiny_runs import composed

SNAPSHOTS = Path(__file__).parent / "snapshots" / "composed_configs"
CHOICES = ("", "scale=small", "recipe=released", "recipe=released scale=small")
ITS_KEY = object()
# Added since the snapshot was taken: dotted key -> value, where a `*` is any key.
ADDED: dict[str, Any] = {
    "optim.name": "sgd",
    "probe.*.name": ITS_KEY,
    "objective": {"name": "usual"},
    "transform": {"name": "plain"},
    "probing.losses": [],
    "probing.check": "refuse",
    "probe.spectrum.uncentred": False,
    "evaluate.subsets": [],
    "evaluate.metrics": [],
    "members": None,
    "probe.alignment.groups": [],
    "stands_in_for": "",
    "with_parents": False,
    "objective_metric": None,
    "logger": {},
    "keep": {"weights": [], "updates": 1},
    "optim.stop_after_losses": False,
    "weights": {
        "run": None,
        "set": None,
        "file": "weights.pt",
        "id": "",
        "folder": "",
        "fresh": [],
    },
    "model.shortcut_bias": True,
    # Of studies; trained experiments had them.
    "device": "auto",
    "checkpoint": {"every_seconds": 60.0},
    "scale": vars(ScaleConfig()),
    "probe": {},
    # Of what is left of it by now.
    "probing": {
        key: str(value) if isinstance(value, StrEnum) else value
        for key, value in vars(ProbingConfig()).items()
        if key not in ("losses", "check")
    },
}
# Said by configs/scale/small.yaml then, by the components themselves since.
MOVED = ("train_examples", "test_examples", "width", "base", "steps")


def cases(paper: str) -> Iterator[tuple[str, list[str], str]]:
    """(name of the case, words, command) of every experiment of a paper and every choice."""
    for experiment in (one for one in experiments() if one.paper == paper):
        for choice in CHOICES if experiment.command == "train" else ("",):
            words = [f"+exp={experiment.name}", *choice.split()]
            yield " ".join(words), words, experiment.command


def told(words: list[str], command: str) -> dict[str, Any]:
    config = composed(words, command)
    return {"id": identity(config), "config": plain(config)}


def without_added(config: dict[str, Any]) -> dict[str, Any]:
    for key, value in ADDED.items():
        *nodes, last = key.split(".")
        for where, node in reached(config, nodes):
            if last in node and node[last] == (where if value is ITS_KEY else value):
                del node[last]
    return config


def reached(node: dict[str, Any], keys: list[str], where: str = "") -> Iterator[tuple[str, Any]]:
    """(last key, node) of every node below `node` on the way of `keys`."""
    if not keys:
        yield where, node
        return
    for key in node if keys[0] == "*" else [keys[0]]:
        if key in node:
            yield from reached(node[key], keys[1:], key)


def without_moved(config: dict[str, Any]) -> dict[str, Any]:
    if "scale" not in config:
        return config
    return config | {"scale": {k: v for k, v in config["scale"].items() if k not in MOVED}}


KEPT = {path.stem: path for path in sorted(SNAPSHOTS.glob("*.json"))}
CASES = [(KEPT[paper], *case) for paper in KEPT for case in cases(paper)]


@pytest.mark.parametrize(
    ("snapshot", "name", "words", "command"), CASES, ids=[name for _, name, _, _ in CASES]
)
def test_an_experiment_composes_to_what_it_was(
    snapshot: Path, name: str, words: list[str], command: str
) -> None:
    before = json.loads(snapshot.read_text(encoding="utf-8"))[name]
    now = told(words, command)
    expected = without_moved(without_added(before["config"]))
    assert without_moved(without_added(now["config"])) == expected
    assert now["id"] == before["id"]


if __name__ == "__main__":
    found = {name: told(words, command) for name, words, command in cases(sys.argv[1])}
    text = json.dumps(found, indent=1, sort_keys=True) + "\n"
    (SNAPSHOTS / f"{sys.argv[1]}.json").write_text(text, encoding="utf-8")
