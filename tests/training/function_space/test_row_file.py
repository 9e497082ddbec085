"""A symmetric matrix in a file, written in order: cut anywhere it goes on, and is the same."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from ntkexp.errors import UserError
from ntkexp.training.function_space import row_file
from ntkexp.training.function_space.row_file import write_symmetric
from tests.conftest import SmallDisk
from tests.forked import Forked

SIZE, ROWS = 11, 2
TRUTH = np.add.outer(np.arange(SIZE), np.arange(SIZE)).astype(np.float32) ** 2
RightPart = Callable[[slice], npt.NDArray[np.float32]]


@pytest.fixture(autouse=True)
def blocks_of_two_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_file, "BLOCK_BYTES", 4 * SIZE * ROWS)


def right(rows: slice) -> npt.NDArray[np.float32]:
    return TRUTH[rows, rows.start :]


def write(file: Path, right_part: RightPart = right, multiple: int = 1) -> list[int]:
    """Write it; the first rows of the blocks that were computed."""
    computed: list[int] = []

    def counted(rows: slice) -> npt.NDArray[np.float32]:
        block = right_part(rows)
        computed.append(rows.start)
        return block

    write_symmetric(file, SIZE, np.float32, counted, multiple=multiple, shown=False)
    return computed


def stopping_at(row: int, how: BaseException) -> RightPart:
    def part(rows: slice) -> npt.NDArray[np.float32]:
        if rows.start >= row:
            raise how
        return right(rows)

    return part


def test_rows_in_order_with_the_mirror_image_of_earlier_ones(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "k.npy"
    assert write(file) == [0, 2, 4, 6, 8, 10]
    np.testing.assert_array_equal(np.load(file), TRUTH)
    assert write(file) == []
    assert [path.name for path in file.parent.iterdir()] == ["k.npy"]


def test_a_block_has_all_rows_of_its_examples(tmp_path: Path) -> None:
    assert write(tmp_path / "k.npy", multiple=5) == [0, 5, 10]


@pytest.mark.parametrize("row", [2, 4, 10])
def test_it_goes_on_but_does_the_last_block_again(row: int, tmp_path: Path) -> None:
    file = tmp_path / "k.npy"
    with pytest.raises(KeyboardInterrupt):
        write(file, stopping_at(row, KeyboardInterrupt()))
    assert not file.exists()
    assert write(file) == [*range(row - ROWS, SIZE, ROWS)]
    np.testing.assert_array_equal(np.load(file), TRUTH)


@pytest.mark.parametrize("lost", [1, 40, 44 * ROWS - 1])
def test_a_block_that_came_in_part_to_the_disk_is_done_again(lost: int, tmp_path: Path) -> None:
    file, part = tmp_path / "k.npy", tmp_path / "k.npy.part"
    with pytest.raises(KeyboardInterrupt):
        write(file, stopping_at(6, KeyboardInterrupt()))
    with part.open("r+b") as torn:
        torn.truncate(part.stat().st_size - lost)
    assert write(file) == [2, 4, 6, 8, 10]
    np.testing.assert_array_equal(np.load(file), TRUTH)


def test_a_second_process_waits_and_goes_on_after_a_kill(tmp_path: Path) -> None:
    file, begun = tmp_path / "k.npy", tmp_path / "begun"

    def first(words: Sequence[str]) -> int:
        def part(rows: slice) -> npt.NDArray[np.float32]:
            if rows.start == 6:
                begun.touch()
                time.sleep(600)
            return right(rows)

        write(file, part)
        return 0

    process = Forked([], tmp_path, function=first)
    while not begun.exists():
        time.sleep(0.01)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_file, "time", SimpleNamespace(sleep=sleep))
        assert write(file) == [4, 6, 8, 10]
    assert waited == [row_file.WAIT_SECONDS]
    np.testing.assert_array_equal(np.load(file), TRUTH)


def test_what_another_finished_meanwhile_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, lock = tmp_path / "k.npy", fcntl.flock

    def locked_after_the_other_is_done(opened: int, how: int) -> None:
        np.save(file, TRUTH)
        lock(opened, how)

    monkeypatch.setattr(fcntl, "flock", locked_after_the_other_is_done)
    assert write(file) == []
    assert [path.name for path in tmp_path.iterdir()] == ["k.npy"]


def test_a_full_disk_is_one_line_and_with_room_it_goes_on(
    small_disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_file, "BLOCK_BYTES", 2**12)
    size = 120
    truth = np.add.outer(np.arange(size), np.arange(size)).astype(np.float32)
    disk = small_disk("size=40k")

    def written() -> None:
        write_symmetric(
            disk / "k.npy", size, np.float32, lambda rows: truth[rows, rows.start :],
            multiple=1, shown=False,
        )  # fmt: skip

    with pytest.raises(UserError, match=r"^cannot write .*k\.npy: No space left") as caught:
        written()
    assert "\n" not in str(caught.value)
    small_disk("size=1m")
    written()
    np.testing.assert_array_equal(np.load(disk / "k.npy"), truth)


def test_without_locks_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(opened: int, how: int) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(UserError, match="this file system has no locks"):
        write(tmp_path / "k.npy")
