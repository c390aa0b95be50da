"""What is wrong with the input of a call: every problem at once, and the call repaired where that is sure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from handrail.contract.catalogue import VALIDATION_ERROR
from handrail.contract.outcome import Fault, Json, NextCall
from handrail.contract.suggest import find_nearest
from handrail.runtime.operation import Operation

_MOST_PROBLEMS = 20
_UNKNOWN_MEMBER = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$(.*)`)?$")
_PATTERN = "Expected `str` matching regex "


def refuse_input(called: Operation, params: dict[str, Json], error: str) -> Fault:
    """The refusal of params that msgspec refused with these words."""
    problems, repaired = input_problems(called, params)
    if not problems:  # the whole is refused though every field alone is fine
        problems = [{"param": "", "problem": _readable(error)}]
    return _refusal(called, problems, repaired)


def refuse_misfits(called: Operation, params: dict[str, Json]) -> None:
    """Raises Fault VALIDATION_ERROR for values of the right type that break a rule of their field."""
    if problems := _misfits(called, params):
        raise _refusal(called, problems, None)


def _refusal(called: Operation, problems: list[dict[str, Json]], repaired: dict[str, Json] | None) -> Fault:
    return Fault(
        VALIDATION_ERROR,
        summarize_problems(problems),
        details={"problems": problems[:_MOST_PROBLEMS]},
        next_call=None if repaired is None else NextCall(operation=called.name, params=repaired),
    )


def _misfits(called: Operation, params: dict[str, Json]) -> list[dict[str, Json]]:
    """Values that have the right type but break a rule of their field."""
    return [
        {"param": name, "problem": rule.problem, "expected": rule.expected}
        for name, rule in called.value_rules.items()
        if isinstance(params.get(name), str) and not rule.fits(params[name])
    ]


def input_problems(
    called: Operation, params: dict[str, Json]
) -> tuple[list[dict[str, Json]], dict[str, Json] | None]:
    """Everything wrong, and the call with its names repaired if nothing else is."""
    if (inner := _inside_next_call(called, params)) is not None:
        problems, repaired = input_problems(called, inner)
        whole: dict[str, Json] = {
            "param": "params",
            "problem": "this is a whole nextCall; send only its params",
        }
        return [whole, *problems], repaired if problems else inner
    fields = {field.encode_name: field for field in msgspec.structs.fields(called.input)}
    problems = []
    meant = {}
    for name, value in params.items():
        if name in fields:
            meant[name] = value
            continue
        problem: dict[str, Json] = {"param": name[:80], "problem": "unknown name", "expected": sorted(fields)}
        near = [known for known in find_nearest(name, fields) if known not in params and known not in meant]
        if near:
            problem["did_you_mean"] = near[0]
            meant[near[0]] = value
        problems.append(problem)
    wrong = [*_wrong_values(fields, meant), *_misfits(called, meant)]
    is_repaired = not wrong and all("did_you_mean" in problem for problem in problems)
    return problems + wrong, meant if is_repaired and problems else None


def _inside_next_call(called: Operation, params: dict[str, Json]) -> dict[str, Json] | None:
    """What was meant where a caller sends the `nextCall` of a reply as it stands; None where it did not."""
    inner = params.get("params")
    if not called.tool or params.get("tool") != called.tool or not isinstance(inner, dict):
        return None
    beside = {name: value for name, value in params.items() if name not in ("tool", "params", "options")}
    return {**inner, **beside}


def _wrong_values(
    fields: dict[str, msgspec.structs.FieldInfo], params: dict[str, Json]
) -> list[dict[str, Json]]:
    problems: list[dict[str, Json]] = []
    for name, field in fields.items():
        if name not in params:
            if field.required:
                problems.append({"param": name, "problem": "missing"})
            continue
        try:
            msgspec.convert(params[name], field.type, strict=True)
        except msgspec.ValidationError as error:
            told: dict[str, Json] = {"param": name, "problem": _readable(str(error))}
            if (unknown := _UNKNOWN_MEMBER.match(str(error))) is not None:
                told["expected"] = members = _members_at(field.type, unknown[2] or "")
                if near := find_nearest(unknown[1], members):
                    told["did_you_mean"] = near[0]
                elif members:
                    told["problem"] += f"; it may have {', '.join(members)}"
            problems.append(told)
        except UnicodeEncodeError:
            problems.append({"param": name, "problem": "a name in it holds half of a surrogate pair"})
    return problems


def _members_at(wanted: Any, path: str) -> list[Json]:
    """The names that an object at this place of a value may have."""
    found = set(_structs_in(wanted))
    for step in re.findall(r"\.(\w+)", path):
        inside = [field for one in found for field in msgspec.structs.fields(one)]
        found = {one for field in inside if field.encode_name == step for one in _structs_in(field.type)}
    return sorted({field.encode_name for one in found for field in msgspec.structs.fields(one)})


def _structs_in(wanted: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        yield wanted
    for part in get_args(wanted):
        yield from _structs_in(part)


def _readable(error: str) -> str:
    """msgspec's words without its path notation for the root, and a pattern without the type."""
    error = error.replace(_PATTERN, "must match ")
    return error.replace(" - at `$`", "").replace("`$.", "`").replace("`$", "`")


def summarize_problems(problems: list[dict[str, Json]]) -> str:
    """The message of a refused input: its first problem, and how many more there are."""
    first = problems[0]
    where = f"{first['param']}: " if first["param"] else ""
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    meant = f"; did you mean {first['did_you_mean']}?" if "did_you_mean" in first else ""
    said = f"The call does not fit: {where}{first['problem']}{meant}{more}"[:1023]
    return said if said.endswith((".", "?")) else f"{said}."
