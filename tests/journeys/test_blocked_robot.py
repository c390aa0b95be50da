"""A robot does what a blocked reply says, word by word, makes the call that it names, and the run goes on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from handrail.runtime.runtime import Runtime
from tests.filled_in import PLACEHOLDER, filled_in
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import A_DECISION, WITH_DECISION, begin, rounds, step
from tests.journeys.interfaces import command
from tests.journeys.rich_session import report
from tests.journeys.test_confirmations import insist
from tests.journeys.test_one_question import SAID, at_choose, at_confirm, at_done, at_give, say_so
from tests.journeys.workplace import site

__all__ = ["site"]
Reply: TypeAlias = dict[str, Any]
Block: TypeAlias = Callable[[Runtime], Reply]
LINE = re.compile(r"`(handrail run answer [^`]*)`")
FITS = {"assessments": [{"id": "fit", "purpose": "Is it fit?", "dimensions": {"it": ["weak", "strong"]}}]}
GATED = step("judge", gates=[{"assessmentId": "fit", "followups": {"weak": "Write one test."}}])
RULED = step("tell", validation=[{"type": "contains", "value": "did it"}])
OF_PERSON = {"confirm": ("y",), "choose": ("left",), "give": ("eu", "y")}
"""What a person types who lets the run go on; of two, the second where the first is no answer."""


GIVEN = {"region": "eu", "items": ["one"]}


def decide(runtime: Runtime, reply: Reply, typed: str) -> None:
    told = answer(seat(runtime, Person(typed)), "run.answer", stateToken=reply["stateToken"])
    assert told["answer"] == ("declined" if typed == "n" else "confirmed")


def insisted(begun: Callable[..., Reply]) -> Block:
    def block(runtime: Runtime) -> Reply:
        insist(runtime)
        return say_so(runtime, begun(runtime))

    return block


def declined(begun: Callable[..., Reply]) -> Block:
    """A person said no to what was reported, and the agent sends it again."""

    def block(runtime: Runtime) -> Reply:
        blocked = insisted(begun)(runtime)
        decide(runtime, blocked, "n")
        return go_on(runtime, blocked)

    return block


def another_report(runtime: Runtime) -> Reply:
    blocked = insisted(at_confirm)(runtime)
    decide(runtime, blocked, "y")
    return report(runtime, blocked["retryAckToken"], notes="Something else.")


def another_option(runtime: Runtime) -> Reply:
    insist(runtime)
    first = at_choose(runtime)
    decide(runtime, first, "left")
    return answer(runtime, "run.continue", ackToken=first["pending"]["choices"][1]["token"])


def sent(first: Callable[[Runtime], Reply], *artifacts: Reply, notes: str = "done") -> Block:
    return lambda runtime: report(runtime, first(runtime)["ackToken"], *artifacts, notes=notes)


def with_steps(*steps: Reply, **fields: Any) -> Callable[[Runtime], Reply]:
    return lambda runtime: begin(runtime, *steps, step("go"), fields=fields)


def judged(level: str) -> Reply:
    return {"kind": "wr.assessment", "assessmentId": "fit", "dimensions": {"it": level}}


def browsing(status: str) -> Reply:
    seen = {"kind": "wr.capability_observation", "capability": "web_browsing", "summary": "Tried a page."}
    return seen | {"status": status}


BAD_DECISION = A_DECISION | {"chosen": 7}
LOOP = rounds("each", {"forEach": {"input": "items", "as": "item"}}, step("do"))
BROWSING = {"capabilities": {"web_browsing": "required"}}
BLOCKS: dict[tuple[str, str, str], Block] = {
    ("confirm", "missing", "person"): insisted(at_confirm),
    ("confirm", "declined", "person"): declined(at_confirm),
    ("confirm", "another_report", "person"): another_report,
    ("choose", "missing", "person"): insisted(at_choose),
    ("choose", "declined", "person"): declined(at_choose),
    ("choose", "invalid", ""): another_option,
    ("give", "missing", "person"): insisted(at_give),
    ("give", "declined", "person"): declined(at_done),
    ("give", "missing", ""): sent(at_give),
    ("give", "invalid", ""): sent(at_give, {"kind": "wr.user_input", "answer": 7}),
    ("give", "missing", "done"): sent(at_done),
    ("notes", "missing", ""): sent(with_steps(RULED), notes=""),
    ("notes", "invalid", ""): sent(with_steps(RULED)),
    ("output", "missing", ""): sent(with_steps(step("decide", **WITH_DECISION))),
    ("output", "invalid", ""): sent(with_steps(step("decide", **WITH_DECISION)), BAD_DECISION),
    ("output", "not_asked", ""): sent(with_steps(step("tell")), BAD_DECISION),
    ("assessment", "missing", ""): sent(with_steps(GATED, **FITS)),
    ("assessment", "invalid", ""): sent(with_steps(GATED, **FITS), judged("plenty")),
    ("assessment", "follow_up", ""): sent(with_steps(GATED, **FITS), judged("weak")),
    ("capability", "unknown", ""): sent(with_steps(step("tell"), **BROWSING), browsing("unknown")),
    ("capability", "unavailable", ""): sent(with_steps(step("tell"), **BROWSING), browsing("unavailable")),
    ("context", "missing", ""): sent(with_steps(step("tell"), LOOP, inputs={"items": {"type": "array"}})),
}


def obey(runtime: Runtime, reply: Reply) -> Reply:
    """Run each line that a fix names, as the person or the shell that it is for; then go on."""
    for blocker in reply["blockers"]:
        for line in LINE.findall(blocker["suggestedFix"]):
            person = Person(*OF_PERSON[blocker["waitsFor"]["kind"]])
            status, document = command(seat(runtime, person), *shlex.split(line)[1:])
            assert status == 0, (line, document)
    return go_on(runtime, reply)


def go_on(runtime: Runtime, reply: Reply) -> Reply:
    """The call that a reply names, with its blanks filled in; a read leads to the call that it names."""
    call = reply["nextCall"]
    offered = call.get("options", [call])[0]["params"]
    example = reply.get("example", {})
    params = filled_in(offered)
    artifacts = offered.get("output", {}).get("artifacts", [])
    if artifacts:
        params["output"]["artifacts"] = [
            example if PLACEHOLDER in one and one["kind"] == example.get("kind") else fill(one)
            for one in artifacts
        ]
    if "context" in offered:
        params["context"] = {name: GIVEN[name] for name in offered["context"]}
    following = answer(runtime, "run.continue", **params)
    return go_on(runtime, following) if "ackToken" not in params else following


def fill(artifact: Reply) -> Reply:
    levels = {"dimensions": {"it": "strong"}} if artifact["kind"] == "wr.assessment" else {}
    seen = {"status": "available"} if artifact["kind"] == "wr.capability_observation" else {}
    said = SAID if artifact["kind"] == SAID["kind"] else {}
    return filled_in(artifact) | levels | seen | said


@pytest.mark.parametrize("named", BLOCKS, ids=" ".join)
def test_the_fix_and_the_call_of_a_blocked_reply_lead_on(
    runtime: Runtime, named: tuple[str, str, str]
) -> None:
    blocked = BLOCKS[named](runtime)
    (blocker,) = blocked["blockers"]
    waits = blocker["waitsFor"]

    following = obey(runtime, blocked)

    assert (waits["kind"], waits.get("state", "missing")) == named[:2]
    assert waits.get("values", {}).get("by", "") == ("person" if named[2] == "person" else "")
    assert blocker["suggestedFix"]
    assert following["kind"] == "ok", (blocker["suggestedFix"], blocked["nextCall"], following["blockers"])
    assert following["pending"]["stepId"] != blocked["pending"]["stepId"]
