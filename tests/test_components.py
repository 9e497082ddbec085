"""What is offered by name can be chosen by that name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest

from ntkexp import components
from ntkexp.config import Launcher
from ntkexp.data.base import Data
from ntkexp.errors import UserError
from ntkexp.loggers.base import Logger
from ntkexp.models.base import Model
from ntkexp.objectives.base import Objective
from ntkexp.optim.base import Optimiser
from ntkexp.studies.base import Study
from ntkexp.transforms.base import Transform


@pytest.mark.parametrize("group", components.GROUPS)
def test_every_name_that_a_group_offers_is_a_component_of_it(group: str) -> None:
    offered = components.names(group)
    assert len(offered) > 1
    for name in offered:
        assert components.find(group, name).kind == group


@pytest.mark.parametrize(
    "kind", [Data, Launcher, Logger, Model, Objective, Optimiser, Study, Transform]
)
def test_a_component_without_its_method_is_told_which_it_lacks(kind: type) -> None:
    @dataclass
    class Mine(kind):  # type: ignore[misc]
        pass

    method = {"launcher": "run", "logger": "open", "study": "compute"}.get(Mine.kind, "build")
    wanted = inspect.signature(getattr(Mine, method)).parameters
    with pytest.raises(UserError, match=rf"^{Mine.kind}=.*Mine: its class has no method {method}"):
        getattr(Mine(), method)(**{name: None for name in wanted if name != "self"})
