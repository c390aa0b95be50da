"""Refused calls: every problem of an input at once, and the corrected call if there is exactly one.

The call is offered, never made: reading and advancing differ, so the agent decides. A caller who asked to
read is never offered a call that advances: copied unchanged, it would finish a step without notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from handrail.contract.catalogue import TOKEN_SCOPE_MISMATCH, VALIDATION_ERROR, WORKFLOW_NOT_FOUND
from handrail.contract.outcome import Failure, Fault, Json, NextCall
from handrail.contract.suggest import find_nearest
from handrail.contract.tokens.reading import ANY_KIND, read_token
from handrail.contract.tokens.workflow import (
    LAYOUT_BY_PREFIX,
    LAYOUTS,
    PREFIX_LENGTH,
    WORKFLOW,
    TokenKind,
    clean,
)
from handrail.contract.wording import end_sentence
from handrail.engine.history import Run, node_at
from handrail.runtime.operation import OFFERED_CALL_BYTES, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import read_session

# What is wrong with an input, and the corrected call if the correction is certain


_MOST_PROBLEMS = 20
_UNKNOWN_MEMBER = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$(.*)`)?$")
_PATTERN = "Expected `str` matching regex "


def refuse_input(called: Operation, params: dict[str, Json], error: str) -> Fault:
    """Return the refusal of params that msgspec refused with this message."""
    problems, repaired = input_problems(called, params)
    if not problems:  # the whole is refused although every field alone is valid
        problems = [{"param": "", "problem": _readable(error)}]
    return _refusal(called, problems, repaired)


def refuse_misfits(called: Operation, params: dict[str, Json]) -> None:
    """Raise Fault VALIDATION_ERROR for values of the right type that break a rule of their field."""
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
    """Return the problems of values that have the right type but break a rule of their field."""
    return [
        {"param": name, "problem": rule.problem, "expected": rule.expected}
        for name, rule in called.value_rules.items()
        if isinstance(params.get(name), str) and not rule.fits(params[name])
    ]


def input_problems(
    called: Operation, params: dict[str, Json]
) -> tuple[list[dict[str, Json]], dict[str, Json] | None]:
    """Return every problem, and the call with corrected names if nothing else is wrong."""
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
    """Return the params if a caller sent the whole `nextCall` of a reply; None if not."""
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
            problem: dict[str, Json] = {"param": name, "problem": _readable(str(error))}
            if (unknown := _UNKNOWN_MEMBER.match(str(error))) is not None:
                problem["expected"] = members = _members_at(field.type, unknown[2] or "")
                if near := find_nearest(unknown[1], members):
                    problem["did_you_mean"] = near[0]
                elif members:
                    problem["problem"] += f"; it may have {', '.join(members)}"
            problems.append(problem)
        except UnicodeEncodeError:
            problems.append({"param": name, "problem": "a name in it holds half of a surrogate pair"})
    return problems


def _members_at(wanted: Any, path: str) -> list[Json]:
    """Return the names that an object at this place of a value may have."""
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
    """Return msgspec's message without its path notation for the root, and a pattern without the type."""
    error = error.replace(_PATTERN, "must match ")
    return error.replace(" - at `$`", "").replace("`$.", "`").replace("`$", "`")


def summarize_problems(problems: list[dict[str, Json]]) -> str:
    """Return the message of a refused input: its first problem, and how many more there are."""
    first = problems[0]
    where = f"{first['param']}: " if first["param"] else ""
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    meant = f"; did you mean {first['did_you_mean']}?" if "did_you_mean" in first else ""
    message = f"The call does not fit: {where}{first['problem']}{meant}{more}"[:1023]
    return end_sentence(message)


# A genuine token in the wrong argument, or a misspelt workflow id


_TOKEN_FIELDS = ("ackToken", "stateToken", "checkpointToken")
_FIELD_BY_PREFIX = {
    "ak": "ackToken",
    "ch": "ackToken",
    "ck": "checkpointToken",
    "st": "stateToken",
    "wk": "stateToken",
}
MAY_DO = (
    "A token of work that was delegated reads its step, reports it, saves progress in it, runs checks for "
    "it and shows its changes (run continue, run checkpoint, check run, code status); everything else is for "
    "the agent that delegated it."
)
_REPORTED = {"output", "context"}
_LONGEST_TOKEN = 2 * max(layout.length for layout in LAYOUTS.values())
"""The most characters of a token, including those that a client put in between."""
_AROUND = " \t\r\n\"'`<>[](){}"


def correct_call(failure: Failure, operation: str, params: dict[str, Json]) -> Failure:
    """Add the corrected call to a failure if the mistake has only one possible correction."""
    near = failure.details.get("did_you_mean")
    if failure.kind is WORKFLOW_NOT_FOUND and near and len(near) == 1 and "workflowId" in params:
        call = NextCall(operation=operation, params=params | {"workflowId": near[0]})
        hint = f"Use {near[0]}, or list the workflows to see which exist."
        return offer_call(msgspec.structs.replace(failure, hint=hint), call)
    return _with_token_moved(failure, operation, params)


def refuse_misplaced_work(rt: ReadPorts, params: dict[str, Json]) -> None:
    """Raise Fault TOKEN_SCOPE_MISMATCH if a child run's token is sent to a call that does not accept it."""
    for name, value in params.items():
        for one in value if isinstance(value, list) else [value]:
            kind = _find_kind(one)
            if kind == "work":
                details = {"token_kind": "work", "found": f"a work token as {name}"}
                message = f"A work token was sent as {name}; nothing was done."
                raise Fault(TOKEN_SCOPE_MISMATCH, message, details=details, hint=MAY_DO)
            run = None if kind is None else _find_run(rt, str(one))
            if run is not None:
                refuse_handed_out(run)


def refuse_handed_out(run: Run) -> None:
    """Raise Fault TOKEN_SCOPE_MISMATCH if a token of a delegated run asks for more than its work."""
    if run.parent is None:
        return
    message = f"This token is of the work {run.parent.child_id}, which was delegated; nothing was done."
    raise Fault(TOKEN_SCOPE_MISMATCH, message, details={"run_id": run.run_id}, hint=MAY_DO)


def _find_kind(value: Json) -> TokenKind | None:
    """Return the kind of token that an argument looks like as a whole."""
    text = clean(value) if isinstance(value, str) and len(value) <= _LONGEST_TOKEN else ""
    layout = LAYOUT_BY_PREFIX.get(text[:PREFIX_LENGTH])
    return layout.kind if layout is not None and len(text) == layout.length else None


def _find_run(rt: ReadPorts, text: str) -> Run | None:
    """Return the run that a token belongs to; None if this store has none, which the operation reports
    better.
    """
    try:
        claims = read_token(rt.keys.verifying_keys(WORKFLOW), text, ANY_KIND).claims
        session = read_session(rt.log, claims.session_id)
    except Fault:
        return None
    node = None if session is None else node_at(session.history, claims.node_tag)
    return None if session is None or node is None else session.history.runs[node.run_id]


def offer_call(failure: Failure, call: NextCall) -> Failure:
    """Return the failure with this call to copy, unless the call is too long to send back."""
    is_short = len(msgspec.json.encode(call.params)) <= OFFERED_CALL_BYTES
    return msgspec.structs.replace(failure, next_call=call) if is_short else failure


def _with_token_moved(failure: Failure, operation: str, params: dict[str, Json]) -> Failure:
    if failure.kind is not TOKEN_SCOPE_MISMATCH or failure.next_call is not None:
        return failure
    call = _corrected(operation, params)
    if call is None or len(msgspec.json.encode(call.params)) > OFFERED_CALL_BYTES:
        call = _way_back(failure)
    return failure if call is None else msgspec.structs.replace(failure, next_call=call)


def _corrected(operation: str, params: dict[str, Json]) -> NextCall | None:
    tokens = {}
    is_answer = False
    for name in _TOKEN_FIELDS:
        prefix = str(params.get(name, "")).strip(_AROUND).lower()[:2]
        if prefix in _FIELD_BY_PREFIX:
            tokens[_FIELD_BY_PREFIX[prefix]] = params[name]
            is_answer = is_answer or prefix == "ch"  # the token of an option shows what the caller wants
    rest = {name: value for name, value in params.items() if name not in _TOKEN_FIELDS}
    if operation == "run.continue" and "ackToken" in tokens:
        if not ("ackToken" in params or is_answer or rest.keys() & _REPORTED):
            return None
        tokens.pop("checkpointToken", None)
        return NextCall(operation="run.continue", params={**tokens, **rest})
    if "checkpointToken" in tokens and "output" in rest and "context" not in rest:
        tokens.pop("ackToken", None)
        return NextCall(operation="run.checkpoint", params={**tokens, **rest})
    if "stateToken" in tokens:  # reads the pending step again, which returns the missing token
        return NextCall(operation="run.continue", params={"stateToken": tokens["stateToken"]})
    return None


def _way_back(failure: Failure) -> NextCall | None:
    """Return the call that finds the session of the token; its answer has the missing stateToken.

    The call only reads.
    """
    session_id = failure.details.get("session_id")
    return None if session_id is None else NextCall(operation="session.resume", params={"query": session_id})
