"""The files of a step: how they differ, and how they come back, through the command line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from handrail.runtime.hub import perform
from handrail.wiring import build_runtime
from handrail_serve.views import render_view
from tests.conformance.forked import ForkServer
from tests.hostile.repository.checkout import run_git
from tests.journeys.conversation import answer
from tests.journeys.test_code_of_nodes import Work
from tests.surfaces.cli.tool import checked_document
from tests.worktree.project import commit, picture, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def work(tmp_path: Path, fork_server: ForkServer) -> Work:
    return Work(tmp_path, fork_server)


def first_node(work: Work, reply: Any) -> str:
    node: str = work.events(reply, "tree_recorded")[0]["data"]["nodeId"]
    return node


def restore(work: Work, name: str) -> Any:
    shown = work.tool.data("code", "restore", name, "--dry-run")
    return shown, work.tool.data("code", "restore", name, "--confirm", shown["confirm_token"])


def test_the_files_of_a_step_come_back_and_the_later_ones_again(work: Work) -> None:
    write(work.root, "draft.txt", "one\r\ntwo\r\n")
    started = work.start()
    node = first_node(work, started)
    write(work.root, "a.py", "a = 2\n")
    (work.root / "draft.txt").unlink()
    write(work.root, "new.py", "new = 1\n")
    write(work.root, "noise.log", "ignored")
    run_git(work.root, "add", "a.py")
    repository = picture(work.root / ".git")
    later = picture(work.root)

    status = work.tool.data("code", "status")
    shown, done = restore(work, node)

    assert [(file["path"], file["change"]) for file in status["files"]] == [
        ("a.py", "changed"),
        ("draft.txt", "removed"),
        ("new.py", "added"),
    ]
    assert [(change["action"], change["id"]) for change in shown["preview"]["changes"]] == [
        ("update", "a.py"),
        ("create", "draft.txt"),
        ("delete", "new.py"),
    ]
    assert done["changed"] == ["a.py", "draft.txt", "new.py"]
    assert (work.root / "a.py").read_bytes() == b"a = 1\n"
    assert (work.root / "draft.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert not (work.root / "new.py").exists()
    assert (work.root / "noise.log").read_bytes() == b"ignored"
    assert work.tool.data("code", "status")["differing"] == 0

    restore(work, done["undo"])

    assert picture(work.root) == later
    assert picture(work.root / ".git") == repository


def test_preview_writes_nothing_and_other_files_refuse_it(work: Work) -> None:
    started = work.start()
    write(work.root, "a.py", "a = 2\n")
    before = picture(work.root)
    shown = work.tool.data("code", "restore", first_node(work, started), "--dry-run")
    assert picture(work.root) == before
    write(work.root, "a.py", "a = 3\n")

    error = work.tool.error("code", "restore", first_node(work, started), "--confirm", shown["confirm_token"])

    assert error["code"] == "E_CONFLICT"
    assert (work.root / "a.py").read_bytes() == b"a = 3\n"


def test_an_ignored_file_in_the_way_is_told_and_stays(work: Work) -> None:
    write(work.root, "notes.txt", "of the step\n")
    started = work.start()
    write(work.root, ".gitignore", "*.log\nnotes.txt\n")
    write(work.root, "notes.txt", "mine now\n")

    shown, done = restore(work, first_node(work, started))

    reasons = {change["id"]: change["after"] for change in shown["preview"]["changes"]}
    assert "ignored" in reasons["notes.txt"]["reason"]
    assert [left["path"] for left in done["left_out"]] == ["notes.txt"]
    assert (work.root / "notes.txt").read_bytes() == b"mine now\n"


def test_what_the_restored_rules_ignore_stays(work: Work) -> None:
    write(work.root, "deep/.gitignore", "/mine.txt\nkept/\n!kept/not.txt\n")
    write(work.root, "deep/mine.txt", "mine\n")
    write(work.root, "deep/kept/not.txt", "below an ignored folder\n")
    started = work.start()
    write(work.root, "deep/.gitignore", "")
    write(work.root, "mine.txt", "of the step\n")

    _, done = restore(work, first_node(work, started))

    assert sorted(left["path"] for left in done["left_out"]) == ["deep/kept/not.txt", "deep/mine.txt"]
    assert done["changed"] == ["deep/.gitignore", "mine.txt"]
    assert (work.root / "deep/mine.txt").read_bytes() == b"mine\n"


LARGE_TEXT = b"z" * 5_000_001
LARGE_BINARY = bytes(range(256)) * 20_000


def stays(shown: Any, done: Any) -> list[str]:
    """What the preview and the answer leave alone; they say the same."""
    told = [one["id"] for one in shown["preview"]["changes"] if one["action"] == "none"]
    assert sorted(left["path"] for left in done["left_out"]) == told
    assert all(left["why"] for left in done["left_out"])
    return told


@pytest.mark.thorough
def test_files_kept_nowhere_are_not_removed_or_overwritten(work: Work) -> None:
    write(work.root, "grown.txt", "small\n")
    write(work.root, "folder", "a file\n")
    write(work.root, "file/inner.txt", "in a folder\n")
    node = first_node(work, work.start())
    write(work.root, "new.csv", LARGE_TEXT)
    write(work.root, "new.bin", LARGE_BINARY)
    write(work.root, "new.txt", "small\n")
    write(work.root, "grown.txt", LARGE_TEXT)
    (work.root / "folder").unlink()
    write(work.root, "folder/deep/new.csv", LARGE_TEXT)
    write(work.root, "folder/new.txt", "small\n")
    shutil.rmtree(work.root / "file")
    write(work.root, "file", LARGE_BINARY)
    later = picture(work.root)

    shown, done = restore(work, node)

    assert stays(shown, done) == [
        "file",
        "file/inner.txt",
        "folder",
        "folder/deep/new.csv",
        "grown.txt",
        "new.bin",
        "new.csv",
    ]
    assert done["changed"] == ["folder/new.txt", "new.txt"]
    assert {change["id"]: (change["after"] or {}).get("reason") for change in shown["preview"]["changes"]}[
        "new.csv"
    ] == ("it stays, because what it holds now is not kept and could not be brought back")

    restore(work, done["undo"])

    assert picture(work.root) == later


@pytest.mark.thorough
def test_a_large_file_that_git_has_may_go_and_comes_back(work: Work) -> None:
    node = first_node(work, work.start())
    write(work.root, "committed.csv", LARGE_TEXT)
    commit(work.root)
    later = picture(work.root)

    shown, done = restore(work, node)

    assert stays(shown, done) == []
    assert not (work.root / "committed.csv").exists()
    restore(work, done["undo"])
    assert picture(work.root) == later


def test_only_what_git_has_is_overwritten_without_contents(work: Work) -> None:
    write(work.root, "b.py", "b = 1\n")
    node = first_node(work, work.start())
    write(Path(work.tool.home), "config.json", '{"code": {"snapshots": "off"}}')
    write(work.root, "a.py", "a = 2\n")
    (work.root / "b.py").unlink()

    shown, done = restore(work, node)

    assert stays(shown, done) == ["a.py"]
    assert (work.root / "a.py").read_bytes() == b"a = 2\n"
    assert (work.root / "b.py").read_bytes() == b"b = 1\n"


def test_file_that_outgrows_the_limits_is_not_lost(work: Work) -> None:
    node = first_node(work, work.start())
    write(work.root, "new.csv", "small\n")
    shown = work.tool.data("code", "restore", node, "--dry-run")
    write(work.root, "new.csv", LARGE_TEXT)

    error = work.tool.error("code", "restore", node, "--confirm", shown["confirm_token"])

    assert error["code"] == "E_CONFLICT"
    assert (work.root / "new.csv").read_bytes() == LARGE_TEXT


def test_diff_is_that_of_git_and_steers_no_terminal(work: Work) -> None:
    write(work.root, "long.txt", "".join(f"line {number}\n" for number in range(100)))
    started = work.start()
    changed = [f"line {number}\n" for number in range(100)]
    changed[10:12] = ["other\n"]
    changed.insert(60, "\x1b[31mred\n")
    write(work.root, "long.txt", "".join(changed) + "no end")
    write(work.root, "binary", b"\0\1")

    told = work.tool.data("code", "diff", first_node(work, started))

    files = {file["path"]: file for file in told["files"]}
    assert (files["long.txt"]["added"], files["long.txt"]["removed"]) == (3, 2)
    assert files["binary"]["note"] == "it is not text"
    assert "\x1b" not in told["diff"]
    assert "<U+001B>[31mred" in told["diff"]
    assert "@@ -8,8 +8,7 @@" in told["diff"]
    assert "\\ No newline at end of file" in told["diff"]


def test_a_step_without_a_tree_is_named_as_such(work: Work) -> None:
    write(Path(work.tool.home), "config.json", '{"code": {"snapshots": "off"}}')
    work.start()

    document = checked_document(work.tool.run("code", "status"))

    assert document["error"]["code"] == "E_NOT_FOUND"
    assert "no tree" in document["error"]["message"]
    assert "code.snapshots is off" in document["error"]["details"]["hint"]


@pytest.mark.thorough
def test_people_read_what_differs_and_what_was_brought_back(work: Work) -> None:
    started = work.start()
    node = first_node(work, started)
    write(work.root, "a.py", "a = '\x1b[31m'\n")
    write(work.root, "n\x1bew.bin", b"\0")

    def shown(*words: str) -> list[str]:
        ran = work.tool.run("code", *words, "--human")
        assert (ran.status, ran.err) == (0, b"")
        text = ran.out.decode()
        assert "\x1b" not in text
        return text.splitlines()

    status, diff = shown("status"), shown("diff", node)
    preview = work.tool.data("code", "restore", node, "--dry-run")
    restored = shown("restore", node, "--confirm", preview["confirm_token"])

    for lines in (status, diff, restored):
        assert any("a.py" in line for line in lines)
        assert any("n\ufffdew.bin" in line for line in lines)
    assert restored[-1].startswith("undo:")
    assert any(re.fullmatch("differing: +0", line) for line in shown("status"))


def test_console_shows_what_a_step_changed_in_its_project(work: Work, tmp_path: Path) -> None:
    started = work.start()
    write(work.root, "a.py", "a = 2\n")
    work.save(started, "half way")
    _, second = (one["data"]["nodeId"] for one in work.events(started, "tree_recorded"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    runtime = build_runtime({"HANDRAIL_PROJECT": str(elsewhere)}, home=str(work.tool.home))
    graph = answer(runtime, "run.graph", sessionId=started["session"]["sessionId"])
    path = f"/sessions/{graph['session_id']}/runs/{graph['run_id']}/nodes/{second}"

    page = render_view(lambda name, params: perform(runtime, name, params), path, {}).html.markup

    assert "What changed since the step before" in page
    assert '<span class="del">-a = 1</span><span class="add">+a = 2</span>' in page
