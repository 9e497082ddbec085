"""Which operations a forward does, and whether they keep the examples apart by their kind.

The independence of examples is found by comparing outputs (independence.py), for the numbers the
net has now. A gate that is closed now may open later: x + a mean_i x_i with a = 0 couples nothing
until a is learned. So what was found may be kept only for a forward none of whose operations could
mix examples, whatever the numbers. Two traces tell, of batches of two sizes: the axis whose length
follows the size of the batch counts the examples. An operation keeps them apart if none of its
results loses that axis, and if it is known to work along the other axes alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

Shapes: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Done:
    """One operation of a forward: the shapes of its tensors and of its results, and its axes."""

    name: str
    pointwise: bool
    inputs: Shapes
    results: Shapes
    axes: tuple[int, ...] | None


Trace: TypeAlias = list[Done]


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Data-dependent results and random numbers: another batch would have another forward.
NEVER = frozenset(
    {
        torch.Tag.data_dependent_output,
        torch.Tag.dynamic_output_shape,
        torch.Tag.nondeterministic_seeded,
    }
)
# Over the axes behind the first, with weights that all examples share.
FIRST = _names("convolution linear native_group_norm")
# Over the axes behind the first two.
FIRST_TWO = _names(
    """
    max_pool2d_with_indices max_pool3d_with_indices avg_pool2d avg_pool3d _adaptive_avg_pool2d
    _adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d upsample_nearest1d
    upsample_nearest2d upsample_nearest3d upsample_bilinear2d upsample_bicubic2d
    _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_efficient_attention
    _scaled_dot_product_flash_attention _scaled_dot_product_cudnn_attention
    """
)
# Over axes that are gone, or shorter, afterwards; and changes of shape.
APART = _names(
    """
    native_layer_norm _fused_rms_norm native_batch_norm _native_batch_norm_legit_no_training
    cudnn_batch_norm constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d
    replication_pad1d replication_pad2d replication_pad3d mean sum amax amin max min var std
    var_mean std_mean linalg_vector_norm norm prod logsumexp view _unsafe_view _reshape_alias
    reshape permute transpose t expand unsqueeze squeeze copy _to_copy contiguous unfold slice
    select split unsafe_split split_with_sizes unbind stack repeat masked_fill where
    hardswish hardsigmoid gelu _prelu_kernel pixel_shuffle pixel_unshuffle
    """
)
# Along the axes they are given; none of these may be the examples'.
ALONG = _names("_softmax _log_softmax roll flip cat gather glu cumsum")
# A tensor once more: recording asks for it as well.
AGAIN = _names("detach alias clone lift_fresh")
# The same number everywhere: no place in the batch can be told from it.
CONSTANT = _names("zeros ones full empty new_zeros new_ones new_full new_empty")


def done(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Done:
    name = func._schema.name.partition("::")[2].removesuffix("_").removesuffix("_like")
    if NEVER & set(func.tags) and not _harmless(func, name, args, kwargs):
        name = "never"
    if name in ("native_batch_norm", "cudnn_batch_norm") and args[5]:
        name = "batch_statistics"
    axes: Any = None
    for index, argument in enumerate(func._schema.arguments):
        if argument.name in ("dim", "dims"):
            axes = args[index] if index < len(args) else kwargs.get(argument.name)
    return Done(
        name,
        torch.Tag.pointwise in func.tags,
        tuple(tuple(tensor.shape) for tensor in _tensors((*args, *kwargs.values()))),
        tuple(tuple(tensor.shape) for tensor in _tensors((result,))),
        (axes,) if isinstance(axes, int) else tuple(axes) if axes else None,
    )


def _harmless(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Attention without dropout draws nothing; an index of numbers has a result of known size."""
    if name == "index":
        return all(index.dtype != torch.bool for index in _tensors(args[1:]))
    given = {
        argument.name: value for argument, value in zip(func._schema.arguments, args, strict=False)
    } | kwargs
    return name.startswith("_scaled_dot_product") and not given.get("dropout_p", 0.0)


def _tensors(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _tensors(value)
    return found


def keep_apart(one: Trace, other: Trace, n: int, m: int) -> bool:
    """Whether every operation keeps the examples apart, from traces of batches of n and of m."""
    one = [step for step in one if step.name not in AGAIN]
    other = [step for step in other if step.name not in AGAIN]
    if n == m or len(one) != len(other):
        return False
    return all(_keeps_apart(a, b, n, m) for a, b in zip(one, other, strict=True))


def _keeps_apart(one: Done, other: Done, n: int, m: int) -> bool:
    if one.name != other.name or one.name == "never" or one.axes != other.axes:
        return False
    inputs = _of_examples(one.inputs, other.inputs, n, m)
    results = _of_examples(one.results, other.results, n, m)
    if inputs is None or results is None:
        return False
    name, found = one.name, [axis for axis in inputs if axis is not None]
    if name in CONSTANT:
        return True
    if not found:  # shared by all examples, or made equal for all
        return name in ("expand", "repeat") or all(axis is None for axis in results)
    if not results or results[0] is None:  # the last place where the examples were apart
        return False
    if name in ALONG:
        along = {axis % len(one.results[0]) for axis in one.axes or ()}
        return bool(along) and not along & set(found)
    if name in ("mm", "addmm"):  # the second factor belongs to all examples
        return inputs[-2:] == [0, None]
    if name == "bmm" and inputs == [1, None]:
        return True
    if name in ("bmm", "baddbmm") or name in FIRST:
        shared = name not in FIRST or inputs[1:] == [None] * len(inputs[1:])
        return shared and set(found) == {0}
    if name in FIRST_TWO:
        return max(found) <= 1
    if name == "as_strided":  # torch's own pooling turns its result so
        return (one.inputs, other.inputs) == (one.results, other.results)
    if name in ("index", "embedding"):  # a table, looked up by numbers of the examples'
        return inputs[0] is None
    if name == "batch_statistics":  # of the examples' own channels, as instance norm asks for them
        return inputs[0] == 1
    return one.pointwise or name in APART


def _of_examples(one: Shapes, other: Shapes, n: int, m: int) -> list[int | None] | None:
    """The axis of each tensor that counts examples; None if some tensor has another form."""
    axes: list[int | None] = []
    if len(one) != len(other):
        return None
    for a, b in zip(one, other, strict=True):
        changed = [axis for axis, (p, q) in enumerate(zip(a, b, strict=False)) if p != q]
        if len(a) != len(b) or len(changed) > 1:
            return None
        if changed and (a[changed[0]] * m != b[changed[0]] * n or a[changed[0]] % n):
            return None
        axes.append(changed[0] if changed else None)
    return axes
