"""Paths between two points on which the highest energy is low: AutoNEB without springs.

The nudged elastic band (Henkelman and Jonsson 2000) moves the pivots of a path down the part of the
gradient that is perpendicular to it. Without springs (Draxler et al. 2018,
https://arxiv.org/abs/1803.00885) pivots go back to their shares of the path's length before every
step. AutoNEB (Kolsbjerg et al. 2016) adds pivots where the energy rises most above the straight
line between two of them, and goes on.

Shapes: B paths of P pivots are (B, P, D), their energies (B, P).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

Energy = Callable[[Tensor], Tensor]  # (n, D) -> (n,)
# Points between two neighbouring pivots where the energy is looked at.
BETWEEN = 9


@dataclass(frozen=True)
class Band:
    """`pivots` between the ends at first, and `inserted` more at each cycle after the first; each
    cycle has `steps` of gradient descent. Coordinates stay between `low` and `high`."""

    cycles: int = 4
    steps: int = 10
    lr: float = 0.001
    momentum: float = 0.9
    pivots: int = 3
    inserted: int = 2
    low: float = -math.inf
    high: float = math.inf


def auto_neb(energy: Energy, ends: Tensor, band: Band) -> Tensor:
    """The bent paths between the points `ends` (B, 2, D).

    >>> ring = lambda points: (points.norm(dim=1) - 1) ** 2
    >>> ends = torch.tensor([[[-1.0, 0.05], [1.0, 0.05]]])
    >>> path = auto_neb(ring, ends, Band(steps=100, lr=0.05))
    >>> ring(filled(path)[0]).max().item() < 0.05
    True
    """
    places = torch.linspace(0, 1, band.pivots + 2).to(ends).repeat(len(ends), 1)
    path = at(ends, places)
    for cycle in range(band.cycles):
        if cycle:
            path, places = with_more(energy, path, places, band.inserted)
        path = relaxed(energy, path, places, band)
    return path


def relaxed(energy: Energy, path: Tensor, places: Tensor, band: Band) -> Tensor:
    """The paths after the steps of a cycle; `places` (B, P): the pivots' shares of the length."""
    at_ends = _of_paths(energy, path[:, [0, -1]])
    velocity = torch.zeros_like(path[:, 1:-1])
    for _ in range(band.steps):
        path = at(path, places)
        inner = path[:, 1:-1].detach().requires_grad_()
        energies = _of_paths(energy, inner)
        (slope,) = torch.autograd.grad(energies.sum(), inner)
        energies = torch.cat([at_ends[:, :1], energies.detach(), at_ends[:, 1:]], 1)
        along = tangents(path, energies)
        velocity = band.momentum * velocity + slope - (slope * along).sum(2, True) * along
        inner = (inner.detach() - band.lr * velocity).clamp(band.low, band.high)
        path = torch.cat([path[:, :1], inner, path[:, -1:]], 1)
    return path


def tangents(path: Tensor, energies: Tensor) -> Tensor:
    """(B, P - 2, D): unit vectors from each inner pivot's lower to its higher neighbour's side.

    Of a slope the side of the higher neighbour alone; of a highest or lowest pivot both, the one
    where the higher neighbour is with the larger of the two changes of energy (Henkelman and
    Jonsson, https://doi.org/10.1063/1.1323224, equations 8 to 11).
    """
    ahead, behind = path[:, 2:] - path[:, 1:-1], path[:, 1:-1] - path[:, :-2]
    to_next, to_last = energies[:, 2:] - energies[:, 1:-1], energies[:, :-2] - energies[:, 1:-1]
    larger = torch.maximum(to_next.abs(), to_last.abs())
    smaller = torch.minimum(to_next.abs(), to_last.abs())
    smaller = torch.where(to_next * to_last > 0, smaller, 0)
    rising = to_next > to_last
    of_ahead, of_behind = torch.where(rising, larger, smaller), torch.where(rising, smaller, larger)
    return functional.normalize(of_ahead[..., None] * ahead + of_behind[..., None] * behind, dim=2)


def with_more(energy: Energy, path: Tensor, places: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Paths and places with a pivot more in each of the `count` gaps where the energy rises most
    above the line from one pivot's to the next one's."""
    points, finer = filled(path), filled(places[..., None])[..., 0]
    energies = _of_paths(energy, points)
    straight = filled(energies[:, :: BETWEEN + 1, None])[..., 0]
    above = (energies - straight)[:, :-1].reshape(len(path), -1, BETWEEN + 1)[:, :, 1:]
    height, place = above.max(2)
    gaps = height.topk(count, 1).indices
    index = gaps * (BETWEEN + 1) + place.gather(1, gaps) + 1
    places, order = torch.cat([places, finer.gather(1, index)], 1).sort(1)
    return _chosen(torch.cat([path, _chosen(points, index)], 1), order), places


def filled(path: Tensor, between: int = BETWEEN) -> Tensor:
    """The pivots of each path and so many points evenly between each two of them."""
    shares = torch.arange(between + 1).to(path) / (between + 1)
    gaps = (path[:, 1:] - path[:, :-1])[:, :, None] * shares[:, None]
    return torch.cat([(path[:, :-1, None] + gaps).flatten(1, 2), path[:, -1:]], 1)


def at(path: Tensor, places: Tensor) -> Tensor:
    """The points at these shares (B, m) of each path's length."""
    reached = functional.pad((path[:, 1:] - path[:, :-1]).norm(dim=2).cumsum(1), (1, 0))
    reached = reached / reached[:, -1:]
    gap = torch.searchsorted(reached[:, 1:-1].contiguous(), places, right=True)
    start, end = reached.gather(1, gap), reached.gather(1, gap + 1)
    share = ((places - start) / (end - start))[..., None]
    return torch.lerp(_chosen(path, gap), _chosen(path, gap + 1), share)


def length(path: Tensor) -> Tensor:
    """(B,): the lengths of the paths."""
    lengths: Tensor = torch.linalg.vector_norm(path[:, 1:] - path[:, :-1], dim=2).sum(1)
    return lengths


def _of_paths(energy: Energy, path: Tensor) -> Tensor:
    return energy(path.flatten(0, 1)).view(path.shape[:2])


def _chosen(path: Tensor, index: Tensor) -> Tensor:
    return path.gather(1, index[..., None].expand(-1, -1, path.shape[2]))
