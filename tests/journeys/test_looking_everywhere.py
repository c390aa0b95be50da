"""What a look, a receipt and a restore are about: branches, other folders and stores, rewritten files."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

import pytest

from handrail.operations.checks.run_check import RunCheck, run_check
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, rehydrate
from tests.journeys.interfaces import command
from tests.journeys.test_confirmations import at_third, insist
from tests.journeys.test_moving_sessions import exported, imported
from tests.journeys.workplace import (
    Site,
    site,
)
from tests.worktree.project import commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
__all__ = ["site"]


# Branches


# Receipts of other places


def test_a_yes_that_came_with_a_bundle_was_not_given_here(runtime: Runtime) -> None:
    insist(runtime)
    third = at_third(runtime)
    waiting = advance(runtime, third)
    session = third["session"]["sessionId"]
    answer(seat(runtime, Person("y")), "run.answer", session=session)
    here = memory_runtime()
    copied = imported(here, exported(runtime, session))["session_id"]
    (found,) = answer(here, "session.resume", query=copied)["items"]

    blocked = advance(here, rehydrate(here, found["nextCall"]["params"]))

    assert waiting["kind"] == "blocked"
    assert blocked["blockers"][0]["code"] == "USER_ONLY_DEPENDENCY"


# Files that checks write


def write_script(site: Site, name: str, text: str) -> None:
    site.write(name, f"with open('gen.txt', 'w', encoding='utf-8') as file:\n    file.write('{text}')\n")


def test_check_that_writes_files_is_advised_to_ignore_them(site: Site) -> None:
    write_script(site, "one.py", "1")
    commit(site.root)
    site.begin()
    asked = RunCheck(argv=[sys.executable, "one.py"], state_token=site.reply["stateToken"])

    (notice,) = run_check(site.runtime, asked).notices

    assert notice.message.startswith("gen.txt changed while it ran")
    assert notice.message.endswith("What the check writes itself belongs into .gitignore.")


# What a refusal advises


# A restore, and its undo


def test_undo_of_a_restore_leaves_ignored_files(site: Site) -> None:
    site.write(".gitignore", "*.log\n")
    commit(site.root)
    site.begin()
    site.write("keep.txt", "v1\n")
    tree = site.run("true")["treeAfter"]
    site.write(".gitignore", "*.log\nkeep.txt\n")
    site.write("keep.txt", "v2, ignored\n")

    undo = _restore(site, tree)["undo"]
    back = _restore(site, undo)

    assert (site.root / "keep.txt").read_text(encoding="utf-8") == "v2, ignored\n"
    assert (site.root / ".gitignore").read_text(encoding="utf-8") == "*.log\nkeep.txt\n"
    assert [one["path"] for one in back["left_out"]] == ["keep.txt"]


def _restore(site: Site, tree: str) -> dict[str, Any]:
    words = ["code", "restore", tree, "--session", site.reply["session"]["sessionId"]]
    _, shown = command(site.runtime, *words, "--dry-run")
    status, done = command(site.runtime, *words, "--confirm", shown["data"]["confirm_token"])
    assert status == 0, json.dumps(done)
    told: dict[str, Any] = done["data"]
    return told
