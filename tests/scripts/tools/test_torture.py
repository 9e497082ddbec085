"""A minute of the fault campaign."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.conftest import SCRIPTS


@pytest.mark.on_demand
@pytest.mark.skipif(sys.platform != "linux", reason="follows processes through /proc")
def test_a_minute_of_faults_loses_nothing() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS / "tools" / "torture.py", "1", "--jobs", "2"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    campaigns, faults = re.findall(r"\| all \| (\d+) \| (\d+) \|", done.stdout)[0]
    assert int(campaigns) >= 8
    assert int(faults) >= 8
