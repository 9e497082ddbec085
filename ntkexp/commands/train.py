"""`ntkexp train` and `ntkexp study`: an experiment, or a sweep over many of its runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from ntkexp.commands.command import Command, flag, names_of, words
from ntkexp.errors import UserError, meant

# Flags for what Hydra does with the config: one at a time.
WAYS = ("multirun", "run", "cfg", "info")
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")


@dataclass(eq=False, repr=False)
class Train(Command):
    """train and probe; -m sweeps, --rerun does it again, --with-parents makes what it needs
    first"""

    call = "train [FLAGS] +exp=NAME [key=value ...]"
    short = "train +exp=NAME [key=value ...]"

    overrides: list[str] = words()
    multirun: bool = flag(
        "a sweep: every combination of values with commas between them", short="-m"
    )
    rerun: bool = flag("run it again, even if it is done", key="rerun")
    with_parents: bool = flag("first make what it needs and is not there", key="with_parents")
    dry_run: bool = flag("say what would run and what is done; run nothing", key="launcher.dry_run")
    fail_fast: bool = flag(
        "after the first failure of a sweep start no more, stop the running ones",
        key="launcher.fail_fast",
    )
    retry_failed: bool = flag(
        "do jobs of a sweep again that failed by themselves", key="launcher.retry_failed"
    )
    cfg: str | None = flag(
        "print the config and run nothing", "job", short="-c", choices=("job", "hydra", "all")
    )
    config_dir: str | None = flag("experiments and options of one's own", "DIR", short="-cd")
    # Hydra's own, for whoever knows them.
    resolve: bool = flag()
    run: bool = flag(short="-r")
    info: str | None = flag(takes="WHAT", short="-i", choices=INFO)
    package: str | None = flag(takes="PACKAGE", short="-p")

    def __post_init__(self) -> None:
        # A flag and its key say the same: a dry run that would train is none.
        others = [word for word in self.overrides if word.lower() != "launcher.dry_run=true"]
        self.dry_run |= others != self.overrides
        self.overrides = others
        # A dry run of the one run that the same words make without the flag.
        self.one_run = self.dry_run and not (self.multirun or self.fail_fast or self.retry_failed)
        # The flags of sweeps make a sweep, even of one job.
        self.multirun |= self.dry_run or self.fail_fast or self.retry_failed
        if len(ways := [f"--{way}" for way in WAYS if getattr(self, way)]) > 1:
            raise UserError(f"{' and '.join(ways)}: expected one of them")
        if self.resolve and not self.cfg:
            raise UserError("--resolve: says how --cfg prints; expected --cfg job beside it")

    def for_hydra(self) -> tuple[list[str], list[str]]:
        """Flags of Hydra's, and overrides: Hydra 1.3 rejects a flag that stands between them.

        >>> Train.parsed(["optim.lr=0.1,0.2", "-m", "seed=1"]).for_hydra()
        (['--multirun'], ['optim.lr=0.1,0.2', 'seed=1'])
        """
        flags, overrides = [], [*self.overrides]
        for one in self.flags():
            value, name, key = getattr(self, one.name), names_of(one)[-1], one.metadata["key"]
            if value and key:
                overrides.append(f"{key}=true")
            elif value:
                flags += [name] if value is True else [name, value]
        return flags, overrides

    def execute(self) -> int:
        from ntkexp.commands import application

        return application.run(type(self).__name__.lower(), *self.for_hydra(), one_run=self.one_run)

    @classmethod
    def refuse_flags(cls, unknown: Sequence[str]) -> NoReturn:
        word, accepted = unknown[0], [name for name in cls.flag_words() if name.startswith("--")]
        listed = ", ".join(accepted)
        guess = f"{meant(word, accepted)}; keys are typed KEY=VALUE, as optim.lr=0.1"
        raise UserError(f"{word}: no such flag{guess}\naccepted are: {listed}")

    @classmethod
    def candidates(cls, typed: list[str]) -> list[str]:
        from ntkexp.commands import application

        return application.candidates(cls.__name__.lower(), typed)

    @classmethod
    def help(cls) -> str:
        from ntkexp.commands.handbook import groups

        told = "what can be set, told by ntkexp options GROUP[=NAME]:"
        return "\n".join([super().help(), "", told, *groups()])


class Study(Train):
    """an experiment without a network to train"""

    call = "study [FLAGS] +exp=NAME [key=value ...]"
    short = "study +exp=NAME [key=value ...]"
