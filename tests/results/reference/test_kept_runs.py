"""Every run that the repository keeps is found by the words that made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from ntkexp.compose.finalise import finalise
from ntkexp.compose.overrides import typed_keys
from ntkexp.identity import digest, hashed, plain
from ntkexp.results.folders import runs
from ntkexp.results.status import Card, read_card
from tests.tiny_runs import composer, identity, read_plain

KEPT = Path(__file__).parents[3] / "outputs" / "reference"
RUNS = runs(KEPT)


def card_of(run: Path) -> Card:
    card = read_card(run)
    assert card is not None
    return card


def value_of(config: dict[str, Any], key: str) -> str:
    """The value of a kept key as one types it; a group is chosen by its name."""
    value = OmegaConf.select(OmegaConf.create(config), key)
    if isinstance(value, DictConfig) and "name" in value:
        value = value.name
    if isinstance(value, str) and "(" in value:
        return f"'{value}'"  # else Hydra would take it for a sweep
    return "null" if value is None else str(value)


def place_of(config: dict[str, Any], key: str) -> str:
    """A key as one types it; a component of a study is chosen of its group, at its place."""
    value = OmegaConf.select(OmegaConf.create(config), key)
    chosen = key.startswith("study.") and isinstance(value, DictConfig) and "name" in value
    return f"{key.rpartition('.')[2]}@{key}" if chosen else key


def words_of(run: Path) -> list[str]:
    card = card_of(run)
    config = read_plain((run / "config.yaml").read_text(encoding="utf-8"))
    keys = sorted({*card.typed, *card.axes})
    words = [f"{place_of(config, key)}={value_of(config, key)}" for key in keys]
    return [f"+exp={card.experiment}", *words]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parent.name}/{run.name}")
def test_a_kept_config_still_gives_its_id(run: Path) -> None:
    config = read_plain((run / "config.yaml").read_text(encoding="utf-8"))
    assert digest(hashed(config)) == run.name


def finds(run: Path) -> None:
    words = words_of(run)
    config = composer(card_of(run).command).compose(words)
    # As a command does: the ids of the runs that it needs are part of its own.
    finalise(config, frozenset(typed_keys(words)))
    assert identity(config) == run.name, words
    assert card_of(run).hashed == hashed(plain(config)), words


def typed_of(run: Path) -> int:
    return len({*card_of(run).typed, *card_of(run).axes})


def test_the_words_that_made_a_run_find_it() -> None:
    """Of every paper that for which most was typed; of all of them the next test."""
    papers = {card_of(run).experiment.rpartition("/")[0] for run in RUNS}
    assert len(papers) >= 5
    for paper in papers:
        of_paper = [run for run in RUNS if card_of(run).experiment.rpartition("/")[0] == paper]
        finds(max(of_paper, key=typed_of))


@pytest.mark.on_demand
def test_the_words_that_made_every_run_find_it() -> None:
    assert len(RUNS) >= 93
    for run in RUNS:
        finds(run)
