"""What was found out about a module's graph, kept from one request to the next.

It is found by a weak reference to the module: it is gone with it, and not copied or pickled with
it. It holds while all that it rests on is the same: every submodule with its attributes, tensors,
hooks and the forward of its class, and `outputs`. Objects are the same if they are one object, with
equal attributes. A module with an attribute that no weak reference can hold is looked at anew each
time. What a function has enclosed, and numbers in tensors, are not compared: they show in the
graph, which is, or in the outputs (`independence.Again`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import chain
from types import NoneType
from typing import Any
from weakref import WeakKeyDictionary, ref

import torch
from torch import Tensor, nn
from torch.nn.modules import module as every_module

from ntkexp.tangent.batch import Outputs
from ntkexp.tangent.features import Findings

PLAIN = {NoneType, bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size}
CONTAINERS = {list, tuple, set, frozenset, dict, OrderedDict}
# Parameters, buffers and children are taken by themselves, and a recurrent layer's list of weights
# is made of them in its forward.
ELSEWHERE = {"_parameters", "_buffers", "_modules", "_flat_weights", "_flat_weight_refs"}
# How far attributes of attributes are followed.
DEEP = 6


class Facts:
    """What the graph of a model rests on: `values` to compare, with the ids of `objects`."""

    def __init__(self, model: nn.Module, outputs: Outputs) -> None:
        self.objects: list[object] = []
        self._seen: set[int] = set()
        of_all = [value for name, value in vars(every_module).items() if name.startswith("_global")]
        modules = [self._of_module(module) for module in model.modules()]
        self.values = modules, self._of(of_all), self._of(outputs)

    def _of_module(self, module: nn.Module) -> tuple[object, ...]:
        kind = type(module)
        self.objects += [module, kind, kind.forward]
        own = []
        for name, value in vars(module).items():
            if type(value) in PLAIN:
                own.append((name, value))
            elif name not in ELSEWHERE and (type(value) not in CONTAINERS or value):
                own.append((name, self._of(value)))
        children = [(name, id(child)) for name, child in module._modules.items()]
        tensors = [*module._parameters.items(), *module._buffers.items()]
        of_tensors = [(name, self._of(tensor)) for name, tensor in tensors]
        return id(module), id(kind), id(kind.forward), children, of_tensors, own

    def _of(self, value: Any, depth: int = 0) -> object:
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind in CONTAINERS:
            items = value if not isinstance(value, dict) else chain(value, value.values())
            return kind, [self._of(item, depth + 1) for item in items] if depth < DEEP else None
        self.objects.append(value)
        if isinstance(value, Tensor):
            form = value.shape, value.dtype, value.device, value.requires_grad
            return id(value), form, self._of(value._backward_hooks, depth)
        again = id(value) in self._seen
        self._seen.add(id(value))
        inside = getattr(value, "__dict__", None)
        if again or depth >= DEEP or isinstance(value, nn.Module | type) or not inside:
            return id(value)
        return id(value), self._of(dict(inside), depth + 1)


@dataclass
class _Kept:
    values: object
    gone: list[object]  # objects that there are no more: their ids may be those of others
    objects: list[ref[object]] = field(default_factory=list)
    findings: dict[Hashable, Findings] = field(default_factory=dict)


# A few for each module, the newest last: several outputs or parameters may be asked for in turns.
_of_modules: WeakKeyDictionary[nn.Module, list[_Kept]] = WeakKeyDictionary()
MOST = 4


def _kept(model: nn.Module, facts: Facts) -> _Kept | None:
    found = (k for k in _of_modules.get(model, ()) if not k.gone and k.values == facts.values)
    return next(found, None)


def recall(model: nn.Module, facts: Facts, form: Hashable) -> Findings:
    """What is kept of a model on inputs of one form; nothing, if any fact differs."""
    kept = _kept(model, facts)
    found = kept and kept.findings.get(form)
    return found.copy() if found else Findings()


def remember(model: nn.Module, facts: Facts, form: Hashable, findings: Findings) -> None:
    kept = _kept(model, facts)
    if kept is None:
        kept = _Kept(facts.values, [])
        try:
            kept.objects += [ref(value, kept.gone.append) for value in facts.objects]
        except TypeError:  # something that has no weak references
            return
        _of_modules[model] = [*_of_modules.get(model, [])[1 - MOST :], kept]
    kept.findings[form] = findings.copy()
