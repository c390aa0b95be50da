"""kill -9 of parents, helpers and servers: no result is lost, no child doubled, no parent goes on early.

`python -m tests.faults.handed_out HOME PROJECT SEED 500` is the whole measure.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.wiring import build_runtime
from tests.faults import handed_out

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
RUNS = 60
SECONDS = 280


def seed_of_this_run() -> int:
    """Fixed per change, random at night: HANDRAIL_FAULT_SEED may be a number or `random`."""
    asked = os.environ.get("HANDRAIL_FAULT_SEED", "20261115")
    return random.SystemRandom().randrange(2**32) if asked == "random" else int(asked)


def test_kills_of_parents_and_helpers_lose_nothing(home: str, tmp_path: Path) -> None:
    seed = seed_of_this_run()
    print(f"seed {seed}")
    command = [sys.executable, "-m", "tests.faults.handed_out", home, str(tmp_path), str(seed), str(RUNS)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=SECONDS, check=False)

    assert done.returncode == 0, done.stderr.decode()
    report: dict[str, Any] = json.loads(done.stdout)
    print(report)
    assert report["problems"] == []
    assert report["runs"] == RUNS
    assert report["kills"] > RUNS


def test_lost_result_or_other_replay_would_be_noticed(home: str, tmp_path: Path) -> None:
    handed_out.main(home, str(tmp_path), 1, 0)
    runtime = build_runtime({"HANDRAIL_HOME": home})
    scene = handed_out.Scene(number=0)
    handed_out.finish_alone(runtime, str(tmp_path), scene)
    assert handed_out.judge(runtime, scene) + handed_out.replay(home, scene) == []
    first = scene.heard[0]

    scene.heard.append(handed_out.Heard(ack=first.ack, notes="d did look", digest=first.digest))

    assert handed_out.judge(runtime, scene) == ["lost: d did look"]
    assert handed_out.replay(home, scene) == ["other bytes: d did look"]
