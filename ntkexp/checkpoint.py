"""Turns tensors and arrays into bytes and back. Equal ones always give equal bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


def saved(content: dict[str, Any]) -> bytes:
    # Into memory: torch would write the file's name into the file, and hide the message of a full
    # disk.
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()


def npy(array: NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def restored(content: bytes) -> dict[str, Any]:
    """Read back what `saved` wrote: tensors and plain values only. Nothing in the file is
    executed."""
    state: dict[str, Any] = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    return state


def on_device(content: Any, device: torch.device) -> Any:
    """Mappings and lists with all their tensors moved to a device."""
    if isinstance(content, torch.Tensor):
        return content.to(device)
    if isinstance(content, dict):
        return {name: on_device(part, device) for name, part in content.items()}
    if isinstance(content, list | tuple):
        return type(content)(on_device(part, device) for part in content)
    return content


def stacked(contents: Sequence[bytes]) -> bytes | None:
    """Stack the tensors of the same name from several files: the first dimension counts the files.
    None where their names or shapes differ."""
    states = [restored(content) for content in contents]
    shapes = [{name: tensor.shape for name, tensor in state.items()} for state in states]
    if any(shape != shapes[0] for shape in shapes):
        return None
    return saved({name: torch.stack([state[name] for state in states]) for name in states[0]})
