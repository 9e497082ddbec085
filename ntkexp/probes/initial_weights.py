"""The base of probes that compare a network with what it was at the start."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View


class RemembersStart(Probe):
    """Keeps what it takes at step 0, over restarts too: by `remember` the trainable weights."""

    def __post_init__(self) -> None:
        self._start: dict[str, Any] = {}

    def check(self, config: Any = None) -> None:
        """Refuse a schedule without a look at step 0."""
        probing = config.probing
        if probing.spacing == "list" and 0 not in probing.steps:
            raise UserError(
                f"probing.steps={list(probing.steps)}: probe.{self.name} compares with the start; "
                "expected 0 among them"
            )

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
