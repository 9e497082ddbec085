"""Figure numbers in the order in which a reader looks for them."""

from __future__ import annotations

import random

from ntkexp.papers.registry import named, natural

ORDER = ["2", "5", "5.1", "5.2", "5.10", "9", "10", "A.3", "A.12", "C", "table 1", None]


def test_numbers_go_by_size_before_letters_and_none_comes_last() -> None:
    mixed = random.Random(0).sample(ORDER, len(ORDER))
    assert sorted(mixed, key=natural) == ORDER


def test_a_number_is_named_as_a_text_names_it() -> None:
    assert [named(number) for number in ("2", "A.3", "table 1")] == [
        "Figure 2",
        "Figure A.3",
        "Table 1",
    ]
