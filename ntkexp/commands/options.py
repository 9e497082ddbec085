"""`ntkexp options`: every option of every component, each in one sentence.

ntkexp options                 the groups, and the options of a run itself
ntkexp options optim=sgd       the options of a component; without =sgd of all in its group
ntkexp options probe=spectrum  those of a probe or a study, and the tables that it writes
"""

from dataclasses import dataclass

from ntkexp.commands.command import Command, words


@dataclass(eq=False, repr=False)
class Options(Command):
    """what can be chosen and set, an option in a sentence; without a group the groups"""

    call = "options [GROUP[=NAME] ...]"

    names: list[str] = words()

    def execute(self) -> str:
        from ntkexp.commands import handbook

        return handbook.options(self.names)
