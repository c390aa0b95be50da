"""The validation rules of CONT 3.3: each failure with its status and what it offers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handrail.contract import catalogue
from handrail.contract.outcome import Fault
from handrail.contract.tokens.continuation import (
    Continuation,
    ContinuationContext,
    ContinuationMetadata,
    NextAction,
    Stale,
    allowed_action,
    mint_continuation,
    open_continuation,
    read_continuation,
    stale_refusal,
    stale_results,
    subject_gone,
)
from tests.cases import every_case
from tests.contract.tokens.samples import KEY, OTHER_KEY, check_refusal

NOW = 1_700_000_000
ANALYZE = NextAction(id="analyze:0", label="Analyze first match")
TRACE = NextAction(id="trace:0", label="Trace callers")
APPLY = NextAction(id="apply", label="Apply extraction", guard=True)
SEARCH = Continuation(
    issued_at=NOW,
    expires_at=NOW + 3600,
    command="js-scan",
    action="search",
    context=ContinuationContext(request_id="req_1", results_digest="sha256:f1"),
    parameters={"search": "it's", "scope": "src/", "limit": 20},
    next_actions=(ANALYZE,),
)
PREVIEW = msgspec.structs.replace(
    SEARCH,
    command="js-edit",
    action="extract_preview",
    parameters={"file": "src/app.js", "extract": "fetchData", "to_module": "src/api.js"},
    next_actions=(APPLY,),
    metadata=ContinuationMetadata(replayable=False, idempotent=False),
)


def changed(continuation: Continuation, **changes: Any) -> Continuation:
    return msgspec.structs.replace(continuation, **changes)


def reopened(token: str) -> Continuation:
    continuation = open_continuation([KEY], token)
    assert continuation is not None
    return continuation


@every_case(
    "changes",
    [
        {"action": "apply"},
        {"action": "apply_preview"},
        {"action": ""},
        {"command": "rm -rf ~; js-scan"},
        {"command": "workflow"},
        {"parameters": {"search": "x", "fix": True}},
        {"parameters": {"search": "x", "dangerous": True}},
        {"parameters": {"search": {"deep": ["er"]}}},
        {"parameters": {"search": "x" * 201}},
        {"parameters": {"search": "a\nb"}},
        {"parameters": {"search": "a\u202eb"}},
        {"parameters": {"limit": 1.5}},
    ],
)
def test_unproven_token_becomes_no_more_than_a_query(changes: dict[str, Any]) -> None:
    foreign = mint_continuation(OTHER_KEY, changed(SEARCH, **changes))

    with pytest.raises(Fault) as raised:
        read_continuation([KEY], foreign, now=NOW)

    recovery = raised.value.details["recovery"]
    assert "recovery_token" not in recovery
    if "action" not in changes:
        assert recovery["suggestion"] == "Repeat the query to get a new token."


@pytest.mark.parametrize(("letters", "is_written"), [(171, True), (172, False)])
def test_suggested_line_has_at_most_200_characters(letters: int, *, is_written: bool) -> None:
    line = f"js-scan --search '{'x' * letters}' --ai-mode"
    foreign = mint_continuation(OTHER_KEY, changed(SEARCH, parameters={"search": "x" * letters}))

    with pytest.raises(Fault) as raised:
        read_continuation([KEY], foreign, now=NOW)

    repeated = f"Get a new token by running: {line}" if is_written else "Repeat the query to get a new token."
    assert len(line) == 29 + letters
    assert raised.value.details["recovery"]["suggestion"] == repeated


def test_the_tool_that_repeats_a_preview_still_only_previews() -> None:
    foreign = mint_continuation(OTHER_KEY, PREVIEW)

    with pytest.raises(Fault) as raised:
        read_continuation([KEY], foreign, now=NOW)

    repeat = reopened(raised.value.details["recovery"]["recovery_token"])
    assert [(action.id, action.guard) for action in repeat.next_actions] == [("extract_preview", False)]


def test_without_any_key_nothing_is_signed() -> None:
    with pytest.raises(Fault) as raised:
        read_continuation([], mint_continuation(KEY, SEARCH), now=NOW)

    assert "recovery_token" not in raised.value.details["recovery"]


def test_a_refreshed_token_is_signed_with_the_current_key() -> None:
    text = mint_continuation(OTHER_KEY, SEARCH)

    with pytest.raises(Fault) as raised:
        read_continuation([KEY, OTHER_KEY], text, now=NOW + 7200)

    assert reopened(raised.value.details["recovery"]["refresh_token"]).parameters == SEARCH.parameters


@every_case(
    ("continuation", "command", "says"),
    [
        (SEARCH, "js-edit", "belongs to js-scan, not to js-edit"),
        (changed(SEARCH, next_actions=(ANALYZE, TRACE)), "js-scan", "several actions. Choose one of: a"),
        (changed(SEARCH, next_actions=()), "js-scan", "allows no action"),
    ],
)
def test_anything_else_is_refused_with_what_is_allowed(
    continuation: Continuation, command: str, says: str
) -> None:
    with pytest.raises(Fault) as raised:
        allowed_action(continuation, command)

    allowed = [action.id for action in continuation.next_actions]
    check_refusal(raised, catalogue.ACTION_NOT_ALLOWED, says, status=400, allowed=allowed)


def test_unrepeatable_stale_write_offers_no_token() -> None:
    stale = Stale(expected="a", actual="b", suggestion="Repeat it.", reissue_token="")

    assert stale_refusal(stale).details["recovery"] == {"suggestion": "Repeat it."}


@every_case(
    ("parameters", "suggestion"),
    [
        ({"file": "src/app.js", "locate": "fetchData"}, "Search again: js-scan --search 'fetchData'"),
        ({"file": "src/app.js"}, "Search again: js-scan --search 'app'"),
        ({"file": "src/app.js", "extract": "a\nb"}, "Search again: js-scan --search 'app'"),
        ({"search": "it's"}, "Search again: js-scan --search 'it'\\''s'"),
        ({"extract": "", "file": "src/app.js"}, "Search again: js-scan --search 'app'"),
    ],
)
def test_a_file_that_is_gone_leads_to_a_search(parameters: dict[str, Any], suggestion: str) -> None:
    fault = subject_gone(changed(PREVIEW, parameters=parameters), "file", "src/app.js")

    assert fault.kind is catalogue.E_NOT_FOUND
    assert fault.details == {
        "resource": "file",
        "id": "src/app.js",
        "status": 404,
        "recovery": {"suggestion": suggestion},
    }


def test_file_with_a_hidden_name_leads_to_the_query() -> None:
    fault = subject_gone(changed(PREVIEW, parameters={}), "file", "src/\x1b[31m.js")

    assert fault.details["recovery"] == {"suggestion": "Repeat the query to get a new token."}


def test_genuine_stale_query_is_repeated() -> None:
    batch = changed(SEARCH, parameters={"names": ["a", "b"], "changes": {"$digest": "sha256:00"}})

    stale = stale_results(KEY, batch, "sha256:f2", now=NOW)

    assert stale is not None
    assert stale.suggestion == "Repeat the query to get a new token."
    assert reopened(stale.reissue_token).parameters == batch.parameters


def test_a_write_is_never_reissued() -> None:
    stale = stale_results(KEY, changed(PREVIEW, action="apply"), "sha256:f2", now=NOW)

    assert stale is not None
    assert stale.reissue_token == ""
