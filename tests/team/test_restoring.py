"""`code restore` in a linked project: the server says which files, the machine has kept what they held."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.outcome import Failure
from handrail.ports.trees import TakenTree
from handrail.worktree import keeping
from handrail_team.client.kept_contents import KeepingTrees
from tests.hostile.repository.checkout import run_git
from tests.team.linked_machine import Machine
from tests.team.team_server import Server
from tests.worktree.project import write

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


def begin(machine: Machine) -> tuple[str, str]:
    """A run whose first node saw a file that git does not have; its session and that node."""
    write(machine.project, "b.py", "b = 'of the laptop alone'\n")
    begun = machine.start()
    return begun["session"]["sessionId"], machine.data("code.status")["node_id"]


def restore(machine: Machine, node: str, **more: Any) -> Any:
    shown = machine.data("code.restore", node=node, dryRun=True, **more)
    return machine.data("code.restore", node=node, confirm=shown["confirm_token"], **more)


def list_kept(home: Path) -> list[Path]:
    return sorted(home.glob("trees/stores/*/refs/kept/lasting/*"))


def test_files_of_a_step_come_back_and_restore_is_undone(machine: Machine) -> None:
    session, node = begin(machine)
    write(machine.project, "a.py", "a = 'spoiled'\n")
    write(machine.project, "new.py", "new = 1\n")
    (machine.project / "b.py").unlink()

    done = restore(machine, node)
    after = {path.name: path.read_text(encoding="utf-8") for path in machine.project.glob("*.py")}
    machine.runtime = machine.reopen()
    restore(machine, done["undo"], session=session)
    undone = {path.name: path.read_text(encoding="utf-8") for path in machine.project.glob("*.py")}

    assert (done["session_id"], done["changed"], done["left_out"]) == (
        session,
        ["a.py", "b.py", "new.py"],
        [],
    )
    assert after == {"a.py": "a = 1\n", "b.py": "b = 'of the laptop alone'\n"}
    assert undone == {"a.py": "a = 'spoiled'\n", "new.py": "new = 1\n"}
    sent = b"".join(machine.wire.sent)
    assert not any(text in sent for text in (b"of the laptop alone", b"spoiled")), "contents stay"
    assert not (machine.home / "data" / "sessions").exists()


def refused_while(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, meddle: Callable[[bool], None]
) -> Failure:
    """What refuses a change during which something happens, told whether a call keeps what is there."""
    _, node = begin(machine)
    write(machine.project, "b.py", "b = 'newer'\n")
    shown = machine.data("code.restore", node=node, dryRun=True)
    asked = machine.wire.ask

    def ask(method: str, url: str, headers: Any, body: bytes = b"{}", *rest: Any) -> Any:
        meddle(b'"code.note"' in body)
        return asked(method, url, headers, body, *rest)

    monkeypatch.setattr(machine.wire, "ask", ask)
    refused = machine.call("code.restore", node=node, confirm=shown["confirm_token"])
    assert isinstance(refused, Failure)
    return refused


def test_nothing_is_written_if_the_server_cannot_record_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(is_note: bool) -> None:
        machine.wire.is_cut = is_note

    refused = refused_while(machine, monkeypatch, cut)

    assert refused.kind.code == "STORE_UNAVAILABLE"
    assert (machine.project / "b.py").read_text(encoding="utf-8") == "b = 'newer'\n"


def test_file_that_changes_during_the_call_is_kept(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changes while the server is asked is not written over."""

    def edit(is_note: bool) -> None:
        if is_note:
            write(machine.project, "b.py", "b = 'newest'\n")

    refused = refused_while(machine, monkeypatch, edit)

    assert (refused.kind.code, refused.details["reason"]) == ("E_CONFLICT", "target_changed")
    assert (machine.project / "b.py").read_text(encoding="utf-8") == "b = 'newest'\n"


def test_a_linked_server_restores_no_closed_file(machine: Machine) -> None:
    """The files that a server closes stay closed where a team says what is restored."""
    write(machine.project, ".venv/pyvenv.cfg", "home = /usr/bin\n")
    write(machine.project, ".venv/bin/tool.py", "first = 1\n")
    _, node = begin(machine)
    write(machine.project, ".venv/bin/tool.py", "second = 2\n")
    machine.runtime = machine.reopen(is_server=True)

    done = restore(machine, node)

    assert [one["path"] for one in done["left_out"]] == [".venv/bin/tool.py"]
    assert (machine.project / ".venv/bin/tool.py").read_text(encoding="utf-8") == "second = 2\n"


def test_files_kept_on_another_machine_are_named_and_left(
    machine: Machine, server: Server, tmp_path: Path
) -> None:
    session, node = begin(machine)
    bea = server.join(server.workspace("main"), "Bea", "member")
    other = Machine(tmp_path, server, bea.agent("second"), "desk", clone=machine.project)
    write(other.project, "a.py", "a = 'spoiled'\n")

    done = restore(other, node, session=session)

    assert done["changed"] == ["a.py"], "git has it in every clone"
    (left,) = done["left_out"]
    assert (left["path"], left["why"]) == ("b.py", "its content is not kept on this machine")
    assert not (other.project / "b.py").exists()


def test_project_without_snapshots_names_its_files_only(machine: Machine) -> None:
    """Where a project switches snapshots off, its files are named and not kept."""
    write(machine.project, ".handrail/config.json", '{"code": {"snapshots": "off"}}')
    _, node = begin(machine)

    assert node, "the step has a tree"
    assert list_kept(machine.home) == []


def test_a_home_that_keeps_nothing_changes_no_answer(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(keeping, "replace_private", refuse)
    _, node = begin(machine)
    write(machine.project, "c.py", "c = 3\n")

    shown = machine.data("code.restore", node=node, dryRun=True)
    refused = machine.call("code.restore", node=node, confirm=shown["confirm_token"])

    assert isinstance(refused, Failure)
    assert (refused.kind.code, os.strerror(28) in refused.message) == ("E_IO", True)
    assert (machine.project / "c.py").exists()


def test_trees_of_a_team_are_kept_for_ninety_days(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    run_git(project, "init", "-q", ".")
    write(project, "a.py", "a = 1\n")
    home = tmp_path / "home"
    trees = KeepingTrees(str(home), {"PATH": os.environ["PATH"]})
    taken = trees.take(str(project))
    assert isinstance(taken, TakenTree)

    assert isinstance(trees.pack_step(str(project), taken.tree, (), 0), bytes)
    assert list_kept(home) == [], "without contents nothing is kept"
    assert isinstance(trees.pack_step(str(project), taken.tree), bytes)
    (kept,) = list_kept(home)
    os.utime(kept, (1, 1))
    for mark in home.rglob("pruned"):
        os.utime(mark, (1, 1))
    trees.take(str(project))

    assert list_kept(home) == []
