"""What a person decides once: preferences for new sessions and for one, and a new signing key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from handrail.contract.tokens.confirm import fingerprint
from handrail.runtime.runtime import Runtime
from tests.conftest import FixedKeys, GivenSettings
from tests.operations.asked import answered, refused

START = {"workflowId": "project.three_steps"}


def confirmed(rt: Runtime, operation: str, **params: Any) -> Any:
    token = answered(rt, operation, **params, dryRun=True)["confirm_token"]
    return answered(rt, operation, **params, confirm=token)


def in_force(rt: Runtime, session_id: str) -> dict[str, str]:
    held: dict[str, str] = answered(rt, "session.show", sessionId=session_id)["runs"][0]["preferences"]
    return held


def test_global_preferences_are_the_baseline_of_later_sessions(runtime: Runtime) -> None:
    before = answered(runtime, "run.start", **START, requestId="a")["session"]["sessionId"]
    confirmed(runtime, "preferences.set", autonomy="full_auto_stop_on_user_deps")

    after = answered(runtime, "run.start", **START, requestId="b")["session"]["sessionId"]

    assert in_force(runtime, before)["autonomy"] == "guided"
    assert in_force(runtime, after)["autonomy"] == "full_auto_stop_on_user_deps"
    assert answered(runtime, "preferences.show", session=after)["source"] == "user"


def test_later_global_change_leaves_a_running_session_alone(runtime: Runtime) -> None:
    confirmed(runtime, "preferences.set", riskPolicy="balanced")
    reply = answered(runtime, "run.start", **START)
    confirmed(runtime, "preferences.set", riskPolicy="aggressive")

    answered(runtime, "run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": "x"})

    assert in_force(runtime, reply["session"]["sessionId"])["risk_policy"] == "balanced"


def test_what_a_start_asks_for_beats_the_global_ones(runtime: Runtime) -> None:
    confirmed(runtime, "preferences.set", riskPolicy="balanced")

    reply = answered(runtime, "run.start", **START, preferences={"riskPolicy": "aggressive"})

    assert in_force(runtime, reply["session"]["sessionId"])["risk_policy"] == "aggressive"


def test_preferences_of_a_session_take_effect_at_its_next_step(runtime: Runtime) -> None:
    reply = answered(runtime, "run.start", **START)
    session_id = reply["session"]["sessionId"]

    set_to = confirmed(runtime, "preferences.set", session=session_id, autonomy="full_auto_never_stop")
    pending = in_force(runtime, session_id)
    answered(runtime, "run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": "x"})

    assert (set_to["scope"], set_to["autonomy"]) == ("session", "full_auto_never_stop")
    assert pending["autonomy"] == "guided"
    assert in_force(runtime, session_id)["autonomy"] == "full_auto_never_stop"
    assert answered(runtime, "preferences.show")["autonomy"] == "guided"


@pytest.mark.parametrize("is_global", [True, False])
def test_a_dry_run_says_whether_it_would_change_anything(runtime: Runtime, is_global: bool) -> None:
    place = {} if is_global else {"session": answered(runtime, "run.start", **START)["session"]["sessionId"]}
    call = place | {"autonomy": "full_auto_never_stop", "riskPolicy": "balanced"}

    before = answered(runtime, "preferences.set", **call, dryRun=True)["preview"]["unchanged"]
    confirmed(runtime, "preferences.set", **call)
    after = answered(runtime, "preferences.set", **call, dryRun=True)["preview"]["unchanged"]

    assert (before, after) == (False, True)


def test_a_run_that_goes_on_does_not_spoil_the_token(runtime: Runtime) -> None:
    reply = answered(runtime, "run.start", **START)
    call = {"session": reply["session"]["sessionId"], "riskPolicy": "balanced"}
    token = answered(runtime, "preferences.set", **call, dryRun=True)["confirm_token"]
    answered(runtime, "run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": "x"})

    assert answered(runtime, "preferences.set", **call, confirm=token)["risk_policy"] == "balanced"


@pytest.mark.parametrize("is_global", [True, False])
def test_somebody_who_was_faster_is_not_overwritten(runtime: Runtime, is_global: bool) -> None:
    reply = answered(runtime, "run.start", **START)
    place = {} if is_global else {"session": reply["session"]["sessionId"]}
    token = answered(runtime, "preferences.set", **place, riskPolicy="balanced", dryRun=True)["confirm_token"]
    confirmed(runtime, "preferences.set", **place, riskPolicy="aggressive")

    failure = refused(runtime, "preferences.set", **place, riskPolicy="balanced", confirm=token)

    assert failure.details["reason"] == "target_changed"


class Overtaken(GivenSettings):
    """Somebody else sets a preference at the last moment before the write."""

    def keep(self, changes: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
        self.settings = msgspec.structs.replace(self.settings, risk_policy="aggressive")
        return super().keep(changes, held)


def test_faster_change_during_a_confirmation_is_kept(runtime: Runtime) -> None:
    raced = msgspec.structs.replace(runtime, settings=Overtaken())
    token = answered(raced, "preferences.set", riskPolicy="balanced", dryRun=True)["confirm_token"]

    failure = refused(raced, "preferences.set", riskPolicy="balanced", confirm=token)

    assert (failure.kind.code, failure.details["reason"]) == ("E_CONFLICT", "target_changed")
    assert answered(raced, "preferences.show")["risk_policy"] == "aggressive"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "E_VALIDATION"),
        ({"autonomy": "wild"}, "VALIDATION_ERROR"),
        ({"session": "ses_000000000000", "autonomy": "guided"}, "SESSION_NOT_FOUND"),
    ],
)
def test_what_cannot_be_set_is_refused_at_the_dry_run(
    runtime: Runtime, params: dict[str, Any], code: str
) -> None:
    assert refused(runtime, "preferences.set", **params, dryRun=True).kind.code == code


def test_older_tokens_work_after_one_rotation_only(runtime: Runtime) -> None:
    reply = answered(runtime, "run.start", **START)
    state = {"stateToken": reply["stateToken"]}

    first = confirmed(runtime, "keys.rotate")
    answered(runtime, "run.continue", **state)
    shown = answered(runtime, "keys.rotate", dryRun=True)["preview"]
    second = confirmed(runtime, "keys.rotate")

    assert first["stops_working"].startswith("None")
    assert shown["changes"][0]["after"]["stops_working"] == second["stops_working"]
    assert "before the last rotation" in second["stops_working"]
    assert refused(runtime, "run.continue", **state).kind.code == "TOKEN_BAD_SIGNATURE"


def test_a_rotation_by_somebody_else_spoils_the_token(runtime: Runtime) -> None:
    token = answered(runtime, "keys.rotate", dryRun=True)["confirm_token"]
    confirmed(runtime, "keys.rotate")

    failure = refused(runtime, "keys.rotate", confirm=token)

    assert failure.details["reason"] == "target_changed"


def test_rotation_refused_late_leaves_the_token_used(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = answered(runtime, "keys.rotate", dryRun=True)["confirm_token"]
    monkeypatch.setattr(FixedKeys, "rotate", lambda *_: False)

    failure = refused(runtime, "keys.rotate", confirm=token)

    assert failure.details["reason"] == "target_changed"
    assert runtime.confirmed.is_used(fingerprint(token))
