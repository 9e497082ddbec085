"""What is known of figure scripts without running them."""

from __future__ import annotations

from pathlib import Path

from ntkexp.papers import scripts


def test_a_script_says_its_paper_its_figure_and_its_caption(tmp_path: Path) -> None:
    folder = tmp_path / "scripts" / "lazy"
    folder.mkdir(parents=True)
    file = folder / "fig510_rates.py"
    # Whoever ran it would hear of it.
    file.write_text('"""Rates.\n\nBy width."""\nFIGURE = "5.10"\nraise SystemExit(1)\n')
    found = scripts.read(file)
    assert (found.paper, found.figure, found.name) == ("lazy", "5.10", "lazy/fig510_rates")
    assert found.caption == "Rates.\n\nBy width."
    assert scripts.folder_of(found.paper) == Path("outputs/figures/lazy")


def test_the_main_papers_figures_come_in_their_order_under_bare_names() -> None:
    found = [one for one in scripts.scripts() if one.paper == "alignment"]
    numbers = [one.figure for one in found if one.figure]
    assert numbers == [str(number) for number in range(1, 15)]
    assert all(one.name == one.path.stem for one in found)
    assert all(f"fig{int(one.figure):02d}_" in one.stem for one in found if one.figure)
    assert scripts.folder_of("alignment") == Path("outputs/figures")
