"""Images for runs of a second."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_runs import make_images


@pytest.fixture(scope="session")
def image_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    make_images(folder / "data")
    return folder


@pytest.fixture(autouse=True)
def images(image_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NTKEXP_DATA", str(image_folder / "data"))
    monkeypatch.setenv("NTKEXP_CACHE", str(image_folder / "cache"))
