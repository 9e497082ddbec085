"""The kinds of trial, a function each."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

from ntkexp.results import lock
from ntkexp.scripts.tools.faults import engines
from ntkexp.scripts.tools.faults.lives import FOR_EVER, Rule
from ntkexp.scripts.tools.faults.trial import Trial
from ntkexp.scripts.tools.faults.works import WORKS

ERRORS = (
    errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EACCES, errno.EMFILE, errno.ESTALE, errno.EROFS,
)  # fmt: skip
STOPS, WAITS_MS = (signal.SIGINT, signal.SIGTERM), (300, 1000, 2500)
NO_FLOCK = Rule("fail", value=errno.ENOLCK, call="flock")
# In trials with another machine: what takes a quarter of an hour elsewhere.
SILENT_SECONDS = 0.6
Kind = Callable[[Trial], None]
# Each kind with the works that it disturbs.
KINDS: dict[str, tuple[Kind, list[str]]] = {}
ONE_RUN = ["train", "train, one commit", "study", "members"]
RUNS = [*ONE_RUN, "sweep", "rerun of a sweep", "rerun"]


def disturbs(*works: str) -> Callable[[Kind], Kind]:
    def add(kind: Kind) -> Kind:
        KINDS[kind.__name__] = kind, [*works]
        return kind

    return add


@disturbs(*WORKS)
def killed(trial: Trial) -> None:
    """Up to three lives, each killed at a call; a write is cut in the middle."""
    for _ in range(trial.rng.randint(1, 3)):
        if trial.live(trial.strike("kill", root=trial.rng.random() < 0.4)).code == 0:
            break
    trial.until_done()


@disturbs(*RUNS)
def told_to_stop(trial: Trial) -> None:
    """By one signal or two; half of the time it is killed in the commit that follows."""
    first = trial.strike("signal", trial.rng.choice(STOPS), root=True)
    rules, at = [first], first.at
    if trial.rng.random() < 0.5:
        rules.append(Rule("signal", at + 1, at + 1, trial.rng.choice(STOPS), root=True))
    if trial.rng.random() < 0.5:
        later = at + trial.rng.randint(2, 40)
        rules.append(Rule("kill", later, later, root=trial.work.in_sweep))
    if (code := trial.live(*rules).code) not in (0, 130, 143, -2, -9, -15):
        trial.count("unclear", f"code {code} of one that was told to stop")
    trial.until_done()


@disturbs(*WORKS)
def failing(trial: Trial) -> None:
    """One call is refused, or each from there on: a disk that is full, gone, or not this user's."""
    fault = trial.strike("fail", trial.rng.choice(ERRORS))
    trial.live(fault if trial.rng.random() < 0.5 else replace(fault, until=FOR_EVER))
    trial.until_done()


@disturbs(*RUNS, "done already")
def plain_disk(trial: Trial) -> None:
    """Neither links, nor locks, nor fsync of folders; killed there, then going on there."""
    no_link = Rule("fail", value=trial.rng.choice((errno.EPERM, errno.ENOSYS)), call="link")
    lacks = [no_link, NO_FLOCK, Rule("fail", value=errno.EINVAL, call="fsync folder")]
    trial.live(trial.strike("kill", root=trial.rng.random() < 0.4), *lacks)
    if code := trial.live(*lacks, words=trial.work.again).code:
        trial.count("stuck", f"code {code} on a plain disk")
    trial.until_done()


@disturbs(*ONE_RUN, "sweep", "done already", "figures", "report", "keep")
def twice_at_once(trial: Trial) -> None:
    """One waits at a call, and the other comes: a run is computed once, by either."""
    first = trial.start(trial.strike("delay", trial.rng.choice(WAITS_MS)))
    first.wait_until("delay")
    second = trial.start(trial.strike("delay", trial.rng.choice(WAITS_MS)))
    for ending in map(trial.judge, (first, second)):
        if ending.code not in (0, 1 if trial.work.in_sweep else 0, 2):
            trial.count("unclear", f"code {ending.code} of one of two")
    for file in trial.outputs.glob("*/*/provenance.json"):
        if len(json.loads(file.read_text())["lives"]) > 1:
            trial.count("doubled", f"{file.parent} was computed twice")
    trial.until_done()


@disturbs("rerun of a sweep")
def two_reruns_at_once(trial: Trial) -> None:
    """Two sweeps do the same runs again: neither calls failed what both have done."""
    delays = [trial.strike("delay", trial.rng.choice(WAITS_MS)) for _ in range(2)]
    for ending in map(trial.judge, [trial.start(delay) for delay in delays]):
        if ending.code:
            trial.count("unclear", f"code {ending.code} of a rerun: {ending.out[-300:]}")
    trial.until_done()


@disturbs("rerun")
def bystander_of_a_rerun(trial: Trial) -> None:
    """A run is done again, and before its former results go somebody asks for the same run."""
    waits = trial.rng.choice(WAITS_MS)
    rerun = trial.start(Rule("delay", value=waits, call="unlink", path="status.json"))
    rerun.wait_until("delay")
    asked, ending = trial.live(words=trial.work.again), trial.judge(rerun)
    if ending.code or asked.code not in (0, 2):
        trial.count("lost", f"the rerun ends with {ending.code}, the other with {asked.code}")
    trial.until_done(words=trial.work.again)


@disturbs(*ONE_RUN)
def taken_over(trial: Trial) -> None:
    """Stopped for so long that another machine, out of reach of its lock, takes the run over, which
    may die of it; then the first wakes up, and whatever it still writes does not count."""
    with patch.object(lock, "SILENT_SECONDS", SILENT_SECONDS):
        first = trial.start(trial.strike("signal", signal.SIGSTOP), NO_FLOCK)
        if first.wait_until("signal"):
            time.sleep(1.5 * SILENT_SECONDS)
            deaths = [trial.strike("kill")] if trial.rng.random() < 0.5 else []
            with patch.object(lock, "kernel", lambda: "another machine"):
                trial.live(*deaths, NO_FLOCK)
            os.killpg(first.pid, signal.SIGCONT)
        trial.judge(first)
        time.sleep(SILENT_SECONDS)
        trial.until_done()


@disturbs("sweep")
def engine(trial: Trial) -> None:
    """A Dask cluster carries the sweep out, and a part of it is killed, or stopped for a while; the
    command that is given again does without."""
    at_work = engines.at_work(trial.top.parent)
    part = trial.rng.choice([*engines.PARTS])
    life = trial.start(words=(*trial.work.words, *at_work.words))
    met = at_work.strike(part, life, trial.outputs, trial.rng)
    ending = trial.judge(life)
    trial.counts["faults"] += met
    trial.notes.append(f"    {part}: {'met' if met else 'not met'}")
    if ending.code not in (engines.PARTS[part] if met else (0,)):
        trial.count("unclear", f"code {ending.code} after the {part}'s fault: {ending.out[-300:]}")
    at_work.rest()
    trial.until_done()
