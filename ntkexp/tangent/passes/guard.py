"""Look at a model and leave it, and everybody's random numbers, exactly as they were found.

A dispatch mode sees every operation of a forward before it is done, in its own thread only. So it
needs no global state, and other threads notice nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from ntkexp.errors import UserError
from ntkexp.machine.gpus import on_gpu

LOW_PRECISION = {torch.float16, torch.bfloat16}


class PrivateDraws:
    """A random state of our own, a copy of the global one, for operations inside a forward.

    torch's dropout and its like take no generator. So the global state is exchanged for the
    duration of one operation, not of the whole forward: other threads keep their numbers.
    """

    def __init__(self, devices: Sequence[torch.device]) -> None:
        self._cuda = sorted({d.index for d in devices if on_gpu(d) and d.index is not None})
        self._state: list[Tensor] | None = None
        self.moved = False  # whether the last operation drew anything

    @contextmanager
    def in_place(self) -> Iterator[None]:
        outside = self._read()
        before = self._state or outside
        self._write(before)
        try:
            yield
        finally:
            self._state = self._read()
            self._write(outside)
            self.moved = not all(map(torch.equal, before, self._state))

    def _read(self) -> list[Tensor]:
        return [torch.get_rng_state(), *(torch.cuda.get_rng_state(d) for d in self._cuda)]

    def _write(self, state: list[Tensor]) -> None:
        torch.set_rng_state(state[0])
        for device, one in zip(self._cuda, state[1:], strict=True):
            torch.cuda.set_rng_state(one, device)


class Guard(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Around one forward of `model`: refuses changes of its weights and computation in low
    precision, and lets random operations draw from `draws`."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: asking the compiler to leave this alone would import it, a second of each process,
        and compiled modules are refused."""
        return False

    def __init__(self, model: nn.Module, draws: PrivateDraws) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.model, self.draws = model, draws
        self.drew = ""  # the layer that drew random numbers
        self.coarse = False  # whether a forward in float64 computed anything in less
        self._stirred = self._double = False
        parameters = list(model.named_parameters(remove_duplicate=False))
        self._storages = {p.untyped_storage().data_ptr(): name for name, p in parameters}
        self._storages.pop(0, None)  # tensors without memory share this address
        self._low = {p.dtype for _, p in parameters} & LOW_PRECISION

    @contextmanager
    def looking(self, *, stirred: bool, double: bool) -> Iterator[None]:
        """`stirred` moves what is drawn at random, so that it shows wherever it is used."""
        self._stirred, self._double = stirred, double
        self.drew, self.coarse = "", self.coarse and double
        try:
            yield
        finally:
            self._stirred = self._double = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        written, random = _traits(func)
        for position, name in written:
            given = args[position] if position < len(args) else kwargs.get(name)
            self._refuse_writing(given)
        if random and kwargs.get("generator") is None:
            with self.draws.in_place():
                result = func(*args, **kwargs)
            if self.draws.moved:
                self.drew = self.drew or layer_at_work(self.model)
                if self._stirred:
                    _stir(result)
        else:
            result = func(*args, **kwargs)
        if self._double and _is_coarse(result) and any(map(_is_real, args)):
            self.coarse = True
        if isinstance(result, Tensor) and result.dtype in LOW_PRECISION and not self._low:
            raise UserError(
                f"{layer_at_work(self.model)}: computes in {result.dtype} while the weights are "
                "more precise (autocast or a cast inside the forward); take it out"
            )
        return result

    def _refuse_writing(self, given: object) -> None:
        for tensor in given if isinstance(given, list | tuple) else [given]:
            if not isinstance(tensor, Tensor) or tensor.is_meta:
                continue
            name = self._storages.get(tensor.untyped_storage().data_ptr())
            if name is not None:
                raise UserError(
                    f"{layer_at_work(self.model)}: the forward changes parameter {name} "
                    "(an embedding with max_norm does); the kernel of changing weights is undefined"
                )


def _stir(result: Any) -> None:
    for tensor in result if isinstance(result, list | tuple) else [result]:
        if _is_real(tensor) and tensor.numel():
            ramp = torch.linspace(0.5, 1, tensor.numel(), dtype=tensor.dtype, device=tensor.device)
            tensor.detach().add_(ramp.view(tensor.shape))


def _is_real(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def _is_coarse(value: Any) -> bool:
    return _is_real(value) and value.dtype != torch.float64


@lru_cache(maxsize=4096)
def _traits(func: Any) -> tuple[tuple[tuple[int, str], ...], bool]:
    """The arguments an operation writes to, and whether it draws random numbers."""
    written = tuple(
        (position, argument.name)
        for position, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )
    return written, torch.Tag.nondeterministic_seeded in func.tags


def layer_at_work(model: nn.Module, error: BaseException | None = None) -> str:
    """Which module of `model` is running now, or was when `error` was raised: `layer 0.conv`."""
    names = {id(module): name for name, module in model.named_modules()}
    frames: list[Any] = []
    if error is None:
        frame: Any = sys._getframe(1)
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
    else:
        trace = error.__traceback__
        while trace is not None:
            frames.insert(0, trace.tb_frame)
            trace = trace.tb_next
    for frame in frames:
        module = frame.f_locals.get("self")
        if isinstance(module, nn.Module) and id(module) in names:
            return f"layer {names[id(module)] or type(module).__name__}"
    return "the model"


@contextmanager
def preserve_model_state(model: nn.Module, *, tf32: bool = False) -> Iterator[None]:
    """Differentiable full-precision forwards inside; buffers restored outside.

    One thread at a time has a module: forwards may change buffers, and torch.func puts other
    tensors in the place of parameters. Gradients need no care: nothing in this package writes to
    `.grad`. Random numbers are guard.py's concern.
    """
    with ExitStack() as stack:
        for lock in _locks(model):
            stack.enter_context(lock)
        buffers = [
            (module, name, buffer, buffer.detach().clone())
            for module in model.modules()
            for name, buffer in module._buffers.items()
            if buffer is not None
        ]
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for kind in {p.device.type for p in model.parameters()} - {"meta"}:
            stack.enter_context(torch.autocast(kind, enabled=False))
        if not tf32:
            stack.enter_context(_full_precision)
        try:
            yield
        finally:
            for module, name, buffer, value in buffers:
                module._buffers[name] = buffer
                # Not by version: batch norm moves its statistics without counting it.
                if not torch.equal(buffer, value):
                    with torch.no_grad():
                        buffer.copy_(value)


_lock_of: WeakKeyDictionary[nn.Module, threading.RLock] = WeakKeyDictionary()
_lock_of_locks = threading.Lock()


def _locks(model: nn.Module) -> list[threading.RLock]:
    """The lock of every module, in an order that is the same for all threads.

    Every module, not the model alone: two models may share a part.
    """
    modules = sorted(model.modules(), key=id)
    with _lock_of_locks:
        return [_lock_of.setdefault(module, threading.RLock()) for module in modules]


class _FullPrecision:
    """TF32 costs errors of 2e-4 and negative eigenvalues; kernels are computed without it.

    The settings are the process's. The first to come saves them, the last to go restores them.
    """

    def __init__(self) -> None:
        self._lock, self._users, self._before = threading.Lock(), 0, list[str]()

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._before = [setting.fp32_precision for setting in _settings()]
                for setting in _settings():
                    setting.fp32_precision = "ieee"
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for setting, precision in zip(_settings(), self._before, strict=True):
                    setting.fp32_precision = precision


_full_precision = _FullPrecision()


def _settings() -> tuple[Any, ...]:
    # These attributes exist only at run time: torch replaces the modules by objects.
    cudnn: Any = torch.backends.cudnn
    mkldnn: Any = torch.backends.mkldnn
    return torch.backends.cuda.matmul, cudnn.conv, mkldnn.conv, mkldnn.matmul
