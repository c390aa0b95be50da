"""Sessions of several runs, finding them again, and the surface that agents have."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.journeys.strangers.execution.flows_b import (
    ack,
    document,
    events,
    follow,
    other_home,
    reread,
    run_of,
    session_of,
    start,
    steps,
    stored,
    three,
)
from tests.journeys.strangers.product import Product


def git(folder: Path, *line: str) -> None:
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *settings, *line], cwd=folder, check=True, capture_output=True)


def elsewhere(product: Product, name: str) -> Path:
    folder = product.project.parent / name
    folder.mkdir()
    return folder


@pytest.mark.promise("start.joins-a-session")
def test_a_run_joins_by_the_id_and_by_each_kind_of_token_of_another_run(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        first = start(server, workflow)
        handles = [session_of(first)] + [
            first.structured[k] for k in ("stateToken", "ackToken", "checkpointToken")
        ]

        joined = [start(server, workflow, session=handle) for handle in handles]
        lost = server.call("start_workflow", workflowId=workflow, session="ses_000000000000")

        runs = product.data("session", "show", session_of(first))["runs"]
    assert {session_of(reply) for reply in joined} == {session_of(first)}
    assert len({run_of(reply) for reply in joined} | {run_of(first)}) == 5
    assert len(runs) == 5
    assert lost.is_error
    assert lost.structured["code"] == "SESSION_NOT_FOUND"
    assert len(list((product.home / "data" / "sessions").iterdir())) == 1


@pytest.mark.promise("sessions.many-runs")
def test_a_fork_in_one_run_of_a_session_leaves_the_other_run_as_it_was(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        one = start(server, workflow)
        two = start(server, workflow, session=session_of(one))
        ack(server, ack(server, one, "one A"), "two A")
        other = ack(server, two, "other run")
        ack(server, reread(server, one), "one B")

        again = reread(server, other)
        runs = {run["id"]: run for run in product.data("session", "show", session_of(one))["runs"]}
    assert runs[run_of(one)]["fork_count"] == 1
    assert runs[run_of(two)]["fork_count"] == 0
    assert runs[run_of(one)]["node_count"] == 4
    assert runs[run_of(two)]["node_count"] == 2
    assert "one A" not in again.text
    assert "one B" not in again.text
    assert [entry["notes"] for entry in again.structured["recap"]["entries"]] == ["other run"]


@pytest.mark.promise("sessions.many-runs")
def test_an_ack_of_one_run_with_the_state_of_the_other_run_of_the_same_session_is_refused(
    product: Product,
) -> None:
    workflow = three(product)
    with product.serve() as server:
        one = start(server, workflow)
        two = start(server, workflow, session=session_of(one))
        before = stored(product, session_of(one))

        mixed = server.call(
            "continue_workflow",
            stateToken=one.structured["stateToken"],
            ackToken=two.structured["ackToken"],
            output={"notesMarkdown": "mixed"},
        )

    assert mixed.is_error
    assert mixed.structured["code"] == "TOKEN_SCOPE_MISMATCH"
    assert stored(product, session_of(one)) == before


@pytest.mark.promise("sessions.boundaries")
def test_two_runs_of_a_session_are_shown_apart_with_workflow_status_and_graph(product: Product) -> None:
    short = product.workflow(document("project.short", steps(1)) | {"name": "The short one"})
    long = product.workflow(document("project.long", steps(4)) | {"name": "The long one"})
    with product.serve() as server:
        one = start(server, short)
        two = start(server, long, session=session_of(one))
        ack(server, one, "note of the short one")
        ack(server, two, "note of the long one")

        runs = product.data("session", "show", session_of(one))["runs"]
        human = product.run("session", "show", session_of(one), "--human").out
        report = product.run("session", "export", session_of(one), "--as", "markdown", "--format", "raw").out
    shown = {run["workflow_id"]: run for run in runs}
    assert shown["project.short"]["status"] == "complete"
    assert shown["project.long"]["status"] == "in_progress"
    assert [len(shown[w]["graph"]) for w in ("project.short", "project.long")] == [2, 2]
    assert [note["text"] for note in shown["project.short"]["notes"]] == ["note of the short one"]
    for text, before in ((human, ": "), (report, "## ")):
        places = [text.index(f"{before}{words}") for words in ("The short one", "The long one")]
        first, second = ("short", "long") if places[0] < places[1] else ("long", "short")
        assert text.index(f"note of the {first} one") < max(places) < text.index(f"note of the {second} one")


@pytest.mark.promise("resume.new-chat")
def test_a_new_server_finds_the_tip_by_words_of_an_old_note_and_goes_on_to_the_end(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow, goal="Repair the Straße parser")
        ack(server, ack(server, begun, "the colander was cracked"), "two")
        ack(server, reread(server, begun), "another beginning")
        start(server, "wr.small_change", goal="Something else")
    with product.serve() as server:
        found = server.call("resume_session", query="COLANDER cracked")
        folded = server.call("resume_session", query="STRAßE ＰＡＲＳＥＲ").structured
        none = server.call("resume_session", query="zeppelin")
        item = found.structured["items"][0]
        reply = follow(server, item["nextCall"])
        while not reply.structured["isComplete"]:
            reply = ack(server, reply, "further")

    assert item["sessionId"] == session_of(begun)
    assert item["pendingTitle"] == "Step 2"
    assert folded["items"][0]["sessionId"] == session_of(begun)
    assert none.structured["matched"] is False
    assert none.text.index("Nothing matches") < none.text.index(session_of(begun))


@pytest.mark.promise("observations.recorded")
def test_branch_and_goal_of_a_start_are_in_the_log_and_an_exact_branch_beats_a_prefix_in_any_case(
    product: Product,
) -> None:
    git(product.project, "init")
    git(product.project, "commit", "--allow-empty", "-m", "x")
    workflow = three(product)
    sessions = {}
    with product.serve() as server:
        for branch in ("Feature/Parser", "feature/parser-two"):
            git(product.project, "checkout", "-b", branch)
            sessions[branch] = session_of(start(server, workflow, goal=f"goal on {branch}"))
        found = server.call("resume_session", query="feature/parser").structured["items"]
        observed = events(product, sessions["Feature/Parser"], "observation_recorded")

    values = {event["data"]["key"]: event["data"]["value"] for event in observed}
    assert "goal on Feature/Parser" in values.values()
    assert "Feature/Parser" in values.values()
    assert any(isinstance(value, str) and len(value) == 40 for value in values.values())
    assert [item["sessionId"] for item in found] == list(sessions.values())
    assert "branch" in json.dumps(found[0]["whyMatched"])


@pytest.mark.promise("resume.new-chat")
def test_work_of_another_project_comes_last_is_marked_and_never_offered_as_if_it_were_here(
    product: Product,
) -> None:
    workflow = three(product)
    spaced, umlaut = elsewhere(product, "mein projekt"), elsewhere(product, "Müller")
    with product.serve() as server:
        here = start(server, workflow, goal="shared words here")
        away = [
            server.call(
                "start_workflow", workflowId="wr.small_change", goal="shared words away", project=str(folder)
            )
            for folder in (spaced, umlaut)
        ]
        listed = server.call("resume_session", query="shared words")

    assert not any(reply.is_error for reply in away)
    items = listed.structured["items"]
    assert items[0]["sessionId"] == session_of(here)
    assert items[0]["isHere"] is True
    assert [item["isHere"] for item in items[1:]] == [False, False]
    assert {item["project"] for item in items[1:]} == {"mein projekt", "Müller"}
    assert listed.text.count("Not of this project") == 2


@pytest.mark.promise("agent.no-state")
def test_no_tool_has_a_parameter_for_progress_and_one_that_is_sent_is_refused(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        tools = server.ask("tools/list")["result"]["tools"]
        begun = start(server, workflow)
        before = stored(product, session_of(begun))
        forged = [
            server.call("continue_workflow", ackToken=begun.structured["ackToken"], **{name: value})
            for name, value in (
                ("completedSteps", ["s1", "s2"]),
                ("stepId", "s3"),
                ("state", {"kind": "complete"}),
                ("isComplete", True),
            )
        ]

    names = {name for tool in tools for name in tool["inputSchema"]["properties"]}
    assert names <= {
        "query",
        "cursor",
        "project",
        "workflowId",
        "part",
        "goal",
        "context",
        "preferences",
        "requestId",
        "session",
        "ackToken",
        "stateToken",
        "output",
        "checkpointToken",
    }
    assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools)
    assert all(reply.is_error for reply in forged)
    assert stored(product, session_of(begun)) == before


@pytest.mark.promise("replies.fields")
def test_start_and_continue_answer_with_the_names_of_the_contract_and_the_tokens_are_last(
    product: Product,
) -> None:
    workflow = product.workflow(
        document("project.f", [steps(1)[0] | {"requireConfirmation": True}, steps(2)[1]])
    )
    with product.serve() as server:
        begun = start(server, workflow)
        second = ack(server, begun, "n")
        ended = ack(server, second, "n")

    wanted = {"stateToken", "pending", "ackToken", "checkpointToken", "isComplete", "session"}
    assert wanted | {"preferences"} <= set(begun.structured)
    assert wanted <= set(second.structured)
    assert set(begun.structured["pending"]) == {"stepId", "title", "prompt", "requireConfirmation"}
    assert begun.structured["pending"]["requireConfirmation"] is True
    assert set(begun.structured["preferences"]) == {"autonomy", "riskPolicy"}
    assert {"sessionId", "runId"} <= set(begun.structured["session"])
    assert ended.structured["pending"] is None
    assert ended.structured["isComplete"] is True
    assert "ackToken" not in ended.structured


@pytest.mark.promise("tools.closed-set")
def test_the_tools_are_the_seven_or_fewer_of_the_contract_and_a_read_model_cannot_be_called(
    product: Product,
) -> None:
    core = {"list_workflows", "inspect_workflow", "start_workflow", "continue_workflow"}
    flagged = {"checkpoint_workflow", "start_session", "resume_session"}
    with product.serve() as server:
        names = {tool["name"] for tool in server.ask("tools/list")["result"]["tools"]}
        answers = [
            server.ask("tools/call", name=name, arguments={"id": "ses_000000000000"})
            for name in (
                "session_show",
                "show_session",
                "list_sessions",
                "session.show",
                "ledger_show",
                "run_close",
            )
        ]

    assert core <= names <= core | flagged
    assert all("error" in answer or answer["result"].get("isError") for answer in answers)


@pytest.mark.promise("resume.new-chat")
def test_a_closed_run_is_not_offered_and_an_ack_opens_it_again(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow, goal="closing time")
        product.data("run", "close", session_of(begun), "--reason", "abandoned", "--note", "mistake")
        shown = product.data("session", "show", session_of(begun))["runs"][0]
        away = server.call("resume_session").structured["items"]
        second = ack(server, begun, "went on after all")
        back = server.call("resume_session").structured["items"]

    assert shown["status"] == "closed"
    assert shown["closed"]["reason"] == "abandoned"
    assert away == []
    assert second.structured["pending"]["stepId"] == "s2"
    assert [item["sessionId"] for item in back] == [session_of(begun)]


@pytest.mark.promise("start.joins-a-session")
def test_a_token_of_another_home_joins_nothing(product: Product) -> None:
    workflow = three(product)
    stranger = other_home(product, "stranger")
    three(stranger)
    with stranger.serve() as server:
        foreign = start(server, workflow)
    with product.serve() as server:
        refused = server.call("start_workflow", workflowId=workflow, session=foreign.structured["stateToken"])

    assert refused.is_error
    assert not (product.home / "data" / "sessions").exists() or not any(
        (product.home / "data" / "sessions").iterdir()
    )


@pytest.mark.promise("observations.recorded")
def test_without_a_query_the_run_of_the_branch_that_is_checked_out_comes_first(product: Product) -> None:
    git(product.project, "init")
    git(product.project, "commit", "--allow-empty", "-m", "x")
    workflow = three(product)
    with product.serve() as server:
        git(product.project, "checkout", "-b", "login")
        here = start(server, workflow, goal="on login")
        git(product.project, "checkout", "-b", "other")
        start(server, workflow, goal="on other")
        git(product.project, "checkout", "login")

        found = server.call("resume_session").structured["items"]

    assert found[0]["sessionId"] == session_of(here), [item["whyMatched"] for item in found]
