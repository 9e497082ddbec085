"""Thresholds stand on a page of their own, where a change of one is seen."""

from __future__ import annotations

from ntkexp.scripts.pages import thresholds


def test_every_claim_holds_where_the_page_says() -> None:
    assert thresholds.page() == thresholds.PAGE.read_text(encoding="utf-8"), (
        "docs/thresholds.md: make pages writes it anew"
    )
