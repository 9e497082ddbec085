"""Images in the parquet files of the Hugging Face hub.

`<name>/<split>-*.parquet`: one row an image, column `image` or `img` = struct{bytes, path} with
the encoded image, column `label` an integer.
"""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from ntkexp.data.images.files import (
    Decoded,
    LabelledImages,
    Labels,
    Pixels,
    SourceFile,
    check_labels,
    decoded_once,
    opened,
)
from ntkexp.data.images.options import ImageKind, SplitName
from ntkexp.errors import UserError
from ntkexp.progress import Progress

LAYOUT = "parquet"
IMAGE_COLUMNS = ("image", "img")
MODES = {1: "L", 3: "RGB"}  # channels -> Pillow's name for such an image
ROWS_AT_ONCE = 1000
# Pillow's ways to say that something is no image, or one it will not decode.
PILLOW_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)


def files(root: Path, kind: ImageKind, split: SplitName) -> tuple[Path, ...]:
    """The shards of one split, in order; empty where there are none."""
    return tuple(sorted((root / kind.name).glob(f"{split}-*.parquet")))


def read(root: Path, kind: ImageKind, split: SplitName, *, progress: bool) -> LabelledImages:
    """One split, decoded from its shards or taken from the cache of decoded images."""
    paths = files(root, kind, split)
    _check_shards(paths)
    sources: list[SourceFile] = []
    shards: list[Decoded] = []
    for path in paths:
        with opened(path) as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
            size_bytes = file.tell()
        shard = decoded_once(kind.name, checksum, partial(decode, path, kind, progress=progress))
        shards.append(shard)
        sources.append(SourceFile(path, split, LAYOUT, len(shard[1]), size_bytes, checksum))
    return LabelledImages(
        np.concatenate([pixels for pixels, _, _ in shards]),
        np.concatenate([labels for _, labels, _ in shards]),
        tuple(sources),
        lossy=any(lossy for _, _, lossy in shards),
    )


def _check_shards(paths: tuple[Path, ...]) -> None:
    """Names end in -00001-of-00004: refuse a split of which a shard is missing."""
    for path in paths:
        counted = re.search(r"-of-(\d+)$", path.stem)
        if counted and int(counted[1]) != len(paths):
            raise UserError(f"{path}: there are {len(paths)} such files, not {int(counted[1])}")


def decode(path: Path, kind: ImageKind, *, progress: bool) -> Decoded:
    """All images of a file as bytes (n, C, H, W), their labels, and whether any was a JPEG."""
    pixels: list[Pixels] = []
    labels: list[Labels] = []
    lossy = False
    try:
        with pq.ParquetFile(path) as file:
            image_column = _image_column(file.schema_arrow, path)
            rows = file.metadata.num_rows
            with Progress(f"decoding {kind.name}/{path.name}", rows, shown=progress) as shown:
                for batch in file.iter_batches(ROWS_AT_ONCE, columns=[image_column, "label"]):
                    encoded = batch.column(image_column).field("bytes").to_pylist()
                    for content in encoded:
                        row = shown.done
                        image, is_jpeg = _decode_image(content, kind, f"{path}, row {row}")
                        pixels.append(image)
                        lossy |= is_jpeg
                        shown.advance()
                    labels.append(_labels(batch.column("label"), path, shown.done - len(encoded)))
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: not a readable parquet file ({error})") from error
    if not pixels:
        raise UserError(f"{path}: has no rows")
    all_labels = np.concatenate(labels)
    check_labels(all_labels, kind, path)
    return np.stack(pixels), all_labels, lossy


def _image_column(schema: pa.Schema, path: Path) -> str:
    columns = schema.names
    for name in IMAGE_COLUMNS:
        if name in columns and "label" in columns:
            _check_bytes(schema.field(name).type, f"{path}: column {name}")
            return name
    raise UserError(
        f"{path}: columns {', '.join(columns)}, expected label and {' or '.join(IMAGE_COLUMNS)}"
    )


def _check_bytes(kind: pa.DataType, where: str) -> None:
    """Encoded images lie in a field `bytes` of the column."""
    if not pa.types.is_struct(kind) or kind.get_field_index("bytes") < 0:
        shown = str(kind)[:100]
        raise UserError(f"{where} is {shown}, expected a struct with the field bytes")
    content = kind.field("bytes").type
    if not pa.types.is_binary(content) and not pa.types.is_large_binary(content):
        raise UserError(f"{where}: its field bytes is {content}, expected binary")


def _labels(column: pa.Array, path: Path, first_row: int) -> Labels:
    if not pa.types.is_integer(column.type):
        raise UserError(f"{path}: label is {column.type}, expected an integer")
    if column.null_count:
        row = first_row + column.is_null().to_pylist().index(True)
        raise UserError(f"{path}, row {row}: no label")
    labels: Labels = column.to_numpy().astype(np.int64)
    return labels


def _decode_image(content: bytes | None, kind: ImageKind, where: str) -> tuple[Pixels, bool]:
    channels, height, width = kind.shape
    if content is None:
        raise UserError(f"{where}: no image bytes (only embedded images can be read)")
    try:
        with warnings.catch_warnings():
            # Of an image so large that it may be meant to fill the memory.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content)) as image:
                is_jpeg, mode, size = image.format == "JPEG", image.mode, image.size
                # The header tells: what has another size is not decoded at all.
                if mode != MODES[channels] or size != (width, height):
                    raise UserError(
                        f"{where}: image is {size[0]}x{size[1]} {mode}, expected "
                        f"{width}x{height} {MODES[channels]}"
                    )
                pixels = np.asarray(image)
    except UserError:
        raise  # it is a ValueError, too
    except PILLOW_ERRORS as error:
        raise UserError(f"{where}: image does not decode ({type(error).__name__})") from error
    return pixels.reshape(height, width, channels).transpose(2, 0, 1), is_jpeg
