"""Paths between images: which pairs there are, what the attack may do, and what is counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional

from ntkexp import models
from ntkexp.data.images.dataset import normalised
from ntkexp.data.images.sources import kind_of, read
from ntkexp.models.mlp import Mlp
from ntkexp.references import StartFrom
from ntkexp.studies.image_paths import KINDS, ImagePaths, PathFinder
from tests.tiny_runs import goes_on, table, train

NETWORK = Mlp(depth=2, width=16)


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory, module_images: None) -> Path:
    words = ("data=cifar10", "model=mlp", "model.depth=2", "model.width=16", "probe=[]")
    ends = ("optim.steps=60", "optim.stop_loss=null", "progress=false", "device=cpu")
    return train(tmp_path_factory.mktemp("parent"), *words, *ends)


@pytest.fixture(scope="module")
def finder(parent: Path) -> PathFinder:
    weights = StartFrom("given", None, "weights.pt", "", str(parent))
    study = ImagePaths(network=NETWORK, weights=weights, ends=4, pairs=9, first_pairs=13,
                       radius=160.0, attack_steps=20, steps=3, lr=0.01)  # fmt: skip
    return PathFinder(study, torch.device("cpu"))


def test_the_text_has_49_500_pairs() -> None:
    study = ImagePaths(network=NETWORK)
    assert sum(study.most_pairs(label) for label in range(10)) == 49_500


def test_pairs_are_of_the_asked_classes_and_lines_counted_directly(
    finder: PathFinder, parent: Path
) -> None:
    while not finder.over:
        finder.advance(finder.last)
    parts = [pd.DataFrame(rows) for name, rows in finder.rows() if name == "image_paths"]
    found = pd.concat(parts, ignore_index=True)
    network = models.build(NETWORK, (3, 32, 32), 10, seed=7)
    network.load_state_dict(torch.load(parent / "weights.pt", weights_only=True))
    kind, labels = kind_of("cifar10"), read("cifar10", "train").labels
    assert found.groupby("class").size().tolist() == [13, *[9] * 9]
    assert set(found["ends"]) == set(KINDS)
    assert not found.duplicated(["class", "first", "second"]).any()
    assert (found["length"] > 1).all()
    for _, pair in found.iterrows():
        label, two = pair["class"], labels[[pair["first"], pair["second"]]]
        assert [pair["first_label"], pair["second_label"]] == two.tolist()
        assert pair["ends"] == KINDS[(two != label).sum()]
        rows, points, _ = finder.ends(label)
        start, end = (points[rows.tolist().index(pair[name])] for name in ("first", "second"))
        line = torch.stack([start + share * (end - start) for share in np.linspace(0, 1, 101)])
        levels = 255 * line.float().view(-1, 3, 32, 32).numpy()
        scores = network(normalised(levels, kind.mean, kind.std, torch.device("cpu")))
        assert scores[[0, -1]].argmax(1).tolist() == [label, label]
        assert bool((scores.argmax(1) == label).all()) == pair["line_stays"]
        least = scores.softmax(1)[:, label].min().item()
        assert least == pytest.approx(pair["line_certainty"], abs=1e-4)


def test_the_attack_raises_the_loss_and_stays_within_its_ball(finder: PathFinder) -> None:
    rows = (finder.labels != 3).nonzero()[:40, 0]
    before = finder.images(rows)
    after = finder.attacked(before, 3)
    assert (after - before).abs().max().item() == pytest.approx(finder.study.radius / 255, rel=1e-5)
    assert after.min() >= 0 and after.max() <= 1

    def losses(points: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(finder.scores(points), targets, reduction="none")

    assert (losses(after, finder.labels[rows]) > losses(before, finder.labels[rows])).all()
    wanted = torch.full((40,), 3)
    assert (losses(after, wanted) < losses(before, wanted)).all()


def test_a_run_goes_on_as_if_it_had_not_been_cut_short(parent: Path, tmp_path: Path) -> None:
    words = (
        *("study=image_paths", "+model@study.network=mlp", "study.network.depth=2"),
        *("study.network.width=16", f"study.weights.run={parent}", "study.ends=3", "study.pairs=3"),
        *("study.first_pairs=12", "study.attack_steps=9", "study.radius=160", "study.steps=2"),
        "progress=false",
    )
    whole = goes_on(tmp_path, *words, stop_at=3, command="study")
    assert len(table(whole, "image_paths")) and len(table(whole, "path_strips"))
