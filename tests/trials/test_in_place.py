"""Trials in the project itself."""

from __future__ import annotations

import subprocess
import sys

from handrail.ports.trials import TrialCheck
from tests.hostile.repository.checkout import run_git
from tests.trials.rooms import Workshop, shell
from tests.worktree.project import picture


def test_room_in_place_brings_the_files_back(linked: Workshop) -> None:
    linked.write({"a.txt": "first", "folder/deep.txt": "deep"})
    linked.commit()
    first = linked.take()
    linked.write({"a.txt": "second", "b.txt": "b"})
    (linked.root / "folder/deep.txt").unlink()
    linked.commit()
    before, last = picture(linked.root), linked.take()
    check = shell("cat a.txt folder/deep.txt; ls b.txt; pwd; echo x > run.sh; rm link; echo x > ignored.log")

    with linked.trials.open(str(linked.root), check, is_in_place=True) as room:
        one = room.run(first, replaced={"src/b.py": b"broken"})
        two = room.run(last)

    assert one.isolation == "in_place"
    assert one.tail.startswith("firstdeep")
    assert two.tail.endswith(f"b.txt\n{linked.root}\n")
    (linked.root / "ignored.log").unlink()
    assert picture(linked.root) == before
    assert run_git(linked.root, "status", "--porcelain") == b""


def test_room_in_place_needs_a_clean_project(linked: Workshop) -> None:
    linked.write({"src/a.py": "a = 2\n"})

    with linked.trials.open(str(linked.root), shell("rm -rf ."), is_in_place=True) as room:
        result = room.run(linked.take())

    assert result.state == "not_started"
    assert result.reason == "--in-place needs a project without uncommitted changes: commit or stash them"
    assert (linked.root / "src/a.py").exists()


def test_files_come_back_if_the_caller_fails(linked: Workshop) -> None:
    before = picture(linked.root)
    try:
        with linked.trials.open(str(linked.root), shell("rm -r src"), is_in_place=True) as room:
            room.run(linked.take())
            raise ValueError
    except ValueError:
        pass

    assert picture(linked.root) == before


_MAKE_STALE = """
import os, py_compile
py_compile.compile("own.py")
seen = os.stat("own.py")
with open("own.py", "w", encoding="utf-8") as file:
    file.write("print('new')\\n")
os.utime("own.py", ns=(seen.st_atime_ns, seen.st_mtime_ns))
"""


def test_stale_bytecode_is_not_loaded_in_place(linked: Workshop) -> None:
    linked.write({".gitignore": "__pycache__\n", "own.py": "print('old')\n"})
    linked.commit()
    subprocess.run([sys.executable, "-c", _MAKE_STALE], cwd=linked.root, check=True)
    linked.commit()
    check = TrialCheck(command=(sys.executable, "-c", "import own"))
    plain = subprocess.run(
        [*check.command], cwd=linked.root, capture_output=True, encoding="utf-8", check=True
    )

    with linked.trials.open(str(linked.root), check, is_in_place=True) as room:
        trial, here = room.run(linked.take()), room.run_in_place()

    assert plain.stdout == "old\n"
    assert (trial.tail, here.tail) == ("new\n", "new\n")
