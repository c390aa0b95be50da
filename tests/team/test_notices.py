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
from handrail.contract.outcome import Fault
from handrail.host.http_client import LocalHttpClient
from handrail.ports.server import Exchange
from handrail.ports.workspace import Notify
from handrail.runtime.runtime import Runtime
from handrail_team.notices import NoticeSender
from tests.cases import every_case
from tests.team.team_server import Server
from tests.worktree.project import write

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


class Moving:
    """`ports.Clock` as far as a sender asks it."""

    def __init__(self, begins: int) -> None:
        self.now_s = begins

    def unix_seconds(self) -> int:
        return self.now_s


def make_sender(server: Server, receiver: Receiver, clock: Moving) -> NoticeSender:
    def open_workspace(workspace: str) -> Runtime:
        return msgspec.structs.replace(server.accounts.open_workspace(workspace), clock=clock)

    settings = server.runtime.settings
    # Receiver and clock have the few methods that a sender calls.
    return NoticeSender(server.accounts.directory, settings, receiver, clock, open_workspace)  # type: ignore[arg-type]


@pytest.mark.thorough
def test_silence_is_told_once_and_again_after_new_work(team_database: str, tmp_path: Path) -> None:
    server = Server(team_database, tmp_path)
    agent = server.join(server.workspace("main"), "Ana", "owner").agent("builder")
    begun = agent.start()
    waiting = agent.start(requestId="second")
    agent.data("run.continue", ackToken=waiting["ackToken"], output={"notesMarkdown": ""})
    clock = Moving(server.runtime.clock.unix_seconds())
    one, other = Receiver(), Receiver()
    senders = [make_sender(server, one, clock), make_sender(server, other, clock)]

    early = [sender.look_for_silence(NOTIFY) for sender in senders]
    clock.now_s += 2 * 3_600
    found = [sender.look_for_silence(NOTIFY) for sender in senders]
    sent = [sender.send_due(NOTIFY) for sender in senders]
    clock.now_s += 3_600
    again = [sender.look_for_silence(NOTIFY) + sender.send_due(NOTIFY) for sender in senders]

    told = [msgspec.json.decode(body) for _, body in one.took]
    assert (early, found, sent, again) == ([0, 0], [2, 0], [2, 0], [0, 0])
    assert {(row["session_id"], row["kind"]) for row in told} == {
        (begun["session"]["sessionId"], "idle"),
        (waiting["session"]["sessionId"], "stalled"),
    }
    agent.data("run.checkpoint", checkpointToken=begun["checkpointToken"], output={"notesMarkdown": "On."})
    clock.now_s += 3_600
    assert [sender.look_for_silence(NOTIFY) for sender in senders] == [1, 0]


@pytest.mark.thorough
def test_who_wants_no_silences_is_told_none(team_database: str, tmp_path: Path) -> None:
    server = Server(team_database, tmp_path)
    server.join(server.workspace("main"), "Ana", "owner").agent("builder").start()
    clock = Moving(server.runtime.clock.unix_seconds() + 2 * 3_600)
    sender = make_sender(server, Receiver(), clock)

    assert sender.look_for_silence(msgspec.structs.replace(NOTIFY, kinds=("done",))) == 0
    clock.now_s += 3_600
    assert sender.look_for_silence(msgspec.structs.replace(NOTIFY, kinds=("idle",))) == 1


@pytest.mark.thorough
def test_blocked_run_is_told_until_somebody_takes_it(team_database: str, tmp_path: Path) -> None:
    write(tmp_path, "home/config.json", msgspec.json.encode({"notify": {"url": URL, "key": "s3cret"}}))
    server = Server(team_database, tmp_path)
    agent = server.join(server.workspace("main"), "Ana", "owner").agent("builder")
    begun = agent.start()
    agent.data("run.continue", ackToken=begun["ackToken"], output={"notesMarkdown": ""})
    receiver, clock = Receiver(), Moving(server.runtime.clock.unix_seconds())
    sender = make_sender(server, receiver, clock)

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


@every_case("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.7", "169.254.169.254"])
def test_a_private_address_is_refused_before_anything_is_sent(host: str) -> None:
    with pytest.raises(Fault) as refused:
        LocalHttpClient().ask("POST", f"http://{host}:9/", {}, b"{}", 1, 10, is_public_only=True)

    assert refused.value.kind is E_NETWORK
    assert "private network" in refused.value.message
