"""`ntkexp.run`: the run that the command line makes, from a process that goes on afterwards."""

from __future__ import annotations

import logging
import os
import random
import re
import runpy
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.version import VersionBase
from omegaconf import OmegaConf

import ntkexp
from ntkexp import progress, results
from ntkexp.commands.train import Train
from ntkexp.compose.words import word, words_of
from tests.conftest import TINY_DISK, Ntkexp
from tests.forked import Forked

DISK = TINY_DISK[1:]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def state() -> dict[str, Any]:
    """All that a run could leave changed in its process."""
    backends: Any = torch.backends
    return {
        "threads": torch.get_num_threads(),
        "pools": [one["num_threads"] for one in __import__("threadpoolctl").threadpool_info()],
        "matmul": torch.get_float32_matmul_precision(),
        "tf32": (backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32),
        "precision": [
            one.fp32_precision
            for one in (backends, backends.cuda.matmul, backends.cudnn.conv, backends.mkldnn.matmul)
        ],
        "cudnn": (backends.cudnn.deterministic, backends.cudnn.benchmark),
        "dtype": torch.get_default_dtype(),
        "grad": torch.is_grad_enabled(),
        "random": (random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "warnings": list(warnings.filters),
        "folder": Path.cwd(),
        "arguments": list(sys.argv),
        "environment": dict(os.environ),
        "logging": (list(logging.root.handlers), logging.root.level),
        "hydra": (dict(GlobalHydra.instance().__dict__), VersionBase.instance().version_base),
    }


def test_a_run_comes_back_with_its_tables_and_is_the_command_lines(
    here: Path, inside: Ntkexp
) -> None:
    run = ntkexp.run("disk", DISK)
    assert list(run.tables["steps"]["step"]) == list(range(30))
    assert run.config["model.width"] == 8
    assert run.folder == Path("outputs/disk", run.run)
    assert repr(run).startswith(f"<run disk/{run.run}: ")
    done = inside("train", *TINY_DISK)
    assert done.stdout == f"done already: outputs/disk/{run.run}  (--rerun does it again)\n"


def test_a_run_that_was_done_is_loaded(here: Path) -> None:
    first = ntkexp.run("disk", DISK, runs="kept")
    assert first.folder is not None
    written = (first.folder / "status.json").stat().st_mtime_ns
    again = ntkexp.run("disk", DISK, runs=here / "kept")
    assert (first.folder / "status.json").stat().st_mtime_ns == written
    kept = results.read(first.folder)
    for name, table in first.tables.items():
        pd.testing.assert_frame_equal(table, again.tables[name])
        pd.testing.assert_frame_equal(table, kept.tables[name])
    assert not (here / "outputs").exists()


@pytest.mark.parametrize(
    ("overrides", "same"),
    [
        ({"study.n": 12, "study.seed": np.int64(3)}, ["study.n=12", "study.seed=3"]),
        ({"study": "linear_modes", "study.n": 12}, ["study.n=12"]),
        ({"study": {"n": 12, "features": 50}}, ["study.n=12", "study.features=50"]),
    ],
    ids=str,
)
def test_overrides_are_a_dict_or_words(
    here: Path, overrides: Mapping[str, Any], same: list[str]
) -> None:
    assert ntkexp.run("linear_modes", overrides).run == ntkexp.run("linear_modes", same).run


def test_a_run_needs_no_experiment(here: Path) -> None:
    run = ntkexp.run(overrides={"study": "linear_modes", "study.n": 12})
    assert (run.experiment, run.config["study.n"]) == ("adhoc", 12)


@pytest.mark.parametrize("tf32", [False, True])
@pytest.mark.parametrize("matmul", ["highest", "medium"])
def test_the_process_is_left_as_it_was_found(here: Path, matmul: str, tf32: bool) -> None:
    flags = {"deterministic": False, "benchmark": False, "allow_tf32": True}
    with torch.backends.cudnn.flags(enabled=True, **flags):
        before_test = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision(matmul)
        try:
            before = state()
            ntkexp.run("disk", {**dict(word.split("=") for word in DISK), "tf32": tf32})
            assert state() == before
        finally:
            torch.set_float32_matmul_precision(before_test)


def test_several_threads_do_not_disturb_a_run_nor_it_them(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        run = ntkexp.run("disk", [*DISK, "launcher.threads=1"])
        assert run.life["threads"] == 1
        assert torch.get_num_threads() == 2
        assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
    finally:
        torch.set_num_threads(before)


FRESH = """
import os, signal, sys, warnings
import ntkexp
for heavy in ("torch", "numpy", "pandas", "hydra", "omegaconf"):
    assert heavy not in sys.modules, heavy
def callers():
    # PyTorch sets two of its own when it is imported.
    own = ("KMP_DUPLICATE_LIB_OK", "TORCHINDUCTOR_CACHE_DIR")
    environment = {name: text for name, text in os.environ.items() if name not in own}
    return environment, signal.getsignal(signal.SIGINT), os.getcwd(), list(sys.argv)
before = callers()
ntkexp.run("disk", sys.argv[1:])
assert before == callers()
import torch, tqdm
# It takes a second, and torch imports it for much that does not need it.
assert "torch._inductor" not in sys.modules and "torch._dynamo" not in sys.modules
assert torch.get_num_threads() == int(os.environ["OMP_NUM_THREADS"])
assert torch.backends.cudnn.allow_tf32 and not torch.backends.cudnn.benchmark
assert tqdm.tqdm.monitor_interval == 10
"""


def test_importing_is_light_and_a_fresh_process_stays_its_callers(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH, *DISK, "optim.steps=2"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "2"},
        check=True,
    )


APPLICATION = """
import hydra, ntkexp
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.hydra_config import HydraConfig

@hydra.main(version_base="1.2", config_path="conf", config_name="main")
def main(config):
    session = GlobalHydra.instance()
    before = session.hydra
    for width in config.widths:
        run = ntkexp.run("disk", [*config.overrides, f"model.width={width}"], runs="runs")
        print(run.config["model.width"], len(run.tables["evals"]))
    assert session.hydra is before and HydraConfig.get().job.name == "application"
    assert str(hydra.version.getbase()) == "1.2"
    again = hydra.compose("main", overrides=["model=own"])
    assert again.model == {"mine": 1}, again.model
    try:
        hydra.compose("main", overrides=["model=mlp"])
    except hydra.errors.MissingConfigException:
        print("mlp is none of this application's models")

main()
"""


def application(words: Sequence[str]) -> int:
    sys.argv = ["application.py", *words]
    runpy.run_path("application.py", run_name="__main__")
    return 0


def test_a_run_inside_a_hydra_application(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    (conf / "model").mkdir(parents=True)
    (conf / "model" / "own.yaml").write_text("mine: 1\n")
    overrides = [word for word in DISK if not word.startswith("model.width")]
    main = {"defaults": [{"model": "own"}, "_self_"], "widths": [8, 9], "overrides": overrides}
    OmegaConf.save(OmegaConf.create(main), conf / "main.yaml")
    (tmp_path / "application.py").write_text(APPLICATION)
    words = ["hydra.output_subdir=null", "hydra.run.dir=."]
    done = Forked(words, tmp_path, function=application).done()
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if not line.startswith("finished")]
    assert [line.split()[0] for line in said] == ["8", "9", "mlp"]
    assert {path.name for path in tmp_path.iterdir()} >= {"runs", "conf"}
    assert not (tmp_path / "outputs").exists()


def test_runs_from_threads(here: Path) -> None:
    found: dict[int, results.Record] = {}

    def make(seed: int) -> None:
        found[seed] = ntkexp.run("disk", [*DISK, f"seed={seed}"])

    threads = [threading.Thread(target=make, args=(seed,)) for seed in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {seed: run.seed for seed, run in found.items()} == {0: 0, 1: 1}
    assert found[0].run != found[1].run


def at(step: int, act: Callable[[], object]) -> progress.Listener:
    """Does `act` once, when so many steps are done."""
    waiting = [act]

    def listen(task: progress.Progress) -> None:
        if task.label == "training" and task.done >= step and waiting:
            waiting.pop()()

    return listen


def test_ctrl_c_leaves_a_run_that_goes_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [*DISK, "optim.steps=31"]
    whole = ntkexp.run("disk", words, runs="whole")
    monkeypatch.setattr("ntkexp.training.supervised.BURST_SECONDS", 0.0)
    # A shell starts what it puts in the background with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with (
            progress.reporting_to(at(10, lambda: signal.raise_signal(signal.SIGINT))),
            pytest.raises(KeyboardInterrupt),
        ):
            ntkexp.run("disk", words)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    folder = here / "outputs" / "disk" / whole.run
    status = results.read_status(folder)
    assert status is not None
    assert (status["state"], status["reason"]) == ("interrupted", "SIGINT")
    with pytest.raises(ntkexp.UserError, match="is interrupted; expected a run that is finished"):
        results.read(folder)
    resumed = ntkexp.run("disk", words)
    for name, table in whole.tables.items():
        pd.testing.assert_frame_equal(table, resumed.tables[name])


def test_a_second_ctrl_c_stops_where_it_is(here: Path) -> None:
    def impatient() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with progress.reporting_to(at(1, impatient)), pytest.raises(KeyboardInterrupt):
        ntkexp.run("disk", DISK)
    assert ntkexp.run("disk", DISK).iteration == 30


@pytest.mark.parametrize(
    ("experiment", "overrides", "told"),
    [
        ("dsk", {}, "dsk: no such experiment; did you mean disk?"),
        ("disk", {"optim.lr": object()}, "optim.lr: got a object; expected a number"),
        ("disk", "seed=1", "'seed=1': expected a list of overrides, ['seed=1'], or a dict"),
        ("disk", ["--rerun"], "'--rerun': cannot be read (no =); expected key=value"),
        ("disk", ["seed=0,1"], "seed=0,1: several values; expected one run a call"),
        ("disk", {"hydra.verbose": True}, "hydra.verbose=true: cannot be set here"),
        ("disk", {"exp": "supernat"}, "exp=supernat: cannot be set here; expected ntkexp.run"),
        (None, {}, "optim.epochs and optim.steps are both null"),
    ],
)
def test_bad_input_is_told_as_on_the_command_line(
    here: Path, experiment: str, overrides: Any, told: str
) -> None:
    with pytest.raises(ntkexp.UserError) as caught:
        ntkexp.run(experiment, overrides)
    assert str(caught.value).startswith(told)
    assert len(str(caught.value).splitlines()) <= 2
    assert not list(here.iterdir())


def test_a_run_that_diverges_is_no_result(here: Path) -> None:
    for _ in range(2):
        with pytest.raises(ntkexp.RunFailed, match="the loss is not finite at step") as caught:
            ntkexp.run("disk", [*DISK, "optim.lr=1e30"])
        assert re.search(r"before it was 0\.\d+; lower optim\.lr$", str(caught.value))
    assert results.read_status(Path(str(caught.value.folder)))["state"] == "failed"  # type: ignore[index]


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ntkexp.UserError, match="is no run; expected a folder that holds"):
        results.read(tmp_path)
    with pytest.raises(ntkexp.UserError, match="0e8d2c: no run folder and no run's id under"):
        results.read("0e8d2c")


def test_a_run_is_read_by_its_id_and_one_that_was_killed_says_what_resumes_it(here: Path) -> None:
    run = ntkexp.run("disk", DISK)
    assert results.read(run.run[:8]).run == run.run
    with pytest.raises(ntkexp.UserError, match=r"^no table eval; did you mean evals\?; there are"):
        run.tables["eval"]
    with pytest.raises(KeyError, match=r"no such key; did you mean model\.width\?; there a"):
        run.config["model.widht"]
    assert "eval" not in run.tables and run.config.get("model.widht") is None
    killed = here / "outputs" / "disk" / "0123456789ab"
    killed.mkdir()
    (killed / "status.json").write_text('{"state": "running"}')
    told = r"is stopped; expected a run that is finished \(the same command resumes it\)"
    with pytest.raises(ntkexp.UserError, match=told):
        results.read(killed)


def test_steps_beyond_the_last_whose_weights_are_to_be_kept_are_told(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ntkexp.run("disk", [*DISK, "keep.weights=[10,9999]"])
    assert "keep.weights=[9999]: beyond the last step, 30\n" in capsys.readouterr().err
    assert run.folder is not None and (run.folder / "weights.10.pt").exists()


def test_a_tilde_is_the_home_folder_wherever_a_path_is_taken(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(here))
    assert ntkexp.run("disk", DISK, runs="~/mine").folder.is_relative_to(here)  # type: ignore[union-attr]
    assert len(results.runs("~/mine")) == len(results.load("~/mine")["evals"]["run"].unique()) == 1
    (kept,) = results.runs("~/mine")
    assert results.read(f"~/mine/disk/{kept.name}").folder == kept
    asked = Train.parsed(["--config-dir", "~/c", "study.file=~/n.npz", "paths.outputs='~/o'"])
    assert asked.config_dir == f"{here}/c"
    assert asked.overrides == [f"study.file={here}/n.npz", f"paths.outputs='{here}/o'"]
    batches = {name: (torch.randn(4, 2), torch.arange(4) % 2) for name in ("train", "test")}
    with ntkexp.watch(torch.nn.Linear(2, 2), batches=batches, out="~/w/0"):
        pass
    assert (here / "w" / "0" / "status.json").exists()
    assert sorted(path.name for path in here.iterdir()) == ["mine", "w"]


def test_a_notebook_has_a_bar_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from tqdm import notebook

    kernel = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: kernel))
    monkeypatch.setattr(notebook, "IProgress", None)
    assert progress.bar_here() is None
    monkeypatch.setattr(notebook, "IProgress", object)
    bar = progress.bar_here()
    assert bar is not None
    assert issubclass(bar, notebook.tqdm)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert progress.bar_here() is None


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    given = {"optim.lr": np.float64(0.01), "seed": np.int64(3), "probing.losses": [np.float64(0.5)]}
    assert words_of(given) == ["optim.lr=0.01", "seed=3", "probing.losses=[0.5]"]


@pytest.mark.parametrize("text", ["a\\b c", "it's", "\\'", "two\\\\", "a\\'\\"])
def test_a_word_is_read_as_it_was_meant(text: str) -> None:
    assert OverridesParser.create().parse_override(f"name={word(text)}").value() == text
