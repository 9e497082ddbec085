"""C-scores of a few made images: what is left out, what is counted, and that a stop changes none
of it."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from torch import nn

from ntkexp import models
from ntkexp.data.images.dataset import channel_moments, normalised
from ntkexp.data.images.sources import read
from ntkexp.errors import UserError
from ntkexp.options import check_options
from ntkexp.seeds import derived_seed
from ntkexp.studies.c_scores import CScores, Group, HeldOut, Nets, Network

CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("made_images")


def study(**options: object) -> CScores:
    few = {"examples": 50, "nets": 20, "ratios": [3, 8], "width": 8, "updates": 4, "batch_size": 10}
    return CScores(**{**few, **options})  # type: ignore[arg-type]


def finished(work: HeldOut) -> dict[str, list[dict[str, object]]]:
    """Advanced to its end; the rows of every table, in order."""
    found: dict[str, list[dict[str, object]]] = {}
    while not work.over:
        work.advance(work.last)
        for table, rows in work.rows():
            found.setdefault(table, []).append(dict(rows))
    return found


@pytest.mark.parametrize("network", Network)
def test_a_score_is_the_share_of_right_answers_of_those_that_left_it_out(network: Network) -> None:
    config = study(network=network)
    work = HeldOut(config, CPU)
    answers: dict[tuple[int, int], list[bool]] = {}
    for group in work.groups:
        nets = Nets(work, group)
        for update in range(config.updates):
            nets.update(update)
        right, _ = nets.answers()
        for seen, own in zip(nets.seen, right, strict=True):
            for image in np.flatnonzero(~seen.numpy()):
                answers.setdefault((group.ratio, int(image)), []).append(bool(own[image]))
    # Two permutations, each of which leaves an image out 10 - k times.
    assert all(len(found) == 2 * (10 - ratio) for (ratio, _), found in answers.items())
    expected = [np.mean([np.mean(answers[ratio, i]) for ratio in (3, 8)]) for i in range(50)]
    (scores,) = finished(HeldOut(config, CPU))["c_scores"]
    assert scores["score"] == pytest.approx(np.array(expected))
    assert 0 < np.mean(expected) < 1


def test_a_tenth_more_or_less_is_no_hindrance_to_small_training_sets() -> None:
    """Of 53 images ten networks of ratio 1 have 5 or 6 to train on, fewer than a minibatch."""
    (scores,) = finished(HeldOut(study(examples=53, ratios=[1]), CPU))["c_scores"]
    assert np.isfinite(np.asarray(scores["score"])).all()


@pytest.mark.parametrize("network", Network)
def test_a_network_of_a_group_learns_what_it_learns_alone(network: Network) -> None:
    """Against a plain loop with torch's own SGD on the same minibatches."""
    config = study(network=network, updates=6)
    work = HeldOut(config, CPU)
    group = Group(
        repetition=1, ratio=3, nets=range(4, 6) if network is Network.mlp else range(5, 6)
    )
    nets = Nets(work, group)
    batches = [nets._batch(len(group.nets) - 1, update) for update in range(6)]
    for update in range(6):
        nets.update(update)
    images = read("mnist", "train")
    inputs = normalised(images.pixels[:50], *channel_moments(images.pixels), CPU)
    labels = torch.from_numpy(images.labels[:50])
    model = models.build(
        config.model, (1, 28, 28), 10, derived_seed(0, "c_scores.weights", 1, 3, 5)
    )
    optimiser = torch.optim.SGD(model.parameters(), lr=config.lr, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=6)
    for rows in batches:
        assert nets.seen[-1][rows].all()
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
        optimiser.step()
        schedule.step()
    for name, expected in model.named_parameters():
        torch.testing.assert_close(nets.stack.parameters[name][-1], expected, rtol=1e-4, atol=1e-6)


def test_an_epoch_visits_every_image_once() -> None:
    nets = Nets(HeldOut(study(), CPU), Group(0, 8, range(10)))
    visited = torch.cat([nets._batch(3, update) for update in range(4)])
    assert sorted(visited.tolist()) == nets.seen[3].nonzero()[:, 0].tolist()
    again = torch.cat([nets._batch(3, update) for update in range(4, 8)])
    assert sorted(again.tolist()) == sorted(visited.tolist()) and not torch.equal(again, visited)


@pytest.mark.parametrize("stop", [3, 4, 9])
def test_it_goes_on_from_any_update(stop: int) -> None:
    """In the middle of a group, between two, in the middle of the next."""
    undisturbed = finished(HeldOut(study(), CPU))
    first = HeldOut(study(), CPU)
    found: dict[str, list[dict[str, object]]] = {}
    while first.step < stop:
        first.advance(stop)
    for table, rows in first.rows():
        found.setdefault(table, []).append(dict(rows))
    file = io.BytesIO()
    torch.save(first.state(), file)
    file.seek(0)
    second = HeldOut(study(), CPU)
    second.restore(torch.load(file, weights_only=True), lambda name: b"")
    for table, rows_of in finished(second).items():
        found.setdefault(table, []).extend(rows_of)
    assert found.keys() == undisturbed.keys()
    for table, every in undisturbed.items():
        for one, other in zip(every, found[table], strict=True):
            for column, values in one.items():
                assert np.array_equal(values, other[column]), (table, column)


def test_fewer_networks_are_the_first_of_more() -> None:
    more = finished(HeldOut(study(nets=30), CPU))["c_score_nets"]
    fewer = finished(HeldOut(study(nets=20), CPU))["c_score_nets"]
    for one, other in zip(fewer, more, strict=False):
        assert np.array_equal(one["held_out_accuracy"], other["held_out_accuracy"])  # type: ignore[arg-type]


def test_the_kept_file_has_the_published_fields() -> None:
    work = HeldOut(study(), CPU)
    (scores,) = finished(work)["c_scores"]
    file = np.load(io.BytesIO(work.files()["c_scores.npz"]), allow_pickle=False)
    assert sorted(file.files) == ["labels", "scores"]
    assert np.array_equal(file["labels"], read("mnist", "train").labels[:50])
    assert file["scores"] == pytest.approx(scores["score"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ratios": []}, r"study.ratios=\[\]"),
        ({"ratios": [2, 2]}, r"study.ratios=\[2, 2\]"),
        ({"nets": 10, "ratios": [9]}, "study.nets=10: .* left out once"),
    ],
)
def test_what_gives_no_score_is_refused(options: dict[str, object], words: str) -> None:
    refused = study(**options)
    with pytest.raises(UserError, match=words):
        check_options(OmegaConf.structured(refused), "study")
        refused.check()


def test_more_images_than_there_are_are_refused() -> None:
    with pytest.raises(UserError, match=r"study.examples=1,000,000: mnist has"):
        HeldOut(study(examples=1_000_000), CPU)
