"""The cost of each experiment: time of one core, measured or estimated from measured steps."""

from __future__ import annotations

from collections.abc import Callable

from ntkexp.claims.effort import Cost
from ntkexp.claims.horizon import Horizon

COSTS: dict[str, str | Callable[[str, Horizon], Cost]] = {
    "spectral/equal": "1.8 hours for ten networks",
    "spectral/symmetric": "7 minutes for three networks",
    "spectral/increasing": "1.8 hours for ten networks",
    "spectral/one_sine": "8 minutes for three networks",
    "spectral/robustness": "26 minutes for three networks",
    "spectral/sinusoids": "a second",
    "spectral/waves": "20 minutes for thirty networks",
    "spectral/wave_amplitudes": "8 minutes for twelve networks",
    "spectral/wave_periods": "25 minutes for forty-eight networks",
    "spectral/wave_controls": "15 minutes for twenty-four networks",
    "spectral/kernel_noise": "10 minutes for three runs of three networks",
    "spectral/manifolds": "23 minutes for fifty networks",
    "spectral/kernel": "17 minutes for two networks",
    "spectral/descent": "10 minutes for two networks",
    "spectral/petals": "1.7 hours for twelve networks",
    "spectral/petal_maps": "22 minutes for eight networks",
    "spectral/petal_features": "4 minutes for three runs of eight",
    "spectral/wave_basis": "7 minutes for ten networks",
    "spectral/classes": "2 hours for sixty networks",
    "spectral/decision_maps": "12 minutes for two networks",
    "spectral/smoothness": "6 minutes",
    "spectral/neighbours": "6 seconds",
    "spectral/resnet20": "73 minutes",
    "spectral/paths": "22 minutes",
    "spectral/delta_depth": "4 minutes for four runs of five networks",
    "spectral/delta_width": "8 minutes for three runs of five networks",
    "spectral/delta_clip": "16 minutes for four runs of five networks",
}
