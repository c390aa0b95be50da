"""Params into the operation's input: every problem at once, and the call repaired where that is sure."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.catalogue import VALIDATION_ERROR
from handrail.contract.outcome import Fault, Json, NextCall
from handrail.contract.suggest import nearest
from handrail.runtime.operation import Operation

_MOST_PROBLEMS = 20
_PATTERN = "Expected `str` matching regex "


def decode_input(called: Operation, params: dict[str, Json]) -> Any:
    """The input of an operation.

    Raises Fault VALIDATION_ERROR with every problem; `next_call` is the caller's own call when all that
    is wrong are names that have one nearest known name, or that it was wrapped as replies wrap it.
    """
    try:
        request = msgspec.convert(params, called.input, strict=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the second: half a character in a name
        problems, repaired = input_problems(called, params)
        if not problems:  # the whole is refused though every field alone is fine: say what msgspec said
            problems = [{"param": "", "problem": _readable(str(error))}]
        raise _refusal(called, problems, repaired) from error
    if problems := _misfits(called, params):
        raise _refusal(called, problems, None)
    return request


def _refusal(called: Operation, problems: list[dict[str, Json]], repaired: dict[str, Json] | None) -> Fault:
    return Fault(
        VALIDATION_ERROR,
        _summary(problems),
        details={"problems": problems[:_MOST_PROBLEMS]},
        next_call=None if repaired is None else NextCall(operation=called.name, params=repaired),
    )


def _misfits(called: Operation, params: dict[str, Json]) -> list[dict[str, Json]]:
    """Values of the right type that are wrong all the same."""
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
            "problem": "a whole nextCall came; send what is in its params",
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
        near = [known for known in nearest(name, fields) if known not in params and known not in meant]
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
            problems.append({"param": name, "problem": _readable(str(error))})
        except UnicodeEncodeError:
            problems.append({"param": name, "problem": "a name in it holds half of a surrogate pair"})
    return problems


def _readable(error: str) -> str:
    """msgspec's words without its path notation for the root, and a pattern without the type."""
    error = error.replace(_PATTERN, "must match ")
    return error.replace(" - at `$`", "").replace("`$.", "`").replace("`$", "`")


def _summary(problems: list[dict[str, Json]]) -> str:
    first = problems[0]
    where = f"{first['param']}: " if first["param"] else ""
    more = f" ({len(problems) - 1} more in details.problems)" if len(problems) > 1 else ""
    meant = f"; did you mean {first['did_you_mean']}?" if "did_you_mean" in first else ""
    said = f"The call does not fit: {where}{first['problem']}{meant}{more}"[:1023]
    return said if said.endswith((".", "?")) else f"{said}."
