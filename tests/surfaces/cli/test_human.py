"""What people see: a session with its graph, a preview, a batch; nothing in it that a terminal obeys."""

from __future__ import annotations

import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.call import TerminalProgress
from handrail.surfaces.cli.process import Process
from tests.operations.asked import answered
from tests.surfaces.cli.here import run_here


def forked(rt: Runtime) -> str:
    """A run that went on twice from its first step, and stands at a checkpoint."""
    reply = answered(rt, "run.start", workflowId="project.three_steps", goal="Fix it", requestId="k")
    fresh = answered(rt, "run.continue", stateToken=reply["stateToken"])
    answered(rt, "run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": "one"})
    second = answered(rt, "run.continue", ackToken=fresh["ackToken"], output={"notesMarkdown": "two"})
    answered(
        rt, "run.checkpoint", checkpointToken=second["checkpointToken"], output={"notesMarkdown": "half"}
    )
    session_id: str = reply["session"]["sessionId"]
    return session_id


def test_a_session_is_drawn_with_its_fork_and_where_it_stands(runtime: Runtime) -> None:
    session_id = forked(runtime)

    lines = run_here(runtime, ["session", "show", session_id, "--human"]).out.decode().splitlines()

    graph = [line.strip() for line in lines if line.startswith("  ") and line.strip()[0] in "o|*#"]
    assert lines[0] == f"Session {session_id}"
    assert graph == ["o First", "|\\ o Second", "o Second", "* checkpoint, Second"]
    assert "Title:   Fix it" in lines
    assert lines[-3].startswith("o step")
    assert lines[-1] == f"Continue it: handrail session resume {session_id} --human"


def test_a_preview_says_what_it_reaches_and_how_to_do_it(runtime: Runtime) -> None:
    line = ["settings", "set", "--risk-policy", "balanced", "--dry-run", "--human"]

    text = run_here(runtime, line).out.decode()

    assert "  update preferences global\n      risk policy: conservative -> balanced\n" in text
    assert "To do it:\n  handrail settings set --risk-policy balanced --human --confirm ct_" in text


class Told(Process):
    """Keeps what is said to the person."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[bytes] = []

    def write_error(self, line: bytes) -> None:
        self.lines.append(line)


@pytest.mark.promise("cli.stderr")
@pytest.mark.parametrize(
    ("is_terminal", "is_quiet", "count"), [(True, False, 2), (True, True, 0), (False, False, 0)]
)
def test_progress_is_for_a_person_who_waits(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, is_quiet: bool, count: int
) -> None:
    seconds = iter([0.0, 0.5, 2.5, 3.0, 5.0])
    monkeypatch.setattr("handrail.surfaces.cli.call.time.monotonic", lambda: next(seconds))
    monkeypatch.setattr("handrail.surfaces.cli.call.is_terminal", lambda _: is_terminal)
    process = Told()
    progress = TerminalProgress(process, is_quiet=is_quiet, is_asked=False, is_text=True)

    for done in range(1, 5):
        progress.report(done, 4, "sessions looked at")

    said = [b"handrail: sessions looked at: 2 of 4\n", b"handrail: sessions looked at: 4 of 4\n"]
    assert process.lines == said[:count]
