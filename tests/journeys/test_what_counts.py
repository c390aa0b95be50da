"""What an artifact, an observation or a decision is worth: its own requirement, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.workflows.builtins.contracts import CONTRACTS
from handrail.workflows.builtins.specs import ContractSpec
from handrail.workflows.contracts.check import find_violations
from tests.journeys.given_workflows import A_DECISION, NEVER_STOP, WITH_DECISION, choice, give, option, step
from tests.journeys.interfaces import command, events_of, of_kind, tool_call

Reply = dict[str, Any]
DECIDED = {"kind": "loop_control"}
EXEC_NAMES = {"gap", "workflow_divergence"}
MISSPELT = [
    pytest.param(contract, kind, id=kind)
    for contract in CONTRACTS
    for name in [contract.artifact_kind.removeprefix("wr.")]
    for kind in (name, f"WR.{name}", f"wr.contracts.{name}", f"wr.{name}s", f"wr-{name}", name.upper())
    if kind not in EXEC_NAMES
]
LOOP = {"type": "loop", "loopId": "fix", "while": DECIDED, "maxIterations": 3, "body": [step("look")]}


def begun(
    runtime: Runtime, *steps: dict[str, Any], preferences: dict[str, str] | None = None, **fields: Any
) -> Reply:
    """The first reply of a run of these steps, through the MCP door."""
    params: dict[str, Any] = {"preferences": preferences} if preferences else {}
    return tool_call(
        runtime, "start_workflow", workflowId=give(runtime, *steps, **fields), **params
    ).structured


def sent(
    runtime: Runtime, token: str, *artifacts: dict[str, Any], notes: str = "done", **params: Any
) -> Reply:
    """The reply to a report."""
    output = {"notesMarkdown": notes, "artifacts": list(artifacts)}
    return tool_call(runtime, "continue_workflow", ackToken=token, output=output, **params).structured


def reread(runtime: Runtime, reply: Reply) -> Reply:
    """The same step again, with a fresh ack."""
    return tool_call(runtime, "continue_workflow", stateToken=reply["stateToken"]).structured


def results(runtime: Runtime, reply: Reply) -> list[tuple[str, str]]:
    """Every validation in the log of the reply's session: the contract and what was found."""
    performed = of_kind(events_of(runtime, reply), "validation_performed")
    return [(event["data"].get("contractRef", ""), event["data"]["result"]) for event in performed]


def seen(capability: str, status: str, **fields: Any) -> dict[str, Any]:
    told = {"kind": "wr.capability_observation", "capability": capability, "status": status}
    return told | {"summary": "Tried it."} | fields


def decision(told: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "wr.loop_control", "decision": told} | fields


def test_a_warning_carries_what_it_speaks_of_as_fields(runtime: Runtime) -> None:
    guided = {"recommended": {"autonomy": "guided", "riskPolicy": "conservative"}}
    first = begun(runtime, step("a", **WITH_DECISION), step("b"), preferences=NEVER_STOP, **guided)

    went_on = sent(runtime, first["ackToken"])

    (above,) = [told for told in first["warnings"] if told["code"] == "MODE_ABOVE_RECOMMENDED"]
    assert above["details"] == {"autonomy": "guided", "riskPolicy": "conservative"}
    (gap,) = [told for told in went_on["warnings"] if told["code"] == "GAP_RECORDED"]
    assert gap["details"]["reason"] == "contract_violation:missing_required_output"
    assert gap["details"]["gapId"] in gap["message"]


@pytest.mark.parametrize(("contract", "kind"), MISSPELT)
@pytest.mark.thorough
def test_artifact_under_another_kind_counts_for_nothing(
    runtime: Runtime, contract: ContractSpec, kind: str
) -> None:
    first = begun(runtime, step("a", output={"contractRef": contract.id}), step("b"))

    example = contract.example | ({"answer": "Yes."} if contract.id.endswith("user_input") else {})
    blocked = sent(runtime, first["ackToken"], example | {"kind": kind})
    again = sent(runtime, first["ackToken"], example | {"kind": kind})
    after = sent(runtime, blocked["retryAckToken"], example)

    (blocker,) = blocked["blockers"]
    assert (blocked["kind"], blocker["code"]) == ("blocked", "MISSING_REQUIRED_OUTPUT")
    assert f"did you mean {contract.artifact_kind}?" in blocker["message"]
    (warning,) = [told for told in blocked["warnings"] if told["code"] == "ARTIFACT_KIND_UNKNOWN"]
    assert warning["details"] == {"kind": kind, "suggestion": contract.artifact_kind}
    assert again == blocked
    assert results(runtime, blocked) == [(contract.id, "missing"), (contract.id, "valid")]
    assert after["pending"]["stepId"] == "b"
    told = [held["code"] for held in after.get("warnings", [])]
    assert told == (["GAP_RECORDED"] if contract.artifact_kind == "wr.gap" else [])


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda held: held.id)
def test_empty_artifact_of_a_bare_kind_is_never_valid(runtime: Runtime, contract: ContractSpec) -> None:
    bare = contract.artifact_kind.removeprefix("wr.")
    asking = step("a", output={"contractRef": contract.id})
    first = begun(runtime, asking, step("b"), preferences=NEVER_STOP)

    after = sent(runtime, first["ackToken"], {"kind": bare})

    assert after["pending"]["stepId"] == "b"
    assert (contract.id, "valid") not in results(runtime, after)
    (gap,) = [told for told in after["warnings"] if told["code"] == "GAP_RECORDED"]
    assert gap["details"]["reason"].startswith("contract_violation:")


def test_a_decision_under_another_kind_ends_no_loop(runtime: Runtime) -> None:
    first = begun(runtime, LOOP, step("end"), preferences=NEVER_STOP)

    bare = sent(runtime, first["ackToken"], {"kind": "loop_control", "decision": "continue"})

    assert bare["pending"]["stepId"] == "end"
    assert ("wr.contracts.loop_control", "missing") in results(runtime, bare)


def test_a_kind_of_somebody_elses_is_kept_without_a_word(runtime: Runtime) -> None:
    first = begun(runtime, step("a"), step("b"))

    after = sent(runtime, first["ackToken"], {"kind": "acme.decision"}, {"kind": "map"}, {"kind": "notes"})

    assert after["pending"]["stepId"] == "b"
    assert "warnings" not in after


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("divergence", {"suggestion": "wr.workflow_divergence"}),
        ("observation", {"suggestion": "wr.capability_observation"}),
        ("capability", {"suggestion": "wr.capability_observation"}),
        ("findings", {"suggestion": "wr.review_findings"}),
        ("wr.thoughts", {}),
    ],
)
def test_near_miss_of_a_known_kind_names_the_kind(runtime: Runtime, kind: str, meant: dict[str, str]) -> None:
    first = begun(runtime, step("a"), step("b"))

    (warning,) = sent(runtime, first["ackToken"], {"kind": kind})["warnings"]

    assert warning["code"] == "ARTIFACT_KIND_UNKNOWN"
    assert warning["details"] == {"kind": kind, **meant}


def test_invisible_text_meets_no_contract_and_is_no_note(runtime: Runtime) -> None:
    asking = step("a", **WITH_DECISION, notesOptional=False)
    first = begun(runtime, asking, step("b"))
    options: Any = A_DECISION["options"]
    hollow = A_DECISION | {
        "question": "\u200b",
        "rationale": "\u3164\u3164",
        "options": [options[0] | {"advantages": ["\u00ad"]}, options[1]],
    }

    blocked = sent(runtime, first["ackToken"], hollow, notes="\u3164.")
    after = sent(runtime, blocked["retryAckToken"], A_DECISION)

    told = {issue["pointer"]: issue["message"] for issue in blocked["issues"]}
    sentence = "It has only invisible characters; write text that can be read."
    places = ("/options/0/advantages/0", "/question", "/rationale")
    assert [told[place] for place in places] == [sentence] * 3
    assert any("needs notes" in message for message in told.values())
    assert after["pending"]["stepId"] == "b"


def test_project_contract_judges_invisible_text() -> None:
    text = {"type": "string"}
    members = {"any": text, "some": text | {"minLength": 1}, "dash": text | {"pattern": r"\S"}, "one": text}
    schema = {"type": "object", "properties": members | {"one": {"enum": ["\u200b", "b"]}}}

    unseen = find_violations(schema, dict.fromkeys(members, "\u200b"))
    seen_text = find_violations(schema, dict.fromkeys(members, "-") | {"some": " ", "one": "b"})

    assert [found.pointer for found in unseen] == ["/dash", "/some"]
    assert seen_text == []


def test_every_misspelt_kind_and_key_is_named(runtime: Runtime) -> None:
    first = begun(runtime, step("a"), step("b"), inputs={"severity": {"type": "string"}})
    kinds = ["bug_fix", "changed_files", "decision", "handoff", "plan", "wr.thoughts"]
    keys = ["Severity", "severety", "severit", "severitty", *(f"severity{number}" for number in range(9))]
    keys += ["severitx", "severitz"]
    context = dict.fromkeys(keys, 1)

    after = sent(runtime, first["ackToken"], *({"kind": kind} for kind in kinds), context=context)
    replayed = sent(runtime, first["ackToken"], *({"kind": kind} for kind in kinds), context=context)

    *_, of_kinds = [told for told in after["warnings"] if told["code"] == "ARTIFACT_KIND_UNKNOWN"]
    *_, of_keys = [told for told in after["warnings"] if told["code"] == "INPUT_NEARLY_DECLARED"]
    assert of_kinds["message"] == (
        '3 more artifact kinds like these: "handoff" (wr.handoff?), "plan" (wr.plan?), "wr.thoughts".'
    )
    assert of_kinds["details"] == {"omitted": 3, "kinds": kinds[3:]}
    assert of_keys["message"].startswith("12 more context keys like these: ")
    assert of_keys["message"].endswith(" (severity?), ….")
    assert len(of_keys["details"]["keys"]) == 10
    assert replayed == after


def test_value_too_long_for_a_prompt_has_its_call(runtime: Runtime) -> None:
    each = {"type": "loop", "loopId": "each", "forEach": {"input": "items", "as": "it"}, "maxIterations": 2}
    fields: dict[str, Any] = {"inputs": {"items": {"type": "array"}}}
    first = begun(runtime, step("a"), each | {"body": [step("w", prompt="Work on {{it}}")]}, **fields)

    after = sent(runtime, first["ackToken"], context={"items": ["y" * 5_000]})
    _, _, line = after["pending"]["prompt"].partition("Read it whole: handrail ")
    status, shown = command(runtime, *line.splitlines()[0].split())

    assert status == 0
    assert shown["data"]["items"][0]["data"]["context"]["items"] == ["y" * 5_000]
    assert "Read it whole" not in first["pending"]["prompt"]


def test_the_names_of_the_contract_are_taken_as_the_real_thing(runtime: Runtime) -> None:
    first = begun(runtime, step("a"), step("b"))
    divergence = {"kind": "workflow_divergence", "reason": "safety_stop", "summary": "Live data."}

    wrong = sent(runtime, first["ackToken"], divergence | {"reason": "boredom"})
    after = sent(runtime, wrong["retryAckToken"], divergence, {"kind": "gap", "summary": "No logs."})

    assert [told["code"] for told in wrong["blockers"]] == ["INVALID_REQUIRED_OUTPUT"]
    assert after["pending"]["stepId"] == "b"
    events = events_of(runtime, after)
    assert [event["data"]["reason"] for event in of_kind(events, "divergence_recorded")] == ["safety_stop"]
    assert [event["data"]["summary"] for event in of_kind(events, "gap_recorded")] == ["No logs."]


def test_probe_is_answered_by_its_own_capability(runtime: Runtime) -> None:
    first = begun(runtime, step("a"), capabilities={"web_browsing": "required"})

    blocked = sent(runtime, first["ackToken"], seen("delegation", "available"))
    after = sent(runtime, blocked["retryAckToken"], blocked["example"] | {"summary": "Fetched a page."})

    (blocker,) = blocked["blockers"]
    assert blocker["code"] == "MISSING_REQUIRED_OUTPUT"
    assert "web_browsing" in blocker["message"]
    assert "delegation" in blocker["message"]
    assert blocked["example"]["capability"] == "web_browsing"
    assert after["pending"]["stepId"] == "a"


def test_two_observations_that_contradict_each_other_are_none(runtime: Runtime) -> None:
    first = begun(runtime, step("a"), capabilities={"web_browsing": "required"})
    both = [seen("web_browsing", status) for status in ("available", "unavailable")]

    blocked = sent(runtime, first["ackToken"], *both)
    after = sent(runtime, blocked["retryAckToken"], both[0])

    assert [told["code"] for told in blocked["blockers"]] == ["INVALID_REQUIRED_OUTPUT"]
    assert after["pending"]["stepId"] == "a"


@pytest.mark.parametrize("named", [{"loopId": "outer"}, {}], ids=["the other loop", "no loop"])
def test_a_decision_about_another_loop_does_not_decide_this_one(
    runtime: Runtime, named: dict[str, str]
) -> None:
    inner = {"type": "loop", "loopId": "inner", "while": DECIDED, "maxIterations": 3, "body": [step("look")]}
    body = [inner, step("sum")]
    outer = {"type": "loop", "loopId": "outer", "while": DECIDED, "maxIterations": 3, "body": body}
    first = begun(runtime, outer, step("end"))

    blocked = sent(runtime, first["ackToken"], decision("stop", **named))
    after = sent(runtime, blocked["retryAckToken"], decision("stop", loopId="inner"))

    assert blocked["kind"] == "blocked"
    assert "inner" in blocked["blockers"][0]["message"]
    assert blocked["example"]["loopId"] == "inner"
    assert after["pending"]["stepId"] == "outer@0::sum"
    assert sent(runtime, after["ackToken"], decision("stop"))["pending"]["stepId"] == "end"


def test_a_decision_without_a_name_is_about_the_only_open_loop(runtime: Runtime) -> None:
    first = begun(runtime, LOOP, step("end"))

    assert sent(runtime, first["ackToken"], decision("stop"))["pending"]["stepId"] == "end"


def test_capability_lost_later_blocks_wherever_it_is_seen(runtime: Runtime) -> None:
    pick = choice("way", option("left"), option("right"))
    first = begun(runtime, step("a"), pick, step("b"), capabilities={"web_browsing": "required"})
    at_a = sent(runtime, first["ackToken"], seen("web_browsing", "available"))

    at_step = sent(runtime, at_a["ackToken"], seen("web_browsing", "unavailable"))
    at_way = sent(runtime, reread(runtime, at_a)["ackToken"], seen("web_browsing", "available"))
    at_choice = sent(runtime, at_way["pending"]["choices"][0]["token"], seen("web_browsing", "unavailable"))

    for blocked in (at_step, at_choice):
        assert [told["code"] for told in blocked["blockers"]] == ["REQUIRED_CAPABILITY_UNAVAILABLE"]
        assert blocked["retryable"] is False
    assert at_choice["pending"]["stepId"] == "way"
