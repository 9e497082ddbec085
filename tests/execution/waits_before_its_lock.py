"""`ntkexp` that waits between its question whether a run is done and the lock of that run.

python waits_before_its_lock.py READY GO WORD...      makes the file READY, waits for the file GO
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from ntkexp.cli import main
from ntkexp.results.store import Run

if __name__ == "__main__":
    ready, go, *words = sys.argv[1:]
    enter = Run.__enter__

    def late(run: Run) -> Run:
        Path(ready).touch()
        while not Path(go).exists():
            time.sleep(0.02)
        return enter(run)

    Run.__enter__ = late  # type: ignore[method-assign]
    sys.exit(main(words))
