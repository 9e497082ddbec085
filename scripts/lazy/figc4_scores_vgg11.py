"""Examples in tenths by their C-score, VGG11 in both regimes: Figure C.4.

a, loss of every tenth of the training images against the mean training loss, solid for alpha = 1
and dashed for alpha = 100; dark tenths have low scores, which is hard images. b, three measures of
linearity. Training goes to the right. The scores were estimated here.
"""

from __future__ import annotations

import sys

from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.fig52_scores import make

FIGURE = "C.4"

main = drawing.main(__file__, __doc__, "lazy/c_scores_vgg11,lazy/c_scores_vgg11_lazy", make)

if __name__ == "__main__":
    sys.exit(main())
