"""What the figures of trained networks share: runs grouped by seed, curves along training."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drawing
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp import results
from ntkexp.results.reading import flat_config

TRAIN, TEST = "-", "--"
# The paper's VGG and ResNet; a narrower one is said to be.
FULL_CHANNELS = 64
# Of the notes below a figure.
CHARACTERS_PER_INCH = 19


@dataclass(frozen=True)
class Group:
    """Finished runs of one experiment that differ in nothing but their seed."""

    config: Mapping[str, Any]
    tables: Mapping[str, pd.DataFrame]
    seeds: int

    @property
    def title(self) -> str:
        """The network and its data, in words."""
        depth, width = self.config.get("model.depth"), self.config.get("model.width")
        nets = {"mlp": f"MLP {depth} × {width}", "vgg": f"VGG{depth}", "resnet18": "ResNet18"}
        data = {"mnist": "MNIST", "cifar10": "CIFAR-10", "kmnist": "KMNIST", "disk": "disk"}
        return f"{nets[self.config['model.name']]}, {data[self.config['data.name']]}"

    @property
    def channels(self) -> int | None:
        """Of the first layer, where they are fewer than the paper's 64."""
        channels: int = self.config.get("model.base", FULL_CHANNELS)
        return channels if channels < FULL_CHANNELS else None

    @property
    def made_smaller(self) -> str:
        """What else is smaller than in the paper; empty for the paper's size."""
        if self.config["scale.name"] == "paper":
            return ""
        examples, kernels = self.config["data.train_examples"], self.config["probing.examples"]
        return f", {examples:,} training examples, kernels on {kernels}"


def groups(
    given: drawing.Options,
    wanted: Mapping[str, Iterable[str]],
    *,
    swept: Sequence[str] = (),
    multirun: bool = False,
) -> dict[str, list[Group]]:
    """For each experiment with the tables it needs: its runs, one group for each swept value.

    Where runs differ in other keys too, those at the paper's scale come first, then those with
    more seeds; what is left out is said. Experiments without runs are named with the commands
    that make them, and the script ends with code 3.
    """
    found = {name: _groups(given, name, list(tables), swept) for name, tables in wanted.items()}
    missing = [name for name, its in found.items() if not its]
    if missing:
        flag = "-m " if multirun else ""
        for name in missing:
            where = ", ".join(map(str, given.runs or drawing.folders(name)))
            print(
                f"{name}: no finished run with {', '.join(wanted[name])} in {where}\n"
                f"to make it: ntkexp train {flag}+exp={name}",
                file=sys.stderr,
            )
        raise SystemExit(drawing.MISSING_RUNS)
    return found


def _groups(
    given: drawing.Options, name: str, tables: list[str], swept: Sequence[str]
) -> list[Group]:
    paths = [path for path in (given.runs or drawing.folders(name)) if Path(path).is_dir()]
    alike: dict[tuple[str, str], dict[Path, dict[str, Any]]] = {}
    for folder in results.finished(paths):
        config = flat_config(folder)
        if config["name"] == name and all((folder / f"{t}.parquet").exists() for t in tables):
            rest = {k: v for k, v in config.items() if k != "seed" and k not in swept}
            axis = repr([config.get(key) for key in swept])
            alike.setdefault((axis, repr(sorted(rest.items()))), {})[folder] = config
    kinds = {rest for _, rest in alike}
    if not kinds:
        return []
    chosen = min(kinds, key=lambda rest: _rank(rest, alike))
    if len(kinds) > 1:
        kept = [f for (_, rest), its in alike.items() if rest == chosen for f in its]
        print(
            f"{name}: runs of {len(kinds)} configs, drawing those like {min(kept)}; "
            "--runs chooses others",
            file=sys.stderr,
        )
    return [
        Group(next(iter(its.values())), results.load(its, tables), len(its))
        for (_, rest), its in sorted(alike.items(), key=lambda item: _axis(item[1], swept))
        if rest == chosen
    ]


def _rank(
    rest: str, alike: Mapping[tuple[str, str], dict[Path, dict[str, Any]]]
) -> tuple[bool, int, str]:
    members = [its for (_, other), its in alike.items() if other == rest]
    paper = all(c["scale.name"] == "paper" for its in members for c in its.values())
    return not paper, -sum(map(len, members)), rest


def _axis(members: dict[Path, dict[str, Any]], swept: Sequence[str]) -> list[Any]:
    config = next(iter(members.values()))
    return [config.get(key) for key in swept]


def column_each(
    about: str | None,
    experiments: str,
    tables: Iterable[str],
    draw: Callable[[list[Group]], Figure],
    stem: str,
    argv: Sequence[str] | None,
) -> int:
    """The whole script of a figure with one column an experiment, named with commas between."""
    given = drawing.options(about, experiments, argv)
    names = given.experiment.split(",")
    found = groups(given, dict.fromkeys(names, tables))
    for path in drawing.save(draw([found[name][0] for name in names]), given.out, stem):
        print(path)
    return 0


def note(figure: Figure, found: Iterable[Group], seeds_told: str = "") -> None:
    """Below the panels: how many seeds, unless told otherwise, and that a miniature is one."""
    found = list(found)
    seeds = sorted({group.seeds for group in found})
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    words = [f"{count} seed{'' if seeds == [1] else 's'}"]
    if seeds != [1]:
        words.append("mean and 10th to 90th centile")
    lines = [seeds_told or "; ".join(words), *_miniatures(found)]
    width = int(CHARACTERS_PER_INCH * figure.get_figwidth())
    text = "\n".join(textwrap.fill(line, width) for line in lines)
    figure.supxlabel(text, fontsize=7, x=0.01, ha="left")


def _miniatures(found: list[Group]) -> list[str]:
    """What was made smaller, a line for all networks that share it.

    A network of which another experiment has a smaller or a larger one goes by its experiment.
    """
    ways: dict[str, dict[str, set[int]]] = {}
    for group in found:
        if not (group.made_smaller or group.channels):
            continue
        name = str(group.config["name"]) if _differs(group, found) else _net(group)
        channels = ways.setdefault(group.made_smaller, {}).setdefault(name, set())
        channels.update({group.channels} if group.channels else ())
    lines = []
    for smaller, named in ways.items():
        counts = sorted(set().union(*named.values()))
        told = f"{', '.join(map(str, counts))} channels for {FULL_CHANNELS}" if counts else ""
        lines.append(f"miniature ({', '.join(named)}): " + (told + smaller).removeprefix(", "))
    return lines


def _differs(one: Group, found: list[Group]) -> bool:
    return any(
        _net(one) == _net(other)
        and one.config["name"] != other.config["name"]
        and (one.made_smaller, one.channels) != (other.made_smaller, other.channels)
        for other in found
    )


def _net(group: Group) -> str:
    return group.title.partition(",")[0]


def curve(
    axes: Axes,
    frame: pd.DataFrame,
    value: str,
    *,
    colour: Any,
    linestyle: str = TRAIN,
    label: str | None = None,
    band: bool = True,
    **style: Any,
) -> None:
    """One curve along training: the mean over runs and, of several, the band."""
    steps, values = over_runs(frame, value)
    if band and len(values) > 1:
        drawing.mean_and_band(axes, steps, values, colour=colour, label=label, linestyle=linestyle)
    else:
        mean = values.mean(axis=0)
        axes.plot(steps, mean, color=colour, label=label, linestyle=linestyle, **style)


def over_runs(frame: pd.DataFrame, value: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps that every run has, and the values (runs, steps) there."""
    table = frame.pivot(index="run", columns="step", values=value).dropna(axis="columns")
    return table.columns.to_numpy(), table.to_numpy()


def accuracy(axes: Axes, evals: pd.DataFrame) -> None:
    """Training and test accuracy."""
    for split, style in (("train", TRAIN), ("test", TEST)):
        part = evals[(evals["split"] == split) & (evals["subset"] == "all")]
        curve(axes, part, "accuracy", colour=drawing.BLACK, linestyle=style, label=split)
    axes.set_ylim(0, 1)


def along_training(panels: Iterable[Axes], found: Group) -> None:
    """The iteration axis of all panels of one experiment."""
    for axes in panels:
        drawing.iteration_axis(axes, found.tables["evals"]["step"].max())
        axes.set_xlabel("")


def layers(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The layers of an alignment table, from input to output, without the total."""
    order = frame[frame["layer_index"] >= 0].groupby("layer_index")["layer"].first()
    for index, layer in order.items():
        yield str(layer), frame[frame["layer_index"] == index]
