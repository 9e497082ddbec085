"""Every option can be read: one sentence where it is declared, on the command line and a page."""

from __future__ import annotations

import pytest

from ntkexp.commands.handbook import config_groups, named, options, rows
from ntkexp.components import GROUPS
from ntkexp.config import TrainConfig
from ntkexp.errors import UserError
from ntkexp.scripts.tools.pages import options as page


@pytest.mark.parametrize("group", [*GROUPS, *config_groups(), "run"])
def test_every_option_has_a_sentence_that_fits_a_line(group: str) -> None:
    listed = [("run", TrainConfig, "")] if group == "run" else list(named(group))
    for title, kind, key in listed:
        for row in rows(kind, key):
            if kind.__module__.startswith("tests."):
                continue
            assert 3 < len(row.about) <= 90, f"{title}: {row.key} has no sentence"
            assert not row.about.endswith("."), row.key


def test_the_command_tells_default_meaning_and_values_of_an_option() -> None:
    shown = " ".join(options(["optim=sgd"]).split())
    assert "optim.schedule constant the rate: constant, or falling to 0" in shown
    assert "(constant | cosine | linear)" in shown
    assert "optim.momentum 0.9" in shown


def test_without_a_group_it_has_the_groups_and_the_options_of_a_run() -> None:
    shown = options()
    assert all(f"{group}=" in shown for group in GROUPS)
    assert "probing" in shown and "seed" in shown


def test_a_group_that_there_is_not_is_refused_with_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean optim"):
        options(["optum"])
    with pytest.raises(UserError, match="did you mean sgd"):
        options(["optim=sgt"])


def test_the_site_has_every_option_of_every_component() -> None:
    text = page.page()
    for group in GROUPS:
        for title, kind, key in named(group):
            if kind.__module__.startswith("ntkexp."):
                section = text.partition(f"\n### {title}\n")[2].partition("\n### ")[0]
                for row in rows(kind, key):
                    short = row.key.rpartition(".")[2]
                    assert f"`{row.key}`" in section or f"`{short}`" in section, row.key
    assert all(f"\n## {title}\n" in text for title in config_groups())
