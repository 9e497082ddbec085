"""Text as HTML."""

from __future__ import annotations

import base64
import gzip
import html
import re
from collections.abc import Iterable


def text(words: str) -> str:
    """Escaped; a number and its unit stay on one line."""
    return re.sub(r"(?<=\d) (?=[%×±])|(?<=±) (?=\d)", "\u00a0", html.escape(words))


def soft(words: str) -> str:
    return f'<p class="soft small">{text(words)}</p>'


def folded(title: str, entries: Iterable[str]) -> str:
    """A list of HTML entries that can be folded away; nothing without entries."""
    items = "".join(f"<li>{entry}</li>" for entry in entries)
    if not items:
        return ""
    return f'<details open><summary>{text(title)}</summary><ul class="small">{items}</ul></details>'


def code(words: str) -> str:
    return f"<code>{html.escape(words)}</code>"


def pre(words: str) -> str:
    return f"<pre>{html.escape(words)}</pre>"


def packed(words: str) -> str:
    """Gzipped, as text: a third of the size, the same bytes every time."""
    return base64.b64encode(gzip.compress(words.encode("utf-8"), mtime=0)).decode("ascii")
