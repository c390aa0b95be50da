"""What a receipt says of work that was handed out: each proof stands under the name of its child."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.event_log.memory import MemoryLog
from tests.host.worktree.project import commit
from tests.journeys.conversation import answer, refusal
from tests.journeys.given_workflows import step
from tests.journeys.test_travelling_receipts import Signer, statement_of
from tests.journeys.workplace import CHANGE, RIGHT, TESTS, changed

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

PASSES = "grep -q bills README"
NEW = "src/new.py"
FAILS = "grep -q surely_not_there README"


def hand_out(signer: Signer, *names: str) -> dict[str, Any]:
    children = [{"id": name, "steps": [step("change", **CHANGE)]} for name in names]
    parts = {"id": "parts", "title": "Parts", "delegate": {"children": children}}
    return dict(signer.begin(parts, step("tell")))


def do_part(signer: Signer, waiting: dict[str, Any], place: int, path: str, *lines: str) -> None:
    """One child changes a file, runs these, and reports the last one as it ended."""
    work = waiting["children"][place]["workToken"]
    signer.reply = answer(signer.runtime, "run.continue", stateToken=work)
    signer.write(path, RIGHT)
    for line in lines:
        signer.run(*line.split())
    told = changed(
        path,
        check=lines[-1],
        status=1 if lines[-1] == FAILS else 0,
        change="added" if path == NEW else "modified",
    )
    sent = signer.send(told, worker=f"helper-{place}")
    assert sent["kind"] == "ok", sent["blockers"]


def go_on(signer: Signer, waiting: dict[str, Any]) -> None:
    now = answer(signer.runtime, "run.continue", stateToken=waiting["stateToken"])
    signer.reply = answer(signer.runtime, "run.continue", ackToken=now["ackToken"])


@pytest.mark.promise("delegation.seen")
def test_a_receipt_has_a_section_for_each_child_with_what_it_proved(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    waiting = hand_out(signer, "a", "b")
    do_part(signer, waiting, 0, "src/bill.py", TESTS)
    do_part(signer, waiting, 1, NEW, PASSES)
    go_on(signer, waiting)
    commit(signer.root)

    told = statement_of(signer.export()["content"])["predicate"]
    text = signer.export(**{"as": "markdown", "link": "https://example.org/receipts/1.json"})["content"]

    run = told["handrailRun"]
    assert run["checks"] == []
    assert [
        (one["child"], one["worker"], one["status"], [check["name"] for check in one["checks"]])
        for one in run["children"]
    ] == [("a", "helper-0", "complete", [TESTS]), ("b", "helper-1", "complete", [PASSES])]
    # The first check ran before the second child wrote its file, so it proves nothing about the commit.
    assert [one["checks"][0]["isOnCommit"] for one in run["children"]] == [False, True]
    assert (told["passedTests"], run["isClean"]) == ([f"b: {PASSES}"], True)
    assert (told["result"], run["doubts"]) == ("WARNED", ["the run is not finished"])
    assert "([signed receipt](<https://example.org/receipts/1.json>))" in text
    assert (
        "- Handed out, and what each could prove:\n  - a (complete, done by helper-0 by their own word)"
        in text
    )
    by = f"by handrail with `{shutil.which('grep')}`"
    assert f"`{TESTS}` passed (exit 0, {by}), on other files than those of the commit" in text


@pytest.mark.promise("delegation.travels")
def test_what_a_child_ran_travels_in_a_bundle_and_is_nobodys_proof_there(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    waiting = hand_out(signer, "a", "b")
    do_part(signer, waiting, 0, "src/bill.py", TESTS)
    written = answer(signer.runtime, "session.export", sessionId=waiting["session"]["sessionId"])

    signer.runtime = msgspec.structs.replace(signer.runtime, log=MemoryLog())
    bundle = {"source": "bundle.json", "text": json.dumps(written["content"])}
    plan = answer(signer.runtime, "session.import", bundle=bundle, dryRun=True)
    taken = answer(signer.runtime, "session.import", bundle=bundle, confirm=plan["confirm_token"])
    (found,) = answer(signer.runtime, "session.resume", query=taken["session_id"])["items"]
    do_part(signer, found, 1, NEW, PASSES)
    go_on(signer, {"stateToken": found["nextCall"]["params"]["stateToken"]})
    commit(signer.root)

    run = statement_of(signer.export()["content"])["predicate"]["handrailRun"]
    report = answer(signer.runtime, "session.export", **{"sessionId": taken["session_id"], "as": "markdown"})[
        "content"
    ]
    assert [(one["child"], [check["name"] for check in one["checks"]]) for one in run["children"]] == [
        ("a", []),
        ("b", [PASSES]),
    ]
    assert TESTS in report
    assert "another store" in report


@pytest.mark.promise("delegation.seen")
def test_a_check_that_failed_in_a_child_fails_the_receipt_until_the_run_repeats_it(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    waiting = hand_out(signer, "a")
    do_part(signer, waiting, 0, "src/bill.py", FAILS)
    go_on(signer, waiting)
    commit(signer.root)
    before = statement_of(signer.export()["content"])["predicate"]

    signer.write("README", "surely_not_there bills\n")
    commit(signer.root)
    signer.declare(readme={"command": FAILS.split()})
    signer.run(*FAILS.split())
    after = statement_of(signer.export()["content"])["predicate"]

    assert (before["result"], before["failedTests"]) == ("FAILED", [f"a: {FAILS}"])
    assert after["handrailRun"]["children"][0]["checks"][0]["hasPassed"] is False
    assert f"a: {FAILS}" not in after["passedTests"]


@pytest.mark.promise("receipt.travels")
@pytest.mark.parametrize("link", ["javascript:alert(1)", "a b", "<x>", "https://", "x" * 501])
def test_a_link_of_a_receipt_is_an_address_or_a_path(tmp_path: Path, link: str) -> None:
    signer = Signer(tmp_path)

    refused = refusal(signer.runtime, "receipt.export", **{"as": "markdown", "link": link})

    assert refused.details["problems"][0]["param"] == "link"


@pytest.mark.promise("receipt.travels")
def test_a_link_without_markdown_is_refused(tmp_path: Path) -> None:
    refused = refusal(Signer(tmp_path).runtime, "receipt.export", link="receipt.json")

    assert refused.message == "link: only Markdown has a link."
