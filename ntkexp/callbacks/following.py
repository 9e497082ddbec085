"""What the callbacks of all trainers do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor, distributed, nn

from ntkexp.errors import UserError
from ntkexp.home import at_home
from ntkexp.options import MANY
from ntkexp.tangent.batch import Inputs
from ntkexp.training.schedule import log_steps
from ntkexp.watching import Watch

LOOKS = frozenset(log_steps(MANY))


class Following:
    """Looks at a network as it trains, keeps checkpoints for `ntkexp probe`, or both; log-spaced,
    from step 0 to the last.

    Args:
        batches, out, anew, options: as in `ntkexp.watch`; without `out` nothing looks. From which
            step training goes on the trainer tells.
        checkpoints: a folder for weights, of each step a file or a folder `step=STEP`.
    """

    # By their folder: of a training that was interrupted nobody tells Hugging Face's callbacks.
    _open: ClassVar[dict[Path, Watch]] = {}

    def __init__(
        self,
        *,
        batches: Mapping[str, tuple[Inputs, Tensor]] | None = None,
        out: str | Path | None = None,
        checkpoints: str | Path | None = None,
        anew: bool = False,
        **options: Any,
    ) -> None:
        if (batches is None) != (out is None) or (out is None and checkpoints is None):
            raise UserError("expected batches and out, to look as it trains, or checkpoints, "
                            "a folder for weights that ntkexp probe looks at")  # fmt: skip
        self.out = None if out is None else Path(at_home(out)).resolve()
        self.checkpoints = None if checkpoints is None else Path(at_home(checkpoints))
        self.options = {"batches": batches, "out": out, "anew": anew, **options}
        self.kept = -1

    def begin(self, network: nn.Module, step: int, save: Callable[[Path], object]) -> None:
        """Training begins, or goes on from `step`; `save` keeps weights at a path without ending.
        What cannot be followed ends the program, with one line."""
        if self.out is not None:
            self.end(KeyboardInterrupt)
            refused: list[str | None] = [None]
            try:
                watch = Watch(network, resume=step or None, **self.options)
                self._open[self.out] = watch.__enter__()
            except UserError as error:
                refused = [f"ntkexp: {error}"]
            if distributed.is_available() and distributed.is_initialized():
                distributed.broadcast_object_list(refused)  # by the first, which alone looks
            if refused[0] is not None:
                raise SystemExit(refused[0])
        self.kept = step if step else -1  # an earlier start kept it
        self.keep(step, save)

    def after(self, step: int, loss: Any, save: Callable[[Path], object]) -> None:
        """After a batch; `step` counts updates."""
        if self.out is not None:
            self._open[self.out].after_step(step, loss)
        if step in LOOKS:
            self.keep(step, save)

    def end(self, kind: type[BaseException] | None = None) -> None:
        """`kind`: what ended training before its end."""
        if self.out in self._open:
            self._open.pop(self.out).__exit__(kind)

    def keep(self, step: int, save: Callable[[Path], object]) -> None:
        if self.checkpoints is not None and step > self.kept:
            save(self.checkpoints / f"step={step}")
            self.kept = step
