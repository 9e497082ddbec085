"""Figure A.12: paths from training images to adversarials that ResNet20 takes for airplanes.

Beside a strip: the classes of the images that its ends were made from; below an image: the
probability of airplane, which the text has at .95 or more.
"""

from __future__ import annotations

from functools import partial

from ntkexp.scripts import drawing
from ntkexp.scripts.spectral.figa11_strips import TABLES, between

FIGURE = "A.12"

draw = partial(between, "image and adversarial")
main = drawing.main(__file__, __doc__, "spectral/paths", drawing.of_one_run(TABLES, draw), __name__)
