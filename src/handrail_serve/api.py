"""`/api/{operation}`: a request as the input of an operation. Reads take a query, everything takes JSON.

Names that begin with an underscore say how to answer (LAFS 9): `_fields`, `_expand`, `_mvi`, `_budget`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any, cast, get_args

import msgspec
from msgspec.inspect import IntType, Metadata, Type, UnionType, type_info

from handrail.contract.catalogue import E_NOT_FOUND, E_VALIDATION, FEATURE_DISABLED
from handrail.contract.disclosure.fields import Ask, Budget, Level, parse_budget, parse_fields
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Failure, Fault, Json, refuse_argument
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.runtime.operation import Operation, Registry
from handrail_serve.calls import LAFS_TYPE, Asked, Dialect, Served, answer_read
from handrail_serve.exchange import JSON_TYPE, HttpRequest, Response, parameters, read_accept
from handrail_serve.limits import MOST_BUNDLE_BYTES, refuse_members

PREFIX = "/api/"
_WHOLE_NUMBER = re.compile("-?[0-9]{1,18}")
"""A number outside its bounds is refused as one."""
_BUDGET = "_budget."
_SPELLED = {"maxTokens": "tokens", "maxBytes": "bytes", "maxItems": "items"}
_LEVELS = get_args(Level)
_WITH_LONG_BODY = frozenset({"session.import"})
_NOT_OVER_HTTP = {
    "process": "This operation starts a program that its caller names, so no server offers it.",
    "update": "A running server does not replace its own program.",
}
"""The effects that only the command line has, and why."""
_DESCRIBES = "This operation describes the command line, so no server offers it; run `handrail {}`."
OF_THE_COMMAND_LINE = {
    f"self.{name}": _DESCRIBES.format(name) for name in ("reference", "changelog", "completion")
}
"""What the command line says of itself; it stands in no registry of a server."""


def refuse_unknown(path: str, names: Sequence[str]) -> Failure:
    """The answer at an address that nothing has; below `/api` with the operations that it may mean."""
    message = "There is nothing at this address."
    if not path.startswith(PREFIX):
        return Failure(kind=E_NOT_FOUND, message=message)
    if reason := OF_THE_COMMAND_LINE.get(path.removeprefix(PREFIX)):
        return Failure(kind=FEATURE_DISABLED, message=reason)
    near = find_nearest(path.removeprefix(PREFIX), names)
    return Failure(
        kind=E_NOT_FOUND,
        message=f"{message} No operation has this name.",
        details={"did_you_mean": [PREFIX + name for name in near]} if near else {},
        hint="GET /api lists every operation with its address.",
    )


def why_not_served(called: Operation) -> str:
    """Why only the command line has this operation; empty: the server has it too."""
    if called.why_only_local:
        return called.why_only_local
    if called.starts_programs:
        return "This operation starts programs, so no server offers it."
    if called.where == "client" and called.name.startswith("team."):
        return "This operation is about the machine of its caller, so no server offers it."
    return _NOT_OVER_HTTP.get(called.effect, "")


def methods_of(called: Operation) -> tuple[str, ...]:
    """What only reads can be fetched; everything can be posted, for input that no query can hold."""
    return ("GET", "HEAD", "POST") if called.effect == "read" else ("POST",)


def offered_operations(registry: Registry) -> tuple[Operation, ...]:
    """Those that a caller over HTTP can perform; the others are refused by name."""
    return tuple(called for called in registry.operations() if not why_not_served(called))


def most_body_bytes(called: Operation, of_others: int) -> int:
    return MOST_BUNDLE_BYTES if called.name in _WITH_LONG_BODY else of_others


def answer_request(
    served: Served, called: Operation, request: HttpRequest, body: bytes, *, is_at_console: bool
) -> Response:
    """The response to a request for an operation; an error before it runs has its dialect too."""
    plain = Asked(
        operation=called.name, params={}, dialect=dialect_of(request), request_id=request.id, source=""
    )
    read = partial(read_call, request, called, body, is_at_console=is_at_console)
    return answer_read(served, plain, read)


def read_call(request: HttpRequest, called: Operation, body: bytes, *, is_at_console: bool) -> Asked:
    """The call that a request makes.

    Raises Fault for a query or a body that cannot be read, and for what no server offers.
    """
    _refuse_unoffered(called)
    given = parameters(request.query)
    own = [(name, value) for name, value in given if not name.startswith("_")]
    asking: list[tuple[str, Json]] = [(name, value) for name, value in given if name.startswith("_")]
    if request.method == "POST":
        if own:
            raise _refuse_parameter(own[0][0], "goes into the JSON body of a POST")
        params = _read_params(body)
        asking += _take_asking(params)
    else:
        params = read_query(called, own)
    ask = read_ask(asking)
    return Asked(
        operation=called.name,
        params=params,
        ask=ask,
        dialect=dialect_of(request),
        request_id=request.id,
        source=f"{request.method} {PREFIX}{called.name}",
        is_at_console=is_at_console,
    )


def read_message_call(called: Operation, given: dict[str, Json], request_id: str, source: str) -> Asked:
    """The call that a message of another protocol makes, with the input as a POST would have it.

    Raises Fault for what no server offers, and for a wish that cannot be read.
    """
    _refuse_unoffered(called)
    params = dict(given)
    ask = read_ask(_take_asking(params))
    return Asked(
        operation=called.name, params=params, ask=ask, dialect="lafs", request_id=request_id, source=source
    )


def _refuse_unoffered(called: Operation) -> None:
    if reason := why_not_served(called):
        raise Fault(
            FEATURE_DISABLED,
            reason,
            hint=f"Run it on the command line; `handrail reference` names the command of {called.name}.",
        )


def _take_asking(params: dict[str, Json]) -> list[tuple[str, Json]]:
    """Remove from the input what says how to answer."""
    return [(name, params.pop(name)) for name in list(params) if name.startswith("_")]


def dialect_of(request: HttpRequest) -> Dialect:
    """LAFS where the caller names its media type, or takes no other; ours otherwise."""
    taken, refused = read_accept(request.headers)
    is_named = LAFS_TYPE in taken or JSON_TYPE in refused
    return "lafs" if is_named and LAFS_TYPE not in refused else "native"


def read_ask(given: Sequence[tuple[str, Json]]) -> Ask:
    """How to answer, from the names that begin with an underscore; each as text, or as LAFS 9 writes it.

    Raises Fault VALIDATION_ERROR, or E_USAGE for a list or budget that cannot be read.
    """
    found: dict[str, Any] = {}
    for name, value in _join_budget(given):
        if name in found:
            raise _refuse_parameter(name, "is given twice")
        match name:
            case "_fields" | "_expand":
                found[name] = _read_names(name, value)
            case "_budget":
                found[name] = _read_budget(value)
            case "_mvi" if value in _LEVELS:
                found[name] = value
            case "_mvi":
                raise _refuse_parameter(name, f"must be one of {', '.join(_LEVELS)}")
            case _:
                raise _refuse_parameter(name, "is not known; use _fields, _expand, _mvi or _budget")
    return Ask(**{name.removeprefix("_"): value for name, value in found.items()})


def _join_budget(given: Sequence[tuple[str, Json]]) -> list[tuple[str, Json]]:
    """A query has each member of a budget by itself, as in `_budget.maxTokens=500`."""
    rest: list[tuple[str, Json]] = []
    budget: dict[str, Json] = {}
    for name, value in given:
        if not name.startswith(_BUDGET):
            rest.append((name, value))
        elif name.removeprefix(_BUDGET) in budget:
            raise _refuse_parameter(name, "is given twice")
        else:
            is_number = isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value)
            budget[name.removeprefix(_BUDGET)] = int(cast(str, value)) if is_number else value
    return [*rest, ("_budget", budget)] if budget else rest


def _read_names(name: str, value: Json) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return parse_fields(",".join(value), name)
    if isinstance(value, str):
        return parse_fields(value, name)
    raise _refuse_parameter(name, "must be a list of names")


def _read_budget(value: Json) -> Budget:
    """`tokens=N,bytes=N,items=N`, or the object of LAFS 9.5.1."""
    if isinstance(value, str):
        return parse_budget(value)
    if not isinstance(value, dict) or not value or not set(value) <= set(_SPELLED):
        raise _refuse_parameter("_budget", "must have maxTokens, maxBytes or maxItems")
    if not all(type(amount) is int for amount in value.values()):
        raise _refuse_parameter("_budget", "must have whole numbers")
    return parse_budget(",".join(f"{_SPELLED[name]}={amount}" for name, amount in value.items()))


def read_query(called: Operation, given: Sequence[tuple[str, str]]) -> dict[str, Json]:
    """The input that a query stands for: each value as its field reads it, a list by repeating its name.

    What does not fit stays as it is written, for the operation to refuse with everything else.
    """
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(called.input)}
    values: dict[str, list[str]] = {}
    for name, value in given:
        values.setdefault(name, []).append(value)
    return {
        name: _read_value(fields[name], name, found) if name in fields else found[0]
        for name, found in values.items()
    }


def _read_value(wanted: Any, name: str, found: list[str]) -> Json:
    candidates: list[Json] = [found] if len(found) > 1 else [found[0], found]
    for candidate in candidates:
        try:
            return msgspec.to_builtins(msgspec.convert(candidate, wanted, strict=False))
        except msgspec.ValidationError:
            continue
    if len(found) > 1:
        raise _refuse_parameter(name, "is given twice")
    is_number = any(isinstance(one, IntType) for one in _types_of(type_info(wanted)))
    return int(found[0]) if is_number and _WHOLE_NUMBER.fullmatch(found[0]) else found[0]


def _types_of(info: Type) -> tuple[Type, ...]:
    if isinstance(info, Metadata):
        return _types_of(info.type)
    return (
        tuple(one for part in info.types for one in _types_of(part))
        if isinstance(info, UnionType)
        else (info,)
    )


def _read_params(body: bytes) -> dict[str, Json]:
    decoded = decode_json(body, max_bytes=MOST_BUNDLE_BYTES)  # measured for this call while it was read
    refuse_members(decoded)
    if not isinstance(decoded, dict):
        raise refuse_argument(
            "The body of this request must be a JSON object with the input of the operation.",
            "",
            "not an object",
            kind=E_VALIDATION,
        )
    return decoded


def _refuse_parameter(name: str, problem: str) -> Fault:
    return refuse_argument(f"The parameter {quote(name)} {problem}.", name[:80], problem)
