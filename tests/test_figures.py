"""`ntkexp figures`: which figures it draws, from which runs, into which folder."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from ntkexp.commands.figures import Figures
from ntkexp.errors import UserError
from ntkexp.figures import Drawn, chosen, draw_all
from ntkexp.papers.scripts import Script
from ntkexp.results import folders
from ntkexp.scripts import drawing
from tests.conftest import Ntkexp

REFERENCE = Path(__file__).parents[1] / "outputs" / "reference"


def names(*words: str) -> list[str]:
    return [script.stem for script in chosen(words)]


def test_figures_are_chosen_by_paper_by_number_and_by_a_part_of_the_name() -> None:
    assert names("alignment", "2") == ["fig02_spectrum"]
    assert "fig02_spectrum" in names("2")
    assert all(script.figure == "2" for script in chosen(["2"]))
    assert chosen(["fig01"], "alignment") == chosen(["1"], "alignment")
    both = ["fig01_disk_eigenfunctions", "fig_rademacher_bounds"]
    assert names("alignment", "rademacher", "1") == both
    assert set(names("alignment")) <= set(names())
    assert names("1", "alignment") == names("alignment", "1")
    # The second time it is a part of a figure's name.
    assert "fig_alignment" in names("adaptive", "alignment")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["alignmnt"],
            "ntkexp figures alignmnt: no such paper or figure; did you mean alignment?; "
            "expected PAPER FIGURE, PAPER of alignment, adaptive, curvature, information, lazy, "
            "linearised, spectral",
        ),
        (["2", "99"], "ntkexp figures 99: no such paper or figure"),
        (["alignment", "0"], "ntkexp figures 0: no such figure; expected one of 1, 2, 3, 4"),
        (["--paper", "lazzy"], "--paper lazzy: no figures"),
        (["--runs", "nowhere"], "--runs nowhere: no such folder"),
        (["--nothing"], "usage: ntkexp figures"),
        (["2", "--exp", "mine", "--width", "-3"], "argument --width: -3: expected inches, above 0"),
    ],
)
def test_what_is_not_there_is_refused(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as refused:
        Figures.parsed(words).execute()
    assert told in str(refused.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user has, and no other test: the results of the repository."""
    monkeypatch.setenv("NTKEXP_REFERENCE", str(REFERENCE))


def test_an_empty_folder_has_the_reference_results(
    inside: Ntkexp, tmp_path: Path, reference: None
) -> None:
    """Figures land where --out says, and no run is copied."""
    told = inside("figures", "alignment", "8", "--out", "drawn")
    assert "1 drawn, 0 without runs, 0 failed" in told.stdout, told.stderr
    assert sorted(file.name for file in tmp_path.rglob("*") if file.is_file()) == [
        "drawn.json", *(f"fig08_fourier_modes.{kind}" for kind in ("pdf", "png", "svg")),
    ]  # fmt: skip


def test_without_them_a_figure_names_the_command_of_its_runs(inside: Ntkexp) -> None:
    without = inside("figures", "alignment", "8")
    assert "0 drawn, 1 without runs" in without.stdout
    assert "ntkexp study +exp=fourier_modes" in without.stdout


def test_claims_know_the_reference_results(inside: Ntkexp, reference: None) -> None:
    assert "| 8 | 1 | 1 | 1 |" in inside("claims", "--figure", "8", "--summary").stdout


def test_claims_say_whose_runs_decided(inside: Ntkexp, tmp_path: Path, reference: None) -> None:
    words = ("claims", "--paper", "alignment", "--figure", "8")
    assert inside(*words).stdout.splitlines()[-1] == "decided by the reference results"
    shutil.copytree(REFERENCE / "fourier_modes", tmp_path / "outputs" / "fourier_modes")
    line = inside(*words).stdout.splitlines()[-1]
    assert line.startswith("decided by outputs/fourier_modes") and "reference" not in line


def test_figures_say_whose_runs_they_show(
    inside: Ntkexp, disk_run: Path, tmp_path: Path, reference: None
) -> None:
    drawn = inside("figures", "alignment", "8", "10").stdout.splitlines()
    assert [line.partition("pdf  ")[2] for line in drawn[:2]] == [
        "from the reference results",
        f"from {disk_run.relative_to(tmp_path)}",
    ]
    both = inside("figures", "alignment", "10", "--reference", "--runs", "outputs")
    assert "--reference, --runs: expected one of the two" in both.stderr
    # Another choice of runs is a change.
    assert "1 drawn" in inside("figures", "alignment", "10", "--changed", "--reference").stdout
    record = json.loads((tmp_path / "outputs" / "figures" / "drawn.json").read_text())
    assert record["fig10_disk_data"]["from"] == "from the reference results"


def test_a_folder_with_a_reference_of_its_own_has_that_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = tmp_path / "outputs"
    monkeypatch.setenv(folders.VARIABLE, str(REFERENCE))
    assert folders.roots(outputs) == [outputs, REFERENCE]
    (outputs / "reference").mkdir(parents=True)
    assert folders.roots(outputs) == [outputs, outputs / "reference"]


def test_what_is_installed_is_found_from_any_folder(tmp_path: Path) -> None:
    source = "from ntkexp.results.folders import packaged; print(packaged() or '')"
    environment = {key: value for key, value in os.environ.items() if key != folders.VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert Path(done.stdout.strip()) == REFERENCE, done.stderr


def script_that(folder: Path, name: str, does: str) -> Script:
    path = folder / f"{name}.py"
    path.write_text(f"import os, sys\nfrom pathlib import Path\n{does}\n")
    return Script(path, "alignment", None, "")


def test_a_process_that_is_killed_costs_its_own_figure_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draws = "print(Path(sys.argv[0]).with_suffix('.pdf'))"
    (home := tmp_path / "with a space").mkdir()
    scripts = [
        script_that(home, "fig_first", draws),
        script_that(home, "fig_killed", "os.kill(os.getpid(), 9)"),
        *(script_that(home, f"fig_{number}", draws) for number in range(4)),
    ]
    out = tmp_path / "drawn"
    out.mkdir()
    assert draw_all(scripts, [], out, Drawn(out, [])) == 1
    told = capsys.readouterr()
    assert "5 drawn, 0 without runs, 1 failed" in told.out
    assert f" {home / 'fig_first.pdf'}\n" in told.out
    head, line = told.err.splitlines()
    assert head.split() == ["fig_killed", "FAILED"]
    assert line == "its process was killed (out of memory?)"
    names = ["fig_first", *(f"fig_{number}" for number in range(4))]
    assert sorted(json.loads((out / "drawn.json").read_text())) == sorted(names)


def test_a_figure_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(canvas: object, path: Path, **named: object) -> None:
        path.write_text("<svg")
        raise OSError(errno.ENOSPC, "No space left on device")

    drawing.save(Figure(), tmp_path, "fig")
    names = ["fig.pdf", "fig.png", "fig.svg"]
    assert sorted(file.name for file in tmp_path.iterdir()) == names
    for name in names:
        (tmp_path / name).write_text("an earlier one")
    monkeypatch.setattr(drawing.FigureCanvasSVG, "print_svg", full)
    with pytest.raises(SystemExit) as ended:
        drawing.save(Figure(), tmp_path, "fig")
    assert ended.value.code == 2
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == dict.fromkeys(
        names, "an earlier one"
    )
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("cannot write") and "No space left on device" in line


def test_a_record_of_figures_that_cannot_be_read_is_not_written_anew(tmp_path: Path) -> None:
    (tmp_path / "drawn.json").mkdir()
    with pytest.raises(UserError, match=r"drawn.json: cannot be read .*; try again"):
        Drawn(tmp_path, [])
