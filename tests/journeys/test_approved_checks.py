"""Checks that a person approved, and what that approval covers."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Failure
from handrail.host.checks import LocalKnownChecks
from handrail.host.program.client_files import LocalClientFiles
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import step
from tests.journeys.interfaces import command, events_of, of_kind
from tests.journeys.test_confirmations import at_console
from tests.journeys.test_console_forms import send, show, tag_of
from tests.journeys.workplace import TESTS, Site

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

DECLARED = {"command": TESTS.split()}
NEEDED = step("check", evidence={"check": "tests"})


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.declare(tests=DECLARED)
    return site


def approve(site: Site, **params: Any) -> dict[str, Any]:
    return answer(seat(site.runtime, Person("y")), "check.approve", **params)


def receipts(site: Site) -> list[dict[str, Any]]:
    return [event["data"] for event in of_kind(events_of(site.runtime, site.reply), "receipt_recorded")]


def is_approved(runtime: Runtime) -> bool:
    (row,) = answer(runtime, "check.list")["items"]
    return bool(row["isApproved"])


# The yes


def test_approval_of_a_declaration_says_what_it_means(site: Site) -> None:
    person = Person("y")

    told = answer(seat(site.runtime, person), "check.approve", name="tests")
    again = answer(site.runtime, "check.approve", name="tests")

    assert "runs with your rights and without asking" in person.shown[0]
    assert f"tests: {TESTS} (in ., at most 600 s)" in person.shown[0]
    assert (told["source"], told["is_new"], told["checks"][0]["is_approved"]) == ("terminal", True, True)
    assert again["is_new"] is False
    assert is_approved(site.runtime)
    held = json.loads((site.home / "approved-checks.json").read_text(encoding="utf-8"))
    assert [(one["check"], one["project"]) for one in held["approved"]] == [("tests", str(site.root))]


def test_a_person_is_shown_the_whole_of_what_they_approve(site: Site) -> None:
    script = f"grep total src/bill.py{' ' * 700};\ttouch PWNED; {'exit 0; ' * 30}touch LAST\u200b"
    site.declare(
        tests={"command": ["sh", "-c", script, *("more",) * 37], "environment": {"A": "1", "B": "2"}}
    )
    person = Person("n")

    perform(seat(site.runtime, person), "check.approve", {"name": "tests"})
    (row,) = answer(site.runtime, "check.list")["items"]

    for shown in (person.shown[0], row["line"]):
        assert "grep total src/bill.py (700 blanks) ;\\ttouch PWNED; exit 0; " in shown
        assert "touch LAST\\u200b' " + " ".join(["more"] * 37) in shown


def test_nobody_else_approves(site: Site) -> None:
    status, document = command(site.runtime, "check", "approve", "tests")
    declined = perform(seat(site.runtime, Person("n")), "check.approve", {"name": "tests"})
    unseen = perform(at_console(site.runtime), "check.approve", {"name": "tests"})
    other = perform(at_console(site.runtime), "check.approve", {"name": "tests", "digest": "sha256:00"})

    assert (status, document["error"]["code"]) == (9, "E_HUMAN_REQUIRED")
    codes = [one.kind.code for one in (declined, unseen, other) if isinstance(one, Failure)]
    assert codes == ["E_HUMAN_REQUIRED", "E_CONFLICT", "E_CONFLICT"]
    assert not is_approved(site.runtime)
    (row,) = answer(site.runtime, "check.list")["items"]
    assert answer(at_console(site.runtime), "check.approve", name="tests", digest=row["digest"])["is_new"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "change",
    [
        {"command": ["true"]},
        {"directory": "src"},
        {"timeoutSeconds": 30},
        {"report": {"path": "report.xml"}},
        {"environment": {"PYTEST_ADDOPTS": "--collect-only"}},
    ],
)
def test_another_declaration_is_not_approved(site: Site, change: dict[str, Any]) -> None:
    approve(site)

    site.declare(tests=DECLARED | change)
    assert not is_approved(site.runtime)

    site.declare(tests=DECLARED | {"description": "Only words."})
    assert is_approved(site.runtime)


def test_approval_is_of_one_project_and_a_file_of_one_owner(site: Site, tmp_path: Path) -> None:
    approve(site)
    held = site.home / "approved-checks.json"
    (digest,) = (row["digest"] for row in answer(site.runtime, "check.list")["items"])
    known = LocalKnownChecks(str(site.home))

    assert known.find(str(site.root), digest).is_approved
    assert not known.find(str(tmp_path), digest).is_approved
    held.chmod(0o622)
    assert not known.find(str(site.root), digest).is_approved
    held.chmod(0o600)
    held.rename(site.root / "mine.json")
    held.symlink_to(site.root / "mine.json")
    assert not known.find(str(site.root), digest).is_approved


def test_an_approval_is_taken_back_without_a_question(site: Site) -> None:
    approve(site)

    assert answer(site.runtime, "check.approve", withdraw=True)["is_new"] is True
    assert not is_approved(site.runtime)


STEERED = {
    "command": [sys.executable, "-c", "import os; print(os.environ.get('NODE_OPTIONS'), os.environ['MODE'])"],
    "environment": {"NODE_OPTIONS": "--test-only", "MODE": "fast"},
}


def test_what_a_declaration_sets_is_shown_and_reaches_the_check(site: Site) -> None:
    site.declare(tests=STEERED)
    person = Person("y")

    answer(seat(site.runtime, person), "check.approve")
    site.begin()
    site.run_declared("tests")

    assert "tests: MODE=fast NODE_OPTIONS=--test-only " in person.shown[0]
    (ran,) = receipts(site)
    assert "--test-only fast" in json.dumps(ran)


@pytest.mark.parametrize("variables", [{}, {"MODE": "none"}, {"MODE": "fast", "PYTHONPATH": "fakes"}])
def test_a_run_keeps_to_the_environment_of_its_start(site: Site, variables: dict[str, str]) -> None:
    site.declare(tests=DECLARED | {"environment": {"MODE": "fast"}})
    site.begin()

    site.declare(tests=DECLARED | {"environment": variables})
    refused = perform(site.runtime, "check.run", {"name": "tests", "stateToken": site.reply["stateToken"]})

    assert isinstance(refused, Failure)
    assert refused.kind.code == "VALIDATION_ERROR"
    assert "declared differently since the run began" in refused.message
    assert receipts(site) == []


@pytest.mark.parametrize("name", ["HANDRAIL_HOME", "AI_NATIVE_CLI_SECRET", "1X", "A B", ""])
def test_declaration_sets_no_variable_of_handrail(site: Site, name: str) -> None:
    site.declare(tests=DECLARED | {"environment": {name: "x"}})

    refused = perform(site.runtime, "check.list", {})

    assert isinstance(refused, Failure)
    assert (refused.kind.code, "environment" in refused.message) == ("E_CONFIG", True)


def test_console_asks_the_same_about_what_its_page_showed(site: Site) -> None:
    site.declare(tests=DECLARED | {"environment": {"MODE": "fast"}})
    page = show(site.runtime, "/settings")
    form = tag_of(page, "check.approve")
    site.declare(tests=DECLARED | {"environment": {"MODE": "slow"}})

    (stale,) = send(site.runtime, form)
    is_approved_by_it = is_approved(site.runtime)
    (approved,) = send(site.runtime, tag_of(show(site.runtime, "/settings"), "check.approve"))
    after = show(site.runtime, "/settings")

    assert f"MODE=fast {TESTS}" in page.markup
    assert "without asking" in page.markup
    assert isinstance(stale, Failure)
    assert (stale.kind.code, is_approved_by_it) == ("E_CONFLICT", False)
    assert not isinstance(approved, Failure)
    assert is_approved(site.runtime)
    assert "Handrail runs it" in after.markup
    send(site.runtime, tag_of(after, "check.approve"))
    assert not is_approved(site.runtime)


@pytest.mark.parametrize(("typed", "is_yes"), [("y", True), ("n", False)])
def test_who_sets_up_checks_at_a_terminal_is_asked_there(site: Site, typed: str, *, is_yes: bool) -> None:
    person = Person(typed)
    files = LocalClientFiles(str(site.home), {"HOME": str(site.home), "PATH": ""})
    runtime = msgspec.structs.replace(seat(site.runtime, person), clients=lambda: files)
    plan = answer(runtime, "clients.setup", checks=True, dryRun=True)

    done = answer(runtime, "clients.setup", checks=True, confirm=plan["confirm_token"])

    assert "runs with your rights and without asking" in person.shown[0]
    assert is_approved(runtime) == is_yes
    assert any("handrail check approve" in step for step in done["next_steps"]) != is_yes


def test_a_declaration_with_a_secret_cannot_be_approved(site: Site) -> None:
    site.declare(tests={**DECLARED, "environment": {"API_TOKEN": "4711-very-secret"}})
    person = Person("y")

    told = perform(seat(site.runtime, person), "check.approve", {"name": "tests"})

    assert isinstance(told, Failure)
    assert 'The check "tests" in .handrail/config.json holds a secret' in told.message
    assert person.shown == []
    assert not is_approved(site.runtime)
