from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ntkexp.studies import fourier_modes
from ntkexp.studies.fourier_modes import FourierModes


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return FourierModes(seeds=2).run()


def test_frequency_grows_with_the_index_at_about_half_its_rate(
    tables: dict[str, pd.DataFrame],
) -> None:
    for _, peaks in tables["peak_frequency"].groupby("seed"):
        first_half = peaks[peaks["mode"] < 25]
        assert stats.spearmanr(first_half["mode"], first_half["frequency"]).statistic > 0.85
        slope = np.polyfit(first_half["mode"], first_half["frequency"], 1)[0]
        assert 0.3 < slope < 0.7


def test_the_spectrum_decays_fast_and_ends_in_the_centred_kernels_null_mode(
    tables: dict[str, pd.DataFrame],
) -> None:
    eigenvalues = tables["peak_frequency"].pivot(index="mode", columns="seed", values="eigenvalue")
    assert (eigenvalues.loc[10] / eigenvalues.loc[0] < 0.05).all()
    assert (eigenvalues.loc[49] < 1e-12 * eigenvalues.loc[0]).all()


def test_the_transform_of_a_cosine_peaks_at_its_frequency_with_all_its_energy() -> None:
    x = np.arange(50) / 50
    vector = np.cos(2 * np.pi * 7 * x)
    vector /= np.linalg.norm(vector)
    config = FourierModes(shown=[0])
    vectors = np.column_stack([vector] * 50)
    peaks = fourier_modes.describe(config, 0, np.ones(50), vectors)["peak_frequency"]
    assert (peaks["frequency"] == 7).all()
    np.testing.assert_allclose(peaks["share"], 1.0, rtol=1e-12)


def test_eigenvectors_are_of_unit_length_and_start_above_zero(
    tables: dict[str, pd.DataFrame],
) -> None:
    for _, vector in tables["eigenvectors"].groupby(["seed", "mode"]):
        assert np.linalg.norm(vector["value"]) == pytest.approx(1.0, rel=1e-12)
        assert vector["value"].iloc[0] >= 0
