"""One-token changes: what can be changed, and that each is another valid program."""

from __future__ import annotations

import ast

from ntkexp.scripts.mutate import ROOMS, changes_of, drawn

CODE = '''\
"""Says what it is."""
def bound(radius: float, n: int, names: list[str]) -> float:
    """Theorem 13."""
    if radius < 0 and not n:
        raise ValueError("radius is negative")
    names.append("é"); names.sort(reverse=True)
    return (radius) / (n + 1.5)
'''


def test_each_change_is_one_token_of_what_decides_the_result() -> None:
    lines = CODE.splitlines()
    after = {change.applied(CODE).splitlines()[change.line - 1].strip() for change in changes(CODE)}
    assert after == {
        "if radius <= 0 and not n:",
        "if radius < 0 or not n:",
        "if radius < 0 and n:",
        "if radius < 1 and not n:",
        "if radius < -1 and not n:",
        "names.append('éx'); names.sort(reverse=True)",
        "pass; names.sort(reverse=True)",
        'names.append("é"); names.sort(reverse=False)',
        'names.append("é"); pass',
        "return (radius) * (n + 1.5)",
        "return (radius) / (n - 1.5)",
        "return (radius) / (n + 3.0)",
        "return (radius) / (n + 2.5)",
        "return None",
    }
    for change in changes(CODE):
        changed = change.applied(CODE)
        ast.parse(changed)
        others = [n for n, line in enumerate(changed.splitlines(), 1) if line != lines[n - 1]]
        assert others == [change.line]


def changes(text: str):
    return changes_of("bound.py", text)


def test_a_longer_draw_begins_with_the_shorter_one() -> None:
    for room in ROOMS:
        long = drawn(room, 150, seed=0)
        assert len(set(long)) == 150
        assert drawn(room, 10, seed=0) == long[:10]
        assert drawn(room, 10, seed=1) != long[:10]
