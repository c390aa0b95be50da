"""Workflow tokens, strictly: their text, their claims, and when one verifies."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from handrail.contract import ids
from handrail.contract.ids import AttemptId, SessionId
from handrail.contract.tokens.workflow import (
    LAYOUTS,
    AckClaims,
    ChoiceClaims,
    Claims,
    StateClaims,
    TokenKind,
    choice_attempt,
    mint,
    verify,
)
from tests.cases import every_case
from tests.contract.tokens.samples import (
    ACK,
    ATTEMPT,
    CHOICE,
    CLAIMS,
    KEY,
    KINDS,
    SESSION,
    STATE,
    TAG,
    TOKENS,
)


@every_case("kind", KINDS)
def test_a_token_is_what_openssl_makes_of_the_same_payload(kind: TokenKind) -> None:
    assert mint(KEY, CLAIMS[kind]) == TOKENS[kind]


def test_every_kind_has_a_layout_and_fits_into_56_characters() -> None:
    lengths = {kind: layout.length for kind, layout in LAYOUTS.items()}

    assert lengths == {"state": 49, "ack": 56, "checkpoint": 56, "choice": 56, "work": 49}
    assert tuple(lengths) == get_args(TokenKind)


@every_case("kind", KINDS)
@every_case("other", KINDS)
def test_a_token_never_verifies_under_the_prefix_of_another_kind(kind: TokenKind, other: TokenKind) -> None:
    renamed = LAYOUTS[other].prefix + TOKENS[kind][3:]

    verified = verify([KEY], renamed)

    assert (verified is not None) == (kind == other)


@every_case(
    "text",
    ["", "st1", ACK.upper(), ACK + " ", ACK[:-1], ACK + "0", "ak2" + ACK[3:], ACK[:-1] + "u", ACK[:-1] + "é"],
)
def test_only_the_canonical_spelling_verifies(text: str) -> None:
    assert verify([KEY], text) is None


def test_each_of_the_32_options_has_a_token_of_its_own() -> None:
    claims = [msgspec.structs.replace(_choice(), option=option) for option in range(32)]

    tokens = [mint(KEY, claim) for claim in claims]

    assert len(set(tokens)) == 32
    assert [verify([KEY], token) for token in tokens] == claims
    assert [token[29] for token in tokens] == list(ids.ALPHABET)


def test_all_options_of_a_step_share_one_attempt() -> None:
    attempt_id = choice_attempt(ATTEMPT)

    assert attempt_id == "mnpqrs0"
    assert choice_attempt(attempt_id) == attempt_id


@every_case(
    "claims",
    [
        StateClaims(session_id=SessionId("run_0123456789ab"), node_tag=TAG),
        StateClaims(session_id=SessionId("ses_0123456789abc"), node_tag=TAG[1:]),
        StateClaims(session_id=SESSION, node_tag="CDEFGHJK"),
        AckClaims(session_id=SESSION, node_tag=TAG, attempt_id=AttemptId("mnpqrs")),
        AckClaims(session_id=SESSION, node_tag=TAG, attempt_id=AttemptId("mnpqrsu")),
        ChoiceClaims(session_id=SESSION, node_tag=TAG, attempt_id=ATTEMPT, option=0),
        ChoiceClaims(session_id=SESSION, node_tag=TAG, attempt_id=AttemptId("mnpqrs0"), option=32),
        ChoiceClaims(session_id=SESSION, node_tag=TAG, attempt_id=AttemptId("mnpqrs0"), option=-1),
    ],
)
def test_claim_that_does_not_fit_is_a_broken_assumption(claims: Claims) -> None:
    with pytest.raises(AssertionError):
        mint(KEY, claims)


def test_a_changed_claim_changes_the_whole_mac() -> None:
    neighbour = mint(KEY, StateClaims(session_id=SESSION, node_tag="cdefghjm"))

    same = sum(one == other for one, other in zip(neighbour[23:], STATE[23:], strict=True))

    assert same < 8  # of 26; chance alone gives about one


def test_the_option_is_under_the_mac() -> None:
    other_option = CHOICE[:29] + "4" + CHOICE[30:]

    assert verify([KEY], other_option) is None


def _choice() -> ChoiceClaims:
    return ChoiceClaims(session_id=SESSION, node_tag=TAG, attempt_id=AttemptId("mnpqrs0"), option=0)
