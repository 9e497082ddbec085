"""A run before it begins: what follows from its config, found once (finalise.py) and handed on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ntkexp.config import StudyConfig, TrainConfig
from ntkexp.errors import UserError
from ntkexp.members import Columns
from ntkexp.references import FromRun, checksum
from ntkexp.results.status import read_status


@dataclass(frozen=True, kw_only=True)
class Part:
    """The config of a run or of one of its members, and the runs that it refers to, by key."""

    config: DictConfig
    parents: Mapping[str, Parent] = field(default_factory=dict)

    def plain(self) -> TrainConfig | StudyConfig:
        """The config as typed objects, whose references say where their files are."""
        plain = OmegaConf.to_object(self.config)
        assert isinstance(plain, TrainConfig | StudyConfig)
        for key, parent in self.parents.items():
            place: Any = plain
            for name in key.split("."):
                place = place[name] if isinstance(place, Mapping) else getattr(place, name)
            assert isinstance(place, FromRun)
            place.key, place.folder = key, str(parent.folder)
        return plain


@dataclass(frozen=True, kw_only=True)
class Plan(Part):
    """A run: its subcommand, its final config, its folder, and what of the config decides its
    numbers.

    `members` has the values in which each differs, and its own config. `needs` are the runs whose
    files it or a member reads, each file once. `typed` are the keys that somebody typed and that
    differ from its experiment, `axes` those over which a sweep goes.
    """

    folder: Path
    command: str = "train"
    decides: Mapping[str, Any] = field(default_factory=dict)
    members: Sequence[tuple[Columns, Part]] = ()
    needs: Sequence[Parent] = ()
    typed: frozenset[str] = frozenset()
    axes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Parent:
    """A run that another one needs, and the words that make it. Of a run that is named by its
    folder nothing else is known."""

    key: str
    file: str
    folder: Path
    plan: Plan | None = None
    words: Sequence[str] = ()

    @property
    def finished(self) -> bool:
        status = read_status(self.folder)
        return status is not None and status["state"] == "finished"

    @property
    def checksum(self) -> str:
        return checksum(self.folder, self.file)

    @property
    def provenance_name(self) -> str:
        """The file as provenance names it; the same wherever results lie."""
        experiment = self.plan.config.name if self.plan else self.folder.parent.name
        return f"run {experiment}/{self.folder.name}/{self.file}"


def refuse_unmet(plan: Plan) -> None:
    """Refuse a run that needs an unfinished run without --with-parents, or a file no run writes."""
    for parent in plan.needs:
        if parent.finished:
            parent.checksum  # noqa: B018 - which names the files that there are
        elif parent.plan is None:
            raise UserError(
                f"{parent.key}.run={parent.folder}: is not finished; expected a run that is"
            )
        else:
            _refuse_unkept(parent, parent.plan.config)
            if not plan.config.with_parents:
                words = " ".join(map(shlex.quote, parent.words))
                raise UserError(
                    f"{parent.key}: needs {parent.file} of {parent.folder}, which is not "
                    f"finished; --with-parents makes it first, as does\n"
                    f"ntkexp {parent.plan.command} {words}"
                )
            refuse_unmet(parent.plan)


def _refuse_unkept(parent: Parent, config: DictConfig) -> None:
    """Refuse weights that the training run of `config` will not keep."""
    if "study" in config or not parent.file.endswith(".pt"):
        return
    kept = ["weights.pt", *(f"weights.{step}.pt" for step in config.keep.weights)]
    if parent.file not in kept:
        raise UserError(
            f"{parent.key}.file={parent.file}: {config.name} with these options does not write it; "
            f"it writes {', '.join(kept)}"
        )
