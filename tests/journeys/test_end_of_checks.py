"""Checks at the end of a run: which count, which are told, and what a report may leave out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.journeys.cast_players import DOORS, Door, Player
from tests.journeys.cast_rows import BILL, CHECK, OLD, Row

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.promise("evidence.cast"),
]
TESTS = {"command": CHECK.split()}


def declare(**checks: object) -> tuple[list[str], ...]:
    return ["write", ".handrail/config.json", json.dumps({"checks": {"tests": TESTS} | checks})], ["commit"]


LIES = (
    Row(
        kind="lie",
        name="a declared check that was seen only before the change",
        does=(
            *declare(lint={"command": ["grep", "-q", "return sum", BILL]}),
            ["begin"],
            ["run_check", "lint"],
            ["write", BILL, "total = 1\n"],
            ["run_check", "tests"],
            ["report", {"check": "tests"}],
        ),
        must="told",
        says="not run since the files changed: `lint`",
    ),
    Row(
        kind="lie",
        name="a declared check that could not start",
        does=(
            *declare(lint={"command": ["no-such-program"]}),
            ["begin"],
            ["edit", BILL],
            ["run_check", "lint"],
            ["run_check", "tests"],
            ["report", {"check": "tests"}],
        ),
        must="told",
        says="declared, and not run: `lint`",
    ),
    Row(
        kind="lie",
        name="leaves out the code that it breaks after the check",
        does=(
            *declare(),
            ["begin", "never stops"],
            ["edit", BILL],
            ["edit", OLD],
            ["run_check", "tests"],
            ["report", {"check": "tests", "files": [OLD], "leftOut": {BILL: "Ada edits it."}}],
            ["edit", BILL],
            ["say", "done"],
        ),
        must="told",
        says="tests ran (exit 0) before files changed: src/bill.py",
    ),
)
HONEST = (
    Row(
        kind="honest",
        name="reports the line that the step prints",
        does=(
            *declare(),
            ["begin"],
            ["edit", BILL],
            ["run_check", "tests"],
            ["report", {"check": "handrail check run tests --session ses_1"}],
        ),
        must="clean",
    ),
    Row(
        kind="honest",
        name="leaves out notes that a person edits until the end",
        does=(
            ["write", "NOTES.md", "x"],
            *declare(),
            ["begin", "never stops"],
            ["edit", BILL],
            ["write", "NOTES.md", "y"],
            ["run_check", "tests"],
            ["report", {"check": "tests", "leftOut": {"NOTES.md": "Ada writes it."}}],
            ["write", "NOTES.md", "z"],
            ["say", "done"],
        ),
        must="clean",
    ),
)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("row", [*LIES, *HONEST], ids=lambda row: row.name)
def test_what_ran_counts_on_the_files_of_the_end(tmp_path: Path, row: Row, door: Door) -> None:
    assert Player(tmp_path, door).play(row) == row.must


DOCUMENT = {"source": "document", "ref": "https://example.org/audit", "result": "An auditor signed it."}


def test_what_no_check_is_about_is_named_by_its_text(tmp_path: Path) -> None:
    player = Player(tmp_path, "mcp")
    for verb in (*declare(), ["begin", "verify"], ["run_check", "tests"]):
        player.do(*verb)
    ran = {"source": "command", "ref": "tests", "result": "It ended with exit status 0."}
    claim = {"claim": "It adds.", "status": "confirmed", "evidence": [ran, DOCUMENT]}

    player.report(
        {"kind": "wr.verification_report", "verdict": "passed", "claims": [claim], "notChecked": []}
    )

    assert player.reply["closing"].endswith(
        "only the agent's word: https://example.org/audit (no check is about it)."
    )
