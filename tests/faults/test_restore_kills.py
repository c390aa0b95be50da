"""kill -9 at every change that `code restore` makes to the disk: each file is old or new."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 280

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


def test_killed_restore_is_finished_by_the_next_call(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.restorer", str(tmp_path)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=SECONDS, check=False)

    assert done.returncode == 0, done.stderr.decode()
    report: dict[str, Any] = json.loads(done.stdout)
    print(report)
    assert report["problems"] == []
    assert report["changes"] > 60
    assert report["writes"] > 10
    assert 20 < report["unfinished"] < report["changes"]
