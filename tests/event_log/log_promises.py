"""The promises of `handrail.ports.log.EventLog` as tests that any adapter can run.

Whoever writes another store subclasses `EventLogPromises` in a test module for pytest, names the class
`Test…` and gives it a `log` fixture with an empty store. Nothing here looks behind the port.
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Callable, Sequence

import msgspec
import pytest

from handrail.contract.ids import BlobRef, SessionId, blob_ref
from handrail.contract.outcome import Fault
from handrail.event_log.memory import MemoryLog
from handrail.ports.log import (
    Appended,
    Blob,
    Committed,
    Conflict,
    Draft,
    EventLog,
    Loaded,
    Remembered,
    Replayed,
)
from tests.event_log.conformance import compare_logs

WAIT_MS = 10_000
"""Long enough that a test which must get a hold gets it."""
THREAD_SECONDS = 120
A = SessionId("ses_000000000001")
B = SessionId("ses_000000000002")
C = SessionId("ses_000000000003")


def draft(key: str, body: bytes | None = None) -> Draft:
    return Draft(dedupe_key=key, body=body or b'{"key":"%s"}' % key.encode())


def plan(*keys: str) -> list[Draft]:
    return [draft(key) for key in keys]


def blob(content: bytes) -> Blob:
    return Blob(ref=BlobRef("sha256:" + hashlib.sha256(content).hexdigest()), content=content)


def append(
    log: EventLog, session_id: SessionId, head: int, drafts: Sequence[Draft], blobs: Sequence[Blob] = ()
) -> Appended:
    with log.hold(session_id, WAIT_MS) as hold:
        return hold.append(head, drafts, blobs)


def load(log: EventLog, session_id: SessionId) -> Loaded:
    loaded = log.load(session_id)
    assert loaded is not None
    return loaded


def keys(loaded: Loaded | None) -> list[str]:
    return [] if loaded is None else [record.dedupe_key for record in loaded.records]


def code_of(call: Callable[[], object]) -> str:
    """The catalogue code that a call is refused with."""
    with pytest.raises(Fault) as caught:
        call()
    return caught.value.kind.code


def chain_by_hand(session_id: str, drafts: Sequence[Draft]) -> list[str]:
    """The digests of docs/explanation/log-format.md, worked out without the code under test."""
    digest = hashlib.sha256(b"handrail.log.v1\x00" + session_id.encode()).digest()
    digests = []
    for item in drafts:
        digest = hashlib.sha256(digest + item.dedupe_key.encode() + b"\n" + item.body).digest()
        digests.append(digest.hex())
    return digests


def in_threads(work: Sequence[Callable[[], None]]) -> list[BaseException]:
    """Run these side by side and give back what went wrong in any of them."""
    troubles: list[BaseException] = []

    def guarded(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as trouble:  # noqa: BLE001 - a thread's failure must reach the test
            troubles.append(trouble)

    threads = [threading.Thread(target=guarded, args=(call,), daemon=True) for call in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(THREAD_SECONDS)
    assert not any(thread.is_alive() for thread in threads), "a thread did not end in time"
    return troubles


def append_with_retry(log: EventLog, session_id: SessionId, drafts: Sequence[Draft]) -> Appended:
    """What the runtime does: a Conflict means load and decide again."""
    head = 0
    while True:
        answer = append(log, session_id, head, drafts)
        if not isinstance(answer, Conflict):
            return answer
        head = answer.head


class EventLogPromises:
    """Every sentence of the port, as a test."""

    @pytest.fixture
    def log(self) -> EventLog:
        raise NotImplementedError("give the adapter under test, with an empty store")

    # EventReader.load

    def test_a_session_that_was_never_created_loads_as_none(self, log: EventLog) -> None:
        append(log, B, 0, plan("b:1"))

        assert log.load(A) is None
        assert log.load_since(A, 0) is None
        assert log.load_since(A, 5) is None

    def test_load_gives_every_event_in_order_and_bytes(self, log: EventLog) -> None:
        drafts = [draft("a:1", b'{"n":1}'), draft("a:2", '{"t":"grün \\n 🜁"}'.encode()), draft("a:3", b"{}")]

        append(log, A, 0, drafts[:2])
        append(log, A, 2, drafts[2:])

        loaded = load(log, A)
        assert [(r.index, r.dedupe_key, r.body) for r in loaded.records] == [
            (0, "a:1", b'{"n":1}'),
            (1, "a:2", '{"t":"grün \\n 🜁"}'.encode()),
            (2, "a:3", b"{}"),
        ]
        assert (loaded.head, loaded.digest) == (3, loaded.records[-1].digest)
        assert (loaded.health.state, loaded.health.reason) == ("healthy", "")

    def test_the_digests_are_the_documented_chain(self, log: EventLog) -> None:
        append(log, A, 0, [draft("a:1", b'{"n":1}'), draft("a:2", b'{"n":2}')])

        digests = [record.digest for record in load(log, A).records]

        assert digests == [
            "be46c31aa7a909ca91d3dc6bd04932636c749ac9143e53f9cda5113cb980aed7",
            "7071f7eb92a9eb1983ad8d6517b213913974e1c215e8f53600a161aba78be511",
        ]

    def test_chain_goes_on_over_commits_and_is_of_its_session(self, log: EventLog) -> None:
        drafts = plan("x:1", "x:2", "x:3")
        for session_id in (A, B):
            append(log, session_id, 0, drafts[:1])
            append(log, session_id, 1, drafts[1:])

        digests = {s: [record.digest for record in load(log, s).records] for s in (A, B)}

        assert digests == {A: chain_by_hand(A, drafts), B: chain_by_hand(B, drafts)}

    @pytest.mark.parametrize("size", [0, 511, 4096, 1_000_000])
    def test_a_body_of_any_size_comes_back_as_it_was(self, log: EventLog, size: int) -> None:
        body = b'{"text":"' + b"x" * size + b'"}'

        append(log, A, 0, [draft("a:1", body)])

        assert load(log, A).records[0].body == body

    @pytest.mark.parametrize(
        "body",
        [
            b'{"dedupeKey":"a:9","event":{}}',
            b'{"text":"\\",\\"event\\":{}}"}',
            b'{"event":{"event":{}}}',
            b'{"text":"\r\x0b\x0c\xc2\x85"}',
        ],
    )
    def test_body_in_the_format_of_the_store_comes_back_as_it_was(self, log: EventLog, body: bytes) -> None:
        append(log, A, 0, [draft("a:1", body), draft("a:2")])

        assert load(log, A).records[0].body == body
        assert keys(log.load(A)) == ["a:1", "a:2"]

    def test_load_waits_for_no_writer_and_sees_commits(self, log: EventLog) -> None:
        with log.hold(A, WAIT_MS) as hold:
            before = log.load(A)
            hold.append(0, plan("a:1"))
            after_one = keys(log.load(A))
            hold.append(1, plan("a:2"))
            after_two = keys(log.load(A))

        assert before is None
        assert after_one == ["a:1"]
        assert after_two == ["a:1", "a:2"]

    def test_a_reader_beside_a_writer_sees_only_whole_plans(self, log: EventLog) -> None:
        seen: list[list[str]] = []
        is_done = threading.Event()

        def write() -> None:
            try:
                for number in range(40):
                    append(log, A, 3 * number, plan(*(f"a:{number}:{part}" for part in range(3))))
            finally:
                is_done.set()

        def read() -> None:
            while not is_done.is_set():
                loaded = log.load(A)
                assert loaded is None or loaded.health.state == "healthy", loaded
                seen.append(keys(loaded))

        troubles = in_threads([write, read, read])

        everything = keys(log.load(A))
        assert troubles == []
        assert len(everything) == 120
        assert all(len(prefix) % 3 == 0 and everything[: len(prefix)] == prefix for prefix in seen)

    # EventReader.load_since

    @pytest.mark.parametrize("index", range(8))
    def test_load_since_gives_the_same_events_from_an_index_on(self, log: EventLog, index: int) -> None:
        append(log, A, 0, plan("a:1", "a:2", "a:3"))
        append(log, A, 3, plan("a:4"))
        append(log, A, 4, plan("a:5", "a:6"))

        everything, rest = load(log, A), log.load_since(A, index)

        assert rest == msgspec.structs.replace(everything, records=everything.records[index:])

    # EventReader.recall and SessionHold.remember

    def test_memo_is_recalled_or_forgotten_and_never_changed(self, log: EventLog) -> None:
        append(log, A, 0, plan("a:1", "a:2"))
        append(log, B, 0, plan("b:1"))

        with log.hold(A, WAIT_MS) as hold:
            hold.append(2, plan("a:3"))
            hold.remember(b"of three events")
            hold.append(3, plan("a:4"))
        recalled = log.recall(A)

        third = load(log, A).records[2]
        assert recalled in (None, Remembered(head=3, digest=third.digest, content=b"of three events"))
        assert log.recall(B) is None
        assert log.recall(C) is None
        assert log.recall(SessionId("../../x")) is None

    def test_the_newest_thing_worked_out_replaces_the_one_before(self, log: EventLog) -> None:
        with log.hold(A, WAIT_MS) as hold:
            for number, content in enumerate((b"a long content", b"short", b"a much longer content")):
                hold.append(number, plan(f"a:{number}"))
                hold.remember(content)
                recalled = log.recall(A)

                assert recalled is None or (recalled.head, recalled.content) == (number + 1, content)

    def test_nothing_is_remembered_of_nothing_or_after_the_scope(self, log: EventLog) -> None:
        with log.hold(A, WAIT_MS) as hold:
            hold.remember(b"of nothing")

        with pytest.raises(AssertionError):
            hold.remember(b"too late")
        assert (log.recall(A), log.load(A), list(log.list_sessions())) == (None, None, [])

    # EventReader.list_sessions

    def test_sessions_are_listed_by_last_activity_and_then_by_id(self, log: EventLog) -> None:
        for session_id in (C, A, B):
            append(log, session_id, 0, plan("x:1"))
        append(log, C, 1, plan("x:2"))

        stamps = log.list_sessions()

        assert [stamp.session_id for stamp in stamps] == [C, B, A]
        assert [stamp.order for stamp in stamps] == sorted((stamp.order for stamp in stamps), reverse=True)

    def test_looking_holding_and_refused_appends_are_not_activity(self, log: EventLog) -> None:
        append(log, A, 0, plan("a:1"))
        append(log, B, 0, plan("b:1"))

        log.load(A)
        append(log, A, 0, plan("a:1"))
        append(log, A, 7, plan("a:2"))

        assert [stamp.session_id for stamp in log.list_sessions()] == [B, A]

    # EventReader.get_blob

    def test_a_blob_comes_back_by_its_ref(self, log: EventLog) -> None:
        contents = [b"", b"\x00\xff\n", b"x" * 100_000]

        append(log, A, 0, plan("a:1"), [blob(content) for content in contents])

        assert [log.get_blob(blob(content).ref) for content in contents] == contents

    def test_a_blob_may_be_introduced_again_by_anyone(self, log: EventLog) -> None:
        append(log, A, 0, plan("a:1"), [blob(b"shared")])
        append(log, A, 1, plan("a:2"), [blob(b"shared")])
        append(log, B, 0, plan("b:1"), [blob(b"shared"), blob(b"shared")])

        assert log.get_blob(blob_ref(b"shared")) == b"shared"

    @pytest.mark.parametrize("ref", [blob_ref(b"never stored"), "sha256:../../etc/passwd", "md5:00", ""])
    def test_a_blob_that_is_not_there_is_reported_as_damage(self, log: EventLog, ref: str) -> None:
        append(log, A, 0, plan("a:1"), [blob(b"another")])

        assert code_of(lambda: log.get_blob(BlobRef(ref))) == "STORE_CORRUPT"

    # EventLog.hold

    def test_holding_alone_creates_nothing_that_shows(self, log: EventLog) -> None:
        with log.hold(A, WAIT_MS) as hold:
            inside = (hold.load(), log.load(A), list(log.list_sessions()))

        assert inside == (None, None, [])
        assert (log.load(A), list(log.list_sessions())) == (None, [])

    def test_missing_session_is_not_held_as_an_existing_one(self, log: EventLog) -> None:
        def hold() -> Appended:
            with log.hold_existing(A, WAIT_MS) as held:
                return held.append(1, plan("a:1"))

        missing = code_of(hold)
        append(log, A, 0, plan("a:0"))

        assert missing == "SESSION_NOT_FOUND"
        assert isinstance(hold(), Committed)
        assert keys(log.load(A)) == ["a:0", "a:1"]

    @pytest.mark.parametrize("waits", [0, 5])
    def test_a_second_writer_is_told_that_the_session_is_locked(self, log: EventLog, waits: int) -> None:
        def second() -> None:
            with pytest.raises(Fault) as caught, log.hold(A, waits):
                pass
            assert caught.value.kind.code == "SESSION_LOCKED"
            assert caught.value.details["session_id"] == A
            assert caught.value.details["waited_ms"] >= waits

        with log.hold(A, WAIT_MS):
            second()
            troubles = in_threads([second])

        assert troubles == []

    def test_holds_of_different_sessions_do_not_meet(self, log: EventLog) -> None:
        with log.hold(A, WAIT_MS) as hold, log.hold(B, 0) as other:
            hold.append(0, plan("a:1"))
            other.append(0, plan("b:1"))

        assert (keys(log.load(A)), keys(log.load(B))) == (["a:1"], ["b:1"])

    def test_a_waiting_writer_gets_the_hold_when_the_first_lets_go(self, log: EventLog) -> None:
        is_waiting = threading.Event()

        def second() -> None:
            is_waiting.set()
            append(log, A, 1, plan("a:2"))

        with log.hold(A, WAIT_MS) as hold:
            thread = threading.Thread(target=second, daemon=True)
            thread.start()
            assert is_waiting.wait(THREAD_SECONDS)
            hold.append(0, plan("a:1"))
        thread.join(THREAD_SECONDS)

        assert keys(log.load(A)) == ["a:1", "a:2"]

    def test_a_hold_ends_when_its_scope_fails(self, log: EventLog) -> None:
        with pytest.raises(KeyError), log.hold(A, WAIT_MS):
            raise KeyError("the caller's own trouble")

        with log.hold(A, 0) as hold:
            assert hold.load() is None

    def test_io_trouble_of_the_caller_passes_through_a_hold(self, log: EventLog) -> None:
        with pytest.raises(ConnectionResetError), log.hold(A, WAIT_MS):
            raise ConnectionResetError

    def test_a_hold_is_dead_after_its_scope(self, log: EventLog) -> None:
        with log.hold(A, WAIT_MS) as hold:
            hold.append(0, plan("a:1"))

        with pytest.raises(AssertionError):
            hold.append(1, plan("a:2"))
        with pytest.raises(AssertionError):
            hold.load()
        with pytest.raises(AssertionError):
            hold.load_since(0)
        assert keys(log.load(A)) == ["a:1"]

    @pytest.mark.parametrize(
        "name", ["", ".", "..", "../../x", "ses_", "ses_../../../x", "SES_000000000001", A + "\n"]
    )
    def test_a_name_that_is_no_session_id_is_never_found(self, log: EventLog, name: str) -> None:
        session_id = SessionId(name)

        assert log.load(session_id) is None
        assert code_of(lambda: log.hold(session_id, 0).__enter__()) == "SESSION_NOT_FOUND"

    # SessionHold

    def test_load_under_a_hold_shows_the_holds_own_commits(self, log: EventLog) -> None:
        append(log, A, 0, plan("a:1"))

        with log.hold(A, WAIT_MS) as hold:
            before = keys(hold.load())
            hold.append(1, plan("a:2", "a:3"))
            after = hold.load()

        assert before == ["a:1"]
        assert keys(after) == ["a:1", "a:2", "a:3"]
        assert after == log.load(A)

    @pytest.mark.parametrize("index", range(5))
    def test_load_since_under_a_hold_gives_the_same_from_an_index_on(self, log: EventLog, index: int) -> None:
        append(log, A, 0, plan("a:1", "a:2"))

        with log.hold(A, WAIT_MS) as hold, log.hold(B, WAIT_MS) as new:
            hold.append(2, plan("a:3"))
            rest, nothing = hold.load_since(index), new.load_since(index)

        everything = load(log, A)
        assert rest == msgspec.structs.replace(everything, records=everything.records[index:])
        assert nothing is None

    def test_a_commit_answers_with_exactly_the_new_records(self, log: EventLog) -> None:
        append(log, A, 0, plan("a:1"))

        answer = append(log, A, 1, plan("a:2", "a:3"))

        assert answer == Committed(records=load(log, A).records[1:])

    def test_a_known_first_key_is_answered_with_its_record(self, log: EventLog) -> None:
        append(log, A, 0, plan("a:1", "a:2"))
        append(log, A, 2, plan("a:3"))
        before = load(log, A)

        answers = [append(log, A, head, plan("a:1", "a:new")) for head in (0, 3, 99)]

        assert answers == [Replayed(record=before.records[0])] * 3
        assert log.load(A) == before

    def test_a_key_known_within_a_plan_is_answered_too(self, log: EventLog) -> None:
        append(log, A, 0, plan("a:1", "a:2"))

        answer = append(log, A, 2, plan("a:2"))

        assert answer == Replayed(record=load(log, A).records[1])

    @pytest.mark.parametrize("head", [0, 1, 3, -1])
    def test_another_head_is_a_conflict_that_writes_nothing(self, log: EventLog, head: int) -> None:
        append(log, A, 0, plan("a:1", "a:2"))
        before = load(log, A)

        answer = append(log, A, head, plan("a:3"), [blob(b"of the refused plan")])

        assert answer == Conflict(head=2)
        assert log.load(A) == before
        assert code_of(lambda: log.get_blob(blob_ref(b"of the refused plan"))) == "STORE_CORRUPT"

    def test_a_new_session_has_head_zero(self, log: EventLog) -> None:
        assert append(log, A, 1, plan("a:1")) == Conflict(head=0)
        assert log.load(A) is None

    @pytest.mark.parametrize(
        "drafts",
        [
            [],
            plan("a:2", "a:2"),
            plan("a:2", "a:1"),
            [Draft(dedupe_key="", body=b"{}")],
            plan("A:2"),
            plan('a"2'),
            plan("a 2"),
            plan("ä"),
            plan("a" * 257),
            [draft("a:2", b'{"n":\n1}')],
            [draft("a:2", b"[]")],
        ],
    )
    def test_a_plan_that_cannot_be_is_a_broken_assumption(self, log: EventLog, drafts: list[Draft]) -> None:
        append(log, A, 0, plan("a:1"))

        with pytest.raises(AssertionError):
            append(log, A, 1, drafts)

        assert keys(log.load(A)) == ["a:1"]

    def test_a_key_may_be_as_long_as_the_limit(self, log: EventLog) -> None:
        append(log, A, 0, plan("a" * 256, "0_:>-z"))

        assert keys(log.load(A)) == ["a" * 256, "0_:>-z"]

    def test_a_blob_under_a_false_name_is_a_broken_assumption(self, log: EventLog) -> None:
        false = Blob(ref=blob_ref(b"one"), content=b"two")

        with pytest.raises(AssertionError):
            append(log, A, 0, plan("a:1"), [false])

        assert log.load(A) is None

    def test_writers_that_retry_lose_and_double_nothing(self, log: EventLog) -> None:
        def writer(name: str) -> Callable[[], None]:
            def work() -> None:
                for number in range(15):
                    append_with_retry(log, A, plan(f"{name}:{number}:1", f"{name}:{number}:2"))

            return work

        troubles = in_threads([writer(name) for name in ("p", "q", "r")])

        loaded = load(log, A)
        assert troubles == []
        assert [record.index for record in loaded.records] == list(range(90))
        assert sorted(keys(loaded)) == sorted(
            f"{name}:{number}:{part}" for name in "pqr" for number in range(15) for part in (1, 2)
        )

    def test_one_plan_sent_by_many_is_committed_once(self, log: EventLog) -> None:
        answers: list[Appended] = []

        troubles = in_threads([lambda: answers.append(append(log, A, 0, plan("a:1", "a:2")))] * 6)

        assert troubles == []
        assert sorted(type(answer).__name__ for answer in answers) == ["Committed"] + ["Replayed"] * 5
        assert keys(log.load(A)) == ["a:1", "a:2"]

    @pytest.mark.parametrize("seed", range(5))
    def test_any_mixture_of_calls_gives_what_the_log_in_memory_gives(self, log: EventLog, seed: int) -> None:
        chance = random.Random(seed)

        assert compare_logs(log, MemoryLog(), chance, 60) == []
