"""A repeated request id with other content is a conflict, in every operation that takes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.wiring import registry
from tests.journeys.conversation import answer, commits_of, refusal, start


def _of_start(_: Runtime) -> list[dict[str, Any]]:
    call = {"workflowId": "project.three_steps", "goal": "x", "requestId": "k"}
    others = ({"goal": "y"}, {"context": {"a": 1}}, {"preset": "full_auto"}, {"dryRun": True, "goal": "y"})
    return [call, *(call | other for other in others)]


def _of_session(_: Runtime) -> list[dict[str, Any]]:
    call = {"goal": "x", "notes": "one", "requestId": "k"}
    return [call, call | {"goal": "y"}, call | {"notes": "two"}, call | {"notes": "two", "dryRun": True}]


def _of_closing(runtime: Runtime) -> list[dict[str, Any]]:
    first = start(runtime)
    second = start(runtime, session=first["session"]["sessionId"])
    call = {"run": first["session"]["runId"], "reason": "abandoned", "requestId": "k"}
    others = ({"reason": "superseded"}, {"note": "no time"}, {"run": second["session"]["runId"]})
    return [call, *(call | other for other in others)]


def _of_file(_: Runtime) -> list[dict[str, Any]]:
    call = {"workflowId": "project.three_steps", "requestId": "k"}
    return [call, call | {"context": {"a": 1}}]


CASES: dict[str, Callable[[Runtime], list[dict[str, Any]]]] = {
    "run.start": _of_start,
    "session.start": _of_session,
    "run.close": _of_closing,
    "code.workflow": _of_file,
}


def operations_with_request_ids(beginning: str = "") -> set[str]:
    """The names of those whose input has the field."""
    fields = {one.name: one.input.__struct_fields__ for one in registry().operations()}
    return {name for name, held in fields.items() if "request_id" in held and name.startswith(beginning)}


def test_every_operation_with_a_request_id_has_a_case() -> None:
    """Those of a team are in `tests/team/test_request_ids_of_a_team.py`."""
    assert operations_with_request_ids() - operations_with_request_ids("team.") == set(CASES)


@pytest.mark.promise("start.request-id")
@pytest.mark.parametrize("operation", CASES)
def test_request_id_with_other_content_is_a_conflict(runtime: Runtime, operation: str) -> None:
    call, *others = CASES[operation](runtime)
    first = answer(runtime, operation, **call)
    before = commits_of(runtime)

    for other in others:
        refused = refusal(runtime, operation, **other)

        session = first.get("session_id") or first["session"]["sessionId"]
        assert (refused.kind.code, refused.kind.exit_status) == ("E_CONFLICT", 6), other
        assert refused.details["reason"] == "request_id_used"
        assert (refused.details["request_id"], refused.details["session_id"]) == ("k", session)
        assert refused.next_call is not None
        answer(runtime, refused.next_call.operation, **refused.next_call.params)

    answer(runtime, operation, **call)
    assert commits_of(runtime) == before


def test_notes_under_a_request_id_are_kept_once(runtime: Runtime) -> None:
    session = answer(runtime, "session.start", goal="x", requestId="s")["session"]["sessionId"]
    call = {"session": session, "notes": "Half of it.", "requestId": "n"}
    answer(runtime, "session.start", **call)
    start(runtime, session=session)
    before = commits_of(runtime)

    answer(runtime, "session.start", **call)

    assert commits_of(runtime) == before
