"""A batch is a function of the seed and the step; a crop is a crop."""

from __future__ import annotations

import pytest
import torch

from ntkexp.data.batches import Batches, crop_flip


@pytest.mark.parametrize(("examples", "batch_size"), [(12, 4), (10, 4), (3, 8), (5, 1)])
def test_every_epoch_sees_every_example_once(examples: int, batch_size: int) -> None:
    batches = Batches(examples, batch_size, seed=0)
    orders = []
    for epoch in range(3):
        steps = range(epoch * batches.steps_per_epoch, (epoch + 1) * batches.steps_per_epoch)
        assert {batches.epoch(step) for step in steps} == {epoch}
        seen = [batches.indices(step) for step in steps]
        assert all(len(batch) == batch_size for batch in seen[:-1])
        orders.append(torch.cat(seen))
        assert sorted(orders[-1].tolist()) == list(range(examples))
    assert not torch.equal(orders[0], orders[1]) or not torch.equal(orders[1], orders[2])


def test_the_smaller_last_batch_of_an_epoch_can_be_left_out() -> None:
    whole, batches = Batches(10, 4, seed=0), Batches(10, 4, seed=0, drop_last=True)
    assert (whole.steps_per_epoch, batches.steps_per_epoch) == (3, 2)
    assert [len(batches.indices(step)) for step in range(6)] == [4] * 6
    # The order of an epoch stays as it is: its third batch alone is gone.
    assert torch.equal(batches.indices(2), whole.indices(3))
    assert Batches(12, 4, seed=0, drop_last=True).steps_per_epoch == 3
    alone = Batches(3, 4, seed=0, drop_last=True)
    assert alone.steps_per_epoch == 1 and len(alone.indices(0)) == 3


def test_a_step_can_be_asked_for_in_any_order() -> None:
    forward = [Batches(50, 7, seed=3).indices(step) for step in range(30)]
    for step in (29, 0, 15, 8):
        assert torch.equal(Batches(50, 7, seed=3).indices(step), forward[step])
    assert not torch.equal(Batches(50, 7, seed=4).indices(0), forward[0])


def test_full_batch_is_everything_in_place() -> None:
    batches = Batches(6, None, seed=0)
    inputs = torch.randn(6, 2)
    assert batches.steps_per_epoch == 1
    assert batches.indices(9).tolist() == list(range(6))
    assert batches.take(9, inputs)[0] is inputs


def test_take_keeps_inputs_and_targets_together() -> None:
    inputs, targets = torch.arange(20.0)[:, None], torch.arange(20)
    x, y = Batches(20, 6, seed=0).take(2, inputs, targets)
    assert torch.equal(x[:, 0].long(), y)
    assert len(y) == 6


PAD = torch.tensor([-1.0, -2.0, -3.0])


def images(count: int) -> torch.Tensor:
    return torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(0))


def test_every_crop_is_a_shift_of_the_padded_image_or_of_its_mirror() -> None:
    originals = images(60)
    crops = crop_flip(originals, PAD, seed=0, step=5)
    assert crops.shape == originals.shape
    padded = PAD.view(1, 3, 1, 1).repeat(60, 1, 16, 16)
    padded[:, :, 4:12, 4:12] = originals
    found = set()
    for image, crop in zip(padded, crops, strict=True):
        shifts = [
            (dy, dx, mirrored)
            for dy in range(9)
            for dx in range(9)
            for mirrored, candidate in enumerate((crop, crop.flip(2)))
            if torch.equal(image[:, dy : dy + 8, dx : dx + 8], candidate)
        ]
        assert len(shifts) == 1
        found.update(shifts)
    assert {dy for dy, _, _ in found} == {dx for _, dx, _ in found} == set(range(9))
    assert {mirrored for _, _, mirrored in found} == {0, 1}


def test_crops_depend_on_seed_and_step_alone() -> None:
    originals = images(10)
    crops = crop_flip(originals, PAD, seed=0, step=5)
    torch.rand(3)
    assert torch.equal(crops, crop_flip(originals, PAD, seed=0, step=5))
    assert not torch.equal(crops, crop_flip(originals, PAD, seed=0, step=6))
    assert not torch.equal(crops, crop_flip(originals, PAD, seed=1, step=5))


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_batches_and_crops_are_the_same_on_the_gpu() -> None:
    originals = images(10)
    on_gpu = crop_flip(originals.cuda(), PAD.cuda(), seed=0, step=5)
    assert torch.equal(on_gpu.cpu(), crop_flip(originals, PAD, seed=0, step=5))
    here, there = Batches(50, 7, seed=3), Batches(50, 7, seed=3, device="cuda")
    assert torch.equal(there.indices(9).cpu(), here.indices(9))
