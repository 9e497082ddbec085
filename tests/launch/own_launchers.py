"""A launcher as somebody may have one of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omegaconf import DictConfig

from ntkexp.config import Launcher
from ntkexp.launch.job import Job
from ntkexp.launch.local import Local
from ntkexp.options import count, option


@dataclass
class OneByOne(Launcher):
    times: int = option(1, count("times"), "how often it says so")

    def run(self, jobs: Sequence[Job], config: DictConfig, done_before: int) -> int:
        print("one by one, " * self.times + str(len(jobs)))
        return Local(jobs=1).run(jobs, config, done_before)
