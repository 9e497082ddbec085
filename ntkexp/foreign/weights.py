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

from ntkexp.errors import UserError, first_line, not_read
from ntkexp.foreign.pickled import allowed, holds_values
from ntkexp.foreign.wrapped import as_written

# The key of the weights in a file that holds more: Lightning's, and those that people choose.
WEIGHTS = ("state_dict", "model_state_dict", "model", "network", "net")
# What torch.compile puts before the names in a module that it compiles.
COMPILED = "_orig_mod."
# The prefix of every name in a wrapper: DistributedDataParallel, Lightning modules, torch.compile.
WRAPPED = r"((?:(?:module|model|network|net|_orig_mod)\.)*)"
# The keys of a checkpoint of Lightning's WeightAveraging: the average, and what is trained.
LIGHTNING_AVERAGES = ("state_dict", "current_model_state")
IN_A_NAME = re.compile(r"(?:step[=_-]?|checkpoint-|weights\.)(\d+)")
SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors")
# The weights in the folder that Hugging Face's Trainer writes at a step.
OF_FOLDER = ("model.safetensors", "pytorch_model.bin")


@dataclass(frozen=True)
class Reader:
    """Reads files of weights. `allow` names classes that a pickle may make; `trust` allows all.
    `weights` is the key of those that are meant, where a file holds several."""

    allow: Sequence[str] = field(default_factory=tuple)
    trust: bool = False
    weights: str = ""

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
        classes = [] if self.trust else allowed(self.allow)
        try:
            with torch.serialization.safe_globals(classes):
                return torch.load(file, map_location="cpu", weights_only=not self.trust)
        except UnpicklingError as error:
            try:
                names = torch.serialization.get_unsafe_globals_in_checkpoint(file)
            except (RuntimeError, ValueError, UnpicklingError):
                names = []
            missing = sorted(set(names) - set(self.allow))
            if running := [name for name in missing if not holds_values(name)]:
                raise UserError(
                    f"{file}: would call {', '.join(running)}, which may run code; --trust reads "
                    "it, whatever it runs: for files of yours alone"
                ) from error
            if missing:
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
    files = next((f"; '{path}/*{file.suffix}' are its files" for file in sorted(path.iterdir())
                  if file.suffix in SUFFIXES), "")  # fmt: skip
    raise UserError(f"{path}: has no {' and no '.join(OF_FOLDER)}{files}")


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
    state = path / "trainer_state.json"
    if state.exists():
        try:
            return int(json.loads(state.read_bytes())["global_step"])
        except OSError as error:
            raise not_read(state, error) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(
                f"{state}: says no global_step, as a file that was cut off; --steps 0,100,1000 "
                "tells the steps instead"
            ) from error
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


def load_into(network: nn.Module, path: Path, reader: Reader) -> str:
    """Give a network the weights of a checkpoint, whatever wrapped it when they were kept.

    Returns a remark on which these are, where the file has several of the network.
    """
    with as_written(network):
        wanted = network.state_dict()
        sets = _sets_of_weights(network, path, reader)
        fitting = [
            key for key, kept in sets.items() if _by_own_names(kept, wanted).keys() == wanted.keys()
        ]
        key = reader.weights or next((key for key in WEIGHTS if key in sets), "")
        if key not in sets:
            raise UserError(f"{path}: {_absent(key, [*sets], fitting)}")
        named = _by_own_names(sets[key], wanted)
        _refuse_others(path, named, wanted)
        network.load_state_dict({name: named[name] for name in wanted})
    others = " or ".join(other for other in fitting if other != key)
    if not others:
        return ""
    average = ", which is Lightning's average" * ((key, others) == LIGHTNING_AVERAGES)
    return f"weights of {key or path.name}{average}; --weights {others} takes others of these files"


def _refuse_others(path: Path, named: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Refuse weights of another network."""
    missing, extra = ([n for n in a if n not in b] for a, b in ((wanted, named), (named, wanted)))
    if missing or extra:
        raise UserError(
            f"{path}: is of another network: it lacks {_brief(missing)}, and has {_brief(extra)}"
        )
    for name, tensor in wanted.items():
        if named[name].shape != tensor.shape:
            shapes = tuple(named[name].shape), tuple(tensor.shape)
            raise UserError(f"{path}: {name} has shape {shapes[0]}; the network's has {shapes[1]}")


def _sets_of_weights(
    network: nn.Module, path: Path, reader: Reader
) -> dict[str, dict[str, Tensor]]:
    """The weights in a file by the key under which they are, "" for the file itself."""
    if path.is_dir() and hasattr(network, "from_pretrained"):
        # Its files may have the names of an older version.
        kind: Any = type(network)
        try:
            content = kind.from_pretrained(path, local_files_only=True).state_dict()
        except Exception as error:  # of several packages, for files that were cut off
            raise UserError(f"{path}: cannot be read ({first_line(error)})") from error
    else:
        content = reader.content(path)
    inside = {key: value for key, value in content.items() if isinstance(value, Mapping)}
    sets = {
        str(key): {
            str(name): tensor for name, tensor in held.items() if isinstance(tensor, Tensor)
        }
        for key, held in {"": content, **inside}.items()
    }  # fmt: skip
    if not any(sets.values()):
        raise UserError(f"{path}: has {_brief([*map(str, content)])}; expected weights by name")
    return {key: kept for key, kept in sets.items() if kept}


def _absent(key: str, keys: Sequence[str], fitting: Sequence[str]) -> str:
    way_out = f"--weights {' or '.join(fitting)}" if any(fitting) else ""
    if key:
        return f"has no weights under {key}" + f"; {way_out} takes those it has" * bool(way_out)
    return (
        f"has {_brief(keys)}; expected weights by name, or one of {', '.join(WEIGHTS)} with them"
        + f", or {way_out}" * bool(way_out)
    )


def _by_own_names(kept: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """The weights by the network's own names, without the prefix of a wrapper; with others, where
    they are of another network."""
    found = _named(kept, "")
    first = next(iter(wanted), "").split(".")
    of_first = re.compile(WRAPPED + r"\.(?:_orig_mod\.)*".join(map(re.escape, first)))
    for name in sorted(kept, key=len):
        if match := of_first.fullmatch(name):
            named = _named(kept, match[1])
            if named.keys() == wanted.keys():
                return named
            if named.keys() > wanted.keys():  # a larger network, as one of further layers
                found = named
    return found


def _named(kept: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Those whose names begin with a prefix, by what follows, as if nothing were compiled."""
    return {
        name.removeprefix(prefix).replace(COMPILED, ""): tensor
        for name, tensor in kept.items() if name.startswith(prefix)
    }  # fmt: skip


def _brief(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "nothing more") + more
