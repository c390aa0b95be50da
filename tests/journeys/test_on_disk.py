"""The same journeys on the file log: nothing but commits ever changes a byte of the store."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest

from handrail.event_log.files.touched import INDEX_FOLDER
from handrail.host.workspace import ENDING
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import THREE_STEPS, KeptIncidents
from tests.journeys.conversation import advance, answer, refusal, rehydrate, start


@pytest.fixture
def disk_runtime(home: str, tmp_path: Path) -> Runtime:
    """A runtime on files, with one workflow in its project."""
    workflows = tmp_path / "project" / ".handrail" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "three_steps.json").write_bytes(THREE_STEPS)
    return build_runtime({"HANDRAIL_PROJECT": str(tmp_path / "project"), "USER": "tester"}, home=home)


def another_process(home: str) -> Runtime:
    """What a call finds that begins now, in the home of `disk_runtime`."""
    project = str(Path(home).parent / "project")
    runtime = build_runtime({"USER": "tester", "HANDRAIL_PROJECT": project}, home=home)
    return msgspec.structs.replace(runtime, incidents=KeptIncidents())


def every_byte(home: str) -> dict[str, tuple[int, int, bytes]]:
    """Each file of the store: mode, time of change, content.

    The account of calls stands beside the store, and so do the index, which a list may make or renew, and
    what git said of the directory that a command is called in.
    """
    files = {}
    for folder, folders, names in os.walk(home):
        folders[:] = [name for name in folders if name not in ("audit", INDEX_FOLDER)]
        for name in (name for name in names if not name.endswith(ENDING)):
            path = os.path.join(folder, name)
            about = os.stat(path)
            with open(path, "rb") as file:
                files[os.path.relpath(path, home)] = (about.st_mode, about.st_mtime_ns, file.read())
    return files


@pytest.mark.promise("continue.rehydrate.pure")
def test_reads_and_refusals_change_no_byte_of_the_store(disk_runtime: Runtime, home: str) -> None:
    second = advance(disk_runtime, start(disk_runtime), "x" * 5_000)
    before = every_byte(home)

    rehydrate(disk_runtime, second)
    answer(disk_runtime, "session.resume", query=second["session"]["sessionId"])
    answer(disk_runtime, "session.show", sessionId=second["session"]["sessionId"])
    answer(disk_runtime, "session.list")
    refusal(disk_runtime, "run.continue", stateToken=second["stateToken"], output={"notesMarkdown": "no"})
    refusal(disk_runtime, "run.continue", ackToken="ak1nonsense")

    assert every_byte(home) == before


def test_everything_in_the_home_is_private(disk_runtime: Runtime, home: str) -> None:
    advance(disk_runtime, start(disk_runtime), "x" * 5_000)

    answer(disk_runtime, "session.list")
    for folder, folders, names in os.walk(home):
        modes = {stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for name in names}
        assert modes <= {0o600}
        assert {stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) for name in folders} <= {0o700}


def test_a_cut_log_on_disk_is_proven_by_an_honest_token(disk_runtime: Runtime, home: str) -> None:
    first = start(disk_runtime)
    session = Path(home) / "data" / "sessions" / first["session"]["sessionId"]
    kept = {path.name: path.read_bytes() for path in session.iterdir()}
    second = advance(disk_runtime, first)
    for name, content in kept.items():
        (session / name).write_bytes(content)

    failure = refusal(disk_runtime, "run.continue", ackToken=second["ackToken"])

    assert failure.kind.code == "STORE_HISTORY_LOST"
