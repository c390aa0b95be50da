"""Looking at the files of a project, as ratios beside `git status` in the same rounds.

Run with `python bench/looking.py [--json] [--files 100,10000,50000] [--rounds 7]`. Each size is a repository
of its own with small files. Each look takes the git tree of the files, with the index that an earlier one
left. Five files are changed for the tree, which packs their contents.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench.floor import interleaved
from handrail.ports.trees import TakenTree
from handrail.ports.worktree import PlaceAsked
from handrail.worktree.git_trees import GitTrees
from handrail.worktree.local_worktree import LocalWorktree

SIZES = (100, 10_000, 50_000)
LOOKING_BOUND, TREE_BOUND = 3.0, 4.0
_CHANGED = 5
_PLACES = 20
_OLD = 1_000_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--files", default=",".join(map(str, SIZES)))
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args(arguments)
    sizes = [int(size) for size in asked.files.split(",")]
    report = {str(size): measure(size, asked.rounds) for size in sizes}
    print(json.dumps(report, indent=1) if asked.json else "\n".join(describe(report)))
    return 0


def measure(size: int, rounds: int) -> dict[str, Any]:
    """Medians in milliseconds, and the ratios to `git status`."""
    folder = tempfile.mkdtemp(prefix="looking-")
    try:
        project, home = os.path.join(folder, "project"), os.path.join(folder, "home")
        make_repository(project, size)
        environment = dict(os.environ)
        server = LocalWorktree(home, environment)
        trees = GitTrees(home, environment)
        first_ms = _time(lambda: look(trees, project))
        paths = [f"part0/file{number}.py" for number in range(_PLACES)]
        calls: dict[str, Callable[[], object]] = {
            "git status": lambda: _git(project, "status", "--porcelain"),
            "look": lambda: look(trees, project),
            "named places": lambda: server.see_places(project, [PlaceAsked(path=path) for path in paths]),
        }
        clean = {name: statistics.median(times) for name, times in interleaved(calls, rounds).items()}
        for number in range(_CHANGED):
            with open(os.path.join(project, f"part0/file{number}.py"), "a", encoding="utf-8") as file:
                file.write("changed = True\n")
        calls = {
            "git status": calls["git status"],
            "tree": lambda: take(trees, project),
        }
        changed = {name: statistics.median(times) for name, times in interleaved(calls, rounds).items()}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    beside = {**clean, "git status, changed": changed.pop("git status"), **changed}
    return {
        "ms": {"first look": round(first_ms, 1), **{name: round(ms, 2) for name, ms in beside.items()}},
        "ratios": {
            **{name: round(clean[name] / clean["git status"], 2) for name in clean if name != "git status"},
            **{name: round(ms / beside["git status, changed"], 2) for name, ms in changed.items()},
        },
    }


def make_repository(project: str, size: int) -> None:
    """One commit of small files in folders of 500, old enough to be remembered."""
    for number in range(size):
        place = os.path.join(project, f"part{number // 500}")
        os.makedirs(place, exist_ok=True)
        path = os.path.join(place, f"file{number}.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# {number}\n" + "value = 1\n" * 40)
        os.utime(path, (_OLD, _OLD))
    _git(project, "init", "-q", ".")
    _git(project, "add", "-A")
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    _git(project, *who, "commit", "-q", "-m", "files")
    time.sleep(2.1)  # what is newer than the coarsest clock is never remembered
    _git(project, "status")


def look(trees: GitTrees, project: str) -> TakenTree:
    taken = trees.take(project)
    assert isinstance(taken, TakenTree), taken
    return taken


def take(trees: GitTrees, project: str) -> None:
    taken = look(trees, project)
    packed = trees.pack_step(project, taken.tree, [f"{taken.head}^{{tree}}"])
    assert isinstance(packed, bytes), packed
    assert len(packed) > _CHANGED


def _git(project: str, *words: str) -> None:
    subprocess.run(["git", "-C", project, *words], check=True, capture_output=True)


def _time(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def describe(report: dict[str, Any]) -> list[str]:
    lines = []
    for size, found in report.items():
        lines.append(f"{size} files")
        for name, ms in found["ms"].items():
            ratio = found["ratios"].get(name)
            bound = TREE_BOUND if name.startswith("tree") else LOOKING_BOUND
            beside = "" if ratio is None else f"  {ratio:.2f} x git status, aim {bound:g}"
            lines.append(f"  {name:<24} {ms:>9.2f} ms{beside}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
