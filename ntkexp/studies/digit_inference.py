"""Encoders and decoders of digits, by how well they reconstruct them (section 5.2 of "Mutual
Information Neural Estimation", Table 5.2).

ntkexp study -m +exp=information/digit_inference --with-parents

The four models are those of ntkexp/studies/bidirectional.py. Which digit a reconstruction shows is
told by a classifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import torch
from omegaconf import MISSING
from torch import Tensor

from ntkexp.data.batches import Batches
from ntkexp.data.images.sources import SPLITS, files_here, kind_of, read, remarks
from ntkexp.models import Model
from ntkexp.options import count, option, positive
from ntkexp.references import StartFrom
from ntkexp.results.table import STEP, Table, float64
from ntkexp.studies.bidirectional import MEASURES, EncoderDecoder, Inference
from ntkexp.studies.digit_classifier import Classifier
from ntkexp.studies.digit_networks import DigitStatistics, Encoder, Judge, generator, leaky
from ntkexp.theory.information.ms_ssim import similarity

if TYPE_CHECKING:
    from ntkexp.training.place import Place

LOOKS = Table(
    "digit_inference",
    "what is made of the codes of MNIST's test digits",
    {
        "step": STEP,
        "error": float64("mean distance of an image from its reconstruction, pixels in [-1, 1]"),
        "accuracy": float64("share of reconstructions that the classifier takes for the digit"),
        "similarity": float64("mean MS-SSIM of an image and its reconstruction"),
        "of_images": float64("share of the images themselves that the classifier has right"),
    }
    | MEASURES,
)
CODE, AT_ONCE = 128, 1000


@dataclass
class DigitInference(Inference):
    """Codes and the encoder's noise are of 128 numbers. Without weights of a run the classifier is
    as it was drawn."""

    version: ClassVar = 2  # 1 had no batch normalisation
    tables: ClassVar = (LOOKS,)
    small: ClassVar = {"base": 4, "steps": 100}
    tiny: ClassVar = {"base": 2, "steps": 2, "batch_size": 10}

    network: Model = option(MISSING, about="the network that classifies digits")
    weights: StartFrom = field(default_factory=StartFrom)
    base: int = option(8, count("channels"), "channels next to the image; the text has 64")
    steps: int = option(10_000, count("steps"), "updates of each network; the text has 50,000")
    lr: float = option(0.0001, positive(), "learning rate of Adam")

    def files(self) -> Mapping[str, str]:
        return files_here(kind_of("mnist"))

    def work(self, place: Place) -> DigitModel:
        return DigitModel(self, place)


class DigitModel(EncoderDecoder):
    def __init__(self, study: DigitInference, place: Place) -> None:
        channels = [study.base * factor for factor in (1, 2, 4)]
        width = 16 * study.base
        makers = {
            "encoder": lambda: Encoder(CODE, channels),
            "decoder": lambda: generator(CODE, [*channels[::-1], 1]),
            "discriminator": lambda: Judge([1, *channels], CODE, width),
            "statistics": lambda: DigitStatistics(CODE, [1, *channels], leaky),
            "critic": lambda: Judge([2, *channels], 0, width),
        }
        super().__init__(makers, study, CODE, place)
        images = {split: read("mnist", split) for split in SPLITS}
        self.remarks = tuple(remarks(kind_of("mnist"), "train", images["train"]))
        self.pixels = {name: torch.from_numpy(part.pixels) for name, part in images.items()}
        self.labels = torch.from_numpy(images["test"].labels)
        self.order = Batches(len(self.pixels["train"]), study.batch_size, self.seed)
        self.classifier = Classifier(study.network, study.weights, place.device)
        self.of_images = self.classifier.accuracy()

    def real(self, step: int) -> Tensor:
        return self.seen(self.pixels["train"][self.order.indices(step)])

    def seen(self, pixels: Tensor) -> Tensor:
        return pixels.to(self.device).float() / 127.5 - 1

    def look(self) -> None:
        self.write(LOOKS.name, {"step": self.step, **self.judged(), **self.measures()})

    @torch.no_grad()
    def judged(self) -> dict[str, float]:
        """Error, accuracy and similarity over the test images."""
        test = self.pixels["test"]
        noise, _ = self.normal(len(test), "inference.look", self.step)
        x = self.seen(test)
        parts = [
            self.reconstructed(*part)[1]
            for part in zip(torch.split(x, AT_ONCE), torch.split(noise, AT_ONCE), strict=True)
        ]
        again = torch.cat(parts)
        distances = torch.linalg.vector_norm((x - again).flatten(1), dim=1)
        alike = similarity(*(((images[:, 0] + 1) / 2).cpu().numpy() for images in (x, again)))
        right = self.classifier.classes(again[:, 0]) == self.labels
        return {
            "error": distances.double().mean().item(),
            "accuracy": right.double().mean().item(),
            "similarity": float(alike.mean()),
            "of_images": self.of_images,
        }
