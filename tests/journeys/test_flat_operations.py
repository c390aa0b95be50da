"""No call costs more because the store is full: the calls of functions are counted, never time.

A call of a running server is counted in a store with one session, in a full one, and after many other
sessions had their turn. Calls of C functions count too, so a file that is opened or examined counts, and
so do rows that SQLite looks at.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import apsw
import msgspec
import pytest

from handrail.contract.envelopes.lafs import to_lafs
from handrail.contract.ids import BlobRef, run_id_for, session_id_of
from handrail.contract.outcome import Call, Success
from handrail.engine.decide import decide_start
from handrail.engine.gathered import StartFacts
from handrail.event_log.files.disk import Disk
from handrail.event_log.files.log import FileLog
from handrail.operations.kept_trees import SERVER_SECONDS, take_due_tree
from handrail.operations.runs import start_run
from handrail.ports.log import Blob
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime, TreeDue
from handrail.runtime.sessions import commit, empty_session, healthy_session, memory_of
from handrail.wiring import build_runtime, registry
from tests.hostile.repository.checkout import run_git
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, save
from tests.journeys.given_workflows import step
from tests.surfaces.http.filled_calls import fill_work
from tests.worktree.project import commit as commit_files

FULL = 10_000
SMALL = 40
"""As many as fill a page and the spot checks that each view of the index makes."""
WINDOW = 300
"""More than a resume without a question looks at: it ranks the latest 200 sessions."""
IN_TURN = 200
STEPS_OF_SQLITE = 100
MOST_GROWTH = 1.5
WORKFLOW = "project.twelve_steps"
ASKING = "project.asking"
OVERLAY = "project.overlay"
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
        asking = document | {"id": ASKING, "steps": [step("asked", requireConfirmation=True)]}
        (folder / "asking.json").write_text(json.dumps(asking), encoding="utf-8")
        overlay = {"extends": WORKFLOW, "id": OVERLAY, "steps": {"s1": {"replace": {"title": "Other"}}}}
        (folder / "overlay.json").write_text(json.dumps(overlay), encoding="utf-8")
        declared = {"checks": {"tests": {"command": [sys.executable, "-c", "pass"]}}}
        (place / "project" / ".handrail" / "config.json").write_text(json.dumps(declared), encoding="utf-8")
        (place / "project" / "app.js").write_text("export function greet() {}\n", encoding="utf-8")
        run_git(place / "project", "init", "-q", ".")
        commit_files(place / "project")
        built = build_runtime({"PATH": os.environ["PATH"]}, home=str(place / "home"))
        self.runtime: Runtime = msgspec.structs.replace(built, trees_due=[])
        files = memory_of(self.runtime.log).log
        assert isinstance(files, FileLog)
        files.disk = Quiet()

    def take_trees(self) -> None:
        """Keep the trees that are due, as a server does after its reply."""
        assert self.runtime.trees_due is not None
        for due in self.runtime.trees_due:
            if isinstance(due, TreeDue):
                assert take_due_tree(self.runtime, due, SERVER_SECONDS) == ""
        self.runtime.trees_due.clear()

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


OF_THE_STORE = frozenset(
    {
        *("store.verify", "store.du", "store.gc", "store.copy", "store.adopt", "store.move"),
        *("store.selftest", "session.search"),
    }
)
"""Operations about everything that is stored, with bounds of their own."""
OF_THE_PROGRAM = frozenset({"clients.setup", "program.update"})
RANKED = frozenset({"session.resume", "check.prove", "receipt.export"})
"""Without a session these rank the latest runs of the project, as many as `WINDOW` at most."""
GIVEN: dict[str, Reply] = {
    "workflow.inspect": {"workflowId": WORKFLOW},
    "workflow.validate": {"workflowIds": [WORKFLOW]},
    "workflow.new": {"workflowId": "project.another"},
    "check.run": {"argv": [sys.executable, "-c", "pass"]},
    "session.list": {"limit": 5},
    "code.edit": {"file": "app.js", "rename": "greet", "to": "welcome"},
    "code.workflow": {"workflowId": WORKFLOW},
    "workflow.convert": {"dryRun": False},
    "workflow.fmt": {"dryRun": False},
}
"""What an operation needs beside what `tests/surfaces/http/filled_calls.py` knows."""


def conformant_document(runtime: Runtime) -> str:
    outcome = perform(runtime, "session.list", {"limit": 1})
    assert isinstance(outcome, Success)
    call = Call(operation="session.list", request_id="req_1", at="2027-01-15T08:00:00.000Z")
    return msgspec.json.encode(to_lafs(outcome, call)).decode()


def ask_for_gap(server: Server) -> Reply:
    """What resolves the gap of a run that went on where a person should have said yes."""
    full = {"autonomy": "full_auto_never_stop"}
    first = answer(server.runtime, "run.start", workflowId=ASKING, project=server.project, preferences=full)
    advance(server.runtime, first, "done")
    session = first["session"]["sessionId"]
    (gap,) = answer(server.runtime, "session.gaps", session=session)["items"]
    return {"session": session, "gap": gap["id"]}


def real_inputs(server: Server, session: str, state: str) -> dict[str, Reply]:
    """What these operations need of the project and its run to do their work."""
    runtime = server.runtime
    server.take_trees()
    trees = [
        event["data"]["nodeId"]
        for event in answer(runtime, "session.events", sessionId=session)["items"]
        if event["kind"] == "tree_recorded"
    ]
    receipt = answer(runtime, "receipt.export", project=server.project, session=session)["content"]
    return {
        "code.status": {"stateToken": state},
        "code.diff": {"before": trees[0]},
        "code.restore": {"node": trees[0]},
        "session.resolve_gap": ask_for_gap(server),
        "receipt.verify": {"receipt": {"source": "receipt.json", "text": receipt}},
        "lafs.check": {"documents": [{"source": "a.json", "text": conformant_document(runtime)}]},
    }


def count_registry(server: Server) -> dict[str, int]:
    """The calls of every operation of the registry, after two of its kind."""
    runtime, counted, refused = server.runtime, {}, {}
    first = server.start(goal="Measured")
    second = advance(runtime, first, "one")
    session, run = first["session"]["sessionId"], first["session"]["runId"]
    nodes = answer(runtime, "run.graph", sessionId=session, run=run)["nodes"]
    work = fill_work(second, session, run, nodes)
    own = {"workflowId": WORKFLOW, "workflows": [WORKFLOW, WORKFLOW]}
    work = msgspec.structs.replace(work, values=work.values | own)
    given = GIVEN | real_inputs(server, session, second["stateToken"])
    for name in registry().names:
        if name in OF_THE_STORE | OF_THE_PROGRAM or name.startswith("team."):
            continue
        called = registry().operation(name)
        known = {field.encode_name for field in msgspec.structs.fields(called.input)}
        here = {"project": server.project} if "project" in known else {}
        here |= {"session": session} if name == "check.run" else {}
        wanted = {**work.whole_call(called), **given.get(name, {}), **here}
        call = partial(perform, seat(runtime, Person("y", "y", "y")), name, wanted)
        call()
        outcome = call()
        if not isinstance(outcome, Success):
            refused[name] = outcome
        counted[name] = count_calls(call)
    assert refused == {}
    return counted


def count_operations(server: Server) -> dict[str, int]:
    """The calls of each operation, and of some ways to use one that cost more."""
    runtime = server.runtime
    older = server.start(goal="Older")
    for _ in range(6):
        server.start(goal="In between")
    first = server.start(goal="Measured")
    advance(runtime, first, "one")
    replay = {"ackToken": first["ackToken"], "output": {"notesMarkdown": "one"}, "project": server.project}
    calls: dict[str, Callable[[], object]] = {
        "replay": partial(answer, runtime, "run.continue", **replay),
        "resume one": partial(answer, runtime, "session.resume", query=first["session"]["sessionId"]),
        "older ledger": partial(answer, runtime, "ledger.show", runId=older["session"]["runId"]),
        "overlay": partial(
            answer, runtime, "workflow.validate", workflowIds=[OVERLAY], project=server.project
        ),
        "unknown session": partial(perform, runtime, "session.show", {"sessionId": "ses_aaaaaaaaaaaa"}),
        "start": lambda: server.start(goal="Again"),
        "advance": lambda: advance(runtime, server.start(goal="Advance"), "two"),
        "checkpoint": lambda: save(runtime, server.start(goal="Save"), "noted"),
    }
    counted = {}
    for name, call in calls.items():
        call()
        call()
        counted[name] = count_calls(call)
    return counted | count_registry(server)


def check_growth(small: dict[str, int], full: dict[str, int]) -> None:
    grown = {name: (count, full[name]) for name, count in small.items() if full[name] > MOST_GROWTH * count}
    assert grown == {}


def filled(place: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server with so many sessions, all of which its index knows."""
    server = Server(place)
    server.fill(count, monkeypatch)
    answer(server.runtime, "session.list", query="nowhere")
    return server


@pytest.fixture(autouse=True)
def counted_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite calls a function of Python after so many of its own steps."""

    def count(connection: apsw.Connection) -> None:
        connection.set_progress_handler(lambda: False, STEPS_OF_SQLITE)

    monkeypatch.setattr(apsw, "connection_hooks", [count])


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_no_operation_costs_more_in_a_full_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a resume ranks is limited in number, so its measure is a store with more than that."""
    small = count_operations(filled(tmp_path / "small", SMALL, monkeypatch))
    window = count_operations(filled(tmp_path / "window", WINDOW, monkeypatch))
    small |= {name: window[name] for name in RANKED}

    check_growth(small, count_operations(filled(tmp_path / "full", FULL, monkeypatch)))


@pytest.mark.thorough
def test_no_operation_costs_more_after_many_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions that take turns in one server, each a long way from its last call."""
    server = filled(tmp_path, IN_TURN, monkeypatch)
    walks = [server.start(goal=f"Walk {number}") for number in range(IN_TURN)]
    advances = []
    for _ in range(2):
        for place, reply in enumerate(walks):
            advances.append(count_calls(partial(take_step, server.runtime, walks, place, reply)))
    assert max(advances[IN_TURN:]) < MOST_GROWTH * min(advances)

    for operation in ("session.show", "session.events", "session.timeline", "run.graph"):
        asked = [{"sessionId": reply["session"]["sessionId"]} for reply in walks]
        costs = [count_calls(partial(answer, server.runtime, operation, **one)) for one in asked]
        assert max(costs[1:]) < MOST_GROWTH * min(costs), operation


def take_step(runtime: Runtime, walks: list[Reply], place: int, reply: Reply) -> None:
    walks[place] = advance(runtime, reply, "x")
