"""What the Console shows, asked on the command line: a run with a fork, its nodes, what needs a person."""

from __future__ import annotations

from pathlib import Path

from tests.surfaces.cli.tool import Tool


def test_a_fork_is_read_from_the_whole_run_down_to_one_node(tmp_path: Path) -> None:
    tool = Tool(str(tmp_path))
    started = tool.data("run", "start", "wr.small_change", "--goal", "Round once", "--request-id", "k")
    session_id = started["session"]["sessionId"]
    tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "First way: per line.")
    again = tool.data("run", "continue", "--state", started["stateToken"])
    last = tool.data("run", "continue", "--ack", again["ackToken"], "--notes", "Second way: after the sum.")
    tool.data("run", "continue", "--ack", last["ackToken"], "--notes", "Done, without its list of files.")

    graph = tool.data("run", "graph", session_id)
    first, *_, blocked = [node["id"] for node in graph["nodes"] if node["is_tip"]]
    node = tool.data("run", "node", session_id, blocked)
    compared = tool.data("run", "compare", session_id, first, blocked)
    needs = tool.data("session", "needs")["needs"]
    found = tool.data("session", "search", "per line")["hits"]
    told = tool.data("session", "timeline", session_id)

    assert (graph["branch_count"], graph["status"], graph["preferred_tip"]) == (2, "blocked", blocked)
    assert [one["kind"] for one in graph["nodes"]].count("blocked_attempt") == 1
    assert (node["kind"], node["notes"]) == ("blocked_attempt", "Done, without its list of files.")
    assert [one["code"] for one in node["blockers"]] == ["MISSING_REQUIRED_OUTPUT"]
    assert compared["ancestor"] == graph["nodes"][0]["id"]
    assert [compared["rows"][0][side]["notes"] for side in ("one", "other")] == [
        "First way: per line.",
        "Second way: after the sum.",
    ]
    assert [(one["session_id"], one["kind"]) for one in needs] == [(session_id, "blocked")]
    assert [one["node_id"] for one in found] == [first]
    assert [one["node_id"] for one in told["moments"]] == [one["id"] for one in graph["nodes"]]
