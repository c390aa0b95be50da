"""No single number: what each claim of a run is worth, through which door, and what only the agent says."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.engine.events import Claim
from handrail.host.worktree.local_worktree import LocalWorktree
from handrail.operations.checks.note_command import NoteCommand, note_command
from handrail.ports.worktree import Unseen
from handrail.projections.closing import ALL_CHECKED
from handrail.projections.doubts import ALL_RAN, NO_TEST_COUNTED
from handrail.projections.evidence import PROOF, describe_level, is_proven, worth_of
from tests.cases import every_case
from tests.journeys.doors import command, worth
from tests.journeys.given_workflows import step
from tests.journeys.test_until_the_end import (
    CHANGE,
    RIGHT,
    TESTS,
    Site,
    changed,
    do_honest_change,
    site,
    verified,
)
from tests.journeys.test_what_counts import LOOP

__all__ = ["site"]
DECISION = {"kind": "wr.loop_control", "loopId": "fix", "decision": "stop", "reason": "Nothing is left."}


def claims_of(site: Site, reply: dict[str, Any]) -> list[dict[str, Any]]:
    _, shown = command(site.runtime, "session", "show", reply["session"]["sessionId"], "--mvi", "full")
    found: list[dict[str, Any]] = shown["data"]["runs"][0]["claims"]
    return found


@pytest.mark.promise("evidence.worth")
@pytest.mark.parametrize(
    ("declared", "said"), [(True, f"what ran: {TESTS}, which {NO_TEST_COUNTED}"), (False, ALL_RAN)]
)
def test_an_honest_green_run_ends_with_everything_checked_and_says_on_which_files(
    site: Site, declared: bool, said: str
) -> None:
    if declared:
        site.declare(tests={"command": TESTS.split()})
    site.begin()
    do_honest_change(site)
    done = site.send(verified())

    assert worth(done) == {"ran": 1, "seen": 1, "exists": 1}
    assert done["closing"].endswith(f"; {said}.")
    rows = {one["text"]: one for one in claims_of(site, done)}
    assert (rows[TESTS]["level"], rows[TESTS]["door"]) == ("ran", "handrail")
    assert (rows["src/bill.py"]["level"], rows["src/bill.py"]["door"]) == ("seen", "handrail")
    assert rows["src/bill.py"]["on"] == rows[TESTS]["on"] != ""


SHOWN = "grep -q 42 src/bill.py"
REPRODUCED = {
    "kind": "wr.reproduction",
    "command": SHOWN,
    "exitCode": 1,
    "expected": "It is there.",
    "actual": "It is not.",
    "happens": "always",
}


@pytest.mark.promise("evidence.worth")
@pytest.mark.parametrize("is_repeated", [False, True])
def test_a_failure_that_was_shown_is_told_until_the_same_line_passes(site: Site, is_repeated: bool) -> None:
    site.declare(tests={"command": TESTS.split()})
    site.begin(
        step("reproduce", output={"contractRef": "wr.contracts.reproduction"}), step("change", **CHANGE)
    )
    site.run(*SHOWN.split())
    assert site.send(REPRODUCED)["kind"] == "ok"
    site.write("src/bill.py", RIGHT.replace("2)", "2)  # 42"))
    site.run(*TESTS.split())
    if is_repeated:
        site.run(*SHOWN.split())

    done = site.send(changed("src/bill.py"))

    assert (f"failed, and did not pass since: `{SHOWN}`" in done["closing"]) is not is_repeated
    assert NO_TEST_COUNTED in done["closing"]


@pytest.mark.promise("evidence.doors")
def test_a_claim_says_whose_word_its_result_is_and_the_stronger_one_stands(site: Site) -> None:
    site.begin(step("change", **CHANGE))
    site.write("src/bill.py", RIGHT)
    told = NoteCommand(argv=[TESTS], status=0, directory=str(site.root))
    note_command(site.runtime, told)
    by_hook = site.send(changed("src/bill.py"))
    site.begin(step("change", **CHANGE))
    site.write("src/bill.py", RIGHT + "\n")
    note_command(site.runtime, told)
    site.run(*TESTS.split())
    by_both = site.send(changed("src/bill.py"))

    doors = [
        [(one["level"], one["door"]) for one in claims_of(site, done) if one["text"] == TESTS]
        for done in (by_hook, by_both)
    ]

    assert doors == [[("ran", "hook")], [("ran", "handrail")]]


@pytest.mark.promise("evidence.first-look")
def test_the_closing_line_of_a_run_tells_that_nobody_looked_at_its_start(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as hidden:
        hidden.setattr(LocalWorktree, "take_tree", lambda *_: Unseen(reason="not today"))
        site.is_hidden = True
        begun = site.begin(step("plan"), step("change", **CHANGE))
    site.send()
    site.write("src/bill.py", RIGHT)

    done = site.send(changed("src/bill.py"))

    assert "FIRST_LOOK_MISSING" in [one["code"] for one in begun["warnings"]]
    assert "the files of its start were not recorded" in done["closing"]
    assert ALL_CHECKED not in done["closing"]


@pytest.mark.promise("evidence.first-look")
def test_who_works_without_a_repository_is_told_at_the_start_and_at_the_end_that_nobody_looks(
    site: Site,
) -> None:
    shutil.rmtree(site.root / ".git")

    begun = site.begin(step("plan"), step("change", **CHANGE))
    site.send()
    site.write("src/bill.py", RIGHT)
    site.send(changed("src/bill.py"))
    done = site.reply if site.reply["kind"] == "ok" else site.send(changed("src/bill.py"))
    noted = site.begin(step("tell"))

    (told,) = [one for one in begun["warnings"] if one["code"] == "FIRST_LOOK_MISSING"]
    assert "of this run: there is no git repository here. What" in told["message"]
    assert "the user can set code.snapshots to always" in told["message"]
    assert "(nobody looked at the files)" in done["closing"]
    assert "FIRST_LOOK_MISSING" not in [one["code"] for one in noted["warnings"]]


@pytest.mark.promise("evidence.worth")
def test_the_closing_line_names_five_things_of_the_agents_word_and_what_would_show_them(site: Site) -> None:
    commands = [f"pytest -q {number} tests/test_of_a_long_name.py --no-header" for number in range(7)]
    site.begin(step("change", **CHANGE))
    site.write("src/bill.py", RIGHT)
    body = changed("src/bill.py")
    checks = [body["checks"][0] | {"command": line} for line in commands]

    done = site.send(body | {"checks": checks})

    assert worth(done) == {"seen": 1, "claimed": 7}
    told = done["closing"].partition("only the agent's word: ")[2]
    assert told.count("pytest -q") == 5
    assert told.endswith(" (a check that Handrail runs would show it) and 2 more.")
    spent = (estimate_tokens(done["closing"]) or 0) + (estimate_tokens(done["evidence"]) or 0)
    assert spent <= 120 + 20  # twenty for what the line says without evidence


@pytest.mark.promise("evidence.nothing-ran")
def test_the_closing_line_tells_that_fewer_tests_ran_than_at_the_start(site: Site) -> None:
    site.declare(tests={"command": ["cat", "said"], "report": {"path": "-", "format": "tap"}})
    site.write("said", "1..2\nok 1\nok 2\n")
    site.begin(step("change", **CHANGE))
    site.run_declared("tests")
    site.write("said", "1..1\nok 1\n")
    site.run_declared("tests")

    done = site.send(changed("said", check="tests"))

    assert "; `tests`: 1 test ran, 2 at the start of the run." in done["closing"]
    assert ALL_CHECKED not in done["closing"]


@pytest.mark.promise("evidence.worth")
def test_a_decision_that_steers_the_run_claims_nothing(site: Site) -> None:
    site.begin(LOOP, step("tell"))
    site.send(DECISION)

    done = site.send()

    assert not done.get("evidence")
    assert claims_of(site, done) == []


@pytest.mark.promise("evidence.worth")
@every_case(
    ("claim", "word"),
    [
        (Claim(pointer="/a", check="ran", level="ran", fact="exit 0"), "ran"),
        (Claim(pointer="/a", check="changed_in_run", level="observed"), "seen"),
        (Claim(pointer="/a", check="path_exists", level="observed"), "exists"),
        (Claim(pointer="/a", check="place_exists", level="observed"), "exists"),
        (Claim(pointer="/", check="person", level="confirmed"), "confirmed"),
        (Claim(pointer="/a", check="ran", verdict="missing"), "claimed"),
        (Claim(pointer="/a", check="place_exists", level="observed", verdict="unknown"), "claimed"),
        (Claim(pointer="/a", check="ran", level="observed", verdict="contradicted"), "contradicted"),
        (Claim(pointer="/a", check="ran", level="ran", verdict="stale"), "stale"),
    ],
)
def test_a_claim_counts_once_under_the_word_that_it_is_worth(claim: Claim, word: str) -> None:
    assert worth_of(claim) == word
    assert is_proven({word: 1}) == (word in PROOF)
    assert "verified" not in describe_level(claim)
