"""The card of a run, run.json: which run it is.

Choosing and reading runs needs no more than this and the tables: nothing is composed, and nothing
that a run names is imported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ntkexp.results.commits.chain import DamagedRunError, UnreadableRunError

FORMAT = 2
FILE = "run.json"


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
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n"


def read_card(folder: Path) -> Card | None:
    """The card of a run; None where there is none."""
    path = folder / FILE
    try:
        values = json.loads(path.read_bytes())
        if values.pop("format") != FORMAT:
            return None
        return Card(**values | {"axes": tuple(values["axes"]), "typed": tuple(values["typed"])})
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableRunError(path, error) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedRunError(path, f"is damaged ({type(error).__name__})") from error
