"""Files that are whole or absent, and what a kill leaves of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ntkexp.results.files import replacing, write_text


def killed_while_writing(path: Path) -> None:
    """A process that is gone in the middle of a file."""
    if (pid := os.fork()) == 0:
        with replacing(path) as temporary:
            temporary.write_text("half of")
            os._exit(1)
    os.waitpid(pid, 0)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_a_killed_writer_left_goes_with_the_next_write(tmp_path: Path) -> None:
    page, other = tmp_path / "index.html", tmp_path / "drawn.json"
    killed_while_writing(page)
    killed_while_writing(other)
    assert len(names(tmp_path)) == 2
    write_text(page, "all of it")
    write_text(other, "all of it")
    assert names(tmp_path) == {"index.html", "drawn.json"}


def test_what_another_is_writing_stays(tmp_path: Path) -> None:
    page = tmp_path / "index.html"
    with replacing(page) as slow:
        slow.write_text("the last")
        write_text(page, "the first")
        assert page.read_text() == "the first"
    assert page.read_text() == "the last"
    assert names(tmp_path) == {"index.html"}


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("x")])
def test_what_is_no_file_is_never_opened_to_wait_for_it(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / ".index.html.7.tmp")
    write_text(tmp_path / "index.html", "all of it")
    assert (tmp_path / "index.html").read_text() == "all of it"
