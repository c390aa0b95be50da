"""Overlays: closed changes to a workflow of another file, compiled together with it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from handrail.contract.workflow_files import WorkflowFile
from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.operations.asked import answered, refused, text

FINDINGS = "wr.contracts.review_findings"


def step(step_id: str, **more: Any) -> dict[str, Any]:
    return {"id": step_id, "title": step_id.capitalize(), "prompt": f"Do {step_id} and say so.", **more}


STEPS = [
    step("read"),
    {
        "id": "trace",
        "title": "Trace",
        "promptBlocks": {"goal": "Know it.", "procedure": ["Look."], "verify": ["See."]},
    },
    {
        "type": "loop",
        "loopId": "again",
        "maxIterations": 2,
        "count": 2,
        "body": [step("fix"), {"slot": "after_fix", "title": "After the fix"}],
    },
    step("prove", output={"contractRef": FINDINGS}),
    step("ask", requireConfirmation=True),
    {"slot": "before_end", "title": "Before the end", "description": "What a team does before it ends."},
    step("end"),
]


def base(workflow_id: str = "house.review", **more: Any) -> dict[str, Any]:
    return {
        "id": workflow_id,
        "name": "Review",
        "description": "For tests.",
        "inputs": {"depth": {"type": "string", "enum": ["quick", "deep"], "required": True}},
        "conditions": [
            {"id": "is_deep", "kind": "compare", "input": "depth", "op": "equals", "value": "deep"}
        ],
        "steps": [*STEPS[:1], {**STEPS[1], "when": "is_deep"}, *STEPS[2:]],
        **more,
    }


def hold(runtime: Runtime, *documents: dict[str, Any]) -> None:
    library_of(runtime).held = [
        WorkflowFile(
            source_kind="bundled" if one["id"].startswith("wr.") else "project",
            source_ref=f"{one['id']}.json",
            content=json.dumps(one, indent=2).encode(),
        )
        for one in documents
    ]


def overlay(**more: Any) -> dict[str, Any]:
    return {"extends": "house.review", "id": "team.review", **more}


def compiled(runtime: Runtime, **more: Any) -> dict[str, Any]:
    hold(runtime, base(), overlay(**more))
    shown = answered(runtime, "workflow.inspect", workflowId="team.review", part="compiled")["workflow"]
    found: dict[str, Any] = plain(shown["compiled"])
    return found


def plain(value: Any) -> Any:
    """As a surface prints it."""
    return json.loads(msgspec.json.encode(value))


def ids(parts: list[dict[str, Any]]) -> list[str]:
    """In order, those of a loop behind it."""
    return [name for part in parts for name in (part["id"], *ids(part.get("body", [])))]


def part(workflow: dict[str, Any], part_id: str) -> dict[str, Any]:
    flat = [one for held in workflow["steps"] for one in (held, *held.get("body", []))]
    return next(one for one in flat if one["id"] == part_id)


def test_overlay_is_its_base_with_changes_and_origins(runtime: Runtime) -> None:
    made = compiled(
        runtime,
        inputs={"depth": {"default": "quick"}},
        recommended={"autonomy": "guided"},
        features=["wr.features.mode_guidance"],
        steps={
            "read": {"append": "Read docs/rules.md first.", "output": {"hints": ["Be brief."]}},
            "trace": {"prepend": {"procedure": "Think."}, "replace": {"verify": ["Test."]}},
            "again/fix": {"prepend": "Slowly."},
            "end": {"skip": True},
        },
        fill={"after_fix": [step("format")], "before_end": [step("tell")]},
        add=[{"before": "read", "step": step("greet")}, {"after": "again/fix", "step": step("look")}],
    )
    alone = answered(runtime, "workflow.inspect", workflowId="house.review")["workflow"]

    assert made["base"] == {"id": "house.review", "hash": alone["workflowHash"]}
    assert ids(made["steps"]) == [
        *("greet", "read", "trace", "again", "fix", "look", "format", "prove", "ask", "tell")
    ]
    assert {one: part(made, one)["provenance"] for one in ("greet", "read", "fix", "format", "prove")} == {
        **{one: {"kind": "overlay", "origin": "team.review"} for one in ("greet", "read", "fix", "format")},
        "prove": {"kind": "base", "origin": "house.review"},
    }
    assert "Do read and say so.\n\nRead docs/rules.md first." in part(made, "read")["prompt"]
    assert "Be brief." in part(made, "read")["prompt"]
    assert "Slowly.\n\nDo fix and say so." in part(made, "fix")["prompt"]
    traced = part(made, "trace")["prompt"]
    assert traced.index("Think.") < traced.index("Look.")
    assert "Test." in traced
    assert "See." not in traced
    assert made["inputs"]["depth"] == {"type": "string", "enum": ["quick", "deep"], "default": "quick"}
    assert made["recommended"] == {"autonomy": "guided"}
    assert (made["name"], made["description"]) == ("Review", "For tests.")


COMPARE = {"kind": "compare", "input": "depth", "op": "equals", "value": "deep"}
QUICK = {"kind": "compare", "input": "depth", "op": "not_equals", "value": "quick"}


@pytest.mark.parametrize("when", ["is_deep", {"kind": "condition_ref", "conditionId": "is_deep"}, COMPARE])
def test_what_fills_a_slot_runs_where_the_slots_condition_holds(runtime: Runtime, when: Any) -> None:
    steps = [step("one"), {"slot": "late", "when": when}, step("two", when="is_deep")]
    own = [step("plain"), step("named", when="is_deep"), step("written", when=QUICK)]
    hold(runtime, base(steps=steps), overlay(fill={"late": own}))
    shown = answered(runtime, "workflow.inspect", workflowId="team.review", part="compiled")["workflow"]

    found = plain(shown["compiled"])
    said = {one["id"]: found["conditions"].get(one.get("when", ""), {}) for one in found["steps"]}

    assert {key: held for key, held in said["plain"].items() if key != "id"} == COMPARE
    assert said["named"] == {"kind": "and", "of": [COMPARE, COMPARE]}
    assert said["written"] == {"kind": "and", "of": [COMPARE, QUICK]}
    assert said["one"] == {}


@pytest.mark.parametrize(("name", "told"), [("is_deep", []), ("is_dep", ["unknown_id"])])
def test_condition_of_a_slot_is_declared_and_used(runtime: Runtime, name: str, told: list[str]) -> None:
    hold(runtime, base(steps=[step("one"), {"slot": "late", "when": name}, step("two")]))

    report = answered(runtime, "workflow.validate", workflowIds=["house.review"], reportOnly=True)

    assert [
        one["code"] for one in report["items"][0]["problems"] if one["pointer"] != "/inputs/depth"
    ] == told


def test_slots_are_shown_with_the_steps_and_in_the_drawing(runtime: Runtime) -> None:
    hold(runtime, base())
    shown = answered(runtime, "workflow.inspect", workflowId="house.review", part="steps")["workflow"]
    drawn = answered(runtime, "workflow.graph", workflowId="house.review", **{"as": "text"})["drawing"]

    assert plain(shown["slots"]) == [
        {"id": "after_fix", "title": "After the fix", "after": "fix"},
        {
            "id": "before_end",
            "title": "Before the end",
            "description": "What a team does before it ends.",
            "before": "end",
            "after": "ask",
        },
    ]
    assert "slot after_fix after it" in drawn
    assert "slot before_end before it" in drawn


def test_contract_is_tightened_with_a_fitting_example_only(runtime: Runtime) -> None:
    rule = {"check": "person"}
    change = {"required": ["/findings/*/line"], "evidence": [rule], "demand": "required"}
    made = compiled(runtime, contracts={FINDINGS: change})["contracts"][FINDINGS]
    alone = answered(runtime, "workflow.inspect", workflowId="house.review", part="compiled")["workflow"]
    before = alone["compiled"]["contracts"][FINDINGS]

    item = made["schema"]["properties"]["findings"]["items"]
    assert "line" in item["required"]
    assert "line" not in before["schema"]["properties"]["findings"]["items"]["required"]
    assert rule in made["evidence"]
    assert rule not in before["evidence"]
    assert "shown" in [one.get("demand") for one in before["evidence"]]
    assert "shown" not in [one.get("demand") for one in made["evidence"]]
    assert all("line" in one for one in made["example"]["findings"])


def test_a_contract_is_tightened_in_a_base_that_hands_out_work(runtime: Runtime) -> None:
    planned = step("plan", output={"contractRef": "wr.contracts.plan"})
    inner = {"id": "deeper", "title": "Deeper", "delegate": {"children": [{"id": "b", "steps": [planned]}]}}
    handing = {"id": "hand", "title": "Hand", "delegate": {"children": [{"id": "a", "steps": [inner]}]}}
    steps = [handing, step("prove", output={"contractRef": FINDINGS})]
    both = {FINDINGS: {"demand": "required"}, "wr.contracts.plan": {"evidence": [{"check": "person"}]}}
    hold(runtime, base(steps=steps), overlay(contracts=both))

    report = answered(runtime, "workflow.validate", workflowIds=["team.review"])
    wrong = overlay(contracts={"wr.contracts.handoff": {"demand": "required"}})
    hold(runtime, base(steps=steps), wrong)
    [told] = refused(runtime, "workflow.validate", workflowIds=["team.review"]).details["report"]["items"]

    assert [one for one in report["items"][0]["problems"] if one["severity"] == "error"] == []
    [problem] = [one for one in told["problems"] if one["severity"] == "error"]
    assert problem["message"] == "There is no contract of the base wr.contracts.handoff."


def test_an_empty_slot_is_nothing(runtime: Runtime) -> None:
    plain = [one for one in STEPS if "slot" not in one]
    loop: dict[str, Any] = {**STEPS[2], "body": [step("fix")]}
    hold(
        runtime,
        base(),
        base("house.plain", steps=[plain[0], {**plain[1], "when": "is_deep"}, loop, *plain[3:]]),
    )

    shown = answered(runtime, "workflow.diff", workflows=["house.plain", "house.review"])

    assert shown["steps"] == []
    assert [one["pointer"] for one in shown["elsewhere"]] == ["/id"]


@pytest.mark.parametrize(
    ("change", "place", "message", "fix"),
    [
        ({"steps": {"raed": {"skip": True}}}, "/steps/raed", "has no step raed", "Did you mean read?"),
        ({"steps": {"fix": {"append": "x"}}}, "/steps/fix", "has no step fix", "Did you mean again/fix?"),
        ({"add": [{"after": "ends", "step": step("x")}]}, "/add/0/after", "has no step ends", "mean end?"),
        ({"fill": {"befor_end": [step("x")]}}, "/fill/befor_end", "has no slot", "mean before_end?"),
        ({"inputs": {"dept": {"default": "deep"}}}, "/inputs/dept", "has no input", "mean depth?"),
        (
            {"inputs": {"depth": {"default": "deeep"}}},
            "/inputs/depth/default",
            "not in the enum",
            "mean deep?",
        ),
        (
            {"inputs": {"depth": {"default": "deep", "enum": ["deep"]}}},
            "/inputs/depth/enum",
            "not known here",
            "Remove",
        ),
        ({"steps": {"read": {"append": "x", "when": "x"}}}, "/steps/read/when", "not known here", "Remove"),
        (
            {"steps": {"read": {"replace": {"goal": "x"}}}},
            "/steps/read/replace/goal",
            "has no goal",
            "one text",
        ),
        ({"steps": {"again": {"append": "x"}}}, "/steps/again/append", "has no prompt", "It is a loop"),
        (
            {"steps": {"prove": {"output": {"contractRef": "wr.contracts.plan"}}}},
            "/steps/prove/output/contractRef",
            "already delivers",
            "Tighten",
        ),
        (
            {"contracts": {"wr.contracts.plan": {"demand": "required"}}},
            "/contracts/wr.contracts.plan",
            "no",
            FINDINGS,
        ),
        (
            {"contracts": {FINDINGS: {"required": ["verdct"]}}},
            f"/contracts/{FINDINGS}/required/0",
            "knows nothing at verdct",
            "Did you mean verdict?",
        ),
        (
            {"contracts": {FINDINGS: {"required": ["verdict"]}}},
            f"/contracts/{FINDINGS}/required/0",
            "required already",
            "Leave it out",
        ),
        (
            {"contracts": {FINDINGS: {"demand": "shown"}}},
            f"/contracts/{FINDINGS}/demand",
            "nothing is tightened",
            "a higher one",
        ),
        ({"add": [{"after": "end", "step": step("read")}]}, "/add/0/step/id", "already used", "its own id"),
        (
            {"add": [{"after": "end", "step": step("x", prompt="Read {{dpeth}}.")}]},
            "/add/0/step/prompt",
            "dpeth",
            "depth",
        ),
        (
            {"add": [{"before": "read", "step": step("end")}]},
            "/add/0/step/id",
            "already used in house.review",
            "end_2",
        ),
        (
            {"add": [{"after": "read", "step": step("fix")}], "steps": {"again/fix": {"append": "Gently."}}},
            "/add/0/step/id",
            "already used in house.review",
            "fix_2",
        ),
        ({"extends": "house.reviw"}, "/extends", "no workflow", "Did you mean house.review?"),
        ({"extends": "team.review"}, "/extends", "has the id of what it extends", "another id"),
        ({"extends": "team.other"}, "/extends", "a customisation itself", "Extend house.review"),
        ({"extends": "house.broken"}, "/extends", "has errors", "Correct it"),
    ],
)
def test_what_an_overlay_gets_wrong_is_told_at_its_own_line(
    runtime: Runtime, change: dict[str, Any], place: str, message: str, fix: str
) -> None:
    hold(runtime, base(), overlay(id="team.other"), base("house.broken", steps=[{"id": "x"}]))

    report = answered(
        runtime, "workflow.validate", documents=[text(overlay(**change), "over.json")], reportOnly=True
    )

    (problem,) = [one for one in report["items"][0]["problems"] if one["severity"] == "error"]
    assert problem["pointer"] == place
    assert problem["line"] > 1
    assert message in problem["message"]
    assert fix in problem["fix"]


LESS = {"replace": {"prompt": "Do less and say so."}}
ACT = {"type": "action", "id": "act", "title": "Act", "operation": "workflow.list"}


@pytest.mark.parametrize(
    ("step_id", "change"),
    [
        ("prove", {"skip": True}),
        ("prove", LESS),
        ("ask", {"skip": True}),
        ("ask", LESS),
        ("act", {"skip": True}),
    ],
)
def test_proof_and_question_of_a_bundled_base_are_kept(
    runtime: Runtime, step_id: str, change: dict[str, Any]
) -> None:
    steps = [*base()["steps"], ACT]
    hold(runtime, base(steps=steps), overlay(steps={step_id: change}))
    named = answered(runtime, "workflow.inspect", workflowId="team.review")["workflow"]["base"]["leftOut"]
    reply = answered(runtime, "run.start", workflowId="team.review", context={"depth": "deep"})
    hold(runtime, base("wr.review", steps=steps), overlay(steps={step_id: change}, extends="wr.review"))
    failure = refused(runtime, "workflow.validate", workflowIds=["team.review"])

    how = next(iter(change))
    assert plain(named) == [{"id": step_id, "title": step_id.capitalize(), "how": how}]
    (told,) = [one for one in reply["warnings"] if one["code"] == "LEFT_OUT_BY_OVERLAY"]
    assert told["details"] == {"steps": [step_id]}
    (problem,) = failure.details["report"]["items"][0]["problems"]
    assert problem["pointer"] == f"/steps/{step_id}/{how}"
    assert f"does not {how} it" in problem["message"]


def test_a_changed_base_is_told_and_no_running_run_follows_it(runtime: Runtime) -> None:
    own = overlay(steps={"read": {"append": "Gently."}})
    hold(runtime, base(), own)
    first = answered(runtime, "run.start", workflowId="team.review", context={"depth": "deep"})
    again = answered(runtime, "run.start", workflowId="team.review", context={"depth": "quick"})
    newer = base(steps=[*base()["steps"][:-1], step("end", prompt="End it now."), step("more")])
    hold(runtime, newer, own)

    report = answered(runtime, "workflow.validate", workflowIds=["team.review"])
    started = answered(runtime, "run.start", workflowId="team.review", context={"depth": "deep"}, goal="new")
    on = answered(
        runtime, "run.continue", ackToken=first["ackToken"], output={"notesMarkdown": "Read it all."}
    )

    codes = [warning["code"] for warning in again.get("warnings", [])]
    assert "WORKFLOW_SOURCE_DIFFERS" not in codes
    (told,) = [one for one in started["warnings"] if one["code"] == "WORKFLOW_SOURCE_DIFFERS"]
    assert "(end changed, more added)" in told["message"]
    (problem,) = report["items"][0]["problems"]
    assert (problem["code"], problem["severity"], problem["pointer"]) == (
        "changed_meaning",
        "warning",
        "/extends",
    )
    assert "(end changed, more added)" in problem["message"]
    assert on["pending"]["stepId"] == "trace"
    read_again = answered(runtime, "run.continue", stateToken=on["stateToken"])
    (drift,) = [one for one in read_again["warnings"] if one["code"] == "WORKFLOW_SOURCE_DIFFERS"]
    assert drift["details"] == {"sourceKind": "project", "sourceRef": "team.review.json"}


def test_a_new_text_that_loses_what_the_base_inserts_is_told(runtime: Runtime) -> None:
    steps = [step("read", prompt="Read at {{depth}}."), *base()["steps"][1:]]
    losing = overlay(steps={"read": {"replace": {"prompt": "Read it."}}})
    keeping = overlay(
        id="team.kept", steps={"read": {"replace": {"prompt": "See: {{depth}}.", "title": "See"}}}
    )
    hold(runtime, base(steps=steps), losing, keeping)

    lost = answered(runtime, "workflow.validate", workflowIds=["team.review"])["items"][0]
    kept = answered(runtime, "workflow.validate", workflowIds=["team.kept"])["items"][0]

    (told,) = lost["problems"]
    assert (told["severity"], told["pointer"]) == ("warning", "/steps/read/replace")
    assert told["message"] == "The text of read in the base has {{depth}}, and this one does not."
    assert kept["problems"] == []


def test_a_new_text_that_no_longer_asks_for_a_value_is_told(runtime: Runtime) -> None:
    wanted = {"context.line": "What shows it."}
    plan = {"id": "read", "title": "Read", "promptBlocks": {"goal": "Know.", "outputRequired": wanted}}
    inputs = base()["inputs"] | {"line": {"type": "string", "default": "COMMAND"}}
    own = overlay(steps={"read": {"replace": {"outputRequired": {"notes": "What you saw."}}}})
    kept = overlay(id="team.kept", steps={"read": {"replace": {"goal": "Know more."}}})
    steps = [plan, *base()["steps"][1:-1], step("end", prompt="Run {{line}}.")]
    hold(runtime, base(inputs=inputs, steps=steps), own, kept)

    lost = answered(runtime, "workflow.validate", workflowIds=["team.review"])["items"][0]
    whole = answered(runtime, "workflow.validate", workflowIds=["team.kept"])["items"][0]

    (told,) = lost["problems"]
    assert told["message"] == "The text of read in the base has context.line, and this one does not."
    assert whole["problems"] == []


def test_changed_condition_is_reported_at_its_steps(runtime: Runtime) -> None:
    own = overlay(steps={"read": {"append": "Gently."}})
    hold(runtime, base(), own)
    answered(runtime, "run.start", workflowId="team.review", context={"depth": "deep"})
    turned = [{**base()["conditions"][0], "value": "quick"}]
    hold(runtime, base(conditions=turned), own)

    report = answered(runtime, "workflow.validate", workflowIds=["team.review"])
    shown = answered(runtime, "workflow.diff", workflows=[text(base(), "b.json"), "house.review"])

    (told,) = [one["message"] for one in report["items"][0]["problems"] if one["code"] == "changed_meaning"]
    assert "(trace changed)" in told
    ((step_id, place),) = [(one["step_id"], place) for one in shown["steps"] for place in one["places"]]
    assert (step_id, place["pointer"]) == ("trace", "/when")
    assert ("deep" in str(place["before"]), "quick" in str(place["after"])) == (True, True)


def test_delegating_step_is_not_changed_by_another_step(runtime: Runtime) -> None:
    asked = {"id": "ask", "brief": "Look.", "steps": [step("look")]}
    sides = {"id": "sides", "title": "Sides", "delegate": {"children": [asked]}}
    own = overlay(fill={"before_end": [step("tell")]})
    hold(runtime, base(steps=[sides, *base()["steps"]]), own)
    answered(runtime, "run.start", workflowId="team.review", context={"depth": "deep"})
    hold(runtime, base(steps=[sides, *base()["steps"][:-1], step("end", prompt="End it now.")]), own)

    report = answered(runtime, "workflow.validate", workflowIds=["team.review"])

    told = [one["message"] for one in report["items"][0]["problems"] if one["code"] == "changed_meaning"]
    assert ["(end changed)" in one for one in told] == [True]


def test_two_workflows_are_compared_step_by_step(runtime: Runtime) -> None:
    hold(runtime, base(), overlay(steps={"read": {"append": "Gently."}, "end": {"skip": True}}))

    shown = answered(runtime, "workflow.diff", workflows=["house.review", "team.review"])

    assert [(one["step_id"], one["change"]) for one in shown["steps"] if one["change"] != "changed"] == [
        ("end", "removed")
    ]
    (read,) = [one for one in shown["steps"] if one["step_id"] == "read"]
    assert "/prompt" in [one["pointer"] for one in read["places"]]
    assert not shown["is_same"]
    same = answered(runtime, "workflow.diff", workflows=["house.review", text(base(), "b.json")])
    assert (same["is_same"], same["steps"], same["elsewhere"]) == (True, [], [])


def test_an_overlay_has_a_layout_in_yaml_and_none_in_markdown(runtime: Runtime) -> None:
    hold(runtime, base())
    written = "extends:   house.review\nid: team.review\nsteps: {read: {append: Gently.}}\n"

    laid = answered(runtime, "workflow.fmt", document=text(written, "over.yaml"))["text"]
    failure = refused(runtime, "workflow.convert", document=text(written, "over.yaml"), to="md")
    page = "---\nextends: house.review\nid: team.review\n---\n"
    report = refused(runtime, "workflow.validate", documents=[text(page, "over.md")])

    assert laid == "extends: house.review\nid: team.review\nsteps:\n  read:\n    append: Gently.\n"
    assert failure.kind.code == "VALIDATION_ERROR"
    assert "not written in Markdown" in report.message


def test_an_overlay_with_the_id_of_its_base_is_refused(runtime: Runtime) -> None:
    hold(runtime, base("wr.review"))
    own = {"extends": "wr.review", "id": "wr.review", "steps": {"read": {"append": "Slowly."}}}

    failure = refused(runtime, "workflow.validate", documents=[text(own)])

    [item] = failure.details["report"]["items"]
    assert "has the id of what it extends" in item["problems"][0]["message"]


def test_overlay_whose_base_lost_a_step_is_found_by_its_id(runtime: Runtime) -> None:
    hold(runtime, base(steps=STEPS[1:]), overlay(steps={"read": {"append": "Slowly."}}))

    failure = refused(runtime, "workflow.validate", workflowIds=["team.review"])

    [item] = failure.details["report"]["items"]
    assert item["problems"][0]["message"] == "house.review has no step read."
    assert item["problems"][0]["line"] > 1
