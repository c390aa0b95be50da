"""What the store on disk says about torn, cut, changed and alien bytes: the tables of the log format."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Fault
from handrail.event_log.files.disk import Disk
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.segments import SegmentLimits
from handrail.ports.log import Committed
from tests.event_log.log_promises import A, B, append, blob, code_of, draft, keys, load, plan

EVENTS = "events-000001.jsonl"
MANIFEST = "manifest.jsonl"


def three_commits(data: Path, limits: SegmentLimits | None = None) -> tuple[FileLog, Path]:
    """Events 0 and 1, then 2, then 3 and 4; one blob. The session directory beside the log."""
    log = FileLog(str(data), limits=limits)
    append(log, A, 0, plan("a:0", "a:1"), [blob(b"abc")])
    append(log, A, 2, plan("a:2"))
    append(log, A, 3, plan("a:3", "a:4"))
    return log, data / "sessions" / A


def left_by_a_crash(data: Path, note: str = "older") -> tuple[FileLog, Path]:
    """The same, as it is when the writer of the third commit died before it could note it."""
    log, session = three_commits(data)
    content = {"older": note_of_two_commits(data), "missing": b"", "rubbish": b"rubbish"}[note]
    (session / "lock").write_bytes(content)
    return log, session


def note_of_two_commits(data: Path) -> bytes:
    log = FileLog(str(data / "other"))
    append(log, A, 0, plan("a:0", "a:1"), [blob(b"abc")])
    append(log, A, 2, plan("a:2"))
    return (data / "other" / "sessions" / A / "lock").read_bytes()


def check_health(log: FileLog, state: str, reason: str, proven: int) -> None:
    loaded = load(log, A)

    assert (loaded.health.state, loaded.health.reason) == (state, reason)
    assert keys(loaded) == [f"a:{number}" for number in range(proven)]
    assert loaded.head == proven


def check_goes_on(log: FileLog, head: int) -> None:
    """The session takes the next commit and gives everything back."""
    before = keys(log.load(A))

    answer = append(log, A, head, plan("new:1", "new:2"))

    assert isinstance(answer, Committed)
    assert keys(FileLog(log.sessions.removesuffix("/sessions")).load(A)) == [*before, "new:1", "new:2"]
    assert load(log, A).health.state == "healthy"


# Bytes that nothing attests


@pytest.mark.parametrize("note", ["older", "missing", "rubbish"])
def test_torn_manifest_is_the_session_before_that_commit(tmp_path: Path, note: str) -> None:
    log, session = left_by_a_crash(tmp_path, note)
    whole = (session / MANIFEST).read_bytes()
    last_line = whole[:-1].rfind(b"\n") + 1

    for cut in range(last_line, len(whole)):
        (session / MANIFEST).write_bytes(whole[:cut])

        check_health(log, "healthy", "", 3)


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_a_session_with_a_torn_manifest_takes_the_next_commit(tmp_path: Path, part: float) -> None:
    log, session = left_by_a_crash(tmp_path)
    whole = (session / MANIFEST).read_bytes()
    last_line = whole[:-1].rfind(b"\n") + 1

    (session / MANIFEST).write_bytes(whole[: last_line + int(part * (len(whole) - 1 - last_line))])

    check_goes_on(log, 3)


def test_torn_first_commit_leaves_no_session(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:0", "a:1"))
    manifest = tmp_path / "sessions" / A / MANIFEST
    whole = manifest.read_bytes()
    manifest.with_name("lock").write_bytes(b"")  # nobody has noted yet that the line is durable

    for cut in range(len(whole)):
        manifest.write_bytes(whole[:cut])

        assert log.load(A) is None
        assert list(log.list_sessions()) == []

    check_goes_on(log, 0)


def test_last_line_without_its_sectors_is_not_committed(tmp_path: Path) -> None:
    log, session = three_commits(tmp_path)
    start = (session / MANIFEST).stat().st_size
    note = (session / "lock").read_bytes()
    append(log, A, 5, plan("a:5"), [blob(b"%d" % number) for number in range(14)])
    (session / "lock").write_bytes(note)
    whole = (session / MANIFEST).read_bytes()
    edges = sorted({start, len(whole), *range(0, len(whole), 512)})
    pieces = [(low, high) for low, high in itertools.pairwise(edges) if low >= start]
    assert len(pieces) == 4

    for lost in itertools.product((False, True), repeat=4):
        torn = bytearray(whole)
        for (low, high), is_lost in zip(pieces, lost, strict=True):
            torn[low:high] = bytes(high - low) if is_lost else torn[low:high]
        (session / MANIFEST).write_bytes(torn)

        check_health(log, "healthy", "", 5 if any(lost) else 6)
        assert (session / "lock").read_bytes() == note

    (session / MANIFEST).write_bytes(whole[: pieces[0][1]] + bytes(len(whole) - pieces[0][1]))
    check_goes_on(log, 5)


def events_of_the_last_commit(session: Path) -> tuple[int, int]:
    last = json.loads((session / MANIFEST).read_bytes().splitlines()[-1])
    return last["from"], last["to"]


def arrived_short(content: bytes, start: int) -> list[bytes]:
    return [content[:cut] for cut in (start, start + 1, len(content) - 1)]


def arrived_with_a_hole(content: bytes, start: int) -> list[bytes]:
    edges = sorted({start, len(content), *range(0, len(content), 512)})
    pieces = [(low, high) for low, high in itertools.pairwise(edges) if low >= start]
    return [content[:low] + bytes(high - low) + content[high:] for low, high in pieces]


@pytest.mark.parametrize("arrived", [arrived_short, arrived_with_a_hole])
@pytest.mark.parametrize("note", [b"", b"00000000000000000001", b"rubbish"])
def test_last_commit_without_its_events_is_not_committed(
    tmp_path: Path, arrived: Callable[[bytes, int], list[bytes]], note: bytes
) -> None:
    log, session = three_commits(tmp_path)
    append(log, A, 5, [draft("a:5", b'{"t":"%s"}' % (b"y" * 1500))])
    sound = {name: (session / name).read_bytes() for name in (EVENTS, MANIFEST)}
    start, _ = events_of_the_last_commit(session)

    for content in arrived(sound[EVENTS], start):
        (session / EVENTS).write_bytes(content)
        (session / MANIFEST).write_bytes(sound[MANIFEST])
        (session / "lock").write_bytes(note)

        check_health(FileLog(str(tmp_path)), "healthy", "", 5)
        for index in (1, 5, 6, 7):
            tail = FileLog(str(tmp_path)).load_since(A, index)
            assert tail is not None
            assert (tail.head, len(tail.records)) == (5, max(0, 5 - index))
        check_goes_on(FileLog(str(tmp_path)), 5)


@pytest.mark.parametrize("arrived", [arrived_short, arrived_with_a_hole])
def test_durable_commit_that_lost_its_events_is_damaged(
    tmp_path: Path, arrived: Callable[[bytes, int], list[bytes]]
) -> None:
    log, session = three_commits(tmp_path)
    start, _ = events_of_the_last_commit(session)

    for content in arrived((session / EVENTS).read_bytes(), start):
        (session / EVENTS).write_bytes(content)

        loaded = load(log, A)
        assert (loaded.health.state, loaded.head, loaded.digest) == ("corrupt_tail", 3, "")


@pytest.mark.parametrize("torn", [b"", b'{"v":1,"first":5,'])
def test_missing_events_under_an_earlier_line_are_damage(tmp_path: Path, torn: bytes) -> None:
    """Whoever wrote the next line knew that the commit before it was durable."""
    log, session = three_commits(tmp_path)
    if not torn:
        append(log, A, 5, plan("a:5"))
    with (session / MANIFEST).open("ab") as manifest:
        manifest.write(torn)
    (session / "lock").write_bytes(b"")

    cut_to(EVENTS, 180)(session)

    check_health(log, "corrupt_tail", "undecodable", 3)


def test_changed_byte_in_a_last_commit_is_damage(tmp_path: Path) -> None:
    log, session = three_commits(tmp_path)
    (session / "lock").unlink()

    flipped(EVENTS, 4)(session)

    check_health(log, "corrupt_tail", "digest_mismatch", 3)
    assert code_of(lambda: append(log, A, 3, plan("new:1"))) == "SESSION_NOT_HEALTHY"


@pytest.mark.parametrize("orphan", [b"x", b'{"dedupeKey":"a:5","event":{}}\n', b"\x00" * 5000])
def test_event_bytes_without_a_line_are_overwritten(tmp_path: Path, orphan: bytes) -> None:
    log, session = three_commits(tmp_path)
    with (session / EVENTS).open("ab") as events:
        events.write(orphan)

    check_health(log, "healthy", "", 5)
    check_goes_on(log, 5)
    assert (session / EVENTS).read_bytes().count(b"\n") == 7
    assert (session / EVENTS).read_bytes().endswith(b'"new:2"}}\n')


def test_unattested_segment_is_overwritten(tmp_path: Path) -> None:
    log, session = three_commits(tmp_path, SegmentLimits(max_events=5))
    (session / "events-000002.jsonl").write_bytes(b"left by a writer that died " * 100)

    check_health(log, "healthy", "", 5)
    check_goes_on(log, 5)
    assert (session / "events-000002.jsonl").read_bytes().count(b"\n") == 2


# Damage


def cut_to(name: str, size: int) -> Callable[[Path], None]:
    def damage(session: Path) -> None:
        (session / name).write_bytes((session / name).read_bytes()[:size])

    return damage


def flipped(name: str, line: int) -> Callable[[Path], None]:
    """Another bit in the last quarter of a line: in a body, or in a digest of the manifest."""

    def damage(session: Path) -> None:
        lines = (session / name).read_bytes().splitlines(keepends=True)
        changed = bytearray(lines[line])
        changed[len(changed) * 3 // 4] ^= 1
        lines[line] = bytes(changed)
        (session / name).write_bytes(b"".join(lines))

    return damage


def reordered(name: str, *order: int) -> Callable[[Path], None]:
    """The lines of a file in another order, some left out or repeated."""

    def damage(session: Path) -> None:
        lines = (session / name).read_bytes().splitlines(keepends=True)
        (session / name).write_bytes(b"".join(lines[number] for number in order))

    return damage


def without(name: str) -> Callable[[Path], None]:
    return lambda session: (session / name).unlink()


def unframed(session: Path) -> None:
    content = (session / EVENTS).read_bytes()
    (session / EVENTS).write_bytes(content.replace(b'{"dedupeKey":"a:2"', b'["dedupeKey":"a:2"'))


def with_merged_lines(session: Path) -> None:
    """The line feed after the second record changed, and the third record is torn."""
    lines = (session / MANIFEST).read_bytes().splitlines(keepends=True)
    (session / MANIFEST).write_bytes(lines[0] + lines[1][:-1] + b"\x0b" + lines[2][:40])


@pytest.mark.parametrize(
    ("damage", "state", "reason", "proven"),
    [
        pytest.param(flipped(EVENTS, 4), "corrupt_tail", "digest_mismatch", 3, id="event of the last commit"),
        pytest.param(
            flipped(EVENTS, 2), "corrupt_tail", "digest_mismatch", 2, id="event of a commit between"
        ),
        pytest.param(
            flipped(EVENTS, 1), "corrupt_head", "digest_mismatch", 0, id="event of the first commit"
        ),
        pytest.param(unframed, "corrupt_tail", "undecodable", 2, id="frame"),
        pytest.param(reordered(EVENTS, 0, 1, 2, 4, 3), "corrupt_tail", "digest_mismatch", 3, id="order"),
        pytest.param(cut_to(EVENTS, 180), "corrupt_tail", "undecodable", 3, id="segment cut in last commit"),
        pytest.param(cut_to(EVENTS, 10), "corrupt_head", "undecodable", 0, id="segment cut in first commit"),
        pytest.param(cut_to(EVENTS, 0), "corrupt_head", "undecodable", 0, id="segment empty"),
        pytest.param(without(EVENTS), "corrupt_head", "missing_segment", 0, id="segment missing"),
        pytest.param(flipped(MANIFEST, 2), "corrupt_tail", "digest_mismatch", 3, id="last line"),
        pytest.param(flipped(MANIFEST, 1), "corrupt_tail", "digest_mismatch", 2, id="line between"),
        pytest.param(flipped(MANIFEST, 0), "corrupt_head", "digest_mismatch", 0, id="first line"),
        pytest.param(reordered(MANIFEST, 0, 2), "corrupt_tail", "digest_mismatch", 2, id="line left out"),
        pytest.param(reordered(MANIFEST, 0, 1, 1), "corrupt_tail", "digest_mismatch", 3, id="line repeated"),
        pytest.param(
            reordered(MANIFEST, 1, 2), "corrupt_head", "digest_mismatch", 0, id="first line left out"
        ),
        pytest.param(with_merged_lines, "corrupt_tail", "undecodable", 2, id="line feed changed"),
    ],
)
def test_damage_is_named_and_the_part_before_is_readable(
    tmp_path: Path, damage: Callable[[Path], None], state: str, reason: str, proven: int
) -> None:
    log, session = three_commits(tmp_path)

    damage(session)

    check_health(log, state, reason, proven)
    check_closed(log, session, state, reason, proven)


def check_closed(log: FileLog, session: Path, state: str, reason: str, proven: int) -> None:
    """A session that is not sound takes nothing, not even a known key, and stays as it is."""
    before = {path.name: path.read_bytes() for path in session.iterdir()}

    for key, head in (("new:1", proven), ("a:0", 0)):
        with pytest.raises(Fault) as caught:
            append(log, A, head, plan(key))
        assert caught.value.kind.code == "SESSION_NOT_HEALTHY"
        assert caught.value.details == {
            "session_id": A,
            "health": state,
            "reason": reason,
            "event_index": proven,
        }

    assert {path.name: path.read_bytes() for path in session.iterdir()} == before
    assert [stamp.session_id for stamp in log.list_sessions()] == [A]
    with log.hold(A, 0) as hold:
        assert hold.load() == log.load(A)


def test_missing_later_segment_leaves_earlier_ones_readable(tmp_path: Path) -> None:
    log, session = three_commits(tmp_path, SegmentLimits(max_events=2))

    (session / "events-000002.jsonl").unlink()

    check_health(log, "corrupt_tail", "missing_segment", 2)


def test_a_session_under_the_name_of_another_is_damaged(tmp_path: Path) -> None:
    log, session = three_commits(tmp_path)

    shutil.copytree(session, session.with_name(B))

    loaded = load(log, B)
    assert (loaded.health.state, loaded.health.reason, loaded.records) == (
        "corrupt_head",
        "digest_mismatch",
        (),
    )


@pytest.mark.parametrize("length", [None, 20])  # older versions noted only the end
def test_a_missing_manifest_is_lost_history(tmp_path: Path, length: int | None) -> None:
    log, session = three_commits(tmp_path)
    (session / "lock").write_bytes((session / "lock").read_bytes()[:length])

    (session / MANIFEST).unlink()

    check_health(log, "corrupt_head", "history_lost", 0)
    check_closed(log, session, "corrupt_head", "history_lost", 0)


def test_missing_manifest_without_a_note_is_no_session(tmp_path: Path) -> None:
    """The one loss that nothing in the store tells: the line of a first commit, and its note."""
    log, session = three_commits(tmp_path)

    (session / MANIFEST).unlink()
    (session / "lock").unlink()

    assert log.load(A) is None
    assert list(log.list_sessions()) == []


class TakenBackMeanwhile(Disk):
    """A writer takes a commit back, and another one commits, between a reader's manifest and segment."""

    def __init__(self, session: Path, before: bytes, events_before: int) -> None:
        self.session = session
        self.before = before
        self.events_before = events_before
        self.has_happened = False

    def open(self, name: str, flags: int, directory: int) -> int:
        if name == EVENTS and not self.has_happened:
            self.has_happened = True
            (self.session / MANIFEST).write_bytes(self.before)
            cut_to(EVENTS, self.events_before)(self.session)
            append(FileLog(str(self.session.parent.parent)), A, 3, plan("other:3", "other:4", "other:5"))
        return super().open(name, flags, directory)


def test_reader_that_meets_a_withdrawn_commit_looks_again(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    session = tmp_path / "sessions" / A
    append(log, A, 0, plan("a:0", "a:1", "a:2"))
    before, events_before = (session / MANIFEST).read_bytes(), (session / EVENTS).stat().st_size
    note = (session / "lock").read_bytes()
    append(log, A, 3, plan("a:3", "a:4"))
    (session / "lock").write_bytes(note)  # its sync was refused, so nobody notes it

    loaded = FileLog(str(tmp_path), TakenBackMeanwhile(session, before, events_before)).load(A)

    assert keys(loaded) == ["a:0", "a:1", "a:2", "other:3", "other:4", "other:5"]
    assert loaded == log.load(A)


def test_fresh_reader_proves_what_comes_before_its_events(tmp_path: Path) -> None:
    log, session = three_commits(tmp_path)
    sound = load(log, A)
    assert FileLog(str(tmp_path)).load_since(A, 2) == msgspec.structs.replace(
        sound, records=sound.records[2:]
    )

    flipped(EVENTS, 0)(session)

    for index in (1, 2, 5):
        damaged = FileLog(str(tmp_path)).load_since(A, index)
        assert damaged is not None
        assert (damaged.records, damaged.head, damaged.health.state) == ((), 0, "corrupt_head")


# Lines that prove themselves and say something else


def line_by_hand(previous_sum: str, **fields: Any) -> tuple[bytes, str]:
    """A manifest line as the page on the log format describes it, and its sum."""
    body = json.dumps(fields, separators=(",", ":"))[:-1].encode()
    total = hashlib.sha256(bytes.fromhex(previous_sum) + body).hexdigest()
    return body + b',"sum":"' + total.encode() + b'"}\n', total


def fields_of(line: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(line)
    del fields["sum"]
    return fields


@pytest.mark.parametrize(
    ("change", "state", "reason"),
    [
        ({}, "healthy", ""),
        ({"v": 3}, "unknown_version", "unsupported_version"),
        ({"v": 3, "novelty": True}, "unknown_version", "unsupported_version"),
        ({"novelty": True}, "corrupt_tail", "undecodable"),
        ({"v": "1"}, "corrupt_tail", "undecodable"),
        ({"first": 4}, "corrupt_tail", "non_contiguous"),
        ({"last": 2}, "corrupt_tail", "non_contiguous"),
        ({"from": 0}, "corrupt_tail", "non_contiguous"),
        ({"to": 10}, "corrupt_tail", "non_contiguous"),
        ({"segment": "events-000003.jsonl", "from": 0}, "corrupt_tail", "non_contiguous"),
        ({"segment": "../../../x", "from": 0}, "corrupt_tail", "non_contiguous"),
        ({"segment": "events-000002.jsonl", "from": 0}, "corrupt_tail", "missing_segment"),
        ({"last": 5}, "corrupt_tail", "digest_mismatch"),
        ({"head": "00" * 32}, "corrupt_tail", "digest_mismatch"),
    ],
)
def test_a_sealed_line_must_still_fit_the_one_before_it(
    tmp_path: Path, change: dict[str, Any], state: str, reason: str
) -> None:
    log, session = three_commits(tmp_path)
    first, second, third = (session / MANIFEST).read_bytes().splitlines(keepends=True)

    forged, _ = line_by_hand(json.loads(second)["sum"], **{**fields_of(third), **change})
    (session / MANIFEST).write_bytes(first + second + forged)

    check_health(log, state, reason, 5 if state == "healthy" else 3)


def test_a_sealed_line_that_attests_no_bytes_is_damage(tmp_path: Path) -> None:
    log, session = three_commits(tmp_path)
    first, second, third = (session / MANIFEST).read_bytes().splitlines(keepends=True)
    fields = fields_of(third)

    forged, _ = line_by_hand(json.loads(second)["sum"], **{**fields, "to": fields["from"]})
    (session / MANIFEST).write_bytes(first + second + forged)

    check_health(log, "corrupt_tail", "non_contiguous", 3)


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({}, "healthy"),
        ({"first": 1, "last": 2}, "corrupt_head"),
        ({"segment": "events-000002.jsonl"}, "corrupt_head"),
        ({"segment": "../" + A + "/events-000001.jsonl"}, "corrupt_head"),
        ({"from": 36}, "corrupt_head"),
    ],
)
def test_a_sealed_first_line_must_begin_at_the_beginning(
    tmp_path: Path, change: dict[str, Any], state: str
) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:0", "a:1"))
    manifest = tmp_path / "sessions" / A / MANIFEST
    start = hashlib.sha256(b"handrail.manifest.v1\x00" + A.encode()).hexdigest()

    manifest.write_bytes(line_by_hand(start, **{**fields_of(manifest.read_bytes()), **change})[0])

    check_health(log, state, "" if state == "healthy" else "non_contiguous", 2 if state == "healthy" else 0)


def test_a_session_of_a_newer_version_is_shown_as_such(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:0"))
    manifest = tmp_path / "sessions" / A / MANIFEST
    start = hashlib.sha256(b"handrail.manifest.v1\x00" + A.encode()).hexdigest()

    manifest.write_bytes(line_by_hand(start, v=3, entirely="new")[0])

    check_health(log, "unknown_version", "unsupported_version", 0)


# Bit rot

CHANGES: list[tuple[str, Callable[[int], int]]] = [
    ("lowest bit", lambda byte: byte ^ 0x01),
    ("highest bit", lambda byte: byte ^ 0x80),
    ("all bits", lambda byte: byte ^ 0xFF),
    ("to zero", lambda byte: 0x00),
    ("to a line feed", lambda byte: 0x0A if byte != 0x0A else 0x20),
]


@pytest.mark.parametrize("change", [change for _, change in CHANGES], ids=[name for name, _ in CHANGES])
@pytest.mark.parametrize(("name", "is_harmless"), [(EVENTS, False), (MANIFEST, False), ("lock", True)])
@pytest.mark.thorough
def test_every_changed_byte_is_noticed_or_harmless(
    tmp_path: Path, name: str, is_harmless: bool, change: Callable[[int], int]
) -> None:
    log, session = three_commits(tmp_path)
    sound = load(log, A)
    whole = (session / name).read_bytes()

    for position, byte in enumerate(whole):
        (session / name).write_bytes(whole[:position] + bytes([change(byte)]) + whole[position + 1 :])
        loaded = load(log, A)

        is_noticed = loaded.health.state != "healthy"
        assert is_noticed != is_harmless, f"byte {position}"
        assert loaded.records == sound.records[: loaded.head], f"byte {position}"


def test_every_changed_byte_of_a_blob_is_noticed(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:0"), [blob(b"content")])
    ref = blob_ref(b"content")
    digest = ref.removeprefix("sha256:")
    path = tmp_path / "blobs" / digest[:2] / digest

    for position in range(7):
        changed = bytearray(b"content")
        changed[position] ^= 1
        path.write_bytes(changed)

        assert code_of(lambda: log.get_blob(ref)) == "STORE_CORRUPT"
