"""Figures of linearised networks have the numbers of their runs' tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ntkexp.papers.linearised.tasks import MODELS, SOLUTIONS, looks
from ntkexp.results.record import Record
from ntkexp.scripts.linearised.fig08_solution import draw
from ntkexp.scripts.linearised.task_panels import accuracies, movements
from tests.papers.linearised.made import AS_THE_TEXT, figure8, record


def test_figure_8_draws_each_model_from_the_start() -> None:
    figure = draw({SOLUTIONS[0]: looks(figure8(AS_THE_TEXT), SOLUTIONS[0])})
    loss, accuracy = figure.axes
    assert accuracy.get_title() == "j = 400, branches off"
    drawn = {line.get_label(): line for line in accuracy.lines}
    assert [label for label in drawn if not label.startswith("_")] == [*MODELS.values()]
    for model, value in AS_THE_TEXT.items():
        steps, values = drawn[MODELS[model]].get_data()
        assert list(steps) == [195, 390, 39000]  # the start is 0, which has no logarithm
        assert list(values)[1:] == pytest.approx([value] * 2)
    assert len(loss.lines) == len(MODELS) + 1 and loss.get_yscale() == "log"


def test_a_point_says_how_far_its_model_has_learned() -> None:
    ends = {"losses": [0.001, 0.02, 0.6], "learned": [1.0, 0.95, 0.6]}
    three = {"js": (20, 100, 400), **ends}
    pair = [record(f"linearised/mlp{end}", [0.9, 0.8, 0.5], **three) for end in ("", "_linear")]
    data = {"data.name": "eigenfunctions", "data.images": "cifar10"}
    figure = accuracies([replace(one, config={**one.config, **data}) for one in pair])
    points = [line for line in figure.axes[0].lines if line.get_linestyle() == "None"]
    signs = {(line.get_marker(), line.get_markerfacecolor() != "none", line.get_xdata()[0])
             for line in points}  # fmt: skip
    assert signs == {("o", True, 20), ("o", False, 100), ("x", False, 400),
                     ("s", True, 20), ("s", False, 100)}  # fmt: skip
    assert "crosses have less than 0.9 of the training labels right: 1 of 3 networks" in (
        figure.get_supxlabel().replace("\n", " ")
    )


def tasks(name: str, accuracy: float, js: tuple[int, ...], train: int, test: int) -> list[Record]:
    """A network and its linearisation, with options of their data."""
    made = (record(f"linearised/{name}{end}", [accuracy] * len(js), js=js)
            for end in ("", "_linear"))  # fmt: skip
    data = {"data.name": "eigenfunctions", "data.images": "cifar10"}
    counts = {"data.train_examples": train, "data.test_examples": test}
    return [replace(one, config={**one.config, **data, **counts}) for one in made]


def test_what_stands_apart_is_a_plus_sign_and_each_kernel_tells_its_images() -> None:
    found = [
        *tasks("mlp", 0.8, (10, 100, 1000), 50_000, 10_000),
        *tasks("resnet18_standard", 0.7, (10, 100, 1000), 10_000, 2_000),
        *tasks("resnet18", 0.6, (100,), 10_000, 2_000),
    ]
    figure = accuracies(found)
    panel = next(axes for axes in figure.axes if axes.get_title() == "ResNet18")
    signs_apart = [line for line in panel.lines if line.get_marker() == "P"]
    assert [line.get_ydata()[0] for line in signs_apart] == pytest.approx([0.6, 0.6])
    assert all(0.6 not in list(line.get_ydata()) for line in panel.lines if line not in signs_apart)
    assert [axes.get_title() for axes in figure.axes] == ["MLP", "ResNet18"]
    note = figure.get_supxlabel()
    assert "MLP: eigenfunctions of the kernel at initialisation on 60,000 images" in note
    assert "ResNet18: eigenfunctions of the kernel at initialisation on 12,000 images" in note
    moved = movements(found[2:])
    assert [line.get_xdata()[0] for line in moved.axes[1].lines if line.get_marker() == "P"] == [
        100, 100,
    ]  # fmt: skip
