"""A step that wants a proof: what counts for it, what stops it once, and what a person accepts."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.engine.events import ProofRecorded
from handrail.engine.judge.proofs import find_base
from handrail.engine.plans import plan_proof
from handrail.evidence.proof import Proof, ProofWord
from handrail.runtime.sessions import decide_and_commit, read_session
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import NEVER_STOP, rounds, step
from tests.journeys.interfaces import events_of, of_kind
from tests.journeys.test_confirmations import at_console
from tests.journeys.workplace import Site as Workplace

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class ProvenSite(Workplace):
    """A repository with one declared check, and proofs that are recorded as `handrail prove` does."""

    def want(self, proof: Any, **params: Any) -> dict[str, Any]:
        self.declare(tests={"command": ["true"]})
        return self.begin(step("fix", proof=proof), step("end"), **params)

    def prove(self, word: ProofWord, **fields: Any) -> Proof:
        """Record a proof of the present files at the pending node."""
        session_id = self.reply_session()
        session = read_session(self.runtime.log, session_id)
        assert session is not None
        node = max(session.history.nodes.values(), key=lambda node: node.index)
        taken = self.runtime.trees().take(str(self.root))
        base = find_base(session.history, node.node_id)
        head = getattr(taken, "tree", "")
        facts: dict[str, Any] = {"word": word, "check": "tests", "base": base, "head": head}
        proof = Proof(**facts | fields)
        plan = [plan_proof(node, ProofRecorded(node_id=node.node_id, proof=proof))]
        decide_and_commit(self.runtime, session, lambda _: lambda _: plan, by_token=False)
        return proof

    def reply_session(self) -> Any:
        if "session" in self.reply:
            self.session_id = self.reply["session"]["sessionId"]
        return self.session_id

    def gaps(self, *, is_open: bool = True) -> list[dict[str, Any]]:
        shown = answer(self.runtime, "session.show", sessionId=self.reply_session())
        return [gap for gap in shown["runs"][0]["gaps"] if gap["is_open"] == is_open]


@pytest.fixture
def site(tmp_path: Path) -> ProvenSite:
    return ProvenSite(tmp_path)


def test_prompt_names_the_wish_and_the_command(site: ProvenSite) -> None:
    first = site.want("proved")

    prompt = first["pending"]["prompt"]

    assert "This step wants PROVED" in prompt
    assert f"run: handrail prove --run {first['session']['runId']}." in prompt


def test_a_missing_proof_stops_once_and_is_then_a_gap(site: ProvenSite) -> None:
    site.want("proved")
    site.reply_session()

    blocked = site.send()
    done = site.send()

    (blocker,) = blocked["blockers"]
    assert (blocker["code"], blocker["pointer"]) == (
        "INVALID_REQUIRED_OUTPUT",
        {"kind": "workflow_step", "stepId": "fix"},
    )
    assert "The present files are not proven." in blocker["message"]
    assert (done["kind"], done["pending"]["stepId"]) == ("ok", "end")
    assert [(gap["severity"], gap["id"].endswith("_proof")) for gap in site.gaps()] == [("warning", True)]


@pytest.mark.parametrize(
    ("wants", "word"),
    [("proved", "proved"), ("kept", "kept"), ("kept", "proved"), ("passes", "unseen")],
)
def test_a_proof_that_satisfies_lets_the_run_go_on(site: ProvenSite, wants: str, word: ProofWord) -> None:
    site.want(wants)
    site.write("src/bill.py", "fixed = True\n")
    site.prove(word)

    done = site.send()

    assert (done["kind"], done["pending"]["stepId"]) == ("ok", "end")
    assert site.gaps() == []


@pytest.mark.parametrize("word", ["kept", "fails", "unseen", "flaky"])
def test_a_weaker_word_stops_once(site: ProvenSite, word: ProofWord) -> None:
    site.want("proved")
    site.reply_session()
    site.prove(word)

    assert site.send()["kind"] == "blocked"
    assert site.send()["kind"] == "ok"


def test_a_proof_of_other_files_is_stale(site: ProvenSite) -> None:
    site.want("proved")
    site.reply_session()
    site.prove("proved")
    site.write("src/bill.py", "changed = True\n")

    assert site.send()["kind"] == "blocked"


def test_what_cannot_be_tried_never_stops(site: ProvenSite) -> None:
    site.want("proved")
    site.prove("not_tried", reason="it does not run in a copy", base="", head="")

    done = site.send()

    assert done["kind"] == "ok"
    (gap,) = site.gaps()
    assert "NOT TRIED. It does not run in a copy." in gap["summary"]


def test_without_a_declared_check_the_start_says_how(site: ProvenSite) -> None:
    first = site.begin(step("fix", proof="proved"), step("end"))

    done = site.send()

    (warning,) = (one for one in first["warnings"] if one["code"] == "CHECK_NOT_DECLARED")
    assert "handrail setup --checks" in warning["message"]
    assert done["kind"] == "ok"
    (gap,) = site.gaps(is_open=False)
    assert gap["severity"] == "info"
    assert "NOT TRIED: no check is declared." in gap["summary"]


def test_a_run_without_a_proof_says_what_was_executed(site: ProvenSite) -> None:
    site.begin(step("fix", proof="proved"), step("end"))
    last = site.send()
    idle = site.send()
    true = [sys.executable, "-c", "0"]
    answer(site.runtime, "check.run", stateToken=last["stateToken"], argv=true)
    site.reply = last
    repeated = site.send()

    site.begin(step("fix", proof="proved"), step("end"))
    for status in (0, 3):
        argv = [sys.executable, "-c", f"raise SystemExit({status})"]
        answer(site.runtime, "check.run", stateToken=site.reply["stateToken"], argv=argv)
        site.send()
    busy = site.reply

    assert "NOT TRIED: no check is declared; no command was executed." in idle["closing"]
    assert repeated["closing"] == idle["closing"]
    assert (
        "NOT TRIED: no check is declared; 2 commands were executed, the last did not pass." in busy["closing"]
    )


@pytest.mark.parametrize("wants", ["proved", "passes"])
def test_rewritten_tests_are_a_gap_by_name(site: ProvenSite, wants: str) -> None:
    site.want(wants)
    site.prove("rewrote", names=("tests/test_a.py::test_b",), names_total=1)

    done = site.send()

    assert done["kind"] == "ok"
    (gap,) = site.gaps()
    assert gap["severity"] == "warning"
    assert "tests/test_a.py::test_b" in gap["summary"]


def test_a_required_proof_stops_until_a_person_accepts(site: ProvenSite) -> None:
    site.want({"wants": "proved", "demand": "required"})
    session = site.reply_session()

    kinds = [site.send()["kind"], site.send()["kind"]]
    (gap,) = site.gaps()
    answer(at_console(site.runtime), "session.resolve_gap", session=session, gap=gap["id"], note="Not here.")
    done = site.send()

    assert kinds == ["blocked", "blocked"]
    assert gap["severity"] == "critical"
    assert (done["kind"], done["pending"]["stepId"]) == ("ok", "end")


def test_a_required_proof_that_comes_later_resolves_its_gap(site: ProvenSite) -> None:
    site.want({"wants": "proved", "demand": "required"})
    site.reply_session()

    blocked = site.send()
    site.prove("proved")
    done = site.send()

    assert (blocked["kind"], done["kind"]) == ("blocked", "ok")
    assert site.gaps() == []


def test_never_stop_goes_on_with_a_critical_gap(site: ProvenSite) -> None:
    site.want({"wants": "proved", "demand": "required"}, preferences=NEVER_STOP)

    done = site.send()

    assert done["kind"] == "ok"
    assert [gap["severity"] for gap in site.gaps()] == ["critical"]


def test_base_is_the_start_of_the_round_or_of_the_run(site: ProvenSite) -> None:
    site.declare(tests={"command": ["true"]})
    decide = {"output": {"contractRef": "wr.contracts.loop_control"}}
    site.begin(rounds("again", {"while": {"kind": "loop_control"}}, step("try", proof="kept", **decide)))
    run_start = site.prove("kept").base
    site.write("src/bill.py", "round = 1\n")
    site.prove("kept")
    site.send({"kind": "wr.loop_control", "decision": "continue"})

    second = site.prove("kept")
    trees = of_kind(events_of(site.runtime, site.reply), "tree_recorded")

    assert run_start == trees[0]["data"]["gitTree"]
    assert second.base == second.head == trees[-1]["data"]["gitTree"] != run_start


def test_a_later_step_takes_over_the_proof_of_the_same_files(site: ProvenSite) -> None:
    site.declare(tests={"command": ["true"]})
    site.begin(step("fix", proof="proved"), step("tell", proof="proved"), step("end"))
    site.prove("proved")

    replies = [site.send(), site.send()]

    assert [reply["pending"]["stepId"] for reply in replies] == ["tell", "end"]
    assert site.gaps() == []


def test_one_missing_proof_is_one_gap(site: ProvenSite) -> None:
    site.declare(tests={"command": ["true"]})
    site.begin(step("fix", proof="proved"), step("tell", proof="proved"), step("end"))
    site.reply_session()

    replies = [site.send(), site.send(), site.send()]

    assert [reply["kind"] for reply in replies] == ["blocked", "ok", "ok"]
    assert len(site.gaps()) == 1


def test_one_check_that_proves_the_change_is_enough(site: ProvenSite) -> None:
    site.want("proved")
    site.prove("unseen", check="style")
    site.prove("proved", check="tests")

    assert site.send()["kind"] == "ok"


def test_a_check_that_fails_stands_for_all(site: ProvenSite) -> None:
    site.want("passes")
    site.reply_session()
    site.prove("proved", check="tests")
    site.prove("fails", check="types")

    assert "FAILS" in site.send()["blockers"][0]["message"]
