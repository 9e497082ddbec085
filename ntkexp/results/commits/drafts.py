"""A life writes in a folder of its own, and publishes a file by renaming it out of there.

A process that was stopped for long, or cut off from a shared disk, can be taken for dead and lose
its run to another. When it wakes up it may be anywhere: also between its last check and the next
write. So whoever takes over first renames the earlier life's folder away. From then on every
publication of the earlier life fails, because the file it would rename is no longer where it was:
the check and the write are one system call.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ntkexp.results.atomic import cannot_write, make_folder, remove_tree, sync
from ntkexp.results.commits.chain import names_in
from ntkexp.results.commits.lock import RunTakenError

LIFE = re.compile(r"life\.(\d+)")


class RunLostError(RunTakenError):
    """Another process took this run over while this one was stopped or out of reach."""


class Drafts:
    """The folder `unfinished/life.N` of one life of a run; call `open` with the run's lock held."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.life = 0

    @property
    def folder(self) -> Path:
        return self.work / f"life.{self.life:04d}"

    def open(self, *, after: int = 0) -> None:
        """Shut out every earlier life, then begin one with a higher number than any."""
        make_folder(self.work)
        names = names_in(self.work)
        earlier = [match for name in names if (match := LIFE.fullmatch(name))]
        self.life = 1 + max([after, *(int(match[1]) for match in earlier)])
        for match in earlier:
            _shut_out(self.work / match[0])
        for left in names:
            if left.startswith("dead."):
                remove_tree(self.work / left)
        make_folder(self.folder)

    def close(self) -> None:
        remove_tree(self.folder)

    @contextmanager
    def publishing(self, target: Path) -> Iterator[Path]:
        """Give a path to write to; it becomes `target` when the block ends well."""
        draft = self.folder / target.name
        try:
            yield draft
            sync(draft)
            draft.replace(target)
            sync(target.parent)
        except OSError as error:
            raise self._explained(error, target) from error
        finally:
            with contextlib.suppress(OSError):
                draft.unlink()

    def write(self, target: Path, content: bytes) -> None:
        with self.publishing(target) as draft:
            draft.write_bytes(content)

    def link(self, source: Path, target: Path) -> None:
        """Publish a file that is on disk already, by a hard link where the file system has them."""
        with self.publishing(target) as draft:
            try:
                draft.hardlink_to(source)
            except OSError:
                shutil.copyfile(source, draft)

    def _explained(self, error: OSError, target: Path) -> Exception:
        if not self.folder.is_dir():
            return RunLostError(
                f"{self.work.parent} was taken over by another process while this one was "
                "stopped; nothing more is written here"
            )
        return cannot_write(target, error)


def _shut_out(folder: Path) -> None:
    away = folder.with_name(f"dead.{secrets.token_hex(8)}")
    try:
        folder.rename(away)
    except OSError as error:
        raise cannot_write(folder, error) from error
    remove_tree(away)
