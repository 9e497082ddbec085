"""Curvature of any network: Fisher matrices and their like, stored in the ways that papers have.

A library of its own on the kernel engine's gradients: it knows tensors and modules, no runs.
"""

from ntkexp.curvature.fisher import Fisher, fisher, fishers
from ntkexp.curvature.preconditioner import Preconditioner
from ntkexp.curvature.vector import Vector

__all__ = ["Fisher", "Preconditioner", "Vector", "fisher", "fishers"]
