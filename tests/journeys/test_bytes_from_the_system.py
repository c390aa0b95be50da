"""Directories, users and branches that are not UTF-8, in a locale that is not either: no call breaks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NO_START_IN_C

ODD = b"d\xff\xc3\xa9"
"""A byte that is no UTF-8, then two that are a letter of it."""
SHOWN = "d\\xff\u00e9"
LINES: tuple[tuple[bytes, ...], ...] = (
    (b"context",),
    (b"doctor", b"--offline"),
    (b"workflow", b"list"),
    (b"workflow", b"validate", b".handrail/workflows"),
    (b"workflow", b"inspect", b"project.odd"),
    (b"session", b"list"),
    (b"session", b"resume"),
    (b"session", b"list", b"--query", "\u00fcber".encode()),
    (b"settings", b"show"),
    (b"store", b"verify"),
    (b"store", b"du"),
    (b"workflow", b"new", b"project.other", b"--dry-run"),
    (b"setup", b"--clients", b"cursor", b"--dry-run"),
    (b"hook", b"PreCompact"),
    (b"hook", b"SessionStart"),
)

Called = Callable[..., tuple[int, Any]]


@pytest.fixture(params=["C", "C.UTF-8"])
def handrail(request: pytest.FixtureRequest, tmp_path: Path) -> Called:
    if request.param == "C" and not sys.prefix.isascii():
        pytest.skip(NO_START_IN_C)
    place = os.fsencode(tmp_path) + b"/" + ODD
    os.makedirs(place + b"/.git/refs/heads")
    os.makedirs(place + b"/.handrail/workflows")
    with open(place + b"/.git/HEAD", "wb") as head:
        head.write(b"ref: refs/heads/br\xff\xc3\xbc\n")
    with open(place + b"/.git/refs/heads/br\xff\xc3\xbc", "wb") as branch:
        branch.write(b"a" * 40 + b"\n")
    step = {"id": "look", "title": "Look", "prompt": "Look around."}
    workflow = {
        "id": "project.odd",
        "name": "Odd",
        "description": "Odd.",
        "version": "1.0.0",
        "steps": [step],
    }
    with open(place + b"/.handrail/workflows/" + ODD + b".json", "wb") as file:
        file.write(json.dumps(workflow).encode())
    environment = {
        **{name: value for name, value in os.environb.items() if not name.startswith((b"HANDRAIL", b"LC_"))},
        b"LC_ALL": request.param.encode(),
        b"PYTHONUTF8": b"0",
        b"HANDRAIL_HOME": place + b"/home",
        b"HOME": place,
        b"USER": b"us\xff\xc3\xbc",
    }

    def called(*arguments: bytes) -> tuple[int, Any]:
        ran = subprocess.run(
            [os.fsencode(sys.executable), b"-P", b"-m", b"handrail.main", *arguments],
            cwd=place,
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
        text = ran.stdout.decode()
        return ran.returncode, json.loads(text) if text.startswith("{") else text

    return called


@pytest.mark.thorough
def test_run_works_where_folder_user_and_branch_are_not_utf8(handrail: Called) -> None:
    _, started = handrail(b"run", b"start", b"project.odd", b"--request-id", b"one")
    again = handrail(b"run", b"start", b"project.odd", b"--request-id", b"one")[1]
    told = {line: handrail(*line) for line in LINES}
    ack = started["data"]["ackToken"].encode()
    dry = handrail(b"run", b"continue", b"--ack", ack, b"--dry-run", b"--notes", "gr\u00fc\u00df".encode())
    status, done = handrail(b"run", b"continue", b"--ack", ack, b"--notes", "gr\u00fc\u00df".encode())

    assert started["data"]["project"].endswith(SHOWN)
    assert again["data"]["ackToken"] == started["data"]["ackToken"]
    assert {line: answer for line, answer in told.items() if answer[0] != 0} == {}
    assert dry[0] == 0
    assert (status, done["data"]["isComplete"]) == (0, True)
    context = told[(b"context",)][1]["data"]
    assert (context["account"], context["workspace"]["root"].endswith(SHOWN)) == ("us\\xff\u00fc", True)


@pytest.mark.thorough
def test_a_path_may_hold_any_bytes_and_other_words_may_not(handrail: Called, tmp_path: Path) -> None:
    session = handrail(b"run", b"start", b"project.odd", b"--request-id", b"one")[1]["data"]["session"]
    out = ODD + b"-out.json"

    written = handrail(b"session", b"export", session["sessionId"].encode(), b"--out", out)
    read = handrail(b"session", b"import", out, b"--dry-run")
    listed = handrail(b"session", b"list", b"--project", os.fsencode(tmp_path) + b"/" + ODD)
    absent = handrail(b"workflow", b"validate", b"no\xff.json")
    refused = handrail(b"run", b"start", b"project.odd", b"--request-id", b"no\xff")

    assert (written[0], read[0], listed[0]) == (0, 0, 0)
    assert os.path.exists(os.fsencode(tmp_path) + b"/" + ODD + b"/" + out)
    assert (absent[0], absent[1]["error"]["code"]) == (3, "E_NOT_FOUND")
    assert refused[0] == 2
