"""A longer run goes on from a shorter one that was kept with `keep.work=true`.

Both differ in `optim.steps` or `optim.epochs` alone. The shorter one keeps its work as it was
before the last look, which the longer one would not have had: so the outcome is that of a run from
the beginning, bit for bit. Where updates depend on the horizon the run begins anew, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig

from ntkexp.compose.plan import Plan
from ntkexp.errors import DamagedRunError
from ntkexp.execution.outcome import compare_data
from ntkexp.identity import digest
from ntkexp.results.status import Card, read_card, read_status, refuse_damaged

if TYPE_CHECKING:
    from ntkexp.results.store import Run
    from ntkexp.training.prepared import Ready

WORK = "work.pt"
HORIZON = ("steps", "epochs")


def take_up(stored: Run, plan: Plan, ready: Ready) -> bytes | None:
    """The checkpoint of the longest run that this one can go on from, whose rows it now has."""
    from ntkexp.checkpoint import restored, saved

    reason = _depends_on_horizon(plan.config)
    candidates = [
        (content, folder, card)
        for folder, card in _shorter(plan)
        if (content := restored((folder / WORK).read_bytes()))["step"] <= ready.work.last
    ]
    if not candidates:
        return None
    content, folder, card = max(candidates, key=lambda candidate: int(candidate[0]["step"]))
    if reason:
        print(f"begins anew, and not from {folder}: {reason} may depend on the horizon")
        return None
    compare_data(folder, "was made", card.facts.get("data", {}), ready.data)
    # Other threads add up in another order.
    stored.facts["threads"] = card.facts.get("threads")
    _take_rows(stored, folder, content)
    print(f"goes on from {folder} at step {content['step']:,}")
    return saved(content["state"])


def _shorter(plan: Plan) -> Iterator[tuple[Path, Card]]:
    """The finished runs beside it that kept their work and differ in their horizon alone."""
    wanted = _but_horizon(plan.decides)
    for sibling in sorted(plan.folder.parent.iterdir()):
        # Damage to another run is no matter of this one.
        with suppress(DamagedRunError):
            status = read_status(sibling) if sibling != plan.folder and sibling.is_dir() else None
            if status is None or status["state"] != "finished":
                continue
            card = read_card(sibling) if WORK in status.get("files", {}) else None
            if card is not None and _but_horizon(card.hashed) == wanted:
                refuse_damaged(sibling, status)
                yield sibling, card


def _but_horizon(decides: Mapping[str, Any]) -> str:
    optim = {k: v for k, v in decides.get("optim", {}).items() if k not in HORIZON}
    return digest({**decides, "optim": optim})


def _depends_on_horizon(config: DictConfig) -> str:
    """The options by which updates, or their last digits, depend on their number; empty if none."""
    reasons = {
        f"optim.schedule={config.optim.schedule}": config.optim.schedule != "constant",
        "optim.scheduler": config.optim.get("scheduler") is not None,
        "members": config.members is not None,
        "transform=linearise": config.transform.name == "linearise",  # by its route
    }
    return ", ".join(key for key, holds in reasons.items() if holds)


def _take_rows(stored: Run, folder: Path, content: Mapping[str, Any]) -> None:
    from ntkexp.results.reading import read_table, table_files

    files = table_files(folder)
    for name, count in content["rows"].items():
        rows = read_table(files[name]).iloc[:count]
        stored.add(name, {str(column): rows[column].to_numpy() for column in rows})
    for name in content["files"]:
        stored.keep(name, (folder / name).read_bytes())
