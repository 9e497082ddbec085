"""No test reaches beyond this machine: an attempt is refused, and fails the test that makes it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.environment import REACHED

# Reserved for documentation (RFC 5737), and a name that no server has.
ATTEMPTS = (
    "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)",
    "import socket; socket.getaddrinfo('nowhere.invalid', 80)",
    "import urllib.request; urllib.request.urlopen('http://192.0.2.1', timeout=1)",
    "import socket\nwith socket.socket(type=2) as s: s.sendto(b'x', ('192.0.2.1', 9))",
)


def noted() -> str:
    """What the fixture would fail this test for."""
    reached = REACHED.read_text() if REACHED.exists() else ""
    REACHED.unlink(missing_ok=True)
    return reached


def test_an_attempt_is_refused_and_noted_here_and_in_a_child_of_a_child() -> None:
    for attempt in ATTEMPTS:
        with pytest.raises(OSError, match="may not reach beyond this machine"):
            exec(attempt)
        assert noted()
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {ATTEMPTS[0]!r}])"
    done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True)
    assert "may not reach beyond this machine" in done.stderr
    assert noted()
