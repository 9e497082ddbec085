"""A composed config made final: shrunk to its scale, checked, its references followed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from ntkexp import members
from ntkexp.compose.check import check, keep_typed_limit, refuse_other_sizes, shrink
from ntkexp.compose.parents import HANDED_ON, Composed, composed, forget_bases
from ntkexp.errors import UserError
from ntkexp.identity import folder_of
from ntkexp.references import checksum, references
from ntkexp.results.folders import roots
from ntkexp.results.status import STATUS, read_status

# A run that needs a run that needs a run ... so many times needs itself.
DEEPEST = 20
_depth = [0]
_composed: dict[str, Composed] = {}


def finalise(config: DictConfig, typed: frozenset[str]) -> None:
    """Shrink a config, refuse what no run can have, and name the runs that it needs, in place.

    `typed` are the keys that the user set: these are not shrunk.
    """
    shrink(config, typed)
    check(config)
    keep_typed_limit(config, typed)
    _name_parents(config)
    many = members.of_config(config) if config.members is not None else []
    for _, member in many:
        check(member)
        _name_parents(member)
    refuse_other_sizes(many)


def _name_parents(config: DictConfig) -> None:
    """Fill in the ids of the runs that a config refers to."""
    for key, node in references(config):
        node.id = _parent(key, node, config).folder.name


@dataclass(frozen=True)
class Parent:
    """A run that another one needs. `made_by` is None where only its folder is known."""

    key: str
    file: str
    folder: Path
    made_by: Composed | None

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
        experiment = self.made_by.config.name if self.made_by else self.folder.parent.name
        return f"run {experiment}/{self.folder.name}/{self.file}"


def parents(config: DictConfig) -> list[Parent]:
    """The runs whose files a checked config refers to, its members' among them; each once."""
    by_file: dict[tuple[Path, str], Parent] = {}
    many = [member for _, member in members.of_config(config)] if config.get("members") else []
    for user in (config, *many):
        for key, node in references(user):
            parent = _parent(key, node, user)
            by_file.setdefault((parent.folder, parent.file), parent)
    return list(by_file.values())


def refuse_unmet(config: DictConfig) -> None:
    """Refuse a run that needs an unfinished run without --with-parents, or a file no run writes."""
    for parent in parents(config):
        if parent.finished:
            parent.checksum  # noqa: B018 - which names the files that there are
        elif parent.made_by is None:
            raise UserError(
                f"{parent.key}.run={parent.folder}: is not finished; expected a run that is"
            )
        else:
            _refuse_unkept(parent, parent.made_by.config)
            if not config.with_parents:
                raise UserError(
                    f"{parent.key}: needs {parent.file} of {parent.folder}, which is not "
                    f"finished; --with-parents makes it first, as does\n{parent.made_by.line}"
                )
            refuse_unmet(parent.made_by.config)


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


def located(config: DictConfig) -> DictConfig:
    """A copy of a checked config whose references say where their files are."""
    config = copy.deepcopy(config)
    for key, node in references(config):
        node.folder = str(_parent(key, node, config).folder)
    return config


def _parent(key: str, node: DictConfig, child: DictConfig) -> Parent:
    folder = Path(str(node.run))
    if (folder / STATUS).is_file():
        if node.set:
            raise UserError(f"{key}.set: {folder} is a run that there is; nothing in it can be set")
        return Parent(key, node.file, folder, None)
    made_by = _made_by(key, node, child)
    return Parent(key, node.file, _place(made_by.config, node.file), made_by)


def _made_by(key: str, node: DictConfig, child: DictConfig) -> Composed:
    """The final config of the run that a reference means, composed once a command."""
    handed_on = {name: child[name] for name in HANDED_ON if name in child}
    plain = OmegaConf.to_container(node, resolve=True, enum_to_str=True)
    assert isinstance(plain, dict)
    asked_for = repr((plain["run"], plain["set"])) + OmegaConf.to_yaml(OmegaConf.create(handed_on))
    if asked_for not in _composed:
        with _one_deeper(key, child):
            run = composed(key, node, child)
            finalise(run.config, run.typed)
        _composed[asked_for] = run
    return _composed[asked_for]


def _place(config: DictConfig, file: str) -> Path:
    """The folder of a run: among one's own results, else among those kept as a reference, if it has
    the file there: few have their weights."""
    folder = folder_of(config)
    kept = [root / config.name / folder.name for root in roots(Path(config.paths.outputs))[1:]]
    if (folder / STATUS).exists():
        return folder
    return next((place for place in kept if _has(place, file)), folder)


def _has(kept: Path, file: str) -> bool:
    status = read_status(kept)
    return status is not None and file in status.get("files", {}) and (kept / file).exists()


@contextmanager
def _one_deeper(key: str, child: DictConfig) -> Iterator[None]:
    if _depth[0] >= DEEPEST:
        raise UserError(f"{key}: {child.name} needs a run that needs {child.name} itself")
    _depth[0] += 1
    try:
        yield
    finally:
        _depth[0] -= 1


def forget_parents() -> None:
    """Compose the runs that are needed anew: files of configs may have changed since."""
    _composed.clear()
    forget_bases()
