"""The provenance of a file as an index gives it (PEP 740): attestations in, Sigstore bundles out. Pure."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from handrail.contract.release_identity import PUBLISH_STATEMENT

MOST_BYTES = 1_048_576
MOST_ATTESTATIONS = 16
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
STATEMENT = "application/vnd.in-toto+json"
_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"


class _Material(msgspec.Struct, frozen=True, kw_only=True):
    certificate: str
    transparency_entries: list[dict[str, Any]]


class _Envelope(msgspec.Struct, frozen=True, kw_only=True):
    statement: str
    signature: str


class _Attestation(msgspec.Struct, frozen=True, kw_only=True):
    version: Annotated[int, Meta(ge=1, le=1)]
    verification_material: _Material
    envelope: _Envelope


class _Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """What the index says about the publisher is not read: only the certificate counts."""

    attestations: list[_Attestation]


class _Provenance(msgspec.Struct, frozen=True, kw_only=True):
    version: Annotated[int, Meta(ge=1, le=1)]
    attestation_bundles: list[_Bundle]


class _Subject(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    digest: dict[str, str]


class _Statement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    type: str = msgspec.field(name="_type")
    subject: list[_Subject]
    predicate_type: str


def bundles_of(provenance: bytes) -> tuple[str, ...]:
    """Every attestation as a bundle. Raises ValueError when it is no provenance, or one without limits."""
    if len(provenance) > MOST_BYTES:
        raise ValueError("it is too large")
    try:
        read = msgspec.json.decode(provenance, type=_Provenance)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as trouble:
        raise ValueError("it does not read as one") from trouble
    found = [one for bundle in read.attestation_bundles for one in bundle.attestations]
    if len(found) > MOST_ATTESTATIONS:
        raise ValueError("it holds too many attestations")
    return tuple(_bundle(one) for one in found)


def _bundle(one: _Attestation) -> str:
    """The same parts under the names that Sigstore gives them."""
    material = one.verification_material
    return msgspec.json.encode(
        {
            "mediaType": BUNDLE,
            "verificationMaterial": {
                "certificate": {"rawBytes": material.certificate},
                "tlogEntries": material.transparency_entries,
            },
            "dsseEnvelope": {
                "payload": one.envelope.statement,
                "payloadType": STATEMENT,
                "signatures": [{"sig": one.envelope.signature}],
            },
        }
    ).decode()


def is_about(statement: bytes, filename: str, sha256: str) -> bool:
    """Whether a statement publishes exactly this file with exactly this content."""
    try:
        read = msgspec.json.decode(statement, type=_Statement)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return (
        read.type == _STATEMENT_TYPE
        and read.predicate_type == PUBLISH_STATEMENT
        and len(read.subject) == 1
        and read.subject[0].name == filename
        and read.subject[0].digest.get("sha256") == sha256
    )
