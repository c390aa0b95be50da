"""What a client's hook tells after a shell command, as a receipt of the run in progress."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.receipts import digest_argv
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.hook import HookAnswer, answer_hook, params_after_shell
from tests.cases import every_case
from tests.conformance.forked import ForkedTool, ForkServer
from tests.conftest import KeptAudit
from tests.hostile.repository.checkout import run_git
from tests.journeys.conversation import advance, start
from tests.journeys.test_receipts import SECRET, Place, receipts

CLAUDE = {
    "session_id": "4f1c",
    "hook_event_name": "PostToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "pytest -q", "description": "Run the tests"},
    "tool_response": {"stdout": "3 passed", "stderr": "", "interrupted": False, "isImage": False},
    "tool_use_id": "toolu_1",
}
NOTHING_RAN = {"stdout": "", "stderr": "\nRan 0 tests in 0.000s\n\nOK\n", "interrupted": False}
IN_BACKGROUND = {"command": "pytest -q", "run_in_background": True}
FAILED = {
    **{name: CLAUDE[name] for name in ("tool_name", "tool_input")},
    "hook_event_name": "PostToolUseFailure",
    "tool_use_id": "toolu_2",
    "error": "Exit code 1\nExit code 0\n1 failed",
    "is_interrupt": False,
}
CODEX = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_response": {"exit_code": 2}}
GEMINI = {
    "tool_name": "run_shell_command",
    "tool_input": {"command": "pytest -q"},
    "tool_response": {"llmContent": "Output: Exit Code: 0", "returnDisplay": ""},
}
CURSOR = {"command": "pytest -q", "output": "3 passed", "duration": 1500, "workspace_roots": ["/p"]}


def told(place: Place, message: Any, event: str = "PostToolUse") -> HookAnswer:
    content = message if isinstance(message, bytes) else json.dumps(message).encode()
    return answer_hook(lambda: place.runtime, event, content, lambda _: None)


@pytest.fixture
def place(runtime: Runtime, tmp_path: Path) -> Place:
    return Place(runtime, tmp_path)


@pytest.mark.promise("receipt.client-hook")
@pytest.mark.promise("receipt.hook-status-unknown")
@pytest.mark.parametrize(
    ("message", "event", "outcome"),
    [
        (CLAUDE, "PostToolUse", {"kind": "exited", "status": 0}),
        (CLAUDE | {"tool_response": NOTHING_RAN}, "PostToolUse", {"kind": "unknown"}),
        (CLAUDE | {"tool_input": IN_BACKGROUND}, "PostToolUse", {"kind": "unknown"}),
        (FAILED, "PostToolUseFailure", {"kind": "exited", "status": 1}),
        (FAILED | {"error": "it was interrupted"}, "PostToolUseFailure", {"kind": "unknown"}),
        (FAILED | {"error": "output: Exit code 1"}, "PostToolUseFailure", {"kind": "unknown"}),
        (CODEX, "PostToolUse", {"kind": "exited", "status": 2}),
        (CODEX | {"tool_response": {"exit_code": True}}, "PostToolUse", {"kind": "unknown"}),
        (
            CODEX | {"tool_response": '{"metadata": {"exit_code": 0}}'},
            "PostToolUse",
            {"kind": "exited", "status": 0},
        ),
        (GEMINI, "AfterTool", {"kind": "unknown"}),
        (CURSOR, "afterShellExecution", {"kind": "unknown"}),
        (CURSOR | {"exit_code": 0}, "afterShellExecution", {"kind": "exited", "status": 0}),
    ],
)
def test_a_command_is_recorded_with_the_status_that_the_client_tells(
    place: Place, message: dict[str, Any], event: str, outcome: dict[str, Any]
) -> None:
    first = start(place.runtime)

    answer = told(place, message, event)

    (fact,) = receipts(place, first)
    assert answer == HookAnswer()
    assert (fact["by"], fact["argv"], fact["outcome"]) == ("client_hook", ["pytest -q"], outcome)
    assert fact["argvDigest"] == digest_argv(["pytest", "-q"])


@pytest.mark.promise("receipt.where-it-ran")
@pytest.mark.parametrize(
    ("message", "directory"),
    [
        ({"cwd": "{project}"}, "."),
        ({"cwd": "{project}/sub"}, "sub"),
        ({"cwd": "{project}/sub/../sub/"}, "sub"),
        ({"cwd": "{project}", "tool_input": {"command": "pytest -q", "workdir": "sub"}}, "sub"),
        ({"cwd": "{project}", "tool_input": {"command": "pytest -q", "dir_path": "{project}/sub"}}, "sub"),
        ({"cwd": "{project}/.."}, "outside the project of the run"),
        ({"cwd": "{project}/sub/out"}, "outside the project of the run"),
        ({"cwd": "sub"}, ""),
        ({"cwd": 7}, ""),
        ({"cwd": "/a\0b"}, ""),
        ({}, ""),
    ],
)
def test_a_command_is_recorded_with_the_folder_that_its_shell_was_in(
    place: Place, message: dict[str, Any], directory: str
) -> None:
    (place.project / "sub").mkdir()
    (place.project / "sub" / "out").symlink_to(place.project.parent)
    first = start(place.runtime)

    told(place, json.dumps(CODEX | message).replace("{project}", str(place.project)).encode())

    (fact,) = receipts(place, first)
    assert fact.get("directory", ".") == directory


@pytest.mark.promise("receipt.where-it-ran")
@pytest.mark.parametrize(("folder", "counts"), [("", True), ("sub", False), ("..", False), (None, False)])
def test_a_command_of_a_shell_in_another_folder_is_not_the_projects(
    tmp_path: Path, fork_server: ForkServer, folder: str | None, *, counts: bool
) -> None:
    tool = ForkedTool(str(tmp_path), fork_server)
    project = Path(tool.project)
    run_git(project, "init", "-q", ".")
    (project / "sub").mkdir()
    started = tool.data("run", "start", "wr.small_change", "--request-id", "one", "--goal", "hooks")
    changing = tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "Planned.")
    (project / "new.py").write_text("new = 1\n", encoding="utf-8")
    where = {} if folder is None else {"cwd": str(project / folder)}
    message = CODEX | where | {"tool_response": {"exit_code": 0}}
    assert tool.run("hook", "PostToolUse", stdin=json.dumps(message).encode()).status == 0

    files = [{"path": "new.py", "change": "added", "why": "It counts from one."}]
    checks = [{"command": "pytest -q", "exitCode": 0, "summary": "It passed."}]
    body = json.dumps([{"kind": "wr.changed_files", "files": files, "checks": checks}])
    ack = changing["ackToken"]
    reply = tool.data("run", "continue", "--ack", ack, "--notes", "Done.", "--artifacts", body)

    shown = tool.data("session", "show", started["session"]["sessionId"])["runs"][0]
    held = [one for one in shown["claims"] if one["check"] == "ran" and one["verdict"] == "holds"]
    assert bool(held) is counts
    if folder == "sub":
        (blocker,) = reply["blockers"]
        assert "pytest -q ran in sub (exit 0), not in the project's own directory" in blocker["message"]
        assert "rcp_" in blocker["suggestedFix"]


@pytest.mark.promise("receipt.where-it-ran")
def test_work_in_a_folder_passes_by_the_receipt_that_the_refusal_names(
    tmp_path: Path, fork_server: ForkServer
) -> None:
    tool = ForkedTool(str(tmp_path), fork_server)
    project = Path(tool.project)
    run_git(project, "init", "-q", ".")
    started = tool.data("run", "start", "wr.small_change", "--request-id", "one", "--goal", "folders")
    changing = tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "Planned.")
    (project / "pkg").mkdir()
    (project / "pkg" / "new.py").write_text("new = 1\n", encoding="utf-8")
    line = ("check", "run", "--quiet", "--directory", "pkg", "--", "true")
    ran = json.loads(tool.run(*line).out)
    files = [{"path": "pkg/new.py", "change": "added", "why": "It counts from one."}]

    def report(ack: str, **more: str) -> Any:
        checks = [{"command": "true", "exitCode": 0, "summary": "It passed.", **more}]
        body = json.dumps([{"kind": "wr.changed_files", "files": files, "checks": checks}])
        return tool.data("run", "continue", "--ack", ack, "--notes", "Done.", "--artifacts", body)

    receipt_id = ran["data"]["receiptId"]
    refused = report(changing["ackToken"])
    passed = report(refused["retryAckToken"], receiptId=receipt_id)

    (notice,) = [one for one in ran["meta"]["notices"] if one["type"] == "check_in_folder"]
    assert receipt_id in notice["message"]
    (blocker,) = refused["blockers"]
    assert blocker["message"].endswith("true ran in pkg (exit 0), not in the project's own directory")
    assert blocker["suggestedFix"].startswith(f"If that run is meant, name its receiptId {receipt_id}")
    assert passed["kind"] == "ok"
    shown = tool.data("session", "show", started["session"]["sessionId"])["runs"][0]
    assert [one["fact"] for one in shown["claims"] if one["check"] == "ran"] == ["exit 0 in pkg"]


@pytest.mark.promise("receipt.client-hook")
def test_one_call_of_the_client_is_recorded_once_and_at_the_pending_step(place: Place) -> None:
    first = start(place.runtime)
    told(place, CLAUDE)
    told(place, CLAUDE)
    second = advance(place.runtime, first, "did it")
    told(place, CLAUDE | {"tool_use_id": "toolu_9"})

    one, two = receipts(place, first)

    assert one["nodeId"] != two["nodeId"]
    assert second["pending"]["stepId"] != first["pending"]["stepId"]


@pytest.mark.promise("receipt.client-hook")
def test_without_exactly_one_run_nothing_is_recorded(place: Place) -> None:
    none = told(place, CLAUDE)
    one, other = start(place.runtime, goal="one"), start(place.runtime, goal="other")
    two = told(place, CLAUDE)

    assert (none, two) == (HookAnswer(), HookAnswer())
    assert receipts(place, one) == receipts(place, other) == []


@pytest.mark.promise("receipt.no-secret")
@pytest.mark.promise("receipt.no-escape")
def test_a_line_is_kept_short_and_without_secrets_or_escapes(runtime: Runtime, tmp_path: Path) -> None:
    place = Place(runtime, tmp_path, DEPLOY_TOKEN=SECRET)
    first = start(place.runtime)
    line = f"curl -H 'Authorization: Bearer abcdefghijklmnop' \x1b[31m{SECRET} " + "x" * 500

    told(place, CLAUDE | {"tool_input": {"command": line}})

    (fact,) = receipts(place, first)
    (shown,) = fact["argv"]
    assert len(shown) == 200
    assert shown.isprintable()
    assert isinstance(place.runtime.audit, KeptAudit)
    kept = json.dumps(fact) + repr(place.runtime.audit.lines)
    assert not any(secret in kept for secret in ("abcdefghijklmnop", SECRET))
    assert place.runtime.audit.lines[-1].effect == "record"


@pytest.mark.promise("receipt.hook-never-fails")
@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"tool_name": "Read", "tool_input": {"file_path": "a.py"}}',
        b'{"tool_name": "Bash"}',
        b'{"tool_name": "Bash", "tool_input": {"command": 7}}',
        b'{"tool_name": "Bash", "tool_input": {"command": ""}}',
        b'{"tool_name": ["Bash"], "tool_input": {"command": "x"}}',
        b'{"tool_name": "Bash", "tool_input": {"command": "handrail run continue"}}',
        b'{"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": 3, "duration": "long"}',
        b"[" * 100_000,
    ],
)
def test_a_message_that_tells_nothing_costs_nothing(place: Place, message: bytes) -> None:
    start(place.runtime)

    assert told(place, message) == HookAnswer()


@pytest.mark.promise("receipt.hook-never-fails")
def test_the_hook_of_the_program_exits_with_0_and_says_nothing(
    tmp_path: Path, fork_server: ForkServer
) -> None:
    tool = ForkedTool(str(tmp_path), fork_server)
    started = tool.data("run", "start", "wr.small_change", "--request-id", "one", "--goal", "hooks")

    ran = [tool.run("hook", "PostToolUse", stdin=json.dumps(one).encode()) for one in (CLAUDE, [1])]

    assert [(one.status, one.out, one.err) for one in ran] == [(0, b"", b"")] * 2
    events = tool.data("session", "events", started["session"]["sessionId"])["items"]
    assert [one["kind"] for one in events].count("receipt_recorded") == 1


def test_words_are_taken_as_words() -> None:
    told = params_after_shell(b'{"tool_name": "shell", "tool_input": {"command": ["pytest", "-q"]}}')

    assert told == {"argv": ["pytest", "-q"]}


@every_case(
    "message",
    [
        b'{"tool_input": {"command": "false"}, "tool_input": {"command": "pytest"}, "exit_code": 0}',
        b'{"tool_input": {"command": "false", "command": "pytest"}, "exit_code": 0}',
        b'{"tool_input": "{\\"command\\": \\"false\\", \\"command\\": \\"pytest\\"}", "exit_code": 0}',
        b'{"tool_input": {"command": "pytest"}, "exit_code": 1, "exit_code": 0}',
        b'\xef\xbb\xbf{"command": "pytest"}',
    ],
)
def test_a_message_that_two_readers_take_differently_tells_of_no_command(message: bytes) -> None:
    assert params_after_shell(message) is None
