"""The ledger on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ntkexp.claims.claim import Section
from ntkexp.claims.ledger import ledger
from ntkexp.results.reading import collect
from ntkexp.results.record import Record
from ntkexp.scripts.runs import chosen
from tests.conftest import TINY_DISK, Ntkexp


@pytest.fixture(scope="module")
def disk_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from ntkexp.cli import main

    outputs = tmp_path_factory.mktemp("outputs")
    for seed in (0, 1):
        assert main(["train", *TINY_DISK, f"seed={seed}", f"paths.outputs={outputs}",
                     "probe.eigenfunctions.count=20"]) == 0  # fmt: skip
    return outputs


def test_an_empty_folder_gives_every_claim_no_runs_and_the_commands(inside: Ntkexp) -> None:
    done = inside("claims")
    assert done.returncode == 0, done.stderr
    assert "no runs" in done.stdout
    assert "to make: ntkexp train +exp=disk" in done.stdout
    wide = [line for line in done.stdout.splitlines() if len(line) > 80]
    assert [line for line in wide if not line.startswith("to make: ntkexp ")] == []
    pages = inside("claims", "--markdown").stdout.splitlines()
    assert any(line.startswith("- nothing is known to bring ") for line in pages)
    assert all(line.startswith("- to make: `ntkexp ") for line in pages if "to make" in line)


def test_json_holds_cases_verdict_and_runs(inside: Ntkexp, disk_runs: Path) -> None:
    done = inside("claims", "--runs", str(disk_runs), "--figure", "1", "--json")
    assert done.returncode == 0, done.stderr
    entries = json.loads(done.stdout)
    assert {entry["figure"] for entry in entries} == {"1"}
    assert "--paper NAME" in done.stderr  # several papers have a Figure 1
    start = next(entry for entry in entries if entry["id"] == "fig01-ratio-at-start")
    assert start["seeds"] == 2
    assert len(start["cases"]) == 2
    assert start["verdict"] in ("holds", "fails", "partly")
    assert all(run.startswith("disk/") for run in start["runs"])
    # Thirty steps say nothing of iteration 2000.
    end = next(entry for entry in entries if entry["id"] == "fig01-ratio-at-end")
    assert (end["verdict"], end["cases"]) == ("no runs", [])
    assert end["commands"] == ["ntkexp train +exp=disk  (a minute a seed)"]


def test_a_run_of_other_members_than_its_experiments_is_no_evidence(
    inside: Ntkexp, tmp_path: Path
) -> None:
    """A statistic reads the tables of one network, or of those in which its experiment has it."""
    words = [*TINY_DISK, "optim.steps=2", "members={seed: [0, 1]}"]
    assert inside("train", *words).returncode == 0
    [disk] = collect([tmp_path / "outputs"])
    assert not disk.one_of_its_experiment
    done = inside("claims", "--runs", "outputs", "--paper", "alignment", "--figure", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert {entry["verdict"] for entry in json.loads(done.stdout)} == {"no runs"}
    assert chosen("disk", [tmp_path / "outputs"], ["evals"]) == []


@pytest.mark.parametrize(
    ("experiment", "members", "same"),
    [
        ("disk", (), True),
        ("disk", ("seed",), False),
        ("lazy/spurious_mlp", ("transform.alpha", "seed"), True),
        ("lazy/spurious_mlp", ("transform.alpha",), True),
        ("lazy/spurious_mlp", ("seed",), False),
        ("lazy/spurious_mlp", (), False),
        ("lazy/yin_yang", ("seed",), True),
        ("lazy/yin_yang", (), False),
        ("nobody_knows", ("seed",), True),
        # Goes on from lazy/noise_mlp, which has them.
        ("lazy/group_alignment_mlp", ("transform.alpha", "seed"), True),
    ],
)
def test_whether_a_runs_tables_are_as_its_experiments(
    experiment: str, members: tuple[str, ...], same: bool
) -> None:
    config = {f"members.{key}": [0, 1] for key in members}
    run = Record(experiment, "0123456789ab", config, {}, folder=Path("outputs"))
    assert run.one_of_its_experiment is same


def test_the_summary_has_four_sections_and_a_row_for_each_figure_and_recipe(
    inside: Ntkexp, disk_runs: Path
) -> None:
    told = inside("claims", "--paper", "alignment", "--runs", str(disk_runs), "--summary").stdout
    heading, *sections = told.split("\n\n**")
    assert heading == "### Implicit Regularization via Neural Feature Alignment"
    parts = dict(zip(("paper", "notebooks", "identity", "ours"), sections, strict=True))
    figures = {
        name: [row.split("|")[1].strip() for row in part.splitlines() if row.startswith("| ")][2:]
        for name, part in parts.items()
    }
    assert figures["notebooks"] == ["2", "3"]
    assert figures["identity"] == ["9", "10", "text"]
    ours = [claim for claim in ledger(["alignment"]) if claim.section is Section.ours]
    assert {row.split(" (")[0] for row in figures["ours"]} == {claim.figure for claim in ours}
    assert "2 (recipe=released)" in figures["paper"]
    assert {row.split()[0] for row in figures["paper"]} == {str(n) for n in range(1, 15) if n != 10}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--paper", "alignment", "--figure", "99"],
            "--figure 99: no claims; expected one of 1, 2, 3",
        ),
        (["--figure", "99.1"], "--figure 99.1: no claims"),
        (["--paper", "alignement"], "no such paper; did you mean alignment?"),
        (["--runs", "nowhere"], "--runs nowhere: no such folder"),
        (["--jsn"], "usage: ntkexp claims"),
    ],
)
def test_bad_words_are_refused_in_a_line(inside: Ntkexp, words: list[str], told: str) -> None:
    done = inside("claims", *words)
    assert done.returncode == 2
    assert told in done.stderr
