"""An MLP's kernel before and after training on eigenfunctions of the first one.

Panels as in Figure 7.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.linearised.axis_panels import of_all_tasks

FIGURE = "14"

main = drawing.main(__file__, __doc__, "linearised/mlp_kernel", of_all_tasks, __name__)
