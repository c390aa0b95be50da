"""The law of tokens: a change is put right to the identical token or refused, never taken for another."""

from __future__ import annotations

import random
import string
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.contract import ids
from handrail.contract.catalogue import INVALID_TOKEN, TOKEN_EXPIRED, TOKEN_SCOPE_MISMATCH
from handrail.contract.ids import AttemptId, SessionId
from handrail.contract.outcome import Fault, failure_of
from handrail.contract.tokens.confirm import ConfirmClaims, mint_confirm, read_confirm
from handrail.contract.tokens.continuation import (
    Continuation,
    ContinuationContext,
    NextAction,
    mint_continuation,
    open_continuation,
    read_continuation,
)
from handrail.contract.tokens.cursor import CursorClaims, mint_cursor, read_cursor
from handrail.contract.tokens.reading import ANY_KIND, is_of_another_version, read_token, read_tokens, repair
from handrail.contract.tokens.sealed import open_signed, sign
from handrail.contract.tokens.workflow import (
    LAYOUTS,
    PREFIX_LENGTH,
    AckClaims,
    CheckpointClaims,
    ChoiceClaims,
    Claims,
    StateClaims,
    TokenKind,
    WorkClaims,
    choice_attempt,
    clean,
    kind_of,
    mint,
    verify,
)
from tests.contract.tokens.samples import CLAIMS as CLAIMS_OF
from tests.contract.tokens.samples import KEY, KINDS, OTHER_KEY, TOKENS

MUTATIONS = 1_000_000
NOW = 1_763_200_000


def text(length: int) -> st.SearchStrategy[str]:
    return st.text(ids.ALPHABET, min_size=length, max_size=length)


def _claims(body: str, tag: str, attempt: str, option: int, kind: TokenKind) -> Claims:
    session_id, attempt_id = SessionId("ses_" + body), AttemptId(attempt)
    match kind:
        case "state":
            return StateClaims(session_id=session_id, node_tag=tag)
        case "work":
            return WorkClaims(session_id=session_id, node_tag=tag)
        case "ack":
            return AckClaims(session_id=session_id, node_tag=tag, attempt_id=attempt_id)
        case "checkpoint":
            return CheckpointClaims(session_id=session_id, node_tag=tag, attempt_id=attempt_id)
        case "choice":
            attempt_id = choice_attempt(attempt_id)
            return ChoiceClaims(session_id=session_id, node_tag=tag, attempt_id=attempt_id, option=option)


KEYS = st.binary(min_size=32, max_size=32)
CLAIMS = st.builds(_claims, text(12), text(8), text(7), st.integers(0, 31), st.sampled_from(KINDS))
PRINTABLE = st.sampled_from(string.printable.replace("\\", "") + "éüß‐…“”\u200b😀")


@st.composite
def edited(draw: st.DrawFn, token: str, edits: int) -> str:
    """The token after so many random edits, any place, any character but the backslash.

    A backslash before n, r or t reads as a written-out line break at the end, and is then refused.
    """
    for _ in range(edits):
        at = draw(st.integers(0, len(token) - 1))
        new = draw(PRINTABLE)
        deed = draw(st.sampled_from(["replace", "drop", "insert", "swap"]))
        if deed == "replace":
            token = token[:at] + new + token[at + 1 :]
        elif deed == "drop":
            token = token[:at] + token[at + 1 :]
        elif deed == "insert":
            token = token[:at] + new + token[at:]
        else:
            token = token[:at] + token[at : at + 2][::-1] + token[at + 2 :]
    return token


@given(claims=CLAIMS, key=KEYS, other=KEYS)
def test_every_token_reads_back_as_itself_and_only_under_its_key(
    claims: Claims, key: bytes, other: bytes
) -> None:
    token = mint(key, claims)

    assert len(token) == (49 if kind_of(claims) in ("state", "work") else 56)
    assert read_token([other, key], token.upper(), (kind_of(claims),)).claims == claims
    assert verify([other], token) is None or key == other


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_every_single_edit_is_put_right_to_the_same_token(kind: TokenKind) -> None:
    """Every character in every place of a state and an ack token.

    The others are written as an ack token is: in each place a quarter of the characters, in turn.
    """
    token = TOKENS[kind]
    places = range(len(token))
    stride = 1 if kind in ("state", "ack") else 4

    def characters(at: int) -> str:
        return ids.ALPHABET[at % stride :: stride]

    edits = {token[:at] + new + token[at + 1 :] for at in places for new in characters(at)}
    edits |= {token[:at] + new + token[at:] for at in (*places, len(token)) for new in characters(at)}
    edits |= {token[:at] + token[at + 1 :] for at in places}
    edits |= {token[:at] + token[at : at + 2][::-1] + token[at + 2 :] for at in places}
    edits.discard(token)

    wrong = {edit for edit in edits if repair([KEY], edit) != token}

    assert len(edits) > 3000 // stride
    assert wrong == set()


@pytest.mark.thorough
def test_every_foreign_character_in_every_place_is_put_right() -> None:
    token = TOKENS["ack"]
    foreign = string.punctuation.replace("\\", "") + " \n\0uUé…\u200b😀"
    edits = {token[:at] + new + token[at + kept :] for at in range(57) for new in foreign for kept in (0, 1)}

    wrong = {edit for edit in edits if read_token([KEY], edit, ("ack",)).text != token}

    assert len(edits) > 4000
    assert wrong == set()


@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_one_edit_of_any_kind_reads_as_the_same_token(data: st.DataObject, kind: TokenKind) -> None:
    token = TOKENS[kind]
    sent = data.draw(edited(token, 1))
    if is_of_another_version(clean(sent)):  # what a newer token means is not guessed
        with pytest.raises(Fault, match="TOKEN_UNSUPPORTED_VERSION"):
            read_token([KEY], sent, (kind,))
        return

    read = read_token([OTHER_KEY, KEY], sent, (kind,))

    assert read.text == token


@given(data=st.data(), kind=st.sampled_from(KINDS), edits=st.integers(2, 6))
def test_several_edits_read_as_the_same_token_or_not_at_all(
    data: st.DataObject, kind: TokenKind, edits: int
) -> None:
    sent = data.draw(edited(TOKENS[kind], edits))

    try:
        read = read_token([KEY, OTHER_KEY], sent, ANY_KIND)
    except Fault as fault:
        failure = failure_of(fault)
        is_refused = failure.kind.code.startswith("TOKEN_")
        assert is_refused
    else:
        assert read.text == TOKENS[kind]


@pytest.mark.thorough
@pytest.mark.parametrize("kinds", [KINDS, ("work",)])
def test_of_a_million_mutations_none_is_accepted(kinds: tuple[TokenKind, ...]) -> None:
    seed = random.SystemRandom().getrandbits(32)
    chance = random.Random(seed)
    tokens = [TOKENS[kind] for kind in kinds]
    accepted = []
    count = 0

    while count < MUTATIONS:
        token = tokens[count % len(tokens)]
        bits = chance.getrandbits(60)
        for _ in range(2 + (bits & 1)):
            bits >>= 16
            at = (bits >> 5) % len(token)
            token = token[:at] + ids.ALPHABET[bits & 31] + token[at + 1 :]
        if token not in tokens:
            count += 1
            if verify((KEY,), token) is not None:
                accepted.append(token)

    assert accepted == [], f"seed {seed}"


@given(sent=st.text(max_size=300) | st.binary(max_size=300).map(lambda data: data.decode("latin-1")))
def test_any_text_at_all_gets_a_catalogue_answer(sent: str) -> None:
    for read in (read_token, read_tokens):
        with pytest.raises(Fault) as raised:
            read([KEY, OTHER_KEY], sent, ("ack", "choice"))

        assert failure_of(raised.value).kind.code.startswith("TOKEN_")


@given(
    first=CLAIMS,
    second=CLAIMS,
    between=st.sampled_from(["", " ", ",", "\n", " and ", '","ackToken":"', "; "]),
)
def test_two_tokens_of_different_kinds_always_come_apart(first: Claims, second: Claims, between: str) -> None:
    glued = mint(KEY, first) + between + mint(KEY, second)
    kinds = (kind_of(first), kind_of(second))

    if kinds[0] != kinds[1]:
        found = read_tokens([KEY], glued, (kinds[1],))
        assert {kind: token.claims for kind, token in found.items()} == {kinds[0]: first, kinds[1]: second}


def changed_texts(token: str, chance: random.Random) -> list[str]:
    """Every place changed once, every place dropped, and every beginning."""
    alphabet = string.ascii_letters + string.digits + "-_.=+/ "
    replaced = [token[:at] + chance.choice(alphabet) + token[at + 1 :] for at in range(len(token))]
    dropped = [token[:at] + token[at + 1 :] for at in range(len(token))]
    beginnings = [token[:at] for at in range(len(token))]
    return [one for one in replaced + dropped + beginnings if one != token]


CURSOR = mint_cursor(
    KEY, CursorClaims(operation="session.list", scope="s", after=("a", "b"), expires_at=NOW + 3600)
)
CONFIRM = mint_confirm(
    KEY, ConfirmClaims(arguments="a", targets="t", versions="v", expires_at=NOW + 900, nonce="0" * 16)
)


def test_a_changed_cursor_or_confirm_token_is_refused() -> None:
    keys = [KEY, OTHER_KEY]

    for sent in changed_texts(CURSOR, random.Random(1)):
        with pytest.raises(Fault) as raised:
            read_cursor(keys, sent, operation="session.list", scope="s", now=NOW)
        assert raised.value.kind is INVALID_TOKEN
    for sent in changed_texts(CONFIRM, random.Random(2)):
        with pytest.raises(Fault) as raised:
            read_confirm(keys, sent, now=NOW)
        assert raised.value.details == {"reason": "not_from_this_machine"}


def test_a_changed_continuation_token_is_refused() -> None:
    continuation = Continuation(
        issued_at=NOW,
        expires_at=NOW + 3600,
        command="js-scan",
        action="search",
        context=ContinuationContext(),
        parameters={"search": "x"},
        next_actions=(NextAction(id="analyze:0", label="Analyze"),),
    )
    token = mint_continuation(KEY, continuation)

    for sent in changed_texts(token, random.Random(3)):
        assert open_continuation([KEY, OTHER_KEY], sent) is None


@given(sent=st.text(max_size=300) | st.binary(max_size=300).map(lambda data: data.decode("latin-1")))
def test_any_text_at_all_is_refused_by_the_json_tokens(sent: str) -> None:
    with pytest.raises(Fault) as cursor:
        read_cursor([KEY], sent, operation="session.list", scope="s", now=NOW)
    with pytest.raises(Fault) as confirm:
        read_confirm([KEY], sent, now=NOW)
    with pytest.raises(Fault) as continuation:
        read_continuation([KEY], sent, now=NOW)

    kinds = {failure_of(raised.value).kind for raised in (cursor, continuation)}
    assert kinds <= {INVALID_TOKEN, TOKEN_EXPIRED, TOKEN_SCOPE_MISMATCH}
    assert failure_of(confirm.value).details == {"reason": "not_from_this_machine"}


def test_no_kind_of_token_passes_for_another() -> None:
    """With one and the same key, which the derived purpose keys rule out anyway."""
    for kind, other in permutations(KINDS, 2):
        assert verify([KEY], LAYOUTS[other].prefix + mint(KEY, CLAIMS_OF[kind])[PREFIX_LENGTH:]) is None
    assert open_signed([KEY], "one", b"{}", sign(KEY, "two", b"{}", 16), dict[str, str]) is None
    left, right = CONFIRM[3:].split(".")

    for sent in (*TOKENS.values(), CONFIRM, "cu1" + left + right):
        with pytest.raises(Fault):
            read_cursor([KEY], sent, operation="session.list", scope="s", now=NOW)
    for sent in (*TOKENS.values(), CURSOR, "ct_" + CURSOR[3:], f"ct_{CURSOR[3:-22]}.{CURSOR[-22:]}"):
        with pytest.raises(Fault):
            read_confirm([KEY], sent, now=NOW)
    for sent in (*TOKENS.values(), CURSOR[3:], left + right):
        assert open_continuation([KEY], sent) is None
    for sent in (CURSOR, CONFIRM):
        with pytest.raises(Fault):
            read_token([KEY], sent, ANY_KIND)
