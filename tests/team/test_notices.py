"""What happens in runs reaches people: signed, from the outbox, and at no private address."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.catalogue import E_NETWORK
from handrail.contract.conformance.served import Exchange
from handrail.contract.outcome import Fault
from handrail.host.server.http_client import LocalHttpClient
from handrail.ports.workspace import Notify
from handrail_team.sender import Sender
from tests.host.worktree.project import write
from tests.team.team_server import Server

URL = "https://hooks.example.com/handrail"
NOTIFY = Notify(url=URL, key="s3cret")


class Receiver:
    """`ports.HttpClient` of somebody who takes notices, or not yet."""

    def __init__(self) -> None:
        self.took: list[tuple[Mapping[str, str], bytes]] = []
        self.status = 200

    def ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *_: Any, **more: Any
    ) -> Exchange:
        assert (method, url, more) == ("POST", URL, {"is_public_only": True})
        self.took.append((headers, body))
        return Exchange(method=method, url=url, status=self.status, headers={}, body=b"")

    def read_token(self, path: str) -> str:
        raise AssertionError(path)


class Moving:
    """`ports.Clock` as far as a sender asks it."""

    def __init__(self, begins: int) -> None:
        self.now_s = begins

    def unix_seconds(self) -> int:
        return self.now_s


@pytest.mark.thorough
@pytest.mark.promise("team.notices")
def test_a_blocked_run_is_told_until_somebody_takes_it_and_then_no_more(
    team_database: str, tmp_path: Path
) -> None:
    write(tmp_path, "home/config.json", msgspec.json.encode({"notify": {"url": URL, "key": "s3cret"}}))
    server = Server(team_database, tmp_path)
    agent = server.join(server.workspace("main"), "Ana", "owner").agent("builder")
    begun = agent.start()
    agent.data("run.continue", ackToken=begun["ackToken"], output={"notesMarkdown": ""})
    receiver, clock = Receiver(), Moving(server.runtime.clock.unix_seconds())
    sender = Sender(server.door.directory, server.runtime.settings, receiver, clock)  # type: ignore[arg-type]  # a receiver of the test

    receiver.status = 503
    refused = [sender.send_due(NOTIFY), sender.send_due(NOTIFY)]
    clock.now_s += 60
    receiver.status = 200
    taken = [sender.send_due(NOTIFY), sender.send_due(NOTIFY)]

    assert (refused, taken) == ([0, 0], [1, 0])
    assert len(receiver.took) == 2, "tried once, waited, tried again"
    (headers, body), (_, again) = receiver.took
    told = msgspec.json.decode(body)
    assert body == again
    assert (told["kind"], told["session_id"]) == ("blocked", begun["session"]["sessionId"])
    assert "text" not in told, "no text of a run leaves unless the setting says so"
    assert headers["idempotency-key"] == told["id"]
    expected = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["x-handrail-signature"] == f"sha256={expected}"


@pytest.mark.promise("team.notices")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.7", "169.254.169.254"])
def test_a_private_address_is_refused_before_anything_is_sent(host: str) -> None:
    with pytest.raises(Fault) as refused:
        LocalHttpClient().ask("POST", f"http://{host}:9/", {}, b"{}", 1, 10, is_public_only=True)

    assert refused.value.kind is E_NETWORK
    assert "private network" in refused.value.message
