"""Proofs of projects that are not one plain checkout: each gets a true word, or a reason with a way on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.contract.outcome import Failure
from tests.journeys.proved_projects import FIXED, NEW_TEST, START, UNITTEST, Proved
from tests.surfaces.cli.tool import Tool
from tests.worktree.project import picture
from tests.worktree.repositories import commit, run_git, write

pytestmark = pytest.mark.thorough

UNIT_TEST = """import unittest

from bills import bill


class BillTest(unittest.TestCase):
    def test_whole(self):
        self.assertEqual(bill([1, 2]), 3)
"""
UNIT_NEW = UNIT_TEST + "\n    def test_halves(self):\n        self.assertEqual(bill([0.4, 0.4, 0.4]), 1)\n"
BEFORE = {"bills.py": START["bills.py"], "test_bills.py": UNIT_TEST}
AFTER = {"bills.py": FIXED, "test_bills.py": UNIT_NEW}


def below(folder: str, files: dict[str, str]) -> dict[str, str]:
    return {f"{folder}/{path}": text for path, text in files.items()}


def test_folder_with_blanks_in_its_path_is_proved(tmp_path: Path) -> None:
    proved = Proved(tmp_path, {**below("my packages/bills", BEFORE), "README.md": "Bills.\n"})
    proved.change(below("my packages/bills", AFTER))
    proved.root /= "my packages/bills"
    assert proved.prove(argv=[*UNITTEST])["word"] == "proved"


def test_check_in_a_folder_of_the_project_is_proved(tmp_path: Path) -> None:
    proved = Proved(tmp_path, below("my packages/bills", BEFORE))
    proved.declare(UNITTEST, directory="my packages/bills")
    proved.change(below("my packages/bills", AFTER))
    proven = proved.prove()
    assert (proven["word"], proven["names"]) == ("proved", ("test_bills.BillTest.test_halves",))


def test_shallow_clone_proves_from_what_it_has(tmp_path: Path) -> None:
    origin = Proved(tmp_path, BEFORE)
    origin.change({"README.md": "Bills.\n"})
    commit(origin.root)
    clone = tmp_path / "clone"
    run_git(tmp_path, "clone", "-q", "--depth", "1", f"file://{origin.root}", str(clone))
    origin.root = clone
    origin.change(AFTER)
    assert origin.prove(argv=[*UNITTEST])["word"] == "proved"
    refused = origin.ask(argv=[*UNITTEST], base="HEAD~1")
    assert isinstance(refused, Failure)
    assert refused.hint == "Fetch it with git fetch, or name another one with --base."


def test_changed_submodule_is_named(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Proved(tmp_path / "other", {"lib.py": "A = 1\n"})
    proved = Proved(tmp_path, BEFORE)
    run_git(proved.root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "lib")
    commit(proved.root)
    write(proved.root, "lib/lib.py", "A = 2\n")
    proved.change(AFTER)
    proven = proved.prove(argv=[*UNITTEST])
    assert proven["word"] == "proved"
    assert "submodules are not in a copy: lib" in proven["remarks"]


def test_branch_without_a_default_branch_asks_for_a_base(tmp_path: Path) -> None:
    proved = Proved(tmp_path, BEFORE)
    run_git(proved.root, "branch", "-m", "trunk")
    proved.change(AFTER)
    proven = proved.prove(argv=[*UNITTEST])
    assert proven["reason"].endswith("(origin/HEAD, main or master); name the start with --base")
    assert proved.prove(argv=[*UNITTEST], base="HEAD")["word"] == "proved"


def test_program_that_is_missing_is_named(tmp_path: Path) -> None:
    proved = Proved(tmp_path, BEFORE)
    proved.change(AFTER)
    reason = proved.prove(argv=["no-such-runner", "-q"])["reason"]
    assert reason == 'the check did not start: there is no program "no-such-runner" on PATH'


def test_in_place_proves_and_brings_the_files_back(tmp_path: Path) -> None:
    proved = Proved(tmp_path, BEFORE)
    proved.change({**AFTER, ".gitignore": "__pycache__\n"})
    commit(proved.root)
    proven = proved.prove(argv=[*UNITTEST], base="HEAD~1", inPlace=True)
    assert (proven["word"], proven["isolation"]) == ("proved", "in_place")
    assert (proved.root / "bills.py").read_text(encoding="utf-8") == FIXED
    left = subprocess.run(
        ["git", "status", "--porcelain"], cwd=proved.root, capture_output=True, check=True, encoding="utf-8"
    )
    assert left.stdout == ""


def test_link_that_a_check_needs_is_in_its_copy(tmp_path: Path) -> None:
    proved = Proved(tmp_path, {**BEFORE, ".gitignore": "model\n"})
    reads = AFTER | {"bills.py": f"MODEL = open('model').read()\n{FIXED}"}
    write(proved.root, "model", "held\n")
    proved.declare(UNITTEST, links=["model"])
    proved.change(reads)
    assert proved.prove()["word"] == "proved"


def test_variable_that_a_check_inherits_is_in_its_copy(tmp_path: Path) -> None:
    proved = Proved(tmp_path, BEFORE)
    proved.declare(UNITTEST, inherits=["BILLS_URL"])
    proved.change(AFTER | {"bills.py": f"import os\nos.environ['BILLS_URL']\n{FIXED}"})
    assert proved.prove({"BILLS_URL": "here"})["word"] == "proved"


def begin_proof(tool: Tool, mark: Path) -> subprocess.Popen[bytes]:
    """A proof whose check says its process id and does not end."""
    root = Path(tool.project)
    run_git(root, "init", "-q", "-b", "main")
    write(root, "bills.py", FIXED)
    commit(root)
    write(root, "bills.py", NEW_TEST)
    started = subprocess.Popen(
        [*tool.command, "prove", "--", "sh", "-c", f"echo $$ > {mark}; touch left; sleep 300"],
        cwd=tool.project,
        env=tool.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: mark.exists() and mark.read_text(encoding="utf-8").endswith("\n"))
    return started


def test_signal_ends_the_proof_and_its_check(tmp_path: Path) -> None:
    tool = Tool(str(tmp_path))
    started = begin_proof(tool, tmp_path / "began")
    started.send_signal(signal.SIGINT)
    out, _ = started.communicate(timeout=60)
    assert started.returncode == 130
    assert b"The proof was stopped; nothing in the project was changed." in out


def test_killed_proof_leaves_only_its_cache(tmp_path: Path) -> None:
    tool = Tool(str(tmp_path))
    began = tmp_path / "began"
    started = begin_proof(tool, began)
    before = picture(Path(tool.project))

    beside = subprocess.run(
        [*tool.command, "prove", "--json", "--", "sh", "-c", "test ! -e left"],
        cwd=tool.project,
        env=tool.environment,
        capture_output=True,
        check=False,
    )
    started.kill()
    started.communicate(timeout=60)

    assert json.loads(beside.stdout)["data"]["word"] not in ("fails", "not_tried"), beside.stdout
    wait_for(lambda: not is_alive(int(began.read_text(encoding="utf-8"))))
    assert picture(Path(tool.project)) == before
    left = {path.relative_to(tmp_path).parts for path in tmp_path.rglob("left")}
    assert all("trials" in parts for parts in left), left


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(is_there: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_there():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")
