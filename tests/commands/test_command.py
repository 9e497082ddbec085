"""Flags become a command, and what they mean to Hydra."""

from __future__ import annotations

import threading

import pytest

from ntkexp.cli import main
from ntkexp.commands.claims import Claims
from ntkexp.commands.train import Study, Train
from ntkexp.errors import UserError


def test_a_flag_sets_the_key_that_it_names() -> None:
    asked = Train.parsed(["--with-parents", "seed=1", "--rerun"])
    assert asked.for_hydra() == ([], ["seed=1", "rerun=true", "with_parents=true"])


@pytest.mark.parametrize("word", ["--dry-run", "launcher.dry_run=true"])
def test_a_dry_run_is_a_sweep_of_one_run_by_its_flag_and_by_its_key(word: str) -> None:
    asked = Train.parsed(["+exp=disk", word])
    assert asked.one_run
    assert asked.for_hydra() == (["--multirun"], ["+exp=disk", "launcher.dry_run=true"])
    assert not Train.parsed(["+exp=disk", word, "-m"]).one_run


def test_what_hydra_does_with_a_config_is_one_thing() -> None:
    with pytest.raises(UserError, match="--multirun and --cfg: expected one of them"):
        Train.parsed(["--fail-fast", "--cfg", "job"])
    with pytest.raises(UserError, match="expected --cfg job beside it"):
        Train.parsed(["--resolve"])


def test_a_command_is_refused_in_its_own_name() -> None:
    with pytest.raises(UserError, match=r"study: argument -c/--cfg: .*\nusage: ntkexp study "):
        Study.parsed(["--cfg"])
    with pytest.raises(UserError, match="claims: unrecognized arguments: word\nusage: ntkexp cl"):
        Claims.parsed(["word"])


def test_a_command_may_be_given_outside_of_the_main_thread() -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(main(["completion", "bash"])))
    thread.start()
    thread.join()
    assert codes == [0]
