"""What export writes, import takes: one table of limits, kept before the first byte and before parsing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.bundles import limits
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import KeptFiles, memory_runtime
from tests.journeys.conversation import answer, refusal, start
from tests.journeys.interfaces import command
from tests.journeys.rich_session import rich_session
from tests.journeys.test_moving_sessions import bundle, imported, told


def raw_bundle(runtime: Runtime, session_id: str) -> str:
    """The file as `--out` writes it."""
    files = runtime.authored
    assert isinstance(files, KeptFiles)
    out = f"/bundles/{len(files.held)}.json"
    status, document = command(runtime, "session", "export", session_id, "--out", out)
    assert status == 0, document
    return files.held[out].decode()


def measured(text: str) -> dict[str, int]:
    """What each limit counts in this text, counted by other means than the code under test."""

    def depth(value: Any) -> int:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    def width(value: Any) -> int:
        if not isinstance(value, dict | list):
            return 0
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(len(value) - 1, 0) + sum(map(width, inner))

    document = json.loads(text)
    return {
        "MOST_BYTES": len(text.encode()),
        "MOST_DEPTH": depth(document),
        "MOST_VALUES": width(document),
        "MOST_EVENTS": len(document["session"]["events"]),
    }


NAMES = ("MOST_BYTES", "MOST_DEPTH", "MOST_VALUES", "MOST_EVENTS")


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_at_a_limit_a_session_leaves_and_comes_in(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = memory_runtime()
    session_id = rich_session(runtime)["session"]["sessionId"]
    text = raw_bundle(runtime, session_id)
    monkeypatch.setattr(limits, name, measured(text)[name])
    elsewhere = memory_runtime()

    again = raw_bundle(runtime, session_id)
    made = imported(elsewhere, again)

    assert again == text
    assert told(elsewhere, made["session_id"]) == told(runtime, session_id)


@pytest.mark.parametrize("name", NAMES)
def test_one_beyond_a_limit_neither_side_does_anything(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = memory_runtime()
    session_id = rich_session(runtime)["session"]["sessionId"]
    text = raw_bundle(runtime, session_id)
    limit = measured(text)[name] - 1
    monkeypatch.setattr(limits, name, limit)
    files = runtime.authored
    assert isinstance(files, KeptFiles)
    before = dict(files.held)

    _, document = command(runtime, "session", "export", session_id, "--out", "/late.json")
    taken = refusal(memory_runtime(), "session.import", bundle=bundle(text), dryRun=True)

    refused = document["error"]
    assert refused["details"]["domain_code"] == taken.kind.code == "BUNDLE_TOO_LARGE", refused
    assert refused["details"]["limit"] == taken.details["limit"] == limit
    assert refused["details"]["measured"] == taken.details["measured"] == limit + 1
    assert "Nothing was written" in refused["message"]
    assert "--as markdown" in refused["details"]["hint"]
    assert files.held == before
    status, _ = command(runtime, "session", "export", session_id, "--as", "markdown", "--out", "/r.md")
    assert status == 0


def test_commas_and_brackets_in_notes_are_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found: sixty notes of commas made a bundle that no import took."""
    runtime = memory_runtime()
    reply = start(runtime)
    notes = {"notesMarkdown": 'a "quoted" \\, [{' + ",[{" * 20_000}
    answer(runtime, "run.continue", ackToken=reply["ackToken"], output=notes)
    session_id = reply["session"]["sessionId"]
    text = raw_bundle(runtime, session_id)
    monkeypatch.setattr(limits, "MOST_VALUES", measured(text)["MOST_VALUES"])

    made = imported(memory_runtime(), raw_bundle(runtime, session_id))

    assert made["is_imported"] is True
    assert text.count(",") > 20_000 > measured(text)["MOST_VALUES"]


@pytest.mark.thorough
def test_largest_notes_artifacts_and_contexts_come_back_equal(runtime: Runtime) -> None:
    """Exported, imported elsewhere, exported there: the same but for the label that says so."""
    deep: Any = "end"
    for _ in range(60):
        deep = [deep]
    reply = start(runtime, context={"deep": deep, "wide": "x" * 100_000})
    artifact = {"kind": "project.large", "text": "é" * 32_000}
    for number in range(3):  # the same ack again and again forks
        fresh = answer(runtime, "run.continue", stateToken=reply["stateToken"])
        output = {"notesMarkdown": f"{number} " + "n" * 65_000, "artifacts": [artifact]}
        answer(runtime, "run.continue", ackToken=fresh["ackToken"], output=output)
    session_id = reply["session"]["sessionId"]
    second, third = memory_runtime(), memory_runtime()

    first = json.loads(raw_bundle(runtime, session_id))["session"]
    imported(second, raw_bundle(runtime, session_id))
    there = raw_bundle(second, session_id)
    imported(third, there)
    last = json.loads(raw_bundle(third, session_id))["session"]

    assert last["events"][:-2] == json.loads(there)["session"]["events"][:-1] == first["events"]
    for part in ("snapshots", "pinnedWorkflows", "artifacts"):
        assert last[part] == first[part]
    assert told(third, session_id) == told(runtime, session_id)


_CUT_OFF = """
import os, sys
from handrail.host import private_files
number, wrote = int(sys.argv.pop(1)), os.write
def write(descriptor, content):
    done = wrote(descriptor, content)
    if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".tmp"):
        private_files.os.write = wrote
        os.kill(os.getpid(), number)
    return done
private_files.os.write = write
from handrail.main import main
sys.exit(main())
"""


@pytest.mark.thorough
@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc to know the file")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_export_that_is_cut_off_leaves_no_file_under_its_name(tmp_path: Path, number: int) -> None:
    home = tmp_path / "home"
    runtime = build_runtime({}, home=str(home))
    reply = answer(runtime, "run.start", workflowId="wr.small_change", requestId="r", goal="Cut off")
    folder = tmp_path / "out"
    folder.mkdir()
    words = ["session", "export", reply["session"]["sessionId"], "--out", str(folder / "work.json")]

    done = subprocess.run(
        [sys.executable, "-P", "-c", _CUT_OFF, str(int(number)), *words],
        env={**os.environ, "HANDRAIL_HOME": str(home)},
        capture_output=True,
        timeout=60,
        check=False,
    )

    if number == signal.SIGKILL:
        assert done.returncode == -signal.SIGKILL
        assert not (folder / "work.json").exists()
    else:  # a signal waits until the file is whole, and the truth is told
        assert (done.returncode, list(folder.iterdir())) == (0, [folder / "work.json"])
        assert json.loads((folder / "work.json").read_text(encoding="utf-8"))["bundleSchemaVersion"] == 1
