"""LeNet5's kernel before and after training on eigenfunctions of the first one.

Panels as in Figure 7.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.axis_panels import of_all_tasks

FIGURE = "15"

main = drawing.main(__file__, __doc__, "linearised/lenet_kernel", of_all_tasks, __name__)
