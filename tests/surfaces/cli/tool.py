"""The command as strangers meet it: a process of its own, in a scratch home, judged by hand-typed rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tests.conformance.recorder import record

DEADLINE_SECONDS = 240
PROGRAM = os.path.join(os.path.dirname(sys.executable), "handrail")
"""The installed program, for what depends on its start."""

CORE_CODES = {
    "E_USAGE": (2, False),
    "E_VALIDATION": (2, False),
    "E_NOT_FOUND": (3, False),
    "E_AUTH": (4, False),
    "E_FORBIDDEN": (4, False),
    "E_CONFIG": (4, False),
    "E_CONFIRMATION_REQUIRED": (5, False),
    "E_CONFLICT": (6, False),
    "E_NETWORK": (7, True),
    "E_RATE_LIMITED": (7, True),
    "E_SERVER": (7, True),
    "E_TIMEOUT": (8, True),
    "E_INTEGRITY": (1, False),
    "E_IO": (1, False),
    "E_INTERRUPTED": (130, True),
    "E_UNKNOWN": (1, False),
}
"""Exit status and retryable of every core code, typed in from the CLI specification."""
EXTENSION_CODES = {"E_HUMAN_REQUIRED": (9, False), "E_CHECK_FAILED": (1, False)}
"""Optional there: where a person must act."""


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ended and what it wrote."""

    status: int
    out: bytes
    err: bytes


PATIENT = (
    "from handrail.operations import kept_trees; kept_trees.COMMAND_SECONDS = 60; "
    "from handrail.main import console; console()"
)
"""The command with all the time for a look at the files, for tests of what was seen there."""


class Tool:
    """Runs the command in a home of its own."""

    def __init__(self, folder: str) -> None:
        self.home = os.path.join(folder, "home")
        self.project = os.path.join(folder, "project")
        os.makedirs(self.project, exist_ok=True)
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": folder,
            "HANDRAIL_HOME": self.home,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        self.command = [sys.executable, "-c", "from handrail.main import console; console()"]

    def run(
        self, *arguments: str | bytes, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> Ran:
        finished = subprocess.run(
            [*self.command, *arguments],
            input=stdin,
            capture_output=True,
            cwd=self.project,
            env={**self.environment, **(environment or {})},
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        record(arguments, finished.returncode, finished.stdout, finished.stderr)
        return Ran(status=finished.returncode, out=finished.stdout, err=finished.stderr)

    def data(self, *arguments: str) -> Any:
        """The payload of a call that must succeed."""
        ran = self.run(*arguments)
        document = checked_document(ran)
        assert ran.status == 0, document
        return document["data"]

    def error(self, *arguments: str, stdin: bytes = b"") -> Any:
        """The error of a call that must fail."""
        document = checked_document(self.run(*arguments, stdin=stdin))
        assert document["ok"] is False
        return document["error"]


def patient_tool(folder: str) -> Tool:
    tool = Tool(folder)
    tool.command = [sys.executable, "-c", PATIENT]
    return tool


def strict_json(content: bytes) -> Any:
    """The one JSON value that the bytes are; nothing before, nothing after, no name twice."""

    def pairs(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        assert len({key for key, _ in items}) == len(items), "a name stands twice"
        return dict(items)

    def constant(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    text = content.decode("utf-8")
    assert not text.startswith("\ufeff")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\x1b" not in text
    return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)


def checked_document(ran: Ran) -> Any:
    """The CLI envelope on stdout, after every rule that holds for all of them (CLI 3, 4 and 6)."""
    assert ran.out, ran
    document = strict_json(ran.out)
    assert ran.err == b"", ran.err
    if document["ok"] is True:
        assert list(document) == ["ok", "schema_version", "data", "meta"]
        assert ran.status == 0
    else:
        assert list(document) == ["ok", "schema_version", "error", "meta"]
        _check_error(document["error"], ran.status)
    assert document["schema_version"] == "1.0"
    assert set(document["meta"]) <= {"duration_ms", "notices"}
    assert isinstance(document["meta"]["duration_ms"], int)
    assert document["meta"].get("notices") != []
    return document


def _check_error(error: Any, status: int) -> None:
    assert list(error) == ["code", "message", "details", "retryable"]
    exit_status, retryable = (CORE_CODES | EXTENSION_CODES)[error["code"]]
    assert (status, error["retryable"]) == (exit_status, retryable)
    assert isinstance(error["message"], str)
    assert error["message"].strip()
    assert error["details"]["hint"].endswith((".", "?"))
    assert "next_command" in error["details"]
    assert "agent_action" in error["details"]
    assert "Traceback" not in json.dumps(error)
