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


class Scene(NamedTuple):
    """Two runs in two sessions and a second run beside the first, as their first replies."""

    first: Params
    beside: Params
    elsewhere: Params


class BadCall(NamedTuple):
    """One call and its refusal."""

    name: str
    operation: str
    spoil: Callable[[Scene], Params]
    """The params that differ from the right call; None takes one away (`NULL` sends a null)."""
    code: str
    place: str
    """What the answer must name: a field, a pointer, a line."""
    cli_code: str = ""
    """Where the command line answers otherwise, because it reads JSON text itself."""
    cli_place: str = ""
    offers: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        return f"{self.operation}: {self.name}"


class Null:
    """Stands for a null that is really sent."""


NULL = Null()


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
    changed = {**right_call(bad.operation, scene), **bad.spoil(scene)}
    return {name: None if value is NULL else value for name, value in changed.items() if value is not None}


def sends(params: Params) -> Callable[[Scene], Params]:
    """A spoil that does not depend on the runs."""
    return lambda _: params


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


def not_json(bad: BadCall) -> BadCall:
    """The command line refuses such text before it is a value."""
    return bad._replace(cli_code="E_VALIDATION", cli_place="line 1, column")


def of_every_operation() -> Iterator[BadCall]:
    """What can be wrong with any call."""
    for operation, text in TEXT_FIELD.items():
        name = TEXT_NAME[operation]
        yield BadCall(
            "an unknown name",
            operation,
            lambda _: {"bogusThing": 1},
            "VALIDATION_ERROR",
            "bogusThing",
            offers=frozenset({MCP}),
        )
        yield BadCall("a number for a text", operation, sends(text(7)), "VALIDATION_ERROR", name)
        yield BadCall("a list for a text", operation, sends(text([1])), "VALIDATION_ERROR", name)
        yield BadCall(
            "ten megabytes",
            operation,
            sends(text(BIG)),
            "REQUEST_TOO_LARGE",
            "4194304",
            cli_place="--input",
        )


NAMED = (
    # What is missing
    BadCall("no workflow", "run.start", lambda _: {"workflowId": None}, "VALIDATION_ERROR", "workflowId"),
    BadCall(
        "no token",
        "run.continue",
        lambda _: {"ackToken": None, "output": None},
        "CONTEXT_MISSING",
        "ackToken",
        offers=frozenset({MCP, CLI}),
    ),
    BadCall(
        "no token",
        "run.checkpoint",
        lambda _: {"checkpointToken": None},
        "VALIDATION_ERROR",
        "checkpointToken",
    ),
    BadCall("no output", "run.checkpoint", lambda _: {"output": None}, "VALIDATION_ERROR", "output"),
    BadCall(
        "no workflow", "workflow.inspect", lambda _: {"workflowId": None}, "VALIDATION_ERROR", "workflowId"
    ),
    # Names and values that are nearly right
    BadCall(
        "names in another style",
        "run.start",
        lambda _: {
            "workflowId": None,
            "requestId": None,
            "workflow_id": "project.three_steps",
            "request_id": "near",
        },
        "VALIDATION_ERROR",
        "workflow_id",
        offers=frozenset({MCP, CLI}),
    ),
    BadCall(
        "notes outside of output",
        "run.continue",
        lambda _: {"output": None, "notes": "looked at a.py"},
        "VALIDATION_ERROR",
        "notes",
        offers=frozenset({MCP}),
    ),
    BadCall(
        "output as text",
        "run.continue",
        lambda _: {"output": "looked at a.py"},
        "VALIDATION_ERROR",
        "output",
        offers=frozenset({MCP}),
    ),
    BadCall(
        "output as null",
        "run.continue",
        lambda _: {"output": NULL},
        "VALIDATION_ERROR",
        "output",
        offers=frozenset({MCP}),
    ),
    BadCall(
        "one artifact without its list",
        "run.continue",
        lambda _: _output(artifacts={"kind": "project.table"}),
        "VALIDATION_ERROR",
        "artifacts",
        offers=frozenset({MCP}),
    ),
    BadCall(
        "an artifact without a kind",
        "run.continue",
        lambda _: _output(artifacts=[{"rows": 1}]),
        "VALIDATION_ERROR",
        "output.artifacts[0].kind",
    ),
    BadCall(
        "an artifact whose kind is a number",
        "run.continue",
        lambda _: _output(artifacts=[{"kind": 7}]),
        "VALIDATION_ERROR",
        "output.artifacts[0].kind",
    ),
    BadCall(
        "a part that does not exist",
        "workflow.inspect",
        lambda _: {"part": "everything"},
        "VALIDATION_ERROR",
        "part",
        offers=frozenset({MCP}),
    ),
    BadCall(
        "a name that is nearly one",
        "workflow.inspect",
        lambda _: {"workflowId": "project.three_step"},
        "WORKFLOW_NOT_FOUND",
        "project.three_steps",
        offers=frozenset({MCP, CLI}),
    ),
    BadCall(
        "a mode that does not exist",
        "run.start",
        lambda _: {"preferences": {"autonomy": "yolo"}},
        "VALIDATION_ERROR",
        "autonomy",
    ),
    BadCall(
        "a request id with a space",
        "run.start",
        lambda _: {"requestId": "a b"},
        "VALIDATION_ERROR",
        "requestId",
    ),
    # Tokens
    BadCall(
        "a state token as the ack",
        "run.continue",
        lambda scene: {"ackToken": scene.first["stateToken"]},
        "TOKEN_SCOPE_MISMATCH",
        "stateToken",
        offers=frozenset({MCP, CLI}),
    ),
    BadCall(
        "a checkpoint token as the ack",
        "run.continue",
        lambda scene: {"ackToken": scene.first["checkpointToken"]},
        "TOKEN_SCOPE_MISMATCH",
        "checkpointToken",
        offers=frozenset({MCP, CLI}),
    ),
    BadCall(
        "an ack as the checkpoint token",
        "run.checkpoint",
        lambda scene: {"checkpointToken": scene.first["ackToken"]},
        "TOKEN_SCOPE_MISMATCH",
        "ackToken",
        offers=frozenset({MCP, CLI}),
    ),
    BadCall(
        "tokens of two sessions",
        "run.continue",
        lambda scene: {"stateToken": scene.elsewhere["stateToken"]},
        "TOKEN_SCOPE_MISMATCH",
        "different sessions",
        offers=frozenset({MCP, CLI}),
    ),
    BadCall(
        "tokens of two runs",
        "run.continue",
        lambda scene: {"stateToken": scene.beside["stateToken"]},
        "TOKEN_SCOPE_MISMATCH",
        "different",
        offers=frozenset({MCP, CLI}),
    ),
    BadCall(
        "tokens of two sessions",
        "run.checkpoint",
        lambda scene: {"stateToken": scene.elsewhere["stateToken"]},
        "TOKEN_SCOPE_MISMATCH",
        "different sessions",
        offers=frozenset({MCP, CLI}),
    ),
    BadCall(
        "a word as the token",
        "run.continue",
        lambda _: {"ackToken": "step-three"},
        "TOKEN_INVALID_FORMAT",
        "ackToken",
        offers=frozenset({MCP, CLI}),
    ),
    BadCall(
        "a cursor of nobody",
        "workflow.list",
        lambda _: {"cursor": "cu1AAAA"},
        "INVALID_TOKEN",
        "cursor",
    ),
    BadCall(
        "a session that is not here",
        "run.start",
        lambda _: {"session": "ses_000000000000"},
        "SESSION_NOT_FOUND",
        "ses_000000000000",
        offers=frozenset({CLI}),
    ),
    # What context cannot hold
    *(
        BadCall(
            f"the reserved key {key}",
            operation,
            sends({"context": {key: {}}}),
            "VALIDATION_ERROR",
            f"context.{key}",
        )
        for key in ("__proto__", "constructor", "prototype")
        for operation in ("run.start", "run.continue")
    ),
    *(
        row
        for operation in ("run.start", "run.continue")
        for row in (
            BadCall(
                "context as a list", operation, lambda _: {"context": [1]}, "VALIDATION_ERROR", "context"
            ),
            BadCall(
                "context as a text", operation, lambda _: {"context": "Large"}, "VALIDATION_ERROR", "context"
            ),
            BadCall(
                "300 KB of context",
                operation,
                lambda _: {"context": {"a": "x" * 300_000}},
                "CONTEXT_BUDGET_EXCEEDED",
                "262144",
            ),
            not_json(
                BadCall(
                    "NaN in context",
                    operation,
                    lambda _: {"context": {"a": [math.nan]}},
                    "E_VALIDATION",
                    "/context/a/0",
                )
            ),
            not_json(
                BadCall(
                    "infinity in context",
                    operation,
                    lambda _: {"context": {"a": math.inf}},
                    "E_VALIDATION",
                    "/context/a",
                )
            ),
            not_json(
                BadCall(
                    "half a character in context",
                    operation,
                    lambda _: {"context": {"a": HALF}},
                    "E_VALIDATION",
                    "/context/a",
                )
            ),
            not_json(
                BadCall(
                    "half a character as a key",
                    operation,
                    lambda _: {"context": {"b": {HALF: 1}}},
                    "E_VALIDATION",
                    "/context/b",
                )
            ),
            BadCall(
                "an integer that others would round",
                operation,
                lambda _: {"context": {"a": 2**53 + 1}},
                "E_VALIDATION",
                "/context/a",
            ),
            BadCall(
                "context 100 levels deep",
                operation,
                lambda _: {"context": nested(100)},
                "REQUEST_TOO_LARGE",
                "64",
            ),
        )
    ),
    # What output cannot hold
    *(
        row
        for operation in ("run.continue", "run.checkpoint")
        for row in (
            BadCall(
                "70 KB of notes",
                operation,
                lambda _: _output(notesMarkdown="x" * 70_000),
                "VALIDATION_ERROR",
                "output.notesMarkdown",
            ),
            not_json(
                BadCall(
                    "half a character in notes",
                    operation,
                    lambda _: _output(notesMarkdown=HALF),
                    "VALIDATION_ERROR",
                    "output.notesMarkdown",
                )
            ),
            not_json(
                BadCall(
                    "NaN in an artifact",
                    operation,
                    lambda _: _artifact(a=math.nan),
                    "E_VALIDATION",
                    "/output/artifacts/0/a",
                )
            ),
            not_json(
                BadCall(
                    "half a character in an artifact",
                    operation,
                    lambda _: _artifact(a=HALF),
                    "E_VALIDATION",
                    "/output/artifacts/0/a",
                )
            ),
            BadCall(
                "an artifact 100 levels deep",
                operation,
                lambda _: _artifact(a=nested(100)),
                "REQUEST_TOO_LARGE",
                "64",
            ),
        )
    ),
    not_json(
        BadCall(
            "half a character as the goal", "run.start", lambda _: {"goal": HALF}, "E_VALIDATION", "/goal"
        )
    ),
    not_json(
        BadCall(
            "half a character as the token",
            "run.continue",
            lambda _: {"ackToken": HALF},
            "TOKEN_INVALID_FORMAT",
            "ackToken",
            offers=frozenset({MCP}),
        )
    ),
    not_json(
        BadCall(
            "half a character as the name",
            "workflow.inspect",
            lambda _: {"workflowId": HALF},
            "WORKFLOW_NOT_FOUND",
            "workflow",
            offers=frozenset({MCP}),
        )
    ),
)

BAD_CALLS: tuple[BadCall, ...] = (*of_every_operation(), *NAMED)
