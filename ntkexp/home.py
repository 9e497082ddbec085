"""The tilde of a path that no shell expanded: in quotes, behind `=`, or given from Python."""

import re
from pathlib import Path


def at_home(word: str | Path) -> str:
    """A path or a word of a command with the home folder for a `~/` that begins a value.

    >>> at_home("paths.outputs='~/runs'").startswith("paths.outputs='/")
    True
    >>> at_home("~probe.spectrum"), at_home("a~/b")
    ('~probe.spectrum', 'a~/b')
    """
    return re.sub(r"(^|[=\[,:])([\"']?)~(?=/)", lambda m: f"{m[1]}{m[2]}{Path.home()}", str(word))
