"""A signed statement is read only in the one spelling that is written: a key twice is no receipt."""

from __future__ import annotations

from handrail.contract.dsse import STATEMENT_TYPE, read_envelope, write_envelope
from handrail.contract.json.canonical import canonical_bytes


def test_statement_is_read_in_its_one_spelling() -> None:
    payload = canonical_bytes({"_type": STATEMENT_TYPE, "subject": []})
    twice = payload[:-1] + b',"subject":["other"]}'

    read = read_envelope(write_envelope(payload, "k", b"s"))

    assert read is not None
    assert read.statement["subject"] == []
    assert read_envelope(write_envelope(twice, "k", b"s")) is None
    assert read_envelope(write_envelope(payload + b" ", "k", b"s")) is None


def test_what_has_no_canonical_spelling_is_no_receipt() -> None:
    def write(value: bytes) -> bytes:
        return write_envelope(b'{"_type":"%s","subject":%s}' % (STATEMENT_TYPE.encode(), value), "k", b"s")

    assert read_envelope(write(b"[1]")) is not None
    for value in (b"123456789012345678901234567890", b"1e999", b"[" * 900 + b"]" * 900):
        assert read_envelope(write(value)) is None, value
