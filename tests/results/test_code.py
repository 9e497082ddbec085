"""Which code made a run: told without what belongs to somebody else."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ntkexp
from ntkexp.results.provenance import git_state, hash_of_files
from tests.conftest import TINY_DISK

PACKAGE = Path(ntkexp.__file__).parent


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    done = subprocess.run(
        ["git", "-C", folder, *who, *words], check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a package `tracked/` in it, and `.venv/` that it does not track."""
    top = tmp_path / "repository"
    for name in ("tracked", ".venv/installed"):
        (top / name).mkdir(parents=True)
        (top / name / "__init__.py").write_text("x = 1\n")
    (top / "settings.txt").write_text("secret=123\n")
    (top / ".gitignore").write_text(".venv\n")
    git(top, "init", "-q")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "first")
    git_state.cache_clear()
    return top


def test_a_package_that_git_does_not_track_has_no_commit(repository: Path) -> None:
    (repository / "settings.txt").write_text("secret=456\n")
    assert git_state(repository / ".venv" / "installed") is None


def test_a_tracked_package_has_its_commit_and_a_hash_of_its_own_changes(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = git(repository, "rev-parse", "HEAD").strip()
    (repository / "settings.txt").write_text("secret=456\n")
    assert git_state(repository / "tracked") == {"sha": sha}
    (repository / "tracked" / "__init__.py").write_text("x = 2\n")
    git_state.cache_clear()
    diff = git(repository, "diff", "HEAD", "--", "tracked")
    changed = {"sha": sha, "changes": hashlib.sha256(diff.encode()).hexdigest()}
    assert git_state(repository / "tracked") == changed
    git_state.cache_clear()
    monkeypatch.setenv("NTKEXP_DIFF", "1")
    assert git_state(repository / "tracked") == {**changed, "diff": diff}


def test_the_hash_is_of_names_and_contents_wherever_the_package_lies(tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place / "inner").mkdir(parents=True)
        (tmp_path / place / "inner" / "one.py").write_text("x = 1\n")
        (tmp_path / place / "__init__.py").write_text("")
    (tmp_path / "b" / "notes.txt").write_text("beside it")
    same = hash_of_files(tmp_path / "a")
    assert hash_of_files(tmp_path / "b") == same
    (tmp_path / "b" / "inner" / "one.py").rename(tmp_path / "b" / "inner" / "two.py")
    hash_of_files.cache_clear()
    assert hash_of_files(tmp_path / "b") != same


def test_a_run_from_inside_of_a_repository_of_ones_own_tells_nothing_of_it(
    repository: Path,
) -> None:
    site = repository / ".venv" / "site"
    shutil.copytree(PACKAGE, site / "ntkexp")
    if not (site / "ntkexp" / "configs").is_dir():
        shutil.copytree(PACKAGE.parent / "configs", site / "ntkexp" / "configs")
    (repository / "settings.txt").write_text("secret=456\n")
    source = f"import sys; sys.path.insert(0, {str(site)!r}); from ntkexp.cli import main; main()"
    words = ("train", *TINY_DISK, "optim.steps=1")
    done = subprocess.run(
        [sys.executable, "-c", source, *words], cwd=repository, capture_output=True, text=True,
        env=os.environ,
    )  # fmt: skip
    (file,) = repository.glob("outputs/disk/*/provenance.json")
    (life,) = json.loads(file.read_text())["lives"]
    assert life["git"] is None, done.stderr
    assert life["ntkexp"] == ntkexp.__version__
    assert life["code"] == hash_of_files(site / "ntkexp")
    assert "secret" not in file.read_text()
