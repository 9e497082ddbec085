"""What decides which operations a model does: its structure, settings and code, not its numbers.

Two equal fingerprints mean that the same forward is done: the same modules with the same plain
attributes, the same parameters, buffers and modes, the same functions with the same code, constants
and closures. Where that cannot be told (a hook, an attribute of an unknown kind, a global of some
other module) there is no fingerprint, and whatever depends on it is found out anew.

>>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.LeakyReLU(0.1))
>>> before = fingerprint(net)
>>> fingerprint(net) == before
True
>>> net[1].negative_slope = 0.9
>>> fingerprint(net) == before
False
"""

from __future__ import annotations

import functools
import sys
import types
from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as hooks_of_all_modules
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

# Packages whose code is taken as it is: only which function it is enters.
TRUSTED = frozenset({"torch", "torchvision", "numpy", *sys.stdlib_module_names}) - {"__main__"}
PLAIN = (int, float, complex, bool, str, bytes, type(None), type(...), slice, torch.dtype)
PLAIN_OF_TORCH = (torch.device, torch.memory_format, torch.layout)
HOOKS = tuple(name for name in nn.Module().__dict__ if name.endswith("_hooks"))
# What every module has, beside its own attributes.
COMMON = frozenset(nn.Module().__dict__) - {"training"}
# Recurrent layers list their parameters once more, and renew the lists in a forward.
OF_PARAMETERS = frozenset({"_flat_weights", "_flat_weight_refs"})
HOOKS_OF_ALL = tuple(
    name for name in vars(hooks_of_all_modules) if name.startswith("_global_") and "hooks" in name
)


class _NoFingerprintError(Exception):
    """Something whose changes cannot be seen."""


def fingerprint(model: nn.Module, function: object = None) -> Hashable | None:
    """Of a model, and of a function that is applied to its outputs; None where there is none.

    It holds code and settings, no tensors, modules or functions: it keeps no model alive.
    """
    if any(getattr(hooks_of_all_modules, name) for name in HOOKS_OF_ALL):
        return None
    modes: Any = _get_current_function_mode_stack
    if modes() or _get_current_dispatch_mode_stack():
        return None
    modules = list(model.modules())
    reader = _Reader({id(module) for module in modules})
    try:
        return (tuple(map(reader.module, modules)), reader.value(function))
    except (_NoFingerprintError, RecursionError):
        return None


class _Reader:
    """Reads one model; `modules` are the ids of those that are read anyway."""

    def __init__(self, modules: set[int]) -> None:
        self._modules = modules
        self._seen: set[int] = set()

    def module(self, module: nn.Module) -> Hashable:
        own = module.__dict__
        known = (COMMON | OF_PARAMETERS) if isinstance(module, nn.RNNBase) else COMMON
        if any(own.get(name) for name in HOOKS):
            raise _NoFingerprintError
        tensors = tuple(
            (name, self._tensor(value, versions=False))
            for kind in ("_parameters", "_buffers")
            for name, value in own[kind].items()
        )
        children = tuple((name, id(child)) for name, child in own["_modules"].items())
        rest = tuple(
            (name, value if type(value) in PLAIN else self.value(value))
            for name, value in own.items()
            if name not in known
        )
        return id(module), self._kind(type(module)), tensors, children, rest

    def _tensor(self, tensor: Tensor | None, versions: bool) -> Hashable:
        if tensor is None:
            return None
        seen = (id(tensor), tensor.shape, tensor.dtype, tensor.device, tensor.requires_grad)
        return (*seen, tensor._version) if versions else seen

    def value(self, value: Any) -> Hashable:
        kind = type(value)
        if kind in PLAIN or isinstance(value, PLAIN_OF_TORCH):
            return (kind, str(value) if kind is slice else value)
        if isinstance(value, Tensor):
            # A number it holds may be written without a new version only through other memory.
            return self._tensor(value, versions=not isinstance(value, nn.Parameter))
        if kind in (tuple, list, torch.Size):
            return (kind, *map(self.value, value))
        if kind in (dict, OrderedDict):
            return (kind, *((self.value(key), self.value(one)) for key, one in value.items()))
        if kind in (set, frozenset):
            return (kind, frozenset(map(self.value, value)))
        if isinstance(value, nn.Module):
            if id(value) not in self._modules:
                raise _NoFingerprintError  # hidden in a list: nobody reads it
            return id(value)
        if isinstance(value, type):
            return self._kind(value)
        return self._callable(value)

    def _callable(self, value: Any) -> Hashable:
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return (self.value(value.__func__), self.value(value.__self__))
        if isinstance(value, functools.partial):
            return (self.value(value.func), self.value(value.args), self.value(value.keywords))
        if isinstance(value, staticmethod | classmethod):
            return self._callable(value.__func__)
        if isinstance(value, property):
            return tuple(self.value(one) for one in (value.fget, value.fset))
        if isinstance(value, types.BuiltinFunctionType):  # written in C, bound to no object
            if isinstance(value.__self__, type(None) | types.ModuleType | type):
                return value
        elif isinstance(value, types.ModuleType):
            if _root(value.__name__) in TRUSTED:
                return id(value)
        elif callable(value) and _root(type(value).__module__) in TRUSTED and _is_stateless(value):
            return (id(value), type(value))
        raise _NoFingerprintError

    def _function(self, function: types.FunctionType) -> Hashable:
        code = function.__code__
        if id(function) in self._seen:
            return code
        self._seen.add(id(function))
        enclosed = tuple(self._cell(cell) for cell in function.__closure__ or ())
        if _root(function.__module__) in TRUSTED:
            return (code, enclosed)
        named = [
            (name, self.value(function.__globals__[name]))
            for name in _names(code)
            if name in function.__globals__
        ]
        defaults = (function.__defaults__, function.__kwdefaults__)
        return (code, enclosed, tuple(named), self.value(defaults))

    def _cell(self, cell: types.CellType) -> Hashable:
        try:
            return self.value(cell.cell_contents)
        except ValueError:  # not filled yet
            return None

    def _kind(self, kind: type) -> Hashable:
        """A class, and the code of those of its parents that are not torch's."""
        if _root(kind.__module__) in TRUSTED:
            forward = getattr(kind, "forward", None)
            return (kind, getattr(forward, "__code__", None))
        if id(kind) in self._seen:
            return kind
        self._seen.add(id(kind))
        own = tuple(
            (name, self.value(value))
            for name, value in vars(kind).items()
            if isinstance(value, types.FunctionType) or not name.startswith("__")
        )
        return (kind, own, *(self._kind(base) for base in kind.__bases__ if base is not object))


def _root(module: str | None) -> str:
    return (module or "?").partition(".")[0]


def _is_stateless(value: object) -> bool:
    return not getattr(value, "__dict__", None)


@lru_cache(maxsize=4096)
def _names(code: types.CodeType) -> tuple[str, ...]:
    """Every name that a function, and the functions written inside it, may look up."""
    inner = [
        name for one in code.co_consts if isinstance(one, types.CodeType) for name in _names(one)
    ]
    return tuple(dict.fromkeys([*code.co_names, *inner]))
