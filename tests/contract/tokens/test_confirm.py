"""Confirm tokens: exactly what was previewed, on this machine, in time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

import msgspec
import pytest

from handrail.contract import catalogue
from handrail.contract.outcome import Fault
from handrail.contract.tokens.confirm import (
    LIFETIME_SECONDS,
    ConfirmClaims,
    ConfirmScope,
    arguments_digest,
    check_arguments,
    check_expiry,
    check_targets,
    fingerprint,
    mint_confirm,
    read_confirm,
    targets_digest,
    versions_digest,
)
from tests.cases import every_case
from tests.contract.tokens.samples import KEY, OTHER_KEY, check_refusal

NOW = 1_763_200_000
SCOPE = ConfirmScope(
    command_path=("session", "delete"),
    arguments={"ids": ["ses_a", "ses_b"], "older_than": None},
    account="ada",
    max_effect="dangerous",
    workspace="sha256:77",
    request_id="pr-118",
)
TARGETS = ["ses_a", "ses_b"]
VERSIONS = {"ses_a": "sha256:aa", "ses_b": "sha256:bb"}
CLAIMS = ConfirmClaims(
    arguments=arguments_digest(SCOPE),
    targets=targets_digest(TARGETS),
    versions=versions_digest(VERSIONS),
    expires_at=NOW + LIFETIME_SECONDS,
    nonce="00112233445566ff",
)
TOKEN = mint_confirm(KEY, CLAIMS)


def check_reason(raised: pytest.ExceptionInfo[Fault], reason: str) -> None:
    check_refusal(raised, catalogue.E_CONFLICT, "Nothing was done. Run the command again", reason=reason)
    assert TOKEN not in raised.value.message


def test_a_token_is_payload_and_mac_in_two_parts() -> None:
    left, right = TOKEN.removeprefix("ct_").split(".")
    payload = base64.urlsafe_b64decode(left + "=" * (-len(left) % 4))
    mac = base64.urlsafe_b64decode(right + "=" * (-len(right) % 4))

    assert json.loads(payload) == {
        "arguments": CLAIMS.arguments,
        "targets": CLAIMS.targets,
        "versions": CLAIMS.versions,
        "expires_at": NOW + 900,
        "nonce": "00112233445566ff",
    }
    assert mac == hmac.new(KEY, b"handrail.confirm\0" + payload, hashlib.sha256).digest()[:16]
    assert len(TOKEN) < 350


def test_the_same_call_passes_every_check() -> None:
    claims = read_confirm([OTHER_KEY, KEY], f'"{TOKEN}"\n', now=NOW).claims

    check_arguments(claims, SCOPE)
    check_targets(claims, TARGETS, VERSIONS)
    check_expiry(claims, NOW + LIFETIME_SECONDS - 1)


@pytest.mark.parametrize("prefix", ["", "ak_", "CT_", "ct-"])
def test_another_prefix_would_be_another_use_of_the_same_token(prefix: str) -> None:
    with pytest.raises(Fault) as raised:
        read_confirm([KEY], prefix + TOKEN.removeprefix("ct_"), now=NOW)

    check_reason(raised, "not_from_this_machine")


def test_even_a_signed_token_has_a_longest_length() -> None:
    def minted(length: int) -> str:
        return mint_confirm(KEY, msgspec.structs.replace(CLAIMS, arguments="x" * length))

    lengths = {len(minted(length)): minted(length) for length in range(150, 260)}
    with pytest.raises(Fault) as raised:
        read_confirm([KEY], lengths[min(length for length in lengths if length > 512)], now=NOW)

    longest = lengths[max(length for length in lengths if length <= 512)]
    assert read_confirm([KEY], longest, now=NOW).fingerprint == fingerprint(longest)
    check_reason(raised, "not_from_this_machine")


def test_surroundings_of_a_token_are_passed_over_in_bounds() -> None:
    around = " " * (1024 - len(TOKEN))

    with pytest.raises(Fault) as raised:
        read_confirm([KEY], f" {around}{TOKEN}", now=NOW)

    assert read_confirm([KEY], around + TOKEN, now=NOW).claims == CLAIMS
    check_reason(raised, "not_from_this_machine")


@pytest.mark.parametrize("expires_at", ["true", '"9999999999"', "1e300", "null"])
def test_signed_expiry_must_be_an_integer(expires_at: str) -> None:
    payload = (
        f'{{"arguments":"a","expires_at":{expires_at},"nonce":"00112233445566ff","targets":"t","versions":"v"}}'
    ).encode()
    mac = hmac.new(KEY, b"handrail.confirm\0" + payload, hashlib.sha256).digest()[:16]
    parts = [base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (payload, mac)]

    with pytest.raises(Fault) as raised:
        read_confirm([KEY], "ct_" + ".".join(parts), now=NOW)

    check_reason(raised, "not_from_this_machine")


@pytest.mark.promise("cli.token-binds")
@every_case(
    "change",
    [
        {"command_path": ("session", "show")},
        {"arguments": {"ids": ["ses_a"], "older_than": None}},
        {"arguments": {"ids": ["ses_b", "ses_a"], "older_than": None}},
        {"arguments": {"ids": ["ses_a", "ses_b"], "older_than": 0}},
        {"account": "eve"},
        {"max_effect": "write"},
        {"workspace": "sha256:78"},
        {"request_id": ""},
    ],
)
def test_another_call_has_other_arguments(change: dict[str, Any]) -> None:
    with pytest.raises(Fault) as raised:
        check_arguments(CLAIMS, msgspec.structs.replace(SCOPE, **change))

    check_reason(raised, "arguments_changed")


@pytest.mark.promise("cli.spelling-no-scope")
def test_the_order_in_which_arguments_were_given_is_not_bound() -> None:
    swapped = msgspec.structs.replace(SCOPE, arguments={"older_than": None, "ids": ["ses_a", "ses_b"]})

    check_arguments(CLAIMS, swapped)


@pytest.mark.promise("cli.token-version")
@every_case(
    ("targets", "versions"),
    [
        (["ses_b", "ses_a"], VERSIONS),
        (["ses_a"], VERSIONS),
        ([], VERSIONS),
        (TARGETS, VERSIONS | {"ses_a": "sha256:ab"}),
        (TARGETS, {"ses_a": "sha256:aa"}),
        (TARGETS, {}),
    ],
)
def test_other_targets_or_versions_are_a_changed_target(targets: list[str], versions: dict[str, str]) -> None:
    with pytest.raises(Fault) as raised:
        check_targets(CLAIMS, targets, versions)

    check_reason(raised, "target_changed")


def test_the_three_digests_never_stand_for_each_other() -> None:
    assert targets_digest([]) != versions_digest({})


def test_a_short_nonce_is_a_broken_assumption() -> None:
    with pytest.raises(AssertionError):
        mint_confirm(KEY, msgspec.structs.replace(CLAIMS, nonce="00"))
