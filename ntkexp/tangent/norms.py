"""Squared norms of per-example gradients, without keeping the gradients."""

from __future__ import annotations

import torch
from torch import Tensor

from ntkexp.tangent.factors import Factor, Outer
from ntkexp.tangent.workspace import Workspace

# Gradients of a few examples at a time stay in the processor's cache.
CPU_BYTES = 16 * 2**20
CUDA_BYTES = 512 * 2**20


def norm_workspace(like: Tensor) -> Workspace:
    return Workspace(like, CUDA_BYTES if like.is_cuda else CPU_BYTES)


def squared_norm(factor: Factor, workspace: Workspace) -> Tensor:
    """sum_ic |grad f_ic|^2 over one parameter, a float64 scalar.

    For outer products the cheaper, per example, of

        |sum_d v_d u_d^T|^2 formed and summed:          2 k D O K
        sum_de <u_d, u_e> <v_d, v_e>:                   2 D^2 K + 2 k D^2 O

    floating point operations; the second never forms a gradient and shares its first part among
    the k outputs. At a single position both are |v|^2 |u|^2.
    """
    if not isinstance(factor, Outer):
        return _square(factor.jacobian())
    _, k, groups, channels, d = factor.v.shape
    if d == 1:
        return _by_lengths(factor)
    formed = k * d * channels * factor.u.features
    multiplied = d * d * (factor.u.features + k * channels)
    square = _by_products if multiplied < formed else _by_gradients
    return sum(
        (square(factor, group, workspace) for group in range(groups)),
        start=torch.zeros((), dtype=torch.float64, device=factor.v.device),
    )


def _by_lengths(factor: Outer) -> Tensor:
    everything = slice(0, factor.u.groups), slice(0, factor.u.features)
    u = factor.u.columns(*everything).square().sum((2, 3))  # (n, G)
    v = factor.v.square().sum((1, 3, 4))
    return torch.dot(u.double().flatten(), v.double().flatten())


def _by_gradients(factor: Outer, group: int, workspace: Workspace) -> Tensor:
    u = factor.u.columns(slice(group, group + 1), slice(0, factor.u.features)).squeeze(1)
    v = factor.v[:, :, group].flatten(1, 2)  # (n, k O, D)
    total = v.new_zeros((), dtype=torch.float64)
    for part in _parts(len(v), v.shape[1] * u.shape[1] * v.element_size(), workspace):
        space = workspace.tensor(len(v[part]), v.shape[1], u.shape[1])
        torch.bmm(v[part], u[part].transpose(1, 2), out=space)
        total += _square(space)
    return total


def _by_products(factor: Outer, group: int, workspace: Workspace) -> Tensor:
    rows = factor.u.rows(group)  # (n, D, K)
    v = factor.v[:, :, group].flatten(1, 2).contiguous()
    d = v.shape[2]
    total = v.new_zeros((), dtype=torch.float64)
    for part in _parts(len(v), (v[0].numel() + d * d) * v.element_size(), workspace):
        t, products = workspace.tensors(v[part].shape, (len(v[part]), d, d))
        for row, out in zip(rows[part], products, strict=True):
            factor.u.products(row[None], row[None], out)
        torch.bmm(v[part], products, out=t)
        total += torch.dot(t.flatten(), v[part].flatten()).double()
    return total


def _square(values: Tensor) -> Tensor:
    flat = values.reshape(-1)
    return torch.dot(flat, flat).double()


def _parts(examples: int, bytes_each: int, workspace: Workspace) -> list[slice]:
    step = max(1, workspace.limit_bytes // max(bytes_each, 1))
    return [slice(start, start + step) for start in range(0, examples, step)]
