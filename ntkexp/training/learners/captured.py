"""An update recorded once as a CUDA graph, and replayed.

A step of a small or deep network launches hundreds of kernels of microseconds each, and the GPU
waits for Python between them. A graph launches them all at once: the same kernels on the same
numbers in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

# The tensors of a minibatch to its figures (loss, accuracy), changing the network in place.
Update: TypeAlias = Callable[..., tuple[Tensor, ...]]
Replay: TypeAlias = Callable[[], None]
Recorder: TypeAlias = Callable[
    [Callable[[], tuple[Tensor, ...]], torch.device], tuple[tuple[Tensor, ...], Replay]
]

# Runs before the recording, in which cuDNN chooses its algorithms and buffers are made.
WARM_UP = 3


class CannotRecordError(Exception):
    """This update is no graph: it waits for the device, or the graph came out empty."""


def record_on_gpu(
    work: Callable[[], tuple[Tensor, ...]], device: torch.device
) -> tuple[tuple[Tensor, ...], Replay]:
    """The result of `work`, whose values every replay writes anew, and the replay.

    Streams and graphs belong to the current device, so `device` is made that. The last run before
    the recording refuses to wait for the device: an error there leaves nothing half recorded.
    """
    with torch.cuda.device(device):
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP - 1):
                work()
            mode = torch.cuda.get_sync_debug_mode()
            torch.cuda.set_sync_debug_mode("error")
            try:
                work()
            finally:
                torch.cuda.set_sync_debug_mode(mode)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        # On this stream: torch would take one of whichever device recorded first.
        with torch.cuda.graph(graph, stream=aside):
            figures = work()
    return figures, graph.replay


class Captured:
    """`update` for minibatches of one shape. `state` is all it changes, and stays where it is.

    Recording runs the update a few times; `state` is put back as it was.
    """

    def __init__(
        self,
        update: Update,
        state: Sequence[Tensor],
        *batch: Tensor,
        record: Recorder = record_on_gpu,
    ) -> None:
        self.batch = [part.clone() for part in batch]
        before = [part.clone() for part in state]
        try:
            self.figures, self.replay = record(lambda: update(*self.batch), batch[0].device)
            self._refuse_empty()
        except RuntimeError as error:
            raise CannotRecordError(str(error).partition("\n")[0]) from error
        finally:
            with torch.no_grad():
                for part, value in zip(state, before, strict=True):
                    part.copy_(value)

    def _refuse_empty(self) -> None:
        """A graph of another device than the update's has nothing in it, and its replay writes no
        figure. A diverging network's loss is not a number either, but its accuracy is one."""
        for figure in self.figures:
            figure.fill_(torch.nan)
        self.replay()
        if all(figure.isnan().all() for figure in self.figures):
            raise RuntimeError("the graph is empty")

    def __call__(self, *batch: Tensor) -> tuple[Tensor, ...]:
        for kept, part in zip(self.batch, batch, strict=True):
            kept.copy_(part)
        self.replay()
        return tuple(figure.clone() for figure in self.figures)
