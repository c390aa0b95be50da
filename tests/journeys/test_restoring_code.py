"""The files of a step: how they differ, and how they come back, through the command line."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.host.worktree.project import picture, write
from tests.hostile.repository.checkout import run_git
from tests.journeys.test_code_of_nodes import Work
from tests.surfaces.cli.tool import checked_document

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path)


def first_node(work: Work, reply: Any) -> str:
    node: str = work.events(reply, "tree_recorded")[0]["data"]["nodeId"]
    return node


def restore(work: Work, name: str) -> Any:
    shown = work.tool.data("code", "restore", name, "--dry-run")
    return shown, work.tool.data("code", "restore", name, "--confirm", shown["confirm_token"])


@pytest.mark.promise("evidence.code.restore")
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


@pytest.mark.promise("evidence.code.restore")
def test_a_preview_writes_nothing_and_other_files_than_it_showed_refuse_the_change(work: Work) -> None:
    started = work.start()
    write(work.root, "a.py", "a = 2\n")
    before = picture(work.root)
    shown = work.tool.data("code", "restore", first_node(work, started), "--dry-run")
    assert picture(work.root) == before
    write(work.root, "a.py", "a = 3\n")

    error = work.tool.error("code", "restore", first_node(work, started), "--confirm", shown["confirm_token"])

    assert error["code"] == "E_CONFLICT"
    assert (work.root / "a.py").read_bytes() == b"a = 3\n"


@pytest.mark.promise("evidence.code.restore")
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


@pytest.mark.promise("evidence.code.diff")
def test_a_diff_is_what_git_would_show_and_nothing_in_it_steers_a_terminal(work: Work) -> None:
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


@pytest.mark.promise("evidence.code.restore")
def test_a_step_without_a_tree_is_named_as_such(work: Work) -> None:
    write(work.root, ".handrail/config.json", '{"code": {"snapshots": "off"}}')
    work.start()

    document = checked_document(work.tool.run("code", "status"))

    assert document["error"]["code"] == "E_NOT_FOUND"
    assert "no tree" in document["error"]["message"]


@pytest.mark.promise("evidence.code.restore")
def test_people_read_what_differs_and_the_commands_that_bring_it_back(work: Work) -> None:
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

    assert status[:6] == [
        "2 files differ from those that the step plan began with:",
        "  changed  a.py",
        "  added    n\ufffdew.bin",
        "",
        f"To see the lines: handrail code diff {node} --human",
        f"To bring them back: handrail code restore {node} --dry-run --human",
    ]
    assert diff[:2] == ["2 files differ: 1 line added, 1 removed.", ""]
    assert diff[-2:] == ["Without lines:", "  n\ufffdew.bin  it is not text"]
    assert restored[:3] == [
        f"2 files brought back to how the node {node} had them.",
        "  a.py",
        "  n\ufffdew.bin",
    ]
    assert restored[-1].startswith("  handrail code restore t1:")
    assert shown("status")[0] == "The files are those that the step plan began with."
    assert shown("diff", node) == ["The files are the same."]
