"""A whole way through a store on disk, with the index of sessions, without it, and with a broken one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from handrail.wiring import build_runtime
from tests.conftest import KeptIncidents
from tests.journeys.conversation import answer, start
from tests.journeys.interfaces import command, tool_call


@pytest.mark.parametrize("state", ["none", "new", "known", "garbage", "gone"])
def test_work_is_listed_and_found_whatever_became_of_the_index(tmp_path: Path, state: str) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    on_disk = build_runtime({"HANDRAIL_PROJECT": str(project)}, home=str(home))
    runtime = msgspec.structs.replace(on_disk, incidents=KeptIncidents())
    mine = start(runtime, workflowId="wr.small_change", goal="mend the till")["session"]["sessionId"]
    start(runtime, workflowId="wr.small_change", goal="feed the cat")
    folder = home / "data" / "cache" / "index"
    if state == "none":
        runtime = msgspec.structs.replace(runtime, index=lambda: None)
    if state in ("known", "garbage", "gone"):
        answer(runtime, "session.list")
    for index in folder.glob("sessions-*.sqlite"):
        if state == "gone":
            index.unlink()
        if state == "garbage":
            index.write_bytes(b"no database at all" * 1_000)

    found = tool_call(runtime, "resume_session", query="till").structured
    status, listed = command(runtime, "session", "list", "--query", "mend")

    assert [item["sessionId"] for item in found["items"]] == [mine]
    assert (status, [row["id"] for row in listed["data"]["items"]]) == (0, [mine])
