"""The files that tell of a run without its tables: status.json how it stands, the card, run.json,
which run it is, and config.yaml everything."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from ntkexp.errors import DamagedRunError, UnreadableRunError, UserError, not_read
from ntkexp.keys import DESCRIPTION_KEYS, EXECUTION_KEYS
from ntkexp.results.commits import digest, kept_facts
from ntkexp.results.files import (
    content_of,
    is_plain_name,
    names_in,
    refuse_changed,
    remove_tree,
)
from ntkexp.results.lock import Lock

State = Literal["running", "finished", "interrupted", "failed"]

STATUS, CARD = "status.json", "run.json"
CARD_FORMAT = 2
# The folder of a run at work, and its lock.
UNFINISHED, LOCK = "unfinished", "lock"


def read_status(folder: Path) -> dict[str, Any] | None:
    """The content of a run's status.json; None when there is no run."""
    path = folder / STATUS
    try:
        status = json.loads(content_of(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise UnreadableRunError(folder, error) from error
    except OSError as error:
        raise UnreadableRunError(path, error) from error
    except DamagedRunError:
        raise
    except (ValueError, RecursionError) as error:
        raise DamagedRunError(path, "is damaged (no JSON)") from error
    if not isinstance(status, dict) or status.get("state") not in get_args(State):
        raise DamagedRunError(path, "is damaged (it names no state)")
    # Runs that were kept early carry no checksum here.
    if "check" in status and status.pop("check") != digest(status):
        raise DamagedRunError(path, "is damaged (its checksum is another)")
    files = status.get("files", {})
    if not isinstance(files, dict) or not all(map(is_plain_name, files)):
        raise DamagedRunError(path, "is damaged (it lists files outside of its folder)")
    if not all(isinstance(facts, dict) and "sha256" in facts for facts in files.values()):
        raise DamagedRunError(path, "is damaged (it lists files without checksums)")
    return status


def status_text(status: Mapping[str, Any]) -> str:
    """The content of a status.json, with a checksum of itself."""
    return json.dumps({**status, "check": digest(status)}, indent=1) + "\n"


@dataclass(frozen=True)
class Card:
    """`hashed` is what the run's id is the hash of (`ntkexp/identity.py`); `command` is train or
    study; `axes` are the keys over which the sweep went that made the run, and `typed` those that
    somebody typed for it; `facts` stay for all lives of the run, such as its threads."""

    experiment: str
    command: str
    hashed: Mapping[str, Any]
    axes: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        return json.dumps({"format": CARD_FORMAT, **asdict(self)}, indent=1) + "\n"


def read_card(folder: Path) -> Card | None:
    """The card of a run; None where there is none."""
    path = folder / CARD
    try:
        values = json.loads(content_of(path))
        if values.pop("format") != CARD_FORMAT:
            return None
        return Card(**values | {"axes": tuple(values["axes"]), "typed": tuple(values["typed"])})
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableRunError(path, error) from error
    except DamagedRunError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedRunError(path, f"is damaged ({type(error).__name__})") from error


def tidy(folder: Path) -> None:
    """Do for a finished run what its owner did not come to, killed when the status said `finished`.

    Under the run's lock: somebody may be doing it again, and needs what lies there.
    """
    if not any(name in (UNFINISHED, LOCK) or name.endswith(".tmp") for name in names_in(folder)):
        return
    lock = Lock(folder / LOCK)
    try:
        lock.take(grace_seconds=0)
    except UserError:  # taken, or not this user's to write
        return
    try:
        status = read_status(folder)
        if status is not None and status["state"] == "finished":
            forget_work(folder)
    finally:
        lock.release()


def forget_work(folder: Path) -> None:
    """Remove what a finished run needs no more, as far as this user may; with its lock held."""
    sweep_up(folder)
    # In one step: a kill in here never leaves a part of a chain of commits.
    with contextlib.suppress(OSError):
        gone = folder / f".{UNFINISHED}.{secrets.token_hex(8)}.tmp"
        (folder / UNFINISHED).rename(gone)
        remove_tree(gone)
    remove_tree(folder / UNFINISHED)


def sweep_up(folder: Path) -> None:
    """Remove temporary files that killed processes left, as far as this user may."""
    with contextlib.suppress(UnreadableRunError):
        for name in names_in(folder):
            if name.startswith(".") and name.endswith(".tmp"):
                remove_tree(folder / name)


def lasting_facts(folder: Path) -> dict[str, Any]:
    """The facts that an unfinished run keeps for all its lives, such as its threads."""
    return kept_facts(folder / UNFINISHED / "committed")


def has_commits(folder: Path) -> bool:
    """True if an unfinished run has a commit to go on from."""
    return any(name.endswith(".json") for name in names_in(folder / UNFINISHED / "committed"))


def refuse_damaged(folder: Path, status: Mapping[str, Any], but: tuple[str, ...] = ()) -> None:
    """Refuse a finished run whose files are not those that its status lists.

    `but`: the endings of files that are not looked at.
    """
    for name, facts in status.get("files", {}).items():
        if not name.endswith(but):
            refuse_changed(folder / name, facts["sha256"])


# Facts of a run that say nothing of what was computed never become columns.
UNTOLD = {*EXECUTION_KEYS, *DESCRIPTION_KEYS}
# A run's config is plain YAML, resolved when it was written: libyaml reads it twenty times as fast
# as OmegaConf.
PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_BYTES, MOST_LEVELS = 1_000_000, 100


def flat_config(folder: Path, status: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A run's config with dotted keys, without what says nothing of the result.

    The `status` of a finished run has it, which is read a hundred times as fast as YAML.
    """
    known = status if status is not None else read_status(folder) or {}
    flat = known["config"] if "config" in known else flattened(kept_config(folder))
    return {k: v for k, v in flat.items() if not {k, k.partition(".")[0]} & UNTOLD}


def kept_config(folder: Path) -> dict[str, Any]:
    """A run's config as it was kept."""
    file = folder / "config.yaml"
    try:
        content = content_of(file)
        _refuse_bombs(file, content)
        config = yaml.load(content, Loader=PARSER)
    except yaml.YAMLError as error:
        reason = str(error).partition("\n")[0]
        raise DamagedRunError(file, f"is not YAML: {reason}") from error
    except OSError as error:
        raise not_read(file, error) from error
    if not isinstance(config, dict):
        raise DamagedRunError(file, "is not a mapping")
    return config


def _refuse_bombs(file: Path, content: bytes) -> None:
    """Refuse YAML whose parsing would not end, or end the process. A config that a run wrote is
    small, has no aliases, and a few levels."""
    if len(content) > MOST_BYTES:
        raise DamagedRunError(file, f"is damaged ({len(content):,} bytes are no run's config)")
    depth = 0
    for event in yaml.parse(content, Loader=PARSER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > MOST_LEVELS:
            raise DamagedRunError(file, "is damaged (no run's config has aliases, or 100 levels)")


def flattened(node: Mapping[Any, Any]) -> dict[str, Any]:
    """Nested keys as dotted ones."""
    return dict(_flatten(node))


def _flatten(node: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value) if isinstance(value, list) else value


def varied(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys in which configs differ."""
    keys = sorted({key for config in configs for key in config})
    return [key for key in keys if len({config.get(key) for config in configs}) > 1]
