"""Law: no weaker word replaces a stronger one, in whatever order options, actions and contexts come.

The oracle keeps, for every node, who said what on the way there; it knows the order of owners and the moves
it made, and asks nothing of the code under test. A log that names no owners is told the same ones, but for
the goal, which older versions did not tell from the agent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.contract.ids import BundleId, NodeId, RunId
from handrail.contract.outcome import Fault
from handrail.engine.decide import decide_start
from handrail.engine.events import (
    ConfirmationRecorded,
    ContextSet,
    Parent,
    PlannedEvent,
    RunStarted,
    Scope,
    SessionImported,
    decode_event,
)
from handrail.engine.facts import facts_at
from handrail.engine.history import History, Node
from handrail.engine.navigate import Running, leaf_at, step_key
from handrail.engine.owners import owners_at
from handrail.engine.plans import plan_confirmation
from handrail.workflows.compiled import Action, Choice, Count, InputSpec, Loop, Option, UserOnly
from tests.engine.written_log import SESSION_ID, WrittenLog, start_facts, step, work, workflow_of
from tests.journeys.code_project import CodeProject
from tests.journeys.given_workflows import begin
from tests.journeys.interfaces import command, tool_call
from tests.journeys.test_code_workflows import DECIDE, FIND, PREVIEW, WRITE

RANKS = ("goal", "agent", "parent", "action", "agent_option", "person")
GOAL, AGENT, PARENT, ACTION, AGENT_OPTION, PERSON = range(6)
OPTIONS = (
    Option(id="one", label="One", sets={"x": 1, "y": True}),
    Option(id="two", label="Two", sets={"x": 2, "y": None, "seen": "kept"}),
    Option(id="three", label="Three", sets={"x": 1, "w": "5"}),
)
SAVED = ("found", "seen")
"""What the two actions save; options set the second too."""
NOT_TOLD = (*SAVED, "y")
"""What no context says: actions find it, or a person decides it, and no input declares it."""
BODY = (
    step("note"),
    Choice(id="way", title="Way", prompt="Which?", options=OPTIONS, non_assumable="scope_boundary"),
    Action(id="look", title="Look", operation="code.scan", params={"search": "x"}, save_as="found"),
    Action(id="again", title="Again", operation="code.scan", params={"search": "y"}, save_as="seen"),
    step("ask", user_only=UserOnly(reason="needs_user_choice", input="w")),
)
WORKFLOW = workflow_of(
    Loop(id="round", repeat=Count(count=9), max_iterations=9, body=BODY),
    inputs={"x": InputSpec(default=0), "w": InputSpec()},
)
VALUES = st.sampled_from([None, True, False, 1, 1.0, 2, "1", {"a": [1]}])
CONTEXTS = st.dictionaries(st.sampled_from(["x", "y", "w", "seen", "found", "z"]), VALUES, max_size=2)
Move: TypeAlias = tuple[str, int, int, dict[str, Any], Any]
"""Its kind, the place of its node, the number of its option, its context, and what an action finds."""
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
STARTS = st.sampled_from([GOAL, AGENT, PARENT])
Said: TypeAlias = dict[str, tuple[int, Any]]
"""Of each name: the rank of its owner, and the value as canonical JSON."""


def spell(value: Any) -> str:
    """JSON in which 1 and 1.0 are one number, and true is none."""
    return json.dumps(int(value) if isinstance(value, float) else value, sort_keys=True)


class Oracle:
    """Plays the moves, and knows whose every value is."""

    def __init__(self, started_by: int) -> None:
        self.log = log = StartedLog(workflow=WORKFLOW)
        first = log.start_as(started_by, {"x": 5, "w": "mine"})
        self.said: dict[NodeId, Said] = {
            first.node_id: {"x": (started_by, spell(5)), "w": (started_by, spell("mine"))}
        }
        self.persons: dict[tuple[Any, ...], str] = {}
        self.asked: set[tuple[str, tuple[Any, ...]]] = set()
        self.is_old = started_by != PARENT
        """An older version could have written the log: it handed nothing out, took no value from a person,
        and a person's option counted only where they were asked."""
        self.instance: dict[NodeId, str] = {first.node_id: first.node_id}

    def play(self, kind: str, place: int, number: int, context: dict[str, Any], result: Any) -> None:
        nodes = [held for held in self.log.history.nodes.values() if isinstance(held.state, Running)]
        node = nodes[-1 - place % len(nodes)] if place > 12 else nodes[-1]
        assert isinstance(node.state, Running)
        leaf = leaf_at(WORKFLOW, node.state)
        if kind == "checkpoint":
            self._follow(node, self.log.checkpoint(node, "saved"), {})
        elif kind == "import":
            self._import()
        elif kind == "person":
            if isinstance(leaf, Choice):
                self._answer(node, option_id=OPTIONS[number].id)
            elif leaf.id == "ask":
                self._answer(node, value=f"given {number}")
        elif isinstance(leaf, Choice):
            self._take(node, OPTIONS[number], number, context)
        else:
            self._report(node, context, {leaf.save_as: result} if isinstance(leaf, Action) else {})

    def _answer(self, node: Node, *, option_id: str = "", value: str = "") -> None:
        fact = ConfirmationRecorded(
            node_id=node.node_id,
            source="terminal",
            who="someone",
            what_digest="",
            answer="confirmed",
            option_id=option_id,
            value=value,
        )
        self.log.take(plan_confirmation(self.log.history, fact))
        self.persons[self._question(node)] = option_id or value
        self.asked.add((self.instance[node.node_id], self._question(node)))
        self.is_old = self.is_old and not value

    def _question(self, node: Node) -> tuple[Any, ...]:
        """What a person is asked: a choice is the same on every branch that found the same."""
        assert isinstance(node.state, Running)
        said = self.said[NodeId(self.instance[node.node_id])]
        found = [said.get(name, (0, "null"))[1] for name in SAVED]
        is_choice = isinstance(leaf_at(WORKFLOW, node.state), Choice)
        return step_key(node.state), *(found if is_choice else ())

    def _import(self) -> None:
        fact = SessionImported(bundle_id=BundleId("bnd_1"), source_session_id=SESSION_ID, source_head="")
        key = f"session_imported:{len(self.log.records)}"
        self.log.take([PlannedEvent(dedupe_key=key, scope=Scope(), data=fact)])
        self.persons = {}

    def _report(self, node: Node, context: dict[str, Any], found: dict[str, Any]) -> None:
        done = msgspec.structs.replace(work("done", context), result=found)
        told = self.persons.get(self._question(node))
        given = {"w": told} if told else {}
        is_beside = any(spell(context[key]) != spell(value) for key, value in given.items() if key in context)
        if is_beside or self._is_refused(node, {key: context[key] for key in context if key not in given}):
            with pytest.raises(Fault):
                self.log.report(node, done)
            return
        made = self.log.report(node, done)
        self._follow(node, made, context)
        said = self.said[made.node_id]
        self._say(made, {key: found[key] for key in found if said.get(key, (0, ""))[0] <= ACTION}, ACTION)
        self._say(made, given, PERSON)

    def _take(self, node: Node, option: Option, number: int, context: dict[str, Any]) -> None:
        told = self.persons.get(self._question(node))
        rank = PERSON if told == option.id else AGENT_OPTION
        is_here = (self.instance[node.node_id], self._question(node)) in self.asked
        self.is_old = self.is_old and (rank != PERSON or is_here)
        beside = {key: value for key, value in context.items() if key not in option.sets}
        is_contrary = any(
            spell(context[key]) != spell(value) for key, value in option.sets.items() if key in context
        )
        if is_contrary or self._is_refused(node, beside) or self._is_weaker(node, option.sets, rank):
            with pytest.raises(Fault):
                self.log.report(node, work("done", context, option=number))
            return
        made = self.log.report(node, work("done", context, option=number))
        self._follow(node, made, context)
        if told is not None and told != option.id:
            assert made.kind == "blocked_attempt"
        else:
            self._say(made, option.sets, rank)

    def _is_refused(self, node: Node, context: dict[str, Any]) -> bool:
        """Whether an agent's context replaces a stronger word, or says what is not its to say."""
        said = self.said[node.node_id]
        forged = {key for key in self._changed(node, context) if key in NOT_TOLD}
        forged |= {key for key in context if key in NOT_TOLD and said.get(key, (0, ""))[0] <= AGENT}
        return bool(forged) or self._is_weaker(node, context, AGENT)

    def _is_weaker(self, node: Node, values: dict[str, Any], rank: int) -> bool:
        said = self.said[node.node_id]
        return any(key in said and said[key][0] > rank for key in self._changed(node, values))

    def _changed(self, node: Node, values: dict[str, Any]) -> set[str]:
        said = self.said[node.node_id]
        return {key for key, value in values.items() if key not in said or said[key][1] != spell(value)}

    def _follow(self, before: Node, made: Node, context: dict[str, Any]) -> None:
        self.said[made.node_id] = dict(self.said[before.node_id])
        is_new = made.kind == "step"
        self.instance[made.node_id] = made.node_id if is_new else self.instance[before.node_id]
        self._say(made, context, AGENT)

    def _say(self, made: Node, values: dict[str, Any], rank: int) -> None:
        said = self.said[made.node_id]
        for key, value in values.items():
            is_same = key in said and said[key][1] == spell(value)
            said[key] = (max(rank, said[key][0]) if is_same else rank, spell(value))


class StartedLog(WrittenLog):
    """A log whose first values are the goal's, the agent's or those of a parent run."""

    def start_as(self, owner: int, context: dict[str, Any]) -> Node:
        plan = decide_start(self.history, start_facts(WORKFLOW, context=context))
        above = Parent(run_id=RunId("run_above"), node_id=NodeId("nod_above"), child_id="child")
        told = []
        for planned in plan:
            fact: Any = planned.data
            if isinstance(fact, ContextSet) and owner != AGENT:
                fact = msgspec.structs.replace(fact, owners=dict.fromkeys(context, RANKS[owner]))
            elif isinstance(fact, RunStarted) and owner == PARENT:
                fact = msgspec.structs.replace(fact, parent=above)
            told.append(msgspec.structs.replace(planned, data=fact))
        return self._node_of(told)

    def without_owners(self) -> History:
        """The same session as an older version wrote it."""
        older = WrittenLog(workflow=WORKFLOW)
        for record in self.records:
            event = decode_event(record.body)
            fact: Any = event.data
            if isinstance(fact, RunStarted):
                fact = msgspec.structs.replace(fact, rules=1)
            elif isinstance(fact, ContextSet):
                fact = msgspec.structs.replace(fact, owners={})
            older.take([PlannedEvent(dedupe_key=record.dedupe_key, scope=event.scope, data=fact)], event.at)
        return older.history


def check_owners(started_by: int, moves: Iterable[Move]) -> None:
    oracle = Oracle(started_by)
    for move in moves:
        oracle.play(*move)
    log = oracle.log
    older = log.without_owners() if oracle.is_old else None
    for node_id, said in oracle.said.items():
        assert tell_owners(log.history, node_id) == {
            key: (RANKS[rank], value) for key, (rank, value) in said.items()
        }
        values = facts_at(log.history, WORKFLOW, node_id).values
        in_force = {key: spell(value) for key, value in values.items() if key != "x"}
        assert in_force == {key: value for key, (_, value) in said.items() if key != "x" and value != "null"}
        if older is not None:
            assert tell_owners(older, node_id) == {
                key: (RANKS[max(rank, AGENT)], value) for key, (rank, value) in said.items()
            }


def tell_owners(history: History, node_id: NodeId) -> dict[str, tuple[str, str]]:
    held = owners_at(history, WORKFLOW, node_id)
    return {key: (one.owner, spell(one.value)) for key, one in held.items()}


@given(STARTS, MOVES)
@settings(max_examples=100)
def test_no_weaker_word_replaces_a_stronger_one(started_by: int, moves: list[Move]) -> None:
    check_owners(started_by, moves)


LETTERS: dict[str, Move] = {
    "context": ("report", 0, 0, {"x": 7, "w": "agent's", "z": 1}, "found"),
    "plain": ("report", 0, 0, {}, "found"),
    "option": ("report", 0, 1, {}, "found"),
    "person": ("person", 0, 2, {}, None),
    "take": ("report", 0, 2, {}, "other"),
    "checkpoint": ("checkpoint", 0, 0, {}, None),
    "fork": ("report", 14, 0, {"w": "on a branch"}, "other"),
    "import": ("import", 0, 0, {}, None),
}
SHORT = 3


@pytest.mark.thorough
@pytest.mark.parametrize("begins", LETTERS)
def test_every_short_order_of_words_keeps_their_rank(begins: str) -> None:
    """From the choice on, and once around the loop: whoever speaks after whom."""
    for order in product(LETTERS, repeat=SHORT - 1):
        spoken = [LETTERS[name] for name in (begins, *order)]
        around = [LETTERS["plain"]] * 4
        check_owners(AGENT, [LETTERS["plain"], *spoken, *around, LETTERS["take"]])


NOTES = [{"id": f"note-{place}", "title": "Note", "prompt": "Write it down."} for place in range(3)]
SENT = st.dictionaries(
    st.sampled_from(["apply", "shown", "found", "shown.edit_count", "found.first.id", "other"]),
    st.sampled_from([True, False, None, "1 comment"]),
    max_size=2,
)


@given(st.lists(st.tuples(SENT, st.booleans()), min_size=3, max_size=3), st.sampled_from(["yes", "no"]))
@settings(max_examples=8)
def test_shown_is_done_whatever_is_sent_beside_it(
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
