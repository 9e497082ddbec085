"""What a user sees of the command line."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import ntkexp as package
from ntkexp.cli import main
from ntkexp.commands.command import FILES, names_of
from ntkexp.commands.command import find as command_of
from ntkexp.components import find
from ntkexp.errors import UserError
from tests.conftest import TINY_DISK, Ntkexp, Start

QUICK = """
import sys
from ntkexp.cli import main
for words, heavy in (
    (["--help"], {"hydra", "omegaconf", "yaml", "numpy"}),
    (["--version"], {"hydra", "omegaconf", "yaml", "numpy"}),
    *((words, {"torch", "numpy", "pandas", "matplotlib", "scipy"}) for words in (
        ["list"], ["complete", "ntkexp train data="], ["complete", "ntkexp study study="],
        ["complete", "ntkexp train probe="],
    )),
):
    assert main(words) == 0
    assert not heavy & set(sys.modules), (words, heavy & set(sys.modules))
"""

HYDRAS = ("resolve", "run", "info", "package")  # flags of Hydra's own, of which help says nothing


def test_quick_answers_load_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", QUICK], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", FILES)
def test_help_of_a_command_tells_its_flags(command: str, inside: Ntkexp) -> None:
    told = inside(command, "--help").stdout
    assert told.startswith(f"usage: ntkexp {command}")
    assert all(len(line) < 100 for line in told.splitlines())
    told = " ".join(told.split())
    for flag in command_of(command).flags():
        about, takes = flag.metadata["about"], flag.metadata["takes"]
        word = f"{names_of(flag)[-1]} {takes}" if takes else names_of(flag)[0]
        assert (f" {word} {about}" in told) if about else flag.name in HYDRAS


def test_help_names_every_command(inside: Ntkexp) -> None:
    told = inside("--help").stdout
    assert all(f"ntkexp {command}" in told for command in FILES)


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "ntkexp", "list"],
        cwd=tmp_path,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == ""


def on_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = ["sh", "-c", f"{sys.executable} -m ntkexp {line}"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("output", [">&-", "> /dev/full", "| true"])
def test_a_run_that_nobody_hears_of_is_done(tmp_path: Path, output: str) -> None:
    shell = on_shell(f"train {' '.join(map(shlex.quote, TINY_DISK))} {output}", tmp_path)
    assert shell.returncode == 0
    assert shell.stderr == ""
    [status] = tmp_path.glob("outputs/disk/*/status.json")
    assert json.loads(status.read_text())["state"] == "finished"


def test_an_answer_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    full = on_shell("list > /dev/full", tmp_path)
    assert full.returncode == 2
    assert full.stderr == "ntkexp: standard output: No space left on device\n"
    assert on_shell("list >&-", tmp_path).stderr == ""


def test_version(inside: Ntkexp) -> None:
    assert inside("--version").stdout == f"ntkexp {package.__version__}\n"
    told = inside("--version", "--verbose").stdout
    assert package.__version__ in told and "torch 2." in told and "\noutputs: " in told


def test_flags_may_stand_anywhere(inside: Ntkexp, tmp_path: Path) -> None:
    done = inside("train", *TINY_DISK, "-m", "seed=1,2")
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "outputs" / "disk").glob("*/status.json"))) == 2


def test_the_same_run_is_skipped_and_a_rerun_is_not(inside: Ntkexp, disk_run: Path) -> None:
    weights = disk_run / "weights.pt"
    first = weights.stat().st_mtime_ns

    again = inside("train", *TINY_DISK)
    assert again.returncode == 0
    assert "done already" in again.stdout
    assert len(again.stdout.splitlines()) == 1
    assert weights.stat().st_mtime_ns == first

    assert inside("train", *TINY_DISK, "--rerun").returncode == 0
    assert weights.stat().st_mtime_ns > first


def test_where_results_go_does_not_change_what_run_it_is(
    inside: Ntkexp, tmp_path: Path, disk_run: Path
) -> None:
    inside("train", *TINY_DISK, f"paths.outputs={tmp_path / 'elsewhere'}", "device=cpu")
    ids = [{run.name for run in tmp_path.glob(f"{top}/disk/*")} for top in ("outputs", "elsewhere")]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 1


def test_list_names_experiments_with_their_runs_and_show_tells_one(
    inside: Ntkexp, disk_run: Path
) -> None:
    listed = inside("list").stdout
    assert "ntkexp train +exp=disk" in listed
    assert "finished" in listed
    run = next(line.split()[0] for line in listed.splitlines() if "finished" in line)
    for name in (run, Path(run).name, Path(run).name[:6]):
        told = inside("show", name).stdout
        assert "width: 8" in told
        assert "versions: torch" in told
        assert "accuracy" in told


def test_a_read_only_or_impossible_folder_is_one_clear_line(inside: Ntkexp, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = inside("train", *TINY_DISK, "paths.outputs=file/outputs")
    assert done.returncode == 2
    assert "cannot write file/outputs" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_hydra_tells_what_it_does_only_when_asked(start: Start, tmp_path: Path) -> None:
    words = ("train", *TINY_DISK, "optim.steps=1")
    loud = start(*words, "hydra.verbose=true").done()
    assert loud.returncode == 0, loud.stderr
    assert "[HYDRA]" in loud.stdout + loud.stderr
    quiet = start(*words, "hydra.verbose=false", "--rerun").done()
    assert "HYDRA" not in quiet.stdout + quiet.stderr
    assert not list(tmp_path.glob("*.log"))


def test_letters_that_a_terminal_lacks_are_question_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stdout)
    monkeypatch.setattr("ntkexp.commands.completion.SCRIPTS", {"bash": "5 ± 1"})
    assert main(["completion", "bash"]) == 0
    assert stdout.buffer.getvalue() == b"5 ? 1\n"  # type: ignore[attr-defined]


def test_a_module_that_is_no_component_is_told_how_to_be_one() -> None:
    with pytest.raises(UserError, match=r"ntkexp\.models\.base, or model=torch model\.of="):
        find("model", "torch.nn.Linear")
