"""The files of a server: one server per home, private whatever the umask is, never believed when stale."""

from __future__ import annotations

import os
import stat
import webbrowser
from pathlib import Path

import pytest

from handrail.contract.outcome import Fault
from handrail.host.process import SystemRandomness
from handrail.ports.server import RunningServer
from handrail_serve.host.server_files import ServerFiles

ADDRESS = "http://127.0.0.1:7245/"


def files_of(home: Path, environment: dict[str, str] | None = None) -> ServerFiles:
    return ServerFiles(str(home), SystemRandomness(), environment or {})


def running(token: str) -> RunningServer:
    return RunningServer(
        pid=1,
        address=ADDRESS,
        token=token,
        console_token=token[::-1],
        version="1",
        project="/",
        started_at="2026-11-16T09:00:00.000Z",
    )


def watch_browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the browser is asked to show."""
    opened: list[str] = []

    def show(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", show)
    return opened


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_token_has_256_bits_and_no_two_are_alike(tmp_path: Path) -> None:
    tokens = {files_of(tmp_path).make_token() for _ in range(20)}

    assert len(tokens) == 20
    assert {len(bytes.fromhex(token)) for token in tokens} == {32}


def test_one_process_is_the_server_of_a_home(tmp_path: Path) -> None:
    first, second = files_of(tmp_path), files_of(tmp_path)
    with first.claimed():
        first.announce(running("t"))
        assert second.find_running() == running("t")
        with (
            pytest.raises(Fault, match=r"running already at http://127\.0\.0\.1:7245/") as refused,
            second.claimed(),
        ):
            pass
    assert refused.value.kind.code == "E_CONFLICT"
    with second.claimed():
        assert second.find_running() is None  # claimed, and not yet announced


def test_next_server_replaces_files_of_a_killed_one(tmp_path: Path) -> None:
    files = files_of(tmp_path)
    with files.claimed():
        pass
    files.announce(running("t"))  # as if nobody had cleared up

    assert files.find_running() is None
    with files.claimed():
        assert not os.path.exists(files.state_path)


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    assert files_of(tmp_path / "home").find_running() is None

    assert list(tmp_path.iterdir()) == []


def test_its_files_are_private_whatever_the_umask_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch_browser(monkeypatch)
    files = files_of(tmp_path / "home", {"DISPLAY": ":0"})
    before = os.umask(0)
    try:
        with files.claimed():
            files.announce(running("t"))
            assert files.show(ADDRESS, "s" * 64)
            files.keep_token(str(tmp_path / "token"))
            folder = tmp_path / "home" / "run"
            assert mode_of(folder) == 0o700
            assert {mode_of(path) for path in folder.iterdir()} == {0o600}
            assert mode_of(tmp_path / "token") == 0o600
    finally:
        os.umask(before)


def test_the_browser_gets_a_file_and_never_the_token_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = watch_browser(monkeypatch)
    files = files_of(tmp_path, {"DISPLAY": ":0"})
    with files.claimed():
        files.show(ADDRESS, "s" * 64)
        page = tmp_path / "run" / "open.html"
        content = page.read_text(encoding="utf-8")
        files.note_unlocked()

        assert not page.exists()
    assert opened == [page.as_uri()]
    assert f"url={ADDRESS}#token={'s' * 64}" in content


def test_without_a_screen_no_browser_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: pytest.fail("a browser was started"))
    files = files_of(tmp_path)
    with files.claimed():
        assert files.show(ADDRESS, "s" * 64) is False
        assert not (tmp_path / "run" / "open.html").exists()


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [
        (b"x" * 40, 0o640, "Others may read"),
        (b"x" * 40, 0o604, "Others may read"),
        (b"short", 0o600, "holds no token"),
        (b"", 0o600, "holds no token"),
        (b"x" * 40 + b'">', 0o600, "holds no token"),
        (b"x" * 600, 0o600, "holds no token"),
    ],
)
def test_a_token_file_that_cannot_be_trusted_is_refused(
    tmp_path: Path, content: bytes, mode: int, says: str
) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    path.chmod(mode)

    with pytest.raises(Fault, match=says) as refused:
        files_of(tmp_path).keep_token(str(path))

    assert refused.value.kind.code == "E_CONFIG"
    assert content.decode() not in refused.value.message or not content


def test_a_token_file_is_made_once_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "token"

    made = files_of(tmp_path).keep_token(str(path))

    assert files_of(tmp_path).keep_token(str(path)) == made
    assert len(made) == 64


def test_token_file_that_is_a_pipe_or_dead_link_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "missing").mkdir()

    for name in ("pipe", "missing"):
        with pytest.raises(Fault, match="cannot be used"):
            files_of(tmp_path).keep_token(str(tmp_path / name))
