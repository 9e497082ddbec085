"""The alignment of a run: every layer, every centring, both parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from omegaconf import OmegaConf

from ntkexp import data, models, probes
from ntkexp.errors import UserError
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.probes import NetworkView
from ntkexp.theory.alignment import ALIGNMENTS, centre, centre_labels, label_cka
from ntkexp.training.place import probe_batches
from tests.tiny_runs import TINY, composed, train

pytestmark = pytest.mark.usefixtures("made_images")

NET = ("model=mlp", "data=mnist", "model.depth=2", "model.width=9", "optim.steps=1")
PARTS = ("data.difficult=random_labels", "data.difficult_examples=20")
SUBSETS = ("probe=[alignment]", "probe.alignment.subsets=true", *PARTS)


def test_every_row_is_the_cka_of_the_centred_kernel_with_the_labels(tmp_path: Path) -> None:
    words = (*TINY, *NET, *SUBSETS)
    rows = pd.read_parquet(train(tmp_path, *words) / "alignment.parquet").query("step == 0")
    config = OmegaConf.to_object(composed(words))
    dataset = data.load(config.data, config.seed, torch.device("cpu"), progress=False)
    model = models.build(config.model, dataset.input_shape, 10, config.seed).eval()
    batches = probe_batches(config, dataset, probes.build(config.probe), config.seed)
    view = NetworkView(
        model, dataset, CrossEntropyLoss(10), step=0, seed=0, last=False, batches=batches
    )
    names = {("train", "all"): "train", ("test", "all"): "test"}
    for (split, subset), part in rows.groupby(["split", "subset"]):
        name = names.get((split, subset), subset)
        kernel = view.kernel(name)
        grams = {"total": kernel.gram, **kernel.layers}
        labels = np.eye(10)[batches[name].targets.numpy()]
        assert part["layer"].drop_duplicates().tolist() == list(grams)
        for row in part[part["centring"] != "clean"].itertuples():
            K = grams[row.layer].double().numpy()
            raw = row.centring == "labels"
            of_kernel, of_labels = ("none", "class") if raw else (row.centring, row.centring)
            expected = label_cka(centre(K, 10, of_kernel), centre_labels(labels, of_labels))
            assert row.cka == pytest.approx(expected, rel=1e-5)
    assert len(rows[rows["centring"] != "clean"]) == 4 * 4 * len(ALIGNMENTS)
    # Of the test images and the easy ones no label was drawn at random.
    redrawn = rows[rows["centring"] == "clean"]
    assert set(redrawn["subset"]) <= {"all", "difficult"}
    assert set(redrawn["split"]) == {"train"}


def test_of_random_labels_the_alignment_with_the_true_ones_stands_beside(tmp_path: Path) -> None:
    words = (*TINY, *NET, "probe=[alignment]", "data.noise=0.5")
    rows = pd.read_parquet(train(tmp_path, *words) / "alignment.parquet").query("step == 0")
    config = OmegaConf.to_object(composed(words))
    dataset = data.load(config.data, config.seed, torch.device("cpu"), progress=False)
    model = models.build(config.model, dataset.input_shape, 10, config.seed).eval()
    batches = probe_batches(config, dataset, probes.build(config.probe), config.seed)
    view = NetworkView(
        model, dataset, CrossEntropyLoss(10), step=0, seed=0, last=False, batches=batches
    )
    train_rows = rows.query("split == 'train' and layer == 'total'").set_index("centring")["cka"]
    images = batches["train"].inputs
    of_image = {image.numpy().tobytes(): target for image, target in
                zip(dataset.train.inputs, dataset.train.clean_targets, strict=True)}  # fmt: skip
    true = np.eye(10)[[int(of_image[image.numpy().tobytes()]) for image in images]]
    K = centre(view.kernel("train").gram.double().numpy(), 10, "class")
    expected = label_cka(K, centre_labels(true, "class"))
    assert train_rows["clean"] == pytest.approx(expected, rel=1e-5)
    assert train_rows["clean"] != pytest.approx(train_rows["class"], rel=1e-3)
    # The labels of test images were never drawn at random.
    assert "clean" not in set(rows.query("split == 'test'")["centring"])


def test_easy_and_difficult_batches_are_equally_large_and_of_their_kind(tmp_path: Path) -> None:
    config = OmegaConf.to_object(composed([*TINY, *NET, *SUBSETS]))
    dataset = data.load(config.data, config.seed, torch.device("cpu"), progress=False)
    batches = probe_batches(config, dataset, probes.build(config.probe), config.seed)
    easy = dataset.train.inputs[~dataset.train.difficult].flatten(1)
    for name, member in (("easy", True), ("difficult", False)):
        assert len(batches[name].targets) == config.probing.examples
        for image in batches[name].inputs.flatten(1):
            assert bool((easy == image).all(1).any()) is member


def test_more_examples_than_there_are_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"probing\.examples=21: .*20 difficult"):
        train(tmp_path, *TINY, *NET, *SUBSETS, "probing.examples=21")
