"""Ledger and figures speak of the same runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import judge
from ntkexp.objectives.evaluate import EVALS
from ntkexp.probes.spectrum import SPECTRUM
from ntkexp.results import Run
from ntkexp.results.reading import collect
from ntkexp.scripts.runs import chosen
from tests.papers.made import evals, spectrum

CONFIG = """name: vgg19_clean
seed: {seed}
recipe: {recipe}
model: {{name: vgg, depth: 19, base: {base}}}
optim: {{lr: 0.01, schedule: constant}}
scale: {{name: paper}}
"""


def kept(root: Path, seed: int, base: int, last: int, recipe: str = "paper") -> None:
    with Run(root / f"{recipe}-{base}-{seed}", [EVALS, SPECTRUM]) as run:
        words = [f"model.base={base}"] if base < 64 else []
        run.begin(CONFIG.format(seed=seed, base=base, recipe=recipe), {"argv": ["ntkexp", *words]})
        steps = (0, last // 2, last)
        half = 3 * [0.5]
        eigenvalues = spectrum(np.tile([2.0, 1.0], (3, 1)), steps=steps)
        for table, frame in (
            (EVALS, evals(half, half, steps).assign(loss=1.0)),
            (SPECTRUM, eigenvalues),
        ):
            run.add(table.name, {name: frame[name].to_numpy() for name in table.columns})
        run.finish()


def test_one_full_size_run_comes_before_three_narrow_ones_in_both(
    tmp_path: Path,
) -> None:
    for seed in range(3):
        kept(tmp_path, seed, base=16, last=5000)
    kept(tmp_path, 0, base=64, last=5000)
    drawn = chosen("vgg19_clean", [tmp_path], ("evals", "spectrum"))
    claim = next(claim for claim in ledger(["alignment"]) if claim.id == "fig02-erank-drop-clean")
    judged = judge(claim, collect([tmp_path])).records
    assert [run.run for run in drawn] == [run.run for run in judged] == ["paper-64-0"]


def test_a_full_size_run_of_a_few_steps_stands_behind_a_narrow_one_that_decides_claims(
    tmp_path: Path,
) -> None:
    kept(tmp_path, 0, base=16, last=5000)
    kept(tmp_path, 0, base=64, last=300)
    with_horizon = tmp_path / "paper-64-0" / "provenance.json"
    text = with_horizon.read_text().replace('"ntkexp"', '"ntkexp", "optim.steps=300"')
    with_horizon.write_text(text)
    (drawn,) = chosen("vgg19_clean", [tmp_path], ("evals",))
    assert drawn.run == "paper-16-0"


def test_each_recipe_is_drawn_for_itself(tmp_path: Path) -> None:
    kept(tmp_path, 0, base=16, last=5000)
    kept(tmp_path, 0, base=16, last=9000, recipe="released")
    for recipe in ("paper", "released"):
        (drawn,) = chosen("vgg19_clean", [tmp_path], ("evals",), recipe)
        assert drawn.recipe == recipe
