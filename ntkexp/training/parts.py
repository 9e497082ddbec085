"""A computation in parts, none of which depends on another."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ntkexp.probes import View
from ntkexp.training.work import Kept, Written

if TYPE_CHECKING:
    from ntkexp.studies.base import Study

BURST_SECONDS = 0.5


class Parts:
    """Works out the parts of a study one after the other."""

    offers: frozenset[str] = frozenset()

    def __init__(self, study: Study) -> None:
        self.study, self.parts = study, study.parts()
        self.step, self.last = 0, len(self.parts)
        self._written: list[Written] = []
        self._kept: dict[str, bytes] = {}

    @property
    def over(self) -> bool:
        return self.step >= self.last

    @property
    def figures(self) -> Mapping[str, float]:
        return {}

    def advance(self, to: int) -> str | None:
        until = time.monotonic() + BURST_SECONDS
        while self.step < to:
            for name, found in self.study.found_by(self.parts[self.step]).items():
                if isinstance(found, np.ndarray):
                    self._kept[f"{name}.npy"] = _npy(found)
                else:
                    self._written.append((name, {str(n): found[n].to_numpy() for n in found}))
            self.step += 1
            if time.monotonic() >= until:
                break
        return None

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        yield []

    def rows(self) -> list[Written]:
        written, self._written = self._written, []
        return written

    def state(self) -> dict[str, Any]:
        return {"step": self.step}

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        self.step = state["step"]

    def kept_files(self) -> Mapping[str, bytes]:
        kept, self._kept = self._kept, {}
        return kept

    def files(self) -> Mapping[str, bytes]:
        return {}


def _npy(array: NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()
