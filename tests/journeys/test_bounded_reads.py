"""A session of 1 000 steps, 150 forks, 500 gaps and notes of 64 KB: every read of it stays small.

The budgets stand here as numbers, in bytes as they are sent. Exports are exempt, because they are the whole
on purpose, and so is the drawing of a workflow, which is made for a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import SessionId
from handrail.engine.history import Node, path_to
from handrail.operations.handles import mint_state_token
from handrail.projections.run_graph import run_graph
from handrail.runtime.sessions import HotLog, read_session
from handrail.surfaces.cli.hook import answer_hook
from handrail.surfaces.mcp.adapter import list_prompts
from handrail.surfaces.mcp.resources import list_resources, read_resource
from tests.journeys.conversation import answer
from tests.journeys.interfaces import tool_call
from tests.journeys.monster import FORK_AT, FORKS, GAPS, STEPS, Monster, monster
from tests.surfaces.cli.here import run_here

KB = 1_024
RECAP = 12 * KB
"""Entries, branches and what followed, together."""
REPLY = 24 * KB
"""A reply of a run at any node: recap, prompt, artifacts and all around them."""
LIST = 64 * KB
"""A page of a list, or one part of a workflow, printed with its indents."""
SUMMARY = 64 * KB
"""A session with its runs."""
SMALL = 8 * KB
HOOK = KB


@pytest.fixture(scope="module")
def held() -> Monster:
    """In a log that remembers what it has folded, as a server has it: the answers are the same."""
    made = monster()
    hot = HotLog(made.runtime.log)
    return msgspec.structs.replace(made, runtime=msgspec.structs.replace(made.runtime, log=hot))


def session_of(held: Monster) -> SessionId:
    return SessionId(held.first["session"]["sessionId"])


def places(held: Monster) -> dict[str, Node]:
    """The nodes where a reply has most to tell."""
    session = read_session(held.runtime.log, session_of(held))
    assert session is not None
    graph = run_graph(session.history, held.nodes[0].run_id)
    path = [node for node in path_to(session.history, graph.preferred_tip) if node.kind == "step"]
    return {
        "the first step": path[0],
        "a step with 150 forks": path[FORK_AT],
        "a step with 40 checkpoints": path[STEPS - 1],
        "the end": session.history.nodes[graph.preferred_tip],
    }


def token_at(held: Monster, place: str) -> str:
    return mint_state_token(held.runtime.keys, session_of(held), places(held)[place])


def check_size(name: str, content: str | bytes, budget: int) -> None:
    size = len(content.encode() if isinstance(content, str) else content)
    print(f"{size:7d} of {budget:6d}  {name}")
    assert 0 < size <= budget, name


def recap_size(recap: dict[str, Any]) -> int:
    parts = [recap.get(name, []) for name in ("entries", "children", "downstream")]
    shown = [
        {key: value for key, value in one.items() if key != "_untrusted"} for part in parts for one in part
    ]
    return len(msgspec.json.encode(shown))


@pytest.mark.thorough
def test_the_monster_is_what_it_is_said_to_be(held: Monster) -> None:
    shown = answer(held.runtime, "session.show", sessionId=session_of(held), run=held.nodes[0].run_id)
    (run,) = shown["runs"]

    assert run["fork_count"] == FORKS
    assert run["node_count"] > STEPS + FORKS
    assert len(run["gaps"]) + run["omitted"]["gaps"] == GAPS
    assert run["status"] == "complete_with_gaps"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "place", ["the first step", "a step with 150 forks", "a step with 40 checkpoints", "the end"]
)
def test_a_recap_keeps_to_its_budget_and_counts_what_it_left_out(held: Monster, place: str) -> None:
    rendered = tool_call(held.runtime, "continue_workflow", stateToken=token_at(held, place))

    recap = rendered.structured["recap"]
    assert recap_size(recap) <= RECAP
    assert recap["truncated"]
    assert recap["policy"] == "kept the most recent entries"
    assert f"Omitted {recap['omitted']} earlier entries" in rendered.text
    if place == "a step with 150 forks":
        assert len(recap["children"]) + recap["childrenOmitted"] == FORKS + 1
        assert f"{recap['childrenOmitted']} more branches are left out" in rendered.text
    check_size(f"continue_workflow, text, {place}", rendered.text, REPLY)
    check_size(f"continue_workflow, structure, {place}", json.dumps(rendered.structured), REPLY)


@pytest.mark.thorough
def test_tools_and_resources_stay_within_their_budgets(held: Monster) -> None:
    runtime, workflow_id = held.runtime, held.first["session"]["workflowId"]
    calls: list[tuple[str, dict[str, Any], int]] = [
        ("resume_session", {}, SMALL),
        ("resume_session", {"query": "long story told"}, SMALL),
        ("inspect_workflow", {"workflowId": workflow_id}, SMALL),
        ("inspect_workflow", {"workflowId": workflow_id, "part": "steps"}, LIST),
        ("list_workflows", {}, LIST),
    ]
    for tool, params, budget in calls:
        rendered = tool_call(runtime, tool, **params)
        check_size(f"{tool} {params}, text", rendered.text, budget)
        check_size(f"{tool} {params}, structure", json.dumps(rendered.structured), budget)
    resources = {
        f"handrail://sessions/{session_of(held)}": REPLY,
        "handrail://workflows": LIST,
        f"handrail://workflows/{workflow_id}": LIST,
    }
    for uri, budget in resources.items():
        check_size(uri, read_resource(runtime, uri).text, budget)
    check_size("resources/list", repr(list_resources(runtime, None)), LIST)
    check_size("prompts/list", repr(list_prompts(runtime, None)), LIST)


COMMANDS: list[tuple[Callable[[Monster], tuple[str, ...]], int]] = [
    (lambda held: ("session", "list"), LIST),
    (lambda held: ("session", "show", session_of(held)), SUMMARY),
    (lambda held: ("session", "show", session_of(held), "--run", held.nodes[0].run_id), SUMMARY),
    (lambda held: ("session", "events", session_of(held)), LIST),
    (lambda held: ("session", "events", session_of(held), "--after", "3000", "--limit", "500"), LIST),
    (lambda held: ("session", "resume"), SMALL),
    (lambda held: ("session", "resume", "story"), SMALL),
    (lambda held: ("ledger", "show", held.nodes[0].run_id), LIST),
    (lambda held: ("ledger", "show", held.nodes[0].run_id, "--offset", "500", "--limit", "1000"), LIST),
    (lambda held: ("ledger", "show", held.nodes[0].run_id, "--mode", "delta", "--since-version", "9"), LIST),
    (lambda held: ("ledger", "show", held.nodes[0].run_id, "--view", "state"), LIST),
    (lambda held: ("ledger", "show", held.nodes[0].run_id, "--mode", "summary"), SMALL),
    (lambda held: ("run", "continue", "--state", token_at(held, "a step with 150 forks")), REPLY),
    (lambda held: ("run", "continue", "--state", token_at(held, "the end")), REPLY),
    (lambda held: ("settings", "show", "--preferences", "--session", session_of(held)), SMALL),
    (lambda held: ("workflow", "inspect", held.first["session"]["workflowId"], "--part", "steps"), LIST),
    (lambda held: ("workflow", "list"), LIST),
]


@pytest.mark.thorough
@pytest.mark.parametrize("flags", [("--human",), ("--mvi", "full")], ids=["human", "full"])
def test_every_read_of_the_command_line_stays_within_its_budget(
    held: Monster, flags: tuple[str, ...]
) -> None:
    """No level has more than `full`, as tests/conformance/test_every_disclosure.py shows."""
    for words_of, budget in COMMANDS:
        words = (*words_of(held), *flags)
        ran = run_here(held.runtime, words)

        assert ran.status == 0, words
        check_size(" ".join(words), ran.out, budget)


@pytest.mark.thorough
def test_a_long_list_goes_on_where_its_page_ended(held: Monster) -> None:
    first = answer(held.runtime, "session.events", sessionId=session_of(held), after=2_000, limit=500)
    second = answer(
        held.runtime,
        "session.events",
        sessionId=session_of(held),
        after=2_000,
        limit=500,
        cursor=first["next_cursor"],
    )
    entries = answer(held.runtime, "ledger.show", runId=held.nodes[0].run_id, limit=1_000)

    assert 0 < first["count"] < 500
    assert second["items"][0]["eventIndex"] == first["items"][-1]["eventIndex"] + 1
    assert entries["next_offset"] == len(entries["entries"]) < 1_000
    assert entries["has_more"]


@pytest.mark.thorough
def test_a_hook_says_no_more_than_its_client_reads(held: Monster) -> None:
    runtime = held.runtime

    told = answer_hook(lambda: runtime, "SessionStart", b"{}", lambda _: 0)

    check_size("hook SessionStart", told.out, HOOK)
