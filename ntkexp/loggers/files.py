"""Files that a logger appends to, cut back to where they were when a life ended in between."""

from __future__ import annotations

import os
from pathlib import Path

from ntkexp.loggers.base import State
from ntkexp.results.commits.atomic import remove_tree
from ntkexp.results.commits.chain import is_plain_name


class Files:
    """The files in `folder`, each written through to the disk's cache at once."""

    def __init__(self, folder: Path, state: State | None) -> None:
        self.folder = folder
        self.sizes: dict[str, int] = dict(state["sizes"]) if state else {}
        for path in list(folder.iterdir()):
            if path.name not in self.sizes:
                remove_tree(path)
        for name, size in self.sizes.items():
            if not is_plain_name(name) or (folder / name).is_symlink():
                raise OSError(f"{folder / name} is no file of this logger")
            if (folder / name).stat().st_size < size:
                raise OSError(f"{folder / name} is shorter than it was")
            os.truncate(folder / name, size)

    def append(self, name: str, content: bytes) -> None:
        with (self.folder / name).open("ab") as file:
            file.write(content)
        self.sizes[name] = self.sizes.get(name, 0) + len(content)

    def state(self) -> State:
        return {"sizes": dict(self.sizes)}
