"""Disturbs real commands at their system calls, and counts what is lost.

    python scripts/tools/faults/campaign.py 300                 trials, a second or two each
    python scripts/tools/faults/campaign.py 30 --kind killed    one kind alone
    python scripts/tools/faults/campaign.py --only killed/17    one trial again, and all it said

A trial runs a command (`works.py`) below a preload (`faults.c`) that kills, stops, delays or fails
it at one of its calls on files of outputs/; then the same command is given again until it is done,
and what it leaves is compared with what an undisturbed life leaves (`verdict.py`). The same seed
draws the same faults. Exits with 1 if anything was wrong, with 77 where no call can be met.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

SKIPPED = 77
WRONG = ("lost", "doubled", "changed", "leftover", "traceback", "hung", "stuck", "unclear")


def main(words: Sequence[str] | None = None) -> int:
    options = _options(words)
    if "FAULTS" not in os.environ:
        return _below_the_preload()
    # Here alone: what torch loads is loaded below the preload.
    from ntkexp.scripts.tools.faults.kinds import KINDS
    from ntkexp.scripts.tools.faults.lives import compose_once
    from ntkexp.scripts.tools.faults.trial import Trial
    from ntkexp.scripts.tools.faults.works import References

    compose_once()
    top = Path(os.environ["FAULTS"])
    references = References(top, options.seed)
    totals: dict[str, Counter[str]] = {}
    met: dict[str, set[str]] = {}
    every = range(options.trials)
    names = [f"{kind}/{number}" for number in every for kind in options.kind or KINDS]
    for name in [options.only] if options.only else names[: options.trials]:
        kind, number = name.split("/")
        carry_out, works = KINDS[kind]
        round_, turn = divmod(int(number), len(works))
        work, rng = works[turn], random.Random(f"{options.seed}/{name}")
        spread = references.spread(kind, work, round_)
        trial = Trial(references.of(work), spread, top / "trial", rng)
        references.begin(trial.work, trial.home)
        try:
            carry_out(trial)
        except Exception:
            trial.count("unclear", "the campaign broke: " + traceback.format_exc())
        totals.setdefault(kind, Counter()).update(trial.counts, trials=1)
        met.setdefault(work, set()).update(trial.met)
        if options.only or any(trial.counts[column] for column in WRONG):
            print(f"{name}, {work} (--seed {options.seed})", *trial.notes, sep="\n  ", flush=True)
        shutil.rmtree(top / "trial")
    _print_table(totals)
    for work, places in met.items():
        there = {call.place for call in references.of(work).calls}
        print(f"{work}: {len(places & there)} of {len(there)} places", flush=True)
    return int(any(total[column] for total in totals.values() for column in WRONG))


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trials", type=int, nargs="?", default=100)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--kind", action="append", metavar="KIND")
    parser.add_argument("--only", metavar="KIND/NUMBER", help="this one trial")
    return parser.parse_args(words)


def _below_the_preload() -> int:
    """This command again in a process that faults.c watches."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        print("skipped: needs Linux and a C compiler, to stand between a command and its calls")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        library = Path(folder, "faults.so")
        source = Path(__file__).with_name("faults.c")
        subprocess.run(
            [compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True
        )
        environment = {
            "LD_PRELOAD": str(library),
            "FAULTS": folder,
            "OMP_NUM_THREADS": "1",  # lives run side by side
            "NTKEXP_REFERENCE": "",
            "NTKEXP_CACHE": f"{folder}/cache",
        }
        return subprocess.run([sys.executable, *sys.argv], env=os.environ | environment).returncode


def _print_table(totals: dict[str, Counter[str]]) -> None:
    columns = ("trials", "faults", *WRONG)
    rows = [(kind, *(total[column] for column in columns)) for kind, total in totals.items()]
    rows.append(("all", *(sum(total[column] for total in totals.values()) for column in columns)))
    print(f"| kind | {' | '.join(columns)} |", "|---" * (1 + len(columns)) + "|", sep="\n")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    raise SystemExit(main())
