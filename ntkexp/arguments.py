"""The flags of commands that Hydra has no part in."""

from __future__ import annotations

import argparse
from typing import NoReturn

from ntkexp.errors import UserError
from ntkexp.usage import USAGES


class CommandParser(argparse.ArgumentParser):
    """Of one command; what is wrong comes in a line, with how the command is called."""

    def __init__(self, command: str) -> None:
        super().__init__(usage=USAGES[command].words, add_help=False)
        self.command = command

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.command}: {message}\nusage: {self.usage}")
