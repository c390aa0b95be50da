"""Confirm tokens: what they are bound to, how often they work, and what a refusal says."""

from __future__ import annotations

import base64
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.journeys.strangers.command_line.steps_a import (
    begun,
    contents,
    ended,
    later,
    on_small_disk,
    previewed,
    session_ids,
    session_of,
    started,
    workflow_files,
)
from tests.journeys.strangers.product import Product, Ran

NEW = ("workflow", "new", "project.mine")


def reason(ran: Ran) -> str:
    """Why a token was refused, which must be a conflict."""
    error = ran.document["error"]
    assert (ran.status, error["code"], error["retryable"]) == (6, "E_CONFLICT", False), ran
    return str(error["details"]["reason"])


@pytest.mark.promise("cli.write-needs-token")
@pytest.mark.parametrize("token", ["", "ct_", "yes", "CT_e30.AAAA", "ct_e30.AAAAAAAAAAAAAAAAAAAAAA", "-"])
def test_a_made_up_token_changes_nothing(product: Product, token: str) -> None:
    session = session_of(started(product))
    sessions = product.home / "data" / "sessions"
    before = contents(sessions)

    ran = product.run("session", "delete", "--ids", session, "--dangerous", f"--confirm={token}")

    assert ran.status in (2, 5, 6)
    assert contents(sessions) == before


@pytest.mark.promise("cli.write-needs-token")
def test_an_empty_input_object_and_a_yes_flag_are_no_token(product: Product) -> None:
    ran = product.run("workflow", "new", "--input", '{"id": "project.mine", "confirm": "", "force": true}')
    bare = product.run(*NEW)

    assert ran.status != 0
    assert bare.status == 5
    assert bare.document["error"]["code"] == "E_CONFIRMATION_REQUIRED"
    assert workflow_files(product) == set()


@pytest.mark.promise("cli.dry-run")
def test_a_dry_run_changes_nothing_and_its_token_makes_the_shown_change_once(product: Product) -> None:
    shown = product.data(*NEW, "--template", "loop", "--dry-run")
    untouched = contents(product.project)

    made = product.run(*NEW, "--template", "loop", "--confirm", shown["confirm_token"])
    again = product.run(*NEW, "--template", "loop", "--confirm", shown["confirm_token"])

    assert untouched == {}
    assert made.status == 0
    assert shown["preview"]["changes"][-1]["id"] == made.document["data"]["path"]
    assert reason(again) == "already_used"


@pytest.mark.promise("cli.token-binds")
@pytest.mark.parametrize(
    "line",
    [
        ("workflow", "new", "project.mine2"),
        (*NEW, "--template", "loop"),
        (*NEW, "--to", "elsewhere"),
        ("preferences", "set", "--preset", "full_auto"),
    ],
)
def test_a_token_of_one_line_is_worthless_for_another(product: Product, line: tuple[str, ...]) -> None:
    token = previewed(product, *NEW)

    ran = product.run(*line, "--confirm", token)

    assert reason(ran) == "arguments_changed"
    assert workflow_files(product) == set()
    assert not (product.project / "elsewhere").exists()


@pytest.mark.promise("cli.token-binds")
def test_a_token_ends_with_the_ceiling_under_which_it_was_made(product: Product) -> None:
    token = previewed(product, *NEW, HANDRAIL_MAX_EFFECT="write")

    raised = product.run(*NEW, "--confirm", token)
    lowered = product.run(*NEW, "--confirm", previewed(product, *NEW), HANDRAIL_MAX_EFFECT="read")

    assert reason(raised) == "arguments_changed"
    assert lowered.status in (4, 6)
    assert workflow_files(product) == set()


@pytest.mark.promise("cli.token-binds")
@pytest.mark.promise("cli.token-keyed")
def test_a_token_of_another_home_is_not_from_this_machine(product: Product, tmp_path: Path) -> None:
    started(product)
    token = previewed(product, *NEW, HANDRAIL_HOME=str(tmp_path / "other"))

    ran = product.run(*NEW, "--confirm", token)

    assert reason(ran) == "not_from_this_machine"


@pytest.mark.promise("cli.token-keyed")
def test_a_token_whose_end_was_moved_or_whose_seal_was_left_out_is_refused(product: Product) -> None:
    body, _, seal = previewed(product, *NEW).removeprefix("ct_").partition(".")
    content = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    content["expires_at"] += 9000
    moved = base64.urlsafe_b64encode(json.dumps(content, separators=(",", ":")).encode()).decode().rstrip("=")

    refused = [
        product.run(*NEW, "--confirm", token) for token in (f"ct_{moved}.{seal}", f"ct_{body}.", f"ct_{body}")
    ]

    assert {reason(ran) for ran in refused} == {"not_from_this_machine"}
    assert workflow_files(product) == set()


@pytest.mark.promise("cli.key-private")
def test_the_secret_is_for_its_owner_alone_and_one_that_others_can_open_is_refused(product: Product) -> None:
    os.umask(0)
    token = previewed(product, *NEW)
    os.umask(0o022)
    keys = [path for path in product.home.rglob("*") if path.is_file() and "key" in path.name]
    modes = {oct(path.stat().st_mode & 0o777) for path in keys}
    for path in keys:
        path.chmod(0o640)

    ran = product.run(*NEW, "--confirm", token)

    assert modes == {"0o600"}
    assert ran.status in (1, 4)
    assert workflow_files(product) == set()


@pytest.mark.promise("cli.token-version")
def test_a_session_that_moved_on_after_the_preview_is_not_deleted(product: Product) -> None:
    reply = started(product)
    line = ("session", "delete", "--ids", session_of(reply), "--dangerous")
    token = previewed(product, *line)
    product.data("run", "checkpoint", "--checkpoint", reply["checkpointToken"], "--notes", "one more thing")

    ran = product.run(*line, "--confirm", token)

    assert reason(ran) == "target_changed"
    assert session_ids(product) == {session_of(reply)}


@pytest.mark.promise("cli.token-expires")
def test_a_token_works_just_before_its_fifteen_minutes_and_not_after(product: Product) -> None:
    before = datetime.now(UTC)
    shown = product.data(*NEW, "--dry-run")
    other = previewed(product, "workflow", "new", "project.other")

    after = datetime.now(UTC)
    end = datetime.fromisoformat(shown["expires_at"])

    late = product.run("workflow", "new", "project.other", "--confirm", other, **later(product, 902))
    left = (end - datetime.now(UTC)).total_seconds()
    in_time = product.run(*NEW, "--confirm", shown["confirm_token"], **later(product, int(left) - 60))

    quarter, rounded = timedelta(minutes=15), timedelta(seconds=2)
    assert before + quarter - rounded < end < after + quarter + rounded
    assert reason(late) == "expired"
    assert in_time.status == 0
    assert workflow_files(product) == {"project.mine.json"}


@pytest.mark.promise("cli.token-reasons")
def test_each_refusal_names_its_reason_and_a_command_that_brings_a_working_token(product: Product) -> None:
    token = previewed(product, *NEW)

    refused = product.run(*NEW, "--template", "loop", "--confirm", token)
    way = refused.document["error"]["details"]["next_command"].split()[1:]
    fresh = product.data(*way)["confirm_token"]
    made = product.run(*NEW, "--template", "loop", "--confirm", fresh)

    assert reason(refused) == "arguments_changed"
    assert made.status == 0


@pytest.mark.promise("cli.spelling-no-scope")
@pytest.mark.parametrize("repeated", [False, True])
def test_a_token_of_flags_is_good_for_the_same_targets_as_json(product: Product, repeated: bool) -> None:
    first, second = session_of(started(product, "k1")), session_of(started(product, "k2"))
    token = previewed(
        product, "session", "delete", "--dangerous", "--ids", first, "--ids", second, "--ids", first
    )
    same = json.dumps({"ids": [first, second, first] if repeated else [first, second], "dangerous": True})

    ran = product.run("--human", "--quiet", "session", "delete", f"--confirm={token}", "--input", same)

    assert ran.status == 0, ran.err
    assert session_ids(product) == set()


@pytest.mark.promise("cli.create-key")
def test_a_repeat_with_other_content_makes_nothing_and_a_bare_creation_is_refused(product: Product) -> None:
    line = ("run", "start", "wr.small_change", "--request-id", "pr-1", "--goal")
    bare = product.run("run", "start", "wr.small_change", "--goal", "one", "--request-id", "")

    first = product.data(*line, "one")
    repeat = product.data(*line, "one", "--mvi", "full")
    other = product.data(*line, "two")

    assert bare.status in (2, 5)
    assert repeat["ackToken"] == first["ackToken"]
    assert other["warnings"][0]["code"] == "REPLAY_INPUT_MISMATCH"
    assert session_ids(product) == {session_of(first)}


@pytest.mark.promise("cli.create-key")
def test_the_same_key_from_four_processes_at_once_makes_one_run(product: Product) -> None:
    line = ("run", "start", "wr.small_change", "--goal", "one", "--request-id", "pr-1")

    ran = [ended(child) for child in [begun(product, *line) for _ in range(4)]]

    assert {one.status for one in ran} == {0}
    assert len({one.document["data"]["ackToken"] for one in ran}) == 1
    assert len(session_ids(product)) == 1


@pytest.mark.promise("cli.key-in-scope")
def test_a_token_of_a_creation_is_bound_to_its_request_id(product: Product) -> None:
    line = ("run", "start", "wr.small_change", "--goal", "one")
    token = previewed(product, *line, "--request-id", "pr-1")

    other = product.run(*line, "--request-id", "pr-2", "--confirm", token)
    none = product.run(*line, "--confirm", token)

    assert {reason(other), reason(none)} == {"arguments_changed"}
    assert session_ids(product) == set()


@pytest.mark.promise("cli.single-use")
def test_of_four_processes_with_one_token_one_makes_the_change(product: Product) -> None:
    line = ("run", "start", "wr.small_change", "--goal", "one")
    token = previewed(product, *line)

    ran = [ended(child) for child in [begun(product, *line, "--confirm", token) for _ in range(4)]]

    assert sorted(one.status for one in ran) == [0, 6, 6, 6]
    assert {reason(one) for one in ran if one.status} == {"already_used"}
    assert len(session_ids(product)) == 1


@pytest.mark.promise("cli.claim-first")
def test_a_token_is_used_up_though_its_write_failed(product: Product) -> None:
    token = previewed(product, *NEW)

    failed = on_small_disk(product, 1000, *NEW, "--confirm", token)
    replay = product.run(*NEW, "--confirm", token)

    assert failed.status == 1
    assert failed.document["error"]["code"] == "E_IO"
    assert reason(replay) == "already_used"
    assert workflow_files(product) == set()


@pytest.mark.promise("cli.claim-lost")
def test_a_claim_that_cannot_be_stored_is_told_and_the_change_is_made(product: Product) -> None:
    line = ("run", "start", "wr.small_change", "--goal", "one")
    token = previewed(product, *line)
    (product.home / "confirm-consumed").write_text("in the way", encoding="utf-8")

    ran = product.run(*line, "--confirm", token)

    kinds = [notice["type"] for notice in ran.document["meta"]["notices"]]
    assert ran.status == 0
    assert "confirm_not_recorded" in kinds
    assert len(session_ids(product)) == 1


@pytest.mark.promise("cli.claim-lost")
def test_a_known_claim_refuses_also_where_nothing_can_be_stored(product: Product) -> None:
    line = ("run", "start", "wr.small_change", "--goal", "one")
    token = previewed(product, *line)
    product.data(*line, "--confirm", token)

    ran = on_small_disk(product, 0, *line, "--confirm", token)

    assert reason(ran) == "already_used"
    assert len(session_ids(product)) == 1


@pytest.mark.promise("cli.what-is-left")
def test_after_a_change_the_proposed_preview_shows_what_is_left(product: Product) -> None:
    first, second = session_of(started(product, "k1")), session_of(started(product, "k2"))
    both = ("session", "delete", "--ids", f"{first},{second}", "--dangerous")
    one = ("session", "delete", "--ids", first, "--dangerous")
    product.data(*one, "--confirm", previewed(product, *one))

    shown = product.data(*both, "--dry-run")["preview"]

    assert [change["id"] for change in shown["changes"] if change["action"] == "delete"] == [second]


@pytest.mark.promise("cli.what-is-left")
def test_the_command_that_a_used_token_proposes_shows_that_nothing_is_left(product: Product) -> None:
    session = session_of(started(product))
    line = ("session", "delete", "--ids", session, "--dangerous")
    token = previewed(product, *line)
    product.data(*line, "--confirm", token)

    used = product.run(*line, "--confirm", token)
    shown = product.run(*used.document["error"]["details"]["next_command"].split()[1:])

    assert reason(used) == "already_used"
    assert shown.status == 0, shown.out
    assert not [
        change for change in shown.document["data"]["preview"]["changes"] if change["action"] == "delete"
    ]
