"""An import is cut off before every single call to the disk: afterwards there is nothing, or everything."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import SessionId
from handrail.event_log.files.log import FileLog
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.journeys.conversation import advance, answer, start
from tests.journeys.rich_session import LONG_NOTES
from tests.store_proof.disks import CountingDisk, Death


class DyingDisk(CountingDisk):
    """Ends the process before call number `at`; 0: never."""

    def __init__(self, at: int = 0) -> None:
        super().__init__()
        self.at = at

    def before(self, call: str) -> None:
        super().before(call)
        if self.calls == self.at:
            raise Death


def on_disk(data: Path, disk: CountingDisk | None = None) -> Runtime:
    log = FileLog(str(data)) if disk is None else FileLog(str(data), disk)
    return msgspec.structs.replace(memory_runtime(), log=log)


def imported(runtime: Runtime, bundle: dict[str, str]) -> dict[str, Any]:
    shown = answer(runtime, "session.import", bundle=bundle, dryRun=True)
    return answer(runtime, "session.import", bundle=bundle, confirm=shown["confirm_token"])


@pytest.mark.thorough
def test_wherever_an_import_dies_it_left_nothing_or_everything(tmp_path: Path) -> None:
    source = memory_runtime()
    session_id = SessionId(advance(source, start(source), LONG_NOTES)["session"]["sessionId"])
    content = answer(source, "session.export", sessionId=session_id)["content"]
    bundle = {"source": "b.json", "text": json.dumps(content)}
    unharmed = DyingDisk()
    imported(on_disk(tmp_path / "whole", unharmed), bundle)
    whole = FileLog(str(tmp_path / "whole")).load(session_id)
    assert whole is not None
    seen = []

    for at in range(1, unharmed.calls + 1):
        scene, data = tmp_path / f"scene{at}", tmp_path / f"dies{at}"
        with suppress(Death):
            imported(on_disk(scene, DyingDisk(at)), bundle)
        if scene.exists():
            shutil.copytree(scene, data)  # away from the descriptors that a real death would have closed
        left = FileLog(str(data)).load(session_id)
        seen.append(left is not None)
        assert left is None or (left.health, len(left.records)) == (whole.health, len(whole.records)), at
        again = imported(on_disk(data), bundle)
        assert again["session_id"] == session_id
        assert FileLog(str(data)).load(session_id) is not None

    assert seen[0] is False
    assert seen == sorted(seen)
    resumed = on_disk(tmp_path / f"dies{unharmed.calls // 2}")
    (candidate,) = answer(resumed, "session.resume", query=session_id)["items"]
    assert candidate["pendingTitle"] == "Second"
