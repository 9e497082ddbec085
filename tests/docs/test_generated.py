"""What is generated of the documentation is what comes now; `make pages` writes it anew."""

from __future__ import annotations

import pytest

from ntkexp.claims.command import judged, records_of
from ntkexp.scripts import document_figures, document_verdicts

ANEW = "make pages writes it anew"


def test_the_gallery_is_what_the_figures_say() -> None:
    pages = document_figures.pages()
    assert {file.stem for file in document_figures.GALLERY.glob("*.md")} == set(pages)
    for paper, text in pages.items():
        file = document_figures.GALLERY / f"{paper}.md"
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: {ANEW}"
    for image in (document_figures.DOCS / "figures").rglob("fig*.png"):
        assert f"{image.name})" in "".join(pages.values()), image.name


@pytest.mark.on_demand
def test_the_verdicts_are_those_of_the_reference_results() -> None:
    findings = judged(records_of([document_verdicts.REFERENCE]))
    for file, text in document_verdicts.written(findings).items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: {ANEW}"
