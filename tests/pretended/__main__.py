"""Runs files of this folder: python -m tests.pretended on_runs.py [more files, flags of pytest]."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
words = [str(HERE / word) if word.endswith(".py") else word for word in sys.argv[1:]]
code = pytest.main(["-p", "no:cacheprovider", *words])
sys.stdout.flush()
# Without Python's farewell: the threads of a made-up device do not take part in it.
os._exit(code)
