"""Encoders and decoders of 25 Gaussians in the plane (section 5.2 of "Mutual Information Neural
Estimation", Figures 5.6 and C.1).

ntkexp study +exp=information/inference

The four models are those of ntkexp/studies/bidirectional.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from ntkexp.data.batches import Batches
from ntkexp.results.table import STEP, Table, float32, float64, int64
from ntkexp.seeds import generator
from ntkexp.studies.bidirectional import MEASURES, EncoderDecoder, Inference
from ntkexp.studies.toy_gans import EXAMPLES, JUDGED, drawn, layers
from ntkexp.theory.information.toys import gaussians

if TYPE_CHECKING:
    from ntkexp.training.place import Place

KINDS = {"code": "the code", "again": "the reconstruction", "sample": "a sample"}
LOOKS = Table(
    "inference_looks",
    "what 10,000 samples of a decoder capture, and how far 10,000 points are from what is made of "
    "their codes",
    {
        "step": STEP,
        "captured": int64("of 25 modes, those with 100 samples"),
        "near": float64("share of samples within three standard deviations of one"),
        "error": float64("mean distance of a point from its reconstruction"),
    }
    | MEASURES,
)
POINTS = Table(
    "inference_points",
    "points, their codes and reconstructions, and as many samples, at the end",
    {
        "step": STEP,
        "mode": int64("that is nearest to the point"),
    }
    | {
        f"{kind}_{axis}": float32(f"{which} coordinate of {words}")
        for kind, words in KINDS.items()
        for axis, which in {"x": "first", "y": "second"}.items()
    },
)
SHOWN, WIDTH, DEPTH, PLANE = 1000, 128, 2, 2


@dataclass
class ToyInference(Inference):
    """All networks have 2 x 128 units and leaky ReLUs of slope .2, encoder and decoder batch
    normalisation of a batch by itself, too (ntkexp/studies/digit_networks.py says why); codes and
    the encoder's noise are in the plane, as the data are."""

    version: ClassVar = 2  # 1 looked with running averages
    tables: ClassVar = (LOOKS, POINTS)
    small: ClassVar = {"steps": 500}
    tiny: ClassVar = {"steps": 5}

    def work(self, place: Place) -> ToyModel:
        return ToyModel(self, place)


class OfPairs(nn.Module):
    """A perceptron of two vectors."""

    def __init__(self, outputs: int, norm: Callable[[int], nn.Module] | None = None) -> None:
        super().__init__()
        self.layers = layers(2 * PLANE, WIDTH, DEPTH, outputs, norm=norm)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        outputs: Tensor = self.layers(torch.cat([x, z], 1))
        return outputs


class ToyModel(EncoderDecoder):
    def __init__(self, study: ToyInference, place: Place) -> None:
        norm = partial(nn.BatchNorm1d, track_running_stats=False)
        makers = {
            "encoder": lambda: OfPairs(PLANE, norm),
            "decoder": lambda: layers(PLANE, WIDTH, DEPTH, PLANE, norm=norm),
            **dict.fromkeys(("discriminator", "statistics", "critic"), lambda: OfPairs(1)),
        }
        super().__init__(makers, study, PLANE, place)
        self.toy = gaussians()
        examples = drawn(self.toy, EXAMPLES, generator(self.seed, "gan.examples"))
        self.examples = examples.to(self.device)
        self.order = Batches(EXAMPLES, study.batch_size, self.seed, self.device)

    def real(self, step: int) -> Tensor:
        (real,) = self.order.take(step, self.examples)
        return real

    @torch.no_grad()
    def look(self) -> None:
        x = drawn(self.toy, JUDGED, generator(self.seed, "inference.points"))
        noise, prior = self.normal(JUDGED, "inference.look", self.step)
        z, again = (part.cpu() for part in self.reconstructed(x.to(self.device), noise))
        samples = self.decoder(prior).cpu()
        captured, near = self.toy.captured(samples.numpy())
        error = torch.linalg.vector_norm(x - again, dim=1).double().mean().item()
        found = {"captured": captured, "near": near, "error": error}
        self.write(LOOKS.name, {"step": self.step, **found, **self.measures()})
        if self.over:
            nearest = torch.cdist(x[:SHOWN], torch.from_numpy(self.toy.points).float()).argmin(1)
            columns = {
                f"{kind}_{axis}": points[:SHOWN, place].numpy()
                for kind, points in zip(KINDS, (z, again, samples), strict=True)
                for place, axis in enumerate("xy")
            }
            self.write(POINTS.name, {"step": self.step, "mode": nearest.numpy(), **columns})
