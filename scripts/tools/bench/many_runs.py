"""What `list`, `claims` and `figures` cost with many runs of one experiment.

    python -m scripts.tools.bench.many_runs RUN FOLDER SEEDS 30 300 3000

RUN is the folder of a finished run of the disk. FOLDER gets an outputs/ of so many runs: copies of
it with other seeds, and after each SEEDS of them with another rate, whose tables are links to its
own. The reference results are left out. Of each command it tells the processor time and the most
memory that one of its processes took.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ntkexp.results.commits import StoredFile
from ntkexp.results.status import STATUS, read_status, status_text

COMMANDS = (
    ("list", "disk"),
    ("list", "disk", "--sort", "test_loss"),
    ("claims", "--summary"),
    ("figures", "alignment", "1"),
)


def main(run: Path, home: Path, seeds: int, counts: list[int]) -> None:
    for count in counts:
        for number in range(count):
            folder = home / "outputs" / run.parent.name / f"{number:012x}"
            copy(run, folder, number % seeds, 0.01 + 1e-6 * (number // seeds))
        for words in COMMANDS:
            seconds, megabytes = cost(home, words)
            print(f"{count:>6} runs  {' '.join(words):<24}  {seconds:6.1f} s  {megabytes:6.0f} MB")


def copy(run: Path, folder: Path, seed: int, rate: float) -> None:
    if (folder / STATUS).exists():
        return
    folder.mkdir(parents=True)
    status = dict(read_status(run) or {})
    for file in run.iterdir():
        if file.suffix not in (".yaml", ".json"):
            os.link(file, folder / file.name)
            continue
        text = file.read_text()
        if file.name == "config.yaml":
            text = text.replace("\nseed: 0\n", f"\nseed: {seed}\n")
            text = text.replace("\n  lr: 0.01\n", f"\n  lr: {rate}\n")
        elif file.name == "run.json":
            card = json.loads(text)
            card["hashed"]["seed"] = seed
            card["hashed"]["optim"]["lr"] = rate
            text = json.dumps(card, indent=1) + "\n"
        (folder / file.name).write_text(text)
        if file.name in status["files"]:
            status["files"][file.name] |= StoredFile.of_bytes(text.encode(), file.name).facts
    status["config"] |= {"seed": seed, "optim.lr": rate}
    (folder / STATUS).write_text(status_text(status))


def cost(home: Path, words: tuple[str, ...]) -> tuple[float, float]:
    """Seconds of processor time of a command with its processes, and megabytes of the largest."""
    command = [sys.executable, "-m", "ntkexp", *words]
    environment = os.environ | {"NTKEXP_REFERENCE": ""}
    process = subprocess.Popen(command, cwd=home, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)}: failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    seeds, *counts = map(int, sys.argv[3:])
    main(Path(sys.argv[1]), Path(sys.argv[2]), seeds, counts)
