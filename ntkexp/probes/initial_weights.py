"""The base of probes that compare a network with its first weights."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ntkexp.probes.base import Probe
from ntkexp.probes.view import View


class RemembersStart(Probe):
    """Keeps the trainable weights of step 0, over restarts too."""

    def __post_init__(self) -> None:
        self._start: dict[str, Tensor] = {}

    def remember(self, view: View) -> None:
        """Keep the weights of step 0; called at every look."""
        if view.step == 0:
            network = view.network().named_parameters()
            self._start = {
                name: weight.detach().clone() for name, weight in network if weight.requires_grad
            }

    def start(self) -> dict[str, Tensor]:
        """The weights at step 0, by name."""
        if not self._start:
            raise RuntimeError("the weights of step 0 were not seen; a look at step 0 comes first")
        return self._start

    def state(self) -> dict[str, Any]:
        return {"start": self._start}

    def restore(self, state: dict[str, Any]) -> None:
        self._start = state["start"]
