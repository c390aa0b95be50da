"""Continuation tokens, strictly: CONT's payload, size rules and seal."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
import zlib
from typing import Any

import msgspec
import pytest

from handrail.contract.tokens.continuation import (
    Continuation,
    ContinuationContext,
    NextAction,
    mint_continuation,
    mint_each,
    missing_parameters,
    open_continuation,
    restore_parameters,
    token_digest,
)
from handrail.contract.tokens.continuation_payload import _WORDS, INFLATED_LIMIT, VERSION
from tests.cases import every_case
from tests.contract.tokens.samples import KEY, OTHER_KEY

NOW = 1_700_000_000
ANALYZE = NextAction(id="analyze:0", label="Analyze first match", description="Show match #1")
APPLY = NextAction(id="apply", label="Apply extraction", guard=True)
CONTINUATION = Continuation(
    issued_at=NOW,
    expires_at=NOW + 3600,
    command="js-scan",
    action="search",
    context=ContinuationContext(request_id="req_1", source_token="sha256:5e", results_digest="sha256:f1"),
    parameters={"search": "processData", "scope": "src/", "limit": 20},
    next_actions=(ANALYZE,),
)
RANDOM = random.Random(11)
NOISE = "".join(RANDOM.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=4000))


def with_parameters(**parameters: Any) -> Continuation:
    return msgspec.structs.replace(CONTINUATION, parameters=parameters)


def payload_of(token: str) -> bytes:
    return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))[:-16]


def told_by(token: str) -> Any:
    """What the rest of the payload says, inflated by hand."""
    payload = payload_of(token)
    lengths = [length for bit, length in enumerate((16, 8, 6)) if payload[1] >> bit & 1]
    inflater = zlib.decompressobj(-15, _WORDS)
    return json.loads(inflater.decompress(payload[6 + sum(lengths) :]))


def framed(rest: bytes, flags: int = 0) -> bytes:
    """A payload around any rest."""
    return bytes((VERSION, flags)) + NOW.to_bytes(4, "big") + rest


def deflated(text: bytes) -> bytes:
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, _WORDS)
    return deflater.compress(text) + deflater.flush()


def sealed(payload: bytes, key: bytes = KEY) -> str:
    signature = hmac.new(key, payload, hashlib.sha256).digest()[:16]
    return base64.urlsafe_b64encode(payload + signature).decode().rstrip("=")


def test_payload_has_the_keys_of_the_specification() -> None:
    token = mint_continuation(KEY, CONTINUATION)

    assert payload_of(token)[:6] == b"\x02\x00" + NOW.to_bytes(4, "big")
    assert told_by(token) == {
        "command": "js-scan",
        "action": "search",
        "context": {"request_id": "req_1", "source_token": "sha256:5e", "results_digest": "sha256:f1"},
        "parameters": {"search": "processData", "scope": "src/", "limit": 20},
        "next_actions": [{"id": "analyze:0", "label": "Analyze first match", "description": "Show match #1"}],
    }


def test_digests_are_carried_as_bytes_as_far_as_they_tell_apart() -> None:
    results, parent = hashlib.sha256(b"results").hexdigest(), hashlib.sha256(b"parent").hexdigest()
    context = ContinuationContext(
        request_id="req_0123456789ab", source_token=f"sha256:{parent}", results_digest=f"sha256:{results}"
    )
    token = mint_continuation(KEY, msgspec.structs.replace(CONTINUATION, context=context))

    opened = open_continuation([KEY], token)

    assert "context" not in told_by(token)
    assert opened is not None
    assert opened.context == ContinuationContext(
        request_id="req_0123456789ab",
        source_token=f"sha256:{parent[:16]}",
        results_digest=f"sha256:{results[:32]}",
    )


def test_a_usual_token_takes_a_fifth_of_its_document() -> None:
    target = "src/internal/util/createErrorClass.ts#createErrorClass@3bcb98c0"
    usual = msgspec.structs.replace(
        with_parameters(search="createErrorClass", target=target),
        context=ContinuationContext(request_id="req_0123456789ab", results_digest="sha256:" + "0f" * 32),
        next_actions=(NextAction(id="analyze:0", label="Analyze match #1"),),
    )

    assert len(mint_continuation(KEY, usual)) <= 160
    assert len(msgspec.json.encode(usual)) * 4 / 3 > 600


def test_a_token_is_the_payload_and_its_hmac_in_base64url() -> None:
    token = mint_continuation(KEY, CONTINUATION)

    assert sealed(payload_of(token)) == token


def test_each_action_gets_a_token_that_allows_nothing_else() -> None:
    tokens = mint_each(KEY, CONTINUATION, [ANALYZE, APPLY])
    opened = {name: open_continuation([KEY], token) for name, token in tokens.items()}

    assert {name: one.next_actions for name, one in opened.items() if one} == {
        "analyze:0": (ANALYZE,),
        "apply": (APPLY,),
    }


def test_a_guarded_action_is_neither_replayable_nor_idempotent() -> None:
    tokens = mint_each(KEY, CONTINUATION, [ANALYZE, APPLY])

    opened = [open_continuation([KEY], token) for token in tokens.values()]
    assert [(one.metadata.replayable, one.metadata.idempotent) for one in opened if one] == [
        (True, True),
        (False, False),
    ]


def test_large_repetitive_payload_is_small_and_comes_back() -> None:
    large = with_parameters(search="process" * 500)

    token = mint_continuation(KEY, large)

    assert len(token) < 2048
    assert open_continuation([KEY], token) == large


def test_undeflatable_parameters_become_digests_largest_first() -> None:
    noisy = with_parameters(search="processData", changes=NOISE, spans=NOISE[:300])

    opened = open_continuation([KEY], mint_continuation(KEY, noisy))

    digest = hashlib.sha256(json.dumps(NOISE).encode()).hexdigest()
    assert opened is not None
    assert opened.context.can_refetch
    assert opened.parameters == noisy.parameters | {"changes": {"$digest": f"sha256:{digest}"}}
    assert missing_parameters(opened) == ("changes",)


def test_omitted_parameters_come_back_only_as_they_were() -> None:
    noisy = with_parameters(search="processData", changes=NOISE)
    opened = open_continuation([KEY], mint_continuation(KEY, noisy))
    assert opened is not None

    restored = restore_parameters(opened, {"changes": NOISE, "search": "ignored"})

    assert restored is not None
    assert restored.parameters == noisy.parameters
    assert restore_parameters(opened, {"changes": NOISE + "x"}) is None
    assert restore_parameters(opened, {}) is None


def test_a_token_that_needs_nothing_is_taken_as_it_is() -> None:
    assert missing_parameters(CONTINUATION) == ()
    assert restore_parameters(CONTINUATION, {"search": "other"}) == CONTINUATION


def test_lean_token_keeps_its_digests_when_minted_again() -> None:
    noisy = with_parameters(changes=NOISE, spans=NOISE[::-1])
    opened = open_continuation([KEY], mint_continuation(KEY, noisy))
    assert opened is not None

    again = open_continuation([KEY], mint_continuation(KEY, opened))

    assert again == opened


def test_descriptions_go_last() -> None:
    talkative = msgspec.structs.replace(ANALYZE, description=NOISE)
    continuation = msgspec.structs.replace(CONTINUATION, next_actions=(talkative,))

    opened = open_continuation([KEY], mint_continuation(KEY, continuation))

    assert opened is not None
    assert opened.next_actions == (msgspec.structs.replace(ANALYZE, description=""),)
    assert opened.parameters == CONTINUATION.parameters  # a digest would be no shorter


def test_next_actions_that_can_never_fit_are_a_broken_assumption() -> None:
    endless = msgspec.structs.replace(ANALYZE, label=NOISE)

    with pytest.raises(AssertionError):
        mint_continuation(KEY, msgspec.structs.replace(CONTINUATION, next_actions=(endless,)))


TOKEN = mint_continuation(KEY, CONTINUATION)
DOCUMENT = json.dumps(told_by(TOKEN)).encode()


@every_case(
    "payload",
    [
        b"{}",
        b"[]",
        b"{",
        b"\xff" * 40,
        b"x\x9c" + b"\x00" * 40,
        framed(b""),
        framed(deflated(b"not json")),
        framed(deflated(b"[]")),
        framed(deflated(b'{"context":[1]}')),
        framed(deflated(b"\xff")),
        framed(deflated(b"{}"), flags=8),
        framed(deflated(b"{}"), flags=7),
        payload_of(TOKEN) + b"more",
        payload_of(TOKEN)[:-4],
        payload_of(TOKEN)[:8],
        framed(deflated(b"0" * 1_000_000)),
        framed(deflated(DOCUMENT + b" " * INFLATED_LIMIT)),
        b'{"parameters":' + b"[" * 1000,
        framed(deflated(b'{"parameters":{"a":' + b"[" * 60_000)),
        b"\x01" + payload_of(TOKEN)[1:],
        framed(deflated(b'{"expires_at":"soon",' + DOCUMENT[1:])),
    ],
)
def test_a_strange_payload_does_not_open_even_when_it_is_signed(payload: bytes) -> None:
    token = sealed(payload)

    assert open_continuation([KEY], token) is None


def test_nothing_is_inflated_before_the_signature_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("an unproven payload was inflated")

    monkeypatch.setattr(zlib, "decompressobj", fail)
    bomb = framed(deflated(b"0" * 1_000_000))

    assert open_continuation([KEY], sealed(bomb, OTHER_KEY)) is None


def test_a_parent_is_named_by_the_digest_of_its_token() -> None:
    assert token_digest("abc") == "sha256:" + hashlib.sha256(b"abc").hexdigest()
