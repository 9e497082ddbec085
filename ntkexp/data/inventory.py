"""What `ntkexp data` prints: every file of the image datasets, verified, with size and checksum."""

from __future__ import annotations

from collections.abc import Sequence

from ntkexp.data.sources import data_directory, image_sets, verify
from ntkexp.errors import UserError


def inventory(names: Sequence[str]) -> str:
    """Fetch what is missing, read everything to its end, and tell what was found."""
    known = image_sets()
    for name in names:
        if name not in known:
            raise UserError(f"ntkexp data {name}: no such images; expected {', '.join(known)}")
    lines = [f"under {data_directory()}:"]
    for name in names or known:
        found = verify(name)
        lines.append(name)
        lines += [
            f"  {file.path.name:<36} {file.size_bytes:>11,} bytes  sha256 {file.sha256}"
            for file in found.files
        ]
        lines += [f"  note: {remark}" for remark in found.remarks]
    return "\n".join(lines)
