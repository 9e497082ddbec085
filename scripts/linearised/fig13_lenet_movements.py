"""How long and how far LeNet5 trains, by the eigenfunction it learns.

Panels as in Figure 3.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import of_movements

FIGURE = "13"
EXPERIMENTS = (
    "linearised/lenet",
    "linearised/lenet_linear",
)

main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), of_movements, __name__)
