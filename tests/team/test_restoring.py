"""`code restore` in a linked project: the server says which files, the machine has kept what they held."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.outcome import Failure
from handrail.ports.worktree import Tree, TreeEntry
from handrail.wiring import build_runtime
from handrail_team.companion import kept_contents
from handrail_team.companion.kept_contents import KEPT_DAYS, KeepingWorktree
from tests.host.worktree.project import write
from tests.hostile.repository.checkout import run_git
from tests.team.linked_machine import Machine
from tests.team.team_server import Server

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
    return sorted((home / "data" / "contents").glob("*/*"))


@pytest.mark.promise("team.server-decides")
def test_the_files_of_a_step_come_back_and_the_restore_is_undone_the_same_way(machine: Machine) -> None:
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


def test_nothing_is_written_where_the_server_cannot_record_what_is_there(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(is_note: bool) -> None:
        machine.wire.is_cut = is_note

    refused = refused_while(machine, monkeypatch, cut)

    assert refused.kind.code == "STORE_UNAVAILABLE"
    assert (machine.project / "b.py").read_text(encoding="utf-8") == "b = 'newer'\n"


def test_a_file_that_changes_while_the_server_is_asked_is_not_written_over(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit(is_note: bool) -> None:
        if is_note:
            write(machine.project, "b.py", "b = 'newest'\n")

    refused = refused_while(machine, monkeypatch, edit)

    assert (refused.kind.code, refused.details["reason"]) == ("E_CONFLICT", "target_changed")
    assert (machine.project / "b.py").read_text(encoding="utf-8") == "b = 'newest'\n"


def test_what_another_machine_kept_is_left_as_it_is_here_and_named(
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


def test_where_a_project_switches_snapshots_off_its_files_are_named_and_not_kept(machine: Machine) -> None:
    write(machine.project, ".handrail/config.json", '{"code": {"snapshots": "off"}}')
    _, node = begin(machine)

    assert node, "the step has a tree"
    assert list_kept(machine.home) == []


def test_a_full_home_changes_no_answer_and_a_restore_says_so(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(kept_contents, "replace_private", refuse)
    _, node = begin(machine)
    write(machine.project, "c.py", "c = 3\n")
    shown = machine.call("code.restore", node=node, dryRun=True)

    assert isinstance(shown, Failure)
    assert (shown.kind.code, shown.details["reason"]) == ("E_IO", os.strerror(28))
    assert "Make room" in shown.hint


# What is kept, without any server


class Keeping:
    """A project, and a home that keeps contents of its files."""

    def __init__(self, folder: Path) -> None:
        self.project, self.home = folder / "project", folder / "home"
        self.project.mkdir()
        run_git(self.project, "init", "-q", ".")
        environment = {"HANDRAIL_PROJECT": str(self.project), "PATH": "/usr/bin:/bin"}
        local = build_runtime(environment, home=str(self.home))
        self.now = local.clock.unix_seconds()
        self.worktree = KeepingWorktree(str(self.home), environment, local, str)

    def keep(self, **files: str) -> tuple[str, ...]:
        """The digests that were new."""
        for name, content in files.items():
            write(self.project, name, content)
        tree = self.worktree.take_tree(str(self.project))
        assert isinstance(tree, Tree)
        return self.worktree.pack_contents(str(self.project), tree).digests

    def read(self, *digests: str) -> dict[str, bytes]:
        return dict(self.worktree.read_contents(str(self.project), (), digests))

    def age(self, seconds: int) -> None:
        for path in list_kept(self.home):
            os.utime(path, (self.now - seconds,) * 2)


@pytest.fixture
def keeping(tmp_path: Path) -> Keeping:
    return Keeping(tmp_path)


def test_contents_are_kept_once_for_oneself_alone_and_found_again(keeping: Keeping) -> None:
    (digest,) = keeping.keep(b="b = 2\n", same="b = 2\n")
    again = keeping.keep()
    (kept,) = list_kept(keeping.home)
    (keeping.project / "b").unlink()
    (keeping.project / "same").unlink()

    assert again == (), "what is kept is not packed again"
    assert keeping.read(digest) == {digest: b"b = 2\n"}
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    kept.write_bytes(b"damaged")
    assert keeping.read(digest, "sha1:../../../team.json", "") == {}


def test_another_project_finds_nothing_of_it(keeping: Keeping, tmp_path: Path) -> None:
    digests = keeping.keep(b="b = 2\n")
    other = tmp_path / "other"
    other.mkdir()

    assert keeping.worktree.read_contents(str(other), (), digests) == {}


def test_what_no_tree_names_for_long_goes_when_something_new_is_kept(keeping: Keeping) -> None:
    (named,) = keeping.keep(named="named")
    (gone,) = keeping.keep(gone="gone")
    (keeping.project / "gone").unlink()
    keeping.age(KEPT_DAYS * 86_400 + 60)

    (new,) = keeping.keep(new="new")

    assert keeping.read(named, gone, new).keys() == {named, new}


def test_the_oldest_go_where_there_is_too_much(keeping: Keeping, monkeypatch: pytest.MonkeyPatch) -> None:
    (old,) = keeping.keep(old="a" * 40)
    keeping.age(60)
    monkeypatch.setattr(kept_contents, "MOST_KEPT_BYTES", list_kept(keeping.home)[0].stat().st_size + 10)

    (new,) = keeping.keep(new="b" * 40)

    assert keeping.read(old, new).keys() == {new}


def test_an_absent_file_has_no_content_to_keep(keeping: Keeping) -> None:
    entry = TreeEntry(path="gone.py", mode="absent", digest="", size=0)
    tree = Tree(head="", entries=(entry,), tree_id="t")

    assert keeping.worktree.pack_contents(str(keeping.project), tree).content == b""
    assert not list_kept(keeping.home)
