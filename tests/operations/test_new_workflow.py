"""`workflow.new` and its write gate: shown first, made once, never over another file."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from handrail.contract.outcome import Success
from handrail.contract.tokens.confirm import LIFETIME_SECONDS, fingerprint
from handrail.operations.workflows.new_workflow import Starter
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import (
    FixedClock,
    FixedKeys,
    GivenWorkspace,
    KeptClaims,
    KeptFiles,
)
from tests.operations.asked import answered, refused, text

NEW: dict[str, Any] = {"workflowId": "project.fresh"}
PATH = "/project/.handrail/workflows/project.fresh.json"


def token_of(rt: Runtime, **params: Any) -> str:
    token: str = answered(rt, "workflow.new", **{**NEW, **params, "dryRun": True})["confirm_token"]
    return token


def files_of(rt: Runtime) -> dict[str, bytes]:
    assert isinstance(rt.authored, KeptFiles)
    return rt.authored.held


def claims_of(rt: Runtime) -> KeptClaims:
    assert isinstance(rt.confirmed, KeptClaims)
    return rt.confirmed


def check_conflict(rt: Runtime, reason: str, **params: Any) -> None:
    """Refused for this reason, with the dry run as the way out, and nothing written or used up."""
    before, used = dict(files_of(rt)), set(claims_of(rt).claimed)

    failure = refused(rt, "workflow.new", **params)

    assert (failure.kind.code, failure.details["reason"]) == ("E_CONFLICT", reason)
    assert failure.next_call is not None
    assert failure.next_call.params["dryRun"] is True
    assert "confirm" not in failure.next_call.params
    assert files_of(rt) == before
    # A token refused as expired stays refused when the clock goes back, so that is remembered.
    assert (claims_of(rt).claimed == used) is (reason != "expired")


def test_a_dry_run_shows_the_change_and_makes_none(runtime: Runtime) -> None:
    data = answered(runtime, "workflow.new", **NEW, dryRun=True)

    assert list(data) == ["preview", "confirm_token", "expires_at"]
    assert list(data["preview"]) == ["action", "total", "targets", "changes", "unchanged", "blast_radius"]
    assert (data["preview"]["total"], data["preview"]["targets"]) == (1, [PATH])
    assert data["preview"]["unchanged"] is False
    (change,) = data["preview"]["changes"]
    assert (change["action"], change["resource"], change["id"], change["before"]) == (
        "create",
        "file",
        PATH,
        None,
    )
    assert change["diff"]["removed"] == 0
    assert change["diff"]["hunks"][0].partition("@@\n")[2].count("\n+") + 1 == change["diff"]["added"]
    assert data["expires_at"] == "2027-01-15T08:15:00Z"
    assert files_of(runtime) == {}
    assert claims_of(runtime).claimed == set()


@pytest.mark.promise("cli.single-use")
def test_a_token_works_once(runtime: Runtime) -> None:
    token = token_of(runtime)
    answered(runtime, "workflow.new", **NEW, confirm=token)

    check_conflict(runtime, "already_used", **NEW, confirm=token)


@pytest.mark.promise("cli.claim-first")
def test_claimed_token_is_refused_though_nothing_was_written(
    runtime: Runtime,
) -> None:
    token = token_of(runtime)
    claims_of(runtime).claimed.add(fingerprint(token))

    check_conflict(runtime, "already_used", **NEW, confirm=token)


@pytest.mark.promise("cli.what-is-left")
def test_after_the_change_a_dry_run_shows_that_nothing_is_left(runtime: Runtime) -> None:
    answered(runtime, "workflow.new", **NEW, confirm=token_of(runtime))

    preview = answered(runtime, "workflow.new", **NEW, dryRun=True)["preview"]
    again = answered(runtime, "workflow.new", **NEW, confirm=token_of(runtime))

    assert preview["unchanged"] is True
    assert [change["action"] for change in preview["changes"]] == ["none"]
    assert again["is_created"] is False


@pytest.mark.promise("cli.token-reasons")
@pytest.mark.parametrize(
    "changed",
    [{"workflowId": "project.other"}, {"template": "loop"}, {"to": "/elsewhere"}, {"project": "/else"}],
)
def test_a_token_is_bound_to_the_arguments(runtime: Runtime, changed: dict[str, str]) -> None:
    check_conflict(runtime, "arguments_changed", **{**NEW, **changed, "confirm": token_of(runtime)})


@pytest.mark.promise("cli.token-binds")
def test_a_token_is_bound_to_the_account(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    token = token_of(runtime)
    monkeypatch.setattr(GivenWorkspace, "account", lambda _: "somebody")

    check_conflict(runtime, "arguments_changed", **NEW, confirm=token)


@pytest.mark.promise("cli.token-version")
def test_a_token_is_bound_to_what_it_found(runtime: Runtime) -> None:
    token = token_of(runtime)
    files_of(runtime)[PATH] = b"somebody was faster"

    check_conflict(runtime, "target_changed", **NEW, confirm=token)


def test_file_that_appears_late_is_not_overwritten(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    token = token_of(runtime)
    monkeypatch.setattr(KeptFiles, "create", lambda *_: False)

    failure = refused(runtime, "workflow.new", **NEW, confirm=token)

    assert failure.details["reason"] == "target_changed"
    assert len(claims_of(runtime).claimed) == 1  # the token stays used


@pytest.mark.promise("cli.token-expires")
def test_a_token_expires(runtime: Runtime) -> None:
    token = token_of(runtime)
    assert isinstance(runtime.clock, FixedClock)
    runtime.clock.seconds += LIFETIME_SECONDS

    check_conflict(runtime, "expired", **NEW, confirm=token)


def test_expiry_is_looked_at_again_after_the_claim(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    token = token_of(runtime)
    clock, claims = runtime.clock, claims_of(runtime)
    assert isinstance(clock, FixedClock)
    claim = claims.claim

    def slow(fingerprint: str, *, expires_at: int, now: int) -> Any:
        clock.seconds += LIFETIME_SECONDS
        return claim(fingerprint, expires_at=expires_at, now=now)

    monkeypatch.setattr(claims, "claim", slow)

    failure = refused(runtime, "workflow.new", **NEW, confirm=token)

    assert failure.details["reason"] == "expired"
    assert files_of(runtime) == {}


@pytest.mark.parametrize("token", ["ct_fabricated_0000", "ct_.", "x", "ct_" + "A" * 600])
def test_a_made_up_token_is_refused(runtime: Runtime, token: str) -> None:
    check_conflict(runtime, "not_from_this_machine", **NEW, confirm=token)


@pytest.mark.promise("cli.token-keyed")
def test_a_token_of_another_machine_is_refused(runtime: Runtime) -> None:
    token = token_of(runtime)
    assert isinstance(runtime.keys, FixedKeys)
    runtime.keys.rings = (b"other" * 6 + b"ab",)

    check_conflict(runtime, "not_from_this_machine", **NEW, confirm=token)


def test_two_dry_runs_in_one_second_give_two_tokens(runtime: Runtime) -> None:
    assert token_of(runtime) != token_of(runtime)


@pytest.mark.promise("cli.claim-lost")
def test_claim_that_cannot_be_kept_is_reported(runtime: Runtime) -> None:
    claims_of(runtime).refuses = "EROFS"

    outcome = perform(runtime, "workflow.new", {**NEW, "confirm": token_of(runtime)})

    assert isinstance(outcome, Success)
    assert isinstance(outcome.data, dict)
    (warning,) = outcome.data["warnings"]
    assert (warning["code"], warning["reason"]) == ("CONFIRM_NOT_RECORDED", "EROFS")
    assert [notice.type for notice in outcome.notices] == ["confirm_not_recorded"]
    assert PATH in files_of(runtime)


def test_a_dry_run_and_a_confirmation_exclude_each_other(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.new", **NEW, dryRun=True, confirm=token_of(runtime))

    assert failure.kind.code == "E_USAGE"


@pytest.mark.parametrize(
    ("workflow_id", "code"),
    [
        ("wr.mine", "WORKFLOW_ID_RESERVED"),
        ("mine", "WORKFLOW_ID_LEGACY"),
        ("Mine.Too", "VALIDATION_ERROR"),
        ("a.b.c", "VALIDATION_ERROR"),
        ("../evil.x", "VALIDATION_ERROR"),
        ("a.b/c", "VALIDATION_ERROR"),
    ],
)
def test_an_id_that_a_new_workflow_cannot_have_is_refused_first(
    runtime: Runtime, workflow_id: str, code: str
) -> None:
    for more in ({}, {"dryRun": True}, {"confirm": "ct_x.y"}):
        assert refused(runtime, "workflow.new", workflowId=workflow_id, **more).kind.code == code


def test_a_legacy_id_gets_a_better_one_suggested(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.new", workflowId="my-check", dryRun=True)

    assert failure.details["suggested_id"] == "project.my-check"


def test_another_file_at_the_place_is_never_overwritten(runtime: Runtime) -> None:
    files_of(runtime)[PATH] = b"mine"

    failure = refused(runtime, "workflow.new", **NEW, dryRun=True)

    assert (failure.kind.code, failure.details["reason"]) == ("E_CONFLICT", "target_exists")


def test_an_id_that_a_workflow_has_is_not_given_twice(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.new", workflowId="project.three_steps", dryRun=True)

    assert (failure.kind.code, failure.details["reason"]) == ("E_CONFLICT", "id_taken")


@pytest.mark.thorough
@pytest.mark.parametrize("template", get_args(Starter))
def test_every_starter_is_sound_and_simulates_to_its_end(runtime: Runtime, template: str) -> None:
    answered(runtime, "workflow.new", **NEW, template=template, confirm=token_of(runtime, template=template))
    content = files_of(runtime)[PATH].decode()

    report = answered(runtime, "workflow.validate", documents=[text(content)])
    walked = answered(runtime, "workflow.simulate", document=text(content))

    assert report["counts"] == {"error": 0, "warning": 0, "hint": 0}
    assert walked["coverage"]["reached"] == walked["coverage"]["total"]
