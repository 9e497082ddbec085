"""An array on disk filled by one process or by many, and what is refused."""

from __future__ import annotations

import fcntl
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from ntkexp.errors import UserError
from ntkexp.results.arrays import WAIT_SECONDS, TiledArray

SIZE, TILE = 11, 4


def truth() -> npt.NDArray[np.float32]:
    half = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    return half + half.T


def begun(path: Path, description: str = "numbers", symmetric: bool = True) -> TiledArray:
    array = TiledArray(path)
    array.begin(description, (SIZE, SIZE), "float32", (TILE, TILE), symmetric)
    return array


def fill(array: TiledArray, most: int = 100) -> int:
    """Put tiles until `most` of them are put; how many it were."""
    count = 0
    for tile in array.todo():
        if count == most:
            break
        array.put(tile, truth()[array.record.place(tile)])
        count += 1
    return count


@pytest.mark.parametrize(("symmetric", "tiles"), [(True, 6), (False, 9)])
def test_tile_by_tile(symmetric: bool, tiles: int, tmp_path: Path) -> None:
    array = begun(tmp_path / "a.npy", symmetric=symmetric)
    assert fill(array) == tiles == len(array.done())
    np.testing.assert_array_equal(array.values(), truth())
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), truth())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.npy", "a.npy.tiles"]
    assert fill(begun(tmp_path / "a.npy", symmetric=symmetric)) == 0


def test_going_on_with_the_first_tile_size(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    assert fill(begun(path), most=2) == 2
    again = TiledArray(path)
    assert again.begin("numbers", (SIZE, SIZE), "float32", (7, 7), True) == (TILE, TILE)
    np.testing.assert_array_equal(again.read((0, 0)), truth()[:TILE, :TILE])
    assert fill(again) == 4
    np.testing.assert_array_equal(again.values(), truth())


def test_a_claimed_tile_is_nobody_elses(tmp_path: Path) -> None:
    one, two = begun(tmp_path / "a.npy"), begun(tmp_path / "a.npy")
    mine, theirs = one.todo(), two.todo()
    first, second = next(mine), next(theirs)
    assert first != second
    with pytest.raises(ValueError, match="not claimed"):
        two.put(first, truth()[one.record.place(first)])
    mine.close()  # given back without a result
    theirs.close()
    assert fill(two) == 6


def test_a_tile_that_was_put_between_the_look_and_the_lock_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = begun(tmp_path / "a.npy"), begun(tmp_path / "a.npy")
    first, lock = (0, 0), fcntl.flock

    def locked_after_the_other_is_done(descriptor: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        work = two.todo()
        assert next(work) == first
        two.put(first, truth()[two.record.place(first)])
        work.close()
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", locked_after_the_other_is_done)
    assert next(one.todo()) != first


def test_who_waits_for_anothers_tile_sleeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = begun(tmp_path / "a.npy"), begun(tmp_path / "a.npy")
    mine = one.todo()
    last = next(mine)
    theirs = two.todo()
    for tile in itertools.islice(theirs, 5):
        two.put(tile, truth()[two.record.place(tile)])
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        one.put(last, truth()[one.record.place(last)])
        mine.close()

    monkeypatch.setattr("ntkexp.results.arrays.time.sleep", sleep)
    assert list(theirs) == []
    assert slept == [WAIT_SECONDS]


WORKER = """
import sys, time
from pathlib import Path
import numpy as np
from ntkexp.results.arrays import TiledArray
path, seconds = Path(sys.argv[1]), float(sys.argv[2])
array = TiledArray(path)
array.begin("numbers", (11, 11), "float32", (4, 4), True)
half = np.arange(121, dtype=np.float32).reshape(11, 11)
for tile in array.todo():
    print(*tile, flush=True)
    time.sleep(seconds)
    array.put(tile, (half + half.T)[array.record.place(tile)])
"""


def worker(path: Path, seconds: float) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WORKER, str(path), str(seconds)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def test_many_processes_fill_it_and_each_tile_once(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    found = [process.communicate()[0] for process in [worker(path, 0.1) for _ in range(3)]]
    lines = [line for output in found for line in output.splitlines()]
    assert sorted(lines) == ["0 0", "1 0", "1 1", "2 0", "2 1", "2 2"]
    np.testing.assert_array_equal(np.load(path), truth())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_dead_workers_tile_is_taken_over(how: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    dying = worker(path, 60)
    assert dying.stdout is not None
    assert dying.stdout.readline() == "0 0\n"
    array = begun(path)
    rest = array.todo()
    others = []
    for _ in range(5):
        tile = next(rest)
        others.append(tile)
        array.put(tile, truth()[array.record.place(tile)])
    assert (0, 0) not in others
    os.kill(dying.pid, how)
    dying.communicate()
    tile = next(rest)
    assert tile == (0, 0)
    array.put(tile, truth()[array.record.place(tile)])
    assert [*rest] == []
    np.testing.assert_array_equal(np.load(path), truth())


def _damage(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))


@pytest.mark.parametrize("finished", [True, False])
def test_damage_is_refused(finished: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    fill(begun(path), most=100 if finished else 1)
    file = path if finished else tmp_path / "a.npy.tiles" / "array.npy"
    whole = file.read_bytes()

    def refused(line: str) -> None:
        with pytest.raises(UserError, match=line) as caught:
            begun(path)
        assert "\n" not in str(caught.value)

    _damage(file, 128 + 4)  # in tile (0, 0), done in either case
    refused("checksum of tile")
    file.write_bytes(whole[:-50])
    refused("damaged")
    file.unlink()
    refused("damaged")


def test_another_array_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    fill(begun(path), most=2)
    with pytest.raises(UserError, match="of something else"):
        begun(path, "other numbers")
    with pytest.raises(UserError, match="shape"):
        TiledArray(path).begin("numbers", (12, 12), "float32", (TILE, TILE), True)
    with pytest.raises(UserError, match="dtype"):
        TiledArray(path).begin("numbers", (SIZE, SIZE), "float64", (TILE, TILE), True)
    notes = tmp_path / "notes.npy"
    notes.write_text("mine")
    with pytest.raises(UserError, match="no array begun here"):
        begun(notes)
    assert notes.read_text() == "mine"
    record = tmp_path / "a.npy.tiles" / "record.json"
    for text in ("", "[]", "{}"):
        record.write_text(text)
        with pytest.raises(UserError, match="no record of an array"):
            begun(path)


def test_space_is_reserved_first(tmp_path: Path) -> None:
    array = TiledArray(tmp_path / "a.npy")
    array.begin("large", (3000, 3000), "float32", (1000, 1000), True)
    taken = (tmp_path / "a.npy.tiles" / "array.npy").stat().st_blocks * 512
    assert taken >= 3000 * 3000 * 4


FULL = """
import resource, sys
from pathlib import Path
from ntkexp.errors import UserError
from ntkexp.results.arrays import TiledArray
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
try:
    TiledArray(Path(sys.argv[1])).begin("large", (3000, 3000), "float32", (1000, 1000), True)
except UserError as error:
    print(error)
"""


def test_no_room_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FULL, str(tmp_path / "a.npy")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and "cannot write" in done.stdout, done.stderr
    assert [*tmp_path.iterdir()] == []
