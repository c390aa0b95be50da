"""What only a run would find is told before one: by validate, and by whoever lists and starts the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from handrail.ports.workspace import DeclaredCheck, Settings
from handrail.runtime.runtime import Runtime
from tests.conftest import settings_of
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import choice, equals, give, loop, option, step
from tests.journeys.interfaces import command, tool_call
from tests.journeys.test_files import OnDisk, told_by_file, workflow

TEST = {"test": {"type": "string", "required": True}}
SIZE = {"severity": {"type": "string", "enum": ["low", "high"]}}
FINDINGS = step("look", output={"contractRef": "wr.contracts.review_findings"})


def read(field: str, artifact: str = "wr.review_findings") -> dict[str, Any]:
    return {"kind": "compare", "artifact": artifact, "field": field, "op": "exists"}


def action(**fields: Any) -> dict[str, Any]:
    return {"type": "action", "id": "run", "operation": "workflow.list"} | fields


def warned(runtime: Runtime, tmp_path: Path, *steps: dict[str, Any], **fields: Any) -> list[tuple[str, ...]]:
    """Code, place and fix of each warning that the command line gives about a file that starts."""
    workflow_id = give(runtime, *steps, **fields)
    path = tmp_path / "x.json"
    path.write_text(json.dumps(workflow("project.x", *steps) | fields), encoding="utf-8")
    status, document = command(runtime, "workflow", "validate", str(path))
    assert status == 0, document
    context = {"test": "a", "n": 1}
    started = tool_call(runtime, "start_workflow", workflowId=workflow_id, context=context)
    assert not started.is_error
    [item] = document["data"]["items"]
    return [
        (one["code"], one["pointer"], one["fix"])
        for one in item["problems"]
        if one["code"] not in ("unused",)
    ]


@pytest.mark.parametrize(
    ("parts", "pointer"),
    [
        (
            [choice("c", option("x", severty="high"), option("y", severity="low"))],
            "/steps/0/options/0/set/severty",
        ),
        ([choice("c", option("x", Severity="high"), option("y"))], "/steps/0/options/0/set/Severity"),
        ([action(saveAs="severty")], "/steps/0/saveAs"),
    ],
)
def test_a_value_under_a_misspelt_name_is_told_where_it_is_set(
    runtime: Runtime, parts: list[dict[str, Any]], pointer: str
) -> None:
    told = told_by_file(runtime, *parts, step("b", when=equals("severity", "high")), inputs=SIZE)

    assert told == [("undeclared_name", pointer)]


def test_a_value_that_is_set_for_the_record_is_no_trouble(runtime: Runtime, tmp_path: Path) -> None:
    both = choice("c", option("x", plan_a=True, why="It is old."), option("y", plan_b=True))

    told = warned(runtime, tmp_path, both, step("b", when=equals("plan_a", True)))

    assert told == []


@pytest.mark.parametrize(
    ("written", "declared"),
    [("slice", "slices"), ("sevrty", "severity")],
)
def test_a_name_that_may_be_another_is_asked_about(
    runtime: Runtime, tmp_path: Path, written: str, declared: str
) -> None:
    one = choice("c", option("x", **{written: "a"}), option("y"))

    told = warned(runtime, tmp_path, step("a"), one, inputs={declared: {}})

    fix = f"Did you mean {declared}?"
    assert told == [("undeclared_name", f"/steps/1/options/0/set/{written}", fix)]


def test_a_parameter_that_the_operation_does_not_take_is_refused(runtime: Runtime) -> None:
    told = told_by_file(runtime, action(params={"qurey": "x", "source": "project"}), step("b"))

    assert told == [("bad_argument", "/steps/0/params/qurey")]


@pytest.mark.parametrize(
    "given", [{"query": 1}, {"limit": "many"}, {"limit": 100_000}, {"source": ["project"]}, {"kind": "x"}]
)
def test_value_refused_by_the_operation_is_refused_in_the_file(
    runtime: Runtime, given: dict[str, Any]
) -> None:
    [name] = given

    assert told_by_file(runtime, action(params=given), step("b")) == [
        ("bad_argument", f"/steps/0/params/{name}")
    ]


def test_a_parameter_that_is_missing_may_come_from_the_agent(runtime: Runtime, tmp_path: Path) -> None:
    told = warned(runtime, tmp_path, action(operation="session.show"), step("b"))

    assert [one[:2] for one in told] == [("bad_argument", "/steps/0/params")]


def test_a_value_that_a_placeholder_gives_is_left_to_the_run(runtime: Runtime, tmp_path: Path) -> None:
    inspect = action(operation="workflow.inspect", params={"workflowId": "{{test}}"})
    listing = action(id="list", params={"limit": "{{n}}", "source": "{{test}}"})

    assert warned(runtime, tmp_path, inspect, listing, step("b"), inputs=TEST | {"n": {}}) == []


ROUTINE = {
    "id": "project.rounds",
    "kind": "routine",
    "name": "Rounds",
    "description": "Go round.",
    "inputs": {
        "n": {"type": "integer", "required": True},
        "size": {"type": "string", "enum": ["low", "high"], "default": "low"},
    },
    "steps": [step("x", prompt="Do {{n}} {{size}}.")],
}
CALLED: dict[str, dict[str, Any]] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "rate": {"type": "number"},
    "any": {},
    "mode": {"type": "string", "enum": ["fast", "slow"]},
    "level": {"type": "string", "enum": ["high", "top"]},
}


@pytest.mark.parametrize(
    ("args", "errors", "warnings"),
    [
        ({"n": 2}, [], []),
        ({"n": "two"}, ["/steps/0/args/n"], []),
        ({}, ["/steps/0/args"], []),
        ({"n": 2, "size": "huge"}, ["/steps/0/args/size"], []),
        ({"n": "{{text}}"}, [], ["/steps/0/args/n"]),
        ({"n": "{{whole}}", "size": "{{level}}"}, [], []),
        ({"n": "{{rate}}"}, [], []),
        ({"n": "{{any}}", "size": "{{text}}"}, [], []),
        ({"n": 2, "size": "{{mode}}"}, [], ["/steps/0/args/size"]),
    ],
)
def test_what_a_routine_is_given_is_held_against_what_it_takes(
    disk: OnDisk, args: dict[str, Any], errors: list[str], warnings: list[str]
) -> None:
    call = {"type": "template_call", "templateId": "project.templates.routine.rounds", "args": args}
    disk.put(disk.workflows, "rounds.json", ROUTINE)
    disk.put(disk.workflows, "x.json", workflow("project.x", call) | {"inputs": CALLED})

    told = [one for one in disk.told(disk.workflows)["project.x"] if one["code"] == "bad_argument"]

    assert [one["pointer"] for one in told if one["severity"] == "error"] == errors
    assert [one["pointer"] for one in told if one["severity"] == "warning"] == warnings


CONTRACT: dict[str, Any] = {
    "id": "project.contracts.t",
    "schema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    "example": {"kind": "project.t", "a": "passed"},
}


@pytest.mark.parametrize("written", ["{{tset}}", "{{a|upper}}", "${x}", "{% if a %}"])
@pytest.mark.parametrize("key", ["guidance", "description"])
def test_placeholder_in_a_lone_contract_is_reported(disk: OnDisk, written: str, key: str) -> None:
    disk.put(disk.contracts, "project.contracts.t.json", CONTRACT | {key: f"Look at {written}."})

    [told] = disk.told(disk.contracts)["project.contracts.t"]
    named = answer(
        disk.runtime,
        "workflow.validate",
        workflowIds=["project.contracts.t"],
        project=str(disk.project),
    )

    assert (told["code"], told["pointer"], told["severity"]) == ("bad_placeholder", f"/{key}", "warning")
    assert named["ok"] is True
    assert [one["code"] for one in named["items"][0]["problems"]] == ["bad_placeholder"]


@pytest.mark.parametrize(
    ("pattern", "severity"), [("/^passed/", "error"), ("/pass(ed)?/i", "warning"), ("^passed", "")]
)
def test_a_pattern_between_slashes_in_a_contract_alone_is_told(
    disk: OnDisk, pattern: str, severity: str
) -> None:
    schema = CONTRACT["schema"] | {"properties": {"a": {"type": "string", "pattern": pattern}}}
    example = {"kind": "project.t", "a": "/passed/i"} if severity == "warning" else CONTRACT["example"]
    disk.put(disk.contracts, "project.contracts.t.json", CONTRACT | {"schema": schema, "example": example})

    told = disk.told(disk.contracts)["project.contracts.t"]
    listed = disk.listed().get("project.contracts.t", [])
    doctor = answer(disk.runtime, "self.doctor", checks=["workflow_library"], project=str(disk.project))

    assert [one["severity"] for one in told] == ([severity] if severity else [])
    assert listed == [one for one in told if severity == "error"]
    assert doctor["checks"][0]["status"] == ("warn" if severity == "error" else "pass")


def test_the_edit_of_a_parameter_is_the_one_the_operation_takes(runtime: Runtime) -> None:
    inspect = action(operation="workflow.inspect", params={"workflow_id": "wr.bug_fix"})
    text = json.dumps(workflow("project.x", inspect))

    report = answer(
        runtime, "workflow.validate", documents=[{"source": "x.json", "text": text}], reportOnly=True
    )

    [problem] = report["items"][0]["problems"]
    assert problem["edit"] == [
        {"op": "move", "from": "/steps/0/params/workflow_id", "path": "/steps/0/params/workflowId"}
    ]


@pytest.mark.parametrize(
    ("parts", "pointer"),
    [
        ([step("b", when=equals("slices.0.id", "x"))], "/steps/1/when/input"),
        ([step("b", prompt="Do {{slices.0}}.")], "/steps/1/prompt"),
        ([loop(forEach={"input": "slices.0.parts", "as": "one"})], "/steps/1/forEach/input"),
        ([step("b", when=read("findings.0.severity"))], "/steps/1/when/field"),
        ([step("b", when=read("verdict.word"))], "/steps/1/when/field"),
        ([step("b", when=read("verdit"))], "/steps/1/when/field"),
        (
            [loop(count={"times": 2, "indexAs": "at"}, body=[step("b", prompt="{{at.x}}")])],
            "/steps/1/body/0/prompt",
        ),
    ],
)
def test_no_member_is_read_of_what_has_none(
    runtime: Runtime, parts: list[dict[str, Any]], pointer: str
) -> None:
    told = told_by_file(runtime, FINDINGS, *parts, inputs={"slices": {"type": "array", "required": True}})

    assert told == [("undeclared_name", pointer)]


def test_what_options_set_is_known(runtime: Runtime) -> None:
    picked = choice("c", option("x", pick="a"), option("y", pick="b"))

    member = told_by_file(runtime, picked, step("b", prompt="Do {{pick.name}}."))
    listed = told_by_file(runtime, picked, loop(forEach={"input": "pick", "as": "one"}))

    assert member == [("undeclared_name", "/steps/1/prompt")]
    assert listed == [("not_a_list", "/steps/1/forEach/input")]


COUNTED = {"type": "array", "countedBy": "n"}
NUMBER = {"type": "number", "required": True}


@pytest.mark.parametrize(
    "inputs",
    [
        {"list": COUNTED | {"countedBy": "list"}},
        {"list": COUNTED | {"countedBy": "n"}, "n": COUNTED | {"countedBy": "list"}},
        {"list": COUNTED, "n": {"type": "boolean"}},
        {"list": COUNTED, "n": {"type": "array"}},
        {"list": COUNTED | {"default": ["a"]}, "n": NUMBER},
        {"list": {"type": "number", "countedBy": "n"}, "n": NUMBER},
    ],
)
def test_a_count_that_counts_nothing_is_told_at_its_place(
    runtime: Runtime, inputs: dict[str, dict[str, Any]]
) -> None:
    told = told_by_file(runtime, step("b", prompt="Do {{list}} and {{n}}."), inputs=inputs)

    assert ("bad_value", "/inputs/list/countedBy") in told


@pytest.mark.parametrize("kind", [{"type": "integer"}, {"type": "number"}, {}])
def test_a_list_that_a_number_counts_is_fine(runtime: Runtime, tmp_path: Path, kind: dict[str, str]) -> None:
    inputs = {"list": COUNTED, "n": kind | {"required": True}}

    told = warned(runtime, tmp_path, step("b"), loop(forEach={"input": "list", "as": "one"}), inputs=inputs)

    assert told == []


@pytest.mark.parametrize(
    "written",
    [
        "Fix {test}.",
        "Fix %(test)s.",
        "Fix {{test.",
        "Fix {{test}.",
        "Fix $test.",
        "{% if test %}Fix it.{% endif %}",
        "Fix <%= test %>.",
    ],
)
def test_a_placeholder_of_another_language_is_asked_about(
    runtime: Runtime, tmp_path: Path, written: str
) -> None:
    told = warned(runtime, tmp_path, step("a", prompt=written), inputs=TEST)

    assert [one[:2] for one in told] == [("bad_placeholder", "/steps/0/prompt")]
    assert "{{test}}" in told[0][2] or "promptFragment" in told[0][2]


def test_braces_that_name_nothing_are_text(runtime: Runtime, tmp_path: Path) -> None:
    prompt = 'Write {"a": {b}}, {other}, %(other)s, $5, {{ test }} and `{% raw %}`.'

    assert warned(runtime, tmp_path, step("a", prompt=prompt), inputs=TEST) == []


PLANTED = "Look at {{tset}}."
ASSESSED = {"id": "fit", "purpose": "Fit?", "dimensions": {"scope": ["low", "high"]}}


@pytest.mark.parametrize(
    ("part", "fields", "pointer"),
    [
        ({"title": PLANTED}, {}, "/steps/0/title"),
        ({"prompt": PLANTED}, {}, "/steps/0/prompt"),
        ({"guidance": [PLANTED]}, {}, "/steps/0/guidance/0"),
        ({"agentRole": PLANTED}, {}, "/steps/0/agentRole"),
        ({"output": {"hints": [PLANTED]}}, {}, "/steps/0/output/hints/0"),
        ({"promptFragments": [{"text": PLANTED}]}, {}, "/steps/0/promptFragments/0/text"),
        (
            {"validation": [{"type": "contains", "value": "a", "message": PLANTED}]},
            {},
            "/steps/0/validation/0",
        ),
        (
            {"gates": [{"assessmentId": "fit", "followups": {"low": "Read {{test}} again."}}]},
            {"assessments": [ASSESSED]},
            "/steps/0/gates/0/followups/low",
        ),
        (
            {"gates": [{"assessmentId": "fit"}]},
            {"assessments": [ASSESSED | {"purpose": PLANTED}]},
            "/assessments/0/purpose",
        ),
        ({}, {"guidance": [PLANTED]}, "/guidance/0"),
        ({}, {"questions": [PLANTED]}, "/questions/0"),
        ({}, {"preconditions": [PLANTED]}, "/preconditions/0"),
        ({}, {"agentRole": PLANTED}, "/agentRole"),
        ({}, {"references": [{"id": "r", "title": "R", "source": PLANTED}]}, "/references/0/source"),
        ({"output": {"contractRef": "project.contracts.t"}}, {}, "/steps/0/output/contractRef"),
    ],
)
def test_every_text_that_is_shown_is_looked_through(
    disk: OnDisk, part: dict[str, Any], fields: dict[str, Any], pointer: str
) -> None:
    contract = CONTRACT | {"guidance": PLANTED}
    disk.put(disk.contracts, "project.contracts.t.json", contract)
    disk.put(disk.workflows, "x.json", workflow("project.x", step("a") | part) | {"inputs": TEST} | fields)

    validated, listed = disk.validated(disk.workflows), disk.listed()

    [problem] = [one for found in validated.values() for one in found]
    assert problem["pointer"].startswith(pointer)
    assert [problem] == [one for found in listed.values() for one in found]


def test_a_name_for_people_is_shown_as_it_stands(runtime: Runtime, tmp_path: Path) -> None:
    told = warned(runtime, tmp_path, step("a", prompt="Do {{test}}."), inputs=TEST, name="Fix {{test}}")

    assert [one[:2] for one in told] == [("bad_placeholder", "/name")]


def matching(pattern: str) -> dict[str, Any]:
    return step("a", validation=[{"type": "regex", "pattern": pattern}, {"type": "length", "minimum": 40}])


def test_a_pattern_between_slashes_is_told_how_it_is_written(runtime: Runtime, tmp_path: Path) -> None:
    told = warned(runtime, tmp_path, matching("/pass/i"))
    assert told == [
        ("bad_pattern", "/steps/0/validation/0/pattern", 'Write "pass" and "flags": "i" beside it.')
    ]


@pytest.mark.parametrize("pattern", ["/^passed/", "/passed$/i"])
def test_pattern_half_between_slashes_matches_nothing(runtime: Runtime, pattern: str) -> None:
    told = told_by_file(runtime, matching(pattern))

    assert told == [("bad_pattern", "/steps/0/validation/0/pattern")]


def test_slashes_of_a_path_mean_themselves(runtime: Runtime, tmp_path: Path) -> None:
    assert warned(runtime, tmp_path, matching("/src/handrail/")) == []


@pytest.mark.parametrize(
    ("parts", "pointer"),
    [
        ([step("a", when=equals("severity", "high")), step("b")], "/steps/0/when"),
        ([loop(**{"while": equals("severity", "high")})], "/steps/0/while"),
        ([step("a", when=equals("n", 1)), step("b", when=equals("severity", "high"))], "/steps/1/when"),
    ],
)
def test_a_value_that_no_step_can_ask_for_in_time_is_told(
    runtime: Runtime, tmp_path: Path, parts: list[dict[str, Any]], pointer: str
) -> None:
    inputs = SIZE | {"n": {"type": "integer", "required": True}}

    told = warned(runtime, tmp_path, *parts, inputs=inputs)

    fix = "Make the input required, give it a default, or read it in a later step."
    assert told == [("read_too_early", pointer, fix)]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([step("a", prompt="{{wr.review_findings.findings}}"), FINDINGS], [("read_too_early", "/steps/0")]),
        ([FINDINGS, step("b", prompt="{{wr.review_findings.finding}}")], [("undeclared_name", "/steps/1")]),
        ([FINDINGS, step("b", prompt="{{wr.plan.slices}}")], [("bad_placeholder", "/steps/1")]),
    ],
)
def test_a_text_shows_only_what_was_delivered_by_then(
    runtime: Runtime, tmp_path: Path, parts: list[dict[str, Any]], told: list[tuple[str, str]]
) -> None:
    behind = step("b", prompt="Post:{{wr.review_findings.findings}}")

    assert told_by_file(runtime, *parts) == told
    assert warned(runtime, tmp_path, FINDINGS, behind) == []


def test_value_known_asked_for_or_optional_is_no_trouble(runtime: Runtime, tmp_path: Path) -> None:
    is_there = {"kind": "compare", "input": "severity", "op": "exists"}
    both = {"kind": "and", "of": [is_there, equals("severity", "high")]}
    later = loop(**{"while": equals("severity", "high")})

    assert warned(runtime, tmp_path, step("a", when=both), step("b"), later, inputs=SIZE) == []


@pytest.mark.parametrize(
    ("is_first", "in_loop"),
    [(True, False), (False, False), (True, True)],
    ids=["before", "behind", "next round"],
)
def test_a_text_before_the_part_that_gives_its_value_is_told(
    runtime: Runtime, tmp_path: Path, *, is_first: bool, in_loop: bool
) -> None:
    showing = step("show", prompt="Show {{opinions}}.")
    giving = choice("ask", option("a", opinions="good"), option("b", opinions="bad"))
    parts = [showing, giving] if is_first else [giving, showing]

    told = warned(runtime, tmp_path, *([loop(count=2, body=parts)] if in_loop else parts))

    fix = "Show it in a step behind the one that gives it."
    assert told == ([("read_too_early", "/steps/0", fix)] if is_first and not in_loop else [])


def test_text_that_reads_an_optional_value_is_reported(runtime: Runtime, tmp_path: Path) -> None:
    high, low = equals("severity", "high"), equals("severity", "low")
    showing = step("show", prompt="Show {{opinions}}.")
    giving = choice("ask", option("a", opinions="good"), option("b", opinions="bad"), when=high)
    other = {**giving, "id": "other", "when": low}

    def told(*parts: dict[str, Any]) -> list[str]:
        found = warned(runtime, tmp_path, step("look"), *parts, inputs=SIZE)
        return [pointer for code, pointer, _ in found if code == "read_too_early"]

    assert told(giving, showing) == ["/steps/2"]
    assert told(giving, {**showing, "when": high}) == []
    assert told(giving, other, showing) == [], "one of the two gives it"


def test_file_under_an_unused_name_is_reported_by_all(disk: OnDisk) -> None:
    for name in ("plain.JSON", "noted.jsonc", "other.json5", "written.YAML"):
        disk.put(disk.workflows, name, workflow(f"project.{name.partition('.')[0]}"))
    disk.put(disk.contracts, "t.YML", CONTRACT)
    for name in ("README.md", "x.json.bak", "notes.txt", ".lint.jsonc", "x.toml"):
        disk.put(disk.workflows, name, "Something else.")

    validated, listed = disk.validated(), disk.listed()
    doctor = answer(disk.runtime, "self.doctor", checks=["workflow_library"], project=str(disk.project))

    told = {one["message"]: one["fix"] for found in validated.values() for one in found}
    assert told == {one["message"]: one["fix"] for found in listed.values() for one in found}
    assert sorted(told.values()) == [
        'Rename it to "noted.json", and take out comments and trailing commas.',
        'Rename it to "other.json", and take out comments and trailing commas.',
        'Rename it to "plain.json".',
        'Rename it to "written.yaml".',
        'Write the same as JSON into "t.json".',
    ]
    details = doctor["checks"][0]["details"]
    assert details["broken"] == ["noted.jsonc", "other.json5", "plain.JSON", "written.YAML"]
    assert details["broken_contracts"] == ["t.YML"]


@pytest.mark.parametrize(
    ("declared", "fix"),
    [
        ([], "Declare tests under checks in .handrail/config.json."),
        (["test"], "Did you mean test?"),
        (["tests"], ""),
    ],
)
def test_a_check_that_nobody_declares_is_told_by_everyone(
    disk: OnDisk, declared: list[str], fix: str
) -> None:
    settings_of(disk.runtime).settings = Settings(
        checks=tuple(DeclaredCheck(name=name, command=("true",)) for name in declared)
    )
    proven = step("prove", evidence={"check": "tests"})
    handing = step("hand", delegate={"children": [{"id": "one", "steps": [proven]}]})
    del handing["prompt"]
    once = loop(count=1, body=[step("prove", evidence={"check": "tests"})])
    disk.put(disk.workflows, "w.json", workflow("team.w", once))
    disk.put(disk.workflows, "d.json", workflow("team.d", handing))
    disk.put(disk.workflows, "o.json", {"extends": "team.w", "id": "team.o", "name": "Other"})
    where = str(disk.project)

    told = {name: [(one["pointer"], one["fix"]) for one in found] for name, found in disk.told().items()}
    (doctor,) = answer(disk.runtime, "self.doctor", checks=["workflow_library"], project=where)["checks"]
    starts = {
        name: answer(disk.runtime, "run.start", workflowId=name, project=where, requestId=name)
        for name in ("team.w", "team.d", "team.o", "team.w")
    }

    places = {
        "team.w": "/steps/0/body/0/evidence/check",
        "team.d": "/steps/0/delegate/children/0/steps/0/evidence/check",
        "team.o": "/extends",
    }
    assert told == {name: [(place, fix)] if fix else [] for name, place in places.items()}
    assert doctor["details"].get("unproven", []) == (["team.d", "team.w"] if fix else [])
    assert (doctor["fix"] or "") == fix
    for reply in starts.values():
        heard = [one for one in reply["warnings"] if one["code"] == "CHECK_NOT_DECLARED"]
        assert [one["details"] for one in heard] == ([{"checks": ["tests"]}] if fix else [])
        assert all(
            fix in one["message"] and f"run close {reply['session']['runId']}" in one["message"]
            for one in heard
        )


@pytest.fixture
def disk(runtime: Runtime, tmp_path: Path) -> OnDisk:
    return OnDisk(runtime, tmp_path)
