"""The curves that the figures draw, as functions of a run's tables: a value for every look."""

from __future__ import annotations

import pandas as pd

from ntkexp.results.numbers.once import once
from ntkexp.theory.spectrum import effective_rank, trace_ratios


@once
def spectra(spectrum: pd.DataFrame, split: str) -> pd.DataFrame:
    """Eigenvalues of the whole network's centred kernel, (steps, ranks)."""
    centred_ones = centred(spectrum)
    chosen = centred_ones[(centred_ones["split"] == split) & (centred_ones["layer"] == "total")]
    return chosen.pivot(index="step", columns="rank", values="eigenvalue")


def centred(spectrum: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table `spectrum` that are centred by class; all rows where none is."""
    by_class = spectrum["centring"] == "class"
    return spectrum[by_class] if by_class.any() else spectrum


@once
def effective_ranks(spectrum: pd.DataFrame, split: str = "train") -> pd.Series:
    table = spectra(spectrum, split)
    return pd.Series([effective_rank(row) for row in table.to_numpy()], table.index)


@once
def trace_ratio(spectrum: pd.DataFrame, k: int, split: str = "train") -> pd.Series:
    """T_k; one where there are no more than k eigenvalues."""
    table = spectra(spectrum, split)
    return pd.Series([trace_ratios(row)[:k][-1] for row in table.to_numpy()], table.index)


@once
def cka(
    alignment: pd.DataFrame, split: str, *, subset: str = "all", centring: str = "class"
) -> pd.Series:
    """Alignment of the whole network's kernel with the labels."""
    frame = _aligned(alignment, split, subset, centring)
    return frame[frame["layer"] == "total"].set_index("step")["cka"].sort_index()


def has_centring(alignment: pd.DataFrame, kind: str) -> bool:
    return kind in set(alignment["centring"])


@once
def layer_cka(alignment: pd.DataFrame, split: str, *, centring: str = "class") -> pd.DataFrame:
    """Alignment of every layer's kernel, (steps, layers from the input on)."""
    frame = _aligned(alignment, split, "all", centring)
    layers = frame[frame["layer"] != "total"]
    return layers.pivot(index="step", columns="layer_index", values="cka")


def _aligned(alignment: pd.DataFrame, split: str, subset: str, centring: str) -> pd.DataFrame:
    return alignment[
        (alignment["split"] == split)
        & (alignment["subset"] == subset)
        & (alignment["centring"] == centring)
    ]
