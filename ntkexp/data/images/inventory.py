"""What `ntkexp data` prints: every file of the image datasets, verified, with size and checksum."""

from __future__ import annotations

from collections.abc import Sequence

from ntkexp.data.images.decoded import Kept, cache_directory, forget, kept_files
from ntkexp.data.images.sources import data_directory, image_sets, is_here, verify
from ntkexp.errors import UserError
from ntkexp.usage import USAGES

USAGE = USAGES["data"].words


def inventory(words: Sequence[str]) -> str:
    """Read everything to its end and tell what was found. What is missing is fetched if it was
    named; without names nothing is. `--forget` removes the decoded copies of the cache instead.
    """
    names = [word for word in words if word != "--forget"]
    known = image_sets()
    for name in names:
        if name.startswith("-"):
            raise UserError(f"ntkexp data {name}: no such flag\nusage: {USAGE}")
        if name not in known:
            raise UserError(f"ntkexp data {name}: no such images; expected {', '.join(known)}")
    if "--forget" in words:
        return f"forgot {_summary(forget(names))}"
    lines = [f"under {data_directory()}:"]
    for name in names or known:
        if not names and not is_here(name):
            lines.append(f"{name}: not here; ntkexp data {name} fetches it")
            continue
        found = verify(name)
        lines.append(name)
        lines += [
            f"  {file.path.name:<36} {file.size_bytes:>11,} bytes  sha256 {file.sha256}"
            for file in found.files
        ]
        lines += [f"  note: {remark}" for remark in found.remarks]
    lines.append(f"cache: {_summary(kept_files())}; ntkexp data --forget removes them")
    return "\n".join(lines)


def _summary(kept: Sequence[Kept]) -> str:
    size = sum(one.size_bytes for one in kept)
    return f"{len(kept)} decoded files, {size / 1e6:.1f} MB, in {cache_directory() / 'decoded'}"
