"""No call costs more because the store is full: the calls of functions are counted, never time.

A call of a running server is counted in a store with one session, in a full one, and after many other
sessions had their turn. Calls of C functions count too, so a file that is opened or examined counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import BlobRef, run_id_for, session_id_of
from handrail.engine.decide import decide_start
from handrail.engine.gathered import StartFacts
from handrail.event_log.files.disk import Disk
from handrail.event_log.files.log import FileLog
from handrail.operations.runs import start_run
from handrail.ports.log import Blob
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import commit, empty_session, healthy_session, memory_of
from handrail.wiring import build_runtime
from tests.journeys.conversation import advance, answer, save
from tests.journeys.given_workflows import step

FULL = 10_000
SMALL = 40
"""As many as fill a page and the spot checks that each view of the index makes."""
WINDOW = 300
"""More than a resume without a question looks at: it ranks the latest 200 sessions."""
IN_TURN = 200
MOST_GROWTH = 1.5
WORKFLOW = "project.twelve_steps"
Reply = dict[str, Any]


class Quiet(Disk):
    """Never waits for the disk."""

    def sync(self, descriptor: int) -> None:
        del descriptor

    def sync_names(self, descriptor: int) -> None:
        del descriptor


class Server:
    """A running server with a store of its own, and a project with one workflow."""

    def __init__(self, place: Path) -> None:
        self.project = str(place / "project")
        folder = place / "project" / ".handrail" / "workflows"
        folder.mkdir(parents=True)
        steps = [step(f"s{number}") for number in range(12)]
        document = {"id": WORKFLOW, "name": "Twelve", "description": "Twelve steps.", "steps": steps}
        (folder / "twelve.json").write_text(json.dumps(document), encoding="utf-8")
        self.runtime: Runtime = build_runtime({}, home=str(place / "home"))
        files = memory_of(self.runtime.log).log
        assert isinstance(files, FileLog)
        files.disk = Quiet()

    def start(self, **params: Any) -> Reply:
        return answer(self.runtime, "run.start", workflowId=WORKFLOW, project=self.project, **params)

    def fill(self, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Begin so many sessions as `run.start` does, without the work around its commit."""
        facts: list[StartFacts] = []

        def seen(history: Any, given: StartFacts, salt: int) -> Any:
            facts.append(given)
            return decide_start(history, given, salt)

        with monkeypatch.context() as patched:
            patched.setattr(start_run, "decide_start", seen)
            self.start(goal="Fill")
        (given,) = facts
        content = self.runtime.log.get_blob(BlobRef(given.started.workflow_hash))
        blob = Blob(ref=BlobRef(given.started.workflow_hash), content=content)
        for number in range(count):
            session_id = session_id_of(((number + 1) << 16).to_bytes(8))
            own = msgspec.structs.replace(
                given, session_id=session_id, run_id=run_id_for(session_id, str(number))
            )
            with healthy_session(self.runtime, empty_session(session_id), by_token=False) as (now, witness):
                assert commit(self.runtime, witness, now, partial(decide_start, now.history, own), [blob])


def count_calls(work: Callable[[], object]) -> int:
    """How many functions of Python and of C a call calls."""
    counted = 0

    def note(_frame: FrameType, event: str, _given: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


def count_operations(server: Server) -> dict[str, int]:
    """The calls of each operation, after the first one of its kind."""
    runtime, counted = server.runtime, {}
    older = server.start(goal="Older")
    for _ in range(6):
        server.start(goal="In between")
    first = server.start(goal="Measured")
    second = advance(runtime, first, "one")
    session, run = first["session"]["sessionId"], first["session"]["runId"]
    reads: dict[str, tuple[str, Reply]] = {
        "rehydrate": ("run.continue", {"stateToken": second["stateToken"], "project": server.project}),
        "replay": (
            "run.continue",
            {"ackToken": first["ackToken"], "output": {"notesMarkdown": "one"}, "project": server.project},
        ),
        "resume one": ("session.resume", {"query": session}),
        "resume": ("session.resume", {"project": server.project}),
        "list": ("session.list", {"limit": 5}),
        "show": ("session.show", {"sessionId": session}),
        "events": ("session.events", {"sessionId": session}),
        "timeline": ("session.timeline", {"sessionId": session}),
        "ledger": ("ledger.show", {"runId": run}),
        "older ledger": ("ledger.show", {"runId": older["session"]["runId"]}),
        "graph": ("run.graph", {"sessionId": session, "run": run}),
        "workflows": ("workflow.list", {"project": server.project}),
        "inspect": ("workflow.inspect", {"workflowId": WORKFLOW, "project": server.project}),
    }
    for name, (operation, params) in reads.items():
        call = partial(answer, runtime, operation, **params)
        call()
        call()
        counted[name] = count_calls(call)
    writes: dict[str, Callable[[], object]] = {
        "start": lambda: server.start(goal="Again"),
        "advance": lambda: advance(runtime, server.start(goal="Advance"), "two"),
        "checkpoint": lambda: save(runtime, server.start(goal="Save"), "noted"),
    }
    for name, write in writes.items():
        write()
        write()
        counted[name] = count_calls(write)
    return counted


def check_growth(small: dict[str, int], full: dict[str, int]) -> None:
    grown = {name: (count, full[name]) for name, count in small.items() if full[name] > MOST_GROWTH * count}
    assert grown == {}


def filled(place: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server with so many sessions, all of which its index knows."""
    server = Server(place)
    server.fill(count, monkeypatch)
    answer(server.runtime, "session.list", query="nowhere")
    return server


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_no_operation_costs_more_in_a_full_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a resume ranks is limited in number, so its measure is a store with more than that."""
    small = count_operations(filled(tmp_path / "small", SMALL, monkeypatch))
    small["resume"] = count_operations(filled(tmp_path / "window", WINDOW, monkeypatch))["resume"]

    check_growth(small, count_operations(filled(tmp_path / "full", FULL, monkeypatch)))


@pytest.mark.thorough
def test_no_operation_costs_more_after_many_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions that take turns in one server, each a long way from its last call."""
    server = filled(tmp_path, IN_TURN, monkeypatch)
    walks = [server.start(goal=f"Walk {number}") for number in range(IN_TURN)]
    costs = []
    for _ in range(2):
        for place, reply in enumerate(walks):
            costs.append(count_calls(partial(take_step, server.runtime, walks, place, reply)))

    assert max(costs[IN_TURN:]) < MOST_GROWTH * min(costs)


def take_step(runtime: Runtime, walks: list[Reply], place: int, reply: Reply) -> None:
    walks[place] = advance(runtime, reply, "x")
