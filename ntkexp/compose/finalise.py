"""A composed config made final: shrunk to its scale, checked, its references followed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from ntkexp import members
from ntkexp.compose import swaps
from ntkexp.compose.check import check, keep_typed_limit, refuse_other_sizes, shrink
from ntkexp.compose.composition import composed_once
from ntkexp.compose.overrides import altering
from ntkexp.compose.parents import HANDED_ON, composed
from ntkexp.compose.plan import Parent, Part, Plan
from ntkexp.compose.unmeasurable import leave_out_unmeasurable
from ntkexp.errors import UserError
from ntkexp.identity import digest, hashed, plain
from ntkexp.references import references
from ntkexp.results.folders import roots
from ntkexp.results.status import STATUS, read_status

# A run that needs a run that needs a run ... so many times needs itself.
DEEPEST = 20
_depth = [0]
# The plan of a run that is needed, and the words that make it.
_made: dict[str, tuple[Plan, list[str]]] = {}


def finalise(config: DictConfig, typed: frozenset[str] = frozenset()) -> Plan:
    """Shrink a config, in place, refuse what no run can have, and plan its run.

    `typed` are the keys that the user set: these are not shrunk.
    """
    with swaps.placed(typed):
        shrink(config, typed)
        leave_out_unmeasurable(config, typed)
        check(config)
        keep_typed_limit(config, typed)
        plan = plan_of(config, altering(config, typed))
        if plan.members:
            refuse_other_sizes([(columns, part.config) for columns, part in plan.members])
    swaps.say_what_is_left_out()
    return plan


def plan_of(config: DictConfig, typed: frozenset[str] = frozenset()) -> Plan:
    """The run of a checked config, whose references get the ids of their runs, in place."""
    parents = _parents(config)
    parts = []
    for columns, member in members.of_config(config) if config.members is not None else ():
        check(member)
        parts.append((columns, Part(config=member, parents=_parents(member))))
    needs: dict[tuple[Path, str], Parent] = {}
    for named in (parents, *(part.parents for _, part in parts)):
        for parent in named.values():
            needs.setdefault((parent.folder, parent.file), parent)
    decides = hashed(plain(config))
    return Plan(
        config=config,
        command="study" if "study" in config else "train",
        folder=Path(config.paths.outputs, config.name, digest(decides)),
        decides=decides,
        parents=parents,
        members=parts,
        needs=[*needs.values()],
        typed=typed,
    )


def _parents(config: DictConfig) -> dict[str, Parent]:
    """The runs that a config refers to, by key; their ids are filled in."""
    parents = {}
    for key, node in references(config):
        parents[key] = _parent(key, node, config)
        node.id = parents[key].folder.name
        if key == "weights":
            _refuse_other_network(parents[key], config)
    return parents


def _refuse_other_network(start: Parent, config: DictConfig) -> None:
    """Refuse to begin with the weights of another kind of network."""
    theirs = start.plan.config.get("model") if start.plan else None
    if theirs is not None and theirs.name != config.model.name:
        raise UserError(
            f"weights.run={config.weights.run}: has weights of model={theirs.name}, the network is "
            f"model={config.model.name}; expected weights.run=null, for weights that are drawn"
        )


def _parent(key: str, node: DictConfig, child: DictConfig) -> Parent:
    folder = Path(str(node.run))
    if (folder / STATUS).is_file():
        if node.set:
            raise UserError(f"{key}.set: {folder} is a run that there is; nothing in it can be set")
        return Parent(key, node.file, folder)
    plan, words = _planned(key, node, child)
    return Parent(key, node.file, _place(plan, node.file), plan, words)


def _planned(key: str, node: DictConfig, child: DictConfig) -> tuple[Plan, list[str]]:
    """The plan and the words of the run that a reference means, composed once a command."""
    handed_on = {name: child[name] for name in HANDED_ON if name in child}
    asked = plain(node)
    asked_for = repr((asked["run"], asked["set"])) + OmegaConf.to_yaml(OmegaConf.create(handed_on))
    if asked_for not in _made:
        with _one_deeper(key, child):
            run = composed(key, node, child)
            with swaps.typed_here(run.words):
                _made[asked_for] = finalise(run.config, run.typed), run.words
    return _made[asked_for]


def _place(plan: Plan, file: str) -> Path:
    """The folder of a run: among one's own results, else among those kept as a reference, if it has
    the file there: few have their weights."""
    if not (plan.folder / STATUS).exists():
        for root in roots(Path(plan.config.paths.outputs))[1:]:
            kept: Path = root / plan.config.name / plan.folder.name
            status = read_status(kept)
            if status is not None and file in status.get("files", {}) and (kept / file).exists():
                return kept
    return plan.folder


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
    _made.clear()
    swaps.forget()
    composed_once.cache_clear()
