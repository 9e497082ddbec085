"""Runs that use files of other runs: found by what makes them, made on demand, never mixed up."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import Tensor

from ntkexp.data.kmnist import Kmnist
from ntkexp.data.mnist import Mnist
from ntkexp.errors import UserError
from ntkexp.references import FromRun
from ntkexp.results.reading import collect
from tests.conftest import TINY_DISK, Ntkexp

# The run that is needed: of the same data, network and seed, trained for twelve steps.
PARENT = """weights={run: disk, set: {
    optim: {steps: 12}, keep: {weights: [5, 12]}, probe: [],
    seed: "${seed}", model: "${model}", data: "${data}"}}"""


def child(*words: str) -> list[str]:
    return ["train", *TINY_DISK, "name=child", " ".join(PARENT.split()), *words]


@pytest.fixture
def only(tmp_path: Path) -> Callable[[str], Path]:
    """The one run of a name."""

    def find(name: str) -> Path:
        (found,) = (tmp_path / "outputs" / name).iterdir()
        return found

    return find


def weights(run: Path, file: str = "weights.pt") -> dict[str, Tensor]:
    found: dict[str, Tensor] = torch.load(run / file, weights_only=True)
    return found


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def test_what_is_missing_is_named_with_the_command_that_makes_it(
    inside: Ntkexp, only: Callable[[str], Path], tmp_path: Path
) -> None:
    refused = inside(*child("weights.file=weights.5.pt"))
    assert refused.returncode == 2
    assert "weights: needs weights.5.pt of outputs/disk/" in refused.stderr
    assert not (tmp_path / "outputs").exists()

    line = refused.stderr.splitlines()[-1]
    made = inside(*shlex.split(line)[1:])
    assert made.returncode == 0, made.stderr
    assert str(only("disk").relative_to(tmp_path)) in refused.stderr

    done = inside(*child("weights.file=weights.5.pt", "optim.steps=1", "optim.lr=1e-12"))
    assert done.returncode == 0, done.stderr
    begun_with, ended = weights(only("disk"), "weights.5.pt"), weights(only("child"))
    assert all(torch.allclose(begun_with[name], ended[name], atol=1e-6) for name in ended)
    assert not same(begun_with, weights(only("disk")))


def test_weights_kept_at_a_step_are_those_of_a_run_of_as_many_steps(
    inside: Ntkexp, only: Callable[[str], Path]
) -> None:
    inside("train", *TINY_DISK, "keep.weights=[0,5,30]")
    inside("train", *TINY_DISK, "name=short", "optim.steps=5")
    long = only("disk")
    assert same(weights(long, "weights.5.pt"), weights(only("short")))
    assert same(weights(long, "weights.30.pt"), weights(long))
    assert not same(weights(long, "weights.0.pt"), weights(long))


def test_parents_are_made_first_and_followed_over_seeds(inside: Ntkexp, tmp_path: Path) -> None:
    words = child("-m", "seed=0,1", "optim.lr=0.1,0.2", "launcher.jobs=2")
    refused = inside(*words)
    assert refused.returncode == 2
    assert "--with-parents" in refused.stderr
    assert not list((tmp_path / "outputs").glob("*/*/status.json"))

    done = inside(*words, "--with-parents")
    assert done.returncode == 0, done.stderr
    assert "needed first: 2 jobs: 2 finished" in done.stdout
    assert "4 jobs: 4 finished" in done.stdout
    parents = {path.name for path in (tmp_path / "outputs" / "disk").iterdir()}
    used = {
        json.loads((run / "run.json").read_text())["hashed"]["weights"]
        for run in (tmp_path / "outputs" / "child").iterdir()
    }
    assert used == {f"run:{name}/weights.pt" for name in parents}
    assert len(parents) == 2
    # The two seeds of a rate are one setting, though their parents differ.
    records = collect([tmp_path / "outputs"])
    assert len({one.setting for one in records if one.experiment == "child"}) == 2
    assert len({one.setting for one in records if one.experiment == "disk"}) == 1

    again = inside(*words)
    assert "4 jobs: 4 done already" in again.stdout


def test_another_file_under_the_same_name_is_refused(
    inside: Ntkexp, only: Callable[[str], Path], tmp_path: Path
) -> None:
    assert inside(*child("--with-parents", "optim.steps=3")).returncode == 0
    parent = only("disk")
    changed = weights(parent)
    changed = {name: tensor + 1 for name, tensor in changed.items()}
    torch.save(changed, parent / "weights.pt")
    damaged = inside(*child("optim.steps=4"))
    assert damaged.returncode == 2
    assert "weights.pt is damaged" in damaged.stderr

    # A parent that was made anew, with other numbers: its own files are sound.
    shutil.rmtree(parent)
    inside("train", *TINY_DISK, "optim.steps=7", "name=other")
    other = only("other")
    shutil.copytree(other, parent)
    refused = inside(*child("optim.steps=3"))
    assert refused.returncode == 2
    assert f"from another file than disk/{parent.name}/weights.pt is now" in refused.stderr


def test_a_reference_run_without_the_file_does_not_stand_for_the_run(
    inside: Ntkexp, only: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept" / "disk").mkdir(parents=True)
    monkeypatch.setenv("NTKEXP_REFERENCE", str(tmp_path / "kept"))
    assert inside(*child("--with-parents", "optim.steps=3")).returncode == 0
    parent, words = only("disk"), child("optim.steps=4")
    kept = parent.rename(tmp_path / "kept" / "disk" / parent.name)
    assert inside(*child("optim.steps=3")).stdout.startswith("done already")
    assert inside(*words).returncode == 0

    (kept / "weights.pt").unlink()
    missing = inside(*child("optim.steps=5"))
    assert missing.returncode == 2
    assert f"weights: needs weights.pt of outputs/disk/{parent.name}" in missing.stderr
    # Where it is one's own, the run must be made again.
    kept.rename(parent)
    lost = inside(*child("optim.steps=5"))
    assert lost.returncode == 2
    assert f"{parent.name}/weights.pt is missing" in lost.stderr
    assert len(lost.stderr.splitlines()) == 1


def test_the_folder_of_a_run_stands_for_it(
    inside: Ntkexp, only: Callable[[str], Path], tmp_path: Path
) -> None:
    inside("train", *TINY_DISK, "optim.steps=3")
    folder = only("disk").relative_to(tmp_path)
    done = inside("train", *TINY_DISK, "name=child", f"weights.run={folder}", "optim.steps=2")
    assert done.returncode == 0, done.stderr
    card = json.loads((only("child") / "run.json").read_text())
    assert card["hashed"]["weights"] == f"run:{folder.name}/weights.pt"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["weights.run=dsik"], "weights.run=dsik: no experiment"),
        (["weights.run=disk", "weights.set=3"], "weights.set=3: expected options"),
        (
            ["weights.run=disk", "weights.set={optim.lrr: 1}"],
            "weights.set.optim.lrr: no such key; did you mean lr?\noptim takes: name, lr, ",
        ),
        (
            ["weights.run=disk", "weights.set={model: foo}"],
            "weights.set: model=foo: no such option",
        ),
        (["weights.run=disk", "weights.set={seed: -1}"], "seed=-1: expected"),
        (["weights.run=disk", "weights.file=../x"], "weights.file=../x: expected the name"),
    ],
)
def test_a_reference_to_nothing_is_refused_in_one_line(
    inside: Ntkexp, tmp_path: Path, words: list[str], told: str
) -> None:
    refused = inside("train", *TINY_DISK, *words)
    assert refused.returncode == 2
    assert told in refused.stderr
    assert len(refused.stderr.splitlines()) <= 2
    assert not (tmp_path / "outputs").exists()


def test_weights_of_another_network_are_refused(
    inside: Ntkexp, only: Callable[[str], Path], tmp_path: Path
) -> None:
    inside("train", *TINY_DISK, "optim.steps=3")
    folder = only("disk").relative_to(tmp_path)
    start = ("train", *TINY_DISK, "name=child", f"weights.run={folder}")
    wider = inside(*start, "model.width=9")
    assert wider.returncode == 2
    assert "has shape (8, 2); this network's has (9, 2)" in wider.stderr
    unknown = inside(*start, "weights.fresh=[head]")
    assert "weights.fresh=['head']: no parameter begins with head" in unknown.stderr
    assert not (tmp_path / "outputs" / "child").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["weights.file=wieghts.pt"], "it writes weights.pt, weights.5.pt, weights.12.pt"),
        (
            ["-m", "weights.file=weights.7.pt"],
            "weights.file=weights.7.pt: disk with these options does",
        ),
        (["weights.file=steps.parquet"], "the name of a file of weights"),
    ],
)
def test_what_a_needed_run_will_not_write_is_refused_before_it_is_made(
    inside: Ntkexp, tmp_path: Path, words: list[str], told: str
) -> None:
    refused = inside(*child(*words, "--with-parents"))
    assert refused.returncode == 2
    assert told in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert not (tmp_path / "outputs").exists()


def test_fresh_layers_are_drawn_as_ever(
    inside: Ntkexp, only: Callable[[str], Path], tmp_path: Path
) -> None:
    inside("train", *TINY_DISK, "optim.steps=3", "keep.weights=[0]")
    trained, drawn = weights(only("disk")), weights(only("disk"), "weights.0.pt")
    last = list(trained)[-2:]
    folder = only("disk").relative_to(tmp_path)
    words = [f"weights.fresh=[{','.join(last)}]", "optim.steps=1", "keep.weights=[0]"]
    inside("train", *TINY_DISK, "name=child", f"weights.run={folder}", *words)
    begun = weights(only("child"), "weights.0.pt")
    for name in trained:
        assert torch.equal(begun[name], (drawn if name in last else trained)[name])


def test_arrays_and_tables_of_a_study_serve_another(
    inside: Ntkexp, only: Callable[[str], Path], tmp_path: Path
) -> None:
    assert inside("study", "study=tests.made_studies.Draws", "name=draws").returncode == 0
    folder = only("draws").relative_to(tmp_path)
    words = [f"study.array.run={folder}", "study.array.file=draw1.npy", f"study.sums.run={folder}"]
    read = ["study", "study=tests.made_studies.Reader", "name=reader", *words]
    done = inside(*read, "study.sums.file=sums.parquet")
    assert done.returncode == 0, done.stderr
    found = pd.read_parquet(only("reader") / "read.parquet")
    assert found["own"].item() == found["theirs"].item()
    lacking = inside(*read, "study.sums.file=summs.parquet")
    assert "has no file summs.parquet; it has draw0.npy, draw1.npy, draw2.npy, " in lacking.stderr
    for kind, file in (("array", "sums.parquet"), ("sums", "draw1.npy")):
        wrong = inside(*read, "study.sums.file=sums.parquet", f"study.{kind}.file={file}")
        assert wrong.returncode == 2
        assert wrong.stderr.splitlines()[-1].startswith(f"ntkexp: study.{kind}: outputs/draws/")
    with pytest.raises(UserError, match="has no column nope, but part, sum; expected a table with"):
        FromRun(file="sums.parquet", folder=str(only("draws"))).table("sum", "nope")


def test_a_file_about_other_data_is_refused(
    inside: Ntkexp, only: Callable[[str], Path], made_images: None
) -> None:
    words = ("study=c_scores", "study.examples=20", "study.ratios=[5]", "study.updates=1")
    assert inside("study", *words, "study.nets=20", "name=scored").returncode == 0
    scores = FromRun(run="scored", file="c_scores.parquet", folder=str(only("scored")))
    scores.refuse_other_data(Mnist().files())
    with pytest.raises(UserError, match=r"about other data \(mnist/.*than kmnist/"):
        scores.refuse_other_data(Kmnist().files())
