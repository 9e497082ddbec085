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
    [Callable[[], tuple[Tensor, ...]]], tuple[tuple[Tensor, ...], Replay]
]

# Runs before the recording, in which cuDNN chooses its algorithms and buffers are made.
WARM_UP = 3


def record_on_gpu(work: Callable[[], tuple[Tensor, ...]]) -> tuple[tuple[Tensor, ...], Replay]:
    """What `work` returns, whose values every replay writes anew, and the replay."""
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
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
        self.figures, self.replay = record(lambda: update(*self.batch))
        with torch.no_grad():
            for part, value in zip(state, before, strict=True):
                part.copy_(value)

    def __call__(self, *batch: Tensor) -> tuple[Tensor, ...]:
        for kept, part in zip(self.batch, batch, strict=True):
            kept.copy_(part)
        self.replay()
        return tuple(figure.clone() for figure in self.figures)
