"""A signed statement is read only in the one spelling that is written: a key twice is no receipt."""

from __future__ import annotations

from handrail.contract.dsse import STATEMENT_TYPE, read_envelope, write_envelope
from handrail.contract.json.canonical import canonical_bytes


def test_a_statement_is_read_as_it_was_written_and_in_no_other_spelling() -> None:
    payload = canonical_bytes({"_type": STATEMENT_TYPE, "subject": []})
    twice = payload[:-1] + b',"subject":["other"]}'

    read = read_envelope(write_envelope(payload, "k", b"s"))

    assert read is not None
    assert read.statement["subject"] == []
    assert read_envelope(write_envelope(twice, "k", b"s")) is None
    assert read_envelope(write_envelope(payload + b" ", "k", b"s")) is None
