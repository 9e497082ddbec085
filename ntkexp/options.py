"""The options of a component: each field of a dataclass states its default, its rule and its use.

    lr: float = option(0.01, positive(), "learning rate")

The neutral value of an option is what runs from before it appeared have done (ntkexp/identity.py):
its default, unless it says so: `option(Loss.mean, neutral=Loss.half_sum)`.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any

from omegaconf import Container, DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ntkexp.errors import UserError, unknown_key

# Beyond it a float32 network overflows in a step, and PyTorch refuses the number itself.
LARGEST = 1e30
MANY = 1_000_000_000
# OmegaConf's and Python's names of types -> what one types for them.
ACCEPTED = {
    "Integer": "a whole number",
    "int": "a whole number",
    "Float": "a number",
    "float": "a number",
    "Boolean": "true or false",
    "bool": "true or false",
}
MOST_SEEDS = 100_000  # of one run
SAME = object()  # as the default
_neutral: dict[type, Mapping[str, Any]] = {}
LARGEST_SEED = 2**32 - 1  # what every generator in use takes


@dataclass(frozen=True)
class Rule:
    """The values that a field takes; `accepted` ends the sentence `expected ...`."""

    holds: Callable[[Any], bool]
    accepted: str
    items: bool = False  # holds for every item of a list
    together: Callable[[Sequence[Any]], bool] = lambda items: True  # for all items of a list


SEED = Rule(lambda number: 0 <= number <= LARGEST_SEED, f"a whole number from 0 to {LARGEST_SEED}")


def option(default: Any, rule: Rule | None = None, about: str = "", *, neutral: Any = SAME) -> Any:
    """A dataclass field with its rule beside it; what can change is copied for every instance.

    `about` is one sentence for `ntkexp options`, and no part of a run's id.
    """
    metadata = {"rule": rule, "about": about} | ({} if neutral is SAME else {"neutral": neutral})
    if type(default).__hash__ is None:
        return field(default_factory=lambda: copy.deepcopy(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def neutral_of(kind: type) -> Mapping[str, Any]:
    """The neutral options of a dataclass as plain values, nested ones too."""
    if kind not in _neutral:
        node = OmegaConf.structured(kind)
        for option_field in fields(kind):
            if "neutral" in option_field.metadata:
                node[option_field.name] = option_field.metadata["neutral"]
        plain = OmegaConf.to_container(node, enum_to_str=True)
        assert isinstance(plain, dict)
        _neutral[kind] = {str(key): value for key, value in plain.items()}
    return _neutral[kind]


def whole(least: int, most: int, noun: str, null: str | None = None) -> Rule:
    text = f"{least:,} to {most:,} {noun}"
    return Rule(lambda number: least <= number <= most, text + _null(null))


def count(noun: str, null: str | None = None, *, most: int = MANY) -> Rule:
    """1 or more, up to what no run could need."""
    return whole(1, most, noun, null)


def positive(most: float = LARGEST, null: str | None = None, least: float = 0.0) -> Rule:
    return Rule(
        lambda number: least < number <= most,
        f"a number above {least:g}, at most {most:g}{_null(null)}",
    )


def not_negative(most: float = LARGEST) -> Rule:
    return Rule(lambda number: 0 <= number <= most, f"a number from 0 to {most:g}")


def share(noun: str) -> Rule:
    return Rule(lambda number: 0 <= number <= 1, f"{noun} from 0 to 1")


def one_of(*choices: object) -> Rule:
    return Rule(lambda value: value in choices, f"one of {', '.join(map(str, choices))}")


def each(rule: Rule, least: int = 0, *, most: int = MANY, once: bool = False) -> Rule:
    """A rule for the items of a list, and for how many they are; `once`: no two are equal."""
    size = "" if not least else f"{least} " if least == most else f"{least} or more "
    accepted = f"a list of {size}{'different ' * once}values, each {rule.accepted}"
    return Rule(
        rule.holds,
        accepted,
        items=True,
        together=lambda items: (
            least <= len(items) <= most and not (once and len(set(items)) < len(items))
        ),
    )


def _null(meaning: str | None) -> str:
    return "" if meaning is None else f", or null {meaning}".rstrip()


FOR_ALL = count("examples", null="for all")
STEPS = each(whole(0, MANY, "as a step"))
BELOW_ONE = Rule(lambda number: 0 <= number < 1, "a number from 0 to below 1")


def check_options(node: DictConfig, where: str = "") -> None:
    """Refuse every value below `node` that breaks its field's rule, is missing or not finite.

    Hydra's `+key=value` adds a key to any node: one that nothing would ever read is refused, too.
    """
    kind = OmegaConf.get_type(node)
    rules = rules_of(kind)
    for word in node:
        name = str(word)
        key = f"{where}.{name}".lstrip(".")
        if rules and name not in rules:
            raise UserError(unknown_key(key, where, list(rules)))
        if OmegaConf.is_missing(node, word):
            about = {one.name: one.metadata.get("about") for one in _fields(kind)}.get(name)
            raise UserError(
                f"{key}: has no value; give {key}=VALUE" + (f", {about}" if about else "")
            )
        try:
            value = node[word]
            if isinstance(value, DictConfig):
                check_options(value, key)
            elif value is not None:
                check_value(key, value, rules.get(name))
        except OmegaConfBaseException as error:
            raise UserError(f"{key}: {first_line(error)}") from error


def rules_of(kind: object) -> dict[str, Rule | None]:
    """The options of a dataclass, and the rule of each; a plain mapping has none."""
    return {declared.name: declared.metadata.get("rule") for declared in _fields(kind)}


def check_value(key: str, value: Any, rule: Rule | None) -> None:
    """Refuse one value, or one list of values."""
    several = isinstance(value, list | tuple | ListConfig)
    if not _finite(value):
        finite = "finite numbers" if several else "a finite number"
        accepted = f"{finite}: {rule.accepted}" if rule else finite
        raise UserError(f"{key}={_brief(value)}: expected {accepted}")
    if rule is None:
        return
    items = value if rule.items and several else [value]
    holds = all(not isinstance(item, Container) and rule.holds(item) for item in items)
    if not holds or not rule.together(items):
        raise UserError(f"{key}={_brief(value)}: expected {rule.accepted}")


def _brief(value: object) -> str:
    """A value on one short line."""
    text = str(value)
    text = repr(text) if not text.isprintable() or not text else text
    return text if len(text) <= 100 else f"{text[:100]}..."


def _finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict | DictConfig):
        return all(_finite(item) for item in value.values())
    if isinstance(value, list | tuple | ListConfig):
        return all(_finite(item) for item in value)
    return True


def checked(kind: type, options: Any, where: str) -> Any:
    """`options`, a node named `where`, as an instance of the dataclass `kind`."""
    if not isinstance(options, dict | DictConfig):
        raise UserError(f"{where}={_brief(options)}: expected a mapping of options, or {{}}")
    names = [option_field.name for option_field in fields(kind)]
    node = OmegaConf.structured(kind)
    for name in map(str, options):
        if name not in names:
            raise UserError(unknown_key(f"{where}.{name}", where, names))
        try:
            node[name] = options[name]
        except OmegaConfBaseException as error:
            raise UserError(f"{where}.{error.full_key or name}: {first_line(error)}") from error
    check_options(node, where)
    return OmegaConf.to_object(node)


def first_line(error: OmegaConfBaseException) -> str:
    return reworded(str(error.msg or error).strip().splitlines()[0])


def reworded(reason: str) -> str:
    """OmegaConf's message on a value of the wrong type, in words on what is accepted.

    >>> reworded("Value '1.5' of type 'float' could not be converted to Integer")
    "expected a whole number, not '1.5'"
    """
    if "not Optional" in reason or "'None'" in reason or "NoneType" in reason:
        return "null is not one of its values; expected another, or no such key"
    for name, accepted in ACCEPTED.items():
        if re.search(f"(converted to|not a valid|subclass of) {name}\\b", reason):
            came = re.match(r"Value (.+?) (of type|is not a) ", reason)
            return f"expected {accepted}, not {came[1]}" if came else f"expected {accepted}"
    if "is not a ListConfig" in reason:
        return "expected a list, [value, value]"
    if "is not a subclass of" in reason or reason.startswith(("Cannot merge", "Cannot assign")):
        return "expected a mapping of its keys, {key: value}"
    return reason


def _fields(kind: object) -> tuple[Field[Any], ...]:
    """The fields of a node's dataclass; a plain mapping has none."""
    return fields(kind) if isinstance(kind, type) and is_dataclass(kind) else ()
