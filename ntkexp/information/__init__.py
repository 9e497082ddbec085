"""Mutual information from samples, by a network that is trained and by nearest neighbours.

A library of its own: it knows tensors and networks, no runs and no configs.
"""

from ntkexp.information.bounds import donsker_varadhan, info_nce, nwj
from ntkexp.information.estimate import Estimate, estimate
from ntkexp.information.ksg import ksg

__all__ = ["Estimate", "donsker_varadhan", "estimate", "info_nce", "ksg", "nwj"]
