"""Streams of one seed are reproducible and have nothing to do with one another."""

from __future__ import annotations

import itertools

import torch

from ntkexp.seeds import derived_seed, generator

PURPOSES = ("init", "batches", "noise", "augment", "subset", "probe")


def draw(seed: int, purpose: str, *counters: int) -> torch.Tensor:
    return torch.randn(10_000, generator=generator(seed, purpose, *counters))


def test_a_stream_is_a_function_of_its_arguments() -> None:
    assert torch.equal(draw(3, "batches", 7), draw(3, "batches", 7))
    assert generator(0, "init").device.type == "cpu"


def test_streams_are_uncorrelated_across_purposes_counters_and_seeds() -> None:
    streams = [draw(0, *key) for key in [*((p,) for p in PURPOSES), ("batches", 0), ("batches", 1)]]
    streams.append(draw(1, "init"))
    for a, b in itertools.combinations(streams, 2):
        assert abs(torch.dot(a, b).item()) / 10_000 < 0.05  # five standard deviations


def test_no_two_of_many_keys_share_a_seed() -> None:
    keys = [(s, p, c) for s in range(5) for p in PURPOSES for c in range(20)]
    assert len({derived_seed(*key) for key in keys}) == len(keys)
    assert derived_seed(1, "x", 23) != derived_seed(12, "x", 3) != derived_seed(1, "x", 2, 3)
