"""The examples on which networks of other people are looked at."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from ntkexp import components
from ntkexp.components import imported
from ntkexp.data.base import Data
from ntkexp.data.dataset import Split
from ntkexp.errors import UserError, first_line
from ntkexp.tangent.batch import Batch, Inputs, mapped, parts_of

SPLITS = ("train", "test")
# Masks of the training examples, beside inputs and labels.
MASKS = ("noisy", "difficult")
HASHED_AT_ONCE = 100
# Decoders of other formats are seldom used, and seldom looked after.
FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF")


@cache
def examples(source: str, seed: int) -> Mapping[str, Split]:
    """The training and the test examples of a source, in their order.

    Args:
        source: MODULE:FUNCTION, which gives {"train": (x, y), "test": (x, y)}, x a tensor or a
            tuple or dict of tensors, and where there are such things the masks `noisy` and
            `difficult` and the labels `clean` of its training examples; a data set of the house;
            an .npz file with x_train, y_train, x_test and y_test; or a folder with train/ and
            test/, each with a folder of images a class.
        seed: of a data set of the house.
    """
    if ":" in source:
        pairs = imported(f"--data {source}", source.replace(":", "."))()
        if not isinstance(pairs, Mapping) or not {*SPLITS} <= pairs.keys():
            came = [*pairs] if isinstance(pairs, Mapping) else type(pairs).__name__
            raise UserError(
                f"--data {source}: gives {came}; expected a dict with train and test, each (x, y)"
            )
        return splits_of(f"--data {source}", pairs)
    if source in components.names("data"):
        options = components.made("data", source, {}, "data")
        assert isinstance(options, Data)
        dataset = options.build(seed, torch.device("cpu"), progress=False)
        return {"train": dataset.train, "test": dataset.test}
    path = Path(source)
    if path.suffix == ".npz" and path.is_file():
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
        except (OSError, ValueError, TypeError, MemoryError, BadZipFile) as error:
            raise UserError(f"--data {source}: cannot be read ({first_line(error)})") from error
        if absent := {f"{a}_{s}" for s in SPLITS for a in "xy"} - {*arrays}:
            raise UserError(f"--data {source}: has no {', '.join(sorted(absent))}")
        kept = {s: (arrays[f"x_{s}"], arrays[f"y_{s}"]) for s in SPLITS}
        more = {key: arrays[key] for key in (*MASKS, "clean") if key in arrays}
        return splits_of(f"--data {source}", kept | more)
    if path.is_dir():
        return {split: _folder(path / split) for split in SPLITS}
    if len(path.parts) > 1 or path.suffix:
        raise UserError(f"--data {source}: no such .npz file and no such folder")
    raise UserError(
        f"--data {source}: expected MODULE:FUNCTION, an .npz file, a folder with train/ and test/, "
        f"or one of {', '.join(components.names('data'))}"
    )


def checksums(source: str, seed: int) -> dict[str, str]:
    """The sha256 of the first inputs and labels of each split."""
    sums = {}
    for name, split in examples(source, seed).items():
        digest = hashlib.sha256()
        first = slice(0, HASHED_AT_ONCE)
        for tensor in (*parts_of(inputs_of(split, first)), split.targets[first]):
            digest.update(bytes_of(tensor))
        sums[f"{source} {name}"] = digest.hexdigest()
    return sums


def bytes_of(tensor: Tensor) -> bytes:
    """Of any type: numpy has no bfloat16."""
    return tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()


@dataclass(frozen=True)
class Numbered(Split):
    """Examples whose inputs are a tuple or a dict of tensors: `inputs` are their numbers in
    `whole`, which has those of all splits. What handles examples need not know of it."""

    whole: Inputs = ()


def inputs_of(split: Split, examples: slice) -> Inputs:
    """The inputs of some examples, as a network takes them."""
    numbers = split.inputs[examples]
    if not isinstance(split, Numbered):
        return numbers
    return mapped(split.whole, lambda part: part[numbers])


def splits_of(who: str, pairs: Mapping[str, Any]) -> dict[str, Split]:
    """The splits of {"train": (x, y), "test": (x, y)}; `who` gave the pairs, for messages."""
    splits: dict[str, Split] = {}
    batches: list[Batch] = []
    forms: list[str] = []
    for name in SPLITS:
        try:
            if not isinstance(pairs[name], tuple | list):
                raise TypeError(f"expected (x, y), two tensors, got a {type(pairs[name]).__name__}")
            x, y = pairs[name]
            nested = isinstance(x, Mapping | tuple)
            forms.append(_form(x))
            batch = Batch.of(mapped(x, _tensor) if nested else _tensor(x))
            targets = _labels(y)
        except (TypeError, ValueError) as error:
            raise UserError(f"{who}: {name}: {first_line(error)}") from error
        if len(batch) != len(targets):
            raise UserError(f"{who}: {name} has {len(batch)} inputs and {len(targets)} labels")
        first = sum(map(len, batches))
        numbers = torch.arange(first, first + len(batch))
        splits[name] = Split.clean(numbers if nested else batch.parts()[0], targets)
        batches.append(batch)
    if len(set(forms)) > 1:
        raise UserError(f"{who}: train has {forms[0]}, test has {forms[1]}; expected the same")
    train = splits["train"]
    known = {"noisy": train.corrupted, "difficult": train.difficult, "clean": train.targets}
    for name in known.keys() & pairs.keys():
        try:
            known[name] = _labels(pairs[name])
        except (TypeError, ValueError) as error:
            raise UserError(f"{who}: {name}: {first_line(error)}") from error
        if (shape := known[name].shape)[:1] != (len(train),):
            raise UserError(f"{who}: {name} is {tuple(shape)}, of {len(train)} training examples")
    noisy, difficult = (known[name].bool() for name in MASKS)
    splits["train"] = Split(train.inputs, train.targets, known["clean"], noisy, difficult)
    if not nested:
        return splits
    whole = Batch.joined(batches).inputs
    return {name: Numbered(**vars(split), whole=whole) for name, split in splits.items()}


def _form(inputs: Any) -> str:
    if isinstance(inputs, Mapping):
        return f"a dict of {', '.join(map(str, inputs))}"
    return f"a tuple of {len(inputs)}" if isinstance(inputs, tuple) else "one tensor"


def _tensor(values: Any) -> Tensor:
    tensor = torch.as_tensor(values)
    return tensor.float() if tensor.dtype == torch.float64 else tensor


def _labels(values: Any) -> Tensor:
    """Classes as PyTorch's losses want them, or numbers."""
    tensor = _tensor(values)
    return tensor if tensor.is_floating_point() else tensor.long()


def _folder(folder: Path) -> Split:
    """Images in [0, 1], a folder a class; classes are numbered in order of their names."""
    inputs, labels = [], []
    kinds = sorted(path for path in folder.glob("*") if path.is_dir())
    for number, kind in enumerate(kinds):
        for file in sorted(kind.iterdir()):
            try:
                with Image.open(file, formats=FORMATS) as image:
                    # Of a palette its colours, not their numbers.
                    whole = image.convert("L" if image.mode == "1" else None)
                    most = 65535 if image.mode.startswith("I") else 255
                    pixels = np.asarray(whole, dtype=np.float32) / most
            # A SyntaxError is Pillow's, of a broken PNG.
            except (OSError, SyntaxError, Image.DecompressionBombError) as error:
                raise UserError(
                    f"--data {file}: is no image that can be read ({first_line(error)}); expected "
                    f"{', '.join(FORMATS)}"
                ) from error
            inputs.append(torch.from_numpy(np.atleast_3d(pixels)).permute(2, 0, 1))
            labels.append(number)
    if len({image.shape for image in inputs}) != 1:
        raise UserError(f"--data {folder}: expected a folder a class, of images of one size")
    return Split.clean(torch.stack(inputs), torch.tensor(labels))
