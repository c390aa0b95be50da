"""Law: no weaker word replaces a stronger one, in whatever order options, actions and contexts come.

The oracle keeps, for every node, who said what on the way there; it knows the order of owners and the moves
it made, and asks nothing of the code under test.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.contract.ids import BundleId, NodeId
from handrail.contract.outcome import Fault
from handrail.engine.decide import decide_confirmation
from handrail.engine.events import ConfirmationRecorded, PlannedEvent, Scope, SessionImported
from handrail.engine.facts import facts_at
from handrail.engine.history import Node
from handrail.engine.navigate import Running, leaf_at, step_key
from handrail.engine.owners import owners_at
from handrail.workflows.compiled import Action, Choice, Count, InputSpec, Loop, Option
from tests.engine.written_log import SESSION_ID, WrittenLog, step, work, workflow_of
from tests.journeys.code_project import CodeProject
from tests.journeys.doors import command, tool_call
from tests.journeys.given_workflows import begin
from tests.journeys.test_code_workflows import DECIDE, FIND, PREVIEW, WRITE

RANKS = ("agent", "action", "agent_option", "person")
OPTIONS = (
    Option(id="one", label="One", sets={"x": 1, "y": True}),
    Option(id="two", label="Two", sets={"x": 2, "y": None}),
    Option(id="three", label="Three", sets={"x": 1}),
)
BODY = (
    step("note"),
    Choice(id="way", title="Way", prompt="Which?", options=OPTIONS, non_assumable="scope_boundary"),
    Action(id="look", title="Look", operation="code.scan", params={"search": "x"}, save_as="found"),
)
WORKFLOW = workflow_of(
    Loop(id="round", repeat=Count(count=9), max_iterations=9, body=BODY), inputs={"x": InputSpec(default=0)}
)
VALUES = st.sampled_from([None, True, False, 1, 1.0, 2, "1", {"a": [1]}])
CONTEXTS = st.dictionaries(st.sampled_from(["x", "y", "found", "z"]), VALUES, max_size=2)
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["report", "report", "report", "person", "checkpoint", "import"]),
        st.integers(0, 20),
        st.integers(0, 2),
        CONTEXTS,
        VALUES,
    ),
    max_size=16,
)
Said: TypeAlias = dict[str, tuple[int, Any]]
"""Of each name: the rank of its owner, and the value as canonical JSON."""


def spell(value: Any) -> str:
    """JSON in which 1 and 1.0 are one number, and true is none."""
    return json.dumps(int(value) if isinstance(value, float) else value, sort_keys=True)


class Oracle:
    """Plays the moves, and knows whose every value is."""

    def __init__(self, log: WrittenLog) -> None:
        self.log = log
        first = log.start(context={"x": 5})
        self.said: dict[NodeId, Said] = {first.node_id: {"x": (0, spell(5))}}
        self.persons: dict[tuple[str, Any], str] = {}
        self.instance: dict[NodeId, str] = {first.node_id: first.node_id}

    def play(self, kind: str, place: int, number: int, context: dict[str, Any], result: Any) -> None:
        nodes = [held for held in self.log.history.nodes.values() if isinstance(held.state, Running)]
        node = nodes[-1 - place % len(nodes)] if place > 12 else nodes[-1]
        assert isinstance(node.state, Running)
        leaf = leaf_at(WORKFLOW, node.state)
        if kind == "checkpoint":
            self._follow(node, self.log.checkpoint(node, "saved"), {}, 0)
        elif kind == "import":
            self._import()
        elif kind == "person":
            if isinstance(leaf, Choice):
                self._answer(node, OPTIONS[number])
        elif isinstance(leaf, Choice):
            self._take(node, OPTIONS[number], number, context)
        else:
            given = {"found": result} if isinstance(leaf, Action) else {}
            self._report(node, context, given)

    def _answer(self, node: Node, option: Option) -> None:
        fact = ConfirmationRecorded(
            node_id=node.node_id,
            door="terminal",
            who="someone",
            what_digest="",
            answer="confirmed",
            option_id=option.id,
        )
        self.log.take(decide_confirmation(self.log.history, fact))
        self.persons[self._question(node)] = option.id

    def _question(self, node: Node) -> tuple[str, Any]:
        """What a person is asked at a choice: the same on every branch that found the same."""
        assert isinstance(node.state, Running)
        found = self.said[NodeId(self.instance[node.node_id])].get("found", (0, "null"))[1]
        return step_key(node.state), found

    def _import(self) -> None:
        fact = SessionImported(bundle_id=BundleId("bnd_1"), source_session_id=SESSION_ID, source_head="")
        key = f"session_imported:{len(self.log.records)}"
        self.log.take([PlannedEvent(dedupe_key=key, scope=Scope(), data=fact)])
        self.persons = {}

    def _report(self, node: Node, context: dict[str, Any], given: dict[str, Any]) -> None:
        done = msgspec.structs.replace(work("done", context), result=given)
        if self._is_weaker(node, context, 0) or "found" in self._changed(node, context):
            with pytest.raises(Fault):
                self.log.report(node, done)
            return
        made = self.log.report(node, done)
        self._follow(node, made, context, 0)
        self._say(made, given, 1)

    def _take(self, node: Node, option: Option, number: int, context: dict[str, Any]) -> None:
        told = self.persons.get(self._question(node))
        rank = 3 if told == option.id else 2
        beside = {key: value for key, value in context.items() if key not in option.sets}
        is_contrary = any(
            spell(context[key]) != spell(value) for key, value in option.sets.items() if key in context
        )
        is_refused = is_contrary or "found" in self._changed(node, context)
        if is_refused or self._is_weaker(node, beside, 0) or self._is_weaker(node, option.sets, rank):
            with pytest.raises(Fault):
                self.log.report(node, work("done", context, option=number))
            return
        made = self.log.report(node, work("done", context, option=number))
        self._follow(node, made, context, 0)
        if told is not None and told != option.id:
            assert made.kind == "blocked_attempt"
        else:
            self._say(made, option.sets, rank)

    def _is_weaker(self, node: Node, values: dict[str, Any], rank: int) -> bool:
        said = self.said[node.node_id]
        return any(key in said and said[key][0] > rank for key in self._changed(node, values))

    def _changed(self, node: Node, values: dict[str, Any]) -> set[str]:
        said = self.said[node.node_id]
        return {key for key, value in values.items() if key not in said or said[key][1] != spell(value)}

    def _follow(self, before: Node, made: Node, context: dict[str, Any], rank: int) -> None:
        self.said[made.node_id] = dict(self.said[before.node_id])
        is_new = made.kind == "step"
        self.instance[made.node_id] = made.node_id if is_new else self.instance[before.node_id]
        self._say(made, context, rank)

    def _say(self, made: Node, values: dict[str, Any], rank: int) -> None:
        said = self.said[made.node_id]
        for key, value in values.items():
            is_same = key in said and said[key][1] == spell(value)
            said[key] = (max(rank, said[key][0]) if is_same else rank, spell(value))


@pytest.mark.thorough
@pytest.mark.promise("values.owners")
@given(MOVES)
@settings(max_examples=100)
def test_no_weaker_word_replaces_a_stronger_one(
    moves: list[tuple[str, int, int, dict[str, Any], Any]],
) -> None:
    log = WrittenLog(workflow=WORKFLOW)
    oracle = Oracle(log)

    for move in moves:
        oracle.play(*move)

    for node_id, said in oracle.said.items():
        held = owners_at(log.history, WORKFLOW, node_id)
        assert {key: (one.owner, spell(one.value)) for key, one in held.items()} == {
            key: (RANKS[rank], value) for key, (rank, value) in said.items()
        }
        values = facts_at(log.history, WORKFLOW, node_id).values
        in_force = {key: spell(value) for key, value in values.items() if key != "x"}
        assert in_force == {key: value for key, (_, value) in said.items() if key != "x" and value != "null"}


NOTES = [{"id": f"note-{place}", "title": "Note", "prompt": "Write it down."} for place in range(3)]
SENT = st.dictionaries(
    st.sampled_from(["apply", "shown", "found", "shown.edit_count", "found.first.id", "other"]),
    st.sampled_from([True, False, None, "1 comment"]),
    max_size=2,
)


@pytest.mark.thorough
@pytest.mark.promise("values.one-name")
@given(st.lists(st.tuples(SENT, st.booleans()), min_size=3, max_size=3), st.sampled_from(["yes", "no"]))
@settings(max_examples=8)
def test_what_is_shown_is_what_is_done_whatever_is_sent_beside_it(
    calls: list[tuple[dict[str, Any], bool]], option_id: str
) -> None:
    """Between search, preview, choice and write an agent sends what it likes, over MCP or as a command."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        code = CodeProject(Path(folder))
        patched.chdir(code.root)
        wanted = {"kind": "compare", "input": "apply", "op": "equals", "value": True}
        steps = (FIND, NOTES[0], PREVIEW, NOTES[1], DECIDE, NOTES[2], WRITE | {"when": wanted})
        source = code.text("src/app.js")
        reply = begin(code.runtime, *steps, fields={})

        for context, is_command in calls:
            reply = noted(code, reply, context, is_command=is_command)
            if reply["pending"] is not None and reply["pending"]["stepId"] == "decide":
                assert reply["pending"]["prompt"].startswith("Edits: 7. Files: 3.")
                (token,) = [one["token"] for one in reply["pending"]["choices"] if one["id"] == option_id]
                reply = tool_call(code.runtime, "continue_workflow", ackToken=token).structured

        assert reply["isComplete"] is True
        assert (code.text("src/app.js") != source) is (option_id == "yes")
        assert ("function fetchData(name)" in code.text("src/app.js")) is (option_id == "yes")


def noted(code: CodeProject, reply: dict[str, Any], context: dict[str, Any], *, is_command: bool) -> Any:
    """Report a step with a context, and, where that is refused, without it."""
    ack = reply["ackToken"]
    if is_command:
        given = ("--notes", "Noted.", "--context", json.dumps(context))
        status, document = command(code.runtime, "run", "continue", "--ack", ack, *given)
        told = document["data"] if status == 0 else None
    else:
        sent = tool_call(
            code.runtime,
            "continue_workflow",
            ackToken=ack,
            context=context,
            output={"notesMarkdown": "Noted."},
        )
        told = None if sent.is_error else sent.structured
    return told if told is not None else noted(code, reply, {}, is_command=not is_command)
