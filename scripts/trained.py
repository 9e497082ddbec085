"""The figures of trained networks: runs grouped by seed, curves along training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.claims.curves import FIRST_ITERATION
from ntkexp.results.numbers.evals import last
from ntkexp.results.record import FULL_BASE, NARROWED, Record
from ntkexp.results.select import Counts
from ntkexp.scripts import drawing, runs

TRAIN, TEST = "-", "--"


@dataclass(frozen=True)
class SeedRuns:
    """Runs of one experiment that differ in nothing but their seed.

    `name` is the title of a user's own runs; the titles of a paper's come from their configs.
    """

    records: tuple[Record, ...]
    tables: Mapping[str, pd.DataFrame]
    name: str = ""

    @property
    def config(self) -> Mapping[str, Any]:
        return self.records[0].config

    @property
    def seeds(self) -> int:
        return len(self.records)

    @property
    def title(self) -> str:
        """The network and its data, in words."""
        if self.name:
            return self.name
        depth, width = self.config.get("model.depth"), self.config.get("model.width")
        nets = {"mlp": f"MLP {depth} × {width}", "vgg": f"VGG{depth}", "resnet18": "ResNet18"}
        data = {"mnist": "MNIST", "cifar10": "CIFAR-10", "kmnist": "KMNIST", "disk": "disk"}
        net, images = str(self.config["model.name"]), str(self.config["data.name"])
        return f"{nets.get(net, net)}, {data.get(images, images)}"

    @property
    def heading(self) -> str:
        """The title, with the share of random labels below it."""
        if self.name:
            return self.name
        return f"{self.title}\n{100 * self.config['data.noise']:g} % random labels"

    @property
    def label(self) -> str:
        """The title that tells a group from others of a figure."""
        if self.name:
            return self.name.replace("\n", ", ")
        noise, part = self.config.get("data.noise"), self.config.get("data.difficult", "none")
        if noise or "vgg19" in str(self.config["name"]):
            return f"{100 * noise:g} % noise" if noise else f"{self.title}, clean"
        return str(part).replace("_", " ") if part != "none" else self.title

    @property
    def first_step(self) -> int:
        """The start of the axis of iterations: the paper's, or the first look of one's own runs
        after the initialisation."""
        steps = self.tables["evals"]["step"]
        return int(steps[steps > 0].min()) if self.name and (steps > 0).any() else FIRST_ITERATION

    @property
    def training(self) -> str:
        """The recipe, rate and batch; empty where the network was not trained here."""
        optim = {key: self.config.get(f"optim.{key}") for key in ("lr", "batch_size")}
        if optim["lr"] is None:
            return ""
        batch = f"batch {optim['batch_size']}" if optim["batch_size"] else "full batch"
        recipe = "" if self.name else f"recipe={self.config.get('recipe')}, "
        return f"{recipe}lr {optim['lr']:g}, {batch}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks of provenance on the images."""
        lines = [remark for record in self.records for remark in record.life.get("remarks", ())]
        about_images = (line for line in lines if self.name or "images" in line or "split" in line)
        return tuple(dict.fromkeys(about_images))

    @property
    def channels(self) -> int | None:
        """The channels of the first layer, where they are fewer than the paper's."""
        channels: int = self.config.get("model.base", FULL_BASE)
        return channels if channels < FULL_BASE and not self.name else None

    @property
    def made_smaller(self) -> str:
        """The other ways in which a run is smaller than the paper's; empty at the paper's size."""
        if self.name or self.config["scale.name"] == "paper":
            return ""
        examples, kernels = self.config["data.train_examples"], self.config["probing.examples"]
        return f", {examples:,} training examples, kernels on {kernels}"


def groups(
    options: drawing.Options,
    tables: Sequence[str],
    *,
    swept: Sequence[str] = (),
    counts: Counts = lambda _: True,
) -> list[list[SeedRuns]]:
    """For each experiment that is drawn its runs with these tables, a group for each value of the
    keys `swept`.

    Runs are chosen as the ledger chooses them. Experiments without runs are named with the commands
    that make them, and the script ends with code 3.
    """
    groups_of = {
        name: _groups(options, name, tables, swept, "paper", counts) for name in options.experiments
    }
    if absent := [name for name, drawn in groups_of.items() if not drawn]:
        runs.stop(runs.missing(name, options.runs, tables) for name in absent)
    return list(groups_of.values())


def _groups(
    options: drawing.Options,
    name: str,
    tables: Sequence[str],
    swept: Sequence[str],
    recipe: str,
    counts: Counts = lambda _: True,
) -> list[SeedRuns]:
    values: dict[tuple[Any, ...], list[Record]] = {}
    for record in runs.chosen(name, options.runs, tables, recipe, counts):
        values.setdefault(tuple(record.config.get(key) for key in swept), []).append(record)
    return [
        SeedRuns(tuple(values[key]), runs.joined(values[key], tables)) for key in sorted(values)
    ]


@dataclass(frozen=True)
class Columns:
    """Makes a figure with one column an experiment: `draw` takes the runs of each.

    `numbers`: the plotted values of one column (see `values`). A figure that has them draws one's
    own runs as well (own.py).
    `counts`: tells whether a run has what is drawn, where not every run with the tables does.
    `released`: where there are runs of recipe=released, a second figure of those.
    """

    tables: Sequence[str]
    draw: Callable[[Sequence[SeedRuns]], Figure]
    numbers: Callable[[SeedRuns], pd.DataFrame] | None = None
    released: bool = False
    counts: Counts = lambda _: True

    def __call__(self, options: drawing.Options) -> dict[str, Figure]:
        drawn = {"": [group for group, *_ in groups(options, self.tables, counts=self.counts)]}
        if self.released:
            others = (
                _groups(options, name, self.tables, (), "released") for name in options.experiments
            )
            drawn["_released"] = [several[0] for several in others if several]
        return {suffix: self.draw(columns) for suffix, columns in drawn.items() if columns}


def titles(groups: Sequence[SeedRuns], texts: Iterable[str]) -> list[str]:
    """The titles of columns; where their networks differ in channels, with these."""
    widths = [
        None if group.name or group.config["model.name"] not in NARROWED
        else group.channels or FULL_BASE
        for group in groups
    ]  # fmt: skip
    if len({*widths} - {None}) < 2:
        return list(texts)
    return [
        f"{text}\n{width} channels" if width else text
        for text, width in zip(texts, widths, strict=True)
    ]


def note(
    figure: Figure, groups: Iterable[SeedRuns], seeds_note: str = "", more: Iterable[str] = ()
) -> None:
    """Write below the panels the number of seeds, unless told otherwise, the training of the
    networks, the miniatures, the remarks on images, and `more`."""
    groups = list(groups)
    seeds = sorted({group.seeds for group in groups})
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    words = [f"{count} seed{'' if seeds == [1] else 's'}"]
    if seeds != [1]:
        words.append(drawing.band_label(seeds[-1]))
    lines = [seeds_note or "; ".join(words), *_trainings(groups), *_miniatures(groups)]
    lines += dict.fromkeys(remark for group in groups for remark in group.remarks)
    drawing.note(figure, [*lines, *more])


def _trainings(groups: Sequence[SeedRuns]) -> list[str]:
    """The training of networks and where it ended, one line for all trained alike; those of a sweep
    together."""
    alike: dict[str, dict[str, list[Record]]] = {}
    for group in groups:
        if not group.training:
            continue
        swept = bool(group.records[0].axes) and not group.name
        label = str(group.config["name"]) if swept else group.label
        alike.setdefault(group.training, {}).setdefault(label, []).extend(group.records)
    return [
        f"{training}: "
        + "; ".join(
            f"{label}, {ends(records)}" if len(groups) > 1 else ends(records)
            for label, records in by_label.items()
        )
        for training, by_label in alike.items()
    ]


def ends(records: Sequence[Record]) -> str:
    """The iterations at which runs end, and their accuracies: the range of several."""
    going = "" if all(record.finished for record in records) else " so far"
    span = f"{_span([record.iteration for record in records], ',')} iterations{going}"
    if any("evals" not in record.tables for record in records):
        return span
    train, test = (
        [100 * last(record.tables["evals"], split) for record in records]
        for split in ("train", "test")
    )
    if np.isnan([*train, *test]).any():  # numbers are learned, not classes
        return span
    return f"{span}, accuracy {_span(train, '.0f')} % train and {_span(test, '.0f')} % test"


def _span(values: Sequence[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _miniatures(groups: list[SeedRuns]) -> list[str]:
    """The sizes that were made smaller, a line for all networks that share one.

    A network of which another experiment has a smaller or a larger one goes by its experiment.
    """
    ways: dict[str, dict[str, set[int]]] = {}
    for group in groups:
        if not (group.made_smaller or group.channels):
            continue
        name = str(group.config["name"]) if _differs(group, groups) else _net(group)
        channels = ways.setdefault(group.made_smaller, {}).setdefault(name, set())
        channels.update({group.channels} if group.channels else ())
    lines = []
    for smaller, named in ways.items():
        counts = sorted(set().union(*named.values()))
        widths = f"{', '.join(map(str, counts))} channels for {FULL_BASE}" if counts else ""
        lines.append(f"miniature ({', '.join(named)}): " + (widths + smaller).removeprefix(", "))
    return lines


def _differs(group: SeedRuns, groups: list[SeedRuns]) -> bool:
    return any(
        _net(group) == _net(other)
        and group.config["name"] != other.config["name"]
        and (group.made_smaller, group.channels) != (other.made_smaller, other.channels)
        for other in groups
    )


def _net(group: SeedRuns) -> str:
    return group.title.partition(",")[0]


def values(frame: pd.DataFrame, **quantities: str) -> pd.DataFrame:
    """Columns of a table of runs as rows of one: `quantity` and `value`, and what tells the rows
    apart. `quantities`: what a column is called there."""
    told_apart = [
        name for name in ("run", "split", "subset", "centring", "layer", "step") if name in frame
    ]
    return pd.concat(
        frame[told_apart].assign(quantity=quantity, value=frame[column])
        for quantity, column in quantities.items()
    )


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
    """One curve along training: the mean over runs and, of several, the band. One look is a
    point, with a bar from the least to the most of several runs."""
    steps, values = over_runs(after_start(frame), value)
    if one_look(steps):
        mean = values.mean(axis=0)
        reach = np.abs(np.stack([values.min(axis=0), values.max(axis=0)]) - mean)
        hollow = {"markerfacecolor": "none"} if linestyle == TEST else {}
        # A point on the border of its panel is whole.
        axes.errorbar(steps, mean, reach if band else None, fmt="o", markersize=3, color=colour,
                      label=label, clip_on=False, **hollow)  # fmt: skip
    elif band and len(values) > 1:
        drawing.mean_and_band(axes, steps, values, colour=colour, label=label, linestyle=linestyle)
    else:
        mean = values.mean(axis=0)
        axes.plot(steps, mean, color=colour, label=label, linestyle=linestyle, **style)


def after_start(frame: pd.DataFrame) -> pd.DataFrame:
    """Without iteration 0, from which a line would be level on a logarithmic axis; a run that has
    no other keeps it."""
    later = frame[frame["step"] > 0]
    return later if len(later) else frame


def one_look(steps: np.ndarray) -> bool:
    """True if no more than one step is on the axis, which iteration 0 is not of a longer run."""
    return int((steps > 0).sum()) <= 1


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


def along_training(panels: Iterable[Axes], group: SeedRuns) -> None:
    """The iteration axis of all panels of one experiment."""
    for axes in panels:
        last = int(group.tables["evals"]["step"].max())
        drawing.iteration_axis(axes, last, first=group.first_step)
        axes.set_xlabel("")


CENTRED = "kernels centred by class"


def start(
    axes: Axes, frame: pd.DataFrame, value: str, colour: Any, *, marker: str | int = 1
) -> None:
    """A tick at the left edge for iteration 0, which a logarithmic axis does not reach."""
    steps, values = over_runs(frame, value)
    if steps[0] == 0:
        mean = float(values.mean(axis=0)[0])
        # Marker 1 is a tick to the right.
        axes.plot([0], [mean], marker=marker, markersize=6, markeredgewidth=1.4, color=colour,
                  transform=axes.get_yaxis_transform(), clip_on=False)  # fmt: skip


def layers(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The layers of an alignment table, from input to output, without the total."""
    order = frame[frame["layer_index"] >= 0].groupby("layer_index")["layer"].first()
    for index, layer in order.items():
        yield str(layer), frame[frame["layer_index"] == index]
