"""The windows of an image under a convolution's kernel: views of it, and padding."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional


def windows(
    image: Tensor,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    output: tuple[int, ...],
) -> Tensor:
    """A view (..., *kernel, *output) of the padded image (..., *space): no copy."""
    leading = image.dim() - len(kernel)
    space = image.stride()[leading:]
    size = (*image.shape[:leading], *kernel, *output)
    strides = (
        *image.stride()[:leading],
        *(s * d for s, d in zip(space, dilation, strict=True)),
        *(s * step for s, step in zip(space, stride, strict=True)),
    )
    return image.as_strided(size, strides, image.storage_offset())


def padded(image: Tensor, amounts: Sequence[tuple[int, int]], mode: str = "zeros") -> Tensor:
    """Pad each dimension of space by (before, after); modes as in torch.nn.Conv2d."""
    if not any(before or after for before, after in amounts):
        return image
    flat = [side for amount in reversed(amounts) for side in amount]
    return functional.pad(image, flat, mode="constant" if mode == "zeros" else mode)
