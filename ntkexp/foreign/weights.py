"""Checkpoints of other people's training: their weights, and the step at which they were kept."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.components import imported
from ntkexp.errors import UserError, not_read

# The key of the weights in a file that holds more: Lightning's, and those that people choose.
WEIGHTS = ("state_dict", "model_state_dict", "model", "network", "net")
# The prefix of every name in a wrapper: DistributedDataParallel, Lightning modules, torch.compile.
WRAPPED = re.compile(r"((module|model|_orig_mod|network|net)\.)*")
IN_A_NAME = re.compile(r"(?:step[=_-]?|checkpoint-|weights\.)(\d+)")
# The weights in the folder that Hugging Face's Trainer writes at a step.
OF_FOLDER = ("model.safetensors", "pytorch_model.bin")


@dataclass(frozen=True)
class Reader:
    """Reads files of weights. `allow` names classes that a pickle may make; `trust` allows all."""

    allow: Sequence[str] = field(default_factory=tuple)
    trust: bool = False

    def content(self, path: Path) -> Mapping[str, Any]:
        file = file_of(path)
        try:
            content = _safetensors(file) if file.suffix == ".safetensors" else self._unpickled(file)
        except OSError as error:
            raise not_read(file, error) from error
        if not isinstance(content, Mapping):
            raise UserError(f"{file}: holds a {type(content).__name__}; expected weights by name")
        return content

    def _unpickled(self, file: Path) -> Any:
        classes = [] if self.trust else [imported(f"--allow {name}", name) for name in self.allow]
        try:
            with torch.serialization.safe_globals(classes):
                return torch.load(file, map_location="cpu", weights_only=not self.trust)
        except UnpicklingError as error:
            try:
                names = torch.serialization.get_unsafe_globals_in_checkpoint(file)
            except (RuntimeError, ValueError, UnpicklingError):
                names = []
            if missing := sorted(set(names) - set(self.allow)):
                raise UserError(
                    f"{file}: makes {', '.join(missing)}; --allow {','.join(missing)} lets it make "
                    "just these, --trust whatever it says"
                ) from error
            raise UserError(f"{file}: holds no weights (or --trust reads it)") from error
        except Exception as error:  # bytes that are no pickle are taken for any instruction
            # In a file that was cut off torch looks for a place before its beginning: EINVAL.
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise
            raise UserError(f"{file}: is no file of weights that torch reads") from error


def _safetensors(file: Path) -> dict[str, Tensor]:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError as error:
        raise UserError(f"{file}: needs the package safetensors, which is not installed") from error
    try:
        tensors: dict[str, Tensor] = load_file(file)
    except SafetensorError as error:
        raise UserError(f"{file}: is no file of safetensors ({error})") from error
    return tensors


def file_of(path: Path) -> Path:
    """The file of weights in a folder that Hugging Face wrote, or the file itself."""
    if path.is_file():
        return path
    if not path.is_dir():
        raise UserError(f"--checkpoints {path}: no such file")
    for name in OF_FOLDER:
        if (path / name).exists():
            return path / name
    raise UserError(f"{path}: has no {' and no '.join(OF_FOLDER)}")


def steps_of(paths: Sequence[Path], steps: Sequence[int], reader: Reader) -> dict[int, Path]:
    """Step -> checkpoint, in order: by `steps`, else as the files say; never by the order of names.

    Refused where a step is not known, or is that of two files.
    """
    if steps and len(steps) != len(paths):
        raise UserError(
            f"--steps {','.join(map(str, steps))}: {len(steps)} steps for {len(paths)} files"
        )
    files: dict[int, Path] = {}
    for path, step in zip(paths, steps or (_step_of(path, reader) for path in paths), strict=True):
        if step in files:
            raise UserError(f"{path} and {files[step]} are both of step {step}; --steps tells them")
        files[step] = path
    return dict(sorted(files.items()))


def _step_of(path: Path, reader: Reader) -> int:
    if path.is_dir() and (path / "trainer_state.json").exists():
        return int(json.loads((path / "trainer_state.json").read_text())["global_step"])
    numbers = IN_A_NAME.findall(path.name)
    if file_of(path).suffix == ".ckpt" or not numbers:
        step = reader.content(path).get("global_step")
        if isinstance(step, int):
            return step
    if len(numbers) != 1:
        raise UserError(
            f"{path}: does not say at which step it was kept; name the files in their order, with "
            "--steps 0,100,1000"
        )
    return int(numbers[0])


def load_into(network: nn.Module, path: Path, reader: Reader) -> None:
    """Give a network the weights of a checkpoint, whatever wrapped it when they were kept."""
    if path.is_dir() and hasattr(network, "from_pretrained"):
        # Its files may have the names of an older version.
        kind: Any = type(network)
        content = kind.from_pretrained(path, local_files_only=True).state_dict()
    else:
        content = reader.content(path)
    inside = [content[key] for key in WEIGHTS if isinstance(content.get(key), Mapping)]
    weights = inside[0] if inside else content
    kept = {name: value for name, value in weights.items() if isinstance(value, Tensor)}
    if not kept:
        raise UserError(
            f"{path}: has {_brief([*map(str, weights)])}; expected weights by name, or one of "
            f"{', '.join(WEIGHTS)} with them"
        )
    wanted = network.state_dict()
    named = _unwrapped(path, kept, wanted)
    for name, tensor in wanted.items():
        if named[name].shape != tensor.shape:
            shapes = tuple(named[name].shape), tuple(tensor.shape)
            raise UserError(f"{path}: {name} has shape {shapes[0]}; the network's has {shapes[1]}")
    network.load_state_dict({name: named[name] for name in wanted})


def _unwrapped(
    path: Path, kept: Mapping[str, Tensor], wanted: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """The weights by the network's own names, without the prefix of a wrapper."""
    first, found = next(iter(wanted), ""), kept
    for name in sorted(kept, key=len):
        prefix = name.removesuffix(first)
        if prefix + first == name and WRAPPED.fullmatch(prefix):
            named = {n.removeprefix(prefix): t for n, t in kept.items() if n.startswith(prefix)}
            if named.keys() == wanted.keys():
                return named
            if named.keys() > wanted.keys():  # a larger network, as one of further layers
                found = named
    missing, extra = ([n for n in a if n not in b] for a, b in ((wanted, found), (found, wanted)))
    raise UserError(
        f"{path}: is of another network: it lacks {_brief(missing)}, and has {_brief(extra)}"
    )


def _brief(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "nothing more") + more
