"""Disturbs runs in every way that a machine or a person might, and counts what is lost.

    python scripts/tools/torture.py 60               an hour; the same seed draws the same faults
    python scripts/tools/torture.py --only killed/17    one campaign again, with all that was said
    python scripts/tools/torture.py 5 --kind lock_lost     one kind alone

Real processes of `ntkexp train`, `study` and `-m`, forked from this one, which has everything
imported. In each campaign one of them is killed, stopped, told to stop or refused a file
operation, at an operation drawn among all those of an undisturbed life, or its files are damaged;
then the same command is given again until it is done, and every table row and weight is compared
with those of an undisturbed run. Exits with 1 if anything was lost or doubled or differs, on a
traceback, or if a run never came to its end. docs/reliability.md says what is promised.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Before torch is loaded: lives run side by side.
os.environ["OMP_NUM_THREADS"] = "1"

import hydra  # noqa: F401
import torch

import ntkexp.training.experiment  # noqa: F401
from ntkexp.cli import main as ntkexp_main
from ntkexp.scripts.tools.faults import table
from ntkexp.scripts.tools.faults.campaign import Campaign, Skipped
from ntkexp.scripts.tools.faults.kinds import KINDS
from ntkexp.scripts.tools.faults.lives import adopt_orphans, compose_once
from ntkexp.scripts.tools.faults.works import WORKS, Reference, Work, make_images


@dataclass
class Ground:
    """The images and undisturbed runs that all campaigns share."""

    top: Path
    references: dict[str, Reference] = field(default_factory=dict)

    @property
    def images(self) -> tuple[Path, Path]:
        return self.top / "images", self.top / "other images"

    def prepare(self) -> None:
        for seed, folder in enumerate(self.images):
            make_images(folder, seed)
        os.environ["NTKEXP_CACHE"] = str(self.top / "cache")
        for work in WORKS:
            for data in (0, 1) if work.images else (0,):
                name = work.name + (", other data" if data else "")
                where = {"NTKEXP_DATA": str(self.images[data])}
                os.environ |= where
                if not data:
                    self._warm(work)
                reference = Reference(work, self.top / "undisturbed" / name, where)
                reference.make()
                self.references[name] = reference

    def _warm(self, work: Work) -> None:
        """Import and compose here what its lives will need, so that no fork has to."""
        before, out = Path.cwd(), sys.stdout
        with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
            os.chdir(folder)
            sys.stdout = nowhere
            try:
                for pace in work.paces:
                    for rerun in (False, True):
                        ntkexp_main(work.at(pace, rerun=rerun))
            finally:
                sys.stdout = out
                os.chdir(before)

    def campaign(self, name: str, seed: str) -> dict[str, Any]:
        """Carry out one campaign and tell of it."""
        kind = name.partition("/")[0]
        home = Path(tempfile.mkdtemp(dir=self.top)) / "home"
        campaign = Campaign(kind, f"{seed}/{name}", home, self.references, self.images)
        skipped = ""
        try:
            KINDS[kind](campaign)
        except Skipped as why:
            skipped = str(why)
        except Exception:
            campaign.count("broken", traceback.format_exc())
        finally:
            campaign.close()
            home.parent.rmdir()
        counts = {column: number for column, number in campaign.counts.items() if number}
        return {
            "name": name,
            "kind": kind,
            "counts": counts,
            "hits": campaign.hits,
            "notes": campaign.notes,
            "skipped": skipped,
        }


def names(kinds: list[str]) -> Iterator[str]:
    """Every kind in turn, for ever."""
    number = 0
    while True:
        for kind in kinds:
            yield f"{kind}/{number}"
        number += 1


def work_through(ground: Ground, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The tellings of campaigns from `options.jobs` processes, until the time is up."""
    deadline = time.monotonic() + 60 * options.minutes
    ours, theirs = os.pipe()
    workers = []
    for worker in range(options.jobs):
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            _be_worker(ground, options, worker, theirs, deadline)
        workers.append(pid)
    os.close(theirs)
    with os.fdopen(ours, encoding="utf-8") as reports:
        for line in reports:
            yield json.loads(line)
    for pid in workers:
        os.waitpid(pid, 0)


def _be_worker(
    ground: Ground, options: argparse.Namespace, worker: int, report: int, deadline: float
) -> None:
    code = 1
    try:
        adopt_orphans()
        for number, name in enumerate(names(options.kind or list(KINDS))):
            if time.monotonic() > deadline:
                break
            if number % options.jobs == worker:
                line = json.dumps(ground.campaign(name, options.seed)) + "\n"
                os.write(report, line.encode())
        code = 0
    finally:
        os._exit(code)


def read_options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("minutes", type=float, nargs="?", default=1.0)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    parser.add_argument("--only", metavar="KIND/NUMBER", help="this one campaign")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    options = read_options(words)
    torch.set_num_threads(1)
    adopt_orphans()
    top = Path(tempfile.mkdtemp(prefix="torture-"))
    totals: Counter[str] = Counter()
    tellings = []
    try:
        compose_once()
        ground = Ground(top)
        ground.prepare()
        print(f"undisturbed runs are there; {options.minutes:g} minutes begin", flush=True)
        began = time.monotonic()
        campaigns = (
            iter([ground.campaign(options.only, options.seed)])
            if options.only
            else work_through(ground, options)
        )
        for telling in campaigns:
            tellings.append(telling)
            totals.update(telling["counts"])
            if options.only or table.bad(telling):
                print(table.rendered(telling, options.seed), flush=True)
        print(table.summary(tellings, time.monotonic() - began))
    finally:
        shutil.rmtree(top, ignore_errors=True)
    return 1 if any(map(table.bad, tellings)) else 0


if __name__ == "__main__":
    raise SystemExit(main())
