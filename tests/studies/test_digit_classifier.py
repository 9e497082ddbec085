"""The classifier of generated digits is the network of its run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ntkexp.data.images.dataset import chosen_rows
from ntkexp.data.images.sources import read
from ntkexp.data.mnist import Mnist
from ntkexp.models.cnn import Cnn
from ntkexp.references import StartFrom
from ntkexp.studies.digit_classifier import Classifier
from tests.tiny_runs import table, train

CPU = torch.device("cpu")


@pytest.mark.usefixtures("made_images")
def test_it_sees_images_of_unit_range_as_its_run_did(tmp_path: Path) -> None:
    """Its accuracy on the test images is the one that training measured, digit by digit."""
    words = ("+exp=information/digits", "model.base=4", "optim.epochs=null", "optim.steps=20")
    run = train(tmp_path, *words, "progress=false", "device=cpu")
    evals = table(run, "evals").query("split == 'test'").set_index("step")["accuracy"]
    classifier = Classifier(Cnn(base=4), StartFrom("given", None, "weights.pt", "", str(run)), CPU)
    assert classifier.accuracy() == pytest.approx(evals[20])

    test = Mnist().build(0, CPU, progress=False).test
    rows = chosen_rows(0, "test_subset", len(test.targets)).numpy()
    images = torch.from_numpy(read("mnist", "test").pixels[rows, 0]).float() / 127.5 - 1
    assert torch.allclose(classifier.seen(images), test.inputs[:, 0], atol=1e-5)
    network = Cnn(base=4).build((1, 28, 28), 10)
    network.load_state_dict(torch.load(run / "weights.pt", weights_only=True))
    assert torch.equal(classifier.classes(images), network(test.inputs).argmax(1))
