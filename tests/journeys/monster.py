"""A session as large as sessions get, written into the log at once: every reply about it must stay small."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from handrail.contract.ids import AttemptId
from handrail.contract.json.canonical import chain_digest
from handrail.contract.redaction import Secrets
from handrail.engine.decide import decide_advance, decide_checkpoint
from handrail.engine.events import NodeCreated, PlannedEvent, encode_event
from handrail.engine.facts import WorkDone
from handrail.engine.folding import extend
from handrail.engine.history import History, Node
from handrail.operations.report import Output, blobs_of, read_report
from handrail.ports.log import Blob, Draft, Record
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import load_pinned_workflow, read_session
from tests.conftest import memory_runtime
from tests.engine.written_log import tried
from tests.journeys.conversation import start
from tests.journeys.given_workflows import NEVER_STOP, WITH_DECISION, give

STEPS, FORKS, GAPS, CHECKPOINTS, RUNS = 1_000, 150, 500, 40, 30
FORK_AT = 400
LONG_NOTES = "A long story, told in full. " * 2_300
AT = "2027-01-15T08:00:00.000Z"


class Monster(msgspec.Struct, frozen=True, kw_only=True):
    """The runtime that holds it, and the replies to the starts of its first and last run."""

    runtime: Runtime
    first: dict[str, Any]
    last: dict[str, Any]
    nodes: tuple[Node, ...]
    """Of the large run, in the order of the log."""


@cache
def monster() -> Monster:
    """Built once per process; tests only read it."""
    runtime = memory_runtime()
    workflow_id = give(runtime, *map(_step, range(STEPS)))
    first = start(runtime, workflowId=workflow_id, goal="g" * 200, preferences=NEVER_STOP)
    session_id = first["session"]["sessionId"]
    _grow(runtime, session_id)
    last = first
    for number in range(RUNS):
        last = start(runtime, session=session_id, goal=f"run {number} " + "g" * 180)
    session = read_session(runtime.log, session_id)
    assert session is not None
    nodes = tuple(node for node in session.history.nodes.values() if node.run_id == first["session"]["runId"])
    return Monster(runtime=runtime, first=first, last=last, nodes=nodes)


def _step(number: int) -> dict[str, Any]:
    made = {
        "id": f"s{number:04d}",
        "title": f"Step {number} " + "t" * 180,
        "prompt": f"Do {number}. " + "p" * 600,
    }
    return made | WITH_DECISION if number < GAPS else made


class _Growing:
    """A log that grows in memory and is appended as one plan."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.drafts: list[Draft] = []
        self.blobs: dict[str, Blob] = {}
        self._attempts = 0

    def attempt(self) -> AttemptId:
        self._attempts += 1
        return AttemptId(f"{self._attempts:07d}")

    def take(self, plan: list[PlannedEvent], work: WorkDone) -> Node:
        digest, added = self.history.head_digest, []
        for index, planned in enumerate(plan, self.history.head):
            body = encode_event(planned, AT)
            digest = chain_digest(digest, planned.dedupe_key, body)
            added.append(Record(index=index, dedupe_key=planned.dedupe_key, body=body, digest=digest))
            self.drafts.append(Draft(dedupe_key=planned.dedupe_key, body=body))
        self.blobs |= {blob.ref: blob for blob in blobs_of(work)}
        self.history = extend(self.history, added)
        (made,) = [one.scope.node_id for one in plan if isinstance(one.data, NodeCreated)]
        assert made is not None
        return self.history.nodes[made]


def _grow(runtime: Runtime, session_id: Any) -> None:
    session = read_session(runtime.log, session_id)
    assert session is not None
    head = session.history.head
    growing = _Growing(session.history)
    (run,) = growing.history.runs.values()
    workflow = load_pinned_workflow(runtime.log, run.workflow_hash)
    node = growing.history.nodes[run.first_node]

    def advance(node: Node, notes: str) -> Node:
        work = read_report(Output(notes_markdown=notes), msgspec.UNSET, Secrets())
        return growing.take(
            decide_advance(growing.history, *tried(workflow, node, growing.attempt(), work)), work
        )

    def save(node: Node, notes: str) -> None:
        work = read_report(Output(notes_markdown=notes), msgspec.UNSET, Secrets())
        growing.take(
            decide_checkpoint(growing.history, *tried(workflow, node, growing.attempt(), work)), work
        )

    for number in range(STEPS):
        if number == FORK_AT:
            for fork in range(FORKS):
                advance(node, LONG_NOTES if fork % 2 else "abc")
        if number == STEPS - 1:
            for _ in range(CHECKPOINTS):
                save(node, LONG_NOTES)
        node = advance(node, LONG_NOTES if number % 10 == 0 else "abc")
    with runtime.log.hold(session_id, 0) as hold:
        hold.append(head, growing.drafts, list(growing.blobs.values()))
