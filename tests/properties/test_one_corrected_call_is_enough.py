"""Law: after any wrong calls, one corrected call is accepted; nothing wrong counts and nothing right is lost.

Every builtin contract and one of a project, required or not, in every way of being wrong. What is right is
decided by another library and by hand, never by the code that judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from handrail.engine.history import Node, attached_to
from handrail.workflows.builtins.contracts import CONTRACTS as BUILTIN
from handrail.workflows.compiled import ContainsRule, Gate, Loop, Step, UserOnly, While
from handrail.workflows.conditions import LoopControl
from tests.conftest import memory_runtime
from tests.engine.contracts import CONTRACTS, FINDING
from tests.engine.written_log import WrittenLog, attempt, step, work, workflow_of
from tests.journeys.conversation import answer, refusal
from tests.journeys.given_workflows import A_DECISION, WITH_DECISION, give
from tests.journeys.given_workflows import step as authored_step

Body = dict[str, Any]

HELD = {FINDING: CONTRACTS[FINDING]} | {spec.id: spec.compiled() for spec in BUILTIN}
REFS = sorted(HELD)
GATE = Gate(assessment_id="ready", purpose="Ready?", dimensions={"tests": ("none", "all")})
RULE = ContainsRule(value="seen", message="Say what you have seen.")
JUNK: list[Any] = [7, None, [], [[["deep"]]], {"a": {"b": {}}}, "x" * 5_000, True]


def good(ref: str) -> Body:
    """An artifact that the step of this contract must accept."""
    example = {"kind": HELD[ref].artifact_kind} | dict(HELD[ref].example)
    own: dict[str, Body] = {
        "wr.contracts.loop_control": {"loopId": "fix", "decision": "stop"},
        "wr.contracts.capability_observation": {"capability": "web_browsing", "status": "available"},
        "wr.contracts.assessment": {"assessmentId": "ready", "dimensions": {"tests": "all"}},
    }
    return example | own.get(ref, {})


def asking(ref: str) -> Step:
    """A step whose requirement is this contract, with what belongs to it."""
    fields: Body = {"contract": ref, "rules": (RULE,)}
    if ref == "wr.contracts.capability_observation":
        fields["capability"] = "web_browsing"
    if ref == "wr.contracts.assessment":
        fields["gates"] = (GATE,)
    if ref == "wr.contracts.user_input":
        fields["user_only"] = UserOnly(reason="needs_user_approval")
    return step("a", **fields)


def begun(ref: str) -> tuple[WrittenLog, Node]:
    loop = Loop(id="fix", repeat=While(condition="keep"), max_iterations=3, body=(asking(ref),))
    workflow = workflow_of(
        loop,
        step("b"),
        contracts=HELD,
        conditions={"keep": LoopControl()},
        capabilities={"web_browsing": "required"},
    )
    log = WrittenLog(workflow=workflow)
    return log, log.start()


def wrong_forms(ref: str) -> Iterator[list[Body]]:
    """What an agent could send instead of a good artifact."""
    right = good(ref)
    kind = right["kind"]
    name = kind.partition(".")[2]
    yield from (
        [right | {"kind": other}] for other in (kind.upper(), f"{kind}s", f"wr-{name}", f"{kind[:-1]}")
    )
    yield [{"kind": kind}]
    for member in HELD[ref].schema["required"]:
        if member != "kind":
            yield [{name: value for name, value in right.items() if name != member}]
            yield from ([right | {member: junk}] for junk in JUNK)
    yield [right | {"unexpectedMember": 1, "kind": kind}, {"kind": kind}]
    about: dict[str, list[Body]] = {
        "wr.contracts.loop_control": [right | {"loopId": "other"}, right | {"decision": "continue"}],
        "wr.contracts.capability_observation": [right | {"status": "unknown"}],
        "wr.contracts.assessment": [
            right | {"assessmentId": "redy"},
            right | {"dimensions": {"tests": "most"}},
            right | {"dimensions": {}},
        ],
        "wr.contracts.gap": [right | {"resolvesGapId": "gap_nobody_1"}],
        "wr.contracts.user_input": [right | {"givenBy": "agent"}],
    }
    for body in about.get(ref, []):
        yield [body]
        yield [right, body]  # beside a right one that it contradicts, or that it is as wrong without


FORMS = {ref: list(wrong_forms(ref)) for ref in REFS}
calls = st.tuples(
    st.booleans(),  # is it about what the step asks for
    st.integers(0, 10_000),  # which other contract
    st.integers(0, 10_000),  # which way of being wrong
    st.sampled_from(["", "nothing yet", "seen a.py"]),
)


def fits(ref: str, body: Body) -> bool:
    """Whether another library finds the body valid, under the full kind of the contract."""
    is_of_kind = body["kind"] == HELD[ref].artifact_kind
    return is_of_kind and bool(Draft202012Validator(HELD[ref].schema).is_valid(body))


@pytest.mark.parametrize("ref", REFS)
@pytest.mark.thorough
def test_wrong_form_of_what_is_required_takes_one_correction(ref: str) -> None:
    for form in FORMS[ref]:
        log, first = begun(ref)
        after = log.report(first, work("seen a.py", artifacts=form))
        if after.kind == "step":
            assert any(fits(ref, body) for body in form), form
        else:
            assert log.report(after, work(artifacts=[good(ref)])).kind == "step", form


@pytest.mark.parametrize("about", REFS)
@pytest.mark.thorough
def test_wrong_form_of_the_unasked_takes_one_call_without_it(about: str) -> None:
    for form in FORMS[about]:
        log, first = begun(FINDING)
        after = log.report(first, work("seen a.py", artifacts=[good(FINDING), *form]))
        if after.kind != "step":
            resent = [good(FINDING)] if about == FINDING else []
            assert log.report(after, work(artifacts=resent)).kind == "step", form


@pytest.mark.thorough
@given(st.sampled_from(REFS), st.lists(calls, min_size=1, max_size=4))
def test_one_corrected_call_is_enough_whatever_was_wrong(
    ref: str, wrong: list[tuple[bool, int, int, str]]
) -> None:
    log, node = begun(ref)
    right: list[Body] = []
    sent: list[Body] = []
    for number, (is_required, which, form, notes) in enumerate(wrong):
        about = ref if is_required else REFS[which % len(REFS)]
        brought = FORMS[about][form % len(FORMS[about])]
        mine = {"kind": f"acme.n{number}", "n": number}
        after = log.report(node, work(notes, artifacts=[*brought, mine]))
        sent += brought
        if after.kind == "step":  # nothing that the step asks for was wrong after all
            assert any(fits(ref, body) for body in sent)
            return
        right.append(mine)
        node = after

    done = log.report(node, work("seen b.py", artifacts=[good(ref)]))

    assert done.kind == "step", log.history.advances[(node.node_id, attempt(len(wrong) + 1))].blocked
    recorded = [held.artifact for held in attached_to(log.history, done.node_id).artifacts]
    assert good(ref) in [artifact.body for artifact in recorded]
    assert [body for body in right if body not in [artifact.body for artifact in recorded]] == []
    for artifact in recorded:
        if artifact.contract_ref:
            assert artifact.kind == HELD[artifact.contract_ref].artifact_kind
            assert fits(artifact.contract_ref, artifact.body)


@pytest.mark.parametrize("ref", REFS)
@pytest.mark.thorough
def test_what_is_recorded_as_valid_is_valid(ref: str) -> None:
    for brought in FORMS[ref]:
        log, first = begun(ref)
        log.report(first, work("seen a.py", artifacts=brought))

        performed = attached_to(log.history, first.node_id).validations
        for contract_ref in {held.contract_ref for held in performed} - {""}:
            of_kind = [body for body in brought if body["kind"] == HELD[contract_ref].artifact_kind]
            answers = [all(fits(contract_ref, body) for body in of_kind) and of_kind != []]
            if contract_ref == "wr.contracts.assessment":  # the gate is a requirement beside the contract
                of_gate = [body for body in of_kind if body.get("assessmentId") == GATE.assessment_id]
                answers = [
                    any(fits(contract_ref, body) for body in of_kind),
                    all(fits(contract_ref, body) for body in of_gate) and of_gate != [],
                ]
            valid = [
                held for held in performed if held.contract_ref == contract_ref and held.result == "valid"
            ]
            assert len(valid) <= sum(answers), brought


REFUSED: list[Any] = [
    [{"kind": "wr.decision", "question": "x" * 70_000}],
    [{"question": "no kind"}],
    [{"kind": ""}],
    [{"kind": 7}],
    [{"kind": "k" * 200}],
    [{"kind": "wr.decision"}] * 33,
    ["not an object"],
    [None],
    {"kind": "wr.decision"},
    "wr.decision",
]


@settings(max_examples=25)
@given(st.lists(st.sampled_from(range(len(REFUSED))), min_size=1, max_size=3))
def test_what_is_refused_leaves_the_ack_for_one_corrected_call(refused: list[int]) -> None:
    runtime = memory_runtime()
    workflow_id = give(runtime, authored_step("a", **WITH_DECISION), authored_step("b"))
    token = answer(runtime, "run.start", workflowId=workflow_id)["ackToken"]

    for place in refused:
        refusal(runtime, "run.continue", ackToken=token, output={"artifacts": REFUSED[place]})
    after = answer(runtime, "run.continue", ackToken=token, output={"artifacts": [A_DECISION]})

    assert after["pending"]["stepId"] == "b"
