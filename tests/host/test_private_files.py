"""Private files: modes, whole writes, one creator, and a lock that ends with its process."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.host import private_files
from handrail.host.private_files import create_private, ensure_private_directory, lock_file, replace_private


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """Modes must come from the code, not from a careful umask."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_a_new_directory_and_its_new_parents_are_private(tmp_path: Path) -> None:
    ensure_private_directory(str(tmp_path / "a" / "b"))

    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o700, 0o700]


def test_existing_directory_is_closed_and_parents_stay(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a").chmod(0o755)
    (tmp_path / "a" / "b").chmod(0o755)

    ensure_private_directory(str(tmp_path / "a" / "b"))

    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o755, 0o700]


def test_a_file_in_the_way_of_a_directory_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "a").chmod(0o644)

    with pytest.raises(NotADirectoryError):
        ensure_private_directory(str(tmp_path / "a"))
    with pytest.raises(NotADirectoryError):
        ensure_private_directory(str(tmp_path / "a" / "b"))

    assert mode(tmp_path / "a") == 0o644


def test_a_relative_path_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    ensure_private_directory("keys")

    assert mode(tmp_path / "keys") == 0o700


def test_a_replaced_file_is_private_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "k"
    target.write_bytes(b"old")
    target.chmod(0o644)

    replace_private(str(target), b"new")

    assert (target.read_bytes(), mode(target), names(tmp_path)) == (b"new", 0o600, ["k"])


def test_a_created_file_is_private_even_under_a_strange_umask(tmp_path: Path) -> None:
    os.umask(0o777)

    is_made = create_private(str(tmp_path / "k"), (b"content",))

    assert is_made
    assert (mode(tmp_path / "k"), names(tmp_path)) == (0o600, ["k"])


def test_what_is_there_is_not_created_again(tmp_path: Path) -> None:
    create_private(str(tmp_path / "k"), (b"first",))

    is_made = create_private(str(tmp_path / "k"), (b"second",))

    assert not is_made
    assert ((tmp_path / "k").read_bytes(), names(tmp_path)) == (b"first", ["k"])


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP])
def test_without_hard_links_there_is_still_one_creator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "no links here")

    monkeypatch.setattr(os, "link", refuse)

    made = [create_private(str(tmp_path / "k"), (content,)) for content in (b"first", b"second")]

    assert made == [True, False]
    assert ((tmp_path / "k").read_bytes(), mode(tmp_path / "k"), names(tmp_path)) == (b"first", 0o600, ["k"])


@pytest.mark.parametrize("broken", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_content_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    target = tmp_path / "k"
    replace_private(str(target), b"old")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, broken, refuse)
    with pytest.raises(OSError, match="full"):
        replace_private(str(target), b"new")

    assert (target.read_bytes(), names(tmp_path)) == (b"old", ["k"])


def test_a_write_in_small_parts_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))

    replace_private(str(tmp_path / "k"), b"0123456789")

    assert (tmp_path / "k").read_bytes() == b"0123456789"


def test_content_is_synced_before_name_and_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Content is synced before its name and the name before the return."""
    calls = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        calls.append("sync")
        fsync(descriptor)

    def noted_replace(source: str, target: str) -> None:
        calls.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)

    replace_private(str(tmp_path / "k"), b"x")

    assert calls == ["sync", "replace", "sync"]


def test_a_lock_is_private_and_free_again_after_its_scope(tmp_path: Path) -> None:
    lock = tmp_path / "lock"

    with lock_file(str(lock)):
        taken = [_can_lock(lock)]
    taken.append(_can_lock(lock))

    assert taken == [False, True]
    assert mode(lock) == 0o600


def test_a_lock_does_not_follow_a_link(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"), lock_file(str(tmp_path / "lock")):
        pass

    assert names(tmp_path) == ["lock"]


def test_the_module_stays_light() -> None:
    heavy = {"tempfile", "shutil", "pathlib", "random", "logging"}

    assert heavy.isdisjoint(vars(private_files))


def _can_lock(lock: Path) -> bool:
    """Another process tries, without waiting."""
    script = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'rb'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    done = subprocess.run([sys.executable, "-c", script, str(lock)], capture_output=True, timeout=60)
    return done.returncode == 0
