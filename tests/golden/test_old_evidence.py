"""What the last build that weighed evidence left behind continues, is imported and is verified."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.event_log.files.log import FileLog
from handrail.event_log.files.upkeep.whole_store import check_store
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import KeptIncidents, memory_runtime
from tests.golden.test_golden_stores import as_json, content_of
from tests.golden.write_store import runtime_on
from tests.hostile.repository.checkout import run_git
from tests.journeys.conversation import answer, refusal, rehydrate
from tests.journeys.rich_session import report
from tests.journeys.test_moving_sessions import imported
from tests.journeys.test_travelling_receipts import with_keys
from tests.surfaces.cli.here import run_here

PLACE = Path(__file__).resolve().parent / "old_evidence"
"""Written once, with the build before `proof_recorded`; later versions continue, import and verify it."""
MADE: dict[str, Any] = json.loads((PLACE / "calls.json").read_text(encoding="utf-8"))
CALLS: list[dict[str, Any]] = MADE["calls"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A private copy of the store, as it was on its writer's disk."""
    home = tmp_path / "home"
    shutil.copytree(PLACE / "home", home)
    for path in [home, *home.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
    return home


def find_reply(name: str) -> dict[str, Any]:
    """The recorded reply that stands at this step, or of this session."""
    found = (
        call["reply"]
        for call in CALLS
        if name in (_session(call["reply"]), (call["reply"]["pending"] or {}).get("stepId"))
    )
    reply: dict[str, Any] = next(found)
    return reply


def _session(reply: dict[str, Any]) -> str:
    return str(reply.get("session", {}).get("sessionId", ""))


def test_the_old_store_is_sound(home: Path) -> None:
    check = check_store(FileLog(str(home / "data")))

    assert check.problems == ()
    assert check.sessions == 6


def test_every_old_call_gets_its_recorded_reply(home: Path) -> None:
    before = content_of(home)
    runtime = runtime_on(str(home))

    for call in CALLS:
        outcome: Any = perform(runtime, "run.continue", call["params"])

        assert as_json(outcome.data) == as_json(call["reply"]), call["params"]
    assert content_of(home) == before


def test_an_old_blocked_run_goes_on(home: Path) -> None:
    runtime = runtime_on(str(home))
    blocked = CALLS[0]["reply"]
    assert blocked["kind"] == "blocked"
    checks = [{"command": "grep -q round src/bill.py", "exitCode": 0, "summary": "It ran."}]
    files = [{"path": "src/bill.py", "change": "modified", "why": "Each line was rounded."}]
    changed = {"kind": "wr.changed_files", "files": files, "checks": checks}

    done = report(runtime, blocked["retryAckToken"], changed)

    codes = [one["code"] for one in blocked["blockers"]]
    assert "INVALID_REQUIRED_OUTPUT" in codes
    assert "INVALID_REQUIRED_OUTPUT" not in [one["code"] for one in done.get("blockers", [])]


def test_an_old_run_goes_on_in_its_loop(home: Path) -> None:
    runtime = runtime_on(str(home))
    reply = find_reply(MADE["names"]["rounds"])

    chosen = report(runtime, reply["ackToken"], {"kind": "wr.loop_control", "decision": "stop"})
    agreed = answer(runtime, "run.continue", ackToken=chosen["pending"]["choices"][0]["token"])

    assert (chosen["pending"]["stepId"], agreed["pending"]["stepId"]) == ("size", "agree")


def test_an_old_run_of_a_bundled_workflow_keeps_its_steps(home: Path) -> None:
    runtime = runtime_on(str(home))
    found = answer(runtime, "session.resume", query="Golden bug")["items"][0]
    first = answer(runtime, "run.continue", **found["nextCall"]["params"])

    assert first["pending"]["stepId"]
    assert rehydrate(runtime, first)["pending"]["prompt"] == first["pending"]["prompt"]


def test_an_old_run_says_that_its_evidence_is_no_longer_weighed(home: Path) -> None:
    read = rehydrate(runtime_on(str(home)), find_reply("hand"))

    assert "EVIDENCE_NOT_WEIGHED" in [one["code"] for one in read["warnings"]]


def test_an_old_parent_still_waits_for_its_child(home: Path) -> None:
    runtime = runtime_on(str(home))

    waiting = rehydrate(runtime, find_reply("hand"))
    child = answer(runtime, "run.continue", stateToken=waiting["children"][0]["workToken"])

    assert [one["status"] for one in waiting["children"]] == ["open", "done"]
    assert child["pending"]["stepId"] == "change"
    assert report(runtime, child["ackToken"])["blockers"]


@pytest.mark.parametrize("name", ["finished", "parts"])
def test_an_old_bundle_is_imported(runtime: Runtime, name: str) -> None:
    made = imported(runtime, (PLACE / f"{name}.bundle.json").read_text(encoding="utf-8"))

    shown = answer(runtime, "session.show", sessionId=made["session_id"])
    back = answer(runtime, "session.export", sessionId=made["session_id"])["content"]

    old = json.loads((PLACE / f"{name}.bundle.json").read_text(encoding="utf-8"))
    assert made["session_id"] == MADE["names"][name]
    assert shown["status"] == ("complete" if name == "finished" else "in_progress")
    assert back["session"]["events"][:-1] == old["session"]["events"]


def test_an_old_receipt_is_verified(tmp_path: Path) -> None:
    project = tmp_path / "project"
    run_git(tmp_path, "clone", "-q", "-b", "main", str(PLACE / "project.git-bundle"), str(project))
    trees = build_runtime({"PATH": os.environ["PATH"]}, home=str(tmp_path / "home")).trees
    runtime = msgspec.structs.replace(with_keys(memory_runtime(), tmp_path / "home"), trees=trees)
    text = (PLACE / "receipt.json").read_text(encoding="utf-8")

    params = {
        "receipt": {"source": "receipt.json", "text": text},
        "key": MADE["names"]["public_key"],
        "project": str(project),
    }
    verified = answer(runtime, "receipt.verify", **params)
    other = refusal(runtime, "receipt.verify", **params, expect="proved")

    assert (verified["form"], verified["word"], verified["result"]) == ("former", None, "PASSED")
    assert "form before proofs" in verified["sentence"]
    assert other.kind.code == "E_CHECK_FAILED"
    (tmp_path / "receipt.json").write_text(text, encoding="utf-8")
    flags = ["--key", params["key"], "--project", str(project), "--human"]
    known = msgspec.structs.replace(runtime, incidents=KeptIncidents())
    shown = run_here(known, ["receipt", "verify", str(tmp_path / "receipt.json"), *flags])
    assert len(shown.out.decode().splitlines()) == 8, shown
