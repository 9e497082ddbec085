"""The cost of each experiment: time of one core, on a busy machine of two; where no run is kept
yet, reckoned from measured updates."""

from __future__ import annotations

from collections.abc import Callable

from ntkexp.claims.effort import Cost
from ntkexp.claims.horizon import Horizon

COSTS: dict[str, str | Callable[[str, Horizon], Cost]] = {
    "curvature/amortised_ekfac": "16 minutes",
    "curvature/amortised_kfac": "half an hour for both periods",
    "curvature/amortised_ra": "14 minutes",
    "curvature/autoencoder_200": "17 minutes for all three",
    "curvature/autoencoder_adam": "6 minutes a seed",
    "curvature/autoencoder_ekfac": "16 minutes a seed",
    "curvature/autoencoder_kfac": "12 minutes a seed",
    "curvature/autoencoder_ra": "15 minutes a seed",
    "curvature/autoencoder_seconds": "a minute",
    "curvature/autoencoder_sgd": "6 minutes a seed",
    "curvature/drift": "2 minutes a seed",
    "curvature/noise_ekfac": "10 minutes for all nine",
    "curvature/preconditioned_vgg11": "8 minutes",
    "curvature/representations_resnet18": "an hour, reckoned from a trial",
    "curvature/representations_vgg11": "20 minutes, reckoned from a trial",
    "curvature/rescaling": "a second",
    "curvature/resnet34_batches": "an hour for all six",
    "curvature/resnet34_kfac": "12 minutes",
    "curvature/resnet34_ra": "12 minutes",
    "curvature/resnet34_schedule_kfac": "100 minutes",
    "curvature/resnet34_schedule_ra": "100 minutes",
    "curvature/resnet34_seconds": "3 minutes",
    "curvature/resnet34_sgd_norm": "10 minutes",
    "curvature/search": "40 minutes a method",
    "curvature/search_printed": "40 minutes a method, less where points diverge",
    "curvature/search_resnet34": "4 minutes a method",
    "curvature/search_vgg11": "4 minutes a method, EKFAC 15",
    "curvature/search_vgg11_plain": "10 minutes a method, EKFAC 25",
    "curvature/spectrum": "20 minutes",
    "curvature/vgg11_batches": "26 minutes for all nine",
    "curvature/vgg11_ekfac": "24 minutes",
    "curvature/vgg11_kfac": "8 minutes",
    "curvature/vgg11_kfac_200": "10 minutes",
    "curvature/vgg11_ra": "11 minutes",
    "curvature/vgg11_schedule_kfac": "15 minutes",
    "curvature/vgg11_schedule_ra": "15 minutes",
    "curvature/vgg11_seconds": "3 minutes",
    "curvature/vgg11_sgd": "7 minutes",
    "curvature/vgg11_sgd_norm": "9 minutes",
}
