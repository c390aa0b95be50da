"""Odd projects through whole calls: every advance is answered, and what is not seen is unknown, with why."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from handrail import Handrail
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Success
from handrail.worktree.git_child import GitChild
from tests.hostile.repository.checkout import Trap, run_git
from tests.worktree.project import commit, make_project, write

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


class Place:
    """A project that somebody made, and a run in it."""

    def __init__(self, folder: Path, root: Path, **environment: str) -> None:
        self.root = root
        given = {"PATH": os.environ["PATH"], "HOME": str(folder), "HANDRAIL_PROJECT": str(root)}
        self.store = Handrail(home=str(folder / "home"), environment=given | environment)
        self.notices: list[str] = []

    def call(self, operation: str, **params: Any) -> Any:
        outcome = self.store.outcome(operation, params)
        assert isinstance(outcome, Success), outcome
        self.notices += [one.message for one in outcome.notices if one.type == "tree_skipped"]
        return payload_of(outcome)

    def report(self, path: str, change: Callable[[], None]) -> Any:
        """The reply to a report about one file."""
        started = self.call("run.start", workflowId="wr.small_change", goal="g", requestId="k")
        output: dict[str, Any] = {"notesMarkdown": "Planned."}
        planned = self.call("run.continue", ackToken=started["ackToken"], output=output)
        change()
        files = [{"path": path, "change": "modified", "why": "It says something else now."}]
        checks = [{"command": "make test", "exitCode": 0, "summary": "It passed."}]
        body = {"kind": "wr.changed_files", "files": files, "checks": checks}
        output = {"notesMarkdown": "Done.", "artifacts": [body]}
        return self.call("run.continue", ackToken=planned["ackToken"], output=output)


class Odd(NamedTuple):
    """What is odd, and the file that is reported."""

    make: Callable[[Path], Path]
    path: str


def make_bare(folder: Path) -> Path:
    run_git(folder, "init", "-q", "--bare", "bare.git")
    return folder / "bare.git"


def make_linked(folder: Path) -> Path:
    make_project(folder / "project")
    run_git(folder / "project", "worktree", "add", "-q", str(folder / "linked"))
    return folder / "linked"


def make_with_submodule(folder: Path) -> Path:
    make_project(folder / "inner")
    root = folder / "project"
    make_project(root)
    inner = str(folder / "inner")
    run_git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "sub")
    commit(root, "two")
    return root


def make_sparse(folder: Path) -> Path:
    make_project(folder / "project")
    run_git(folder / "project", "sparse-checkout", "set", "--no-cone", "/run.sh")
    return folder / "project"


def make_with_pointers(folder: Path) -> Path:
    """Git keeps a pointer, the disk has what it stands for, and the filter is a program that must not run."""
    root = folder / "project"
    make_project(root)
    write(root, "big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    write(root, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    commit(root, "two")
    trap = Trap(folder / "trap")
    for verb in ("clean", "smudge", "process"):
        run_git(root, "config", f"filter.lfs.{verb}", str(trap.program))
    write(root, "big.bin", b"\0" * 9)
    return root


def make_clashing(folder: Path) -> Path:
    make_project(folder / "project")
    write(folder / "project", "Case.txt", "upper\n")
    write(folder / "project", "case.txt", "lower\n")
    commit(folder / "project", "two")
    return folder / "project"


def make_unreadable_names(folder: Path) -> Path:
    make_project(folder / "project")
    write(folder / "project", os.fsdecode(b"caf\xe9.txt"), "one\n")
    commit(folder / "project", "two")
    return folder / "project"


def make_read_only(folder: Path) -> Path:
    make_project(folder / "project")
    (folder / "project").chmod(0o555)
    return folder / "project"


def make_without_commit(folder: Path) -> Path:
    write(folder / "project", "src/a.py", "a = 1\n")
    run_git(folder / "project", "init", "-q", ".")
    return folder / "project"


def make_in_conflict(folder: Path) -> Path:
    root = folder / "project"
    make_project(root)
    run_git(root, "checkout", "-q", "-b", "other")
    write(root, "src/b.py", "b = 3\n")
    commit(root, "other")
    run_git(root, "checkout", "-q", "-")
    write(root, "src/b.py", "b = 4\n")
    commit(root, "mine")
    run_git(root, "merge", "-q", "other")
    assert b"U src/b.py" in run_git(root, "status", "--porcelain").replace(b"UU", b"U")
    return root


def make_plain(folder: Path) -> Path:
    write(folder / "project", "src/a.py", "a = 1\n")
    return folder / "project"


def make_refused(folder: Path) -> Path:
    make_project(folder / "project")
    write(folder / "project", ".git/config", "[core\nbroken")
    return folder / "project"


CASES = {
    "bare": Odd(make_bare, "description"),
    "linked worktree": Odd(make_linked, "src/a.py"),
    "submodule": Odd(make_with_submodule, "sub/src/a.py"),
    "sparse checkout": Odd(make_sparse, "run.sh"),
    "large file pointers": Odd(make_with_pointers, "src/a.py"),
    "names that differ in case": Odd(make_clashing, "Case.txt"),
    "a name that is not UTF-8": Odd(make_unreadable_names, os.fsdecode(b"caf\xe9.txt")),
    "read-only folder": Odd(make_read_only, "src/a.py"),
    "before the first commit": Odd(make_without_commit, "src/a.py"),
    "a merge in conflict": Odd(make_in_conflict, "src/a.py"),
    "no git": Odd(make_plain, "src/a.py"),
    "a repository that git refuses": Odd(make_refused, "src/a.py"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.thorough
def test_an_advance_in_an_odd_project_is_answered(name: str, tmp_path: Path) -> None:
    odd = CASES[name]
    place = Place(tmp_path, odd.make(tmp_path))
    shown = odd.path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")

    told = place.report(shown, lambda: _append(place.root / odd.path))

    assert told["kind"] == "ok", told["blockers"]
    assert not (tmp_path / "trap/started").exists()


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"# more\n")


def test_a_project_that_takes_too_long_is_unknown_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project(tmp_path / "project")
    monkeypatch.setattr("handrail.worktree.place.GitChild", lambda given, _: GitChild(given, 0.0))
    place = Place(tmp_path, tmp_path / "project")

    told = place.report("src/a.py", lambda: _append(place.root / "src/a.py"))

    assert told["kind"] == "ok"
    assert ["reading the files took longer than" in one for one in place.notices] == [True] * 3


def test_without_the_program_git_a_repository_is_unknown(tmp_path: Path) -> None:
    make_project(tmp_path / "project")
    (tmp_path / "programs").mkdir()
    place = Place(tmp_path, tmp_path / "project", PATH=str(tmp_path / "programs"))

    told = place.report("src/a.py", lambda: _append(place.root / "src/a.py"))

    assert told["kind"] == "ok"


def test_a_project_without_git_is_seen_where_its_user_wants_that(tmp_path: Path) -> None:
    write(tmp_path / "home", "config.json", '{"code": {"snapshots": "always"}}')
    place = Place(tmp_path, make_plain(tmp_path))

    told = place.report("src/a.py", lambda: _append(place.root / "src/a.py"))

    assert (told["kind"], place.notices) == ("ok", [])


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_keeps_us_out_is_unknown_with_its_name(tmp_path: Path) -> None:
    make_project(tmp_path / "project")
    place = Place(tmp_path, tmp_path / "project")
    (place.root / "src").chmod(0)
    try:
        told = place.report("run.sh", lambda: _append(place.root / "run.sh"))
    finally:
        (place.root / "src").chmod(0o755)

    assert told["kind"] == "ok"
