"""The page of the home is true: each file that work leaves is on it, private, and lost as the page says."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance.forked import ForkedTool, ForkServer
from tests.conftest import THREE_STEPS
from tests.house.tree import page
from tests.surfaces.cli.tool import Tool, checked_document
from tools.home_page import PLACES, Loss, Place

NOT_MADE_HERE = {
    "incidents/<id>.txt": "needs a defect: tests/host/test_incidents.py",
    "contracts/<name>.json": "made by the user alone",
    "data/cache/<session>": "needs 2 048 events: tests/event_log/log_promises.py",
    **({} if find_spec("apsw") else {"data/cache/index/sessions-<digest>.sqlite": "needs apsw"}),
    "trees/stores/<digest>/*": "needs a repository: tests/worktree/test_ids.py",
    "trees/projects/<digest>/*": "needs a repository: tests/worktree/test_ids.py",
    "trees/folders/<digest>": "needs a repository: tests/worktree/test_writing.py",
    "data/cache/facts/<digest>": "needs sources: tests/worktree/test_fact_store.py",
    "data/cache/bytecode/<digest>/*": "needs a check: tests/journeys/test_checks.py",
    "data/cache/checks-run": "needs a project with checks: tests/journeys/test_checks.py",
    "data/keys/receipts.json": "needs the extra verify: tests/journeys/test_travelling_receipts.py",
    "approved-checks.json": "needs a person's yes: tests/journeys/test_approved_checks.py",
    "team.json": "needs a server of a team: tests/team/test_team_client.py",
    "data/cache/projects/<digest>.root": "needs a repository: tests/journeys/test_one_project.py",
    "run/mcp-<pid>.json": "needs a running server: tests/journeys/test_settings_in_force.py",
    "store-key/<place>/adopted": "needs a person's yes: tests/journeys/test_proven_history.py",
    "data/restores/<digest>": "needs a restore: tests/worktree/test_restore.py",
    "data/cache/notices.json": "needs an index: tests/updates/test_update.py",
    "data/cache/update-check.json": "needs an index: tests/updates/test_notices.py",
    "run/server.json": "needs a server: tests/surfaces/http/test_serving.py",
    "run/server.lock": "needs a server: tests/surfaces/http/test_serving.py",
    "run/open.html": "needs a browser: tests/host/server/test_server_files.py",
    "data/git/<digest>/*": "fetched by the user: tests/host/workflow_sources/test_git.py",
}
OWN_MODE = ("workflows/", "skill-backup/")


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """A home in which something of everything was done."""

    tool: Tool
    state_token: str
    ack_token: str
    session_id: str


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory, fork_server: ForkServer) -> Worked:
    folder = tmp_path_factory.mktemp("home-page")
    tool = ForkedTool(str(folder), fork_server)
    (folder / ".cursor").mkdir()
    started: Any = tool.data("run", "start", "wr.small_change", "--request-id", "one", "--goal", "look")
    _confirmed(tool, "settings", "set", "--autonomy", "guided", "--risk-policy", "balanced")
    _confirmed(tool, "keys", "rotate")
    _confirmed(tool, "setup")
    with open(folder / ".agents/skills/handrail/SKILL.md", "a", encoding="utf-8") as skill:
        skill.write("\nMine.\n")
    _confirmed(tool, "setup")
    own = Path(tool.home, "workflows")
    own.mkdir()
    (own / "three_steps.json").write_bytes(THREE_STEPS)
    tool.data("workflow", "list")
    tool.data("session", "list")
    return Worked(
        tool=tool,
        state_token=started["stateToken"],
        ack_token=started["ackToken"],
        session_id=started["session"]["sessionId"],
    )


def _confirmed(tool: Tool, *line: str) -> None:
    tool.data(*line, "--confirm", tool.data(*line, "--dry-run")["confirm_token"])


@pytest.fixture
def copied(worked: Worked, tmp_path: Path, fork_server: ForkServer) -> Worked:
    """The same on a copy that may be damaged."""
    tool = ForkedTool(str(tmp_path), fork_server)
    shutil.copytree(worked.tool.home, tool.home)
    return msgspec.structs.replace(worked, tool=tool)


def files_of(home: str) -> Iterator[str]:
    for folder, _, names in os.walk(home):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), home).replace(os.sep, "/")


def is_at(place: Place, path: str) -> bool:
    pattern = re.escape(place.path).replace(r"\*", ".+")
    return re.fullmatch(re.sub(r"<[a-z]+>", "[^/]+", pattern), path) is not None


def lost(worked: Worked, *losses: Loss) -> list[str]:
    """Delete every file of these kinds of loss; which those were."""
    gone = [
        path
        for path in list(files_of(worked.tool.home))
        if any(is_at(place, path) and place.loss in losses for place in PLACES)
    ]
    for path in gone:
        os.unlink(os.path.join(worked.tool.home, path))
    return gone


def answers(worked: Worked) -> list[Any]:
    """What a user would notice; a reading mints a fresh ack each time, and a check counts bytes of locks."""
    told = [
        worked.tool.data("session", "list"),
        worked.tool.data("workflow", "list"),
        worked.tool.data("store", "verify"),
        worked.tool.data("run", "continue", "--state", worked.state_token),
    ]
    for name in ("ackToken", "checkpointToken", "nextCall", "bytes_read"):
        for one in told:
            one.pop(name, None)
    return told


def code_of(worked: Worked, *line: str) -> str:
    document = checked_document(worked.tool.run(*line))
    return str(document["error"]["details"]["domain_code"])


@pytest.mark.thorough
def test_every_file_of_the_home_has_one_place_on_the_page(worked: Worked) -> None:
    places = {path: [one.path for one in PLACES if is_at(one, path)] for path in files_of(worked.tool.home)}

    assert {path: found for path, found in places.items() if len(found) != 1} == {}


def test_every_place_of_the_page_was_made_or_says_why_not(worked: Worked) -> None:
    paths = list(files_of(worked.tool.home))

    unmade = [place.path for place in PLACES if not any(is_at(place, path) for path in paths)]

    assert sorted(unmade) == sorted(NOT_MADE_HERE)


def test_files_are_for_their_user_alone(worked: Worked) -> None:
    modes = {
        path: oct(stat.S_IMODE(os.lstat(os.path.join(worked.tool.home, path)).st_mode))
        for path in files_of(worked.tool.home)
        if not path.startswith(OWN_MODE)
    }
    folders = {
        folder: oct(stat.S_IMODE(os.lstat(folder).st_mode))
        for folder, _, _ in os.walk(worked.tool.home)
        if not os.path.relpath(folder, worked.tool.home).startswith(("workflows", "skill-backup/"))
    }

    assert set(modes.values()) == {"0o600"}, modes
    assert set(folders.values()) == {"0o700"}, folders


def test_what_is_made_again_changes_no_answer(copied: Worked) -> None:
    before = answers(copied)
    gone = lost(copied, "nothing", "record")

    after = answers(copied)

    assert after == before
    assert len(gone) >= 8, gone


def test_a_lost_key_file_ends_tokens_and_no_history(copied: Worked) -> None:
    assert lost(copied, "tokens") == ["data/keys/keyring.json"]

    code = code_of(copied, "run", "continue", "--state", copied.state_token)
    resumed = copied.tool.data("session", "resume")

    assert code == "TOKEN_BAD_SIGNATURE"
    assert [item["sessionId"] for item in resumed["items"]] == [copied.session_id]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("data/sessions/{session}/events-000001.jsonl", "STORE_HISTORY_LOST"),
        ("data/sessions/{session}/manifest.jsonl", "STORE_HISTORY_LOST"),
        ("data/blobs", "STORE_CORRUPT"),
    ],
)
def test_lost_history_is_noticed(copied: Worked, path: str, code: str) -> None:
    gone = Path(copied.tool.home, path.format(session=copied.session_id))
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()

    assert code_of(copied, "run", "continue", "--state", copied.state_token) == code


def test_without_its_manifest_a_session_is_lost_and_told(copied: Worked) -> None:
    Path(copied.tool.home, f"data/sessions/{copied.session_id}/manifest.jsonl").unlink()

    verified = copied.tool.data("store", "verify", "--report-only")

    assert (verified["ok"], verified["sessions"]) == (False, 1)
    assert [(problem["id"], problem["reason"]) for problem in verified["problems"]] == [
        (copied.session_id, "history_lost")
    ]


def test_without_settings_the_defaults_hold(copied: Worked) -> None:
    Path(copied.tool.home, "config.json").unlink()

    shown = copied.tool.data("settings", "show", "--preferences")

    assert shown["risk_policy"] == "conservative"


def test_deleted_workflow_is_not_listed_and_its_run_goes_on(copied: Worked) -> None:
    started = copied.tool.data("run", "start", "project.three_steps", "--request-id", "own")
    Path(copied.tool.home, "workflows/three_steps.json").unlink()

    listed = copied.tool.data("workflow", "list", "--query", "three_steps")
    told = copied.tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "Looked at it.")

    assert listed["items"] == []
    assert told["kind"] == "ok"


def test_without_its_note_setup_leaves_the_skill(tmp_path: Path, fork_server: ForkServer) -> None:
    tool = ForkedTool(str(tmp_path), fork_server)
    (tmp_path / ".cursor").mkdir()
    _confirmed(tool, "setup")
    Path(tool.home, "skill.json").unlink()

    _confirmed(tool, "setup", "--remove")

    assert (tmp_path / ".agents/skills/handrail/SKILL.md").exists()


def test_the_page_names_every_place() -> None:
    text = page("docs/reference/home.md").text

    assert [place.path for place in PLACES if f"`{place.path}`" not in text] == []
