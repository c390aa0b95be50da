"""A signed statement as a file: in-toto Statement v1 in a DSSE envelope, with exactly one spelling.
Pure.

This module defines what is signed (`encode_for_signing`, the PAE of DSSE 1.0.2) and how a file is
read; the keys sign and verify elsewhere. A file that is not exactly what `write_envelope` writes is
no receipt, so no byte of it can change unnoticed.
"""

from __future__ import annotations

import binascii
from typing import Any

import msgspec

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
MOST_BYTES = 1_048_576
"""Largest size of a file with a statement."""


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signature in Base64, and the id of the key."""

    keyid: str
    sig: str


class Envelope(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A DSSE envelope with exactly one signature."""

    payload: str
    payload_type: str
    signatures: tuple[Signature, ...]


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file; its signature is verified elsewhere."""

    statement: dict[str, Any]
    signed: bytes
    """The bytes that the signature covers."""
    key_id: str
    signature: bytes


def encode_for_signing(payload: bytes) -> bytes:
    """Return the pre-authentication encoding of DSSE."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def write_envelope(payload: bytes, key_id: str, signature: bytes) -> bytes:
    """Return the content of the file, ending with a newline."""
    made = Envelope(
        payload=_encode(payload),
        payload_type=PAYLOAD_TYPE,
        signatures=(Signature(keyid=key_id, sig=_encode(signature)),),
    )
    return canonical_bytes(msgspec.to_builtins(made)) + b"\n"


def read_envelope(content: bytes) -> Read | None:
    """Return the statement of a file; None if the file is not, byte for byte, what `write_envelope`
    writes.
    """
    try:
        held = msgspec.json.decode(content, type=Envelope)
        payload = binascii.a2b_base64(held.payload, strict_mode=True)
        (one,) = held.signatures
        signature = binascii.a2b_base64(one.sig, strict_mode=True)
        statement = msgspec.json.decode(payload, type=dict[str, Any])
        spelled = canonical_bytes(statement)
    except (msgspec.MsgspecError, ValueError, RecursionError, Fault):
        return None
    if write_envelope(payload, one.keyid, signature) != content or statement.get("_type") != STATEMENT_TYPE:
        return None
    if spelled != payload:  # readers would resolve a repeated key differently
        return None
    return Read(
        statement=statement, signed=encode_for_signing(payload), key_id=one.keyid, signature=signature
    )


def _encode(content: bytes) -> str:
    return binascii.b2a_base64(content, newline=False).decode("ascii")
