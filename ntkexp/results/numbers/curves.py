"""The curves that the figures draw, as functions of one run: a value for every probe step."""

from __future__ import annotations

from functools import cache

import pandas as pd

from ntkexp.results.record import Record
from ntkexp.theory.spectrum import effective_rank, trace_ratios

# Accuracies are taken on 5,000 examples or more; batches are seldom all right at once.
FITTED = 0.999
# The share of its fall by which a training loss rises again: such a network has forgotten its
# training. Rises of the loss while a network learns are far smaller.
LOST = 0.9


@cache
def accuracy(record: Record, split: str, subset: str = "all") -> pd.Series:
    evals = record.tables["evals"]
    chosen = evals[(evals["split"] == split) & (evals["subset"] == subset)]
    return chosen.drop_duplicates("step").set_index("step")["accuracy"].sort_index()


def fitted_step(record: Record) -> int:
    """The first probe at which the training accuracy is 100 %; an error where it never is."""
    curve = accuracy(record, "train")
    if not (curve >= FITTED).any():
        raise ValueError(f"{record.experiment}/{record.run} has not fitted its training set")
    return int(curve.index[curve >= FITTED].min())


def has_fitted(record: Record) -> bool:
    """True if the training accuracy came to 100 %."""
    return "evals" in record.tables and bool((accuracy(record, "train") >= FITTED).any())


@cache
def has_collapsed(record: Record) -> bool:
    """True if a network lost what it had learned: nine tenths of what its training loss had
    come down, as when all ReLUs of a layer die."""
    evals = record.tables.get("evals")
    if evals is None or not {"split", "subset", "loss"} <= {*evals}:
        return False
    chosen = evals[(evals["split"] == "train") & (evals["subset"] == "all")]
    curve = chosen.groupby("step")["loss"].mean()
    if len(curve) < 2:
        return False
    gained = float(curve.iloc[0] - curve.min())
    return gained > 0 and float(curve.iloc[-1] - curve.min()) >= LOST * gained


def best_step(record: Record) -> int:
    """The probe at which the test accuracy is highest: learning ends, overfitting begins."""
    curve = accuracy(record, "test")
    return int(curve.index.to_numpy()[curve.to_numpy().argmax()])


@cache
def spectra(record: Record, split: str) -> pd.DataFrame:
    """Eigenvalues of the whole network's centred kernel, (steps, ranks)."""
    spectrum = centred(record.tables["spectrum"])
    chosen = spectrum[(spectrum["split"] == split) & (spectrum["layer"] == "total")]
    return chosen.pivot(index="step", columns="rank", values="eigenvalue")


def centred(spectrum: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table `spectrum` that are centred by class; all rows where none is."""
    by_class = spectrum["centring"] == "class"
    return spectrum[by_class] if by_class.any() else spectrum


@cache
def effective_ranks(record: Record, split: str = "train") -> pd.Series:
    table = spectra(record, split)
    return pd.Series([effective_rank(row) for row in table.to_numpy()], table.index)


@cache
def trace_ratio(record: Record, k: int, split: str = "train") -> pd.Series:
    """T_k; one where there are no more than k eigenvalues."""
    table = spectra(record, split)
    return pd.Series([trace_ratios(row)[:k][-1] for row in table.to_numpy()], table.index)


@cache
def cka(record: Record, split: str, *, subset: str = "all", centring: str = "class") -> pd.Series:
    """Alignment of the whole network's kernel with the labels."""
    frame = _aligned(record, split, subset, centring)
    return frame[frame["layer"] == "total"].set_index("step")["cka"].sort_index()


def has_centring(record: Record, kind: str) -> bool:
    return "alignment" in record.tables and kind in set(record.tables["alignment"]["centring"])


@cache
def layer_cka(record: Record, split: str, *, centring: str = "class") -> pd.DataFrame:
    """Alignment of every layer's kernel, (steps, layers from the input on)."""
    frame = _aligned(record, split, "all", centring)
    layers = frame[frame["layer"] != "total"]
    return layers.pivot(index="step", columns="layer_index", values="cka")


def _aligned(record: Record, split: str, subset: str, centring: str) -> pd.DataFrame:
    frame = record.tables["alignment"]
    return frame[
        (frame["split"] == split) & (frame["subset"] == subset) & (frame["centring"] == centring)
    ]
