"""`code restore` in processes of their own, each killed at another change that it makes to the disk.

`python -m tests.faults.restorer FOLDER` prints a JSON report. The process is small and has one thread, and
forks a child for every call: the child counts what it is about to change, and kills itself at the given one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from handrail import Handrail
from tests.hostile.repository.checkout import run_git
from tests.worktree.project import commit, picture, write

CHANGES = (
    *("fsync", "fdatasync", "rename", "replace", "link", "unlink", "mkdir", "rmdir", "symlink"),
    *("chmod", "fchmod", "ftruncate"),
)
WRITES = ("write", "pwrite")
MOST_CHANGES = 500
MOST_CHILD_SECONDS = 60

Files = dict[str, tuple[str, bytes, bool]]


class Place:
    """A project with a repository, a home beside it, and both as they were before the restore."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home, self.kept = folder / "project", folder / "home", folder / "kept"
        self.root.mkdir(parents=True)
        environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder)}
        self.environment = environment | {"HANDRAIL_PROJECT": str(self.root)}
        run_git(self.root, "init", "-q", ".")
        write(self.root, "a.txt", "one\r\ntwo\r\n")
        write(self.root, "gone/deep/b.txt", "was there\n")
        write(self.root, "run.sh", "#!/bin/sh\n").chmod(0o755)
        (self.root / "link").symlink_to("a.txt")
        write(self.root, ".gitignore", "*.log\n")
        commit(self.root)

    def call(self, operation: str, **params: Any) -> Any:
        store = Handrail(home=str(self.home), environment=self.environment)
        return store.call(operation, params)

    def begin(self) -> str:
        """A run that saw the first files, and later ones on the disk; the node of the first."""
        write(self.root, "draft é.txt", "a draft\n")
        self.call("run.start", workflowId="wr.small_change", goal="g", requestId="k")
        node: str = self.call("code.status")["node_id"]
        write(self.root, "a.txt", "other\n" * 2_000)
        shutil.rmtree(self.root / "gone")
        (self.root / "run.sh").chmod(0o644)
        (self.root / "link").unlink()
        (self.root / "link").symlink_to("run.sh")
        (self.root / "draft é.txt").unlink()
        write(self.root, "new/c.txt", "new\n")
        write(self.root, "noise.log", "ignored\n")
        return node

    def files(self) -> Files:
        """Every file outside of git: kind, bytes, executable."""
        found: Files = {}
        for path in sorted(self.root.rglob("*")):
            name = str(path.relative_to(self.root))
            if name.split("/")[0] == ".git" or (path.is_dir() and not path.is_symlink()):
                continue
            is_link = path.is_symlink()
            content = os.fsencode(os.readlink(path)) if is_link else path.read_bytes()
            found[name] = (
                "link" if is_link else "file",
                content,
                not is_link and bool(path.stat().st_mode & stat.S_IXUSR),
            )
        return found

    def keep(self) -> None:
        for one in (self.root, self.home):
            shutil.copytree(one, self.kept / one.name, symlinks=True)

    def put_back(self) -> None:
        for one in (self.root, self.home):
            shutil.rmtree(one)
            shutil.copytree(self.kept / one.name, one, symlinks=True)


def die_at(number: int, *, is_half: bool) -> None:
    """Let this process be killed before the change with this number, or in the middle of such a write."""
    left = number

    def count() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def counted(change: Callable[..., Any]) -> Callable[..., Any]:
        def changing(*arguments: Any, **named: Any) -> Any:
            if count():
                die()
            return change(*arguments, **named)

        return changing

    def written(change: Callable[..., Any]) -> Callable[..., Any]:
        def writing(descriptor: int, content: bytes, *rest: Any) -> Any:
            if count():
                if is_half:
                    change(descriptor, bytes(content)[: len(content) // 2], *rest)
                die()
            return change(descriptor, content, *rest)

        return writing

    opens = os.open

    def opening(path: Any, flags: int, *arguments: Any, **named: Any) -> int:
        if flags & os.O_CREAT and count():
            die()
        return opens(path, flags, *arguments, **named)

    for name in WRITES:
        setattr(os, name, written(getattr(os, name)))
    if is_half:
        return
    for name in CHANGES:
        setattr(os, name, counted(getattr(os, name)))
    os.open = opening


def in_child(work: Callable[[], None]) -> bool:
    """Whether the work came to its end in a process of its own; False: it was killed."""
    child = os.fork()
    if not child:
        status = 1
        try:
            signal.alarm(MOST_CHILD_SECONDS)
            work()
            status = 0
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGKILL:
        return False
    assert ended == 0, f"the child ended with {ended}"
    return True


class Kills:
    """One restore, killed again and again, and what was wrong afterwards."""

    def __init__(self, folder: Path) -> None:
        self.place = Place(folder)
        self.node = self.place.begin()
        self.old = self.place.files()
        self.repository = picture(self.place.root / ".git")
        preview = self.place.call("code.restore", node=self.node, dryRun=True)
        self.token = preview["confirm_token"]
        self.place.keep()
        self.restore(self.token)
        self.new = self.place.files()
        self.problems: list[str] = []
        self.is_unfinished = 0

    def restore(self, token: str) -> None:
        self.place.call("code.restore", node=self.node, confirm=token)

    def kill(self, number: int, *, is_half: bool) -> bool:
        """Whether there was a change with this number to be killed at."""
        place, name = self.place, f"{'in' if is_half else 'before'} change {number}"
        place.put_back()

        def restore() -> None:
            die_at(number, is_half=is_half)
            self.restore(self.token)

        if in_child(restore):
            return False
        self.check(name, self.find_mixed())
        if place.call("code.status")["is_unfinished"]:
            self.is_unfinished += 1
            self.kill_again(name, number)
        preview = place.call("code.restore", node=self.node, dryRun=True)
        held = place.files()
        self.check(name, [] if held in (self.old, self.new) else ["the next call left it half done"])
        if held == self.old:
            self.restore(preview["confirm_token"])
        self.check(name, [] if place.files() == self.new else ["the files are not those of the step"])
        self.check(name, [] if not place.call("code.status")["is_unfinished"] else ["it is unfinished"])
        faults = place.call("store.verify")["problem_count"]
        self.check(name, [f"the store has {faults} problems"] if faults else [])
        is_same = picture(place.root / ".git") == self.repository
        self.check(name, [] if is_same else ["the repository changed"])
        return True

    def kill_again(self, name: str, number: int) -> None:
        """Who finishes it may be killed too."""

        def finish() -> None:
            die_at(number % 7, is_half=False)
            self.place.call("code.restore", node=self.node, dryRun=True)

        if not in_child(finish):
            self.check(f"{name} and again", self.find_mixed())

    def find_mixed(self) -> list[str]:
        """Files that are neither as before nor as they should become."""
        found = self.place.files()
        return [
            f"{path} is neither old nor new"
            for path in sorted(self.old.keys() | self.new.keys() | found.keys())
            if found.get(path) not in (self.old.get(path), self.new.get(path))
            and not path.rpartition("/")[2].startswith(".handrail-")  # beside its place, not in it
        ]

    def check(self, name: str, found: list[str]) -> None:
        self.problems += [f"{name}: {one}" for one in found]


def main(folder: Path) -> None:
    kills = Kills(folder)
    done = {False: 0, True: 0}
    for is_half in done:
        while done[is_half] < MOST_CHANGES and kills.kill(done[is_half], is_half=is_half):
            done[is_half] += 1
    report = {
        "changes": done[False],
        "writes": done[True],
        "unfinished": kills.is_unfinished,
        "problems": kills.problems,
    }
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
