"""Health: the word for anybody, the checks for the owner, and that each of them can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.contract.outcome import Outcome, Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from handrail_serve.calls import Asked, Served, perform_call
from handrail_serve.endpoints import health as health_module
from tests.surfaces.http.client import ask, make_app


@pytest.fixture
def files(home: str, tmp_path: Path) -> Runtime:
    return build_runtime({"HANDRAIL_HOME": home, "HANDRAIL_PROJECT": str(tmp_path)})


@pytest.mark.promise("http.health")
def test_a_healthy_server_says_so_with_the_checks_of_doctor(files: Runtime) -> None:
    app = make_app(files)

    live = ask(app, "GET", "/health/live", token="")
    ready = ask(app, "GET", "/health/ready", token="")
    whole = ask(app, "GET", "/health")
    outcome = perform(files, "self.doctor", {"checks": list(health_module.NEEDED), "offline": True})

    assert (live.status, live.body) == (200, b"pass\n")
    assert (ready.status, ready.body.splitlines()[0]) in ((200, b"pass"), (200, b"warn"))
    reasons = [one for one in whole.document["checks"] if one["status"] != "pass"]
    assert ready.body.decode().splitlines()[1:] == [f"{one['check']} {one['status']}" for one in reasons]
    told = {check["check"]: check["status"] for check in whole.document["checks"]}
    assert isinstance(outcome, Success)
    assert isinstance(outcome.data, dict)
    expected = {check["check"]: check["status"] for check in outcome.data["checks"]}
    assert told == {**expected, "server": "pass"}
    assert set(whole.document) == {"status", "checks"}
    assert {frozenset(check) for check in whole.document["checks"]} == {frozenset({"check", "status", "fix"})}
    assert ask(app, "GET", "/health", token="").status == 401


@pytest.mark.promise("http.health")
def test_a_keyring_that_cannot_be_read_makes_the_server_unready(files: Runtime, home: str) -> None:
    keys = Path(home, "data", "keys")
    keys.mkdir(parents=True, mode=0o700)
    (keys / "keyring.json").write_bytes(b"{")
    app = make_app(files)

    ready = ask(app, "GET", "/health/ready", token="")
    whole = ask(app, "GET", "/health")

    assert (ready.status, ready.body.splitlines()[0]) == (503, b"fail")
    assert b"keyring fail" in ready.body.splitlines()
    (failed,) = [check for check in whole.document["checks"] if check["status"] == "fail"]
    assert failed["check"] == "keyring"
    assert failed["fix"]
    assert ask(app, "GET", "/health/live", token="").status == 200


def test_a_server_that_drains_is_not_ready(files: Runtime) -> None:
    app = make_app(files)
    app.drain()

    lines = ask(app, "GET", "/health/ready", token="").body.splitlines()
    assert (lines[0], lines[-1]) == (b"fail", b"server fail")
    whole = ask(app, "GET", "/health")
    assert whole.status == 503
    assert [check["check"] for check in whole.document["checks"] if check["status"] == "fail"] == ["server"]


def test_many_who_ask_make_one_examination(files: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_module, "KEPT_SECONDS", 3_600.0)
    calls: list[str] = []

    def counted(served: Served, asked: Asked) -> Outcome:
        calls.append("looked")
        return perform_call(served, asked)

    monkeypatch.setattr(health_module, "perform_call", counted)
    app = make_app(files)

    for _ in range(5):
        ask(app, "GET", "/health/ready", token="")

    assert calls == ["looked"]
