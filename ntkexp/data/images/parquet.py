"""Images in the parquet files of the Hugging Face hub.

`<name>/<split>-*.parquet`: one row an image, column `image` or `img` = struct{bytes, path} with
the encoded image, column `label` an integer.
"""

from __future__ import annotations

import hashlib
import io
import re
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

IMAGE_COLUMNS = ("image", "img")
MODES = {1: "L", 3: "RGB"}  # channels -> Pillow's name for such an image
ROWS_AT_ONCE = 1000


def files(root: Path, kind: ImageKind, split: SplitName) -> tuple[Path, ...]:
    """The shards of one split, in order; empty where there are none."""
    return tuple(sorted((root / kind.name).glob(f"{split}-*.parquet")))


def read(root: Path, kind: ImageKind, split: SplitName, *, progress: bool) -> LabelledImages:
    """One split, decoded from its shards or taken from the cache of decoded images."""
    paths = files(root, kind, split)
    sources: list[SourceFile] = []
    shards: list[Decoded] = []
    for path in paths:
        # Names end in -00001-of-00004: a shard may be missing.
        counted = re.search(r"-of-(\d+)$", path.stem)
        if counted and int(counted[1]) != len(paths):
            raise UserError(f"{path}: there are {len(paths)} such files, not {int(counted[1])}")
        with opened(path) as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
            size_bytes = file.tell()
        shard = decoded_once(kind.name, checksum, partial(decode, path, kind, progress=progress))
        # Here, as the cache knows no number of classes.
        check_labels(shard[1], kind, path)
        shards.append(shard)
        sources.append(SourceFile(path, size_bytes, checksum))
    return LabelledImages(
        np.concatenate([pixels for pixels, _, _ in shards]),
        np.concatenate([labels for _, labels, _ in shards]),
        tuple(sources),
        lossy=any(lossy for _, _, lossy in shards),
    )


def decode(path: Path, kind: ImageKind, *, progress: bool) -> Decoded:
    """All images of a file as bytes (n, C, H, W), their labels, and True if any was a JPEG."""
    pixels: list[Pixels] = []
    labels: list[Labels] = []
    lossy = False
    try:
        with pq.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            image_column = next((name for name in IMAGE_COLUMNS if name in columns), None)
            if image_column is None or "label" not in columns:
                raise UserError(
                    f"{path}: columns {', '.join(columns)}, expected label and "
                    f"{' or '.join(IMAGE_COLUMNS)}"
                )
            kept_as = file.schema_arrow.field(image_column).type
            if not pa.types.is_struct(kept_as) or kept_as.get_field_index("bytes") < 0:
                raise UserError(
                    f"{path}: column {image_column} is {kept_as}, expected a struct of bytes and "
                    "path with the encoded image"
                )
            rows = file.metadata.num_rows
            with Progress(f"decoding {kind.name}/{path.name}", rows, shown=progress) as bar:
                for batch in file.iter_batches(ROWS_AT_ONCE, columns=[image_column, "label"]):
                    for content in batch.column(image_column).field("bytes").to_pylist():
                        image, is_jpeg = _decode_image(content, kind, f"{path}, row {bar.done}")
                        pixels.append(image)
                        lossy |= is_jpeg
                        bar.advance()
                    labels.append(batch.column("label").to_numpy().astype(np.int64))
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: not a readable parquet file ({error})") from error
    return np.stack(pixels), np.concatenate(labels), lossy


def _decode_image(content: bytes, kind: ImageKind, where: str) -> tuple[Pixels, bool]:
    channels, height, width = kind.shape
    try:
        with Image.open(io.BytesIO(content)) as image:
            is_jpeg, mode, size = image.format == "JPEG", image.mode, image.size
            # The header tells: an image of another size is not decoded at all.
            if mode == MODES[channels] and size == (width, height):
                pixels = np.asarray(image).reshape(height, width, channels).transpose(2, 0, 1)
                return pixels, is_jpeg
    except Exception as error:  # what is no image raises nearly anything
        raise UserError(f"{where}: image does not decode ({type(error).__name__})") from error
    raise UserError(
        f"{where}: image is {size[0]}x{size[1]} {mode}, expected {width}x{height} {MODES[channels]}"
    )
