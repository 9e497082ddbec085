"""The callbacks follow a training, and look at what a loop that is watched by hand would see."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from torch import distributed

import ntkexp
from ntkexp import callbacks, results
from ntkexp.callbacks.following import Following
from ntkexp.errors import UserError
from ntkexp.foreign.weights import Reader, load_into, steps_of
from tests.callbacks import trainers
from tests.callbacks.trainers import Fit, Net, StandIn, X, Y
from tests.docs.pages import blocks, pages
from tests.forked import Forked

pytestmark = pytest.mark.filterwarnings("ignore")
LOOKED_AT = {"train": (X[:20], Y[:20]), "test": (X[20:], Y[20:])}
BOTH = [
    ("Lightning", "lightning_stand_in"),
    ("HuggingFace", "hugging_face_stand_in"),
    pytest.param(("Lightning", "lightning"), marks=pytest.mark.on_demand),
    pytest.param(("HuggingFace", "hugging_face"), marks=pytest.mark.on_demand),
]


@pytest.fixture(params=BOTH, ids=lambda pair: pair[1])
def trainer(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> tuple[str, Fit]:
    monkeypatch.chdir(tmp_path)
    name, maker = request.param
    for home in ("lightning", "huggingface"):
        monkeypatch.delitem(sys.modules, f"ntkexp.callbacks.{home}", raising=False)
    return name, getattr(trainers, maker)(monkeypatch, tmp_path)


def following(name: str, **options: Any) -> Any:
    return getattr(callbacks, name)(batches=LOOKED_AT, out="outputs/mine/0", **options)


def tables() -> dict[str, pd.DataFrame]:
    return dict(results.read(Path("outputs/mine/0")).tables)


def steps(table: str = "evals") -> list[int]:
    return sorted(tables()[table]["step"].unique())


def test_it_sees_what_a_watched_loop_sees(trainer: tuple[str, Fit]) -> None:
    name, fit = trainer
    fit(following(name, probes=["spectrum"]), 8)
    seen = tables()
    assert steps() == [0, 5, 6, 7, 8]
    by_hand = StandIn()
    with ntkexp.watch(
        by_hand.network, batches=LOOKED_AT, out="outputs/by_hand/0", probes=["spectrum"]
    ) as w:
        by_hand.train(8, 1, lambda loss: w.after_step(by_hand.step, loss))
    expected = results.read(Path("outputs/by_hand/0")).tables
    # Of Hugging Face's trainer the first batches are others: it shuffles them.
    both = [table["spectrum"].query("step == 0") for table in (seen, expected)]
    pd.testing.assert_frame_equal(*both)
    if name == "Lightning":
        for table in ("evals", "losses", "spectrum"):
            pd.testing.assert_frame_equal(seen[table], expected[table], rtol=1e-5)


def test_accumulated_gradients_count_as_updates(trainer: tuple[str, Fit]) -> None:
    name, fit = trainer
    losses = fit(following(name), 6, accumulate=2)
    assert steps() == [0, 5, 6]
    if name == "Lightning":
        kept = tables()["losses"]
        assert kept["step"].tolist() == [1, 2, 3, 4, 5, 6]
        means = [sum(losses[i : i + 2]) / 2 for i in range(0, 12, 2)]
        assert kept["loss"].tolist() == pytest.approx(means, rel=1e-6)


def test_a_second_start_goes_on_or_begins_anew_or_ends_with_a_line(
    trainer: tuple[str, Fit],
) -> None:
    name, fit = trainer
    fit(following(name), 8)
    before = tables()["evals"]
    with pytest.raises(SystemExit, match=r"ntkexp: outputs/mine/0: holds a run.*anew=True"):
        fit(following(name), 8)
    pd.testing.assert_frame_equal(tables()["evals"], before)
    fit(following(name, anew=True), 10, goes_on=True)  # nothing of before is lost
    assert steps() == [0, 5, 6, 7, 8, 10]
    pd.testing.assert_frame_equal(tables()["evals"].iloc[: len(before)], before)
    fit(following(name, anew=True), 5)
    assert steps() == [0, 5]


def test_an_interrupted_training_leaves_its_folder_free(trainer: tuple[str, Fit]) -> None:
    name, fit = trainer
    with pytest.raises(KeyboardInterrupt):
        fit(following(name), 8, fails_at=6)
    fit(following(name, anew=True), 5)  # in the same process, as in a notebook
    assert steps() == [0, 5]


def test_checkpoints_are_kept_at_the_same_steps_for_the_command(trainer: tuple[str, Fit]) -> None:
    name, fit = trainer
    fit(getattr(callbacks, name)(checkpoints="ck"), 9)
    reader, network = Reader(), Net()
    found = steps_of([*Path("ck").iterdir()], (), reader)
    assert [*found] == [0, 5, 6, 7, 8, 9]
    assert not Path("outputs").exists()
    load_into(network, found[0], reader)
    for ours, first in zip(network.parameters(), Net().parameters(), strict=True):
        assert ours.equal(first)


def test_what_is_missing_is_told(trainer: tuple[str, Fit]) -> None:
    name, _ = trainer
    for options in ({}, {"out": "outputs/mine/0"}, {"batches": LOOKED_AT, "checkpoints": "ck"}):
        with pytest.raises(UserError, match=r"expected batches and out.* or checkpoints"):
            getattr(callbacks, name)(**options)


def one_of_two(words: Sequence[str]) -> int:
    """A process of a training of two."""
    rank, meeting = words
    distributed.init_process_group("gloo", f"file://{meeting}", rank=int(rank), world_size=2)
    callback = Following(batches=LOOKED_AT, out="outputs/mine/0")
    try:
        callback.begin(Net(), 0, print)
        callback.after(5, None, print)
        callback.end()
    except SystemExit as told:
        print(told)
    finally:
        distributed.destroy_process_group()
    return 0


def test_of_two_processes_one_looks_and_both_hear_of_a_refusal(tmp_path: Path) -> None:
    said = []
    for start in ("first", "second"):
        words = [[rank, str(tmp_path / start)] for rank in "01"]
        both = [Forked(one, tmp_path, function=one_of_two) for one in words]
        said.append([one.done() for one in both])
    assert [one.stdout for one in said[0]] == ["", ""]
    evals = results.read(tmp_path / "outputs/mine/0").tables["evals"]
    assert sorted(evals["step"].unique()) == [0, 5]
    for one in said[1]:
        assert one.stdout.startswith("ntkexp: outputs/mine/0: holds a run"), one.stderr


def test_its_blocks_run_as_they_stand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of docs/own_network.md."""
    monkeypatch.chdir(tmp_path)
    fit = trainers.lightning_stand_in(monkeypatch, tmp_path)
    given: list[Any] = []
    lightning = SimpleNamespace(Trainer=lambda callbacks: given.extend(callbacks))
    known = {"lightning": lightning, "x": X, "y": Y, "x_test": X, "y_test": Y}
    for block in blocks(pages()["docs/own_network.md"]):
        if block.mark.word == "run by":
            exec(block.text, known)
    for callback in given:
        fit(callback, 5)
    assert [path.name for path in sorted(Path("ck").iterdir())] == ["step=0.ckpt", "step=5.ckpt"]
    assert steps() == [0, 5]


@pytest.mark.parametrize(
    ("name", "package"), [("Lightning", "lightning"), ("HuggingFace", "transformers")]
)
def test_a_package_that_is_not_installed_is_told(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in ("lightning", "huggingface"):
        monkeypatch.delitem(sys.modules, f"ntkexp.callbacks.{home}", raising=False)
    for module in (package, f"{package}.pytorch"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"pip install 'ntkexp\[{package}\]'"):
        getattr(callbacks, name)
