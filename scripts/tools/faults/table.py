"""The table of counts, and how a campaign that went wrong is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

# What must not happen, and its heading. Left-over files cost nobody a result, but they are counted
# with the rest: the promise is that a finished run's folder holds what docs/results.md lists.
WRONG = {
    "lost": "rows lost",
    "doubled": "doubled",
    "differing": "other numbers",
    "tracebacks": "tracebacks",
    "left_over": "left-over files",
    "stuck": "stuck",
    "hangs": "hangs",
    "unclear": "unclear messages",
    "evicted": "evicted owners",
    "broken": "broken campaigns",
}


def bad(telling: Mapping[str, Any]) -> bool:
    return any(telling["counts"].get(key) for key in WRONG)


def rendered(telling: Mapping[str, Any], seed: str) -> str:
    """One campaign, what was done and found, and the command that does it again."""
    wrong = [f"{telling['counts'][w]} {t}" for w, t in WRONG.items() if telling["counts"].get(w)]
    lines = [
        f"{telling['name']}: {', '.join(wrong) or telling['skipped'] or 'nothing wrong'}",
        f"    python scripts/tools/torture.py --seed {seed} --only {telling['name']}",
        *(f"    {note}" for note in telling["notes"]),
    ]
    return "\n".join(lines)


def summary(tellings: Sequence[Mapping[str, Any]], seconds: float) -> str:
    """The campaigns by kind and what went wrong; then where the faults struck."""
    columns = [key for key in WRONG if key not in ("evicted", "broken") or _sum(tellings, key)]
    heads = ["kind", "campaigns", "faults", *(WRONG[key] for key in columns)]
    rows = []
    for kind in dict.fromkeys(telling["kind"] for telling in tellings):
        of_kind = [telling for telling in tellings if telling["kind"] == kind]
        rows.append([kind.replace("_", " "), *_numbers(of_kind, columns)])
    rows.append(["all", *_numbers(tellings, columns)])
    hits: Counter[str] = Counter()
    for telling in tellings:
        hits.update(telling["hits"])
    places = ", ".join(f"{where} {count}" for where, count in hits.most_common())
    skipped = Counter(telling["skipped"] for telling in tellings if telling["skipped"])
    return "\n".join(
        [
            "",
            *_markdown(heads, rows),
            "",
            f"{seconds / 60:.1f} minutes. Faults by operation and file: {places}.",
            *(f"Skipped {count} times: {why}." for why, count in skipped.items()),
        ]
    )


def _sum(tellings: Sequence[Mapping[str, Any]], key: str) -> int:
    return sum(telling["counts"].get(key, 0) for telling in tellings)


def _numbers(tellings: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    done = [telling for telling in tellings if not telling["skipped"]]
    return [str(len(done)), *(str(_sum(tellings, key)) for key in ("faults", *columns))]


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]
