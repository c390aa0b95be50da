"""The note of the last durable commit: what is read of a whole, an old, a missing and a damaged one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.event_log.files.commit import LOCK_NAME, Note, is_known_durable, read_note, write_note
from handrail.event_log.files.disk import Disk
from handrail.event_log.files.manifest import Tip

TIP = Tip(end=1_234, sum="a" * 64, digest="")


@pytest.fixture
def folder(tmp_path: Path) -> int:
    return os.open(tmp_path, os.O_RDONLY)


def written(tmp_path: Path) -> bytes:
    lock = os.open(tmp_path / LOCK_NAME, os.O_RDWR | os.O_CREAT)
    write_note(Disk(), lock, TIP)
    os.close(lock)
    return (tmp_path / LOCK_NAME).read_bytes()


def test_note_reads_back_what_was_written(tmp_path: Path, folder: int) -> None:
    written(tmp_path)

    note = read_note(Disk(), folder)

    assert note == Note(end=1_234, sum="a" * 64)
    assert is_known_durable(note, TIP)


@pytest.mark.parametrize("place", [0, 19, 21, 84, 86, 101])
def test_damaged_note_proves_only_a_first_line(tmp_path: Path, folder: int, place: int) -> None:
    content = bytearray(written(tmp_path))
    content[place] ^= 1
    (tmp_path / LOCK_NAME).write_bytes(content)

    note = read_note(Disk(), folder)

    assert note == Note(end=1)
    assert not is_known_durable(note, TIP)


def test_cut_note_proves_only_a_first_line(tmp_path: Path, folder: int) -> None:
    (tmp_path / LOCK_NAME).write_bytes(written(tmp_path)[:50])

    assert read_note(Disk(), folder) == Note(end=1)


def test_note_of_an_older_version_has_only_the_end(tmp_path: Path, folder: int) -> None:
    (tmp_path / LOCK_NAME).write_bytes(b"%020d" % 1_234)

    note = read_note(Disk(), folder)

    assert note == Note(end=1_234)
    assert is_known_durable(note, TIP)


def test_session_without_a_note_has_none(tmp_path: Path, folder: int) -> None:
    assert read_note(Disk(), folder) is None
    assert not is_known_durable(None, TIP)
