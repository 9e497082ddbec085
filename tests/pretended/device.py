"""A device that is none, `pretended:0`. Its tensors say they are elsewhere and compute on the CPU.

Each of them holds a tensor of the CPU. An operation is refused where a GPU would refuse it, then
done with what is held. So a run has the CPU's numbers, and fails where it would on a GPU: an
operation on tensors of two devices, indices but for those of an indexing and single numbers apart;
a CPU generator for numbers that are drawn there; memory read directly. Backwards have a thread of
their own. What makes the CPU wait for the device is counted by the line of ntkexp that did it.

It rests on a private way of PyTorch to make a device in Python. The registration stays for as long
as the process lives, so what uses it has a process of its own.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._python_dispatch import return_and_correct_aliasing

NAME = "pretended"
CPU = torch.device("cpu")
# Operations whose result is a number or a shape that the CPU has to know.
READS = {"_local_scalar_dense", "is_nonzero", "equal", "nonzero", "masked_select", "_unique2"}
COPIES = {"copy_", "_foreach_copy_"}
INDEXINGS = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}
# Beside what is pointwise, these take a single number from the CPU.
TAKE_NUMBERS = INDEXINGS | {"fill_", "masked_fill", "masked_fill_", "where"}
FACTORIES = (
    "empty.memory_format", "empty_strided", "arange", "arange.start", "arange.start_step", "eye",
    "eye.m", "linspace", "randperm", "randperm.generator", "scalar_tensor", "tril_indices",
    "triu_indices", "_efficientzerotensor",
)  # fmt: skip

waits: Counter[str] = Counter()
# Told of every operation on the device before it is done, and what it gave when it is done.
Heard = Callable[[Any, Any, Any, Any], None]
on_wait: list[Callable[[str], None]] = []
on_done: list[Heard] = []


class Elsewhere(Tensor):
    """A tensor of the pretended device."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held: Tensor) -> Elsewhere:
        made = Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(NAME, 0),
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _carried_out(func, args, kwargs or {})

    @property
    def data(self) -> Tensor:
        return self.detach()

    @data.setter
    def data(self, value: Elsewhere) -> None:
        Tensor.data.__set__(self, value)
        self.held = value.held

    def untyped_storage(self) -> Any:
        return self.held.untyped_storage()

    def data_ptr(self) -> int:
        return self.held.data_ptr()

    def tolist(self) -> Any:
        _wait("tolist")
        return self.held.tolist()

    def __repr__(self, **options: Any) -> str:
        return f"elsewhere: {self.held!r}"

    def numpy(self, *args: Any, **options: Any) -> Any:
        raise TypeError(f"a tensor of {self.device} has no numpy array: use Tensor.cpu() first")

    __array__ = numpy

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
        return torch.tensor(data, dtype=dtype or self.dtype, device=device or self.device)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            copied = self.detach().clone().requires_grad_(self.requires_grad)
            copied._is_param = getattr(self, "_is_param", False)
            memo[id(self)] = copied
        return memo[id(self)]


def _carried_out(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operation with at least one tensor of the device among its arguments."""
    name = func._schema.name.partition("::")[2]
    to = kwargs.get("device")
    leaves = to is not None and torch.device(to).type != NAME
    tensors: list[Tensor] = []
    _mapped(Tensor, tensors.append, (args, kwargs))
    strangers = [one for one in tensors if not isinstance(one, Elsewhere)]
    if name in COPIES:
        if strangers and not kwargs.get("non_blocking") and not (len(args) > 2 and args[2] is True):
            _wait(name)
    elif strangers:
        _refuse_mixed(func, name, args, strangers)
    if name in READS or leaves:
        _wait(name)
    if kwargs.get("generator") is not None:
        raise RuntimeError(f"{name}: a generator of the CPU for numbers of {NAME} at {_where()}")
    inner = {**kwargs, "device": CPU} if to is not None else kwargs
    held_args, held_kwargs = _mapped(Elsewhere, lambda one: one.held, (args, inner))
    found = func(*held_args, **held_kwargs)
    for hear in on_done:
        hear(func, held_args, held_kwargs, found)
    if leaves:
        return found
    if name == "copy_":
        return args[0]
    if name == "_foreach_copy_":
        return None
    known = {id(one.held): one for one in tensors if isinstance(one, Elsewhere)}
    wrapped = _mapped(
        Tensor, lambda one: known[id(one)] if id(one) in known else Elsewhere(one), found
    )
    return return_and_correct_aliasing(func, args, kwargs, wrapped)


def _mapped(kind: type, change: Callable[[Any], Any], value: Any) -> Any:
    """A value with `change` applied to what is of this kind in its tuples, lists and dicts: thrice
    as quick as PyTorch's own, in the middle of every operation."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, tuple | list):
        return type(value)([_mapped(kind, change, one) for one in value])
    if isinstance(value, dict):
        return {name: _mapped(kind, change, one) for name, one in value.items()}
    return value


def _refuse_mixed(func: Any, name: str, args: Any, strangers: list[Tensor]) -> None:
    written = args[0] if name.endswith("_") else None
    numbers = (
        torch.Tag.pointwise in func.tags or name in TAKE_NUMBERS or name.startswith("_foreach")
    )
    indices = [id(one) for one in args[1] if one is not None] if name in INDEXINGS else []
    for one in strangers:
        single = numbers and one.dim() == 0 and one is not written
        if not single and id(one) not in indices:
            raise RuntimeError(
                f"{name}: a tensor {tuple(one.shape)} of the CPU among those of {NAME}, {_where()}"
            )


def _wait(what: str) -> None:
    place = _where()
    waits[f"{what} at {place}"] += 1
    for hear in on_wait:
        hear(what)


def _where() -> str:
    """The line of ntkexp at work."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        _, found, file = frame.f_code.co_filename.rpartition("/ntkexp/")
        if found and "/tests/" not in frame.f_code.co_filename.removesuffix(file):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "no line of ntkexp"


def _of_factory(overload: Any) -> Callable[..., Tensor]:
    def made(*args: Any, **options: Any) -> Tensor:
        if options.get("generator") is not None:
            raise RuntimeError(f"{overload}: a generator of the CPU for numbers of {NAME}")
        held = overload(*args, **{**options, "device": CPU, "pin_memory": None})
        for hear in on_done:
            hear(overload, args, {**options, "device": CPU, "pin_memory": None}, held)
        return Elsewhere(held)

    return made


class _Module(backend_registration._DummyBackendModule):
    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]


def _register() -> torch.library.Library:
    backend_registration._setup_privateuseone_for_python_backend(NAME, backend_module=_Module())
    library = torch.library.Library("aten", "IMPL")
    for name in FACTORIES:
        packet, _, overload = name.partition(".")
        found = getattr(getattr(torch.ops.aten, packet), overload or "default")
        if name == "_efficientzerotensor":
            library.impl(name, _of_factory(torch.ops.aten.zeros.default), "PrivateUse1")
        else:
            library.impl(name, _of_factory(found), "PrivateUse1")
    return library


_library = _register()


def patches() -> Iterator[tuple[Any, str, Any]]:
    """What of PyTorch makes or reads tensors without an operation: where, its name, and ours."""
    tensor, as_tensor, save = torch.tensor, torch.as_tensor, torch.save

    def made(data: Any, *, device: Any = None, **options: Any) -> Tensor:
        here = tensor(data, **options)
        return here if device is None else here.to(device)

    def taken(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
        here = data if isinstance(data, Tensor) else as_tensor(data)
        return here.to(dtype=dtype or here.dtype, device=device or here.device)

    def saved(content: Any, *args: Any, **options: Any) -> None:
        save(_mapped(Elsewhere, lambda one: one.cpu(), content), *args, **options)

    yield torch, "tensor", made
    yield torch, "as_tensor", taken
    yield torch, "save", saved
    yield Tensor, "pin_memory", Tensor.clone
