"""Runs the tests of this folder: python -m tests.pretended [what pytest takes]."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

FILES = [str(file) for file in sorted(Path(__file__).parent.glob("on_*.py"))]
code = pytest.main(["-p", "no:cacheprovider", *FILES, *sys.argv[1:]])
sys.stdout.flush()
# Without Python's farewell: the threads of a made-up device do not take part in it.
os._exit(code)
