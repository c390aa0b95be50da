"""Declared inputs against given context: every problem at once, and the context that would do. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import msgspec

from handrail.contract.suggest import edits, nearest
from handrail.engine.skeleton import TO_FILL_IN
from handrail.workflows.compiled import InputSpec, InputType

_SHORT, _LONG = 4, 8
"""Characters from which on one slip, or two, still name the same thing."""


class InputProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One input that does not fit its declaration."""

    key: str
    problem: str
    expected: str


def is_no_answer(value: Any) -> bool:
    """Whether a value says nothing, where something has to be said: blank text, an empty list or object."""
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {})


def problems_at_start(inputs: Mapping[str, InputSpec], context: Mapping[str, Any]) -> list[InputProblem]:
    """What a start lacks or gets wrong. Keys that nobody declared pass."""
    missing = [
        InputProblem(key=name, problem="missing", expected=described(spec))
        for name, spec in inputs.items()
        if _must_be_sent(spec) and context.get(name) is None
    ]
    return missing + _blank(inputs, context) + _wrong(inputs, context)


def problems_of_change(inputs: Mapping[str, InputSpec], delta: Mapping[str, Any]) -> list[InputProblem]:
    """What a later change of context gets wrong; null deletes, but not what the workflow requires."""
    deleted = [
        InputProblem(key=name, problem="cannot be deleted", expected=described(spec))
        for name, spec in inputs.items()
        if name in delta and delta[name] is None and _must_be_sent(spec)
    ]
    return deleted + _blank(inputs, delta) + _wrong(inputs, delta)


def _must_be_sent(spec: InputSpec) -> bool:
    return spec.required and spec.default is msgspec.UNSET


def _blank(inputs: Mapping[str, InputSpec], context: Mapping[str, Any]) -> list[InputProblem]:
    """Required text that says nothing. An empty list or object can be what there is."""
    return [
        InputProblem(key=name, problem="empty", expected=described(spec))
        for name, spec in inputs.items()
        if _must_be_sent(spec) and isinstance(context.get(name), str) and is_no_answer(context[name])
        if not spec.enum and spec.type in ("string", "any")
    ]


class NearlyDeclared(msgspec.Struct, frozen=True, kw_only=True):
    """A context key that nobody declared, beside the declared one it is nearly spelt like."""

    key: str
    declared: str


def nearly_declared(inputs: Mapping[str, InputSpec], delta: Mapping[str, Any]) -> tuple[NearlyDeclared, ...]:
    """Keys that look mistyped. One that comes together with the declared key means something else."""
    found = []
    for key, value in delta.items():
        if key in inputs or value is None:
            continue
        near = [name for name in sorted(inputs) if name not in delta and _is_nearly(key, name)]
        if near:
            found.append(NearlyDeclared(key=key, declared=near[0]))
    return tuple(found)


def _is_nearly(key: str, name: str) -> bool:
    """Case, underscores and hyphens aside, one slip in a short name and two in a long one."""
    given, known = (text.lower().replace("_", "").replace("-", "")[:64] for text in (key, name))
    allowed = 0 if len(known) < _SHORT else 1 if len(known) < _LONG else 2
    return abs(len(given) - len(known)) <= allowed and edits(given, known) <= allowed


def corrected(inputs: Mapping[str, InputSpec], context: Mapping[str, Any], keys: set[str]) -> dict[str, Any]:
    """The context with a fitting value for each of these keys, or the mark where nobody knows one."""
    fixed = dict(context)
    for name in inputs:
        if name in keys:
            fixed[name] = _suggested(inputs[name], context.get(name))
    return fixed


def described(spec: InputSpec) -> str:
    """What an input must be, in words."""
    if spec.enum:
        what = "one of " + ", ".join(_shown(value) for value in spec.enum)
    else:
        what = "any value" if spec.type == "any" else f"a value of type {spec.type}"
    return f"{what}: {spec.description}" if spec.description else what


def fits(kind: InputType, value: Any) -> bool:
    """Whether a JSON value has a declared type."""
    match kind:
        case "any":
            return True
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return _is_number(value) and float(value).is_integer()
        case "number":
            return _is_number(value)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case never:
            assert_never(never)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _wrong(inputs: Mapping[str, InputSpec], context: Mapping[str, Any]) -> list[InputProblem]:
    problems = []
    for name, spec in inputs.items():
        value = context.get(name)
        if value is None:
            continue
        if not fits(spec.type, value):
            problem = f"not of type {spec.type}"
        elif spec.enum and not any(_same(value, allowed) for allowed in spec.enum):
            problem = "not an allowed value"
        else:
            continue
        problems.append(InputProblem(key=name, problem=problem, expected=described(spec)))
    return problems


def _same(left: Any, right: Any) -> bool:
    """Equality as JSON means it: true is not 1."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _suggested(spec: InputSpec, given: Any) -> Any:
    """What was surely meant, or the default. Else the mark: a made-up value would be taken for an answer."""
    if spec.default is not msgspec.UNSET:
        return spec.default
    if spec.enum:
        words = {value.lower(): value for value in spec.enum if isinstance(value, str)}
        near = nearest(given, words, 1) if isinstance(given, str) else []
        return words[near[0]] if near else TO_FILL_IN
    if isinstance(given, str) and spec.type in ("integer", "number", "boolean"):
        converted = _converted(spec.type, given)
        if converted is not None:
            return converted
    return TO_FILL_IN


def _converted(kind: InputType, given: str) -> Any:
    """A value that was sent as text: 3 for "3"."""
    try:
        value = msgspec.json.decode(given.strip().encode())
    except msgspec.DecodeError:
        return None
    return value if fits(kind, value) else None


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
