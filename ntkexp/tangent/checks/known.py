"""What the checks of a net have shown, kept for as long as the net is the same.

Comparing outputs, gradients and rules takes longer than the kernel of a small net itself. What
comes out depends on which operations are done, not on the numbers, if none of them could mix
examples or choose its way by them (operations.py). Such a net is known by its fingerprint
(fingerprint.py), and is checked anew as soon as that changes, or another form of inputs is given.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import torch
from torch import nn

from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.fingerprint import fingerprint
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.graph import Signature
from ntkexp.tangent.passes.reference import Sizes

# Kinds of inputs and outputs remembered of one model.
MOST = 16


@dataclass(frozen=True)
class Covered:
    """How the features of a batch of one size were found and agreed with autograd's gradients.

    sizes        of its own reference pass: of two examples, or of one where the batch has two
    graph        of the forward; None of a plain chain, which is read anew at every call
    outside      the parameters used by other operations than those of their modules
    parameters   those with factors, True where rows count the examples first; the others of a
                 net are `slow`, or not used at all
    """

    sizes: Sizes
    graph: Signature | None
    outside: frozenset[str]
    parameters: dict[str, bool]
    slow: list[str]


@dataclass
class Known:
    """Of one net on one form of inputs, by the size of a batch.

    `chained` says whether the net is a plain chain whose formula gave a true gradient.
    """

    sizes: Sizes | None
    independent: set[int] = field(default_factory=set)
    covered: dict[int, Covered] = field(default_factory=dict)
    chained: dict[int, bool] = field(default_factory=dict)


_known: WeakKeyDictionary[nn.Module, OrderedDict[Hashable, Known]] = WeakKeyDictionary()
_lock = threading.Lock()


def recall(function: NetworkFunction, batch: Batch) -> Known | None:
    """What is known of this function on inputs of this form."""
    if function.fingerprint is None:
        return None
    with _lock:
        kinds = _known.get(function.model)
        key = _key(function, batch)
        if kinds is None or key not in kinds:
            return None
        kinds.move_to_end(key)
        return kinds[key]


def remember(function: NetworkFunction, batch: Batch, sizes: Sizes | None) -> Known | None:
    """Where to write what is found out now. It is kept only if a forward leaves the fingerprint
    unchanged."""
    if function.fingerprint is None or fingerprint(function.model, function.outputs) != (
        function.fingerprint
    ):
        return None
    known = recall(function, batch) or Known(sizes)
    known.sizes = known.sizes or sizes
    with _lock:
        kinds = _known.setdefault(function.model, OrderedDict())
        kinds[_key(function, batch)] = known
        while len(kinds) > MOST:
            kinds.popitem(last=False)
    return known


def _key(function: NetworkFunction, batch: Batch) -> Hashable:
    inputs = batch.inputs
    form = (inputs.shape[1:], inputs.dtype, function.device, torch.get_default_dtype())
    return function.fingerprint, form
