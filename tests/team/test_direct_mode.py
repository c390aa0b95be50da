"""HANDRAIL_STORE puts the store into a database: for every command, on every machine that has the address."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.runtime.runtime import NO_AUDIT, Runtime
from handrail.wiring import build_runtime, session_marks
from tests.conftest import THREE_STEPS
from tests.event_log.log_promises import load
from tests.journeys.conversation import advance, answer, refusal, rehydrate, start
from tests.team.cutting_proxy import cutting_proxy
from tests.team.postgres import as_url

NOWHERE = "postgresql://someone:pa55word@127.0.0.1:1/nothing"


def machine(tmp_path: Path, name: str, address: str) -> Runtime:
    project = tmp_path / "project"
    workflows = project / ".handrail" / "workflows"
    workflows.mkdir(parents=True, exist_ok=True)
    (workflows / "three_steps.json").write_bytes(THREE_STEPS)
    environment = {"HANDRAIL_STORE": as_url(address), "HANDRAIL_PROJECT": str(project), "USER": "tester"}
    return build_runtime(environment, home=str(tmp_path / name))


@pytest.fixture
def here(tmp_path: Path, database: str) -> Runtime:
    return machine(tmp_path, "here", database)


def begin(runtime: Runtime) -> dict[str, Any]:
    return start(runtime, goal="try the database")


@pytest.mark.thorough
def test_a_run_that_began_on_one_machine_goes_on_on_another(
    here: Runtime, tmp_path: Path, database: str
) -> None:
    there = machine(tmp_path, "there", database)
    first = begin(here)

    second = advance(there, first, "done over there")
    seen = rehydrate(here, second)

    assert seen["pending"] == second["pending"]
    assert [entry["notes"] for entry in seen["recap"]["entries"]] == ["done over there"]
    assert [one["id"] for one in answer(there, "session.list")["items"]] == [first["session"]["sessionId"]]
    assert answer(here, "session.list", query="database")["items"]
    assert answer(here, "store.verify")["ok"] is True
    assert not (tmp_path / "here" / "data" / "sessions").exists()


@pytest.mark.thorough
def test_advance_waits_three_times_for_the_database(tmp_path: Path, database: str) -> None:
    """An advance waits twice for the database and once for its audit line."""
    with cutting_proxy(database) as proxy:
        audited = machine(tmp_path, "here", proxy.address)
        silent = msgspec.structs.replace(audited, audit=NO_AUDIT)
        reply = begin(audited)
        trips = []
        for runtime in (silent, audited):
            before = proxy.trips
            reply = advance(runtime, reply)
            trips.append(proxy.trips - before)

    assert trips == [2, 3]


def test_absent_database_is_named_without_its_secrets(tmp_path: Path) -> None:
    runtime = machine(tmp_path, "here", NOWHERE)

    context = answer(runtime, "self.context")
    (check,) = answer(runtime, "self.doctor", checks=["store"], offline=True)["checks"]
    failure = refusal(runtime, "session.list")

    assert context["config"]["store"] == "postgresql://127.0.0.1:1/nothing"
    assert context["config"]["store_answers"] is False
    assert (check["status"], bool(check["fix"])) == ("fail", True)
    assert (failure.kind.code, failure.kind.is_retryable) == ("STORE_UNAVAILABLE", True)
    assert "pa55word" not in json.dumps([context, check, failure.message, failure.details])


@pytest.mark.thorough
def test_the_database_that_answers_is_said_to_answer(here: Runtime) -> None:
    begin(here)

    context = answer(here, "self.context")
    checks = answer(here, "self.doctor", checks=["store", "keyring"], offline=True)["checks"]

    assert (context["config"]["store_answers"], context["credentials"]["backend"]) == (True, "database")
    assert [check["status"] for check in checks] == ["pass", "pass"]


def test_answer_without_the_extra_is_the_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail_team.store", sys.modules.get("handrail_team.store"))
    for name in [name for name in sys.modules if name.startswith("handrail_team.store")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    runtime = machine(tmp_path, "here", NOWHERE)

    failure = refusal(runtime, "session.list")

    assert failure.kind.code == "E_CONFIG"
    assert failure.details["reason"] == "extra_missing"
    assert failure.details["install_command"][-1] == ".[team]"
    assert "'.[team]'" in failure.hint
    assert answer(runtime, "self.context")["config"]["store_answers"] is False


@pytest.mark.parametrize("address", ["mysql://here/x", "/a/directory", "sqlite:x"])
def test_an_address_of_something_else_is_refused_by_name(tmp_path: Path, address: str) -> None:
    runtime = build_runtime({"HANDRAIL_STORE": address}, home=str(tmp_path / "home"))

    failure = refusal(runtime, "session.list")

    assert (failure.kind.code, failure.details["setting"]) == ("E_CONFIG", "HANDRAIL_STORE")


def copy(runtime: Runtime, **way: str) -> dict[str, Any]:
    shown = answer(runtime, "store.copy", **way, dryRun=True)
    return answer(runtime, "store.copy", **way, confirm=shown["confirm_token"])


@pytest.mark.thorough
def test_sessions_move_between_files_and_the_database_by_command(
    here: Runtime, tmp_path: Path, database: str
) -> None:
    files = build_runtime({"USER": "tester"}, home=str(tmp_path / "files"))
    made = start(files, workflowId="wr.small_change")["session"]["sessionId"]

    copied = copy(here, **{"from": str(tmp_path / "files")})
    copy(here, to=str(tmp_path / "back"))

    returned = build_runtime({"USER": "tester"}, home=str(tmp_path / "back"))
    assert copied["event_count"] > 0
    ends = [load(one.log, made) for one in (returned, files, here)]
    assert len({(one.head, one.digest, one.health) for one in ends}) == 1
    assert [one.records[0].is_ours for one in ends] == [False, True, False]  # begun in the files


@pytest.mark.thorough
def test_a_commit_changes_the_mark_of_its_session(here: Runtime, tmp_path: Path, database: str) -> None:
    marks = session_marks({"HANDRAIL_STORE": as_url(database), "HANDRAIL_HOME": str(tmp_path / "other")})
    first = begin(here)
    before = marks()

    advance(here, first)

    name = first["session"]["sessionId"]
    assert before[name] != marks()[name]


@pytest.mark.thorough
def test_a_command_of_who_uses_files_looks_once_for_a_team(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "exists, looked = os.path.exists, []\n"
        "def look(path):\n"
        "    looked.append(os.path.basename(path))\n"
        "    return exists(path)\n"
        "os.path.exists = look\n"
        "def leave(status):\n"
        "    print(looked.count('team.json'), file=sys.stderr)\n"
        "    sys.exit(status)\n"
        "os._exit = leave\n"
        "sys.argv = ['handrail', 'workflow', 'list', '--limit', '1']\n"
        "from handrail.main import console\n"
        "console()\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        env={"HANDRAIL_HOME": str(tmp_path / "home"), "HANDRAIL_PROJECT": str(tmp_path)},
        timeout=60,
        check=False,
    )

    assert ran.stderr.splitlines()[-1:] == ["1"], ran.stderr


def test_who_uses_files_loads_nothing_of_it(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from handrail.wiring import build_runtime\n"
        "from handrail.runtime.hub import perform\n"
        f"perform(build_runtime({{}}, home={str(tmp_path)!r}), 'session.list', {{}})\n"
        "print(sorted(name for name in sys.modules if name.startswith(('handrail_team', 'psycopg'))))\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, timeout=60
    )

    assert ran.stdout == "[]\n"
