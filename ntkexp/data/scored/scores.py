"""Difficulty scores of training images: where they come from, and the tenths they make."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ntkexp import components
from ntkexp.data.images.labelled import Labels
from ntkexp.data.images.options import Images
from ntkexp.data.images.sources import files_here as image_files
from ntkexp.data.images.sources import sha256_of
from ntkexp.data.scored.options import Scored
from ntkexp.errors import UserError

FIELDS = ("scores", "labels")
TENTHS = 10


@dataclass(frozen=True)
class Scores:
    """Of the images in the order of their file. `further` decides between equal scores."""

    score: NDArray[np.float64]
    labels: Labels
    further: NDArray[np.float64]


def read_scores(config: Scored, labels: Labels, images: str) -> Scores:
    """Scores for images with these labels, in this order."""
    if config.score_file is None:
        table = config.score.table().sort_values("example")
        where = f"{config.score.path}"
        found = Scores(
            table["score"].to_numpy(float),
            table["label"].to_numpy(np.int64),
            table["probability"].to_numpy(float),
        )
    else:
        where = config.score_file
        found = published(Path(config.score_file).expanduser())
    refuse_other_labels(found.labels, labels, where, images)
    return found


def published(path: Path) -> Scores:
    """A file as Jiang et al. 2021 (https://arxiv.org/abs/2002.03206) publish it."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            found = {name: file[name].reshape(-1) for name in file.files if name in FIELDS}
            there = ", ".join(file.files) or "none"
    except OSError as error:
        raise UserError(f"data.score_file={path}: cannot be read ({error.strerror})") from error
    except (ValueError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise UserError(
            f"data.score_file={path}: is no .npz file; expected one with scores and labels"
        ) from error
    for name in FIELDS:
        if name not in found:
            raise UserError(
                f"data.score_file={path}: no field {name} (there are {there}); expected scores and "
                "labels"
            )
    score, labels = found["scores"], found["labels"]
    if len(score) != len(labels) or not np.isfinite(score).all():
        raise UserError(
            f"data.score_file={path}: {len(score):,} scores and {len(labels):,} labels; expected "
            "as many finite scores as labels"
        )
    return Scores(score.astype(float), labels.astype(np.int64), np.zeros(len(score)))


def refuse_other_labels(found: Labels, labels: Labels, where: str, images: str) -> None:
    """Scores in another order than the images would be other images' scores."""
    if len(found) != len(labels):
        raise UserError(
            f"{where}: scores of {len(found):,} images, {images} has {len(labels):,}; expected one "
            "for each, in the order of its training file"
        )
    if len(other := np.flatnonzero(found != labels)):
        raise UserError(
            f"{where}, row {other[0]}: label {found[other[0]]}, {images} has {labels[other[0]]} "
            f"there ({len(other):,} of {len(labels):,} differ); expected the images in the order "
            "of the file that was scored, and this copy has another"
        )


def tenths(scores: Scores, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which tenth of these images each of them is in by its score: 0 has the lowest.

    >>> of = Scores(np.arange(20.0), np.zeros(20, int), np.zeros(20))
    >>> tenths(of, np.array([19, 0, 5, 1, 18, 6, 7, 8, 9, 10]))
    array([9, 0, 2, 1, 8, 3, 4, 5, 6, 7])
    """
    order = np.lexsort((rows, scores.further[rows], scores.score[rows]))
    found = np.empty(len(rows), dtype=np.int64)
    found[order] = np.arange(len(rows)) * TENTHS // len(rows)
    return found


def files_here(config: Scored) -> Mapping[str, str]:
    """File -> sha256 of the images and of a published file of scores."""
    images = components.find("data", config.images.name)()
    assert isinstance(images, Images)
    found = image_files(images)
    path = Path(config.score_file or "").expanduser()
    if found and path.is_file():
        found[str(path)] = sha256_of(path)
    return found
