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
    file_gone,
    mint_continuation,
    open_continuation,
    read_continuation,
    stale_refusal,
    stale_results,
    stale_warning,
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
RUN_SEARCH = "Get a new token by running: js-scan --search 'it'\\''s' --scope 'src/' --limit 20 --ai-mode"


def changed(continuation: Continuation, **changes: Any) -> Continuation:
    return msgspec.structs.replace(continuation, **changes)


def reopened(token: str) -> Continuation:
    continuation = open_continuation([KEY], token)
    assert continuation is not None
    return continuation


@pytest.mark.parametrize("wrapping", ["{}", ' "{}" ', "`{}`", "{}.\n"])
def test_a_genuine_token_in_time_is_read(wrapping: str) -> None:
    text = wrapping.format(mint_continuation(KEY, SEARCH))

    assert read_continuation([OTHER_KEY, KEY], text, now=NOW + 3599) == SEARCH


def test_a_foreign_signature_is_refused_with_a_token_that_repeats_the_query() -> None:
    foreign = mint_continuation(OTHER_KEY, SEARCH)

    with pytest.raises(Fault) as raised:
        read_continuation([KEY], foreign, now=NOW + 50)

    check_refusal(raised, catalogue.INVALID_TOKEN, "signature is not valid here", status=401)
    recovery = raised.value.details["recovery"]
    repeat = reopened(recovery["recovery_token"])
    assert recovery["suggestion"] == RUN_SEARCH
    assert repeat.parameters == SEARCH.parameters
    assert [(action.id, action.guard) for action in repeat.next_actions] == [("search", False)]
    assert (repeat.issued_at, repeat.expires_at) == (NOW + 50, NOW + 3650)
    assert repeat.context == ContinuationContext()


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
def test_an_unproven_token_is_never_turned_into_more_than_a_query(changes: dict[str, Any]) -> None:
    foreign = mint_continuation(OTHER_KEY, changed(SEARCH, **changes))

    with pytest.raises(Fault) as raised:
        read_continuation([KEY], foreign, now=NOW)

    recovery = raised.value.details["recovery"]
    assert "recovery_token" not in recovery
    if "action" not in changes:
        assert recovery["suggestion"] == "Repeat the query to get a new token."


def test_the_tool_that_repeats_a_preview_still_only_previews() -> None:
    foreign = mint_continuation(OTHER_KEY, PREVIEW)

    with pytest.raises(Fault) as raised:
        read_continuation([KEY], foreign, now=NOW)

    repeat = reopened(raised.value.details["recovery"]["recovery_token"])
    assert [(action.id, action.guard) for action in repeat.next_actions] == [("extract_preview", False)]


@every_case("text", ["", "invalid_token", "\0", "😀" * 3000, "A" * 1_000_000, "eyJhIjoxfQ"])
def test_garbage_is_refused_with_a_suggestion_only(text: str) -> None:
    with pytest.raises(Fault) as raised:
        read_continuation([KEY], text, now=NOW)

    recovery = {"suggestion": "Repeat the query to get a new token."}
    check_refusal(raised, catalogue.INVALID_TOKEN, "Repeat the query", status=401, recovery=recovery)


def test_a_token_with_one_wrong_character_is_refused_wherever_it_is() -> None:
    """Some of them make bytes that are no text."""
    token = mint_continuation(KEY, SEARCH)

    for place in range(len(token) - 1):
        other = "x" if token[place] != "x" else "y"
        with pytest.raises(Fault) as raised:
            read_continuation([KEY], token[:place] + other + token[place + 1 :], now=NOW)
        assert raised.value.kind is catalogue.INVALID_TOKEN


def test_without_any_key_nothing_is_signed() -> None:
    with pytest.raises(Fault) as raised:
        read_continuation([], mint_continuation(KEY, SEARCH), now=NOW)

    assert "recovery_token" not in raised.value.details["recovery"]


def test_an_expired_query_comes_with_a_fresh_token() -> None:
    text = mint_continuation(KEY, SEARCH)

    with pytest.raises(Fault) as raised:
        read_continuation([KEY], text, now=NOW + 7200)

    says = "has expired; it was issued 120 minutes ago"
    check_refusal(raised, catalogue.TOKEN_EXPIRED, says, status=410, expired_at=NOW + 3600)
    recovery = raised.value.details["recovery"]
    expected = changed(SEARCH, issued_at=NOW + 7200, expires_at=NOW + 10800)
    assert recovery["can_refresh"] is True
    assert reopened(recovery["refresh_token"]) == expected


def test_a_refreshed_token_is_signed_with_the_current_key() -> None:
    text = mint_continuation(OTHER_KEY, SEARCH)

    with pytest.raises(Fault) as raised:
        read_continuation([KEY, OTHER_KEY], text, now=NOW + 7200)

    assert reopened(raised.value.details["recovery"]["refresh_token"]).parameters == SEARCH.parameters


def test_an_expired_write_is_not_refreshed() -> None:
    with pytest.raises(Fault) as raised:
        read_continuation([KEY], mint_continuation(KEY, PREVIEW), now=NOW + 3600)

    recovery = raised.value.details["recovery"]
    assert recovery["can_refresh"] is False
    assert "refresh_token" not in recovery
    assert recovery["suggestion"].endswith("--extract 'fetchData' --to-module 'src/api.js' --ai-mode")


def test_a_token_stands_for_its_one_action() -> None:
    assert allowed_action(SEARCH, "js-scan") == ANALYZE


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


@pytest.mark.parametrize(
    ("continuation", "actual"),
    [(SEARCH, "sha256:f1"), (changed(SEARCH, context=ContinuationContext()), "sha256:f2")],
)
def test_results_that_are_the_same_or_were_never_bound_are_not_stale(
    continuation: Continuation, actual: str
) -> None:
    assert stale_results(KEY, continuation, actual, now=NOW) is None


def test_a_stale_read_goes_on_with_a_warning() -> None:
    stale = stale_results(KEY, SEARCH, "sha256:f2", now=NOW)
    assert stale is not None

    warning = stale_warning(stale)

    assert (warning["code"], warning["status"]) == ("RESULTS_STALE", 202)
    assert warning["digest_mismatch"] == {"expected": "sha256:f1", "actual": "sha256:f2"}
    assert reopened(warning["recovery"]["reissue_token"]).next_actions[0].id == "search"


def test_a_stale_write_is_refused() -> None:
    stale = stale_results(KEY, PREVIEW, "sha256:f2", now=NOW)
    assert stale is not None

    fault = stale_refusal(stale)

    assert fault.kind is catalogue.RESULTS_STALE
    assert fault.details["status"] == 409
    assert fault.details["digest_mismatch"] == {"expected": "sha256:f1", "actual": "sha256:f2"}
    assert reopened(fault.details["recovery"]["reissue_token"]).next_actions[0].id == "extract_preview"
    assert "nothing was written" in fault.message


def test_a_stale_write_that_cannot_be_repeated_has_no_token_to_offer() -> None:
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
    fault = file_gone(changed(PREVIEW, parameters=parameters), "src/app.js")

    assert fault.kind is catalogue.E_NOT_FOUND
    assert fault.details == {
        "resource": "file",
        "id": "src/app.js",
        "status": 404,
        "recovery": {"suggestion": suggestion},
    }


def test_a_file_whose_name_cannot_be_shown_leads_to_the_query_again() -> None:
    fault = file_gone(changed(PREVIEW, parameters={}), "src/\x1b[31m.js")

    assert fault.details["recovery"] == {"suggestion": "Repeat the query to get a new token."}


def test_a_genuine_stale_query_is_repeated_whatever_its_parameters() -> None:
    batch = changed(SEARCH, parameters={"names": ["a", "b"], "changes": {"$digest": "sha256:00"}})

    stale = stale_results(KEY, batch, "sha256:f2", now=NOW)

    assert stale is not None
    assert stale.suggestion == "Repeat the query to get a new token."
    assert reopened(stale.reissue_token).parameters == batch.parameters


def test_a_write_is_never_reissued() -> None:
    stale = stale_results(KEY, changed(PREVIEW, action="apply"), "sha256:f2", now=NOW)

    assert stale is not None
    assert stale.reissue_token == ""
