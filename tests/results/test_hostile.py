"""One bad folder among good ones costs itself: a line says what, and the command goes on."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import judge_all
from ntkexp.errors import DamagedRunError
from ntkexp.results import Run
from ntkexp.results.numbers.standing import progress
from ntkexp.results.reading import collect, load
from ntkexp.results.status import UNFINISHED, read_status, status_text
from tests.conftest import TINY_DISK, Ntkexp
from tests.tiny_runs import assert_same_files, train

FILES = ("status.json", "run.json", "provenance.json", "config.yaml", "evals.parquet")
VARIANTS = 40  # of each

WORDS: tuple[bytes, ...] = (
    b"", b"null", b"[]", b"{}", b"5", b'"x"', b"[" * 5000, b'{"a":' * 5000, b"- " * 3000,
    b"\x00" * 50, b"\xff\xfe", b"a: &a [1]\nb: *a\n", b"x: 2020-13-99\n", b"seed: [1, 2]\n",
    b"name: ../..\n", b'{"state": "finished"}', b'{"state": "finished", "files": []}',
    b'{"state": "finished", "files": {"x": null}}', b'{"lives": [5]}', b'{"lives": []}',
    b'{"format": 2}',
)  # fmt: skip


def bent(content: bytes, chance: random.Random) -> bytes:
    """A file as an accident, or a stranger, may leave it."""
    match chance.randrange(5):
        case 0:
            return chance.choice(WORDS)
        case 1:
            return content[: chance.randrange(len(content))]
        case 2:
            place = chance.randrange(len(content))
            return content[:place] + chance.randbytes(chance.randrange(1, 9)) + content[place + 4 :]
        case 3:
            place = chance.randrange(len(content))
            return content[:place] + chance.choice(WORDS) + content[place:]
        case _:
            lines = content.splitlines(keepends=True)
            chance.shuffle(lines)
            return b"".join(lines)


def all_is_read(outputs: Path) -> int:
    """Read all runs as `claims`, `figures` and notebooks do; how many there are."""
    records = collect([outputs])
    judge_all([claim for claim in ledger(["alignment"]) if "disk" in claim.experiments], records)
    load(outputs)
    return len(records)


@pytest.fixture
def outputs(disk_run: Path, tmp_path: Path) -> Path:
    """A good run, and one to be bent."""
    shutil.copytree(disk_run, disk_run.with_name("0123456789ab"))
    return disk_run.parents[1]


@pytest.mark.parametrize("name", FILES)
def test_no_variant_of_a_file_stops_the_others(
    outputs: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chance, file = random.Random(name), outputs / "disk" / "0123456789ab" / name
    whole = file.read_bytes()
    for _ in range(VARIANTS):
        file.write_bytes(bent(whole, chance))
        assert all_is_read(outputs) >= 1
    file.write_bytes(whole)
    assert all_is_read(outputs) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("name", [*FILES, "lock"])
@pytest.mark.parametrize(
    "put",
    [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir],
    ids=["pipe", "device", "folder"],
)
def test_what_is_no_file_is_never_read(
    outputs: Path, inside: Ntkexp, name: str, put: Callable[[Path], None]
) -> None:
    file = outputs / "disk" / "0123456789ab" / name
    file.unlink(missing_ok=True)
    put(file)
    assert all_is_read(outputs) >= 1
    for words in (("list", "disk"), ("list", "disk", "--json"), ("show", str(file.parent))):
        assert "Traceback" not in inside(*words).stderr


def test_a_bent_record_of_a_commit_is_a_line_and_costs_nothing(tmp_path: Path) -> None:
    """Of a run of two lives, each cut short; mended, it goes on to the tables of an uncut one."""
    words = (*TINY_DISK, "optim.steps=12")
    for stop_at in (4, 3):
        run = train(tmp_path / "cut", *words, stop_at=stop_at)
    committed, chance = run / UNFINISHED / "committed", random.Random(0)
    records = sorted(committed.glob("*.json"))
    assert len(records) == 2
    before = {file.name: file.read_bytes() for file in committed.iterdir()}
    for record in records:
        for _ in range(VARIANTS):
            if (content := bent(before[record.name], chance)) == before[record.name]:
                continue
            record.write_bytes(content)
            with Run(run, []) as again, pytest.raises(DamagedRunError, match="--rerun") as refused:
                again.resume()
            with pytest.raises(DamagedRunError):
                progress(run)
            told = str(refused.value)
            assert record.name in told and "\n" not in told and told.isprintable()
        record.write_bytes(before[record.name])
    assert {file.name: file.read_bytes() for file in committed.iterdir()} == before
    assert_same_files(train(tmp_path / "whole", *words), train(tmp_path / "cut", *words))


def test_a_run_of_another_schema_is_left_out(
    outputs: Path, inside: Ntkexp, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = outputs / "disk" / "0123456789ab"
    status = read_status(folder)
    assert status is not None
    (folder / "status.json").write_text(status_text(status | {"schema": 99}))
    assert all_is_read(outputs) == 1
    assert f"skipped: {folder} was written with schema 99" in capsys.readouterr().err
    assert inside("claims", "--runs", str(outputs)).returncode == 0


def test_nothing_steers_the_terminal(outputs: Path, inside: Ntkexp) -> None:
    folder = outputs / "disk" / "0123456789ab"
    status = json.loads((folder / "status.json").read_text())
    status.pop("check")
    reason = "\x1b[2Jgone"
    (folder / "status.json").write_text(status_text(status | {"state": "failed", "reason": reason}))
    for words in (("list", "disk"), ("show", str(folder))):
        assert "\x1b" not in inside(*words).stdout
