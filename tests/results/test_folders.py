"""What counts as a run below a folder, where names of experiments have a slash or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ntkexp.errors import UserError
from ntkexp.results import Run, read
from ntkexp.results.folders import roots, runs
from ntkexp.results.reading import collect

PLAIN, NESTED = Path("disk", "0123456789ab"), Path("lazy", "yin_yang", "0123456789ab")
KEPT = Path("reference", "lazy", "yin_yang", "fedcba987654")


def made(root: Path, *folders: Path) -> None:
    for folder in folders:
        (root / folder).mkdir(parents=True)
        (root / folder / "status.json").write_text("{}")


def found(root: Path, below: str = ".") -> list[Path]:
    return [path.relative_to(root) for path in runs(root / below)]


def test_runs_of_both_kinds_of_names_are_found_from_every_folder_above_them(tmp_path: Path) -> None:
    made(tmp_path, PLAIN, NESTED)
    assert found(tmp_path) == [PLAIN, NESTED]
    assert found(tmp_path, "disk") == [PLAIN]
    for above in ("lazy", "lazy/yin_yang", str(NESTED)):
        assert found(tmp_path, above) == [NESTED]


def test_what_lies_inside_of_a_run_is_no_run(tmp_path: Path) -> None:
    made(tmp_path, PLAIN, PLAIN / "unfinished", NESTED)
    assert found(tmp_path) == [PLAIN, NESTED]


def test_kept_runs_count_only_where_their_store_is_named(tmp_path: Path) -> None:
    made(tmp_path, NESTED, KEPT)
    assert found(tmp_path) == [NESTED]
    assert found(tmp_path, "reference") == [KEPT]
    assert runs([tmp_path, tmp_path / "reference", tmp_path]) == [
        tmp_path / p for p in (NESTED, KEPT)
    ]


def test_of_two_copies_of_a_run_the_one_of_the_first_folder_counts(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("outputs", "kept")]  # not in order of their names
    for place in places:
        with Run(place / NESTED, ()) as run:
            run.begin(f"name: {NESTED.parent}\n", {})
            run.finish()
    assert [record.folder for record in collect(places)] == [places[0] / NESTED]


def test_a_run_has_its_name_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Run(tmp_path / NESTED, ()) as run:
        run.begin(f"name: {NESTED.parent}\n", {})
        run.finish()
    monkeypatch.chdir(tmp_path / NESTED)
    assert read(".").run == NESTED.name
    assert [folder.name for folder in runs(".")] == [NESTED.name]


def test_a_folder_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    assert runs(tmp_path / "nowhere") == []


def test_reference_results_that_are_not_where_the_variable_says_are_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NTKEXP_REFERENCE", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"^NTKEXP_REFERENCE=.*nowhere: no such folder"):
        roots(tmp_path)
