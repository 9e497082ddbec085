"""Mistakes in files of one's own are told with the file, the line and what was meant."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from ntkexp import components, run
from ntkexp.errors import UserError
from tests.conftest import TINY_DISK, Ntkexp

DISK = "defaults:\n  - disk\n"
HEAD = "# @package _global_\ndefaults:\n  - disk\nname: mine\n"


def written(folder: Path, text: str) -> tuple[str, ...]:
    (folder / "exp").mkdir(exist_ok=True)
    (folder / "exp" / "mine.yaml").write_text(text, encoding="utf-8")
    return ("train", "--config-dir", str(folder), "+exp=mine", "--dry-run")


@pytest.mark.parametrize("text", [HEAD, HEAD.partition("\n")[2], f"\ufeff{HEAD}"])
def test_an_experiment_is_about_the_whole_config(inside: Ntkexp, tmp_path: Path, text: str) -> None:
    """With or without its first line, and behind an editor's byte order mark."""
    planned = inside(*written(tmp_path, text))
    house = inside("train", "+exp=disk", "--dry-run").stdout.split()[-1].rpartition("/")[2]
    assert planned.returncode == 0 and planned.stdout.split()[-1] == f"outputs/mine/{house}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEAD + "model:\n  dept: 3\n", "mine.yaml:6: model.dept: no such key; did you mean depth?"),
        (HEAD + "modle: {depth: 3}\n", "mine.yaml:5: modle: no such key; did you mean model?"),
        (HEAD + "model:\n  depth: abc\n", "mine.yaml:6: model.depth: expected a whole number"),
        (HEAD + "model: {init: kaming}\n", "mine.yaml:5: model.init: Invalid value 'kaming'"),
        (HEAD + "probing:\n  steps: 5\n", "mine.yaml:6: probing.steps: expected a list"),
        (HEAD + "model: resnet18\n", "mine.yaml:5: model: resnet18: expected its options"),
        (HEAD + "model:\n\tdepth: 3\n", "mine.yaml:6: found character that cannot start"),
        ("defaults:\n  - model: mlp\n", "mine.yaml:2: model: mlp: expected override /model: mlp"),
        ("defaults: disk\n", "mine.yaml:1: defaults=disk: expected a list"),
        ("defaults:\n  - dsik\n", "mine.yaml:2: exp=dsik: no such experiment; did you mean disk?"),
        (
            "defaults:\n  - override /study: supernat\n  - override /model: mlp\n",
            "mine.yaml:1: chooses a study, which trains no network, and a model; expected one",
        ),
        (
            DISK + "  - overide /model: mlp\n",
            "3: overide /model: mlp: expected override /model: mlp",
        ),
        (
            DISK + "  - override model: mlp\n",
            "mine.yaml:3: override model: mlp: expected override /",
        ),
        (DISK + "  - /model: mlp\n", "mine.yaml:3: /model: mlp: expected override /model: mlp"),
        (
            DISK + "  - override /model: mpl\n",
            "mine.yaml:3: model=mpl: no such option; did you mean",
        ),
        (
            DISK + "  - override /modle: mlp\n",
            "mine.yaml:3: modle: no such group; did you mean model",
        ),
        (DISK + "  - override /probe: [spectrun]\n", "mine.yaml:3: probe=spectrun: no such option"),
        (DISK + "  - override /model: torch\n", "mine.yaml:3: model.of: has no value"),
        (DISK + "model:\n  depth: -3\n", "mine.yaml:4: model.depth=-3: expected 1 to 1,000 hidden"),
        (DISK + "members: {seed: [1, 1]}\n", "mine.yaml:3: members.seed=[1, 1]: a value stands"),
        ("defaults: [override /data: disk]\n", "mine.yaml: optim.epochs and optim.steps are both"),
        ("", "mine.yaml: expected keys and values, such as name: mine"),
        ("- disk\n", "mine.yaml: expected keys and values"),
        ("5\n", "mine.yaml: expected keys and values"),
    ],
    ids=lambda text: repr(text.removeprefix(HEAD)),
)
def test_a_mistake_in_an_experiment_is_told_by_file_and_line(
    inside: Ntkexp, tmp_path: Path, text: str, told: str
) -> None:
    refused = inside(*written(tmp_path, text))
    assert refused.returncode == 2
    assert told in refused.stderr.splitlines()[0]
    assert "Traceback" not in refused.stderr


def test_a_file_that_gives_no_name_gives_its_own(inside: Ntkexp, tmp_path: Path) -> None:
    words = written(tmp_path, "defaults: [disk]\nmodel: {width: 9}\n")
    assert " outputs/mine/" in inside(*words).stdout


def test_experiments_of_a_folder_go_on_from_one_another_at_any_depth(
    inside: Ntkexp, tmp_path: Path
) -> None:
    written(tmp_path, HEAD)
    (tmp_path / "exp" / "lab").mkdir()
    bases = ["mine", "lab/first", "lab/second", "lab/third", "lab/fourth"]
    for depth, (base, name) in enumerate(pairwise(bases), start=2):
        text = f"defaults: [{base}]\nname: {name}\nmodel: {{depth: {depth}}}\n"
        (tmp_path / "exp" / f"{name}.yaml").write_text(text)
    words = ("--config-dir", str(tmp_path), "+exp=lab/fourth", "seed=3")
    assert " outputs/lab/fourth/" in inside("train", *words, "--dry-run").stdout
    shown = inside("train", *words, "--cfg", "job").stdout
    assert "depth: 5" in shown and "name: lab/fourth" in shown


def test_a_tilde_in_an_experiment_is_the_home_folder(inside: Ntkexp, tmp_path: Path) -> None:
    text = HEAD + "paths: {outputs: ~/runs}\nhydra: {sweeper: {params: {seed: 0}}}\n"
    planned = inside(*written(tmp_path, text)).stdout
    assert f" {Path.home()}/runs/mine/" in planned


def test_latin_1_is_named(inside: Ntkexp, tmp_path: Path) -> None:
    words = written(tmp_path, HEAD)
    (tmp_path / "exp" / "mine.yaml").write_bytes("name: mañana\n".encode("latin-1"))
    assert "mine.yaml: is no text in UTF-8" in inside(*words).stderr


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("def f(:\n", "mine.py:1: SyntaxError: "),
        ("x = 1\ny = nothere\n", "mine.py:2: NameError: name 'nothere' is not defined"),
        ("import os\nimport notthere\n", "mine.py:2: ModuleNotFoundError: No module named"),
        ("import torch\n\ntorch.zeros(2) @ torch.zeros(3)\n", "mine.py:3: RuntimeError: "),
        ("from other import x\n", "other.py:1: ZeroDivisionError: division by zero"),
    ],
)
def test_an_error_in_a_module_is_told_by_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, told: str
) -> None:
    (tmp_path / "mine.py").write_text(module)
    (tmp_path / "other.py").write_text("x = 1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as refused:
        components.find("model", "mine.Net")
    assert str(refused.value).startswith(f"model=mine.Net: {tmp_path}/{told}")


def test_python_finds_the_experiments_of_a_folder_as_well(tmp_path: Path) -> None:
    written(tmp_path, HEAD + "model: {dept: 3}\n")
    with pytest.raises(UserError, match=r"mine\.yaml:5: model\.dept: no such key"):
        run("mine", {}, runs=tmp_path / "outputs", config_dir=tmp_path)


@pytest.mark.parametrize("named", [(), ("--config-dir", "my/exp")])
def test_a_file_beside_or_below_the_folder_of_configs_is_named(
    inside: Ntkexp, tmp_path: Path, named: tuple[str, ...]
) -> None:
    (tmp_path / "my").mkdir()
    written(tmp_path / "my", HEAD)
    refused = inside("train", *named, "+exp=mine", "--dry-run").stderr
    assert "exp=mine: no such experiment; my/exp/mine.yaml is one, with --config-dir my" in refused


def test_a_module_of_the_folder_at_work_is_found(inside: Ntkexp, tmp_path: Path) -> None:
    """As with `python -m`, behind what is installed."""
    (tmp_path / "my_net.py").write_text(
        "from torch import nn\n\n\ndef net():\n    return nn.Linear(2, 1)\n"
    )
    words = ("train", "+exp=disk", "model=torch", "model.of=my_net.net", "--dry-run")
    assert "to run" in inside(*words).stdout


PROBE = """from dataclasses import dataclass
from ntkexp.probes import Probe
from ntkexp.results.table import STEP, Table


@dataclass
class Raising(Probe):
    tables = (Table("raising", "nothing", {"step": STEP}),)

    def measure(self, view):
        return {"raising": 1 / 0}


class Bare(Probe):
    pass
"""


def test_an_error_of_a_probe_of_ones_own_names_its_line(inside: Ntkexp, tmp_path: Path) -> None:
    (tmp_path / "my_probe.py").write_text(PROBE)
    words = [word for word in TINY_DISK if not word.startswith("probe.")]
    failed = inside("train", *words, "probe=[my_probe.Raising]")
    assert "ZeroDivisionError: division by zero (" in failed.stderr
    assert f"{tmp_path}/my_probe.py:11)" in failed.stderr
    refused = inside("train", "+exp=disk", "probe=[my_probe.Bare]").stderr
    assert "probe=my_probe.Bare: is no dataclass; expected @dataclass above it" in refused
