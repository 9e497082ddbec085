"""Distances of spectra are those of dense matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ntkexp.errors import UserError
from ntkexp.probes.fisher_spectrum import ordered
from tests.tiny_runs import TINY, goes_on, table, train

WORDS = ("data=mnist", "data.standardise=none", "model=autoencoder", "model.width=40")
OPTIM = ("optim=kfac", "optim.second=running", "optim.period=100", "optim.steps=6")
PROBE = ("probe=[fisher_spectrum]", "probing.examples=10", "probing.spacing=linear")


@pytest.mark.usefixtures("made_images")
def test_a_run_that_was_killed_keeps_its_basis_and_what_its_optimiser_remembers(
    tmp_path: Path,
) -> None:
    loss = ("objective=reconstruction", "objective.loss=bernoulli")
    words = (*WORDS, *loss, *OPTIM, *PROBE, "probing.every=2", *TINY)
    spectra = table(goes_on(tmp_path, *words, stop_at=3), "fisher_spectrum").set_index("step")
    assert spectra["running"].isna().tolist() == [True, False, False, False]
    assert (spectra["kfac_traced"] <= spectra["norm"] + spectra["trace"]).all()
    # On the examples of its basis the second moments have the trace of F, and no larger squares.
    assert spectra.loc[0, "ekfac"] < spectra.loc[0, "norm"]
    assert np.isfinite(spectra[["kfac", "ekfac"]]).all(axis=None)


@pytest.mark.usefixtures("made_images")
def test_a_layer_that_the_network_lacks_is_refused_with_those_it_has(tmp_path: Path) -> None:
    words = ("data=mnist", "model=mlp", "model.depth=1", *OPTIM, *PROBE, *TINY)
    with pytest.raises(UserError, match="layer=encoder4: there are hidden1, out"):
        train(tmp_path, *words)


def test_the_gram_matrix_has_the_eigenvalues_of_the_matrix_and_zeros_come_after() -> None:
    torch.manual_seed(0)
    rows = torch.randn(4, 6).double()
    of_gram = ordered(torch.linalg.eigvalsh(rows @ rows.T), 6)
    of_matrix = ordered(torch.linalg.eigvalsh(rows.T @ rows), 6)
    torch.testing.assert_close(of_gram, of_matrix)
    assert of_gram[4:].tolist() == [0, 0]
