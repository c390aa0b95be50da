"""A folded history survives the way into the cache and back; bytes of another form are not recognised."""

from __future__ import annotations

import msgspec
import pytest

from handrail.contract.ids import NodeId, RunId, SessionId
from handrail.engine.folding import extend, fold, grow_context
from handrail.engine.history import NOTHING_INHERITED, History, Inherited, Node
from handrail.engine.navigate import Complete
from handrail.ports.log import Record
from handrail.runtime.history_cache import decode_history, encode_history, fingerprint_structs
from handrail.runtime.runtime import Runtime
from tests.cases import every_case
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


@every_case(
    "content",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode({"form": "another program", "history": {}}),
        msgspec.msgpack.encode({"form": fingerprint_structs(), "history": {"head": "many"}}),
        msgspec.msgpack.encode([1, 2, 3]),
    ],
)
def test_bytes_of_another_form_are_not_recognised(content: bytes) -> None:
    assert decode_history(content) is None


def test_a_history_that_another_program_folded_is_not_recognised(runtime: Runtime) -> None:
    session_id, records = records_of(runtime)
    content = encode_history(fold(session_id, records))

    assert decode_history(content.replace(fingerprint_structs().encode(), b"0" * 64)) is None


def test_inherited_facts_are_written_once() -> None:
    def size_of(count: int) -> int:
        return len(encode_history(line_of(count)))

    growth = [size_of(count + 10) - size_of(count) for count in (20, 200)]

    assert growth[1] < 1.2 * growth[0]


def line_of(count: int) -> History:
    """So many nodes below each other; each adds a key of its own to a context that all hold."""
    nodes, inherited, held = {}, {}, NOTHING_INHERITED
    for number in range(count):
        node_id = NodeId(f"nod_{number:012d}")
        held = msgspec.structs.replace(
            held, context=grow_context(held.context, {f"key{number:04d}": "x" * 40})
        )
        inherited[node_id] = held
        nodes[node_id] = Node(
            node_id=node_id,
            run_id=RunId("run_000000000000"),
            kind="step",
            parent=NodeId(f"nod_{number - 1:012d}") if number else None,
            state=Complete(),
            tag=f"{number:08d}",
            index=number,
            at="2027-01-15T08:00:00.000Z",
            steps_done=number,
        )
    history = History(
        session_id=SessionId("ses_000000000000"), head_digest="", nodes=nodes, inherited=inherited
    )
    back = decode_history(encode_history(history))
    assert back == history
    return history


@pytest.mark.parametrize(
    "changed",
    [
        Inherited(context={"b": 2}),
        Inherited(context={"b": 2, "a": 1}),
        Inherited(context={"a": 1, "b": 3}, seen={"git_branch": "main"}),
        Inherited(context={"a": 1, "b": 2, "c": 3}, artifacts={"k": {"x": 1}}),
    ],
)
def test_node_that_differs_from_its_parent_comes_back_exactly(
    changed: Inherited,
) -> None:
    history = line_of(2)
    first, second = history.nodes
    parents = {first: Inherited(context={"a": 1, "b": 2}), second: changed}
    history = msgspec.structs.replace(history, inherited=parents)

    back = decode_history(encode_history(history))

    assert back == history
    assert list(back.inherited[second].context) == list(changed.context)
