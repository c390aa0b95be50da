"""A folded history survives the way into the cache and back; bytes of another form are not recognised."""

from __future__ import annotations

import msgspec
import pytest

from handrail.contract.ids import SessionId
from handrail.engine.folding import extend, fold
from handrail.engine.remembering import decode_history, encode_history, form
from handrail.ports import Record
from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, start


def records_of(runtime: Runtime) -> tuple[SessionId, tuple[Record, ...]]:
    """A session with a fork, a context and notes."""
    first = start(runtime, context={"ticket": 7})
    session_id = SessionId(first["session"]["sessionId"])
    second = advance(runtime, first, "notes of the first step")
    advance(runtime, second, "notes of the second step")
    loaded = runtime.log.load(session_id)
    assert loaded is not None
    return session_id, loaded.records


def test_a_history_comes_back_as_it_was_and_can_grow(runtime: Runtime) -> None:
    session_id, records = records_of(runtime)
    cases = [fold(session_id, records[:count]) for count in range(len(records) + 1)]

    for history in cases:
        back = decode_history(encode_history(history))

        assert back == history
        assert back is not None
        assert extend(back, records[history.head :]) == cases[-1]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode({"form": "another program", "history": {}}),
        msgspec.msgpack.encode({"form": form(), "history": {"head": "many"}}),
        msgspec.msgpack.encode([1, 2, 3]),
    ],
)
def test_bytes_of_another_form_are_not_recognised(content: bytes) -> None:
    assert decode_history(content) is None


def test_a_history_that_another_program_folded_is_not_recognised(runtime: Runtime) -> None:
    session_id, records = records_of(runtime)
    content = encode_history(fold(session_id, records))

    assert decode_history(content.replace(form().encode(), b"0" * 64)) is None
