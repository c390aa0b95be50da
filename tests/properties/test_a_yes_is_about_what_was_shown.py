"""Law: a report passes if and only if a person said yes to it, in whatever order answers come.

Also beside reports, checkpoints, branches and imports.

The oracle keeps what was shown to whom, in lists of its own, and asks nothing of the code under test.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.contract.ids import BundleId
from handrail.engine.ask import ask_about
from handrail.engine.decide import decide_advance
from handrail.engine.events import (
    ConfirmationAnswer,
    ConfirmationRecorded,
    PlannedEvent,
    Scope,
    SessionImported,
)
from handrail.engine.facts import WorkDone
from handrail.engine.history import Node
from handrail.engine.plans import plan_confirmation
from tests.engine.written_log import SESSION_ID, WrittenLog, step, tried, work, workflow_of

NOTES = ("one", "two")
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["report", "report", "report", "yes", "yes", "no", "checkpoint", "fork", "import"]),
        st.integers(0, 1),
        st.integers(0, 5),
    ),
    max_size=14,
)


class StrictLog(WrittenLog):
    """A log of a project where only a person confirms."""

    def report(self, node: Node, done: WorkDone) -> Node:
        attempt, gathered = tried(self.workflow, node, self._fresh(), done)
        gathered = msgspec.structs.replace(gathered, confirmations="person")
        return self._node_of(decide_advance(self.history, attempt, gathered))


@dataclass
class Said:
    """An answer: where, to which report (None: there was none), and whether it came in a bundle."""

    branch: int
    report: str | None
    is_yes: bool
    is_elsewhere: bool = False


@dataclass
class Branch:
    nodes: list[Node]
    waiting: str | None = None
    """The report that was blocked last."""


@dataclass
class Oracle:
    log: StrictLog = field(
        default_factory=lambda: StrictLog(
            workflow=workflow_of(step("before"), step("ask", require_confirmation=True), step("after"))
        )
    )
    branches: list[Branch] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.first = self.log.start()
        self.fork(0)

    def fork(self, number: int) -> None:
        self.branches.append(Branch(nodes=[self.log.advance(self.first, f"branch {number}")]))

    def play(self, kind: str, number: int, place: int) -> None:
        branch = self.branches[-1]
        node = branch.nodes[-1 - place % len(branch.nodes)]
        match kind:
            case "fork":
                self.fork(len(self.branches))
            case "checkpoint":
                branch.nodes.append(self.log.checkpoint(node, "saved"))
                shown, saved = (
                    ask_about(self.log.history, self.log.workflow, at)
                    for at in branch.nodes[:: len(branch.nodes) - 1]
                )
                assert (saved.is_waiting, saved.subject) == (True, shown.subject), "it waits for the same"
            case "import":
                self.take_in()
            case "yes" | "no":
                self.answer(branch, "confirmed" if kind == "yes" else "declined")
            case _:
                self.report(branch, node, NOTES[number])

    def take_in(self) -> None:
        fact = SessionImported(bundle_id=BundleId("bnd_1"), source_session_id=SESSION_ID, source_head="")
        key = f"session_imported:{len(self.log.records)}"
        self.log.take([PlannedEvent(dedupe_key=key, scope=Scope(), data=fact)])
        for said in self.said:
            said.is_elsewhere = said.is_yes

    def answer(self, branch: Branch, answer: ConfirmationAnswer) -> None:
        """A person answers at whatever node is the newest, be it a checkpoint."""
        node = branch.nodes[-1]
        shown = ask_about(self.log.history, self.log.workflow, node)
        fact = ConfirmationRecorded(
            node_id=node.node_id,
            source="terminal",
            who="someone",
            what_digest="",
            answer=answer,
            asked=shown.kind,
            subject=shown.subject,
        )
        self.log.take(plan_confirmation(self.log.history, fact))
        here = len(self.branches) - 1
        self.said.append(Said(branch=here, report=branch.waiting, is_yes=answer == "confirmed"))

    def report(self, branch: Branch, node: Node, notes: str) -> None:
        made = self.log.report(node, work(notes))
        passes = self.is_confirmed(notes)
        assert (made.kind == "step") is passes
        if passes:  # the run left the step; what follows is about another branch
            self.fork(len(self.branches))
        else:
            branch.nodes.append(made)
            branch.waiting = notes

    def is_confirmed(self, notes: str) -> bool:
        here = len(self.branches) - 1
        about = [
            said
            for said in self.said
            if said.report == notes and (said.branch == here or not said.is_yes) and not said.is_elsewhere
        ]
        return bool(about) and about[-1].is_yes


@given(MOVES)
@settings(max_examples=150)
@pytest.mark.thorough
def test_report_passes_exactly_with_the_yes_of_a_person(moves: list[tuple[str, int, int]]) -> None:
    oracle = Oracle()

    for move in moves:
        oracle.play(*move)
