"""An experiment named lazy/yin_yang, from `train` to the results that the repository keeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ntkexp import results
from ntkexp.results.reading import collect
from ntkexp.scripts.tools import keep_reference
from tests.conftest import TINY_DISK, Ntkexp
from tests.forked import Forked, beside
from tests.installed_project import install

NAME = "lazy/yin_yang"
NAMED = (*TINY_DISK, f"name={NAME}")


def ids(outputs: Path) -> list[str]:
    return sorted(path.parent.name for path in outputs.glob(f"{NAME}/*/status.json"))


def test_its_runs_are_listed_shown_loaded_judged_and_kept(
    inside: Ntkexp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inside("train", *NAMED).returncode == 0
    outputs = tmp_path / "outputs"
    (one,) = ids(outputs)
    assert "done already" in inside("train", *NAMED).stdout
    assert f"outputs/{NAME}/{one}  finished" in inside("list").stdout
    assert inside("show", one[:6]).stdout.startswith(f"outputs/{NAME}/{one}")
    for words in ([], [NAME]):
        capsys.readouterr()
        assert keep_reference.main(words) == 0
        assert f"outputs/reference/{NAME}/{one}" in capsys.readouterr().out
    # Here and there it is one run, and what a run holds is none.
    for root in (outputs, outputs / "lazy", outputs / NAME):
        assert [(r.experiment, r.run) for r in collect([root])] == [(NAME, one)]
    assert set(results.load(outputs)["evals"]["run"]) == {one}
    assert inside("claims", "--figure", "1").returncode == 0


def test_one_id_under_two_names_is_two_runs(inside: Ntkexp, tmp_path: Path) -> None:
    for name in (NAME, "adaptive/yin_yang"):
        assert inside("train", *TINY_DISK, f"name={name}").returncode == 0
    found = collect([tmp_path / "outputs"])
    assert [record.experiment for record in found] == ["adaptive/yin_yang", NAME]
    assert len({record.run for record in found}) == 1


@pytest.mark.parametrize(
    "name", ["a/b/c", "../up", "lazy/..", "/lazy", "lazy/", "reference/lazy", "disk/c57568321b89"]
)
def test_other_slashes_are_refused(inside: Ntkexp, tmp_path: Path, name: str) -> None:
    done = inside("train", *TINY_DISK, f"name={name}")
    assert done.returncode == 2
    assert f"name={name}" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_in_a_folder_of_exp_is_an_experiment(tmp_path: Path) -> None:
    """Here of a project of one's own: found, offered, composed, trained and listed by its paper."""
    site = install(tmp_path / "site")
    exp = site / "own_project" / "configs" / "exp"
    (exp / "others").mkdir()
    text = (exp / "spirals.yaml").read_text().replace("name: spirals", "name: others/turns")
    (exp / "others" / "turns.yaml").write_text(text.replace('"1"', '"5.2"'))
    offered, trained, listed = (
        Forked(words, tmp_path, function=beside(site)).done()
        for words in (
            ["complete", "ntkexp train +exp=others/t"],
            ["train", "+exp=others/turns", "optim.steps=2", "data.examples=20", "progress=false",
             "probing.examples=5"],
            ["list"],
        )
    )  # fmt: skip
    assert offered.stdout.split() == ["+exp=others/turns"]
    assert trained.returncode == 0, trained.stderr
    lines = listed.stdout.splitlines()
    (place,) = (
        n for n, line in enumerate(lines) if line.startswith("ntkexp train +exp=others/turns")
    )
    assert "Fig 5.2" in lines[place]
    assert lines[place - 1] == "others"
    assert lines[place + 1].strip().startswith("outputs/others/turns/")
    (status,) = tmp_path.glob("outputs/others/turns/*/status.json")
    assert json.loads(status.read_text())["state"] == "finished"
