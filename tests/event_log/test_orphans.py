"""Events that nothing attests: what a dead writer left is written over, what was attested once is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.event_log.files.log import FileLog
from handrail.ports.log import Committed, Draft
from tests.event_log.log_promises import A, append, code_of, draft, plan
from tests.event_log.test_file_damage import EVENTS, MANIFEST, check_health, left_by_a_crash


def stamped(key: str, second: int, size: int = 300) -> Draft:
    return draft(key, b'{"v":1,"at":"2026-01-01T00:00:%02d.000Z","t":"%s"}' % (second, b"y" * size))


def orphaned(data: Path, plans: list[list[Draft]], note: bytes) -> tuple[FileLog, Path, bytes]:
    """A first commit, and plans of which only the events are left. The bytes that nothing attests."""
    log = FileLog(str(data))
    append(log, A, 0, plan("a:0"))
    session = data / "sessions" / A
    manifest, start = (session / MANIFEST).read_bytes(), (session / EVENTS).stat().st_size
    head = 1
    for one in plans:
        append(log, A, head, one)
        head += len(one)
    (session / MANIFEST).write_bytes(manifest)
    (session / "lock").write_bytes(note)
    return FileLog(str(data)), session, (session / EVENTS).read_bytes()[start:]


def test_orphans_with_any_lost_sector_are_those_of_a_writer(tmp_path: Path) -> None:
    one = [stamped(f"b:{number}", 7) for number in range(9)]
    log, session, orphans = orphaned(tmp_path, [one], b"")
    whole = (session / EVENTS).read_bytes()
    start = len(whole) - len(orphans)

    for shift in range(0, 512, 7):  # wherever the sectors of a disk would lie in these lines
        for low in range(start + shift, len(whole), 512):
            (session / EVENTS).write_bytes(
                whole[:low] + bytes(len(whole[low : low + 512])) + whole[low + 512 :]
            )
            check_health(log, "healthy", "", 1)


@pytest.mark.parametrize("note", [b"", b"rubbish"])
def test_orphans_of_two_commits_were_attested_once(tmp_path: Path, note: bytes) -> None:
    plans = [[stamped("b:0", 7), stamped("b:1", 7)], [stamped("c:0", 8)]]
    log, session, _ = orphaned(tmp_path, plans, note)
    before = (session / EVENTS).read_bytes()

    check_health(log, "corrupt_tail", "history_lost", 1)
    assert code_of(lambda: append(FileLog(str(tmp_path)), A, 1, plan("d:0"))) == "SESSION_NOT_HEALTHY"
    assert (session / EVENTS).read_bytes() == before


def test_a_warm_writer_cuts_no_events_of_two_commits(tmp_path: Path) -> None:
    log = FileLog(str(tmp_path))
    append(log, A, 0, plan("a:0"))
    with (tmp_path / "sessions" / A / EVENTS).open("ab") as events:
        for second in (7, 8):
            one = stamped(f"b:{second}", second)
            events.write(b'{"dedupeKey":"%s","event":%s}\n' % (one.dedupe_key.encode(), one.body))
    before = (tmp_path / "sessions" / A / EVENTS).read_bytes()

    assert code_of(lambda: append(log, A, 1, plan("c:0"))) == "SESSION_NOT_HEALTHY"
    assert (tmp_path / "sessions" / A / EVENTS).read_bytes() == before


def test_line_lost_with_its_note_looks_never_written(
    tmp_path: Path,
) -> None:
    """The end of what the store can tell by itself: only a token from the lost commit knows better."""
    log, session = left_by_a_crash(tmp_path, "missing")
    whole = (session / MANIFEST).read_bytes()

    (session / MANIFEST).write_bytes(whole[: whole[:-1].rindex(b"\n") + 1])

    check_health(log, "healthy", "", 3)


def test_broken_import_is_made_again_over_its_own_events(tmp_path: Path) -> None:
    """Its events carry many times; those of another session are not cut off for it."""
    moved = [stamped(f"i:{number}", number, 900) for number in range(4)]
    other = [stamped(f"o:{number}", number, 900) for number in range(4)]
    log = FileLog(str(tmp_path))
    append(log, A, 0, moved)
    session = tmp_path / "sessions" / A
    whole = (session / EVENTS).read_bytes()
    for left in (whole, whole[:1_500], whole[:512] + bytes(512) + whole[1_024:]):
        (session / MANIFEST).unlink(missing_ok=True)
        (session / "lock").write_bytes(b"")
        (session / EVENTS).write_bytes(left)

        refused = code_of(lambda: append(FileLog(str(tmp_path)), A, 0, other))
        again = append(FileLog(str(tmp_path)), A, 0, [*moved[:-1], stamped("label", 59)])

        assert (refused, type(again)) == ("SESSION_NOT_HEALTHY", Committed)
