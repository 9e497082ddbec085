"""One bar on a terminal or in a notebook, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")
PLAIN_LINE_SECONDS = 30.0

# Called at every advance: in a job of a sweep it reports to the process that shows all jobs.
Listener = Callable[["Progress"], None]
_listeners: list[Listener] = []


@contextmanager
def reporting_to(listener: Listener) -> Iterator[None]:
    """Inside this block, call `listener` whenever a task of this process advances."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def bar_here() -> type[tqdm[Any]] | None:
    """The class of bar for this terminal or notebook; None where only lines can be printed."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    kind: type[tqdm[Any]] | None = tqdm if sys.stderr.isatty() else None
    if get_ipython is not None and "IPKernelApp" in getattr(get_ipython(), "config", ()):
        from tqdm import notebook

        # None where ipywidgets are not installed.
        kind = notebook.tqdm if getattr(notebook, "IProgress", None) else None
    # Without its monitoring thread: a process with threads could not be forked safely.
    return kind and type(kind.__name__, (kind,), {"monitor_interval": 0})


class Progress:
    """Shows how far a long task is, on standard error.

    >>> with Progress("training", total=3, shown=False) as progress:
    ...     for _ in range(3):
    ...         progress.advance(1, loss=0.5)
    """

    def __init__(self, label: str, total: int, *, start: int = 0, shown: bool = True) -> None:
        self.label, self.total, self.done, self.shown = label, total, start, shown
        self._bar: tqdm[Any] | None = None
        self.figures: dict[str, object] = {}
        self._figures = ""
        self._began = self._spoke = time.monotonic()
        self._start, self._said = start, -1
        if shown and (bar := bar_here()) is not None:
            self._bar = bar(total=total, initial=start, desc=label, dynamic_ncols=True, miniters=0)

    def advance(self, count: int = 1, **figures: object) -> None:
        """Count `count` more steps done; `figures` are shown beside the bar."""
        self.done += count
        if figures:
            self.figures = figures
            self._figures = "  ".join(f"{name} {_short(value)}" for name, value in figures.items())
        if self._bar is not None:
            self._bar.set_postfix_str(self._figures, refresh=False)
            self._bar.update(count)
        elif self.shown and time.monotonic() - self._spoke >= PLAIN_LINE_SECONDS:
            self._say()
        for listener in _listeners:
            listener(self)

    def doing(self, part: str) -> None:
        """Name the current part of the work (a probe, a checkpoint); empty when it is over."""
        if self._bar is not None:
            self._bar.set_description(f"{self.label}: {part}" if part else self.label)

    def say(self, line: str) -> None:
        """Print a line, if there is one, above the bar where there is a bar."""
        if line and self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        elif line and self.shown:
            self._print(line)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        elif self.shown and self.done != self._said:
            self._say()

    def _say(self) -> None:
        self._spoke, self._said = time.monotonic(), self.done
        rate = (self.done - self._start) / max(self._spoke - self._began, 1e-9)
        left = (self.total - self.done) / rate if rate > 0 else float("inf")
        line = f"{self.label} {self.done}/{self.total}  {rate:.3g}/s"
        if 0 < left < float("inf"):
            line += f"  {left:.0f} s left"
        self._print(f"{line}  {self._figures}".rstrip())

    def _print(self, line: str) -> None:
        try:
            print(line, file=sys.stderr, flush=True)
        except OSError:
            # Whoever read along has gone, as with `| head`, or the disk is full: the work goes on.
            self.shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def track(items: Collection[T], label: str) -> Iterator[T]:
    """Iterate over `items`, and tell whoever listens how far it is."""
    with Progress(label, len(items), shown=False) as progress:
        for item in items:
            yield item
            progress.advance()


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
