"""How long and how far an MLP trains, by the eigenfunction it learns.

Panels as in Figure 3.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import of_movements

FIGURE = "12"
EXPERIMENTS = (
    "linearised/mlp",
    "linearised/mlp_linear",
)

main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), of_movements, __name__)
