"""Squared norms of per-example gradients, without keeping the gradients."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from ntkexp.machine.gpus import on_gpu
from ntkexp.tangent.factors.factor import Factor, Outer
from ntkexp.tangent.factors.positions import everything
from ntkexp.tangent.memory.available import Workspace

# Gradients of a few examples at a time stay in the processor's cache.
CPU_BYTES = 16 * 2**20
CUDA_BYTES = 512 * 2**20


def norm_workspace(like: Tensor) -> Workspace:
    return Workspace(like, CUDA_BYTES if on_gpu(like.device) else CPU_BYTES)


def squared_norms(factors: Iterable[Factor], workspace: Workspace) -> Tensor:
    """sum_ic |grad f_ic|^2 over several parameters, a float64 scalar.

    For outer products the cheaper, per example, of

        |sum_d v_d u_d^T|^2 formed and summed:          2 k D O K
        sum_de <u_d, u_e> <v_d, v_e>:                   2 D^2 K + 2 k D^2 O

    floating point operations; the second never forms a gradient and shares its first part among
    the k outputs. At a single position both are |v|^2 |u|^2, multiplied for all layers at once:
    in a small network each operation costs more than what it does.
    """
    squares: list[Tensor] = []
    direct: list[Tensor] = []
    lengths: list[tuple[Tensor, Tensor]] = []
    for factor in factors:
        if not isinstance(factor, Outer):
            direct.append(factor.jacobian())
        elif factor.v.shape[4] == 1:
            lengths.append(_lengths(factor))
        else:
            squares += _by_group(factor, workspace)
    if lengths:
        u, v = (torch.cat(side).double() for side in zip(*lengths, strict=True))
        squares.append(torch.dot(u * u, v * v))
    if direct:
        norms = torch.stack(torch._foreach_norm(direct)).double()
        squares.append(torch.dot(norms, norms))
    return torch.stack(squares).sum()


def _lengths(factor: Outer) -> tuple[Tensor, Tensor]:
    """|u| and |v|, the latter over all outputs, of every example and group, flat."""
    norm = torch.linalg.vector_norm
    u, v = norm(everything(factor.u), dim=(2, 3)), norm(factor.v, dim=(1, 3, 4))
    return u.view(-1), v.view(-1)


def _by_group(factor: Outer, workspace: Workspace) -> list[Tensor]:
    _, k, groups, channels, d = factor.v.shape
    formed = k * d * channels * factor.u.features
    multiplied = d * d * (factor.u.features + k * channels)
    square = _by_products if multiplied < formed else _by_gradients
    return [square(factor, group, workspace) for group in range(groups)]


def _by_gradients(factor: Outer, group: int, workspace: Workspace) -> Tensor:
    v = factor.v[:, :, group].flatten(1, 2)  # (n, k O, D)
    features, positions = factor.u.features, v.shape[2]
    everything = slice(group, group + 1), slice(0, features)
    total = v.new_zeros((), dtype=torch.float64)
    # The cut out windows count as well: all examples' at once would be fresh memory, which is slow.
    bytes_each = features * (v.shape[1] + positions) * v.element_size()
    for part in _parts(len(v), bytes_each, workspace):
        u = factor.u.part(part).columns(*everything).squeeze(1)
        space = workspace.tensor(len(v[part]), v.shape[1], features)
        torch.bmm(v[part], u.mT, out=space)
        total += _square(space)
    return total


def _by_products(factor: Outer, group: int, workspace: Workspace) -> Tensor:
    v = factor.v[:, :, group].flatten(1, 2)  # (n, k O, D)
    total = v.new_zeros((), dtype=torch.float64)
    bytes_each = (v[0].numel() + factor.u.features * v.shape[2]) * v.element_size()
    for part in _parts(len(v), bytes_each, workspace):
        t = workspace.tensor(*v[part].shape)
        torch.bmm(v[part], factor.u.part(part).own_products(group), out=t)
        total += (t * v[part]).sum(dtype=torch.float64)
    return total


def _square(values: Tensor) -> Tensor:
    flat = values.reshape(-1)
    return torch.dot(flat, flat).double()


def _parts(examples: int, bytes_each: int, workspace: Workspace) -> list[slice]:
    step = max(1, workspace.limit_bytes // max(bytes_each, 1))
    return [slice(start, start + step) for start in range(0, examples, step)]
