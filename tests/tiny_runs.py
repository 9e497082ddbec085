"""Runs of a second, in this process, on images that are made up here."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf._utils import get_yaml_loader
from PIL import Image

from ntkexp.compose import composition
from ntkexp.compose.check import check, shrink
from ntkexp.compose.composition import Composer
from ntkexp.compose.finalise import plan_of
from ntkexp.compose.overrides import ranges_quoted
from ntkexp.errors import Interrupted
from ntkexp.execution.prepare import prepare
from ntkexp.identity import digest, hashed, plain
from ntkexp.results import Run
from ntkexp.studies import stepped
from ntkexp.tangent.independence import checking
from ntkexp.training import supervised
from ntkexp.training.loop import Loop
from ntkexp.training.members import side_by_side as members
from ntkexp.training.prepared import Ready
from tests.made_photographs import make_celeba, make_waterbirds

SHAPES = {"mnist": (28, 28), "kmnist": (28, 28), "cifar10": (32, 32, 3)}
SIZES = {"train": 300, "test": 60}

# A network with examples enough for the probes, trained for a moment.
TINY = (
    "data.train_examples=60",
    "data.test_examples=30",
    "probing.examples=6",
    "optim.batch_size=20",
    "optim.stop_loss=null",
    "progress=false",
    "device=cpu",
)


def make_images(folder: Path) -> None:
    """mnist, kmnist and cifar10 as image parquet: ten blurred kinds of noise, easily told apart;
    celeba and waterbirds as folders of 144 images."""
    make_celeba(folder, copies=4)
    make_waterbirds(folder, copies=4)
    for number, (name, shape) in enumerate(SHAPES.items()):
        rng = np.random.default_rng(number)
        kinds = rng.integers(0, 160, (10, *shape))
        (folder / name).mkdir(parents=True)
        for split, count in SIZES.items():
            labels = rng.permutation(np.arange(count) % 10)
            pixels = kinds[labels] + rng.integers(0, 95, (count, *shape))
            frame = {_column(name): [_png(image) for image in pixels], "label": labels}
            pd.DataFrame(frame).to_parquet(folder / name / f"{split}-00000-of-00001.parquet")


def _column(name: str) -> str:
    return "img" if name == "cifar10" else "image"


def _png(pixels: np.ndarray) -> dict[str, Any]:
    file = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, format="PNG")
    return {"bytes": file.getvalue(), "path": None}


@cache
def composer(name: str) -> Composer:
    """Composes as a sweep does, in a fifth of the time (tests/compose/test_jobs.py)."""
    composition.register()
    GlobalHydra.instance().clear()
    try:
        search_path = create_config_search_path("pkg://ntkexp.configs")
        hydra = Hydra.create_main_hydra2("ntkexp", search_path)
        master = hydra.compose_config(name, [], run_mode=RunMode.MULTIRUN)
        return Composer(hydra.config_loader, master)
    finally:
        GlobalHydra.instance().clear()


class Plain(yaml.CSafeLoader):
    """libyaml with OmegaConf's numbers: 1e-05 is one, which YAML 1.1 takes for a word."""

    yaml_implicit_resolvers = get_yaml_loader().yaml_implicit_resolvers


def read_plain(text: str) -> dict[str, Any]:
    """A kept config as plain values."""
    config = yaml.load(text, Loader=Plain)
    assert isinstance(config, dict)
    return config


def composed(words: Sequence[str], name: str = "train") -> DictConfig:
    """The config that the command line would make of `words`."""
    config = composer(name).compose(ranges_quoted(words))
    if name == "train":
        shrink(config, typed={word.lstrip("+").partition("=")[0] for word in words})
        check(config)
    return config


def identity(config: DictConfig) -> str:
    """The id of the run of a checked config."""
    return digest(hashed(plain(config)))


def prepared(config: DictConfig) -> Ready:
    """All that the run of a checked config needs."""
    return prepare(plan_of(config))


def train(outputs: Path, *words: str, stop_at: int | None = None, command: str = "train") -> Path:
    """Train as `ntkexp train` does, or study, and return the run's folder.

    `stop_at` interrupts it after so many steps: the loop is then asked after every one.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module in (members, supervised, stepped) if stop_at is not None else ():
            patch.setattr(module, "BURST_SECONDS", 0.0)
        return _train(outputs, words, stop_at, command)


def goes_on(folder: Path, *words: str, stop_at: int, command: str = "train") -> Path:
    """A run, whole. Fails where one that is cut short and goes on leaves other files."""
    whole = train(folder / "whole", *words, command=command)
    train(folder / "cut", *words, stop_at=stop_at, command=command)
    assert_same_files(whole, train(folder / "cut", *words, command=command))
    return whole


def assert_same_files(run: Path, other: Path) -> None:
    """Tables, weights and arrays of two runs, byte for byte."""
    files = [file for ending in ("parquet", "pt", "npy") for file in run.glob(f"*.{ending}")]
    assert files
    for file in files:
        assert file.read_bytes() == (other / file.name).read_bytes(), file.name


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(run / f"{name}.parquet")


def assert_agree(ours: pd.DataFrame, theirs: pd.DataFrame, rtol: float, atol: float) -> None:
    """Two tables of one form whose numbers are equal up to rounding, all else exactly."""
    assert ours.dtypes.to_dict() == theirs.dtypes.to_dict()
    for column in ours:
        mine, other = ours[column].to_numpy(), theirs[column].to_numpy()
        if ours[column].dtype.kind == "f":
            np.testing.assert_allclose(mine, other, rtol, atol, err_msg=str(column))
        else:
            np.testing.assert_array_equal(mine, other, err_msg=str(column))


def _train(outputs: Path, words: Sequence[str], stop_at: int | None, command: str) -> Path:
    plan = plan_of(composed([*words, f"paths.outputs={outputs}"], command))
    ready = prepare(plan)
    questions = iter(range(10**9))

    def stop_asked() -> bool:
        return next(questions) == stop_at

    with Run(plan.folder, ready.tables) as run, checking(ready.check, "probing.check=warn"):
        checkpoint = run.resume()
        run.begin(OmegaConf.to_yaml(plan.config, resolve=True), {})
        try:
            loop = Loop(
                ready.work,
                run,
                looks=ready.looks,
                probes=ready.probes,
                device=ready.device,
            )
            if checkpoint is not None:
                loop.restore(checkpoint)
            loop.go(stop_asked)
        except Interrupted:
            assert stop_at is not None
        else:
            run.finish()
    return run.folder
