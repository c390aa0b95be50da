"""kill -9 in the middle of advances: every step that was acknowledged is in the log exactly once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.runtime.hub import perform
from handrail.wiring import build_runtime
from tests.faults import walker

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
KILLS = 105
SECONDS = 240


def seed_of_this_run() -> int:
    """Fixed per change, random at night: HANDRAIL_FAULT_SEED may be a number or `random`."""
    asked = os.environ.get("HANDRAIL_FAULT_SEED", "20261115")
    return random.SystemRandom().randrange(2**32) if asked == "random" else int(asked)


def walked(home: str, project: str, seed: int, kills: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.faults.walker", home, project, str(seed), str(kills)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_kills_at_random_points_of_a_run_lose_and_double_no_step(home: str, tmp_path: Path) -> None:
    seed = seed_of_this_run()
    print(f"seed {seed}")

    report = walked(home, str(tmp_path / "project"), seed, KILLS)

    print(f"{report}; with 95 % confidence fewer than {3 / KILLS:.1%} of kills do harm")
    assert report["problems"] == []
    assert report["kills"] == KILLS
    assert report["steps"] > KILLS / 2  # the children got somewhere before they died
    # Session, run, node, preferences and trace; then five events for each step.
    assert report["events"] == 5 + 5 * report["steps"]


def walk_of(home: str, project: str, steps: int) -> walker.Walk:
    """A walk of which this process itself made the first steps."""
    folder = Path(project) / ".handrail" / "workflows"
    folder.mkdir(parents=True)
    (folder / "long_walk.json").write_text(json.dumps(walker.WORKFLOW), encoding="utf-8")
    walk = walker.Walk(home, project, seed=1)
    for _ in range(steps):
        walk.heard.append(walker.advanced(walk.runtime, walk.ack(), walk.notes()))
    return walk


@pytest.fixture
def walk(home: str, tmp_path: Path) -> walker.Walk:
    return walk_of(home, str(tmp_path / "project"), 3)


def test_a_sound_walk_has_no_problems(walk: walker.Walk, home: str) -> None:
    assert walker.compare(walk) == []
    assert walker.replay(walk, home) == []


def test_a_reply_whose_step_is_not_in_the_log_would_be_noticed(walk: walker.Walk) -> None:
    walk.heard.append(
        walker.Acknowledged(ack="ak1", notes="did step 9", data=walk.heard[0].data, seconds=0.0)
    )

    assert walker.compare(walk) == ["lost: did step 9", "4 replies were heard, the log has 3 steps"]


def test_a_step_that_was_recorded_twice_would_be_noticed(walk: walker.Walk, home: str) -> None:
    """A fresh ack for an old step and the same notes: what a doubled call would look like."""
    runtime = build_runtime({"HANDRAIL_HOME": home})
    state = json.loads(bytes(walk.heard[0].data))["stateToken"]
    fresh: Any = perform(runtime, "run.continue", {"stateToken": state})

    walker.advanced(runtime, fresh.data["ackToken"], "did step 1")

    assert walker.compare(walk) == ["2 times: did step 1", "3 replies were heard, the log has 4 steps"]


def test_a_replay_with_other_bytes_would_be_noticed(walk: walker.Walk, home: str) -> None:
    first, second = walk.heard[:2]
    walk.heard[0] = walker.Acknowledged(ack=first.ack, notes=first.notes, data=second.data, seconds=0.0)

    assert walker.replay(walk, home) == ["other bytes: did step 0"]
