"""A provenance becomes bundles, and a statement is about one file or about nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.program.update.verify_release import is_about, read_bundles
from tests.cases import every_case

NAME, DIGEST = "handrail-7.1.0-py3-none-any.whl", "ab" * 32
ATTESTATION: dict[str, Any] = {
    "version": 1,
    "verification_material": {"certificate": "Y2VydA==", "transparency_entries": [{"logIndex": "1"}]},
    "envelope": {"statement": "c3RhdGVtZW50", "signature": "c2ln"},
}
STATEMENT: dict[str, Any] = {
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": NAME, "digest": {"sha256": DIGEST}}],
    "predicateType": "https://docs.pypi.org/attestations/publish/v1",
    "predicate": None,
}


def provenance(*bundles: list[dict[str, Any]]) -> bytes:
    listed = [{"publisher": {"kind": "GitHub"}, "attestations": one} for one in bundles]
    return json.dumps({"version": 1, "attestation_bundles": listed}).encode()


def test_the_parts_of_an_attestation_become_a_bundle() -> None:
    (bundle,) = read_bundles(provenance([ATTESTATION]))

    assert json.loads(bundle) == {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {
            "certificate": {"rawBytes": "Y2VydA=="},
            "tlogEntries": [{"logIndex": "1"}],
        },
        "dsseEnvelope": {
            "payload": "c3RhdGVtZW50",
            "payloadType": "application/vnd.in-toto+json",
            "signatures": [{"sig": "c2ln"}],
        },
    }


def test_the_attestations_of_all_publishers_count_in_order() -> None:
    other = {**ATTESTATION, "envelope": {"statement": "eA==", "signature": "c2ln"}}

    found = read_bundles(provenance([ATTESTATION], [], [other]))

    assert [json.loads(one)["dsseEnvelope"]["payload"] for one in found] == ["c3RhdGVtZW50", "eA=="]


def test_sixteen_attestations_are_read_and_no_more() -> None:
    assert len(read_bundles(provenance([ATTESTATION] * 16))) == 16
    with pytest.raises(ValueError, match="too many"):
        read_bundles(provenance([ATTESTATION] * 8, [ATTESTATION] * 9))


@every_case(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"version": 2, "attestation_bundles": []}',
        b'{"version": 1}',
        provenance([{**ATTESTATION, "version": 2}]),
        provenance([{**ATTESTATION, "envelope": None}]),
        b'{"version": 1, "attestation_bundles": ' + b"[" * 100_000,
        b" " * 1_048_577,
    ],
)
def test_what_is_no_provenance_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="it "):
        read_bundles(content)


def test_a_statement_about_the_file_is_known() -> None:
    assert is_about(json.dumps(STATEMENT).encode(), NAME, DIGEST)


@every_case(
    "change",
    [
        {"_type": "https://in-toto.io/Statement/v0.1"},
        {"predicateType": "https://slsa.dev/provenance/v1"},
        {"subject": []},
        {"subject": STATEMENT["subject"] * 2},
        {"subject": [{"name": "handrail-7.1.0.tar.gz", "digest": {"sha256": DIGEST}}]},
        {"subject": [{"name": NAME, "digest": {"sha256": "ab" * 31 + "ac"}}]},
        {"subject": [{"name": NAME, "digest": {"sha512": DIGEST}}]},
        {"subject": None},
    ],
)
def test_a_statement_about_anything_else_is_not(change: dict[str, Any]) -> None:
    assert not is_about(json.dumps({**STATEMENT, **change}).encode(), NAME, DIGEST)
