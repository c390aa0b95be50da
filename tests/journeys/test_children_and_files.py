"""Children and the files of a real repository: their directories, their changes, their receipts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.host.workspace import LocalWorkspace, ProjectPlaceFiles
from handrail.runtime.refused_calls import MAY_DO
from tests.hostile.repository.checkout import run_git
from tests.journeys.conversation import answer, refusal
from tests.journeys.given_workflows import step
from tests.journeys.interfaces import command, events_of, of_kind
from tests.journeys.workplace import CHANGE, RIGHT, TESTS, Reply, Site, site
from tests.surfaces.cli.test_hook import called, hook

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
__all__ = ["site"]

REASON = {"kind": "wr.changed_files", "why": "It had to."}
FOR_EACH_PATH = REASON | {"why": {"src/bill.py": "It had to."}}


def hand_out(site: Site, *names: str) -> Reply:
    """A run that waits for these children, each of which changes files; then it tells."""
    children = [{"id": name, "steps": [step("change", **CHANGE)]} for name in names]
    waiting = site.begin({"id": "parts", "title": "Parts", "delegate": {"children": children}}, step("tell"))
    return dict(waiting)


def take_up(site: Site, waiting: Reply, place: int) -> None:
    """Go on with a child."""
    site.reply = answer(site.runtime, "run.continue", stateToken=waiting["children"][place]["workToken"])


def own_projects(site: Site, reply: Reply) -> list[dict[str, Any]]:
    seen = of_kind(events_of(site.runtime, reply), "observation_recorded")
    return [one["data"]["project"] for one in seen if one["data"]["key"] == "own_project"]


def test_two_children_that_list_one_file_are_told_as_such(site: Site) -> None:
    waiting = hand_out(site, "a", "b")
    for place in (0, 1):
        take_up(site, waiting, place)
        assert "give a reason for each path that you changed" in site.reply["pending"]["prompt"]
        site.write("src/bill.py", RIGHT + f"# by {place}\n")
        site.run(*TESTS.split())
        site.send(FOR_EACH_PATH)
    met = answer(site.runtime, "run.continue", stateToken=waiting["stateToken"])
    assert "src/bill.py is listed by a, b, which were open" in met["pending"]["prompt"]

    joined = answer(site.runtime, "run.continue", ackToken=met["ackToken"])

    exported = answer(
        site.runtime, "session.export", **{"sessionId": waiting["session"]["sessionId"], "as": "markdown"}
    )
    assert "Delegated as a. Listed at the same time: src/bill.py, as b." in str(exported)
    assert "Delegated as b. Listed at the same time: src/bill.py, as a." in str(exported)
    gaps = [one["data"] for one in of_kind(events_of(site.runtime, joined), "gap_recorded")]
    assert ("info", "src/bill.py is listed by a, b, which were open at the same time.") in [
        (one["severity"], one["summary"]) for one in gaps
    ]


def test_the_run_above_children_lists_what_they_changed(site: Site) -> None:
    children = [{"id": name, "steps": [step("change", **CHANGE)]} for name in ("a", "b")]
    waiting = site.begin(
        {"id": "parts", "title": "Parts", "delegate": {"children": children}},
        step("merge", **CHANGE),
        step("end", prompt="Read {{wr.changed_files.files}}"),
    )
    for place, name in enumerate(("src/bill.py", "src/new.py")):
        take_up(site, waiting, place)
        site.write(name, RIGHT)
        site.send(REASON)
    met = answer(site.runtime, "run.continue", stateToken=waiting["stateToken"])
    site.reply = answer(site.runtime, "run.continue", ackToken=met["ackToken"])
    assert "Other work shares this directory" not in site.reply["pending"]["prompt"]

    done = site.send(REASON)

    told = done["pending"]["prompt"]
    assert ("src/bill.py" in told, "src/new.py" in told) == (True, True)


def in_worktree(site: Site, place: Path) -> Site:
    """The hands of a helper who works in another worktree of the repository."""
    run_git(site.root, "worktree", "add", "-q", str(place))
    return elsewhere(site, place)


def elsewhere(site: Site, place: Path, work: str = "") -> Site:
    helper = Site.__new__(Site)
    helper.__dict__ |= site.__dict__ | {"root": place}
    environment = {"HANDRAIL_PROJECT": str(place)} | ({"HANDRAIL_WORK": work} if work else {})
    helper.runtime = msgspec.structs.replace(site.runtime, workspace=LocalWorkspace(environment))
    return helper


def test_a_child_may_work_in_another_worktree_and_stays_there(site: Site, tmp_path: Path) -> None:
    site.runtime = msgspec.structs.replace(site.runtime, places=ProjectPlaceFiles(str(tmp_path / "home")))
    waiting = hand_out(site, "a", "b")
    helper = in_worktree(site, tmp_path / "tree")
    take_up(helper, waiting, 0)
    helper.write("src/bill.py", RIGHT)
    site.write("unrelated.py", "in the other directory\n")
    checked = helper.run(*TESTS.split())

    done = helper.send(REASON)
    late = answer(site.runtime, "run.continue", stateToken=waiting["children"][0]["workToken"])

    assert done["isComplete"], done
    assert (checked["directory"], checked["exitStatus"]) == (".", 0)
    assert [one["name"] for one in own_projects(site, late)] == ["tree"]


def test_child_does_not_work_in_another_repository(site: Site, tmp_path: Path) -> None:
    waiting = hand_out(site, "a")
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    run_git(stranger, "init", "-q", ".")
    # It claims to be a worktree of the project, which knows nothing of it.
    claimed = tmp_path / "claimed"
    claimed.mkdir()
    run_git(site.root, "worktree", "add", "-q", str(tmp_path / "real"))
    (claimed / ".git").write_bytes((tmp_path / "real" / ".git").read_bytes())
    for place in (stranger, claimed):
        helper = elsewhere(site, place)
        take_up(helper, waiting, 0)
        saving = {"checkpointToken": helper.reply["checkpointToken"], "output": {"notesMarkdown": place.name}}
        answer(helper.runtime, "run.checkpoint", **saving)

    assert own_projects(site, waiting) == []


def test_call_from_outside_means_the_named_or_only_child(site: Site, tmp_path: Path) -> None:
    site.runtime = msgspec.structs.replace(site.runtime, places=ProjectPlaceFiles(str(tmp_path / "home")))
    waiting = hand_out(site, "a", "b")
    a, b = (str(one["workToken"]) for one in waiting["children"])
    read = [answer(site.runtime, "run.continue", stateToken=one) for one in (a, b)]
    run_a, run_b = (one["session"]["runId"] for one in read)
    helper = in_worktree(site, tmp_path / "tree")

    unclear = refusal(site.runtime, "check.run", argv=["true"])
    by_state = answer(helper.runtime, "check.run", argv=["true"], stateToken=b)
    named = elsewhere(site, site.root, work=a)
    by_work = answer(named.runtime, "check.run", argv=["true"])
    alone = answer(site.runtime, "check.run", argv=["true"])
    there = answer(helper.runtime, "check.run", argv=["true"])
    status, shown = command(site.runtime, "code", "status", "--state", a)

    assert unclear.kind.code == "CONTEXT_MISSING"
    assert (by_state["runId"], by_work["runId"]) == (run_b, run_a)
    assert (alone["runId"], there["runId"]) == (run_a, run_b)
    assert status == 0, shown


def test_a_token_of_a_child_shows_the_files_of_its_own_run_alone(site: Site) -> None:
    waiting = hand_out(site, "a", "b")
    a, b = (str(one["workToken"]) for one in waiting["children"])
    whole = answer(site.runtime, "code.status", stateToken=waiting["stateToken"])["trees"]
    own = answer(site.runtime, "code.status", stateToken=a)["trees"]
    state = answer(site.runtime, "run.continue", stateToken=b)["stateToken"]
    others = [one for one in whole if one not in own]

    refused = [refusal(site.runtime, "code.status", stateToken=a, node=one["node_id"]) for one in others]
    by_tree = answer(site.runtime, "code.status", stateToken=state, node=own[0]["tree_id"])

    assert len(own) == 1
    assert {one["step_id"] for one in others} == {"parts", "change"}
    assert {(one.kind.code, one.hint) for one in refused} == {("TOKEN_SCOPE_MISMATCH", MAY_DO)}
    assert [one.next_call and one.next_call.params for one in refused] == [{"stateToken": a}] * len(others)
    assert by_tree["node_id"] not in {own[0]["node_id"]}  # b saw the same files, at its own node
    assert [one["node_id"] for one in by_tree["trees"]] == [by_tree["node_id"]]


def test_check_while_waiting_counts_for_the_named_child_only(site: Site) -> None:
    waiting = hand_out(site, "a", "b")
    a, b = (str(one["workToken"]) for one in waiting["children"])
    session, argv = waiting["session"]["sessionId"], ["true"]
    run_a, run_b = (
        answer(site.runtime, "run.continue", stateToken=one)["session"]["runId"] for one in (a, b)
    )

    unclear = [refusal(site.runtime, "check.run", argv=argv, **one) for one in ({}, {"session": session})]
    named = answer(elsewhere(site, site.root, work=b).runtime, "check.run", argv=argv, session=session)
    broken = refusal(elsewhere(site, site.root, work="wk1x").runtime, "check.run", argv=argv)
    answer(site.runtime, "run.close", run=run_b, reason="abandoned")
    alone = answer(site.runtime, "check.run", argv=argv, session=session)

    assert {one.kind.code for one in unclear} == {"CONTEXT_MISSING"}
    assert all("--state WORK_TOKEN" in one.hint for one in unclear)
    assert all(one.next_call is not None and one.next_call.operation == "session.resume" for one in unclear)
    assert (named["runId"], alone["runId"]) == (run_b, run_a)
    assert broken.message.startswith("In HANDRAIL_WORK: ")


def test_check_in_a_fresh_worktree_counts_for_no_other_session(site: Site, tmp_path: Path) -> None:
    site.runtime = msgspec.structs.replace(site.runtime, places=ProjectPlaceFiles(str(tmp_path / "home")))
    waiting = hand_out(site, "a", "b")
    site.begin(step("alone"))
    helper = in_worktree(site, tmp_path / "tree")

    refused = [refusal(one.runtime, "check.run", argv=["true"]) for one in (site, helper)]

    assert {one.kind.code for one in refused} == {"CONTEXT_MISSING"}
    assert all(waiting["session"]["sessionId"] in one.message for one in refused)


def test_hooks_of_a_helper_are_about_its_work(site: Site) -> None:
    waiting = hand_out(site, "a", "b")
    token = str(waiting["children"][0]["workToken"])
    helper = elsewhere(site, site.root, work=token)
    answer(helper.runtime, "run.continue", stateToken=token)

    begun = hook(helper.runtime, "SessionStart")
    hook(helper.runtime, "PreCompact")
    own = answer(helper.runtime, "run.continue", stateToken=token)["recap"]["entries"]
    site.reply = answer(site.runtime, "run.continue", stateToken=waiting["children"][1]["workToken"])
    answer(site.runtime, "run.close", run=site.reply["session"]["runId"], reason="abandoned")
    parents = hook(site.runtime, "SessionStart")

    assert called(begun.out) == {"stateToken": token}
    assert waiting["stateToken"] not in begun.out
    assert [one["notes"][:27] for one in own] == ["The chat was compacted here"]
    assert called(parents.out) == {"stateToken": waiting["stateToken"]}
    assert "Of its parts: b closed\n" in parents.out
