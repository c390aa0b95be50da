"""Measure everything that `docs/explanation/speed.md` tells, and write the page again: one command.

Run with `python bench/page.py [--try] [--only NAME,...] [--workrail DIR]` on a machine that does nothing
else; DIR is a built clone of WorkRail (`bench/workrail.py`). Each part is a bench of its own with a time of
its own, twenty minutes in all; one that fails or takes longer leaves its part of the page as it was, is
named, and makes the exit status 1. Where `uv` can fetch them, LangGraph and DBOS are installed for the parts
that measure them too. `--try` runs every part with small numbers and prints a copy of the page.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "explanation" / "speed.md"
PEERS = ("langgraph", "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "dbos")
INSTALL_S = 60


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One bench: with what it is called here, with what for a try, and how long it may take."""

    words: str
    few: str
    seconds: int
    has_peers: bool = False


PARTS = {
    "goals": Part(words="", few="--sessions 50 --rounds 3", seconds=480),
    "peers": Part(words="--rounds 100", few="--rounds 5", seconds=120, has_peers=True),
    "log": Part(
        words="--rounds 50 --nodes 10,1000,10000",
        few="--rounds 3 --nodes 10,100",
        seconds=180,
    ),
    "flat": Part(words="", few="--sessions 50 --rounds 3", seconds=120),
    "cold_start": Part(words="--rounds 25", few="", seconds=180),
    "stdio": Part(words="--rounds 5 --calls 600", few="--rounds 2 --calls 100", seconds=60),
    "team": Part(words="--rounds 200", few="--rounds 20", seconds=90, has_peers=True),
    "snapshots": Part(words="--rounds 10", few="--rounds 2 --files 100", seconds=60),
}


def main(arguments: Sequence[str]) -> int:
    """Run the parts in turn; 1 where one of them wrote nothing."""
    is_try = "--try" in arguments
    named = arguments[arguments.index("--only") + 1].split(",") if "--only" in arguments else list(PARTS)
    workrail = arguments[arguments.index("--workrail") + 1] if "--workrail" in arguments else ""
    left = []
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch, "speed.md") if is_try else PAGE
        if is_try:
            shutil.copy(PAGE, page)
        peers = find_peers()
        for name in named:
            part = PARTS[name]
            python = peers if part.has_peers else [sys.executable]
            words = (part.few if is_try else part.words).split()
            words += ["--workrail", workrail] if workrail and name == "peers" else []
            command = [*python, str(ROOT / "bench" / f"{name}.py"), *words, "--page", str(page)]
            started = time.monotonic()
            trouble = run(command, part.seconds)
            print(f"{name}: {time.monotonic() - started:.0f} of {part.seconds} s {trouble}", flush=True)
            left += [name] if trouble else []
        if is_try:
            print(page.read_text(encoding="utf-8"))
    return 1 if left else 0


def find_peers() -> list[str]:
    """The interpreter with the other stores beside us; ours where they cannot be had."""
    wanted = [word for name in PEERS for word in ("--with", name)]
    command = ["uv", "run", *wanted, "python"]
    if shutil.which("uv") and not run([*command, "-c", "import dbos, langgraph"], INSTALL_S):
        return command
    return [sys.executable]


def run(command: Sequence[str], seconds: float) -> str:
    """Why it wrote nothing; empty: it did. What it started ends with it."""
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        _, told = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 15)
        try:
            child.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.communicate()
        return "took too long"
    return "" if child.returncode == 0 else f"failed: {told.strip()[-500:]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
