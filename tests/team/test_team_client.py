"""A machine of a team: the server decides, the team client looks, and nothing of it is kept here."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Failure, Success
from handrail.engine.bundles.reading import read_bundle
from handrail.host.http_client import LocalHttpClient
from handrail.ports.checks import ProgramCall
from handrail.ports.server import TeamCall
from handrail.runtime.hub import perform, perform_chunked
from handrail.surfaces.cli.hook import answer_hook
from handrail_team.client.gathering import FactGatherer
from handrail_team.client.team_file import KeptServer, change_team_file
from handrail_team.client.wire import ActionOrder, ClientFacts, FactsOrder, ProgramOrder
from tests.conftest import THREE_STEPS
from tests.journeys.given_workflows import step
from tests.team.linked_machine import Machine, Stopped, data_of
from tests.team.team_server import ORIGIN, PAGE, Caller, Server
from tests.team.test_who_confirms import confirm
from tests.worktree.project import commit, write

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.thorough,
]


def server_events(server: Server, reply: Any) -> int:
    """How many events a session has on the server."""
    (log,) = [kept["log"] for kept in server.accounts._adapters.values()]
    return len(log.load(reply["session"]["sessionId"]).records)


def test_run_of_a_linked_project_is_kept_by_the_server(machine: Machine, person: Caller) -> None:
    started = machine.start()
    done = machine.data(
        "run.continue", ackToken=started["ackToken"], output={"notesMarkdown": "Looked at a.py."}
    )

    listed = person.data("session.list")["items"]
    assert [one["id"] for one in listed] == [started["session"]["sessionId"]]
    assert done["kind"] in ("ok", "blocked")
    assert not (machine.home / "data" / "sessions").exists()


def test_linked_project_starts_a_workflow_of_the_server(machine: Machine, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "workflows"
    folder.mkdir(parents=True)
    (folder / "ours.json").write_bytes(THREE_STEPS.replace(b"project.three_steps", b"ours.three_steps"))

    listed = [row["id"] for row in machine.data("workflow.list", limit=500)["items"]]
    started = machine.data("run.start", workflowId="ours.three_steps", goal="Tidy.", requestId="ours")

    assert "ours.three_steps" in listed
    assert started["ackToken"]


def test_absent_server_means_nothing_is_done(machine: Machine) -> None:
    """When the server is away, nothing is done and nothing falls back."""
    machine.wire.is_cut = True

    outcome = machine.call("run.start", workflowId="wr.small_change", goal="Tidy.")

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "STORE_UNAVAILABLE"
    assert outcome.kind.is_retryable
    assert not (machine.home / "data" / "sessions").exists()


CHANGED = {
    "id": "changed",
    "title": "Change it",
    "prompt": "Change a.py.",
    "output": {"contractRef": "wr.contracts.changed_files"},
}


def give(machine: Machine, *steps: dict[str, Any]) -> str:
    """A workflow of the project, which is not part of the work."""
    document = {"id": "own.flow", "kind": "workflow", "name": "Own", "version": "1.0.0", "steps": list(steps)}
    document["description"] = "Of the project."
    write(machine.project, ".handrail/workflows/own.json", msgspec.json.encode(document))
    commit(machine.project, "a workflow")
    return "own.flow"


REVIEW = {
    "id": "review",
    "title": "Review it",
    "prompt": "Review a.py.",
    "output": {"contractRef": "wr.contracts.review_findings"},
}
REASON = {"kind": "wr.changed_files", "why": "It had to be in a.py."}
SHOWN = {"id": "shown", "title": "Read it", "prompt": "Read these: {{wr.changed_files.files}}"}


def output(artifact: dict[str, Any]) -> dict[str, Any]:
    return {"artifacts": [artifact]}


def review(path: str) -> dict[str, Any]:
    """A review that found something in a file."""
    finding = {
        "title": "It rounds twice",
        "severity": "minor",
        "problem": "The sum is wrong.",
        "evidence": [{"source": "file", "ref": path, "result": "It rounds here."}],
        "suggestion": "Round once.",
        "file": path,
    }
    body = {"kind": "wr.review_findings", "verdict": "approve_after_changes", "findings": [finding]}
    return output(body | {"reviewed": ["a.py"], "notReviewed": []})


def find_orders(machine: Machine) -> list[Any]:
    told = map(msgspec.json.decode, machine.wire.told)
    return [one["factsFirst"] for one in told if "factsFirst" in one]


def test_project_workflow_travels_with_its_origin(machine: Machine) -> None:
    """A workflow of the project travels and says where it was declared."""
    give(machine, CHANGED)

    shown = machine.data("workflow.inspect", workflowId="own.flow", part="source")
    listed = machine.data("workflow.list")
    begun = machine.data("run.start", workflowId="own.flow", goal="Go.")

    assert f"declared on {machine.name}" in shown["workflow"]["sourceRef"]
    assert "own.flow" in str(listed)
    assert begun["pending"]["stepId"] == "changed"


def test_report_is_compared_with_files_of_the_client_alone(machine: Machine) -> None:
    begun = machine.data("run.start", workflowId=give(machine, REVIEW), goal="Go.")
    write(machine.project, "a.py", "a = 'only on the laptop'\n")

    lied = machine.data("run.continue", ackToken=begun["ackToken"], output=review("b.py"))
    true = machine.data(
        "run.continue", ackToken=lied["nextCall"]["params"]["ackToken"], output=review("a.py")
    )

    assert lied["kind"] == "blocked"
    assert "b.py" in str(lied["blockers"])
    assert true["kind"] == "ok", true.get("blockers")
    assert find_orders(machine), "the places that a report names are asked for"
    assert not any(b"only on the laptop" in body for body in machine.wire.sent), "contents stay"


def test_changed_files_are_listed_from_the_machine_that_has_them(machine: Machine) -> None:
    begun = machine.data("run.start", workflowId=give(machine, CHANGED, SHOWN), goal="Go.")
    write(machine.project, "a.py", "a = 'only on the laptop'\n")

    done = machine.data("run.continue", ackToken=begun["ackToken"], output=output(REASON))

    assert done["kind"] == "ok", done.get("blockers")
    assert "a.py; modified; 1; 1" in done["pending"]["prompt"]
    assert not any(b"only on the laptop" in body for body in machine.wire.sent), "contents stay"


def test_a_look_is_of_one_call_and_no_other(machine: Machine, server: Server) -> None:
    begun = machine.data("run.start", workflowId=give(machine, REVIEW), goal="Go.")
    before = server_events(server, begun)
    machine.wire.keep = lambda body: b'"factsFirst"' not in body
    with pytest.raises(Stopped):
        machine.call("run.continue", ackToken=begun["ackToken"], output=review("b.py"))
    sent = msgspec.json.decode(machine.wire.sent[-1])
    state = msgspec.json.decode(machine.wire.told[-1])["factsFirst"]["requestState"]

    sent["requestState"] = state
    sent["params"]["output"]["notesMarkdown"] = "Another report."
    token = machine.token
    told = server.ask("POST", "/api/team-client", token, body=sent).document

    assert told["outcome"]["failure"]["code"] == "E_VALIDATION"
    assert server_events(server, begun) == before, "a look is recorded nowhere"


def test_two_clones_on_two_machines_are_one_project(
    machine: Machine, tmp_path: Path, server: Server, person: Caller
) -> None:
    begun = machine.start(requestId="one")
    other = Machine(tmp_path, server, person.agent("second"), "desk", clone=machine.project)

    assert other.start(requestId="one")["session"] == begun["session"]


def test_a_program_runs_here_and_its_receipt_says_who_looked(machine: Machine) -> None:
    begun = machine.data("run.start", workflowId=give(machine, CHANGED), goal="Go.")
    write(machine.project, "a.py", "a = 2\n")

    ran = machine.data("check.run", argv=["python3", "-c", "print(6 * 7)"])
    done = machine.data(
        "run.continue",
        ackToken=begun["ackToken"],
        output=output(REASON),
    )

    assert (ran["status"], ran["exitStatus"], ran["hasPassed"]) == ("exit 0", 0, True)
    assert "42" in ran["lastLines"]
    assert done["kind"] == "ok", done.get("blockers")
    noted = machine.data(
        "session.events", sessionId=begun["session"]["sessionId"], kinds=["receipt_recorded"]
    )
    assert machine.name in str(noted)


def test_server_starts_no_program_that_no_call_named(machine: Machine, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    link = machine.link
    call = TeamCall(
        operation="run.continue", where="server", effect="ack", params={"ackToken": "x"}, ask=Ask()
    )
    order = FactsOrder(
        checks=(
            ProgramOrder(
                call=ProgramCall(
                    argv=("touch", str(marker)), directory=str(machine.project), project="", seconds=5
                )
            ),
        )
    )

    seen = FactGatherer(machine.runtime, str(machine.project), link.machine, call).gather(
        order, ClientFacts()
    )

    assert seen.programs[0].end.trouble
    assert not marker.exists()


def test_a_server_cannot_order_an_action_for_another_call(machine: Machine) -> None:
    """A team server that was taken over edits nothing by answering a call that only reads."""
    link = machine.link
    call = TeamCall(operation="session.list", where="server", effect="read", params={}, ask=Ask())
    order = FactsOrder(actions=(ActionOrder(operation="code.edit", params={"rename": "a", "to": "b"}),))

    seen = FactGatherer(machine.runtime, str(machine.project), link.machine, call).gather(
        order, ClientFacts()
    )

    assert (seen.actions[0].code, seen.actions[0].result) == ("INTERNAL_ERROR", None)


def test_another_major_version_is_told_which_one_to_update(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail_team.client.link.__version__", "99.0.0")

    outcome = machine.call("session.list")

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "VERSION_UNSUPPORTED"
    assert "99.0.0" in outcome.message


def test_person_lets_a_machine_in_with_an_agent_token(
    machine: Machine, person: Caller, server: Server
) -> None:
    rt = machine.sign_out()
    asked = perform(rt, "team.login", {"url": ORIGIN})
    assert isinstance(asked, Failure)
    code = asked.details["code"]
    too_early = perform(rt, "team.login", {"resume": True})
    page = server.ask("GET", f"/api/view/machines/{code}", person.token, PAGE)
    by_agent = Caller(server, machine.token, is_page=False).call("team.admit", code=code)

    admitted = person.data("team.admit", code=code)
    signed = perform(rt, "team.login", {"resume": True})
    again = perform(rt, "team.login", {"resume": True})

    assert (asked.kind.exit_status, asked.details["url"]) == (9, f"{ORIGIN}/machines/{code}")
    assert isinstance(too_early, Failure)
    assert too_early.kind.code == "E_HUMAN_REQUIRED"
    assert (page.status, by_agent.status, admitted["is_admitted"]) == (200, 403, True)
    assert admitted["next"].endswith(f"handrail login {ORIGIN} --resume")
    assert b'data-answer="#let-in"' in page.body
    assert b'id="let-in"' in page.body
    assert isinstance(signed, Success)
    assert isinstance(again, Failure)
    kept = machine.home / "team.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert b"hra_" in kept.read_bytes()
    assert machine.name in [row["machine"] for row in person.data("team.tokens")["items"]]


def test_login_at_a_closed_port_is_a_network_error(machine: Machine) -> None:
    rt = msgspec.structs.replace(machine.sign_out(), http_client=LocalHttpClient)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        refused = perform(rt, "team.login", {"url": f"http://127.0.0.1:{closed.getsockname()[1]}"})

    assert isinstance(refused, Failure)
    assert (refused.kind.code, refused.kind.exit_status) == ("E_NETWORK", 7)


def test_signing_in_sends_nothing_until_a_project_is_linked(machine: Machine, person: Caller) -> None:
    machine.sign_out()
    change_team_file(str(machine.home), ORIGIN, KeptServer(token=machine.token))
    here = machine.reopen()
    local = data_of(perform(here, "run.start", {"workflowId": "wr.small_change", "goal": "At home."}))

    shown = data_of(perform(here, "team.link", {"dryRun": True}))
    data_of(perform(here, "team.link", {"confirm": shown["confirm_token"]}))
    here = machine.reopen()
    ours = data_of(perform(here, "run.start", {"workflowId": "wr.small_change", "goal": "In the team."}))
    stays = perform(here, "run.continue", {"stateToken": local["stateToken"]})

    assert isinstance(stays, Success), "a session stays where it began"
    assert [row["id"] for row in person.data("session.list")["items"]] == [ours["session"]["sessionId"]]
    assert len(list((machine.home / "data" / "sessions").iterdir())) == 1


@pytest.mark.parametrize("operation", ["run.answer", "session.resolve_gap", "session.rename", "team.invite"])
def test_what_a_person_answers_leads_to_the_console(machine: Machine, operation: str) -> None:
    outcome = machine.call(operation)

    assert isinstance(outcome, Failure)
    page = "/team" if operation.startswith("team.") else "/"
    assert (outcome.kind.exit_status, outcome.details["url"]) == (9, ORIGIN + page)


def test_machine_reads_who_answered_by_name_and_id(machine: Machine, person: Caller) -> None:
    begun = machine.data(
        "run.start", workflowId=give(machine, step("ship", requireConfirmation={"by": "role:admin"}))
    )
    machine.call("run.continue", ackToken=begun["ackToken"], output={"notesMarkdown": "It is ready."})
    session = begun["session"]["sessionId"]
    assert confirm(person, session).status == 200

    (need,) = machine.data("session.inbox")["items"]
    found = machine.data("session.resume", query=session)
    shown = machine.data("session.show", sessionId=session)["runs"][0]["confirmations"]

    assert need["why"].startswith("It was answered by Ana: yes")
    assert "acc_" not in str(found)
    assert shown[0]["who"].startswith("acc_")


def test_a_hook_asks_the_server_and_says_so_when_it_is_away(machine: Machine) -> None:
    begun = machine.start()

    at_start = answer_hook(lambda: machine.runtime, "SessionStart", b"{}", lambda _: 0)
    machine.wire.is_cut = True
    away = answer_hook(lambda: machine.runtime, "SessionStart", b"{}", lambda _: 0)

    assert begun["session"]["sessionId"] in at_start.out
    assert away.out == ""
    assert "no answer" in away.note.lower()


def test_context_and_doctor_name_the_store_and_its_state(machine: Machine) -> None:
    there = machine.data("self.context")
    machine.wire.is_cut = True
    away = machine.data("self.context")
    checked = machine.data("self.doctor", checks=["store"])
    offline = machine.data("self.doctor", checks=["store"], offline=True)["checks"][0]

    assert (offline["status"], offline["message"]) == (
        "pass",
        "This project belongs to a team, and its server was not asked.",
    )
    assert (there["env"], there["config"]["store"], there["config"]["store_answers"]) == (
        "team",
        ORIGIN,
        True,
    )
    assert (there["account"], away["account"]) == ("Ana", ""), "calls are made by an agent of Ana"
    assert away["credentials"]["expires_at"] is None, "nobody says"
    assert away["config"]["store_answers"] is False
    assert "belongs to a team" in str(checked)


def test_a_machine_knows_when_its_token_ends(
    machine: Machine, server: Server, person: Caller, tmp_path: Path
) -> None:
    long = machine.data("self.context")["credentials"]
    who = machine.data("team.whoami")
    short = Machine(tmp_path, server, person.agent("short", days=3), "desk")
    warned = short.data("self.doctor", checks=["store", "credentials"])
    tokens = {one["name"]: one for one in person.data("team.tokens")["items"]}
    server.accounts.directory.end(person.data("team.whoami")["workspace"], [tokens["short"]["id"]])
    server.accounts.forget()
    ended = short.data("self.context")
    failed = short.data("self.doctor", checks=["credentials"])["checks"][0]

    assert long["usable"]
    assert long["expires_at"] == who["expires_at"] == tokens["builder"]["expires_at"]
    assert [one["status"] for one in warned["checks"]] == ["pass", "warn"]
    assert tokens["short"]["expires_at"] in warned["checks"][1]["message"]
    asked = [body for body in short.wire.sent if body == b""]
    assert len(asked) == 3, "a check-up asks the server once"
    assert (ended["credentials"]["usable"], failed["status"]) == (False, "fail")
    assert "handrail doctor --checks credentials --compact" in ended["next_steps"]
    assert f"handrail login {ORIGIN}" in failed["fix"]


def test_files_of_a_step_are_compared_on_the_machine(machine: Machine) -> None:
    """The files of a step are compared on the machine and their contents stay."""
    begun = machine.start()
    write(machine.project, "a.py", "a = 'only on the laptop'\n")

    status = machine.data("code.status")
    diff = machine.data("code.diff", before=status["node_id"])

    assert status["session_id"] == begun["session"]["sessionId"]
    assert [(one["path"], one["change"]) for one in status["files"]] == [("a.py", "changed")]
    assert "+a = 'only on the laptop'" in diff["diff"]
    assert not any(b"only on the laptop" in body for body in machine.wire.sent), "contents stay"
    assert not (machine.home / "data" / "sessions").exists()


def test_receipt_of_a_team_is_signed_on_the_machine(machine: Machine) -> None:
    begun = machine.start()
    machine.data("check.run", argv=["python3", "-c", "print(6 * 7)"])
    session, kept = begun["session"]["sessionId"], []

    def keep(chunks: Iterator[bytes]) -> dict[str, Any]:
        kept.append(b"".join(chunks))
        return {"bytes": len(kept[-1])}

    registry = machine.runtime.registry
    receipt = perform_chunked(machine.runtime, registry.operation("receipt.export"), {}, keep)
    bundle = perform_chunked(
        machine.runtime, registry.operation("session.export"), {"sessionId": session}, keep
    )
    told = data_of(receipt)
    key = machine.data("receipt.key")["public"]
    checked = machine.call(
        "receipt.verify", receipt={"source": "receipt.json", "text": kept[0].decode()}, commit="HEAD", key=key
    )

    assert (told["session_id"], told["bytes"], "content" in told) == (session, len(kept[0]), False)
    assert data_of(checked)["key_from"] == "given"
    assert read_bundle(kept[1].decode()).session_id == session
    assert data_of(bundle)["bytes"] == len(kept[1])


def test_receipt_of_a_team_is_about_files_of_this_clone(
    machine: Machine, server: Server, tmp_path: Path
) -> None:
    bea = server.join(server.workspace("main"), "Bea", "member")
    other = Machine(tmp_path, server, bea.agent("second"), "desk", clone=machine.project)
    begun = machine.start()
    session = begun["session"]["sessionId"]
    write(machine.project, "b.py", "b = 2\n")
    machine.data("run.continue", ackToken=begun["ackToken"], output={"notesMarkdown": "Wrote b.py."})

    early = machine.data("receipt.export")
    commit(machine.project)
    late = machine.data("receipt.export")
    theirs = other.data("receipt.export", session=session)
    unnamed = other.call("receipt.export")

    assert [one["session_id"] for one in (early, late, theirs)] == [session] * 3
    assert early["tree"] == theirs["tree"] != late["tree"], "the other clone has the first commit"
    assert isinstance(unnamed, Failure), "nobody signs another's run without naming it"
    assert unnamed.kind.code == "CONTEXT_MISSING"
    assert session in unnamed.message


def test_unavailable_call_about_team_files_says_what_to_do(machine: Machine) -> None:
    none = machine.call("code.status")
    begun = machine.start()
    by_token = machine.call("code.status", stateToken=begun["stateToken"])
    unknown = machine.call("receipt.export", session="ses_000000000001")
    machine.wire.is_cut = True
    away = machine.call("code.status")

    told = [one for one in (none, by_token, unknown, away) if isinstance(one, Failure)]
    assert [one.kind.code for one in told] == [
        "CONTEXT_MISSING",
        "CONTEXT_MISSING",
        "SESSION_NOT_FOUND",
        "STORE_UNAVAILABLE",
    ]
    assert all("--session" in one.hint for one in told[:2])


def test_report_names_the_machine_that_started_a_program(machine: Machine) -> None:
    begun = machine.start()
    machine.data("check.run", argv=["python3", "-c", "print(6 * 7)"])

    told = machine.data("session.export", sessionId=begun["session"]["sessionId"], **{"as": "markdown"})[
        "content"
    ]

    assert "started by Handrail on the machine of the agent" in told


def test_a_machine_that_left_is_as_one_that_never_was_in_a_team(machine: Machine) -> None:
    ours = machine.start()["session"]["sessionId"]
    machine.sign_out()
    change_team_file(str(machine.home), ORIGIN, KeptServer(token=machine.token))
    here = machine.reopen()
    shown = data_of(perform(here, "team.link", {"dryRun": True}))
    data_of(perform(here, "team.link", {"confirm": shown["confirm_token"]}))

    left = data_of(perform(machine.reopen(), "team.logout", {"url": ORIGIN}))
    again = data_of(perform(machine.reopen(), "team.logout", {"url": ORIGIN}))
    gone = perform(machine.reopen(), "session.show", {"sessionId": ours})

    assert (left["projects"], left["had_token"], left["is_ended"]) == ([str(machine.project)], True, True)
    assert (again["had_token"], again["is_ended"]) == (False, False)
    assert not (machine.home / "team.json").exists(), "not even a stat finds anything"
    assert isinstance(gone, Failure)
    assert gone.kind.code == "SESSION_NOT_FOUND"
