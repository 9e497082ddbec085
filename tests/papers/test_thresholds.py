"""Thresholds are fixed before a run is looked at: they stand on a page, where a change is seen."""

from __future__ import annotations

from ntkexp.scripts.pages import thresholds


def test_every_claim_holds_where_the_page_says() -> None:
    assert thresholds.page() == thresholds.PAGE.read_text(encoding="utf-8"), (
        "docs/thresholds.md: make pages writes it anew"
    )
