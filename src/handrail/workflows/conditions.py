"""Conditions: a closed set of typed comparisons, so every branch can be walked without an agent.
Pure.

This file defines them, evaluates them, and words them as short phrases for readers.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, Literal, TypeAlias, assert_never, get_args

import msgspec

from handrail.contract.wording import end_sentence
from handrail.workflows.limits import Effort

ConditionId: TypeAlias = str
Operator: TypeAlias = Literal["equals", "not_equals", "in", "contains", "gt", "gte", "lt", "lte", "exists"]


class ConditionShape(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", omit_defaults=True
):
    """Shared options of conditions: tagged by `kind`."""


class AlwaysTrue(ConditionShape, frozen=True, kw_only=True, tag="always_true"):
    """A condition that always holds."""


class AlwaysFalse(ConditionShape, frozen=True, kw_only=True, tag="always_false"):
    """A condition that never holds."""


class Compare(ConditionShape, frozen=True, kw_only=True, tag="compare"):
    """One value against another. Exactly one of `input` and `artifact` is set.

    `input` names a declared input, a loop variable, or, dotted, a member of one.
    `artifact` names the kind of a validated artifact and `field` a dotted member of it.
    An absent value makes every operator false except `not_equals`, and `exists` with value false.
    """

    input: str = ""
    artifact: str = ""
    field: str = ""
    op: Operator
    value: Any = None
    lenient: bool = False
    """Whether `equals`, `not_equals`, `in` and `contains` ignore case, outer spaces and spelling of
    the value.
    """


class And(ConditionShape, frozen=True, kw_only=True, tag="and"):
    """Holds if all of them hold."""

    of: "tuple[Condition, ...]"


class Or(ConditionShape, frozen=True, kw_only=True, tag="or"):
    """Holds if at least one of them holds."""

    of: "tuple[Condition, ...]"


class Not(ConditionShape, frozen=True, kw_only=True, tag="not"):
    """Holds if the inner condition does not."""

    of: "Condition"


class LoopControl(ConditionShape, frozen=True, kw_only=True, tag="loop_control"):
    """The decision that the body of the loop reported in a validated `wr.loop_control` artifact."""

    continue_when: Literal["continue", "stop"] = "continue"


Condition: TypeAlias = AlwaysTrue | AlwaysFalse | Compare | And | Or | Not | LoopControl
"""All conditions; the set is closed."""
CONDITION_KINDS: tuple[str, ...] = tuple(str(kind.__struct_config__.tag) for kind in get_args(Condition))

MISSING: Any = msgspec.UNSET


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The values that conditions can read."""

    values: Mapping[str, Any] = {}
    """Declared inputs with defaults applied, undeclared context keys, loop variables."""
    artifacts: Mapping[str, Mapping[str, Any]] = {}
    """The current validated artifact of each kind."""
    loop_decisions: Mapping[str, str] = {}
    """For each loop id, what its current iteration decided: continue or stop. Absent until it is decided."""
    chosen: Mapping[str, Any] = {}
    """Values set by the options that were taken on the way, even if they were changed later."""
    assumed: Set[str] = frozenset()
    """Names whose value is only a default."""


def holds(condition: Condition, facts: Facts, loop_id: str = "", effort: Effort | None = None) -> bool:
    """Whether a condition holds; `loop_id` is the loop that asks. Total: no input makes it raise.

    Raises: Fault WORK_LIMIT_EXCEEDED if an effort is given that the comparisons use up.
    """
    match condition:
        case AlwaysTrue():
            return True
        case AlwaysFalse():
            return False
        case Compare():
            return _compare(condition, facts, effort)
        case And(of=parts):
            return all(holds(part, facts, loop_id, effort) for part in parts)
        case Or(of=parts):
            return any(holds(part, facts, loop_id, effort) for part in parts)
        case Not(of=part):
            return not holds(part, facts, loop_id, effort)
        case LoopControl(continue_when=wanted):
            return facts.loop_decisions.get(loop_id) == wanted
        case never:
            assert_never(never)


def holds_by_options(
    condition: Condition,
    facts: Facts,
    offered: Set[str],
    effort: Effort | None = None,
    loop_id: str = "",
) -> bool:
    """Whether a condition holds if only options may set the names that options set.

    `offered` are these names. If no option was taken, a comparison of such a name is undecided, and
    an undecided one never makes the condition hold.
    """
    merged = {**{name: value for name, value in facts.values.items() if "." not in name}, **facts.chosen}
    values = {name: value for name, value in merged.items() if value is not None or name not in facts.chosen}
    known = Facts(values=values, artifacts=facts.artifacts, loop_decisions=facts.loop_decisions)
    open_names = offered - facts.chosen.keys()
    settled = _settle(condition, lambda one: one.input.partition(".")[0] in open_names, hopes=False)
    return holds(settled, known, loop_id, effort)


def is_ruled_out(condition: Condition, facts: Facts, loop_id: str = "") -> bool:
    """Whether given values make a condition fail: no missing value and no default could make it hold."""

    def is_open(one: Compare) -> bool:
        if one.artifact:
            return one.artifact not in facts.artifacts
        return one.input.partition(".")[0] in facts.assumed or value_of(one, facts) is MISSING

    return not holds(_settle(condition, is_open), facts, loop_id)


def _settle(condition: Condition, undecided: Callable[[Compare], bool], *, hopes: bool = True) -> Condition:
    """Return the condition with each undecided comparison answered in its favour.

    Without `hopes`, each is answered against it.
    """
    return replace_leaves(
        condition,
        lambda one, up: decided(up is hopes) if isinstance(one, Compare) and undecided(one) else one,
    )


def replace_leaves(
    condition: Condition, replace: "Callable[[Compare | LoopControl, bool], Condition]", *, up: bool = True
) -> Condition:
    """Return the condition with each comparison or loop decision replaced.

    `replace` also gets whether the whole gains if that one holds; behind a `not` it does not.
    """
    match condition:
        case Compare() | LoopControl():
            return replace(condition, up)
        case And(of=parts) | Or(of=parts):
            inner = tuple(replace_leaves(part, replace, up=up) for part in parts)
            return msgspec.structs.replace(condition, of=inner)
        case Not(of=part):
            return Not(of=replace_leaves(part, replace, up=not up))
        case AlwaysTrue() | AlwaysFalse():
            return condition
        case never:
            assert_never(never)


def decided(is_true: bool) -> AlwaysTrue | AlwaysFalse:
    """Return a condition that always has this result."""
    return AlwaysTrue() if is_true else AlwaysFalse()


def parts_of(condition: Condition) -> Iterator[Condition]:
    """Yield the condition and everything inside it."""
    yield condition
    match condition:
        case And(of=inner) | Or(of=inner):
            for part in inner:
                yield from parts_of(part)
        case Not(of=part):
            yield from parts_of(part)
        case AlwaysTrue() | AlwaysFalse() | Compare() | LoopControl():
            pass
        case never:
            assert_never(never)


def comparisons(condition: Condition) -> Iterator[Compare]:
    """Return every comparison inside a condition."""
    return (part for part in parts_of(condition) if isinstance(part, Compare))


def asks_for_decision(condition: Condition) -> bool:
    """Whether it depends on what the body of a loop decided."""
    return any(isinstance(part, LoopControl) for part in parts_of(condition))


_PLAIN = (int, float, type(None))
"""Types that are tested first, because recognising a mapping takes ten times as long."""
_HOLDERS = (list, tuple, Mapping)


def _compare(condition: Compare, facts: Facts, effort: Effort | None) -> bool:
    actual = value_of(condition, facts)
    if effort is not None:
        effort.spend(1 + _weight(actual) + _weight(condition.value))
    if condition.op == "exists":
        return (actual is not MISSING) == (condition.value is not False)
    if actual is MISSING:
        return condition.op == "not_equals" and condition.value is not None
    operators = _LENIENT_OPERATORS if condition.lenient else _OPERATORS
    return operators[condition.op](actual, condition.value)


def _weight(value: Any) -> int:
    """Return how many times longer this value takes to compare than a plain one."""
    if isinstance(value, str):
        return len(value) >> 8
    if isinstance(value, _PLAIN) or not isinstance(value, _HOLDERS):
        return 0
    count, waiting = 0, [value]
    while waiting:
        held = waiting.pop()
        count += len(held)
        for inner in held.values() if isinstance(held, Mapping) else held:
            if isinstance(inner, str):
                count += len(inner) >> 4
            elif not isinstance(inner, _PLAIN) and isinstance(inner, _HOLDERS):
                waiting.append(inner)
    return count >> 4


def value_of(condition: Compare, facts: Facts) -> Any:
    """Return the value that a comparison reads; MISSING if there is none."""
    if condition.artifact:
        return _member(facts.artifacts.get(condition.artifact, MISSING), condition.field)
    return named_value(facts.values, condition.input)


PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}")
"""Pattern of a value that a text names, by its name or by a dotted member."""
_ENDED = re.compile(PLACEHOLDER.pattern + r"(?P<stop>\.(?!\S))?")


def fill_placeholders(text: str, show: Callable[[re.Match[str]], str]) -> str:
    """Return the text with each placeholder replaced; if a value ends its sentence, the full stop is not
    doubled.
    """
    return _ENDED.sub(lambda found: end_sentence(show(found)) if found["stop"] else show(found), text)


def named_value(values: Mapping[str, Any], name: str) -> Any:
    """Return a value by its name or, dotted, a member of one; MISSING if there is none.

    A key with a dot is only in logs of an older version, whose runs continue as they began.
    """
    if name in values:
        return values[name]
    head, _, rest = name.partition(".")
    return _member(values.get(head, MISSING), rest)


def split_artifact(path: str) -> tuple[str, str]:
    """Return the kind of artifact that a dotted name may begin with, and the member: `wr.plan.slices`."""
    namespace, _, rest = path.partition(".")
    name, _, member = rest.partition(".")
    return f"{namespace}.{name}", member


def artifact_value(artifacts: Mapping[str, Mapping[str, Any]], path: str) -> Any:
    """Return the member of the current artifact that a dotted name means; MISSING if there is none."""
    kind, member = split_artifact(path)
    return _member(artifacts.get(kind, MISSING), member) if member else MISSING


def nest_values(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return objects in which these names, dotted or plain, have their values; MISSING values are
    left out.
    """
    nested: dict[str, Any] = {}
    for path, value in sorted(named.items()):
        if value is MISSING:
            continue
        *outer, last = path.split(".")
        place = nested
        for name in outer:
            inside = place.get(name)
            place[name] = dict(inside) if isinstance(inside, dict) else {}
            place = place[name]
        place[last] = value
    return nested


def _member(value: Any, path: str) -> Any:
    for name in path.split(".") if path else ():
        if not isinstance(value, Mapping) or name not in value:
            return MISSING
        value = value[name]
    return value


def is_same_value(left: Any, right: Any) -> bool:
    """Whether two values are equal as JSON: true is not 1, and 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _are_ordered(left: Any, right: Any) -> bool:
    """Whether the two can be ordered: two numbers or two texts."""
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    return any(isinstance(left, kind) and isinstance(right, kind) for kind in ((int, float), str))


def _contains(holder: Any, wanted: Any) -> bool:
    if isinstance(holder, str | Mapping):
        return isinstance(wanted, str) and wanted in holder
    return isinstance(holder, list | tuple) and any(is_same_value(item, wanted) for item in holder)


def _ordering(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: _are_ordered(left, right) and compare(left, right)


_OPERATORS: dict[Operator, Callable[[Any, Any], bool]] = {
    "equals": is_same_value,
    "not_equals": lambda left, right: not is_same_value(left, right),
    "in": lambda left, right: _contains(right, left),
    "contains": _contains,
    "gt": _ordering(operator.gt),
    "gte": _ordering(operator.ge),
    "lt": _ordering(operator.lt),
    "lte": _ordering(operator.le),
}


_NUMBER = re.compile(r"[+-]?(\d{1,300}(\.\d{0,300})?|\.\d{1,300})([eE][+-]?\d{1,3})?", re.ASCII)
_SPELLED = {True: ("true", "1", "yes"), False: ("false", "0", "no")}
"""Texts that spell a boolean."""


def _alike(left: Any, right: Any) -> bool:
    """Whether two values are equal in the other dialect: a text equals what it spells, in any case."""
    if isinstance(left, str) and isinstance(right, str):
        return _folded(left) == _folded(right)
    if isinstance(right, str):
        left, right = right, left
    if isinstance(left, str) and isinstance(right, bool):
        return _folded(left) in _SPELLED[right]
    if isinstance(left, str) and isinstance(right, int | float):
        number = _number(left.strip())
        return number is not None and number == right
    return is_same_value(left, right)


def _number(text: str) -> float | None:
    """Return the number that a text spells; an empty text counts as 0, as in that dialect."""
    if not text:
        return 0.0
    return float(text) if _NUMBER.fullmatch(text) else None


def _folded(text: str) -> str:
    return text.strip().lower()


def _holds_alike(holder: Any, wanted: Any) -> bool:
    """Whether one text is inside another, or inside an item of a list, in any case."""
    if isinstance(holder, Mapping):
        return any(_alike(name, wanted) for name in holder)
    if isinstance(holder, list | tuple):
        return any(_holds_alike(item, wanted) for item in holder)
    return _plain(wanted) in _plain(holder)


def _plain(value: Any) -> str:
    """Return a single value as the text that people compare."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else _folded(str(value))


def _is_one_of(value: Any, listed: Any) -> bool:
    return isinstance(listed, list | tuple) and any(_alike(value, one) for one in listed)


_LENIENT_OPERATORS: dict[Operator, Callable[[Any, Any], bool]] = _OPERATORS | {
    "equals": _alike,
    "not_equals": lambda left, right: not _alike(left, right),
    "in": _is_one_of,
    "contains": _holds_alike,
}


_OPERATOR_WORDS: dict[Operator, str] = {
    "equals": "=",
    "not_equals": "≠",
    "in": "in",
    "contains": "contains",
    "gt": ">",
    "gte": "≥",
    "lt": "<",
    "lte": "≤",
    "exists": "exists",
}


GENERATED_PREFIX = "inline-"
"""Prefix of a condition id that the compiler made from a digest; it means nothing to a reader."""


def label_condition(conditions: Mapping[ConditionId, Condition], name: ConditionId) -> str:
    """Return a condition's label for a reader: the author's id, or its text if it has none."""
    if name.startswith(GENERATED_PREFIX) and name in conditions:
        return describe_condition(conditions[name])
    return name


def describe_condition(condition: Condition) -> str:
    """Return the whole condition on one line."""
    match condition:
        case AlwaysTrue():
            return "always"
        case AlwaysFalse():
            return "never"
        case Compare():
            return _compare_in_words(condition)
        case And(of=parts):
            return " and ".join(_grouped(part) for part in parts)
        case Or(of=parts):
            return " or ".join(_grouped(part) for part in parts)
        case Not(of=part):
            return f"not {_grouped(part)}"
        case LoopControl(continue_when=decision):
            return f"the body decides {decision}"
        case never:
            assert_never(never)


def _compare_in_words(condition: Compare) -> str:
    artifact = ".".join(filter(None, (condition.artifact, condition.field)))
    subject = condition.input or artifact
    if condition.op == "exists":
        return f"{subject} is missing" if condition.value is False else f"{subject} exists"
    return f"{subject} {_OPERATOR_WORDS[condition.op]} {msgspec.json.encode(condition.value).decode()}"


def _grouped(condition: Condition) -> str:
    """Return words in brackets if they would run into their neighbours."""
    words = describe_condition(condition)
    return f"({words})" if isinstance(condition, And | Or) else words
