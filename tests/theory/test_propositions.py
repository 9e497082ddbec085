from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory import propositions
from ntkexp.theory.supernat import optimal_for_update, update_bound


@pytest.mark.parametrize(("n", "P"), [(12, 5), (6, 6)])
@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_every_statement_holds_to_rounding_in_any_unit(n: int, P: int, unit: float) -> None:
    generator = np.random.default_rng(0)
    phi, y = unit * generator.normal(size=(n, P)), generator.normal(size=n)
    errors = propositions.identity_errors(phi, y, generator)
    assert set(errors) == set(propositions.IDENTITIES)
    assert max(errors.values()) < 1e-9


def test_a_rescaling_that_is_not_the_best_is_undercut() -> None:
    generator = np.random.default_rng(1)
    eigs, Ug = np.array([3.0, 1.0, 0.5]), np.array([1.0, -2.0, 0.3])
    best = optimal_for_update(Ug)
    for nu, undercut in ((best, False), (best**2, True), (np.ones(3), True)):
        found = propositions._undercut(lambda x: update_bound(x, eigs, Ug), nu, generator)
        assert (found > 0.01) is undercut
