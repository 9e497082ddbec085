"""What is offered by name can be chosen by that name."""

from __future__ import annotations

import pytest

from ntkexp import components


@pytest.mark.parametrize("group", components.GROUPS)
def test_every_name_that_a_group_offers_is_a_component_of_it(group: str) -> None:
    offered = components.names(group)
    assert len(offered) > 1
    for name in offered:
        assert components.find(group, name).kind == group
