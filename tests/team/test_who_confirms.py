"""A step says who confirms it: a role, or somebody none of whose agents did the work; the server checks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest

from handrail.engine.events import ConfirmationRecorded, decode_event
from handrail.runtime.runtime import Runtime
from handrail.workflows.compiled import COMPILED_VERSION, WITH_CHILDREN
from handrail_serve.accounts.forms import drop_forms
from handrail_serve.views import MAIN_PAGES
from handrail_team.store.log import TeamHold, TeamLog
from handrail_team.store.migrations import SCOPE, scope_of
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer
from tests.journeys.given_workflows import NEVER_STOP, begin, step
from tests.journeys.interfaces import events_of, of_kind
from tests.surfaces.http.client import Answered
from tests.team.team_server import ORIGIN, PAGE, Caller, Server


def confirmed_step(by: Any) -> dict[str, Any]:
    return step("publish", requireConfirmation=by)


@pytest.fixture
def server(team_database: str, tmp_path: Path) -> Server:
    made = Server(team_database, tmp_path)
    folder = tmp_path / "home" / "workflows"
    folder.mkdir(parents=True)
    for name, by in (("other", "other"), ("admin", "role:admin")):
        content = {
            "id": f"ours.{name}",
            "name": "Publish",
            "description": "Publishes it.",
            "version": "1.0.0",
            "steps": [confirmed_step({"by": by})],
        }
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return made


def report(agent: Caller, workflow: str) -> tuple[str, dict[str, Any]]:
    """The agent does the step, and is told that a person has to confirm it."""
    begun = agent.start(workflowId=workflow, requestId=workflow)
    told = agent.data("run.continue", ackToken=begun["ackToken"], output={"notesMarkdown": "Published it."})
    assert told["kind"] == "blocked", told
    return begun["session"]["sessionId"], told


def confirm(person: Caller, session: str) -> Answered:
    shown = person.data("run.answer", session=session, show=True)
    given = {"answer": "yes", "whatDigest": shown["what_digest"]}
    return person.call("run.answer", session=session, given=given)


@pytest.mark.thorough
def test_another_person_confirms_what_an_agent_of_mine_did(server: Server) -> None:
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana"), server.join(workspace, "Ben")
    agent = ana.agent("builder")
    session, blocked = report(agent, "ours.other")

    mine = confirm(ana, session)
    agents = agent.call("run.answer", session=session, given={"answer": "yes", "whatDigest": "x"})
    bens = confirm(ben, session)
    done = agent.data("run.continue", **blocked["nextCall"]["params"])

    assert (mine.status, agents.status, bens.status) == (403, 403, 200)
    assert "none of whose agents did the work" in mine.document["detail"]
    assert (bens.document["data"]["source"], done["kind"]) == ("account", "ok")
    assert "not checked" not in bens.document["data"]["next"]


@pytest.mark.thorough
def test_no_line_of_a_terminal_is_named_where_only_a_page_counts(server: Server) -> None:
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana"), server.join(workspace, "Ben")
    agent = ana.agent("builder")
    session, blocked = report(agent, "ours.other")
    (need,) = agent.data("session.inbox")["items"]
    shown = ben.data("run.answer", session=session, show=True)
    ben.data("run.answer", session=session, given={"answer": "no", "whatDigest": shown["what_digest"]})

    declined = agent.data("run.continue", **blocked["nextCall"]["params"])

    assert need["command"] == f"{ORIGIN}/sessions/{session}"
    assert f"in the Console of the team, at /sessions/{session}" in json.dumps(declined)
    assert "run answer" not in json.dumps([blocked, need, declined, agent.data("session.resume")])


@pytest.mark.thorough
def test_a_role_confirms_and_a_lower_one_does_not(server: Server) -> None:
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana", "admin"), server.join(workspace, "Ben")
    session, _ = report(ben.agent("builder"), "ours.admin")

    told = [confirm(one, session).status for one in (ben, ana)]

    assert told == [403, 200]


@pytest.mark.thorough
def test_an_agent_and_a_viewer_are_told_who_answers(server: Server) -> None:
    workspace = server.workspace("main")
    ana, eve = server.join(workspace, "Ana"), server.join(workspace, "Eve", "viewer")
    agent = ana.agent("builder")
    begun = agent.start(workflowId="ours.other", requestId="ours.other")
    session, _ = report(agent, "ours.other")

    told = {
        one: person.data("run.answer", session=session, show=True)["others"]
        for one, person in (("worker", ana), ("viewer", eve))
    }
    page = server.ask("GET", f"/api/view/sessions/{session}", eve.token, PAGE).body.decode()

    assert begun["pending"]["confirmedBy"] == "a person none of whose agents did the work"
    assert told["worker"] == begun["pending"]["confirmedBy"]
    assert told["viewer"] == "a member, admin or owner none of whose agents did the work"
    assert "Waits for somebody else" in page
    assert "Needs your answer" not in page


@pytest.mark.thorough
def test_no_page_has_a_form_that_its_reader_may_not_send(server: Server) -> None:
    workspace = server.workspace("main")
    ana, ben, eve = (
        server.join(workspace, *who) for who in (("Ana", "owner"), ("Ben", "member"), ("Eve", "viewer"))
    )
    session, _ = report(ben.agent("builder"), "ours.other")
    paths = [
        *("/sessions", "/needs", "/workflows", "/team", "/import", "/workflows/ours.other", "/", "/settings"),
        *(f"/sessions/{session}{more}" for more in ("", "/timeline", "/gaps", "/notes", "/export")),
    ]

    shown = {
        name: {
            operation
            for path in paths
            for operation in re.findall(
                r'data-operation="([^"]+)"',
                server.ask("GET", f"/api/view{path}", one.token, PAGE).body.decode(),
            )
        }
        for name, one in (("owner", ana), ("member", ben), ("viewer", eve))
    }

    assert {"run.close", "session.rename"} <= shown["owner"] & shown["member"]
    assert shown["viewer"] <= {"team.revoke_token", "session.export"}
    assert (
        "Close this run"
        not in server.ask("GET", f"/api/view/sessions/{session}", eve.token, PAGE).body.decode()
    )


def test_folded_form_goes_with_what_opens_it() -> None:
    """A form that is folded goes with what opens it and others stay."""
    folded = '<details id="a"><summary>Open</summary><form data-operation="x.y"><p>1</p></form></details>'
    plain = '<form class="b" data-operation="x.z"><button>2</button></form>'
    page = f"<details><summary>Told</summary>{plain}<p>after</p></details>{folded}<p>end</p>"

    assert drop_forms(page, lambda name: name == "x.z") == page.replace(folded, "")
    assert drop_forms(page, lambda name: name == "x.y") == page.replace(plain, "")
    assert drop_forms(page, lambda _: True) == page


def test_what_waits_for_me_is_what_i_may_answer(server: Server) -> None:
    workspace = server.workspace("main")
    ana, ben, cleo = (server.join(workspace, name) for name in ("Ana", "Ben", "Cleo"))
    eve = server.join(workspace, "Eve", "viewer")
    session, _ = report(ana.agent("builder"), "ours.other")
    report(ben.agent("builder-2"), "ours.admin")

    mine = {
        name: [row["session_id"] for row in one.data("session.inbox", assigned="me")["items"]]
        for name, one in (("ana", ana), ("ben", ben), ("cleo", cleo), ("eve", eve))
    }

    assert mine == {"ana": [], "ben": [session], "cleo": [session], "eve": []}
    assert len(ana.data("session.inbox")["items"]) == 2


@pytest.mark.parametrize(("name", "role", "is_asked"), [("Ben", "member", True), ("Eve", "viewer", False)])
def test_a_page_has_the_form_for_who_may_answer_alone(
    server: Server, name: str, role: str, is_asked: bool
) -> None:
    workspace = server.workspace("main")
    ana, other = server.join(workspace, "Ana"), server.join(workspace, name, role)
    session, _ = report(ana.agent("builder", machine="laptop-7"), "ours.other")
    form = 'data-operation="run.answer"'

    own, others = (
        server.ask("GET", f"/api/view/sessions/{session}", one.token, PAGE).body.decode()
        for one in (ana, other)
    )

    assert form not in own
    assert (form in others) is is_asked
    assert "This waits for a person none of whose agents did the work" in own
    assert "of Ana on laptop-7" in others
    assert "of acc_" not in others


def test_the_bar_leads_nobody_to_a_page_that_is_closed_to_them(server: Server) -> None:
    workspace = server.workspace("main")
    people = {role: server.join(workspace, role.title(), role) for role in ("owner", "member", "viewer")}

    closed = {
        role: server.ask("GET", "/api/view/sessions", one.token, PAGE).header("x-handrail-closed")
        for role, one in people.items()
    }

    for role, one in people.items():
        opened = {path: server.ask("GET", f"/api/view{path}", one.token, PAGE).status for path in MAIN_PAGES}
        assert {path for path, status in opened.items() if status != 200} <= set((closed[role] or "").split())
    assert closed["owner"] == "/builtins /settings"
    assert closed["viewer"] == "/builtins /import /settings"


def test_people_are_named_and_lists_filter_by_account(server: Server) -> None:
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana"), server.join(workspace, "<b>Ben</b>")
    agent = ana.agent("builder")
    session, _ = report(agent, "ours.other")
    assert confirm(ben, session).status == 200
    ids = {row["name"]: row["id"] for row in ana.data("team.members")["items"]}

    page = server.ask("GET", f"/api/view/sessions/{session}", ana.token, PAGE).body.decode()
    (need,) = ana.data("session.inbox")["items"]
    shown = ana.data("session.show", sessionId=session)["runs"][0]["confirmations"][0]
    resumed = agent.tool("resume_session", query=session).document["result"]
    found = [len(ana.data("session.list", account=ids[name])["items"]) for name in ("Ana", "<b>Ben</b>")]

    assert "&lt;b&gt;Ben&lt;/b&gt; confirmed it with their account" in page
    assert need["why"].startswith("It was answered by <b>Ben</b>: yes")
    assert (shown["who"], "acc_" in str(resumed)) == (ids["<b>Ben</b>"], False)
    assert found == [1, 0]


@pytest.mark.parametrize("autonomy", ["guided", "full_auto_stop_on_user_deps"])
def test_any_person_confirms_without_accounts(runtime: Runtime, autonomy: str) -> None:
    reply = begin(
        runtime, confirmed_step({"by": "role:admin"}), fields={}, preferences={"autonomy": autonomy}
    )
    blocked = advance(runtime, reply, "Published it.")

    told = answer(seat(runtime, Person("y")), "run.answer", session=reply["session"]["sessionId"])
    done = answer(runtime, "run.continue", **blocked["nextCall"]["params"])

    assert (blocked["kind"], done["kind"]) == ("blocked", "ok")
    assert "role not checked here" in told["next"]
    (kept,) = of_kind(events_of(runtime, reply), "confirmation_recorded")
    assert (kept["data"]["by"], kept["data"]["door"]) == ("role:admin", "terminal")


@pytest.mark.thorough
@pytest.mark.parametrize("workflow", ["ours.other", "ours.admin"])
def test_no_mode_passes_over_who_can_confirm_in_a_team(server: Server, workflow: str) -> None:
    """An agent that never stops waits too, once somebody is there who may look at what it did."""
    workspace = server.workspace("main")
    agent = server.join(workspace, "Ana").agent("builder")
    alone = agent.start(workflowId=workflow, requestId="alone", preferences=NEVER_STOP)
    passed = agent.data("run.continue", ackToken=alone["ackToken"], output={"notesMarkdown": "Published."})
    ben = server.join(workspace, "Ben", "admin")

    begun = agent.start(workflowId=workflow, requestId="with-ben", preferences=NEVER_STOP)
    blocked = agent.data("run.continue", ackToken=begun["ackToken"], output={"notesMarkdown": "Published."})
    told = confirm(ben, begun["session"]["sessionId"])
    done = agent.data("run.continue", **blocked["nextCall"]["params"])

    assert (passed["kind"], [one["code"] for one in passed["warnings"]]) == ("ok", ["NOT_ASKED"])
    assert (blocked["kind"], told.status, done["kind"]) == ("blocked", 200, "ok")
    assert not done.get("warnings")


def test_a_mode_that_never_stops_has_a_critical_gap(runtime: Runtime) -> None:
    reply = begin(runtime, confirmed_step({"by": "other"}), fields={}, preferences=NEVER_STOP)

    done = advance(runtime, reply, "Published it.")

    gaps = of_kind(events_of(runtime, reply), "gap_recorded")
    assert (done["kind"], [one["data"]["severity"] for one in gaps]) == ("ok", ["critical"])


@pytest.mark.parametrize(
    ("asked", "version"),
    [(True, COMPILED_VERSION), (False, COMPILED_VERSION), ({"by": "other"}, WITH_CHILDREN)],
)
def test_only_a_workflow_that_names_who_has_the_new_version(
    runtime: Runtime, asked: Any, version: int
) -> None:
    reply = begin(runtime, confirmed_step(asked), fields={})

    (started,) = of_kind(events_of(runtime, reply), "run_started")
    pinned = json.loads(runtime.log.get_blob(started["data"]["workflowHash"]))
    assert pinned["v"] == version
    assert ("confirmedBy" in pinned["steps"][0]) is (version == WITH_CHILDREN)


@pytest.mark.thorough
def test_person_who_did_the_work_does_not_confirm_it(server: Server) -> None:
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana"), server.join(workspace, "Ben")
    session, blocked = report(ana, "ours.other")

    told = [confirm(one, session).status for one in (ana, ben)]

    assert told == [403, 200]
    (blocker,) = blocked["blockers"]
    assert blocker["message"].startswith("A person none of whose agents did the work must confirm")
    assert blocker["suggestedFix"].startswith(
        "Ask a person none of whose agents did the work to confirm this"
    )


@pytest.mark.thorough
@pytest.mark.parametrize("change", [{"role": "viewer"}, {"role": "admin"}, {"remove": True}])
def test_answer_after_a_lost_role_is_not_recorded(
    server: Server, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """An answer of who lost the role after the check is refused and not recorded."""
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana", "owner"), server.join(workspace, "Ben")
    session, _ = report(ana.agent("builder"), "ours.other")
    shown = ben.data("run.answer", session=session, show=True)
    given = {"answer": "yes", "whatDigest": shown["what_digest"]}
    hold = TeamLog.hold_existing

    def change_first(self: TeamLog, *told: Any) -> Any:
        monkeypatch.undo()
        ana.gated("team.set_member", member="Ben", **change)
        return hold(self, *told)

    monkeypatch.setattr(TeamLog, "hold_existing", change_first)
    told = ben.call("run.answer", session=session, given=given)

    assert (told.status, told.document["details"]["reason"]) == (409, "role_changed")
    assert confirmations(server, workspace, session) == []
    server.accounts.forget()
    again = {"viewer": 403, "admin": 200, "": 401}[change.get("role", "")]
    assert ben.call("run.answer", session=session, given=given).status == again


@pytest.mark.thorough
def test_role_stays_until_the_answer_is_kept(
    server: Server, team_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody changes the role of who answers before the answer is kept."""
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana", "owner"), server.join(workspace, "Ben")
    session, _ = report(ana.agent("builder"), "ours.other")
    found: list[str] = []
    commit = TeamHold._commit

    def facts_first(self: TeamHold, *told: Any) -> bool:
        with psycopg.connect(team_database, autocommit=True) as link, link.transaction():
            link.execute(SCOPE, (scope_of(workspace),))
            for name in ("Ana", "Ben"):
                try:
                    link.execute(
                        "SELECT 1 FROM handrail.memberships m JOIN handrail.accounts a USING (account)"
                        " WHERE a.name = %s FOR UPDATE OF m NOWAIT",
                        (name,),
                    )
                except psycopg.errors.LockNotAvailable:
                    found.append(name)
        return commit(self, *told)

    monkeypatch.setattr(TeamHold, "_commit", facts_first)

    assert confirm(ben, session).status == 200
    assert found == ["Ben"]


@pytest.mark.thorough
def test_answer_after_work_of_the_own_agent_is_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana"), server.join(workspace, "Ben")
    session, blocked = report(ana.agent("builder"), "ours.other")
    bens = ben.agent("helper")
    shown = ben.data("run.answer", session=session, show=True)
    hold = TeamLog.hold_existing

    def work_first(self: TeamLog, *told: Any) -> Any:
        monkeypatch.undo()
        assert bens.data("run.continue", **blocked["nextCall"]["params"])["kind"] == "blocked"
        return hold(self, *told)

    monkeypatch.setattr(TeamLog, "hold_existing", work_first)
    given = {"answer": "yes", "whatDigest": shown["what_digest"]}
    told = ben.call("run.answer", session=session, given=given)

    assert told.status == 403
    assert confirmations(server, workspace, session) == []


def confirmations(server: Server, workspace: str, session: str) -> list[Any]:
    events = [
        decode_event(one.body) for one in server.accounts.adapters(workspace)["log"].load(session).records
    ]
    return [one for one in events if isinstance(one.data, ConfirmationRecorded)]
