"""A server looks at the files after its answers: nobody waits for it, and nothing of it is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from handrail.ports.workspace import Settings
from handrail.runtime.runtime import Due, Runtime, TreeDue
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.calls_in_progress import LIMITS, MOST_TREES_WAITING
from tests.conftest import KeptIncidents, settings_of
from tests.surfaces.mcp.conversations import WORKFLOW, opening
from tests.surfaces.mcp.pipes import BOUND_SECONDS, Client, TakeTree, connected
from tests.surfaces.mcp.test_calls_in_progress import call

ONE_WORKER = msgspec.structs.replace(LIMITS, calls_at_once=1)


class SlowLook:
    """A look at files that takes until the test lets it end."""

    def __init__(self) -> None:
        self._let = threading.Event()
        self.begun = threading.Event()
        self.taken: list[str] = []

    def take(self, due: Due) -> None:
        self.begun.set()
        assert self._let.wait(BOUND_SECONDS), "nobody let the look end"
        assert isinstance(due, TreeDue)
        self.taken.append(due.cause)

    def end(self) -> None:
        self._let.set()


@contextmanager
def opened(runtime: Runtime, take_tree: TakeTree) -> Iterator[Client]:
    settings_of(runtime).settings = Settings(snapshots="always", looking="always")
    with connected(Adapter(runtime), ONE_WORKER, take_tree) as client:
        for message in opening():
            assert isinstance(message, dict)
            client.send(message)
        client.heard()
        yield client


def kept(client: Client, number: int = 1) -> dict[str, Any]:
    """A run whose first step is kept as it is: its files are looked at after that reply."""
    first = client.ask(call(number, "start_workflow", workflowId=WORKFLOW))["result"]["structuredContent"]
    output = {"notesMarkdown": "So far."}
    told = client.ask(
        call(number, "checkpoint_workflow", checkpointToken=first["checkpointToken"], output=output)
    )
    content: dict[str, Any] = told["result"]["structuredContent"]
    return content


def continued(client: Client, reply: dict[str, Any]) -> dict[str, Any]:
    output = {"notesMarkdown": "Done."}
    told = client.ask(call(2, "continue_workflow", ackToken=reply["ackToken"], output=output))
    content: dict[str, Any] = told["result"]["structuredContent"]
    return content


def test_answers_come_while_a_look_goes_on_even_with_one_worker(runtime: Runtime) -> None:
    look = SlowLook()
    with opened(runtime, look.take) as client:
        first = kept(client)
        assert look.begun.wait(BOUND_SECONDS)

        second = continued(client, first)

        assert (second["kind"], look.taken) == ("ok", [])
        look.end()
    assert look.taken == ["checkpoint", "advance"]


def test_a_server_whose_input_closes_ends_after_its_looks(runtime: Runtime) -> None:
    look = SlowLook()
    with opened(runtime, look.take) as client:
        kept(client)
        client.hang_up()
        assert look.begun.wait(BOUND_SECONDS)
        assert client.is_serving()

        look.end()

        assert client.ended()
    assert look.taken == ["checkpoint"]


def test_look_that_fails_is_an_incident(runtime: Runtime) -> None:
    taken: list[str] = []

    def take(due: Due) -> None:
        assert isinstance(due, TreeDue)
        if due.cause == "checkpoint":
            raise RuntimeError("the disk is gone")
        taken.append(due.cause)

    with opened(runtime, take) as client:
        told = continued(client, kept(client))

    assert (told["kind"], taken) == ("ok", ["advance"])
    assert isinstance(runtime.incidents, KeptIncidents)
    assert ["the disk is gone" in one for one in runtime.incidents.tracebacks] == [True]


@pytest.mark.thorough
def test_not_more_looks_wait_than_the_limit(runtime: Runtime) -> None:
    look = SlowLook()
    with opened(runtime, look.take) as client:
        for number in range(MOST_TREES_WAITING + 3):
            kept(client, number)
        look.end()
    assert len(look.taken) == MOST_TREES_WAITING
