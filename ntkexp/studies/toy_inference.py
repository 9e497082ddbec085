"""Encoders and decoders of 25 Gaussians in the plane (section 5.2 of "Mutual Information Neural
Estimation", Figures 5.6 and C.1).

ntkexp study +exp=information/inference

The four models are those of ntkexp/studies/bidirectional.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from ntkexp.data.batches import Batches
from ntkexp.options import SEED, count, option, positive
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Table, float32, float64, int64
from ntkexp.seeds import generator
from ntkexp.studies.base import Study
from ntkexp.studies.bidirectional import MEASURES, EncoderDecoder, Variant
from ntkexp.studies.toy_gans import EXAMPLES, JUDGED, drawn, layers
from ntkexp.theory.information.toys import gaussians

if TYPE_CHECKING:
    from ntkexp.training.place import Place

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
        "code_x": float32("first coordinate of the code"),
        "code_y": float32("second coordinate of the code"),
        "again_x": float32("first coordinate of the reconstruction"),
        "again_y": float32("second coordinate of the reconstruction"),
        "sample_x": float32("first coordinate of a sample"),
        "sample_y": float32("second coordinate of a sample"),
    },
)
SHOWN, WIDTH, DEPTH, PLANE = 1000, 128, 2, 2


@dataclass
class ToyInference(Study):
    """All networks have 2 x 128 units and leaky ReLUs of slope .2, encoder and decoder batch
    normalisation, too; codes and the encoder's noise are in the plane, as the data are."""

    tables: ClassVar = (LOOKS, POINTS)
    small: ClassVar = {"steps": 500}
    tiny: ClassVar = {"steps": 5}

    seed: int = option(0, SEED, "the start of all random numbers")
    variant: Variant = option(Variant.mine, about="ali, l2, adversarial or mine")
    steps: int = option(30_000, count("steps"), "updates of each network")
    batch_size: int = option(100, count("examples"), "examples of an update")
    lr: float = option(0.001, positive(), "learning rate of Adam")

    def work(self, place: Place) -> ToyModel:
        return ToyModel(self, place)


class OfPairs(nn.Module):
    """A perceptron of two vectors."""

    def __init__(self, outputs: int, *, normed: bool = False) -> None:
        super().__init__()
        self.layers = layers(2 * PLANE, WIDTH, DEPTH, outputs, normed=normed)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        outputs: Tensor = self.layers(torch.cat([x, z], 1))
        return outputs


class ToyModel(EncoderDecoder):
    def __init__(self, study: ToyInference, place: Place) -> None:
        makers = {
            "encoder": lambda: OfPairs(PLANE, normed=True),
            "decoder": lambda: layers(PLANE, WIDTH, DEPTH, PLANE, normed=True),
            **dict.fromkeys(("discriminator", "statistics", "critic"), lambda: OfPairs(1)),
        }
        super().__init__(
            makers, study.variant, last=study.steps, seed=study.seed, device=place.device,
            lr=study.lr, code=PLANE,
        )  # fmt: skip
        self.toy = gaussians()
        examples = drawn(self.toy, EXAMPLES, generator(self.seed, "gan.examples"))
        self.examples = examples.to(self.device)
        self.order = Batches(EXAMPLES, study.batch_size, self.seed, self.device)

    def real(self, step: int) -> Tensor:
        (real,) = self.order.take(step, self.examples)
        return real

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        with super().looked_at(event, scheduled=scheduled) as views:
            self.look()
            yield views

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
            columns = {"code": z, "again": again, "sample": samples}
            self.write(
                POINTS.name,
                {
                    "step": self.step,
                    "mode": nearest.numpy(),
                    **{
                        f"{name}_{axis}": points[:SHOWN, place].numpy()
                        for name, points in columns.items()
                        for place, axis in enumerate("xy")
                    },
                },
            )
