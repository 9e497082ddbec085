"""The curves of one run, by hand on made-up tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.results.numbers import curves
from ntkexp.results.record import Record
from tests.papers.made import rows

SPECTRA = {0: [4.0, 4.0, 4.0, 4.0], 10: [8.0, 4.0, 2.0, 2.0]}


def record(**tables: pd.DataFrame) -> Record:
    return Record("disk", "run", {}, tables)


def spectrum() -> pd.DataFrame:
    """The layer's kernel, the one on test examples and the uncentred one have other eigenvalues
    than the whole network's."""
    kernels = (
        ("train", "total", "class", 1),
        ("train", "total", "none", 5),
        ("train", "a", "class", 7),
        ("test", "total", "class", 3),
    )
    axes, values = {"step": SPECTRA, "rank": range(1, 5)}, np.array([*SPECTRA.values()])
    return pd.concat(
        rows(axes, split=split, layer=layer, centring=centring, eigenvalue=by * values)
        for split, layer, centring, by in kernels
    )


def alignment() -> pd.DataFrame:
    """Every row's CKA is told apart by its split, subset, centring and layer."""
    axes = {"step": (10, 0), "split": ("train", "test"), "subset": ("all", "noisy"),
            "centring": ("class", "none"), "layer": ("total", "a", "b")}  # fmt: skip
    parts = np.ix_(axes["step"], (0, 0.1), (0, 0.01), (0, 0.001), (9e-4, 0, 1e-4))
    return rows(axes, layer_index=(9, 0, 1), cka=sum(parts))


def test_spectra_are_the_whole_networks() -> None:
    found = curves.spectra(spectrum(), "train")
    assert found.to_dict("index") == {
        step: dict(enumerate(values, start=1)) for step, values in SPECTRA.items()
    }
    test = curves.spectra(spectrum(), "test")
    np.testing.assert_allclose(test, 3 * found)


def test_effective_ranks_are_exponentials_of_entropies() -> None:
    found = curves.effective_ranks(spectrum())
    p = np.array(SPECTRA[10]) / 16
    assert found.to_dict() == pytest.approx({0: 4.0, 10: np.exp(-(p * np.log(p)).sum())})


@pytest.mark.parametrize(("k", "of_the_last"), [(1, 0.5), (2, 0.75), (4, 1.0), (9, 1.0)])
def test_trace_ratios_are_shares_of_the_first_eigenvalues(k: int, of_the_last: float) -> None:
    found = curves.trace_ratio(spectrum(), k)
    assert found.to_dict() == pytest.approx({0: min(k, 4) / 4, 10: of_the_last})


def test_alignment_is_that_which_is_asked_for_in_the_order_of_steps() -> None:
    one = alignment()
    total = 9e-4
    cka = curves.cka(one, "train")
    assert [*cka.index] == [0, 10]
    assert [*cka] == pytest.approx([total, 10 + total])
    assert curves.cka(one, "test")[0] == pytest.approx(0.1 + total)
    assert curves.cka(one, "train", subset="noisy")[0] == pytest.approx(0.01 + total)
    assert curves.cka(one, "train", centring="none")[0] == pytest.approx(0.001 + total)
    layers = curves.layer_cka(one, "test", centring="none")
    np.testing.assert_allclose(layers[[0, 1]], [[0.101, 0.1011], [10.101, 10.1011]])
    assert [*layers] == [0, 1]


def test_which_centrings_a_run_has() -> None:
    assert curves.has_centring(alignment(), "none")
    assert not curves.has_centring(alignment(), "labels")


@pytest.mark.parametrize(
    "name", ["evals", "eigenvalues", "alignment", "spectrum", "directions", "complexity"]
)
def test_a_run_has_come_as_far_as_its_tables_tell(name: str) -> None:
    table = pd.DataFrame({"step": [0, 30, 20]})
    assert record(**{name: table}).iteration == 30
    assert record(weights=table).iteration == 0
    assert record(evals=table[:0], **{name: table} if name != "evals" else {}).iteration == (
        0 if name == "evals" else 30
    )
