"""How long and how far ResNet18 trains, by the eigenfunction it learns.

a, updates until the running mean of minibatch losses is .01 (none where that does not happen);
b, the distance of the weights from the first ones at the end; c, their cosine distance.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.task_panels import of_movements

FIGURE = "3"
EXPERIMENTS = (
    "linearised/resnet18",
    "linearised/resnet18_linear",
    "linearised/resnet18_standard",
    "linearised/resnet18_standard_linear",
)

main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), of_movements, __name__)
