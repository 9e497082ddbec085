"""TensorBoard's event files, many records at once.

A file is a sequence of records (TFRecord): the length n of the data as uint64, its checksum, the
data, their checksum, all little-endian. The checksum of bytes is the CRC-32C c of RFC 3720, B.4,
masked: (c >> 15 | c << 17) + 0xa282ead8 modulo 2^32. The data of a record are an Event in the
encoding of protocol buffers: field 1 a double, the time; 2 the step; 3, of the first record, the
version of the file; 5 a Summary, whose fields 1 are values, each with a tag (1) and a float (2).

Records of one series that have steps of equally many bytes are alike but for some bytes. They are
the rows of a matrix, and everything is done column by column.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ntkexp.loggers.base import Series

Bytes = NDArray[np.uint8]
POLYNOMIAL, MASK = 0x82F63B78, 0xA282EAD8  # of CRC-32C, its bits in reverse
VERSION = b"brain.Event:2"


def header(seconds: float) -> bytes:
    """The first record of a file."""
    event = b"\x09" + struct.pack("<d", seconds) + b"\x1a" + bytes([len(VERSION)]) + VERSION
    return _framed(np.frombuffer(event, np.uint8)[None, :])


def records(series: Series, seconds: float) -> bytes:
    """A record a step, with all the values of a series there; `seconds` is the time they have."""
    found = b""
    lengths = varint_lengths(series.steps)
    for length in np.unique(lengths):
        chosen = lengths == length
        steps = series.steps[chosen]
        values = {f"{series.name}/{name}": v[chosen] for name, v in series.values.items()}
        found += _framed(_events(steps, int(length), values, seconds))
    return found


def varint_lengths(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many bytes of seven bits a number takes; zero takes one."""
    limits = np.int64(1) << np.arange(7, 63, 7)
    return np.searchsorted(limits, numbers, side="right") + 1


def _events(
    steps: NDArray[np.int64],
    length: int,
    values: dict[str, NDArray[np.float64]],
    seconds: float,
) -> Bytes:
    """(n, bytes): an Event a row, of steps that all take `length` bytes."""
    parts = list(_values(values))
    size = sum(part.shape[1] for part in parts)
    count = len(steps)
    head = b"\x09" + struct.pack("<d", seconds) + b"\x10"
    places = np.arange(length)
    step = (steps[:, None] >> (7 * places) & 0x7F) | np.where(places < length - 1, 0x80, 0)
    return np.hstack(
        [
            _repeated(head, count),
            step.astype(np.uint8),
            _repeated(b"\x2a" + _varint(size), count),
            *parts,
        ]
    )


def _values(values: dict[str, NDArray[np.float64]]) -> Iterator[Bytes]:
    """(n, bytes) for every tag: a Summary.Value a row."""
    for tag, numbers in values.items():
        name = tag.encode()
        entry = b"\x0a" + _varint(len(name)) + name + b"\x15"
        count = len(numbers)
        yield _repeated(b"\x0a" + _varint(len(entry) + 4) + entry, count)
        with np.errstate(over="ignore"):  # beyond float32 it is infinite there, too
            yield numbers.astype("<f4").view(np.uint8).reshape(count, 4)


def _framed(data: Bytes) -> bytes:
    """The records of data of equal length, one after the other."""
    count, length = data.shape
    size = _repeated(struct.pack("<Q", length), count)
    whole = np.hstack([size, _checksums(size[:1]).repeat(count, axis=0), data, _checksums(data)])
    return whole.astype(np.uint8).tobytes()


def _checksums(data: Bytes) -> Bytes:
    """(n, 4): the masked checksum of every row."""
    crc = np.full(len(data), 0xFFFFFFFF, dtype=np.uint32)
    for column in data.T:
        crc = TABLE[(crc ^ column) & 0xFF] ^ (crc >> np.uint32(8))
    crc = ~crc
    rotated = (crc >> np.uint32(15)) | (crc << np.uint32(17))
    return (rotated + np.uint32(MASK)).astype("<u4").view(np.uint8).reshape(-1, 4)


def _table() -> NDArray[np.uint32]:
    """The checksum of each byte alone."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        odd = (table & 1).astype(bool)
        table = np.where(odd, (table >> 1) ^ np.uint32(POLYNOMIAL), table >> 1).astype(np.uint32)
    return table


TABLE = _table()


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _repeated(content: bytes, count: int) -> Bytes:
    return np.tile(np.frombuffer(content, np.uint8), (count, 1))
