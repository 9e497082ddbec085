"""`ntkexp --version --verbose`: what a report of a fault needs."""

from __future__ import annotations

from pathlib import Path

from ntkexp import projects
from ntkexp.machine import cores, visible_gpus
from ntkexp.results.provenance import provenance

MOUNTS = Path("/proc/self/mounts")


def verbose() -> str:
    """Versions, machine, file system of outputs and projects, a line each."""
    facts = provenance()
    git = facts["git"] or {}
    commit = git.get("sha", "not in git") + (" and changes" if "changes" in git else "")
    lines = [
        f"ntkexp {facts['ntkexp']} ({commit})",
        f"python {facts['python']} on {facts['platform']}",
        *(f"{name} {version or 'is missing'}" for name, version in facts["versions"].items()),
        f"{facts['cpu']}, {cores()} of {facts['cpu_count']} cores, "
        f"{facts['memory_bytes'] / 2**30:.0f} GiB, {len(visible_gpus())} GPUs",
        f"outputs: {file_system(Path('outputs').absolute())}",
        *(f"project {name}: {folder}" for name, folder in projects.own()),
    ]
    return "\n".join(lines)


def file_system(place: Path, mounts: Path = MOUNTS) -> str:
    """The kind of the file system that a path is on, or will be.

    >>> file_system(Path("/nowhere"), Path("/no/list"))
    'a file system of unknown kind'
    """
    try:
        listed = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    except OSError:
        listed = []
    above = [words for words in listed if place.is_relative_to(words[1].replace("\\040", " "))]
    if not above:
        return "a file system of unknown kind"
    return max(above, key=lambda words: len(words[1]))[2]
