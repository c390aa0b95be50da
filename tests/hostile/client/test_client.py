"""Every message of the hostile client, sent to the server on stdio: it goes on, and writes nothing."""

from __future__ import annotations

import threading

import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from tests.conftest import KeptIncidents
from tests.hostile.client.messages import ClientAttack, client_attacks
from tests.journeys.conversation import start
from tests.surfaces.mcp.conversations import enveloped, lines, opening, request
from tests.surfaces.mcp.pipes import BOUND_SECONDS, connected, piped

pytestmark = pytest.mark.thorough

ATTACKS = client_attacks()
AFTER = "answered afterwards"
LONGEST_REFUSAL = 1_100_000
"""An id comes back as it was written; nothing else that was sent does."""


def stored(runtime: Runtime) -> dict[str, int]:
    """Every session, and how much is in it."""
    found = {stamp.session_id: runtime.log.load(stamp.session_id) for stamp in runtime.log.list_sessions()}
    return {name: len(loaded.records) for name, loaded in found.items() if loaded is not None}


def check_untouched(runtime: Runtime, before: dict[str, int]) -> None:
    assert stored(runtime) == before
    assert isinstance(runtime.incidents, KeptIncidents)
    assert runtime.incidents.tracebacks == []


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: str(attack.name))
def test_the_server_goes_on_and_nothing_is_written(runtime: Runtime, attack: ClientAttack) -> None:
    start(runtime, goal="Own work")
    before = stored(runtime)
    sent = lines(*(opening() if attack.is_opened else ())) + attack.sent()
    later = () if attack.is_opened else opening()

    asked = lines(*later, request(AFTER, "ping"), request(AFTER, "server/discover", enveloped()))

    answers = piped(sent + asked, Adapter(runtime)).splitlines()

    # Whichever era the connection is in, one of the two is answered.
    assert any(line.startswith(b'{"jsonrpc":"2.0","id":"%b","result":' % AFTER.encode()) for line in answers)
    assert all(len(line) < LONGEST_REFUSAL for line in answers)
    assert not any(b"\x1b" in line for line in answers)
    check_untouched(runtime, before)


@pytest.mark.parametrize("cut", [1, 40, -1])
def test_client_that_closes_in_a_message_ends_the_server(runtime: Runtime, cut: int) -> None:
    start(runtime, goal="Own work")
    before = stored(runtime)
    call = {"name": "start_workflow", "arguments": {"workflowId": "project.three_steps"}}
    whole = lines(request(5, "tools/call", call))[:-1]

    answers = piped(lines(*opening()) + whole[:cut], Adapter(runtime)).splitlines()

    assert b'"protocolVersion"' in answers[0]
    assert not any(b'"result"' in line for line in answers[1:])
    check_untouched(runtime, before)


def test_client_that_never_reads_does_not_keep_the_server(
    runtime: Runtime,
) -> None:
    """The server stops reading once it owes enough; when the client goes, so does the server."""
    with connected(Adapter(runtime)) as client:

        def flood() -> None:
            try:
                client.send(lines(*opening(), *(request(n, "tools/list") for n in range(20_000))))
            except OSError:
                return  # the server has closed its end

        writer = threading.Thread(target=flood, daemon=True)
        writer.start()
        client.line()
        client.stop_listening()

        assert client.ended()
        writer.join(BOUND_SECONDS)
        assert not writer.is_alive()
