"""Installed from a wheel and editable, the command finds its configs from any folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from ntkexp.experiments import MAIN
from tests.environment import python_path

TOP = Path(__file__).parents[1]
# A user has neither ntkexp on PYTHONPATH nor NTKEXP_REFERENCE set.
AS_A_USER = {k: v for k, v in os.environ.items() if k != "NTKEXP_REFERENCE"}
AS_A_USER["PYTHONPATH"] = python_path()
# The share of the main paper's reference results in a wheel, and that of any other paper.
MOST_BYTES, MOST_BYTES_OF_ANOTHER = 11_000_000, 3_400_000


def run(*words: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=AS_A_USER | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def installed(tmp_path: Path, *what: str | Path) -> Path:
    """A new environment with ntkexp in it; its dependencies are those of this one."""
    home = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=tmp_path)
    site = next(home.glob("lib/python*/site-packages"))
    ours = [path for path in sys.path if path.endswith("site-packages")]
    # Not by its name alone: .pth files in `ours` would be read too, and one may be an editable
    # ntkexp.
    (site / "borrowed.pth").write_text(f"import sys; sys.path.extend({ours!r})\n")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    python = home / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, *what, cwd=tmp_path)
    return home / "bin" / "ntkexp"


def holds_its_own(command: Path, tmp_path: Path) -> None:
    """In an empty folder: trains, draws the reference results, and judges them."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "width: 256" in run(command, "train", "+exp=disk", "--cfg", "job", cwd=elsewhere)
    assert "+exp=vgg19_noise50" in run(command, "list", cwd=elsewhere)
    run(
        command, "train", "+exp=disk", "model.width=4", "model.depth=1", "data.grid=5",
        "probe.eigenfunctions.count=3", "optim.steps=2", "progress=false", cwd=elsewhere,
    )  # fmt: skip
    assert list(elsewhere.glob("outputs/disk/*/eigenfunctions.parquet"))
    drawn = run(command, "figures", "alignment", "8", "--out", "drawn", cwd=elsewhere)
    assert "1 drawn, 0 without runs" in drawn
    assert (elsewhere / "drawn" / "fig08_fourier_modes.pdf").stat().st_size > 0
    assert "| 8 | 1 | 1 | 1 |" in run(command, "claims", "--summary", cwd=elsewhere)


def copied(source: Path) -> Path:
    """A copy to build from: setuptools leaves a build folder beside what it builds."""
    if not (TOP / ".git").exists():
        # An unpacked sdist: all that is there belongs to it.
        return Path(shutil.copytree(TOP, source, ignore=shutil.ignore_patterns(".?*")))
    for name in tracked():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((TOP / name).read_bytes())
    return source


def tracked() -> list[str]:
    words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return [name for name in run("git", *words, cwd=TOP).split("\0") if (TOP / name).is_file()]


@pytest.mark.on_demand
def test_the_sdist_has_all_that_is_tracked_and_both_pass_the_index_checks(tmp_path: Path) -> None:
    pytest.importorskip("build")
    pytest.importorskip("twine")
    if not (TOP / ".git").exists():
        pytest.skip("no checkout to compare with")
    source, built = copied(tmp_path / "source"), tmp_path / "built"
    # The wheel is made from the sdist, as an index's users would make it.
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", built, source, cwd=tmp_path)
    sdist, wheel = next(built.glob("*.tar.gz")), next(built.glob("*.whl"))
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel, cwd=tmp_path)
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert set(tracked()) - held <= {".gitignore"}
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "ntkexp/scripts/alignment/fig01_disk_eigenfunctions.py" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.on_demand
def test_a_wheel(tmp_path: Path) -> None:
    source = copied(tmp_path / "source")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", "-w", tmp_path, source, cwd=tmp_path)  # fmt: skip
    wheel = next(tmp_path.glob("ntkexp-*.whl"))
    for paper, size in reference_bytes(wheel).items():
        assert size < (MOST_BYTES if paper == MAIN else MOST_BYTES_OF_ANOTHER), paper
    holds_its_own(installed(tmp_path, wheel), tmp_path)


def reference_bytes(wheel: Path) -> dict[str, int]:
    """Paper -> what its reference results add to a wheel, compressed."""
    found: dict[str, int] = {}
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            parts = Path(entry.filename).parts
            if parts[:2] == ("ntkexp", "reference"):
                # ntkexp/reference/PAPER/EXPERIMENT/ID/FILE, the main paper's without PAPER.
                paper = parts[2] if len(parts) == 6 else MAIN
                found[paper] = found.get(paper, 0) + entry.compress_size
    return found


@pytest.mark.on_demand
def test_an_editable_install(tmp_path: Path) -> None:
    holds_its_own(installed(tmp_path, "-e", TOP), tmp_path)


def test_every_package_is_listed_for_installation() -> None:
    """Not by a list: a new paper's folders are found. What only developers run is left out."""
    asked = "import runpy, setuptools\nsetuptools.setup = lambda packages: print(*packages)\n"
    told = run(sys.executable, "-c", asked + "runpy.run_path('setup.py')", cwd=TOP)
    found = {
        str(path.parent.relative_to(TOP)).replace("/", ".")
        for home in ("ntkexp", "scripts")
        for path in (TOP / home).rglob("*.py")
        if path.relative_to(TOP).parts[:2] != ("scripts", "tools")
    }
    expected = {name if name.startswith("ntkexp") else f"ntkexp.{name}" for name in found}
    assert sorted(told.split()) == sorted(expected | {"ntkexp.configs", "ntkexp.reference"})
