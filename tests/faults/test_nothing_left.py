"""Whole processes that get too little: a few descriptors, a little memory. Each call still has an answer."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.outcome import failure_of_defect
from tests.conformance.forked import ForkedTool, ForkServer

pytestmark = pytest.mark.thorough

SCARCE = [
    *((resource.RLIMIT_NOFILE, count) for count in (4, 5, 6, 7, 9)),
    *((resource.RLIMIT_AS, megabytes << 20) for megabytes in (26, 34, 44, 60)),
]
"""From not enough to begin with to just enough. Between, there is a band in which the interpreter itself
falls over before the program begins; it lies at 28 to 30 MB here."""


def run(home: Path, line: list[str], *limits: tuple[int, int]) -> subprocess.CompletedProcess[bytes]:
    def make_scarce() -> None:
        for kind, most in limits:
            resource.setrlimit(kind, (most, most))

    return subprocess.run(
        [sys.executable, "-P", "-m", "handrail.main", *line],
        cwd=home.parent,
        env={"PATH": os.environ["PATH"], "HANDRAIL_HOME": str(home), "LANG": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        preexec_fn=make_scarce if limits else None,
        timeout=120,
    )


def document(ran: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.parametrize(("kind", "most"), SCARCE)
def test_call_with_too_little_is_refused_and_repeatable(
    fork_server: ForkServer, tmp_path: Path, kind: int, most: int
) -> None:
    home = tmp_path / "home"
    start = ["run", "start", "wr.small_change", "--goal", "scarce", "--request-id", "scarce"]

    ran = run(home, start, (kind, most))

    assert b"Traceback" not in ran.stdout + ran.stderr
    if ran.stdout:
        told = document(ran)
        assert told["ok"] is (ran.returncode == 0)
        assert told["ok"] or told["error"]["message"]
    elif ran.returncode != -signal.SIGSEGV:  # an interpreter that fell over can say nothing
        assert ran.returncode != 0
        assert ran.stderr
    with_enough = ForkedTool(str(tmp_path), fork_server)
    with_enough.project = str(tmp_path)
    again = with_enough.data(*start)
    sessions = with_enough.data("session", "list")["items"]
    assert [session["id"] for session in sessions] == [again["session"]["sessionId"]]
    assert with_enough.run("store", "verify").status == 0


@pytest.mark.parametrize(
    ("defect", "is_memory"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (ImportError("_x.so: failed to map segment from shared object"), True),
        (ImportError("cannot import name 'x'"), False),
        (OSError(errno.EIO, "Input/output error"), False),
        (ValueError("a defect"), False),
    ],
)
def test_a_lack_of_memory_is_told_as_what_it_is(defect: Exception, is_memory: bool) -> None:
    told = failure_of_defect(defect, "abc")

    assert ("not enough memory" in told.message) is is_memory
    assert told.details == {"incident": "abc"}
