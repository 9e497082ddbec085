"""Wrong labels in both regimes: what is learned of them, and how linear training is.

Left, loss of the training examples with wrong labels, and test loss, against the loss of those with
right ones, as running medians of three looks; thin, the noisy loss as measured. A dot where its
median peaks and memorisation begins. Right, three measures of linearity. Training goes to the
right, every line is a network; of ResNet18 there is α = 1 alone. The thesis has ResNet18 of 64
channels; here stand smaller networks.
"""

from __future__ import annotations

from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import draw, noted

FIGURE = "5.2"
EXPERIMENTS = (
    *("lazy/noise_resnet18", "lazy/noise_resnet18_lazy"),
    *("lazy/noise_cnn", "lazy/noise_cnn_lazy"),
    *("lazy/noise_mlp", "lazy/noise_mlp_lazy"),
)
main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), noted(draw), __name__)
