"""Work that must not explode: refused where it is written, named where it is met, and runs stay readable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.ids import blob_ref
from handrail.contract.json.canonical import canonical_bytes
from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.engine.bundles.made import Document, rechained
from tests.journeys.conversation import answer, rehydrate, start
from tests.journeys.given_workflows import FAR_AWAY, HEAVY_CONTEXT, equals, give, rounds, step
from tests.journeys.interfaces import command, tool_call

NEVER = equals("mood", "nobody says this")
FIELDS = {"inputs": {"mood": {}, "items": {"type": "array", "default": []}, "far": {}, "blob": {}}}


def nested_loops(depth: int, count: int) -> dict[str, Any]:
    """Loops whose one step is never due."""
    part = step("never", when=NEVER)
    for level in range(depth):
        part = rounds(f"level{level}", {"count": count}, part, most=count)
    return part


def doubled(levels: int, **leaf: Any) -> dict[str, Any]:
    """A schema of which each definition names the next one twice."""
    definitions = {
        f"d{level}": {
            "type": "object",
            "required": ["a", "b"],
            "properties": {name: {"$ref": f"#/$defs/d{level + 1}"} for name in "ab"},
        }
        for level in range(levels)
    }
    whole = {"type": "object", "required": ["top"], "properties": {"top": {"$ref": "#/$defs/d0"}}}
    return whole | {"$defs": definitions | {f"d{levels}": leaf or {"type": "string"}}}


def listed(depth: int, least: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "minItems": least, "items": schema}
    return {"type": "object", "required": ["rows"], "properties": {"rows": schema}}


def all_of(levels: int) -> dict[str, Any]:
    definitions = {f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": definitions | {f"d{levels}": {"type": "object"}}}


def ruled(*rules: dict[str, Any]) -> dict[str, Any]:
    return step("say", validation=list(rules))


def either(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "or", "of": list(conditions)}


MANY = either(*(either(*(equals("mood", f"{outer} {inner}") for inner in range(50))) for outer in range(6)))
SLOW = {"type": "regex", "pattern": "x.{400}y.{400}z"}

FILES: dict[str, tuple[dict[str, Any], str]] = {
    "six nested loops whose step is never due": (
        nested_loops(6, 1_000),
        "The loop level1 may pass 3002000 places without coming to a step; the limit is 100000",
    ),
    "many loops side by side whose steps are never due": (
        rounds(
            "all",
            {"count": 1},
            *[
                rounds(
                    f"l{place}", {"count": 1_000}, step(f"s{place}", when=equals("mood", "never")), most=1_000
                )
                for place in range(150)
            ],
            most=1,
        ),
        "The loop l33 may pass 102034 places without coming to a step; the limit is 100000",
    ),
    "a condition of three hundred comparisons": (
        step("a", when=MANY),
        "has 300 comparisons; the limit is 200",
    ),
    "patterns that are slow together": (
        ruled(*[SLOW] * 6),
        "The patterns of say take too long together on long notes",
    ),
    "more patterns than a workflow may have": (
        ruled(*({"type": "all", "of": [{"type": "regex", "pattern": "x"}] * 50} for _ in range(21))),
        "have 1050 patterns and schemas; the limit is 1000",
    ),
    "a rule whose schema doubles": (
        ruled({"type": "schema", "schema": all_of(40)}),
        "more than 5000 places when its references are followed",
    ),
    "a rule whose schema contains itself": (
        ruled({"type": "schema", "schema": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}),
        "more than 5000 places when its references are followed",
    ),
    "a rule whose schema moves its references": (
        ruled({"type": "schema", "schema": {"$dynamicRef": "#x", "$dynamicAnchor": "x"}}),
        "it is unknown how large the schema is",
    ),
}
PATTERNS = {
    "a back reference to a long group": (r"(a{0,900})\1b", "look-around and back references"),
    "groups that are tried in a thousand ways each": (
        "(?=a)(?:aa?){10}(?:aa?){10}b",
        "look-around and back references",
    ),
}
CONTRACTS: dict[str, tuple[dict[str, Any], str]] = {
    "a contract of 1 KB that doubles": (
        doubled(30),
        "more than 5000 places when its references are followed",
    ),
    "a pattern that is slow": (
        {"type": "object", "properties": {"t": {"type": "string", "pattern": "x.{900}y{900}.{900}"}}},
        "takes too long on long notes",
    ),
}


def given_contract(runtime: Runtime, schema: dict[str, Any], **example: Any) -> str:
    """A workflow whose one step asks for an artifact of this schema."""
    written = {"id": "project.contracts.hostile", "schema": schema, "example": example or {"t": "a"}}
    content = json.dumps(written).encode()
    library_of(runtime).add(content, "contracts/project.contracts.hostile.json", "contract")
    return give(runtime, step("a", output={"contractRef": "project.contracts.hostile"}))


def check_refused_at_every_door(runtime: Runtime, workflow_id: str, words: str) -> None:
    for line in ("workflow validate", "workflow inspect", "workflow simulate"):
        status, document = command(runtime, *line.split(), workflow_id)
        assert status == 2, line
        assert words in json.dumps(document), line
    status, document = command(runtime, "run", "start", workflow_id, "--request-id", "k")
    assert (status, document["error"]["details"]["domain_code"]) == (2, "WORKFLOW_INVALID")
    assert words in json.dumps(document)
    for tool in ("inspect_workflow", "start_workflow"):
        rendered = tool_call(runtime, tool, workflowId=workflow_id)
        assert words in json.dumps(rendered.structured), tool


@pytest.mark.thorough
@pytest.mark.parametrize(("part", "words"), FILES.values(), ids=FILES)
def test_file_that_keeps_a_run_busy_is_refused_everywhere(
    runtime: Runtime, part: dict[str, Any], words: str
) -> None:
    check_refused_at_every_door(runtime, give(runtime, part, **FIELDS), words)


@pytest.mark.parametrize(("schema", "words"), CONTRACTS.values(), ids=CONTRACTS)
def test_contract_that_keeps_a_run_busy_is_refused_everywhere(
    runtime: Runtime, schema: dict[str, Any], words: str
) -> None:
    check_refused_at_every_door(runtime, given_contract(runtime, schema), words)


@pytest.mark.parametrize(("pattern", "words"), PATTERNS.values(), ids=PATTERNS)
def test_a_pattern_that_could_be_tried_for_ever_is_refused(
    runtime: Runtime, tmp_path: Path, pattern: str, words: str
) -> None:
    rule = {"type": "regex", "pattern": pattern}
    document = {"id": "project.slow", "name": "S", "description": "D.", "steps": [ruled(rule)]}
    file = tmp_path / "slow.json"
    file.write_text(json.dumps(document), encoding="utf-8")

    for line in ("workflow validate", "workflow simulate"):
        status, answered = command(runtime, *line.split(), str(file))
        assert status == 2, line
        assert words in json.dumps(answered), line


def in_bundle(change: Any) -> str:
    """A bundle of a stranger, whose pinned workflow was changed and who made every digest fit."""

    def changed(document: Document) -> None:
        session = document["session"]
        ((old, workflow),) = session["pinnedWorkflows"].items()
        change(workflow)
        new = blob_ref(canonical_bytes(workflow))
        text = json.dumps(session).replace(old, new)
        document["session"] = json.loads(text)

    return rechained(changed)


def compiled_loops(workflow: dict[str, Any]) -> None:
    leaf = next(one for one in workflow["steps"] if one["kind"] == "step")
    workflow["conditions"]["never"] = {"kind": "always_false"}
    part = leaf | {"when": "never", "id": "deep"}
    for level in range(6):
        repeat = {"kind": "count", "count": 1_000}
        part = {"kind": "loop", "id": f"l{level}", "repeat": repeat, "maxIterations": 1_000, "body": [part]}
    workflow["steps"].append(part)


def compiled_contract(schema: dict[str, Any]) -> Any:
    def change(workflow: dict[str, Any]) -> None:
        held = {"artifactKind": "project.hostile", "schema": schema, "example": {}, "guidance": "Fill it in."}
        workflow["contracts"]["project.contracts.hostile"] = held

    return change


def compiled_rule(workflow: dict[str, Any]) -> None:
    leaf = next(one for one in workflow["steps"] if one["kind"] == "step")
    leaf["rules"] = [{"type": "schema", "schema": all_of(40), "message": "m"}]


BUNDLES: dict[str, tuple[Any, str]] = {
    "loops": (compiled_loops, "may pass 2002000 places"),
    "a contract that doubles": (compiled_contract(doubled(30)), "more than 5000 places"),
    "a contract outside the language": (compiled_contract({"anyOf": [{}]}), "does not describe an object"),
    "a rule that doubles": (compiled_rule, "more than 5000 places"),
}


@pytest.mark.parametrize(("change", "words"), BUNDLES.values(), ids=BUNDLES)
def test_what_a_bundle_brings_is_checked_like_a_file(
    runtime: Runtime, tmp_path: Path, change: Any, words: str
) -> None:
    file = tmp_path / "bundle.json"
    file.write_text(in_bundle(change), encoding="utf-8")

    status, document = command(runtime, "session", "import", str(file), "--dry-run")

    assert (status, document["error"]["details"]["domain_code"]) == (2, "BUNDLE_INVALID_FORMAT")
    assert words in document["error"]["message"]


@pytest.mark.thorough
def test_too_long_way_is_named_and_the_run_stays_readable(
    runtime: Runtime,
) -> None:
    reply = start(runtime, workflowId=give(runtime, *FAR_AWAY["steps"], **FIELDS))
    stored = answer(runtime, "session.events", sessionId=reply["session"]["sessionId"], limit=500)
    call = {"ackToken": reply["ackToken"], "output": {"notesMarkdown": "done"}, "context": HEAVY_CONTEXT}

    failed = tool_call(runtime, "continue_workflow", **call)
    again = tool_call(runtime, "continue_workflow", **call)
    line = (
        "run",
        "continue",
        "--ack",
        reply["ackToken"],
        "--notes",
        "done",
        "--context",
        json.dumps(HEAVY_CONTEXT),
    )
    status, document = command(runtime, *line)

    assert failed.structured == again.structured
    told = json.dumps(failed.structured)
    assert "passes more than 100000 places" in told
    assert "the loop each" in told
    assert (status, document["error"]["details"]["domain_code"]) == (2, "WORK_LIMIT_EXCEEDED")
    assert rehydrate(runtime, reply)["pending"]["stepId"] == "first"
    kept = answer(runtime, "session.events", sessionId=reply["session"]["sessionId"], limit=500)
    assert kept["items"] == stored["items"]
    assert answer(runtime, "session.export", sessionId=reply["session"]["sessionId"])["content"]
    status, closed = command(runtime, "run", "close", "--state", reply["stateToken"], "--reason", "abandoned")
    assert status == 0, closed


@pytest.mark.thorough
def test_a_run_whose_first_way_is_too_long_is_not_started(runtime: Runtime) -> None:
    workflow_id = give(runtime, *FAR_AWAY["steps"], **FIELDS)

    refused = tool_call(runtime, "start_workflow", workflowId=workflow_id, context=HEAVY_CONTEXT)

    assert "passes more than 100000 places" in json.dumps(refused.structured)
    assert answer(runtime, "session.list")["count"] == 0


def test_artifact_too_large_to_check_blocks_and_says_so(runtime: Runtime) -> None:
    rows = {"type": "array", "items": {"enum": [f"{number}" for number in range(2_000)]}}
    workflow_id = given_contract(
        runtime, {"type": "object", "required": ["rows"], "properties": {"rows": rows}}, rows=["1"]
    )
    reply = start(runtime, workflowId=workflow_id)
    large = {"kind": "project.hostile", "rows": ["1"] * 15_000}

    blocked = tool_call(
        runtime,
        "continue_workflow",
        ackToken=reply["ackToken"],
        output={"notesMarkdown": "done", "artifacts": [large]},
    )

    assert "cannot be checked" in json.dumps(blocked.structured)
    assert rehydrate(runtime, reply)["pending"]["stepId"] == "a"


@pytest.mark.thorough
def test_wrong_members_without_end_are_told_as_far_as_they_help(runtime: Runtime) -> None:
    known: dict[str, Any] = {f"member_with_a_rather_long_name_{number}": {} for number in range(150)}
    schema = {"type": "object", "additionalProperties": False, "properties": {"kind": {}, **known}}
    reply = start(runtime, workflowId=given_contract(runtime, schema, **{next(iter(known)): 1}))
    wrong = {f"nember_with_a_rather_long_mame_{number}": 1 for number in range(1_500)}

    blocked = tool_call(
        runtime,
        "continue_workflow",
        ackToken=reply["ackToken"],
        output={"notesMarkdown": "done", "artifacts": [{"kind": "project.hostile", **wrong}]},
    )

    assert "is not known" in json.dumps(blocked.structured)


def test_values_fill_a_prompt_only_as_far_as_there_is_room(runtime: Runtime) -> None:
    prompt = "{{mood}} " * 3_000
    workflow_id = give(runtime, step("a", prompt=prompt), **FIELDS)

    reply = start(runtime, workflowId=workflow_id, context={"mood": "m" * 4_000})

    text = reply["pending"]["prompt"]
    assert text.count("m" * 4_000) == 16
    assert text.count("{{mood}}") == 3_000 - 16


@pytest.mark.thorough
def test_too_many_fragments_are_named_and_the_step_is_shown(runtime: Runtime) -> None:
    wanted = {"kind": "compare", "input": "blob", "op": "contains", "value": "z"}
    fragments = [{"id": f"f{number}", "when": wanted, "text": f"Text {number}."} for number in range(100)]
    workflow_id = give(runtime, step("a", promptFragments=fragments), **FIELDS)

    reply = start(runtime, workflowId=workflow_id, context={"blob": HEAVY_CONTEXT["blob"]})

    assert "Do a." in reply["pending"]["prompt"]
    assert "[LEFT OUT] 61 fragments" in reply["pending"]["prompt"]
    assert rehydrate(runtime, reply)["pending"]["prompt"] == reply["pending"]["prompt"]


@pytest.mark.thorough
def test_a_simulation_with_too_many_values_to_try_says_so(runtime: Runtime) -> None:
    among = {"kind": "compare", "input": "mood", "op": "in", "value": list(range(8_000))}
    workflow_id = give(runtime, step("a"), step("b", when=among), **FIELDS)

    status, document = command(runtime, "workflow", "simulate", workflow_id)

    assert (status, document["error"]["details"]["domain_code"]) == (2, "WORK_LIMIT_EXCEEDED")
    assert "places and values to try" in document["error"]["message"]


@pytest.mark.thorough
def test_a_simulation_that_walks_too_far_is_cut_and_says_so(runtime: Runtime) -> None:
    inner = [step(f"s{number}", when=equals("mood", f"{number}")) for number in range(60)]
    part: dict[str, Any] = {"type": "loop", "loopId": "l0", "count": 3, "maxIterations": 3, "body": inner}
    for level in range(1, 5):
        part = rounds(f"l{level}", {"count": 3}, part)
    workflow_id = give(runtime, step("a"), part, **FIELDS)

    status, document = command(runtime, "workflow", "simulate", workflow_id, "--report-only")

    assert status == 0
    assert document["data"]["truncated"] is True
