"""An option that is a file of another run. Imports no torch.

    weights: {run: mlp_mnist, set: {seed: "${seed}"}, file: weights.390.pt}

A component of one's own has one as `labels: FromRun = field(default_factory=FromRun)`.

The other run is named by what makes it: its experiment and the options in which it differs from
that. It is composed when this run is (ntkexp/compose/parents.py), so its id is known before it
exists, and enters the id of this run. The folder of a run stands for the run itself.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from ntkexp.errors import UserError
from ntkexp.options import Rule, option

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
    from torch import Tensor

FILE = Rule(
    lambda name: name == Path(name).name and not name.startswith("."),
    "the name of a file of that run, such as weights.pt",
)
WEIGHTS = Rule(
    lambda name: FILE.holds(name) and name.endswith(".pt"),
    "the name of a file of weights of that run: weights.pt, or weights.390.pt by keep.weights",
)
# The keys of every reference; any others are options of its own.
KEYS = frozenset({"run", "set", "file", "id", "folder"})


@dataclass
class FromRun:
    """A file of another run; none where `run` is None.

    `id` is filled in when its run is planned, `folder` before the file is read; it is not kept.
    """

    run: str | None = option(None, about="the experiment that makes the other run, or its folder")
    set: Any = option(None, about="options in which that run differs from its experiment")
    file: str = option("weights.pt", FILE, "the file of that run")
    id: str = option("", about="its id, filled in")
    folder: str = option("", about="its folder, filled in")
    # Its own key in the config, for messages; no option, so without a type.
    key = "a file of another run"

    @property
    def path(self) -> Path:
        return Path(self.folder, self.file)

    @property
    def config(self) -> Mapping[str, Any]:
        """The config of the run that the file is from, with dotted keys."""
        from ntkexp.results.status import flat_config

        return flat_config(Path(self.folder))

    def refuse_other_data(self, sums: Mapping[str, str]) -> None:
        """Refuse a file about other images than those of `sums`, file -> sha256. Where that run
        kept no checksums, or `sums` has none, nothing is compared."""
        from ntkexp.results.status import read_card

        card = read_card(Path(self.folder))
        kept = card.facts.get("data", {}) if card else {}
        other_sums = {sum_ for name, sum_ in kept.items() if not name.startswith("run ")}
        if other_sums and sums and other_sums.isdisjoint(sums.values()):
            raise UserError(
                f"{self.path} is about other data ({', '.join(sorted(kept))}) than "
                f"{', '.join(sorted(sums))}; expected the data of that run"
            )

    def checked(self, suffix: str) -> Path:
        """The path of the file, if its name ends so and it is as its run wrote it."""
        from ntkexp.results.files import refuse_changed

        if self.path.suffix != suffix:
            raise UserError(
                f"{self.key}: {self.path} is read; expected a file *{suffix} of that run"
            )
        refuse_changed(self.path, checksum(Path(self.folder), self.file))
        return self.path

    def tensors(self) -> dict[str, Tensor]:
        """The tensors of a file such as weights.pt."""
        import torch

        content = io.BytesIO(self.checked(".pt").read_bytes())
        tensors: dict[str, Tensor] = torch.load(content, map_location="cpu", weights_only=True)
        return tensors

    def table(self, *columns: str) -> pd.DataFrame:
        """A table, from a parquet file, that has these columns at least."""
        from ntkexp.results.table import frame_of

        frame = frame_of(self.checked(".parquet").read_bytes())
        if lacking := [name for name in columns if name not in frame]:
            raise UserError(
                f"{self.key}: {self.path} has no column {lacking[0]}, but "
                f"{', '.join(map(str, frame))}; expected a table with {', '.join(columns)}"
            )
        return frame

    def array(self) -> NDArray[np.generic]:
        """An array of a .npy file, as a read-only memory map."""
        import numpy as np

        array: NDArray[np.generic] = np.load(
            self.checked(".npy"), mmap_mode="r", allow_pickle=False
        )
        return array


@dataclass
class StartFrom(FromRun):
    """The weights with which a network begins, and its running statistics; `fresh` is for the last
    layer of one that goes on with other classes."""

    file: str = option("weights.pt", WEIGHTS, "the weights to begin with")
    fresh: list[str] = option([], about="parameters whose names begin so are drawn anew")
    reset_statistics: bool = option(False, about="norms begin with mean 0 and variance 1 again")


def references(config: DictConfig, where: str = "") -> Iterator[tuple[str, DictConfig]]:
    """(dotted key, node) of every reference below a node of a composed config."""
    owner: Any = OmegaConf.get_type(config)
    for word, node in config.items_ex(resolve=False):
        name = str(word)
        # Most of a config are values; asking OmegaConf for each would take twice as long.
        if not isinstance(node, DictConfig) or OmegaConf.is_missing(config, name):
            continue
        if OmegaConf.is_interpolation(config, name) or config[name] is None:
            continue
        key = f"{where}.{name}".lstrip(".")
        kind: Any = OmegaConf.get_type(node)
        refers = isinstance(kind, type) and issubclass(kind, FromRun)
        if refers:
            if node.run is not None:
                yield key, node
            elif node != (usual := _unset(owner, name, kind)):
                first = next(word for word in map(str, node) if node[word] != usual[word])
                raise UserError(f"{key}.{first}: says more of a run; expected {key}.run=... too")
        else:
            yield from references(node, key)


@cache
def _unset(owner: Any, name: str, kind: Any) -> DictConfig:
    """The reference that an option has when nothing is typed for it."""
    factories = {f.name: f.default_factory for f in fields(owner)} if is_dataclass(owner) else {}
    factory = factories.get(name, MISSING)
    unset: DictConfig = OmegaConf.structured(kind if factory is MISSING else factory())
    return unset


def hashed_reference(value: Mapping[str, Any]) -> Any:
    """The part of a run's id that a reference gives: the other run's id, the file, further options.

    >>> hashed_reference({"run": "disk", "set": {}, "file": "weights.pt", "id": "3fa9"})
    'run:3fa9/weights.pt'
    """
    source = f"run:{value['id']}/{value['file']}"
    options = {k: set_to for k, set_to in value.items() if k not in KEYS and set_to}
    return {"from": source, **options} if options else source


def is_reference(value: object) -> bool:
    """True if a plain value in a kept config is a reference."""
    return isinstance(value, Mapping) and value.keys() >= KEYS


def checksum(folder: Path, file: str) -> str:
    """The checksum of a finished run's file, as the run lists it."""
    from ntkexp.results.status import read_status

    status = read_status(folder)
    files = status.get("files", {}) if status and status["state"] == "finished" else {}
    if file not in files:
        names = ", ".join(sorted(name for name in files if name not in ("config.yaml", "run.json")))
        way_out = "; keep.weights says at which steps they are kept" * file.startswith("weights.")
        raise UserError(
            f"{folder} has no file {file}; it has {names or 'none that are listed'}{way_out}"
        )
    return str(files[file]["sha256"])
