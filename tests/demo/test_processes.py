"""The agent and the calls it makes: what it remembers, what a kill leaves, what the children see."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from handrail.demo.scene import Calls, make_demo_environment, read_tokens
from tests.cases import every_case


def document(data: object) -> str:
    return msgspec.json.encode({"ok": True, "data": data}).decode()


@every_case(
    ("out", "expected"),
    [
        (
            document({"stateToken": "st1a", "ackToken": "ak1a", "session": {"sessionId": "ses_1"}}),
            {"stateToken": "st1a", "ackToken": "ak1a", "sessionId": "ses_1"},
        ),
        (
            document({"items": [{"sessionId": "ses_1", "nextCall": {"params": {"stateToken": "st1b"}}}]}),
            {"stateToken": "st1b", "sessionId": "ses_1"},
        ),
        (document({"stateToken": "st1a", "ackToken": ""}), {"stateToken": "st1a"}),
        (document({"kind": "blocked", "retryAckToken": "ak1c"}), {"retryAckToken": "ak1c"}),
        (document({"items": []}), {}),
        ('{"ok":false,"error":{}}', {}),
        ("", {}),
        ("[]", {}),
        ("not json", {}),
    ],
)
def test_an_agent_remembers_the_tokens_of_an_answer(out: str, expected: dict[str, str]) -> None:
    assert read_tokens(out) == expected


def test_children_see_the_scratch_directory_and_no_other_setting() -> None:
    environment = {"PATH": "/bin", "HANDRAIL_FORMAT": "text", "AI_NATIVE_CLI_SECRET": "s" * 32}

    assert make_demo_environment(environment, "/h", "/p") == {
        "PATH": "/bin",
        "HANDRAIL_HOME": "/h",
        "HANDRAIL_PROJECT": "/p",
    }


def calls_in(tmp_path: Path, home: str) -> Calls:
    return Calls(make_demo_environment(os.environ, home, str(tmp_path)), str(tmp_path))


@pytest.mark.thorough
def test_a_call_reports_its_status_and_its_answer(tmp_path: Path, home: str) -> None:
    report = calls_in(tmp_path, home).make(["session", "list", "--compact"])

    assert (report.status, report.is_killed) == (0, False)
    assert msgspec.json.decode(report.out)["data"]["items"] == []


def test_a_killed_call_has_no_answer(tmp_path: Path, home: str) -> None:
    """Even one that has nothing to write but its answer cannot end before it is killed."""
    report = calls_in(tmp_path, home).kill(["--version"], "at_once", home)

    assert (report.status, report.is_killed, report.out) == (-9, True, "")


def test_the_children_run_this_interpreter(tmp_path: Path, home: str) -> None:
    """A module of the same name in the working directory is not taken for the package."""
    (tmp_path / "handrail.py").write_text("raise SystemExit(3)", encoding="utf-8")

    assert calls_in(tmp_path, home).make(["--version"]).status == 0
