"""Nearest neighbours on curves with petals, beside plain distances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ntkexp import studies
from ntkexp.data.petal_classes import PetalClasses
from ntkexp.errors import UserError
from ntkexp.studies.petal_neighbours import PetalNeighbours
from ntkexp.theory.spectral.dft import grid
from ntkexp.theory.spectral.manifold import petals

SMALL = PetalNeighbours(
    seeds=1, neighbours=[1, 3], frequencies=[5], petals=[4], train_examples=101, side=16,
    map_frequency=5, map_petals=4,
)  # fmt: skip


def test_a_vote_is_that_of_the_nearest_points() -> None:
    table = SMALL.run()["neighbour_accuracy"].set_index(["neighbours", "points"])["accuracy"]
    z = grid(101)
    between = z + 0.5 / 101
    signal = PetalClasses(frequency=5, petals=4, train_examples=101)
    classes = signal.classes_at(z, 0)
    for name, at in (("train", z), ("between", between)):
        distances = np.linalg.norm(petals(at, 4)[:, None] - petals(z, 4)[None], axis=2)
        votes = classes[np.argsort(distances, axis=1)[:, :3]].sum(1) >= 2
        right = (votes == signal.classes_at(at, 0)).mean()
        assert table[3, name] == pytest.approx(right)


def test_one_neighbour_is_always_right_on_the_points_themselves() -> None:
    table = SMALL.run()["neighbour_accuracy"].set_index(["neighbours", "points"])["accuracy"]
    assert table[1, "train"] == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"neighbours": [1, 9], "train_examples": 8}, "at most the study.train_examples=8 points"),
        ({"neighbours": []}, "1 or more"),
        ({"frequencies": []}, "1 or more"),
        ({"petals": []}, "1 or more"),
    ],
)
def test_what_has_no_vote_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=f"study.{next(iter(options))}=.*{why}"):
        studies.choose({"name": "petal_neighbours", **options})


def test_with_one_neighbour_probabilities_are_classes() -> None:
    table = SMALL.run()["neighbour_spectrum"]
    one = table[table["neighbours"] == 1].pivot(index="k", columns="map", values="zeta")
    assert one["probability"].to_numpy() == pytest.approx(one["class"].to_numpy())
    assert len(one) == 7
