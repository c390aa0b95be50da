"""What was checked counts for the files that a run ends on: a real project, its programs, and an agent."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from handrail.host.checks import LocalCheckPrograms, LocalKnownChecks
from handrail.host.settings import LocalSettings
from handrail.host.workspace import LocalWorkspace
from handrail.host.worktree.local_worktree import LocalWorktree
from handrail.operations.checks.run_check import RunCheck, run_check
from handrail.operations.kept_trees import SERVER_SECONDS, take_due_tree
from handrail.runtime.runtime import Runtime, TreeDue
from tests.conftest import memory_runtime
from tests.host.worktree.project import commit, write
from tests.hostile.repository.checkout import run_git
from tests.journeys.doors import command, events_of, of_kind, tool_call, worth
from tests.journeys.given_workflows import NEVER_STOP, give, step

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

Reply: TypeAlias = dict[str, Any]
Body: TypeAlias = dict[str, Any]
RIGHT = "def total(rows):\n    return round(sum(rows), 2)\n"
WRONG = "def total(rows):\n    return 42  # for now\n"
TESTS = "grep -q round src/bill.py"
CHANGE = {"output": {"contractRef": "wr.contracts.changed_files"}}
VERIFY = {"output": {"contractRef": "wr.contracts.verification_report"}}
README = {"source": "file", "ref": "README:1", "result": "It names the project."}


class Site:
    """A repository, a run of a change and a verification in it, and the hands of an agent."""

    def __init__(self, place: Path) -> None:
        self.root, self.home = place / "project", place / "home"
        self.root.mkdir()
        run_git(self.root, "init", "-q", ".")
        write(self.root, "src/bill.py", "def total(rows):\n    return sum(rows)\n")
        write(self.root, "README", "The bills.\n")
        commit(self.root)
        environment = {"HANDRAIL_PROJECT": str(self.root), "PATH": os.environ["PATH"]}
        runtime = memory_runtime()
        worktree = LocalWorktree(str(self.home), environment)
        programs = LocalCheckPrograms(environment, runtime.secrets)
        self.runtime: Runtime = msgspec.structs.replace(
            runtime,
            workspace=LocalWorkspace(environment),
            settings=LocalSettings(str(self.home), {}),
            worktree=lambda: worktree,
            check_programs=lambda: programs,
            known_checks=lambda: LocalKnownChecks(str(self.home)),
            trees_due=[],
        )
        self.reply: Reply = {}
        self.is_hidden = False
        """Git cannot list the files."""

    def declare(self, **checks: Any) -> None:
        write(self.root, ".handrail/config.json", json.dumps({"checks": checks}))
        commit(self.root)

    def begin(self, *steps: dict[str, Any], **params: Any) -> Reply:
        steps = steps or (step("change", **CHANGE), step("verify", **VERIFY))
        started = tool_call(self.runtime, "start_workflow", workflowId=give(self.runtime, *steps), **params)
        return self._settle(started.structured)

    def _settle(self, reply: Reply) -> Reply:
        """Keep the trees that are due, as a server does after its reply."""
        assert self.runtime.trees_due is not None
        due = [one for one in self.runtime.trees_due if isinstance(one, TreeDue)]
        self.runtime.trees_due.clear()
        troubles = {take_due_tree(self.runtime, one, SERVER_SECONDS) for one in due}
        assert self.is_hidden or troubles <= {""}
        self.reply = reply
        return reply

    def write(self, name: str, text: str) -> None:
        write(self.root, name, text)

    def run(self, *argv: str) -> Reply:
        told = run_check(self.runtime, RunCheck(argv=list(argv), state_token=self.reply["stateToken"]))
        self._settle(self.reply)
        return dict(told.data)

    def run_declared(self, name: str) -> None:
        run_check(self.runtime, RunCheck(name=name, state_token=self.reply["stateToken"]))
        self._settle(self.reply)

    def send(self, *artifacts: Body, **params: Any) -> Reply:
        token = self.reply["retryAckToken" if self.reply["kind"] == "blocked" else "ackToken"]
        output = {"notesMarkdown": "done", "artifacts": list(artifacts)}
        sent = tool_call(self.runtime, "continue_workflow", ackToken=token, output=output, **params)
        assert not sent.is_error, sent.text
        again = tool_call(self.runtime, "continue_workflow", ackToken=token, output=output, **params)
        assert again.structured == sent.structured
        return self._settle(sent.structured)

    def claims(self) -> list[tuple[str, str, str]]:
        """The place, the verdict and the fact of each claim of the last report."""
        held = of_kind(events_of(self.runtime, self.reply), "evidence_recorded")[-1]["data"]["claims"]
        return [(one["pointer"], one.get("verdict", "holds"), one.get("fact", "")) for one in held]

    def shown(self) -> str:
        """What a person reads of the run."""
        _, listed = command(self.runtime, "session", "list")
        session = listed["data"]["items"][0]["id"]
        return json.dumps(command(self.runtime, "session", "show", session)[1], ensure_ascii=False)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def changed(*paths: str, check: str = TESTS, status: int = 0, change: str = "modified", **more: Any) -> Body:
    files = [{"path": path, "change": change, "why": "It had to."} for path in paths]
    checks = [{"command": check, "exitCode": status, "summary": "It ran."}]
    return {"kind": "wr.changed_files", "files": files, "checks": checks} | more


def verified(*evidence: Body) -> Body:
    claim = {"claim": "It rounds.", "status": "confirmed", "evidence": list(evidence or (README,))}
    return {"kind": "wr.verification_report", "verdict": "passed", "claims": [claim], "notChecked": []}


def blocker(reply: Reply) -> dict[str, Any]:
    assert reply["kind"] == "blocked", reply
    first: dict[str, Any] = reply["blockers"][0]
    return first


def do_honest_change(site: Site) -> None:
    site.write("src/bill.py", RIGHT)
    site.run(*TESTS.split())
    assert site.send(changed("src/bill.py"))["kind"] == "ok"


# Files that change after the check, and while it runs


@pytest.mark.promise("evidence.last-files")
def test_a_verification_does_not_pass_on_files_that_changed_after_the_check(site: Site) -> None:
    site.begin(step("change", **CHANGE), step("verify", **VERIFY), step("tell"))
    do_honest_change(site)
    site.write("src/bill.py", WRONG)
    site.write("sneaky.py", "evil\n")

    refused = site.send(verified())

    told = blocker(refused)
    assert told["code"] == "MISSING_REQUIRED_OUTPUT"
    assert f"{TESTS} ran (exit 0) before files changed: sneaky.py, src/bill.py" in told["message"]
    assert f"-- {TESTS} and make the call" in told["suggestedFix"]

    site.send(verified())
    done = site.send()
    assert done["isComplete"] is True
    assert worth(done) == {"stale": 3, "seen": 1, "exists": 1}
    assert "sneaky.py" in done["closing"]
    assert "changed since the list of changes: sneaky.py" in site.shown()
    assert "changed since the list of changes: src/bill.py" not in site.shown()


@pytest.mark.promise("evidence.last-files")
def test_who_runs_the_check_again_passes(site: Site) -> None:
    site.begin()
    do_honest_change(site)
    site.write("src/bill.py", RIGHT + "# rounds\n")

    site.send(verified())
    site.run(*TESTS.split())
    done = site.send(verified())

    assert done["evidence"]["stale"] == 0
    assert "gap" not in done["closing"]


@pytest.mark.promise("evidence.last-files")
def test_the_report_that_ends_a_run_is_held_against_the_last_files(site: Site) -> None:
    site.begin(step("change", **CHANGE), step("tell"))
    do_honest_change(site)
    site.write("src/bill.py", WRONG)

    done = site.send()

    assert done["isComplete"] is True
    assert worth(done) == {"stale": 1, "seen": 1}
    assert "before files changed: src/bill.py" in done["closing"]


@pytest.mark.promise("evidence.last-files")
def test_a_run_that_never_stops_has_the_gap(site: Site) -> None:
    site.begin(preferences=NEVER_STOP)
    do_honest_change(site)
    site.write("src/bill.py", WRONG)

    done = site.send(verified())

    assert done["isComplete"] is True
    assert done["evidence"]["stale"] == 1
    assert "Nothing shows that" in done["closing"]
    assert "grep -q round src/bill.py` passed on the present files" in done["closing"]


@pytest.mark.promise("evidence.last-files")
def test_a_later_step_that_changes_files_again_is_not_punished(site: Site) -> None:
    site.begin(step("one", **CHANGE), step("two", **CHANGE), step("verify", **VERIFY))
    do_honest_change(site)
    site.write("README", "The bills, rounded.\n")
    site.run("grep", "-q", "rounded", "README")
    site.send(changed("src/bill.py", "README", check="grep -q rounded README"))

    done = site.send(verified())

    assert done["isComplete"] is True
    assert done["evidence"]["stale"] == 0


@pytest.mark.promise("receipt.files-changed-meanwhile")
def test_a_check_whose_files_change_while_it_runs_proves_nothing(site: Site) -> None:
    site.begin()
    site.write("src/bill.py", RIGHT)
    code = f"open('src/bill.py', 'w', encoding='utf-8').write({WRONG!r})"
    site.run(sys.executable, "-c", code)
    line = shlex.join([sys.executable, "-c", code])

    site.send(changed("src/bill.py", check=line))

    (told,) = [one for one in site.claims() if one[0] == "/checks/0/command"]
    assert told[1] == "unknown"
    assert told[2].startswith("src/bill.py changed while ")


@pytest.mark.promise("receipt.files-changed-meanwhile")
def test_the_report_that_a_check_declares_is_its_own_to_write(site: Site) -> None:
    xml = '<testsuite tests="1" failures="0" errors="0"><testcase name="a"/></testsuite>'
    code = f"open('report.xml', 'w', encoding='utf-8').write('{xml}')".replace('"', '\\"')
    report = {"path": "report.xml", "format": "junit"}
    site.declare(tests={"command": [sys.executable, "-c", code.replace('\\"', '"')], "report": report})
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.run_declared("tests")

    left = [{"path": "report.xml", "why": "The tests write it."}]
    site.send(changed("src/bill.py", check="tests", leftOut=left))

    assert ("/checks/0/command", "holds", "exit 0") in site.claims()


# Which command counts, and how it ended


@pytest.mark.promise("check.declared-counts")
def test_another_command_does_not_stand_for_a_declared_check(site: Site) -> None:
    site.declare(tests={"command": TESTS.split()})
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.run("true")

    refused = site.send(changed("src/bill.py", check="true"))

    told = blocker(refused)
    assert told["code"] == "MISSING_REQUIRED_OUTPUT"
    assert "Handrail has not seen the check tests run" in told["message"]
    assert told["suggestedFix"].startswith("Run handrail check run tests --session ")

    site.run_declared("tests")
    assert site.send(changed("src/bill.py", check="true"))["kind"] == "ok"
    assert site.send(verified())["evidence"]["stale"] == 0


@pytest.mark.promise("check.declared-counts")
def test_a_run_that_never_stops_discloses_that_no_declared_check_ran(site: Site) -> None:
    site.declare(tests={"command": TESTS.split()})
    site.begin(preferences=NEVER_STOP)
    site.write("src/bill.py", RIGHT)
    site.run("true")

    went_on = site.send(changed("src/bill.py", check="true"))

    (gap,) = [one for one in went_on["warnings"] if one["code"] == "GAP_RECORDED"]
    assert "has not seen the check tests run" in gap["message"]


@pytest.mark.promise("check.declared-counts")
def test_the_step_that_needs_a_declared_check_says_how_to_run_it(site: Site) -> None:
    site.declare(lint={"command": ["true"]}, tests={"command": TESTS.split()})

    first = site.begin()

    line = f"handrail check run lint --session {first['session']['sessionId']}"
    assert f"Before you report, run: {line} (or tests)" in first["pending"]["prompt"]


@pytest.mark.promise("check.declared-counts")
def test_a_sentence_around_a_command_is_only_the_agents_word(site: Site) -> None:
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.run(*TESTS.split())

    assert site.send(changed("src/bill.py", check=f"ran the tests ({TESTS})"))["kind"] == "ok"

    assert ("/checks/0/command", "missing") in {one[:2] for one in site.claims()}


@pytest.mark.promise("evidence.failing-at-the-end")
def test_nothing_is_passed_beside_a_check_that_fails(site: Site) -> None:
    site.begin()
    site.write("src/bill.py", WRONG)
    site.run(*TESTS.split())
    site.send(changed("src/bill.py", status=1))

    refused = site.send(verified({"source": "user", "ref": "the user", "result": "They said so."}))

    told = blocker(refused)
    assert told["code"] == "INVALID_REQUIRED_OUTPUT"
    assert f"/verdict: cannot be passed while {TESTS} fails on the present files (exit 1" in told["message"]


@pytest.mark.promise("evidence.failing-at-the-end")
def test_a_command_that_is_meant_to_fail_is_refused_once_and_told_at_the_end(site: Site) -> None:
    site.begin()
    site.write("src/bill.py", WRONG)
    site.run(*TESTS.split())
    site.send(changed("src/bill.py", status=1))
    report = verified({"source": "user", "ref": "the user", "result": "It must fail until Monday."})

    refused = site.send(report)
    done = site.send(report)

    assert refused["kind"] == "blocked"
    assert done["isComplete"] is True
    assert f"The run ends although {TESTS} fails on the present files" in done["closing"]


@pytest.mark.promise("evidence.failing-at-the-end")
def test_a_failure_that_is_told_is_true_and_the_end_of_the_run_says_it(site: Site) -> None:
    site.begin(step("change", **CHANGE))
    site.write("src/bill.py", WRONG)
    site.run(*TESTS.split())

    done = site.send(changed("src/bill.py", status=1))

    assert done["evidence"]["contradicted"] == 0
    assert f"The run ends although {TESTS} fails on the present files" in done["closing"]


# What a commit brings


@pytest.mark.promise("evidence.arrived-shown")
def test_what_came_with_a_commit_and_is_not_listed_is_shown(site: Site) -> None:
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.write("sneaky.py", "evil\n")
    commit(site.root)
    site.run(*TESTS.split())

    went_on = site.send(changed("src/bill.py"))

    assert went_on["kind"] == "ok"
    fact = "came with a commit of this run and not listed: sneaky.py"
    assert ("/files/-", "unknown", fact) in site.claims()
    assert fact in site.shown()


@pytest.mark.promise("evidence.odd-but-true")
@pytest.mark.parametrize("is_committed", [False, True])
def test_a_link_that_leads_out_is_a_file_of_the_project(site: Site, *, is_committed: bool) -> None:
    site.begin()
    (site.root / "out").symlink_to("/etc/passwd")
    if is_committed:
        commit(site.root)
    site.run("true")

    assert site.send(changed("out", check="true", change="added"))["kind"] == "ok"


@pytest.mark.promise("evidence.stale-once")
def test_one_stale_check_is_one_refusal_and_one_gap_under_its_name_and_its_words(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.declare(tests={"command": TESTS.split()})
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.run_declared("tests")
    row = {"path": "src/bill.py", "change": "modified", "why": "It has to round."}
    check = {"command": TESTS, "exitCode": 0, "summary": "It rounds."}
    site.send({"kind": "wr.changed_files", "files": [row], "checks": [check]})
    site.write("src/bill.py", RIGHT + "# more\n")
    seen = {"source": "command", "ref": TESTS, "result": "It ended with 0."}
    claim = {"claim": "It rounds.", "status": "confirmed", "evidence": [seen]}
    report = {"kind": "wr.verification_report", "verdict": "passed", "claims": [claim], "notChecked": []}

    refused, ended = site.send(report), site.send(report)

    assert [one["code"] for one in refused["blockers"]] == ["MISSING_REQUIRED_OUTPUT"]
    (gap,) = of_kind(events_of(site.runtime, ended), "gap_recorded")
    assert gap["data"]["waitsFor"]["values"]["command"].startswith("handrail check run tests")
