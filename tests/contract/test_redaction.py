"""Secrets by name and by value: every spelling is found, and nothing else is touched."""

from __future__ import annotations

import base64
import json
import urllib.parse

from hypothesis import given
from hypothesis import strategies as st

from handrail.contract.redaction import (
    MINTED_BEGINNINGS,
    REDACTED,
    Secrets,
    cut_minted_tokens,
    is_secret_name,
    redact_named_secrets,
    redact_secrets,
)
from handrail.contract.tokens.workflow import LAYOUT_BY_PREFIX
from tests.cases import every_case

SECRET = 'pass"wörd/+=&17'


def spelled(secret: bytes) -> list[bytes]:
    """The spellings, made by other libraries."""
    text = secret.decode()
    return [
        secret,
        secret.hex().encode(),
        secret.hex().upper().encode(),
        base64.b64encode(secret),
        base64.urlsafe_b64encode(secret),
        base64.urlsafe_b64encode(secret).rstrip(b"="),
        urllib.parse.quote(text, safe="").encode(),
        json.dumps(text, ensure_ascii=False)[1:-1].encode(),
    ]


@every_case("form", spelled(SECRET.encode()))
def test_every_spelling_of_a_registered_secret_is_replaced(form: bytes) -> None:
    secrets = Secrets()
    secrets.register(SECRET.encode())

    assert secrets.redact(b"before " + form + b" after") == b"before [redacted] after"


def test_lower_case_percent_signs_count_too() -> None:
    secrets = Secrets()
    secrets.register(b"abc/def/ghi")

    assert secrets.redact(b"abc%2fdef%2fghi") == REDACTED.encode()


def test_a_secret_inside_a_longer_secret_does_not_leave_a_rest() -> None:
    secrets = Secrets()
    secrets.register(b"12345678")
    secrets.register(b"12345678-and-more")

    assert secrets.redact(b"12345678-and-more") == REDACTED.encode()


def test_what_is_too_short_to_be_told_from_a_word_stays() -> None:
    secrets = Secrets()
    secrets.register(b"step")
    secrets.register(b"1234567")
    secrets.register(b"abcdefgh")

    assert secrets.redact(b"the next step") == b"the next step"
    assert secrets.redact(b"1234567 abcdefgh") == b"1234567 " + REDACTED.encode()


ODD_SECRETS = [SECRET.encode(), b'quo"te\\back\nline', b"\x00\x1f\x7f controls", "wörd 検査 🚀".encode()]


@every_case("secret", ODD_SECRETS)
@every_case("around", ["", 'a "quoted" \\ text\n', "half\ud800"])
def test_secret_is_found_whatever_an_encoder_escapes(secret: bytes, around: str) -> None:
    secrets = Secrets()
    secrets.register(b"another one that is not there")
    secrets.register(secret)
    text = secret.decode()

    found = secrets.redact_json({"plain": 1, f"{around}{text}": [around, f"{around}{text}{around}"]})

    assert found == {"plain": 1, f"{around}{REDACTED}": [around, f"{around}{REDACTED}{around}"]}


def test_without_a_secret_nothing_changes() -> None:
    assert Secrets().redact_json({"a": ["b", 1, None, 2.5, True]}) == {"a": ["b", 1, None, 2.5, True]}


def test_names_and_values_of_a_document_are_redacted() -> None:
    secrets = Secrets()
    secrets.register(b"hunter2-hunter2")

    assert secrets.redact_json({"hunter2-hunter2": ["x hunter2-hunter2", 7]}) == {
        REDACTED: [f"x {REDACTED}", 7]
    }


def test_the_registry_does_not_show_what_it_holds() -> None:
    secrets = Secrets()
    secrets.register(b"hunter2-hunter2")

    assert "hunter2" not in repr(secrets)


@given(st.binary(min_size=8, max_size=40), st.binary(max_size=30))
def test_no_secret_survives_wherever_it_stands(secret: bytes, around: bytes) -> None:
    secrets = Secrets()
    secrets.register(secret)

    cleaned = secrets.redact(around + secret.hex().encode() + around)

    assert secret.hex().encode() not in cleaned


@every_case(
    "name",
    [
        "password",
        "dbPassword",
        "PASSWD",
        "client_secret",
        "authToken",
        "token",
        "Authorization",
        "cookie",
        "Set-Cookie",
        "apiKey",
        "api_key",
        "api-key",
        "privateKey",
        "private_key",
        "credentials",
    ],
)
def test_a_telling_name_is_known(name: str) -> None:
    assert is_secret_name(name)


@every_case("name", ["notes", "key", "keyring", "path", "session_id", "pass", "author"])
def test_an_ordinary_name_is_not(name: str) -> None:
    assert not is_secret_name(name)


@every_case(
    ("value", "expected"),
    [
        ({"password": "x"}, {"password": REDACTED}),
        ({"a": [{"apiKey": "x", "b": "y"}]}, {"a": [{"apiKey": REDACTED, "b": "y"}]}),
        ({"secret": {"inner": ["x", 3]}}, {"secret": {"inner": [REDACTED, 3]}}),
        ({"tokens": 12, "max_tokens": 3}, {"tokens": 12, "max_tokens": 3}),
        ({"ackToken": "ak1"}, {"ackToken": "ak1"}),
        ({"data": {"nextCall": [{"ackToken": "ak1"}]}}, {"data": {"nextCall": [{"ackToken": "ak1"}]}}),
        ({"context": {"ackToken": "x"}}, {"context": {"ackToken": REDACTED}}),
        ("password", "password"),
    ],
)
def test_texts_under_secret_names_are_hidden_but_own_tokens(value: object, expected: object) -> None:
    assert redact_named_secrets(value) == expected


def test_kind_of_a_token_is_named_except_in_callers_names() -> None:
    told = redact_named_secrets({"token_kind": "ack", "context": {"token_kind": "hunter2"}})

    assert told == {"token_kind": "ack", "context": {"token_kind": REDACTED}}


@every_case("prefix", LAYOUT_BY_PREFIX)
def test_every_token_of_a_run_is_cut_where_it_is_kept(prefix: str) -> None:
    text = f"sent {prefix}{'a' * (LAYOUT_BY_PREFIX[prefix].length - len(prefix))} by mistake"

    assert cut_minted_tokens(text) == f"sent {prefix}… by mistake"
    assert prefix in MINTED_BEGINNINGS


def test_a_work_token_is_told_back_in_its_own_field_alone() -> None:
    told = redact_secrets({"children": [{"workToken": "wk1" + "a" * 46}], "found": "wk1" + "a" * 46})

    assert told == {"children": [{"workToken": "wk1" + "a" * 46}], "found": "wk1…"}
