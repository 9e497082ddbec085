"""Look at a model and leave it, and everybody's random numbers, as they were found; and watch a
forward operation by operation, in this thread only.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from ntkexp.errors import UserError
from ntkexp.machine import on_gpu

# Forwards may change buffers, torch.func puts other tensors in the place of parameters, precision
# and random state are the process's: one thread at a time.
_one_at_a_time = threading.RLock()
LOW_PRECISION = {torch.float16, torch.bfloat16}


@contextmanager
def preserve_model_state(model: nn.Module, *, tf32: bool = False) -> Iterator[None]:
    """Differentiable full-precision forwards inside; buffers and random state restored outside.

    Gradients need no care: nothing in this package writes to `.grad`.
    """
    devices = {parameter.device for parameter in model.parameters()}
    with ExitStack() as stack:
        stack.enter_context(_one_at_a_time)
        stack.enter_context(_random_state(devices))
        buffers = [
            (module, name, buffer, buffer.detach().clone())
            for module in model.modules()
            for name, buffer in module._buffers.items()
            if buffer is not None
        ]
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for kind in {device.type for device in devices} - {"meta"}:
            stack.enter_context(torch.autocast(kind, enabled=False))
        if not tf32:
            stack.enter_context(_full_precision())
        try:
            yield
        finally:
            for module, name, buffer, value in buffers:
                module._buffers[name] = buffer
                # Not by version: batch norm moves its statistics without counting it.
                if not torch.equal(buffer, value):
                    with torch.no_grad():
                        buffer.copy_(value)


def random_states(device: torch.device) -> list[Tensor]:
    """The state of torch's random numbers, and of those of a GPU."""
    gpu = [torch.cuda.get_rng_state(device)] if on_gpu(device) else []
    return [torch.get_rng_state(), *gpu]


@contextmanager
def _random_state(devices: Iterable[torch.device]) -> Iterator[None]:
    gpus = sorted({d.index for d in devices if on_gpu(d) and d.index is not None})
    before, of_gpus = torch.get_rng_state(), [torch.cuda.get_rng_state(gpu) for gpu in gpus]
    try:
        yield
    finally:
        torch.set_rng_state(before)
        for gpu, state in zip(gpus, of_gpus, strict=True):
            torch.cuda.set_rng_state(state, gpu)


@contextmanager
def _full_precision() -> Iterator[None]:
    """TF32 costs errors of 2e-4 and negative eigenvalues; kernels are computed without it."""
    # These attributes exist only at run time: torch replaces the modules by objects.
    cudnn: Any = torch.backends.cudnn
    mkldnn: Any = torch.backends.mkldnn
    settings = (torch.backends.cuda.matmul, cudnn.conv, mkldnn.conv, mkldnn.matmul)
    before = [setting.fp32_precision for setting in settings]
    for setting in settings:
        setting.fp32_precision = "ieee"
    try:
        yield
    finally:
        for setting, precision in zip(settings, before, strict=True):
            setting.fp32_precision = precision


class Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes who draws random numbers in a forward; refuses half precision among weights of more.

    drew     the layer that drew random numbers
    coarse   True once anything was computed in less than float64
    stirred  moves what is drawn, so that it shows wherever it is used
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: asking the compiler to leave this alone would import it, a second of each process,
        and compiled modules run uncompiled here."""
        return False

    def __init__(self, model: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.model, self.stirred = model, False
        self.drew, self.coarse = "", False
        self._low = {parameter.dtype for parameter in model.parameters()} & LOW_PRECISION

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        random = torch.Tag.nondeterministic_seeded in func.tags and kwargs.get("generator") is None
        before = torch.get_rng_state() if random else None
        result = func(*args, **kwargs)
        # Dropout may be called and draw nothing. Of a GPU's generator this is not known.
        if before is not None and (_on_gpu(args) or not before.equal(torch.get_rng_state())):
            self.drew = self.drew or layer_at_work(self.model)
            if self.stirred:
                _stir(result)
        if _is_real(result) and result.dtype != torch.float64 and any(map(_is_real, args)):
            self.coarse = True
        if isinstance(result, Tensor) and result.dtype in LOW_PRECISION and not self._low:
            raise UserError(
                f"{layer_at_work(self.model)}: computes in {result.dtype} while the weights are "
                "more precise (autocast or a cast inside the forward); take it out"
            )
        return result


def _on_gpu(args: tuple[Any, ...]) -> bool:
    return any(isinstance(arg, Tensor) and arg.device.type != "cpu" for arg in args)


def _stir(result: Any) -> None:
    for tensor in result if isinstance(result, list | tuple) else [result]:
        if _is_real(tensor) and tensor.numel():
            ramp = torch.linspace(0.5, 1, tensor.numel(), dtype=tensor.dtype, device=tensor.device)
            tensor.detach().add_(ramp.view(tensor.shape))


def _is_real(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def layer_at_work(model: nn.Module, error: BaseException | None = None) -> str:
    """The module of `model` that runs now, or ran when `error` was raised, as `layer 0.conv`."""
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
