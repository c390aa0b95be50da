"""What keeps an update honest on the machine: a manager that does not listen, and files nobody can keep."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from handrail.contract.catalogue import E_NETWORK
from handrail.contract.outcome import Fault
from handrail.host.program import updates as updates_module
from handrail.host.program.fetching import Silence
from handrail.host.program.updates import LocalUpdates, list_receipt_options
from handrail.ports.program import UpdateCheck

LOOK = UpdateCheck(
    checked_at="2027-01-01T00:00:00.000Z", checked_unix=1, version="0.1.0", latest="0.2.0", index="x"
)


def updates(home: Path) -> LocalUpdates:
    return LocalUpdates(str(home), dict(os.environ))


def test_manager_that_ignores_a_signal_is_ended_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updates_module, "_PATIENCE_SECONDS", 0.2)
    said: list[str] = []
    deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)"
    stubborn = f"{deaf}; print('here', flush=True); time.sleep(60)"
    call = (sys.executable, "-c", stubborn)

    driven = updates(tmp_path).drive(call, lambda: "signal" if said else "", said.append)

    assert (driven.status, driven.stopped_by, said) == (-9, "signal", ["here\n"])


def test_manager_that_ends_well_is_known_by_its_status(
    tmp_path: Path,
) -> None:
    """The exit status says that it ended well; it stands in no folder in particular."""
    said: list[str] = []
    call = (sys.executable, "-c", "import os; print(os.getcwd()); raise SystemExit(3)")

    driven = updates(tmp_path).drive(call, lambda: "", said.append)

    assert (driven.status, driven.stopped_by, said) == (3, "", [f"{os.path.abspath(os.sep)}\n"])


def test_kept_look_comes_back_with_its_notice(tmp_path: Path) -> None:
    """A look comes back as it was kept and its notice lies beside it."""
    told = UpdateCheck(
        **{**{name: getattr(LOOK, name) for name in LOOK.__struct_fields__}, "notice": {"type": "x"}}
    )
    kept = updates(tmp_path)

    kept.keep_check(told)
    with_news = sorted(file.name for file in (tmp_path / "data/cache").iterdir()), kept.last_check()
    kept.keep_check(LOOK)
    without = sorted(file.name for file in (tmp_path / "data/cache").iterdir()), kept.last_check()
    kept.keep_check(None)

    assert with_news == (["notices.json", "update-check.json"], told)
    assert without == (["update-check.json"], LOOK)
    assert kept.last_check() is None
    assert (tmp_path / "data/cache").stat().st_mode & 0o777 == 0o700


def test_a_home_that_takes_no_files_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where a directory belongs", encoding="utf-8")

    updates(tmp_path).keep_check(LOOK)

    assert updates(tmp_path).last_check() is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"checked_at": 7}', b"\xff"])
def test_what_is_no_look_is_no_look(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data/cache").mkdir(parents=True)
    (tmp_path / "data/cache/update-check.json").write_bytes(content)

    assert updates(tmp_path).last_check() is None


class _Answering(BaseHTTPRequestHandler):
    """One request each; says 503 and to come back at once as often as it is told to."""

    refusals = 0
    seen = 0
    port = 0

    def do_GET(self) -> None:
        type(self).seen += 1
        is_refused = type(self).refusals > 0
        type(self).refusals -= 1
        self.send_response(503 if is_refused else 200)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def answering(port: int, refusals: int = 0) -> Iterator[type[_Answering]]:
    class Answering(_Answering):
        pass

    Answering.refusals = refusals
    with HTTPServer(("127.0.0.1", port), Answering) as server:
        Answering.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield Answering
        finally:
            server.shutdown()
            thread.join(60)


@pytest.mark.promise("http.upstreams.retry")
def test_an_index_that_is_silent_is_asked_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates_module, "RETRY_MS", 0)
    tried = list[str]()

    def stay_silent(address: str, _: str) -> Fault:
        tried.append(address)
        return Silence(E_NETWORK, "Nobody there.")

    monkeypatch.setattr(updates_module, "fetch_address", stay_silent)

    with pytest.raises(Fault) as caught:
        LocalUpdates(str(tmp_path), {}).fetch("http://a.example/", "*/*", lambda: "")

    assert (caught.value.kind.code, len(tried)) == ("E_NETWORK", 2)


@pytest.mark.promise("http.upstreams.retry")
def test_an_index_that_says_when_is_asked_once_more(tmp_path: Path) -> None:
    index = LocalUpdates(str(tmp_path), {})
    with answering(0, refusals=3) as server:
        url = f"http://127.0.0.1:{server.port}/"
        with pytest.raises(Fault) as caught:
            index.fetch(url, "*/*", lambda: "")
        assert (caught.value.kind.code, server.seen) == ("E_SERVER", 2)

        fetched = index.fetch(url, "*/*", lambda: "")

    assert (fetched.content, server.seen) == (b"{}", 4)


def test_an_update_repeats_what_uv_was_told_at_the_installation() -> None:
    receipt = {
        "requirements": [
            {"name": "handrail", "extras": ["team"]},
            {"name": "keyring", "extras": ["x", "y"], "specifier": ">=2"},
            {"name": "own", "url": "https://a.test/own.whl"},
        ],
        "options": {
            "index": [
                {"url": "https://a.test"},
                {"url": "https://b.test", "default": True},
                {"url": "https://me:pw@c.test"},
            ]
        },
    }

    assert list(list_receipt_options(receipt)) == [
        *("--index", "https://a.test", "--default-index", "https://b.test"),
        *("--with", "keyring[x,y]>=2", "--with", "own @ https://a.test/own.whl"),
    ]
    assert list(list_receipt_options({})) == []
