"""A contract, a gate or a rule that is called fine can be met, and what meets it is told before it blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.host.workflow_sources.directories import read_project_settings
from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.journeys.conversation import answer, refusal, start
from tests.journeys.given_workflows import give, loop, step
from tests.journeys.interfaces import command, tool_call

TABLE = "project.contracts.table"
ASKED = {"output": {"contractRef": TABLE}}


def contract(member: Any, row: Any = "x", **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"row": member}, "required": ["row"]}
    return {"id": TABLE, "schema": schema, "example": {"row": row}} | fields


def put(runtime: Runtime, document: dict[str, Any]) -> None:
    library_of(runtime).add(json.dumps(document).encode(), "table.json", "contract")


def errors_of(runtime: Runtime, document: dict[str, Any], source: str) -> list[dict[str, Any]]:
    text = json.dumps(document)
    report = answer(
        runtime, "workflow.validate", documents=[{"source": source, "text": text}], reportOnly=True
    )
    return [one for one in report["items"][0]["problems"] if one["severity"] == "error"]


def example_in(prompt: str) -> dict[str, Any]:
    """The example that a prompt shows."""
    found: dict[str, Any] = json.loads(prompt.partition("Example:\n```json\n")[2].partition("\n```")[0])
    return found


PATTERNS = {"^[A-Z]{2}-[0-9]{4}$": "AB-1234", "^https://": "https://a", r"^\d+\.\d+$": "1.2"}


@pytest.mark.parametrize(("pattern", "row"), PATTERNS.items())
def test_the_example_of_a_prompt_is_accepted_when_it_is_sent(
    runtime: Runtime, pattern: str, row: str
) -> None:
    put(runtime, contract({"type": "string", "pattern": pattern}, row))
    workflow_id = give(runtime, step("a", **ASKED))

    first = start(runtime, workflowId=workflow_id)
    prompt = first["pending"]["prompt"]
    rendered = tool_call(
        runtime,
        "continue_workflow",
        ackToken=first["ackToken"],
        output={"notesMarkdown": "Done.", "artifacts": [example_in(prompt)]},
    )
    _, report = command(runtime, "workflow", "simulate", workflow_id)

    assert f"row: matches the pattern {pattern}" in prompt
    assert not rendered.is_error
    assert rendered.structured["isComplete"] is True
    assert (report["data"]["ok"], report["data"]["unproven"]) == (True, [])


def test_a_contract_without_an_example_is_refused(runtime: Runtime) -> None:
    document = contract({"type": "string"})
    del document["example"]

    [problem] = errors_of(runtime, document, "contracts/table.json")

    assert (problem["code"], problem["message"]) == ("missing_key", "example is missing.")


KINDS: tuple[dict[str, Any], ...] = (
    {"const": "other"},
    {"type": "integer"},
    {"type": "string", "pattern": "^x"},
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_contract_that_refuses_its_own_kind_is_refused(runtime: Runtime, kind: dict[str, Any]) -> None:
    document = contract({"type": "string"})
    document["schema"]["properties"]["kind"] = kind
    put(runtime, document)
    workflow_id = give(runtime, step("a", **ASKED))

    failure = refusal(runtime, "workflow.simulate", workflowId=workflow_id)

    assert failure.kind.code == "WORKFLOW_INVALID"
    [problem] = errors_of(runtime, document, "contracts/table.json")
    assert problem["pointer"] == "/schema/properties/kind"
    assert '{"const": "project.table"}' in problem["fix"]


def test_an_example_of_another_kind_is_told(runtime: Runtime) -> None:
    document = contract({"type": "string"}, example={"kind": "project.chair", "row": "x"})

    [problem] = errors_of(runtime, document, "contracts/table.json")

    assert problem["pointer"] == "/example/kind"
    assert "edit" not in problem


def test_assessment_asked_for_twice_is_an_impassable_gate(runtime: Runtime) -> None:
    assessment = {"id": "fit", "purpose": "Fit?", "dimensions": {"scope": ["low", "high"]}}
    gates = [{"assessmentId": "fit"}, {"assessmentId": "fit"}]
    workflow_id = give(runtime, step("a", gates=gates), assessments=[assessment])

    failure = refusal(runtime, "run.start", workflowId=workflow_id)

    [problem] = failure.details["problems"]
    assert (problem["code"], problem["pointer"]) == ("impassable_gate", "/steps/0/gates/1")


RULE_SCHEMAS = (
    ({"type": "objekt"}, '"type" cannot have this value'),
    ({"$ref": "#/$defs/no"}, "does not exist"),
    ({"type": "array", "items": [{"type": "string"}]}, '"items" cannot have this value'),
    ({"multipleOf": 0}, '"multipleOf" cannot have this value'),
)


@pytest.mark.parametrize(("schema", "said"), RULE_SCHEMAS)
def test_the_schema_of_a_rule_is_checked_as_that_of_a_contract(
    runtime: Runtime, schema: dict[str, Any], said: str
) -> None:
    workflow_id = give(runtime, step("a", validation=[{"type": "schema", "schema": schema}]))

    failure = refusal(runtime, "run.start", workflowId=workflow_id)

    assert [one["message"] for one in failure.details["problems"] if said in one["message"]]


def test_contract_among_workflows_is_pointed_to_its_folder(runtime: Runtime) -> None:
    document = contract({"type": "strin"})

    found = errors_of(runtime, document, "workflows/table.json")
    [other] = errors_of(
        runtime,
        {"id": "project.w", "name": "W", "description": "D.", "steps": [step("a")]},
        "contracts/w.json",
    )

    assert [(one["code"], one["pointer"]) for one in found] == [
        ("bad_source", ""),
        ("broken_contract", "/schema/properties/row/type"),
    ]
    assert ".handrail/contracts" in found[0]["fix"]
    assert ".handrail/workflows" in other["fix"]


def test_contract_in_a_subfolder_is_a_contract_for_all(
    runtime: Runtime,
) -> None:
    sound = contract({"type": "string"})

    assert errors_of(runtime, sound, ".handrail/contracts/deep/table.json") == []


def test_two_contract_files_of_one_id_are_an_error_for_all(runtime: Runtime) -> None:
    put(runtime, contract({"type": "string"}))
    put(runtime, contract({"type": "integer"}, 1))

    listed = answer(runtime, "workflow.list", source="project")["items"]
    [problem] = errors_of(runtime, contract({"type": "integer"}, 1), "contracts/table.json")

    assert problem["code"] == "shadowed_id"
    assert [one["code"] for row in listed for one in row.get("problems", [])] == ["shadowed_id"]


def test_workflow_names_the_unreadable_contract_file(runtime: Runtime) -> None:
    library_of(runtime).add(b'{"id": oops}', "table.json", "contract")
    workflow_id = give(runtime, step("a", **ASKED))

    failure = refusal(runtime, "run.start", workflowId=workflow_id)

    [problem] = failure.details["problems"]
    assert (problem["code"], "contract file table.json" in problem["message"]) == ("broken_contract", True)


def test_contract_id_in_a_condition_gets_the_artifact_kind(runtime: Runtime) -> None:
    when = {"kind": "compare", "artifact": "wr.contracts.plan", "field": "goal", "op": "exists"}
    steps = [step("a", output={"contractRef": "wr.contracts.plan"}), step("b", when=when)]
    document = {"id": "project.w", "name": "W", "description": "D.", "steps": steps}

    [problem] = errors_of(runtime, document, "w.json")

    assert problem["fix"] == "Did you mean wr.plan?"
    assert [row["value"] for row in problem["edit"]] == ["wr.plan"]


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ({"$ref": "#"}, "names the schema that it stands in"),
        ({"$ref": "#/definitions/row"}, "names nothing under $defs"),
        ({"$ref": "other.json"}, "leaves the document"),
        ({"oneOf": []}, "$ref"),
    ],
)
def test_a_reference_is_told_for_what_it_is(runtime: Runtime, member: dict[str, Any], said: str) -> None:
    [problem] = errors_of(runtime, contract(member), "contracts/table.json")

    assert said in f"{problem['message']} {problem['fix']}"


def test_a_misspelt_type_of_a_contract_is_one_error(runtime: Runtime) -> None:
    document = contract({"type": "string"})
    document["schema"]["type"] = "objekt"

    [problem] = errors_of(runtime, document, "contracts/table.json")

    assert problem["pointer"] == "/schema/type"


def test_starts_that_were_left_out_are_told(runtime: Runtime) -> None:
    inputs = {"size": {"enum": ["s", "m", "l"], "required": True}}
    workflow_id = give(
        runtime,
        step("a", prompt="{{size}}"),
        step("b", when={"kind": "compare", "input": "size", "op": "equals", "value": "s"}),
        inputs=inputs,
    )

    report = answer(runtime, "workflow.simulate", workflowId=workflow_id, maxStarts=1, reportOnly=True)

    assert report["starts_tried"] < report["starts_possible"]
    assert report["truncated"] is True


SCORE = {"id": "fit", "purpose": "Fit?", "dimensions": {"scope": ["low", "high"]}}
FILES = {"files": {"type": "array", "required": True}, "size": {"type": "string", "required": True}}


def compare(name: str, value: Any) -> dict[str, Any]:
    return {"kind": "compare", "input": name, "op": "equals", "value": value}


UNMEANT: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a member of a text, compared": (
        step("a", when=compare("size.level", "x")),
        {"inputs": FILES},
        "/steps/0/when/input",
    ),
    "a member of a text, shown": (step("a", prompt="{{size.name}}"), {"inputs": FILES}, "/steps/0/prompt"),
    "an item called as its list": (
        loop(forEach={"input": "files", "as": "files"}),
        {"inputs": FILES},
        "/steps/0/forEach/as",
    ),
    "an index called as its item": (
        loop(forEach={"input": "files", "as": "one", "indexAs": "one"}),
        {"inputs": FILES},
        "/steps/0/forEach/indexAs",
    ),
    "a count beyond the limit": (loop(count=10), {}, "/steps/0/count"),
    "an index compared with a text": (
        loop(
            forEach={"input": "files", "as": "one", "indexAs": "at"},
            body=[step("do", when=compare("at", "0"))],
        ),
        {"inputs": FILES},
        "/steps/0/body/0/when/value",
    ),
    "no dimension": (
        step("a", gates=[{"assessmentId": "fit"}]),
        {"assessments": [SCORE | {"dimensions": {}}]},
        "/assessments/0/dimensions",
    ),
    "a level twice": (
        step("a", gates=[{"assessmentId": "fit"}]),
        {"assessments": [SCORE | {"dimensions": {"scope": ["low", "low"]}}]},
        "/assessments/0/dimensions/scope/1",
    ),
}


@pytest.mark.parametrize("name", sorted(UNMEANT))
def test_what_cannot_be_meant_is_an_error_at_its_place(runtime: Runtime, name: str) -> None:
    part, fields, pointer = UNMEANT[name]
    document = {"id": "project.w", "name": "W", "description": "D.", "steps": [part]} | fields

    found = errors_of(runtime, document, "w.json")

    assert [one["pointer"] for one in found] == [pointer]


def test_mistyped_foreign_comparison_is_a_changed_meaning(runtime: Runtime) -> None:
    steps = [step("a"), step("b", runCondition={"var": "size", "equal": "Large"})]
    document = {
        "id": "project.w",
        "name": "W",
        "description": "D.",
        "metaGuidance": ["Look."],
        "steps": steps,
    }

    report = answer(
        runtime, "workflow.validate", documents=[{"source": "w.json", "text": json.dumps(document)}]
    )

    changed = [one for one in report["items"][0]["problems"] if one["code"] == "changed_meaning"]
    assert [(one["pointer"], one["fix"]) for one in changed] == [
        ("/steps/1/runCondition/equal", "Did you mean equals?")
    ]


@pytest.mark.parametrize("value", ["more", {"a": 1}, ["nope"]])
def test_directories_that_cannot_be_looked_into_are_listed(tmp_path: Path, value: Any) -> None:
    folder = tmp_path / ".handrail"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"workflowDirectories": value}), encoding="utf-8")

    found = read_project_settings(str(tmp_path))

    assert [one.source_kind for one in found.troubles] == ["project"]
    assert "workflowDirectories" in found.troubles[0].source_ref


TEXT = {"type": "string"}
LONG = ["m" * 53 + str(at) for at in range(3)]


def closed(**members: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(members)}


@pytest.mark.parametrize(
    ("member", "row", "expected", "is_shown"),
    [
        (
            closed(path=TEXT, line={"type": "integer"}),
            {"path": "a", "line": 1},
            {"path": "…", "line": "… number"},
            True,
        ),
        ({"type": "array", "items": {"type": "object"}}, [], [{"…": "…"}], True),
        ({"$ref": "#/$defs/place"}, {"path": "a"}, {"path": "…"}, True),
        ({"type": "array", "items": closed(claim=TEXT)}, [], [{"claim": "…"}], False),
        ({"type": "array", "items": closed(claim=TEXT)}, [{"claim": "It is."}], [{"…": "…"}], True),
        (
            {
                "type": "array",
                "items": closed(claim=TEXT, proof={"type": "array", "items": closed(ref=TEXT)}),
            },
            [{"claim": "It is.", "proof": []}],
            [{"claim": "…", "proof": [{"ref": "…"}]}],
            False,
        ),
        (
            closed(**dict.fromkeys(LONG, TEXT)),
            dict.fromkeys(LONG, "a"),
            {LONG[0]: "…", "…": "…"},
            True,
        ),
    ],
)
def test_nested_members_are_named_before_they_can_block(
    runtime: Runtime, member: dict[str, Any], row: Any, expected: Any, is_shown: bool
) -> None:
    given = contract(member, row)
    given["schema"]["$defs"] = {"place": closed(path=TEXT)}
    put(runtime, given)

    first = tool_call(runtime, "start_workflow", workflowId=give(runtime, step("a", **ASKED)))
    blocked = tool_call(
        runtime,
        "continue_workflow",
        ackToken=first.structured["ackToken"],
        output={"notesMarkdown": "x", "artifacts": [{"kind": "project.table", "row": "?"}]},
    )

    named = {"kind": "project.table", "row": expected}
    short = {"kind": "project.table", "…": "…"}
    for reply, wanted in ((first, named), (blocked, short if is_shown else named)):
        (frame,) = reply.structured["nextCall"]["params"]["output"]["artifacts"]
        assert frame == wanted, "what the example beside a blocked call shows is not said twice"
        assert json.dumps(frame, ensure_ascii=False, separators=(",", ":")) in reply.text


def test_the_names_of_members_keep_within_the_cost_of_a_frame(runtime: Runtime) -> None:
    members = [f"member{number}" for number in range(16)]
    put(runtime, contract(closed(**dict.fromkeys(members, TEXT)), dict.fromkeys(members, "a")))
    workflow_id = give(runtime, step("plain"), step("a", **ASKED))
    first = tool_call(runtime, "start_workflow", workflowId=workflow_id).structured

    second = tool_call(
        runtime, "continue_workflow", ackToken=first["ackToken"], output={"notesMarkdown": "x"}
    ).structured

    costs = [estimate_tokens(reply["nextCall"]["params"]["output"]) or 0 for reply in (first, second)]
    assert costs[1] - costs[0] <= 60
