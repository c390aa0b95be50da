"""Calls that must be refused, as data: what is wrong, which code answers, which place it names.

Each row is sent through MCP and through the command line. `offers` says at which doors the answer holds a
corrected call; that call must work when it is sent as it stands. Where none is offered, only the caller
knows what was meant, and the right call must still work afterwards: the refusal used nothing up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Params = dict[str, Any]
HALF = "\ud800"
"""Half of a surrogate pair: JSON text can hold it, UTF-8 cannot."""
BIG = "x" * 10_000_000
MCP, CLI = "mcp", "cli"
NOWHERE, AT_MCP, AT_BOTH = frozenset[str](), frozenset({MCP}), frozenset({MCP, CLI})


class Scene(NamedTuple):
    """Two runs in two sessions and a second run beside the first, as their first replies."""

    first: Params
    beside: Params
    elsewhere: Params


class BadCall(NamedTuple):
    """One call and its refusal."""

    name: str
    operation: str
    spoil: Params | Callable[[Scene], Params]
    """The params that differ from the right call; None takes one away."""
    code: str
    place: str
    """What the answer must name: a field, a pointer, a line."""
    cli_code: str = ""
    """Where the command line answers otherwise, because it reads JSON text itself."""
    cli_place: str = ""
    offers: frozenset[str] = NOWHERE

    @property
    def id(self) -> str:
        return f"{self.operation}: {self.name}"


def right_call(operation: str, scene: Scene) -> Params:
    """A call of the operation that is accepted."""
    notes = {"notesMarkdown": "looked at a.py"}
    return {
        "run.start": {"workflowId": "project.three_steps", "requestId": "bad-calls"},
        "run.continue": {"ackToken": scene.first["ackToken"], "output": notes},
        "run.checkpoint": {"checkpointToken": scene.first["checkpointToken"], "output": notes},
        "session.resume": {"query": scene.first["session"]["sessionId"]},
        "workflow.inspect": {"workflowId": "project.three_steps"},
        "workflow.list": {"query": "three"},
    }[operation]


def spoiled_call(bad: BadCall, scene: Scene) -> Params:
    spoil = bad.spoil(scene) if callable(bad.spoil) else bad.spoil
    changed = {**right_call(bad.operation, scene), **spoil}
    return {name: value for name, value in changed.items() if value is not None}


Spoil = Params | Callable[[Scene], Params]


def refused(
    code: str, *rows: tuple[str, str, str, Spoil], offers: frozenset[str] = NOWHERE, is_json: bool = True
) -> Iterator[BadCall]:
    """Rows: operation, what is wrong, place, what differs. What is no JSON is refused while it is read."""
    cli = {} if is_json else {"cli_code": "E_VALIDATION", "cli_place": "line 1, column"}
    for operation, name, place, spoil in rows:
        yield BadCall(name, operation, spoil, code, place, offers=offers, **cli)


def nested(levels: int) -> Params:
    value: Params = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def _output(**fields: Any) -> Params:
    return {"output": fields}


def _artifact(**fields: Any) -> Params:
    return _output(artifacts=[{"kind": "project.table", **fields}])


TEXT_FIELD: dict[str, Callable[[Any], Params]] = {
    "run.start": lambda value: {"goal": value},
    "run.continue": lambda value: _output(notesMarkdown=value),
    "run.checkpoint": lambda value: _output(notesMarkdown=value),
    "session.resume": lambda value: {"query": value},
    "workflow.inspect": lambda value: {"workflowId": value},
    "workflow.list": lambda value: {"query": value},
}
"""A text that each operation takes."""
TEXT_NAME = {
    "run.start": "goal",
    "run.continue": "output",
    "run.checkpoint": "output",
    "session.resume": "query",
    "workflow.inspect": "workflowId",
    "workflow.list": "query",
}


def of_every_operation() -> Iterator[BadCall]:
    """What can be wrong with any call."""
    for operation, text in TEXT_FIELD.items():
        place = TEXT_NAME[operation]
        unknown = (operation, "an unknown name", "bogusThing", {"bogusThing": 1})
        yield from refused("VALIDATION_ERROR", unknown, offers=AT_MCP)
        yield from refused(
            "VALIDATION_ERROR",
            (operation, "a number for a text", place, text(7)),
            (operation, "a list for a text", place, text([1])),
        )
        (large,) = refused("REQUEST_TOO_LARGE", (operation, "ten megabytes", "4194304", text(BIG)))
        yield large._replace(cli_place="--input")


def of_context(operation: str) -> Iterator[BadCall]:
    """What context cannot hold."""

    def row(name: str, place: str, context: Any) -> tuple[str, str, str, Spoil]:
        return (operation, name, place, {"context": context})

    reserved = ("__proto__", "constructor", "prototype")
    yield from refused(
        "VALIDATION_ERROR",
        *(row(f"the reserved key {key}", f"context.{key}", {key: {}}) for key in reserved),
        row("context as a list", "context", [1]),
        row("context as a text", "context", "Large"),
    )
    yield from refused("CONTEXT_BUDGET_EXCEEDED", row("300 KB of context", "262144", {"a": "x" * 300_000}))
    yield from refused(
        "E_VALIDATION",
        row("NaN in context", "/context/a/0", {"a": [math.nan]}),
        row("infinity in context", "/context/a", {"a": math.inf}),
        row("half a character in context", "/context/a", {"a": HALF}),
        row("half a character as a key", "/context/b", {"b": {HALF: 1}}),
        is_json=False,
    )
    yield from refused(
        "E_VALIDATION", row("an integer that others would round", "/context/a", {"a": 2**53 + 1})
    )
    yield from refused("REQUEST_TOO_LARGE", row("context 100 levels deep", "64", nested(100)))


def of_output(operation: str) -> Iterator[BadCall]:
    """What output cannot hold."""
    notes, artifact = "output.notesMarkdown", "/output/artifacts/0/a"
    large, half = _output(notesMarkdown="x" * 70_000), _output(notesMarkdown=HALF)
    yield from refused("VALIDATION_ERROR", (operation, "70 KB of notes", notes, large))
    yield from refused(
        "VALIDATION_ERROR", (operation, "half a character in notes", notes, half), is_json=False
    )
    yield from refused(
        "E_VALIDATION",
        (operation, "NaN in an artifact", artifact, _artifact(a=math.nan)),
        (operation, "half a character in an artifact", artifact, _artifact(a=HALF)),
        is_json=False,
    )
    deep = (operation, "an artifact 100 levels deep", "64", _artifact(a=nested(100)))
    yield from refused("REQUEST_TOO_LARGE", deep)


def _given(field: str, token: str) -> Callable[[Scene], Params]:
    """One token of the run in the place of another."""
    return lambda scene: {field: scene.first[token]}


def _state_of_another(scene: Scene) -> Params:
    return {"stateToken": scene.elsewhere["stateToken"]}


STYLED = {"workflowId": None, "requestId": None, "workflow_id": "project.three_steps", "request_id": "near"}
KIND = "output.artifacts[0].kind"
NAMED = (
    # What is missing, and what is nearly right
    *refused(
        "VALIDATION_ERROR",
        ("run.start", "no workflow", "workflowId", {"workflowId": None}),
        ("run.start", "a mode that does not exist", "autonomy", {"preferences": {"autonomy": "yolo"}}),
        ("run.start", "a request id with a space", "requestId", {"requestId": "a b"}),
        ("run.checkpoint", "no token", "checkpointToken", {"checkpointToken": None}),
        ("run.checkpoint", "no output", "output", {"output": None}),
        ("workflow.inspect", "no workflow", "workflowId", {"workflowId": None}),
        ("run.continue", "an artifact without a kind", KIND, _output(artifacts=[{"rows": 1}])),
        ("run.continue", "an artifact whose kind is a number", KIND, _output(artifacts=[{"kind": 7}])),
    ),
    *refused(
        "VALIDATION_ERROR",
        ("run.continue", "notes outside of output", "notes", {"output": None, "notes": "looked at a.py"}),
        ("run.continue", "output as text", "output", {"output": "looked at a.py"}),
        (
            "run.continue",
            "one artifact without its list",
            "artifacts",
            _output(artifacts={"kind": "project.table"}),
        ),
        ("workflow.inspect", "a part that does not exist", "part", {"part": "everything"}),
        offers=AT_MCP,
    ),
    *refused(
        "VALIDATION_ERROR", ("run.start", "names in another style", "workflow_id", STYLED), offers=AT_BOTH
    ),
    *refused(
        "WORKFLOW_NOT_FOUND",
        (
            "workflow.inspect",
            "a name that is nearly one",
            "project.three_steps",
            {"workflowId": "project.three_step"},
        ),
        offers=AT_BOTH,
    ),
    # Tokens
    *refused(
        "CONTEXT_MISSING",
        ("run.continue", "no token", "ackToken", {"ackToken": None, "output": None}),
        offers=AT_BOTH,
    ),
    *refused(
        "TOKEN_SCOPE_MISMATCH",
        *(
            ("run.continue", f"a {word} token as the ack", f"{word}Token", _given("ackToken", f"{word}Token"))
            for word in ("state", "checkpoint")
        ),
        (
            "run.checkpoint",
            "an ack as the checkpoint token",
            "ackToken",
            _given("checkpointToken", "ackToken"),
        ),
        ("run.continue", "tokens of two sessions", "different replies", _state_of_another),
        ("run.checkpoint", "tokens of two sessions", "different replies", _state_of_another),
        (
            "run.continue",
            "tokens of two runs",
            "different",
            lambda scene: {"stateToken": scene.beside["stateToken"]},
        ),
        offers=AT_BOTH,
    ),
    *refused(
        "TOKEN_INVALID_FORMAT",
        ("run.continue", "a word as the token", "ackToken", {"ackToken": "step-three"}),
        offers=AT_BOTH,
    ),
    *refused("INVALID_TOKEN", ("workflow.list", "a cursor of nobody", "cursor", {"cursor": "cu1AAAA"})),
    *refused(
        "SESSION_NOT_FOUND",
        ("run.start", "a session that is not here", "ses_000000000000", {"session": "ses_000000000000"}),
        offers=frozenset({CLI}),
    ),
    # Text that is no text
    *refused(
        "E_VALIDATION",
        ("run.start", "half a character as the goal", "/goal", {"goal": HALF}),
        is_json=False,
    ),
    *refused(
        "TOKEN_INVALID_FORMAT",
        ("run.continue", "half a character as the token", "ackToken", {"ackToken": HALF}),
        offers=AT_MCP,
        is_json=False,
    ),
    *refused(
        "WORKFLOW_NOT_FOUND",
        ("workflow.inspect", "half a character as the name", "workflow", {"workflowId": HALF}),
        offers=AT_MCP,
        is_json=False,
    ),
)

BAD_CALLS: tuple[BadCall, ...] = (
    *of_every_operation(),
    *(bad for operation in ("run.start", "run.continue") for bad in of_context(operation)),
    *(bad for operation in ("run.continue", "run.checkpoint") for bad in of_output(operation)),
    *NAMED,
)
