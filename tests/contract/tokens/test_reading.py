"""Reading a token as an agent sends it: what is forgiven, what is refused, and in which words."""

from __future__ import annotations

import subprocess
import sys

import pytest

from handrail.contract import catalogue
from handrail.contract.ids import AttemptId
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.tokens.reading import ANY_KIND, ReadToken, read_token, read_tokens
from handrail.contract.tokens.workflow import AckClaims, TokenKind, mint
from tests.cases import every_case
from tests.contract.tokens.samples import (
    ACK,
    CHECKPOINT,
    CHOICE,
    CLAIMS,
    KEY,
    KINDS,
    OTHER_KEY,
    SESSION,
    STATE,
    TAG,
    TOKENS,
    WORK,
    check_refusal,
)

ACK_FIELD: tuple[TokenKind, ...] = ("ack", "choice")
SECOND_ACK = mint(KEY, AckClaims(session_id=SESSION, node_tag=TAG, attempt_id=AttemptId("tsrqpnm")))
RESUME = NextCall(operation="session.resume", params={"query": SESSION})
LOOK_AROUND = NextCall(operation="session.resume", params={})


@every_case("kind", KINDS)
def test_a_whole_token_is_read_as_it_is(kind: TokenKind) -> None:
    token = read_token([KEY], TOKENS[kind], (kind,))

    assert token == ReadToken(claims=CLAIMS[kind], text=TOKENS[kind], repaired=False)


@pytest.mark.parametrize("text", [ACK.upper(), f'"ackToken": "{ACK}",', f"{ACK[:30]}\n{ACK[30:]}", ACK + ACK])
def test_another_spelling_is_not_called_repaired(text: str) -> None:
    token = read_token([KEY], text, ACK_FIELD)

    assert (token.text, token.repaired) == (ACK, False)


@pytest.mark.parametrize(
    "text", [ACK[:-1], "z" + ACK[1:], f"`{ACK[:9]}-{ACK[10:]}`", ACK[:9] + "ü" + ACK[10:]]
)
def test_a_repaired_token_says_so_and_brings_its_right_spelling(text: str) -> None:
    token = read_token([OTHER_KEY, KEY], text, ACK_FIELD)

    assert token == ReadToken(claims=CLAIMS["ack"], text=ACK, repaired=True)


@every_case(
    ("text", "says", "found"),
    [
        ("", "holds no token", "nothing"),
        (" \n", "holds no token", "nothing"),
        ("\0" * 60, "holds no token", "nothing"),
        ("😀" * 200, "holds no token", "nothing"),
        (ACK[:-3], "3 characters are missing", "3 characters are missing"),
        (ACK + "xy", "2 characters are too many", "2 characters are too many"),
        (ACK[:9] + ACK[10:20] + "z" + ACK[21:], "1 character is missing", "1 character is missing"),
        (ACK[:20], "36 characters are missing", "36 characters are missing"),
        (ACK[:4] + "-" + ACK[5:8] + "-" + ACK[9:], "at place 5", "a character that no token has"),
        ("hello", "does not start with ak1 or ch1", "an unknown prefix"),
        ("z" * 56, "does not start with ak1 or ch1", "an unknown prefix"),
        ("akz" + ACK[3:-1] + "z", "does not start with ak1 or ch1", "an unknown prefix"),
        ("a" * 1024, "does not start with", "an unknown prefix"),
        ("a" * 1025, "has 1025 characters", "too much text"),
        ("x" * 1_000_000, "has 1000000 characters", "too much text"),
        ("ak1…ftdev", "was shortened", "a shortened token"),
        ("ak101...tdev", "was shortened", "a shortened token"),
        ("ct_abc.def", "holds a confirm token", "a confirm token"),
        ("cu1eyJhIjoxfQ", "holds a cursor", "a cursor"),
        (f" {SESSION}", "holds a session id", "a session id"),
        ("run_0123456789ab", "holds a run id", "a run id"),
        ("WVdzeE1ERXlNelExTmpjNE9XRmlZMlJsWm1kb2FtdHRibkJ4Y25O", "does not start with", "an unknown prefix"),
        (STATE + ACK, "holds 2 different tokens", "2 tokens"),
        (STATE + ACK + CHECKPOINT + CHOICE + WORK + STATE[:-1], "holds 6 different", "6 tokens"),
    ],
)
def test_what_is_not_a_token_is_described(text: str, says: str, found: str) -> None:
    with pytest.raises(Fault) as raised:
        read_token([KEY, OTHER_KEY], text, ACK_FIELD)

    check_refusal(raised, catalogue.TOKEN_INVALID_FORMAT, says, token_kind="ack", found=found)


@every_case(
    ("text", "next_call"),
    [
        (ACK[:20], RESUME),
        (ACK[:15] + "--", RESUME),
        (SESSION, RESUME),
        ("hello", LOOK_AROUND),
        ("", LOOK_AROUND),
        (STATE + ACK, LOOK_AROUND),
        (ACK[:14], LOOK_AROUND),
    ],
)
def test_way_back_names_the_session_where_it_is_readable(text: str, next_call: NextCall) -> None:
    with pytest.raises(Fault) as raised:
        read_token([KEY], text, ACK_FIELD)

    assert raised.value.next_call == next_call


def test_two_wrong_characters_are_refused_with_the_next_call() -> None:
    with pytest.raises(Fault) as raised:
        read_token([KEY], ACK[:-2] + "zz", ACK_FIELD)

    says = "was not minted here, or more than one of its characters was changed"
    check_refusal(raised, catalogue.TOKEN_BAD_SIGNATURE, says, token_kind="ack", session_id=SESSION)
    assert raised.value.next_call == RESUME


@pytest.mark.parametrize("keys", [[], [OTHER_KEY]])
def test_a_token_under_a_key_that_is_gone_has_a_bad_signature(keys: list[bytes]) -> None:
    with pytest.raises(Fault) as raised:
        read_token(keys, ACK, ACK_FIELD)

    check_refusal(raised, catalogue.TOKEN_BAD_SIGNATURE, "was not minted here", token_kind="ack")


@pytest.mark.parametrize("text", ["st2" + ACK[3:], "AK9" + ACK[3:20] + ACK[30:], "ch0" + ACK[3:]])
def test_another_version_is_named(text: str) -> None:
    with pytest.raises(Fault) as raised:
        read_token([KEY], text, ACK_FIELD)

    found = f"version {text[2]}"
    check_refusal(raised, catalogue.TOKEN_UNSUPPORTED_VERSION, f"is of {found}", found=found)


@every_case(
    ("kind", "expected", "right_field", "wrong_field"),
    [
        ("state", ("ack", "choice"), "stateToken", "ackToken"),
        ("checkpoint", ("ack", "choice"), "checkpointToken", "ackToken"),
        ("ack", ("state",), "ackToken", "stateToken"),
        ("choice", ("state",), "ackToken", "stateToken"),
        ("ack", ("checkpoint",), "ackToken", "checkpointToken"),
        ("choice", ("ack",), "ackToken", "ackToken"),
    ],
)
@every_case("cut", [0, 1])
def test_a_genuine_token_in_the_wrong_field_is_sent_to_its_own(
    kind: TokenKind, expected: tuple[TokenKind, ...], right_field: str, wrong_field: str, cut: int
) -> None:
    text = TOKENS[kind][: len(TOKENS[kind]) - cut]

    with pytest.raises(Fault) as raised:
        read_token([KEY], text, expected)

    article = "An" if kind == "ack" else "A"
    says = f"{article} {kind} token was sent as {wrong_field}; nothing was done. Send it as {right_field}"
    details = {"token_kind": kind, "session_id": SESSION, "found": f"{article.lower()} {kind} token"}
    check_refusal(raised, catalogue.TOKEN_SCOPE_MISMATCH, says, **details)


def test_a_choice_token_is_welcome_where_an_ack_is() -> None:
    assert read_token([KEY], CHOICE, ACK_FIELD).claims == CLAIMS["choice"]


@pytest.mark.parametrize(
    "text",
    [STATE + ACK, f"{ACK} {STATE}", f'{{"stateToken":"{STATE}","ackToken":"{ACK}"}}', STATE + ACK + STATE],
)
def test_tokens_pasted_together_are_read_by_kind(text: str) -> None:
    tokens = read_tokens([KEY], text, ACK_FIELD)

    assert {kind: token.claims for kind, token in tokens.items()} == {
        "state": CLAIMS["state"],
        "ack": CLAIMS["ack"],
    }


def test_each_of_the_pasted_tokens_may_need_a_repair() -> None:
    tokens = read_tokens([KEY], STATE[:-1] + ACK[:20] + "z" + ACK[21:], ACK_FIELD)

    assert [(token.text, token.repaired) for token in tokens.values()] == [(STATE, True), (ACK, True)]


def test_a_single_token_is_read_like_many() -> None:
    assert list(read_tokens([KEY], f"`{ACK}`", ACK_FIELD)) == ["ack"]


@every_case(
    ("text", "kind", "says"),
    [
        (STATE + CHECKPOINT, catalogue.TOKEN_SCOPE_MISMATCH, "A state token was sent as ackToken"),
        (ACK + CHOICE, catalogue.TOKEN_INVALID_FORMAT, "holds 2 different tokens"),
        (ACK + SECOND_ACK, catalogue.TOKEN_INVALID_FORMAT, "holds 2 different tokens"),
        (STATE[:-2] + "zz" + ACK, catalogue.TOKEN_BAD_SIGNATURE, "was not minted here"),
        (STATE, catalogue.TOKEN_SCOPE_MISMATCH, "Send it as stateToken"),
        ("", catalogue.TOKEN_INVALID_FORMAT, "holds no token"),
        ("x" * 5000, catalogue.TOKEN_INVALID_FORMAT, "has 5000 characters"),
    ],
)
def test_pasted_tokens_that_leave_a_choice_are_refused(text: str, kind: catalogue.Kind, says: str) -> None:
    with pytest.raises(Fault) as raised:
        read_tokens([KEY], text, ACK_FIELD)

    check_refusal(raised, kind, says)


def test_any_kind_means_all_four() -> None:
    assert [read_token([KEY], TOKENS[kind], ANY_KIND).claims for kind in KINDS] == list(CLAIMS.values())


def test_reading_loads_nothing_beyond_hashing() -> None:
    script = (
        "import sys, msgspec, re; before = set(sys.modules)\n"
        "import handrail.contract.tokens.reading\n"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('handrail')))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True, timeout=60
    )

    assert set(done.stdout.split()) <= {
        "hashlib",
        "hmac",
        "_hashlib",
        "_blake2",
        "_sha2",
        "_sha3",
        "_md5",
        "_sha1",
    }
