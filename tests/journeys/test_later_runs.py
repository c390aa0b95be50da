"""What a report rests on is told before it and counted after it: a later check settles its gap."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.reasons import MESSAGE_BYTES
from handrail.operations.checks.run_check import RunCheck, run_check
from handrail.surfaces.cli.hook import answer_hook
from tests.host.worktree.project import commit
from tests.hostile.repository.checkout import run_git
from tests.journeys.doors import command, events_of, of_kind, worth
from tests.journeys.given_workflows import A_DECISION, NEVER_STOP, step
from tests.journeys.test_hook_receipts import CLAUDE
from tests.journeys.test_until_the_end import (
    CHANGE,
    RIGHT,
    TESTS,
    VERIFY,
    WRONG,
    Site,
    changed,
    site,
    verified,
)
from tests.journeys.test_worth import claims_of

__all__ = ["site"]
RAN = {"source": "command", "ref": TESTS, "result": "It is found.", "exitCode": 0}


def report_stale(site: Site) -> dict[str, Any]:
    """A change that is reported on other files than those that were checked: refused once, then a gap."""
    site.write("src/bill.py", RIGHT)
    site.run(*TESTS.split())
    site.write("src/bill.py", RIGHT + "# rounds\n")
    assert site.send(changed("src/bill.py"))["kind"] == "blocked"
    went_on = site.send(changed("src/bill.py"))
    (told,) = went_on["warnings"]
    assert told["code"] == "GAP_RECORDED"
    assert (
        f"-- {TESTS}`, if it passes, or a person settles it (`handrail session settle gap_" in told["message"]
    )
    return went_on


def list_gaps(site: Site) -> list[dict[str, Any]]:
    return [event["data"] for event in of_kind(events_of(site.runtime, site.reply), "gap_recorded")]


@pytest.mark.promise("gaps.settled")
@pytest.mark.parametrize("evidence", [(RAN,), ()], ids=["named again", "only run again"])
def test_a_gap_of_a_stale_check_is_settled_by_the_check(
    site: Site, evidence: tuple[dict[str, Any], ...]
) -> None:
    site.begin()
    report_stale(site)
    site.run(*TESTS.split())

    done = site.send(verified(*evidence))

    opened, settled = list_gaps(site)
    assert settled["resolvesGapId"] == opened["gapId"]
    assert settled["evidenceRefs"][0].startswith("rcp_")
    assert (done["evidence"]["stale"], done["evidence"]["ran"]) == (0, 1)
    assert "gap" not in done["closing"]
    assert "before files changed" not in done["closing"]
    shown = command(site.runtime, "session", "show", done["session"]["sessionId"])[1]["data"]["runs"][0]
    assert shown["status"] == "complete"


@pytest.mark.promise("gaps.settled")
def test_a_line_that_is_too_long_to_be_shown_settles_its_gap_too(site: Site) -> None:
    long = f"true {'ü' * 290}"
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.run(*long.split())
    site.write("src/bill.py", RIGHT + "# rounds\n")
    site.send(changed("src/bill.py", check=long))
    site.send(changed("src/bill.py", check=long))
    site.run(*long.split())

    site.send(verified())

    opened, *_, settled = list_gaps(site)
    assert len(opened["waitsFor"]["values"]["command"].encode()) > MESSAGE_BYTES
    assert settled["resolvesGapId"] == opened["gapId"]


@pytest.mark.promise("gaps.settled")
def test_a_check_that_fails_or_is_another_settles_no_gap(site: Site) -> None:
    site.begin(step("change", **CHANGE), step("tell"))
    report_stale(site)
    site.run("true")
    site.write("src/bill.py", WRONG)
    site.run(*TESTS.split())

    done = site.send()

    assert all("resolvesGapId" not in one for one in list_gaps(site))
    assert "open gap" in done["closing"]


@pytest.mark.promise("gaps.settled")
def test_a_check_that_passes_on_files_that_changed_since_settles_the_gap_too(site: Site) -> None:
    site.begin(step("one", **CHANGE), step("two", **CHANGE))
    report_stale(site)
    site.write("src/bill.py", RIGHT + "# rounds to cents\n")
    site.run(*TESTS.split())

    done = site.send(changed("src/bill.py"))

    assert worth(done) == {"ran": 1, "seen": 1}
    assert "gap" not in done["closing"]


@pytest.mark.promise("gaps.settled")
def test_a_declared_check_that_was_asked_for_settles_its_gap_where_nothing_stops(site: Site) -> None:
    site.declare(tests={"command": TESTS.split()})
    site.begin(preferences=NEVER_STOP)
    site.write("src/bill.py", RIGHT)
    site.run("true")
    site.send(changed("src/bill.py", check="true"))
    site.run_declared("tests")

    done = site.send(verified())

    opened, settled = list_gaps(site)
    assert settled["resolvesGapId"] == opened["gapId"]
    assert "gap" not in done["closing"]


@pytest.mark.promise("gaps.settled")
def test_a_list_that_leaves_nothing_out_settles_the_gap_of_one_that_did(site: Site) -> None:
    site.begin(step("one", **CHANGE), step("two", **CHANGE))
    site.write("src/bill.py", RIGHT)
    site.write("new.py", "value = 1\n")
    site.run(*TESTS.split())
    site.send(changed("src/bill.py"))
    went_on = site.send(changed("src/bill.py"))
    assert "leaves out what changed: new.py" in went_on["warnings"][0]["message"]

    done = site.send(
        changed("src/bill.py")
        | {"files": [*changed("src/bill.py")["files"], *changed("new.py", change="added")["files"]]}
    )

    opened, settled = list_gaps(site)
    assert settled["resolvesGapId"] == opened["gapId"]
    assert "gap" not in done["closing"]


@pytest.mark.promise("evidence.doors")
def test_what_an_agent_said_is_shown_by_a_run_of_the_same_line_on_the_same_files(site: Site) -> None:
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.send(changed("src/bill.py"))
    site.run(*TESTS.split())

    done = site.send(verified(RAN))

    assert worth(done) == {"ran": 1, "seen": 1}
    assert "only the agent's word" not in done["closing"]
    assert {one["door"] for one in claims_of(site, done) if one["text"] == TESTS} == {"handrail"}


@pytest.mark.promise("evidence.doors")
@pytest.mark.parametrize(("said", "told"), [(1, "contradicted"), (0, "ran")])
def test_the_stronger_word_about_the_same_files_stands(site: Site, said: int, told: str) -> None:
    site.begin(step("change", **CHANGE), step("tell", **VERIFY))
    site.write("src/bill.py", RIGHT)
    site.send(changed("src/bill.py", status=said))
    site.run(*TESTS.split())

    done = site.send(verified(RAN))

    first = [one for one in claims_of(site, done) if one["step_id"] == "change" and one["text"] == TESTS]
    assert [one["verdict"] for one in first] == ["contradicted" if said else "holds"]
    assert done["evidence"][told] == 1


@pytest.mark.promise("evidence.doors")
def test_a_red_run_that_only_the_agent_saw_is_not_shown_by_a_green_one_on_other_files(site: Site) -> None:
    site.begin(step("change", **CHANGE), step("again", **VERIFY))
    site.write("src/bill.py", WRONG)
    site.send(changed("src/bill.py", status=1))
    site.write("src/bill.py", RIGHT)
    site.run(*TESTS.split())

    done = site.send(verified(RAN))

    assert (done["evidence"]["claimed"], done["evidence"]["ran"]) == (1, 1)
    assert f"only the agent's word: {TESTS} (" in done["closing"]


@pytest.mark.promise("evidence.worth")
def test_the_sum_counts_a_file_and_a_command_once_however_often_they_are_reported(site: Site) -> None:
    site.begin(step("one", **CHANGE), step("two", **CHANGE), step("verify", **VERIFY))
    site.write("src/bill.py", RIGHT)
    site.run(*TESTS.split())
    site.send(changed("src/bill.py"))
    site.send(changed("./src/bill.py"))

    done = site.send(verified(RAN))

    assert worth(done) == {"ran": 1, "seen": 1}


@pytest.mark.promise("check.declared-counts")
@pytest.mark.parametrize(
    ("contract", "prompt", "told"),
    [
        ("changed_files", "Change it.", "Run your checks as: "),
        ("bug_fix", "Correct it.", "Run the guard before the change and after it as: "),
        ("changed_files", "Change it and run `handrail check run -- ./check.sh`.", ""),
        ("decision", "Decide.", ""),
    ],
)
def test_a_step_of_an_own_workflow_tells_the_line_that_shows_a_check_before_the_work(
    site: Site, contract: str, prompt: str, told: str
) -> None:
    asked = step("change", prompt=prompt, output={"contractRef": f"wr.contracts.{contract}"})

    first = site.begin(asked)

    line = f"{told}handrail check run --session {first['session']['sessionId']} -- COMMAND"
    assert (line in first["pending"]["prompt"]) == bool(told)
    assert ("--session" in first["pending"]["prompt"]) == bool(told)


@pytest.mark.promise("evidence.worth")
def test_the_closing_line_names_as_many_things_of_the_agents_word_as_it_counts(site: Site) -> None:
    plan = {"output": {"contractRef": "wr.contracts.decision"}}
    site.begin(step("decide", **plan), step("change", **CHANGE))
    site.send(A_DECISION)
    site.write("src/bill.py", RIGHT)

    done = site.send(changed("src/bill.py"))

    assert worth(done) == {"seen": 1, "claimed": 2}
    assert f"only the agent's word: {TESTS} (a check that Handrail runs would show it); " in done["closing"]
    assert "decision (no check is about it)." in done["closing"]


@pytest.mark.promise("receipt.where-it-ran")
def test_a_check_in_another_checkout_says_where_it_ran_and_counts_for_the_same_files(
    site: Site, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    first = site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)
    commit(site.root, "rounds")
    run_git(tmp_path, "clone", "-q", str(site.root), str(clone))
    asked = RunCheck(argv=TESTS.split(), state_token=first["stateToken"], project=str(clone))

    told = run_check(site.runtime, asked)
    here = run_check(site.runtime, RunCheck(argv=["true"], state_token=first["stateToken"]))
    site.send(changed("src/bill.py"))
    done = site.send()

    assert [one.message for one in told.notices] == [
        f"It ran in another checkout, {clone}: it counts where that has the same files."
    ]
    assert here.notices == ()
    assert done["evidence"]["ran"] == 1


# A check that ends now so, now so


def flip(site: Site) -> None:
    """A check that passes and fails in turn: what it keeps count in is no file of the project."""
    turns = shlex.quote(str(site.home / "turns"))
    site.home.mkdir(exist_ok=True)
    site.write("flip.sh", f"if test -e {turns}; then rm {turns}; exit 1; fi\n: > {turns}\n")
    commit(site.root, "flips")


@pytest.mark.promise("evidence.doors")
def test_a_flaky_check_contradicts_nobody_and_is_told_as_flaky(site: Site) -> None:
    flip(site)
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.run("sh", "flip.sh")
    site.run("sh", "flip.sh")

    refused = site.send(changed("src/bill.py", check="sh flip.sh"))
    went_on = site.send(changed("src/bill.py", check="sh flip.sh"))
    done = site.send(verified())

    told = "and exit 0 on the same files: it is flaky"
    assert (refused["blockers"][0]["code"], told in refused["blockers"][0]["message"]) == (
        "MISSING_REQUIRED_OUTPUT",
        True,
    )
    assert told in went_on["warnings"][0]["message"]
    assert done["evidence"]["contradicted"] == 0
    assert "`sh flip.sh`: exit 1, and exit 0 on the same files: it is flaky" in done["closing"]


@pytest.mark.promise("evidence.doors")
def test_a_declared_check_that_is_flaky_is_asked_for_once_where_a_verification_passes(site: Site) -> None:
    flip(site)
    site.declare(flips={"command": ["sh", "flip.sh"]})
    site.begin(step("verify", **VERIFY), preferences=NEVER_STOP)
    site.run_declared("flips")
    site.run_declared("flips")

    done = site.send(verified())

    assert done["evidence"]["contradicted"] == 0
    assert "it is flaky" in done["closing"]


@pytest.mark.promise("evidence.doors")
@pytest.mark.parametrize(
    ("is_said_first", "told"),
    [(False, "it is flaky"), (True, "`sh flip.sh`: exit 1, and exit 0 on the same files: it is flaky")],
)
def test_what_an_agent_said_of_a_flaky_check_is_no_lie_once_both_ends_were_seen(
    site: Site, is_said_first: bool, told: str
) -> None:
    flip(site)
    site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)
    if is_said_first:
        site.send(changed("src/bill.py", check="sh flip.sh"))
    for _ in range(2 if is_said_first else 3):
        site.run("sh", "flip.sh")
    if not is_said_first:
        assert site.send(changed("src/bill.py", check="sh flip.sh", status=1))["kind"] == "ok"

    done = site.send()

    assert done["evidence"]["contradicted"] == 0
    assert told in done["closing"]


@pytest.mark.promise("evidence.doors")
def test_a_program_that_could_not_start_before_is_not_flaky(site: Site) -> None:
    site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)
    site.home.mkdir(exist_ok=True)
    tool = site.home / "tool"
    site.run(str(tool))
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)
    site.run(str(tool))

    site.send(changed("src/bill.py", check=shlex.quote(str(tool))))
    done = site.send()

    assert done["evidence"]["ran"] == 1
    assert "flaky" not in site.shown()


@pytest.mark.promise("evidence.doors")
@pytest.mark.parametrize("turns", [1, 2], ids=["handrail sees it pass", "handrail sees it fail"])
def test_what_a_client_says_gives_way_to_what_handrail_sees_on_the_same_files(site: Site, turns: int) -> None:
    flip(site)
    site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)
    hook = CLAUDE | {"tool_input": {"command": "sh flip.sh"}, "cwd": str(site.root)}
    answer_hook(lambda: site.runtime, "PostToolUse", json.dumps(hook).encode(), lambda _: None)
    site.send(changed("src/bill.py", check="sh flip.sh"))
    assert {one[1] for one in site.claims()} == {"holds"}
    if turns == 2:
        (site.home / "turns").touch()
    site.run("sh", "flip.sh")

    done = site.send()

    (own,) = [one for one in claims_of(site, done) if one["text"] == "sh flip.sh"]
    if turns == 1:
        assert (own["verdict"], own["door"]) == ("holds", "handrail")
        assert "flaky" not in done["closing"]
    else:
        assert own["verdict"] == "contradicted"
        assert "and exit 0 on the same files: it is flaky, or reported wrongly" in done["closing"]
