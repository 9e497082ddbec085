"""An experiment says that it stands in for something larger, and the ledger says it of its runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ntkexp.claims.claim import Case, Claim, above
from ntkexp.claims.horizon import OWN_END
from ntkexp.claims.rendering import as_summary, notes
from ntkexp.claims.verdict import judge
from ntkexp.commands.catalogue import Catalogue
from ntkexp.experiments import stand_ins
from ntkexp.identity import plain
from ntkexp.results.reading import collect
from ntkexp.results.record import Record
from tests.papers.alignment.claim_examples import disk, record
from tests.tiny_runs import composed, identity

STANDS_IN = "lazy/noise_mlp"
KEPT = Path(__file__).parents[2] / "outputs" / "reference"


def run_of(experiment: str, *typed: str, **config: object) -> Record:
    return replace(record(experiment, disk()[0].tables, **config), typed=typed)


def test_a_run_of_an_experiment_that_stands_in_is_never_of_the_papers_scale() -> None:
    assert run_of(STANDS_IN).scale == "stand-in"
    assert run_of(STANDS_IN, "optim.steps=9").scale == "stand-in"
    assert run_of(STANDS_IN, "optim.lr=9").scale == "altered"
    assert run_of(STANDS_IN, **{"scale.name": "small"}).scale == "small"
    assert run_of("disk").scale == "paper"


def test_its_channels_do_not_make_it_narrow_or_altered() -> None:
    channels = {"model.name": "vgg", "model.base": 8}
    assert run_of("lazy/spurious_cifar", **channels).scale == "stand-in"
    full = run_of("lazy/spurious_cifar", "model.base=64", **{"model.base": 64})
    assert full.scale == "stand-in"  # faces are what it has none of
    assert run_of("lazy/noise_vgg11", "model.base=8", **channels).scale == "narrow"


def test_kept_runs_from_before_the_field_are_judged_by_their_experiment() -> None:
    kept = collect([KEPT / STANDS_IN])
    assert kept
    before = [replace(one, config={**one.config, "stands_in_for": ""}) for one in kept]
    assert {one.scale for one in [*kept, *before]} == {"stand-in"}


def test_an_experiment_that_is_not_known_here_is_asked_by_its_runs_config() -> None:
    assert run_of("elsewhere/one", stands_in_for="a larger one").scale == "stand-in"
    assert run_of("elsewhere/one").scale == "paper"


def test_the_ledger_and_its_summary_tell_it() -> None:
    claim = Claim(
        id="one",
        figure="5.2",
        says="It is positive",
        paper="positive",
        number="itself",
        experiments=(STANDS_IN,),
        tables=(),
        statistic=lambda records: [Case("", one.seed, 1.0) for one in records],
        holds=above(0.0),
        threshold="the sign",
        horizon=OWN_END,
        work="lazy",
    )
    finding = judge(claim, [run_of(STANDS_IN)])
    assert finding.scale == "stand-in"
    assert f"{STANDS_IN}: stands in for {stand_ins()[STANDS_IN]}" in notes([finding])
    assert "| 5.2 | 1 |  |  |  |  | stand-in |" in as_summary([finding])


@pytest.mark.parametrize("words", [["+exp=disk"], [f"+exp={STANDS_IN}"]])
def test_the_field_is_no_part_of_an_id(words: list[str], made_images: None) -> None:
    told = composed([*words, "stands_in_for=something"])
    assert plain(told)["stands_in_for"] == "something"
    assert identity(told) == identity(composed(words))


def test_the_list_of_one_experiment_tells_it(tmp_path: Path) -> None:
    assert f"stands in for {stand_ins()[STANDS_IN]}" in Catalogue().detail(STANDS_IN)
