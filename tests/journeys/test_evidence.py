"""What a report is worth: held against the files of a real project, through both doors."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.host.workspace import LocalWorkspace
from handrail.runtime.runtime import Runtime
from handrail.worktree.local_worktree import LocalWorktree
from tests.conformance.forked import ForkServer
from tests.conftest import memory_runtime
from tests.journeys.given_workflows import NEVER_STOP, give, step
from tests.journeys.interfaces import command, events_of, evidence_of, of_kind, tool_call
from tests.journeys.test_code_of_nodes import Work
from tests.worktree.project import write

Reply = dict[str, Any]
PLACE = {"source": "file", "ref": "src/bill.py:2", "result": "It rounds once."}
CLAIM = {"claim": "It rounds once.", "status": "confirmed", "evidence": [PLACE]}
REPORT = {"kind": "wr.verification_report", "verdict": "passed", "claims": [CLAIM], "notChecked": []}
VERIFY = {"output": {"contractRef": "wr.contracts.verification_report"}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "src").mkdir(parents=True)
    (place / "src/bill.py").write_text("def total():\n    return round(1)\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    return place


@pytest.fixture
def looking(project: Path, tmp_path: Path) -> Runtime:
    """A runtime that looks at the project."""
    environment = {"HANDRAIL_PROJECT": str(project)}
    return msgspec.structs.replace(
        memory_runtime(),
        workspace=LocalWorkspace(environment),
        worktree=lambda: LocalWorktree(str(tmp_path / "home"), environment),
    )


def begun(runtime: Runtime, *steps: dict[str, Any], **params: Any) -> Reply:
    return tool_call(runtime, "start_workflow", workflowId=give(runtime, *steps), **params).structured


def sent(runtime: Runtime, token: str, *artifacts: dict[str, Any], **params: Any) -> Reply:
    output = {"notesMarkdown": "done", "artifacts": list(artifacts)}
    return tool_call(runtime, "continue_workflow", ackToken=token, output=output, **params).structured


def naming(ref: str) -> dict[str, Any]:
    return REPORT | {"claims": [CLAIM | {"evidence": [PLACE | {"ref": ref}]}]}


@pytest.mark.parametrize(
    ("ref", "fact"),
    [
        ("src/invented.py:2", "src/invented.py is not in the project"),
        ("src/bill.py:40", "src/bill.py has no line 40"),
        ("../elsewhere.py", "../elsewhere.py is not inside the project"),
        ("/etc/passwd:1", "/etc/passwd is not inside the project"),
        ("src/bill.py, src/other.py", "src/bill.py, src/other.py is not in the project"),
    ],
)
def test_missing_place_is_refused_by_name_and_corrected_once(looking: Runtime, ref: str, fact: str) -> None:
    first = begun(looking, step("check", **VERIFY))

    blocked = sent(looking, first["ackToken"], naming(ref))
    done = sent(looking, blocked["retryAckToken"], REPORT)

    (blocker,) = blocked["blockers"]
    assert (blocked["kind"], blocker["code"]) == ("blocked", "INVALID_REQUIRED_OUTPUT")
    assert f"/claims/0/evidence/0/ref: {fact}" in blocker["message"]
    assert blocked["nextCall"]["params"]["ackToken"] == blocked["retryAckToken"]
    assert done["isComplete"] is True
    assert evidence_of(done) == {"found": 1}


@pytest.mark.parametrize(
    ("ref", "verdict", "fact"),
    [
        ("./src/bill.py:2", "holds", ""),
        ("`src/bill.py:2`", "holds", ""),
        ("src\\bill.py:2", "holds", ""),
        ("src/bill.py#L1-L2", "holds", ""),
        ("src/bill.py:2:5", "holds", ""),
        ("src/bill.py, lines 1-2", "holds", ""),
        ("empty.py:1", "holds", ""),
        ("crlf.txt:3", "holds", ""),
        ("old-mac.txt:3", "holds", ""),
        ("odd:3", "holds", ""),
        ("src/bill.py::test_total[1]", "unknown", "only the path src/bill.py in it could be looked for"),
        ("src/bill.py (total)", "unknown", "only the path src/bill.py in it could be looked for"),
        ("HEAD~1:src/bill.py", "unknown", "only the path src/bill.py in it could be looked for"),
        ("src/bill.py and crlf.txt", "unknown", "only the path src/bill.py in it could be looked for"),
        ("src/*.py", "unknown", "it is a pattern, and not a path"),
        ("https://example.org/x", "unknown", "it is an address, and not a path"),
    ],
)
def test_a_place_is_understood_or_unknown_however_it_is_written(
    looking: Runtime, project: Path, ref: str, verdict: str, fact: str
) -> None:
    write(project, "empty.py", "")
    write(project, "crlf.txt", "1\r\n2\r\n3\r\n")
    write(project, "old-mac.txt", "1\r2\r3\r")
    write(project, "odd:3", "one line\n")
    first = begun(looking, step("check", **VERIFY))

    done = sent(looking, first["ackToken"], naming(ref))

    (claim,) = of_kind(events_of(looking, done), "evidence_recorded")[-1]["data"]["claims"]
    assert (claim.get("verdict", "holds"), claim.get("fact", "")) == (verdict, fact)


def test_a_file_that_this_run_deleted_may_be_named(tmp_path: Path, fork_server: ForkServer) -> None:
    work = Work(tmp_path, fork_server)
    first = work.tool.data("run", "continue", "--ack", work.start()["ackToken"], "--notes", "Planned.")
    (work.root / "a.py").unlink()
    deleted = msgspec.json.decode(changed_files("a.py"))
    deleted[0]["files"][0]["change"] = "deleted"
    words = ("--notes", "n", "--artifacts", msgspec.json.encode(deleted).decode())
    second = work.tool.data("run", "continue", "--ack", first["ackToken"], *words)

    report = msgspec.json.encode([naming("a.py:1")]).decode()
    done = work.tool.data(
        "run", "continue", "--ack", second["ackToken"], "--notes", "n", "--artifacts", report
    )

    assert (done["kind"], done["isComplete"]) == ("ok", True)
    claim = work.events(first, "evidence_recorded")[-1]["data"]["claims"][0]
    assert (claim["verdict"], claim["fact"]) == ("unknown", "a.py was deleted in this run")


def test_never_stop_run_records_a_contradiction_as_a_gap(looking: Runtime) -> None:
    first = begun(looking, step("check", **VERIFY), preferences=NEVER_STOP)

    done = sent(looking, first["ackToken"], naming("src/invented.py"))

    (gap,) = of_kind(events_of(looking, done), "gap_recorded")
    assert (gap["data"]["severity"], "src/invented.py is not in the project" in gap["data"]["summary"]) == (
        "critical",
        True,
    )
    assert evidence_of(done) == {"contradicted": 1}
    assert "not right yet: verification report" in done["closing"]


def test_call_from_elsewhere_is_compared_with_its_own_files(looking: Runtime, tmp_path: Path) -> None:
    first = begun(looking, step("check", **VERIFY))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    blocked = sent(looking, first["ackToken"], naming("src/invented.py"), project=str(elsewhere))

    assert "src/invented.py is not in the project" in blocked["blockers"][0]["message"]


def test_replay_does_not_look_again(looking: Runtime, project: Path) -> None:
    first = begun(looking, step("check", **VERIFY))
    output = {"artifacts": [naming("src/invented.py")]}
    before = len(events_of(looking, first))

    words = ["run", "continue", "--ack", first["ackToken"], "--dry-run", "--notes", "n"]
    _, told = command(looking, *words, "--artifacts", msgspec.json.encode(output["artifacts"]).decode())
    untouched = len(events_of(looking, first))
    blocked = sent(looking, first["ackToken"], naming("src/invented.py"))
    (project / "src/invented.py").write_text("now it is there\n", encoding="utf-8")
    again = sent(looking, first["ackToken"], naming("src/invented.py"))
    done = sent(looking, blocked["retryAckToken"], naming("src/invented.py"))

    assert (told["data"]["verdict"], untouched) == ("would_block", before)
    assert again == blocked
    assert done["isComplete"] is True


def changed_files(*paths: str, command: str = "true", **fields: Any) -> str:
    """The words of a report about these files, as one artifact for the command line."""
    files = [{"path": path, "change": "modified", "why": "Rounds once now."} for path in paths]
    checks = [{"command": command, "exitCode": 0, "summary": "It passed."}]
    body = {"kind": "wr.changed_files", "files": files, "checks": checks}
    return msgspec.json.encode([body | fields]).decode()


def report(work: Work, token: str, artifacts: str) -> Any:
    return work.tool.data("run", "continue", "--ack", token, "--notes", "n", "--artifacts", artifacts)
