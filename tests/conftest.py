"""What tests share: the real command line, real images, and one thread a test."""

from __future__ import annotations

import logging
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from ntkexp.cli import main
from tests.environment import REACHED, REAL_IMAGES, SCRATCH
from tests.forked import Forked
from tests.quick_hydra import make_quick
from tests.tiny_runs import SHAPES, make_images

hypothesis.settings.register_profile("ntkexp", derandomize=True, deadline=None)
hypothesis.settings.load_profile("ntkexp")

Ntkexp = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., Forked]
SmallDisk = Callable[[str], Path]
Script = Callable[[str], Callable[[list[str]], int]]

SCRIPTS = Path(__file__).parents[1] / "scripts"

# Overrides that make the disk experiment a matter of milliseconds.
TINY_DISK = (
    "+exp=disk",
    "model.depth=2",
    "model.width=8",
    "data.train_examples=40",
    "data.grid=6",
    "probe.eigenfunctions.count=4",
    "optim.steps=30",
    "progress=false",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs real images, and leave out what runs on demand unless -m names it. On a GPU
    warnings are no errors."""
    for item in items:
        if isinstance(item, pytest.Function) and "real_images" in item.fixturenames:
            item.add_marker("images")
        if "cuda" in item.keywords:
            item.add_marker(pytest.mark.filterwarnings("default"))
    if "on_demand" not in config.option.markexpr:
        asked = [item for item in items if "on_demand" not in item.keywords]
        config.hook.pytest_deselected(items=[one for one in items if one not in asked])
        items[:] = asked
    # The longest first: none of them is then what the last process is waited for.
    items.sort(key=lambda item: "slow" not in item.keywords)


def pytest_unconfigure() -> None:
    shutil.rmtree(SCRATCH, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def composes_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        make_quick(patch)
        yield


@pytest.fixture(autouse=True)
def stays_on_this_machine() -> Iterator[None]:
    """Fails a test that reached beyond it, or one of whose processes did."""
    yield
    if REACHED.exists():
        reached = REACHED.read_text()
        REACHED.unlink()
        pytest.fail(f"reached beyond this machine:\n{reached}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Makes a file system of its own, of the given size; asked again, it changes that size."""
    folder = tmp_path / "disk"

    def mounted(options: str) -> Path:
        given = f"remount,{options}" if folder.exists() else options
        folder.mkdir(exist_ok=True)
        words = ["mount", "-t", "tmpfs", "-o", given, "ntkexp-test", str(folder)]
        if subprocess.run(words, capture_output=True).returncode:
            pytest.skip("this user may not mount a file system")
        return folder

    yield mounted
    if folder.is_mount():
        # Lazily: a test's memory maps of its files may still be open.
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def ntkexp(tmp_path: Path) -> Ntkexp:
    """The command line as a user has it: a process of its own, in a folder of its own."""

    def run(
        *words: str, cwd: Path = tmp_path, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "ntkexp", *words],
            cwd=cwd,
            env=os.environ | environment,
            capture_output=True,
            text=True,
        )

    return run


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a command in a fork of this process, for what is to be killed or watched."""
    started: list[Forked] = []

    def begin(*words: str, cwd: Path = tmp_path, **environment: str) -> Forked:
        started.append(Forked(words, cwd, environment))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Ntkexp]:
    """The same in the test's own process, for what needs none of its own: seconds quicker."""
    root, handlers, level = logging.root, logging.root.handlers[:], logging.root.level

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        capsys.readouterr()
        code = main(words)
        return subprocess.CompletedProcess(words, code, *capsys.readouterr())

    yield run
    # hydra.verbose=true would go on logging, to the stream of a test that is over.
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def every_figure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every figure of the reference results, which takes minutes."""
    folder = tmp_path_factory.mktemp("every figure")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("NTKEXP_REFERENCE")
        patch.chdir(folder)
        assert main(["figures", "--reference"]) == 0
    return folder


@pytest.fixture(scope="session")
def one_disk_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outputs with one finished run of TINY_DISK, to copy."""
    outputs = tmp_path_factory.mktemp("one disk run") / "outputs"
    assert main(["train", *TINY_DISK, f"paths.outputs={outputs}"]) == 0
    return outputs


@pytest.fixture
def disk_run(one_disk_run: Path, tmp_path: Path) -> Path:
    """The folder of a finished run of TINY_DISK in the test's own outputs/."""
    shutil.copytree(one_disk_run, tmp_path / "outputs")
    (run,) = tmp_path.glob("outputs/disk/*")
    return run


@pytest.fixture
def script() -> Script:
    """The `main` of a figure's script, by its stem."""

    def load(stem: str) -> Callable[[list[str]], int]:
        (path,) = SCRIPTS.glob(f"*/{stem}.py")
        main: Callable[[list[str]], int] = runpy.run_path(str(path))["main"]
        return main

    return load


@pytest.fixture
def real_images(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of real images, which NTKEXP_DATA named; decoded once into pytest's own cache."""
    if not REAL_IMAGES:
        pytest.skip("needs real images: NTKEXP_DATA does not say where they are")
    root = Path(REAL_IMAGES).expanduser()
    lacking = [n for n in SHAPES if not (root / n / "train-00000-of-00001.parquet").is_file()]
    if lacking:
        pytest.skip(f"needs real images: {root} has no parquet of {', '.join(lacking)}")
    assert request.config.cache is not None
    monkeypatch.setenv("NTKEXP_DATA", str(root))
    monkeypatch.setenv("NTKEXP_CACHE", str(request.config.cache.mkdir("ntkexp")))
    return root


@pytest.fixture(scope="session")
def images_on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    make_images(folder / "data")
    return folder


@pytest.fixture
def made_images(images_on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small images of every kind, made up, for this process and its children."""
    monkeypatch.setenv("NTKEXP_DATA", str(images_on_disk / "data"))
    monkeypatch.setenv("NTKEXP_CACHE", str(images_on_disk / "cache"))


@pytest.fixture(scope="module")
def module_images(images_on_disk: Path) -> Iterator[None]:
    """The same for a whole file, and for its fixtures that live as long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NTKEXP_DATA", str(images_on_disk / "data"))
        patch.setenv("NTKEXP_CACHE", str(images_on_disk / "cache"))
        yield
