"""What keeping the files of every step adds to an advance, beside one without, in the same rounds.

Run with `python bench/snapshots.py [--json] [--files 100,10000] [--rounds 24] [--changed 5] [--page FILE]`.
Each size is a git repository of its own. Before every advance as many files change as `--changed` says.
Processor time is that of this process and of the git that it starts; a server spends it after the reply.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from random import shuffle
from typing import Any, Literal

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from msgspec.structs import replace

from bench.generated_page import rewrite
from bench.walks import Walk, write_workflow
from handrail.operations.kept_trees import SERVER_SECONDS, take_due_tree
from handrail.runtime.runtime import TreeDue
from handrail.wiring import build_runtime

SIZES = (100, 10_000)
_OLD = 1_000_000_000
Setting = Literal["off", "git"]
SETTINGS: tuple[Setting, ...] = ("off", "git")


class Work:
    """A session in a home of its own, with or without the files of its steps."""

    def __init__(self, folder: str, project: str, setting: Setting) -> None:
        self._home = os.path.join(folder, f"home-{setting}")
        os.makedirs(self._home)
        with open(os.path.join(self._home, "config.json"), "w", encoding="utf-8") as file:
            json.dump({"code": {"snapshots": setting}}, file)
        self._due: list[TreeDue] = []
        environment = {**os.environ, "HANDRAIL_PROJECT": project}
        self._runtime = replace(build_runtime(environment, home=self._home), trees_due=self._due)
        self._walk = Walk(self._runtime, project, setting)
        self._take()
        self.reply_ms: list[float] = []
        self.after_ms: list[float] = []
        self.grown: list[int] = []

    def advance(self) -> None:
        """One step, measured up to its reply and after it."""
        self._walk.make_ready()
        self._take()
        before = self._size()
        began = _processor_ms()
        self._walk.advance()
        replied = _processor_ms()
        self._take()
        self.after_ms.append(_processor_ms() - replied)
        self.reply_ms.append(replied - began)
        self.grown.append(self._size() - before)

    def _take(self) -> None:
        for due in self._due:
            assert take_due_tree(self._runtime, due, SERVER_SECONDS) == ""
        self._due.clear()

    def _size(self) -> int:
        """Bytes of the log and of what it pins."""
        return sum(
            os.path.getsize(os.path.join(folder, name))
            for part in ("sessions", "blobs")
            for folder, _, names in os.walk(os.path.join(self._home, "data", part))
            for name in names
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--files", default=",".join(map(str, SIZES)))
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--changed", type=int, default=5)
    parser.add_argument("--page", default="")
    asked = parser.parse_args(arguments)
    sizes = [int(size) for size in asked.files.split(",")]
    report = {str(size): measure(size, asked.rounds, asked.changed) for size in sizes}
    rewrite(["--page", asked.page] if asked.page else [], "snapshots.py", make_table(report))
    print(json.dumps(report, indent=1) if asked.json else "\n".join(describe(report)))
    return 0


def measure(size: int, rounds: int, changed: int) -> dict[str, Any]:
    """Medians per advance, without and with the files of the step."""
    folder = tempfile.mkdtemp(prefix="snapshots-")
    try:
        project = os.path.join(folder, "project")
        write_workflow(project)
        make_repository(project, size)
        works = {setting: Work(folder, project, setting) for setting in SETTINGS}
        for number in range(rounds):
            _change(project, number, changed)
            order = list(works.values())
            shuffle(order)
            for work in order:
                work.advance()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = {
        setting: {
            "reply ms": round(statistics.median(work.reply_ms), 2),
            "after it ms": round(statistics.median(work.after_ms), 2),
            "bytes per node": int(statistics.median(work.grown)),
        }
        for setting, work in works.items()
    }
    without, kept = found["off"], found["git"]
    total = kept["reply ms"] + kept["after it ms"]
    return {
        "without": without,
        "with": kept,
        "ratios": {
            "reply": round(kept["reply ms"] / without["reply ms"], 2),
            "reply and after it": round(total / without["reply ms"], 2),
            "bytes": round(kept["bytes per node"] / without["bytes per node"], 2),
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


def _git(project: str, *words: str) -> None:
    subprocess.run(["git", "-C", project, *words], check=True, capture_output=True)


def _change(project: str, number: int, changed: int) -> None:
    for at in range(changed):
        path = os.path.join(project, "part0", f"file{(number + at) % 100}.py")
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"changed_{number} = True\n")


def _processor_ms() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (time.process_time() + children.ru_utime + children.ru_stime)


def make_table(report: dict[str, Any]) -> str:
    lines = [
        "| files | reply without snapshots, ms | with them, ms | after the reply, ms | bytes per step |",
        "|---|---|---|---|---|",
    ]
    for size, found in report.items():
        without, kept = found["without"], found["with"]
        lines.append(
            f"| {int(size):,} | {without['reply ms']:.1f} | {kept['reply ms']:.1f} |"
            f" {kept['after it ms']:.1f} | {kept['bytes per node']:,} |".replace(",", " ")
        )
    return "\n".join(lines) + "\n"


def describe(report: dict[str, Any]) -> list[str]:
    lines = []
    for size, found in report.items():
        lines.append(f"{size} files")
        for name in ("without", "with"):
            facts = ", ".join(f"{what} {value}" for what, value in found[name].items())
            lines.append(f"  {name:<8} {facts}")
        lines.append("  ratios   " + ", ".join(f"{what} {value}" for what, value in found["ratios"].items()))
    return lines


if __name__ == "__main__":
    sys.exit(main())
