"""What is called fine runs as its author meant; what is not is told at its place, whoever asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.host.workflow_library import DirectoryLibrary
from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.journeys.conversation import advance, answer, refusal, start
from tests.journeys.given_workflows import choice, equals, give, loop, option, step
from tests.journeys.interfaces import command, tool_call

NO_FIELDS: dict[str, Any] = {}
GATE = [{"assessmentId": "fit", "followups": {"low": "Look again.", "high": "Stop."}}]
ASSESSMENT = {"id": "fit", "purpose": "Fit?", "dimensions": {"scope": ["low", "high"]}}


@pytest.mark.parametrize(
    ("part", "code", "pointer"),
    [
        (step("a", when=equals("sevrity", "high")), "undeclared_name", "/steps/0/when/input"),
        (step("a", prompt="Run {{tset}}."), "undeclared_name", "/steps/0/prompt"),
        (step("a", prompt="Run ${test}."), "bad_placeholder", "/steps/0/prompt"),
        (step("a", prompt="Run {{test|upper}}."), "bad_placeholder", "/steps/0/prompt"),
        (step("a", title="Run {{test}}"), "bad_placeholder", "/steps/0/title"),
        (loop(forEach={"input": "severity", "as": "one"}), "not_a_list", "/steps/0/forEach/input"),
        (loop(forEach={"input": "fils", "as": "one"}), "undeclared_name", "/steps/0/forEach/input"),
        (
            step("a", userOnly={"reason": "needs_user_artifact", "input": "nothing"}),
            "undeclared_name",
            "/steps/0/userOnly/input",
        ),
    ],
)
def test_a_name_that_nothing_gives_is_refused_before_a_run(
    runtime: Runtime, part: dict[str, Any], code: str, pointer: str
) -> None:
    inputs = {"test": {"type": "string"}, "severity": {"type": "string"}, "files": {"type": "array"}}
    found = told_by_file(runtime, part, inputs=inputs)

    assert found == [(code, pointer)]


def told_by_file(runtime: Runtime, *steps: dict[str, Any], **fields: Any) -> list[tuple[str, str]]:
    """What validate, list and start say about a file whose names are wrong; they agree."""
    workflow_id = give(runtime, *steps, **fields)
    content = library_of(runtime).held[-1].content.decode()
    failure = refusal(runtime, "run.start", workflowId=workflow_id)
    report = answer(
        runtime,
        "workflow.validate",
        documents=[{"source": f"{workflow_id}.json", "text": content}],
        reportOnly=True,
    )
    rows = answer(runtime, "workflow.list", source="project")["items"]
    rendered = tool_call(runtime, "start_workflow", workflowId=workflow_id)
    assert failure.kind.code == "WORKFLOW_INVALID"
    assert rendered.is_error
    started = [(one["code"], one["pointer"]) for one in failure.details["problems"]]
    [item] = report["items"]
    validated = [(one["code"], one["pointer"]) for one in item["problems"] if one["severity"] == "error"]
    # A file that cannot be read has only its name; one that cannot be used has its id.
    [row] = [row for row in rows if row["id"] in (f"{workflow_id}.json", workflow_id)]
    assert started == validated == [(one["code"], one["pointer"]) for one in row["problems"]]
    return started


def test_placeholders_of_a_function_are_filled(runtime: Runtime) -> None:
    workflow_id = give(
        runtime,
        step("a", functionRefs=["verify"]),
        inputs={"tool": {"type": "string"}},
        functions={"verify": "Run {{tool}}."},
    )

    first = start(runtime, workflowId=workflow_id, context={"tool": "make check"})

    assert "verify: Run make check." in first["pending"]["prompt"]


@pytest.mark.parametrize(
    ("part", "pointer"),
    [
        (
            choice("a", option("x", size="huge"), option("y", size="small")),
            "/steps/0/options/0/set/size",
        ),
        (step("a", when=equals("size", "lagre")), "/steps/0/when/value"),
        (step("a", when=equals("live", "true")), "/steps/0/when/value"),
        (
            step("a", when={"kind": "compare", "input": "size", "op": "in", "value": ["small", "big"]}),
            "/steps/0/when/value/1",
        ),
    ],
)
def test_a_value_that_the_input_cannot_be_is_refused(
    runtime: Runtime, part: dict[str, Any], pointer: str
) -> None:
    inputs = {"size": {"type": "string", "enum": ["small", "large"]}, "live": {"type": "boolean"}}

    assert told_by_file(runtime, part, step("z", prompt="{{size}}"), inputs=inputs) == [
        ("bad_value", pointer)
    ]


EARLY = {"kind": "compare", "artifact": "wr.plan", "op": "exists"}


@pytest.mark.parametrize(
    ("parts", "fields", "code", "pointer"),
    [
        (
            [step("a", when=EARLY), step("b", output={"contractRef": "wr.contracts.plan"})],
            NO_FIELDS,
            "read_too_early",
            "/steps/0/when/artifact",
        ),
        ([step("a", when=EARLY)], NO_FIELDS, "read_too_early", "/steps/0/when/artifact"),
        (
            [loop(body=[step("b", output={"contractRef": "wr.contracts.plan"})], **{"while": EARLY})],
            NO_FIELDS,
            "read_too_early",
            "/steps/0/while",
        ),
        (
            [step("a", gates=GATE)],
            {"assessments": [ASSESSMENT]},
            "impassable_gate",
            "/steps/0/gates/0/followups",
        ),
        (
            [step("a", gates=[{"assessmentId": "fit"}])],
            {"assessments": [ASSESSMENT | {"dimensions": {"scope": ["l" * 65, "m" * 65]}}]},
            "impassable_gate",
            "/steps/0/gates/0",
        ),
        (
            [{"type": "action", "id": "a", "operation": "workflow.lst"}],
            NO_FIELDS,
            "unknown_id",
            "/steps/0/operation",
        ),
    ],
)
def test_what_only_a_run_would_show_is_told_before_it(
    runtime: Runtime, parts: list[dict[str, Any]], fields: dict[str, Any], code: str, pointer: str
) -> None:
    workflow_id = give(runtime, *parts, **fields)

    failure = refusal(runtime, "run.start", workflowId=workflow_id)
    report = answer(runtime, "workflow.validate", workflowIds=[workflow_id], reportOnly=True)

    assert failure.kind.code == "WORKFLOW_INVALID"
    assert [(one["code"], one["pointer"]) for one in failure.details["problems"]] == [(code, pointer)]
    [item] = report["items"]
    assert (code, pointer) in [(one["code"], one["pointer"]) for one in item["problems"]]
    assert item["ok"] is False


FOREIGN = {
    "id": "project.from_elsewhere",
    "name": "From elsewhere",
    "description": "Another dialect.",
    "metaGuidance": ["Be careful."],
    "steps": [
        {"id": "look", "title": "Look", "prompt": "Look at {{thing}}."},
        {"id": "deep", "title": "Deep", "prompt": "Dig.", "runCondition": {"var": "size", "equals": "Large"}},
        {"id": "end", "title": "End", "prompt": "End."},
    ],
}


@pytest.mark.parametrize(
    ("size", "expected"), [("large", "deep"), (" LARGE ", "deep"), ("Large", "deep"), ("small", "end")]
)
def test_foreign_file_compares_in_any_case(runtime: Runtime, size: str, expected: str) -> None:
    library_of(runtime).add(json.dumps(FOREIGN).encode(), "elsewhere.json")

    first = start(runtime, workflowId="project.from_elsewhere")
    second = advance(runtime, first, "Looked.", context={"size": size})
    report = answer(runtime, "workflow.validate", workflowIds=["project.from_elsewhere"])

    assert second["pending"]["stepId"] == expected
    [item] = report["items"]
    names = [one for one in item["problems"] if one["code"] == "undeclared_name"]
    assert item["ok"] is True
    assert [(one["pointer"], one["severity"]) for one in names] == [
        ("/steps/0/prompt", "warning"),
        ("/steps/1/runCondition/var", "warning"),
    ]


class OnDisk:
    """A project folder, and a runtime that reads it."""

    def __init__(self, runtime: Runtime, root: Path) -> None:
        self.project = root / "project"
        self.workflows = self.project / ".handrail" / "workflows"
        self.contracts = self.project / ".handrail" / "contracts"
        for folder in (self.workflows, self.contracts):
            folder.mkdir(parents=True)
        library = DirectoryLibrary(str(root / "home"), {})
        self.runtime = msgspec.structs.replace(runtime, library=library)

    def put(self, folder: Path, name: str, document: Any) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            document if isinstance(document, str) else json.dumps(document, indent=1), encoding="utf-8"
        )
        return path

    def listed(self) -> dict[str, list[dict[str, Any]]]:
        """Id and errors of every file of the project that `workflow list` shows."""
        status, document = command(
            self.runtime, "workflow", "list", "--source", "project", "--project", str(self.project)
        )
        assert status == 0
        return {
            row["id"]: [one for one in row.get("problems", []) if one["severity"] == "error"]
            for row in document["data"]["items"]
        }

    def validated(self, *paths: Path) -> dict[str, list[dict[str, Any]]]:
        """Id and errors of every file that `workflow validate` looks at."""
        told = self.told(*paths)
        return {name: [one for one in found if one["severity"] == "error"] for name, found in told.items()}

    def told(self, *paths: Path) -> dict[str, list[dict[str, Any]]]:
        """Id and everything that `workflow validate` tells about each file."""
        named = [str(path) for path in paths] or [str(self.project / ".handrail")]
        _, document = command(
            self.runtime, "workflow", "validate", *named, "--report-only", "--project", str(self.project)
        )
        return {item["workflow_id"]: item["problems"] for item in document["data"]["items"]}


@pytest.fixture
def disk(runtime: Runtime, tmp_path: Path) -> OnDisk:
    return OnDisk(runtime, tmp_path)


def workflow(workflow_id: str, *steps: dict[str, Any]) -> dict[str, Any]:
    return {"id": workflow_id, "name": "W", "description": "D.", "steps": list(steps or [step("a")])}


BROKEN_CONTRACT = {
    "id": "project.contracts.table",
    "schema": {
        "type": "object",
        "properties": {"rows": {"type": "strng"}, "unit": {"$ref": "#/$defs/unti"}},
        "$defs": {"unit": {"type": "string"}},
    },
    "example": {"rows": "two"},
}
WRONG_EXAMPLE = {
    "id": "project.contracts.count",
    "schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "example": {"n": "three"},
}


def test_contract_file_is_a_contract_for_everyone(disk: OnDisk) -> None:
    table = disk.put(disk.contracts, "project.contracts.table.json", BROKEN_CONTRACT)
    count = disk.put(disk.contracts, "project.contracts.count.json", WRONG_EXAMPLE)
    using = step("a", output={"contractRef": "project.contracts.table"})
    disk.put(disk.workflows, "w.json", workflow("project.w", using))

    validated, listed = disk.validated(table, count), disk.listed()
    doctor = answer(disk.runtime, "self.doctor", checks=["workflow_library"], project=str(disk.project))
    failure = refusal(disk.runtime, "run.start", workflowId="project.w", project=str(disk.project))

    places = {
        name: [(one["code"], one["pointer"], one["line"]) for one in found]
        for name, found in validated.items()
    }
    assert places == {
        "project.contracts.table": [
            ("broken_contract", "/schema/properties/rows/type", 7),
            ("broken_contract", "/schema/properties/unit/$ref", 10),
        ],
        "project.contracts.count": [("broken_contract", "/example/n", 15)],
    }
    for name, found in validated.items():
        assert listed[name] == found
    assert doctor["checks"][0]["status"] == "warn"
    assert doctor["checks"][0]["details"]["broken_contracts"] == [
        "project.contracts.count.json",
        "project.contracts.table.json",
    ]
    [problem] = failure.details["problems"]
    assert (problem["code"], problem["pointer"]) == ("broken_contract", "/steps/0/output/contractRef")
    assert "project.contracts.table.json" in problem["message"]


def test_unreadable_file_is_validated_under_its_listed_name(
    disk: OnDisk,
) -> None:
    disk.put(disk.workflows, "t.odd.json", "{ broken")
    project = ("--project", str(disk.project))

    (listed,) = disk.listed()
    status, missed = command(disk.runtime, "workflow", "validate", "t.odd", *project)
    _, report = command(disk.runtime, "workflow", "validate", listed, "--report-only", *project)
    _, nowhere = command(disk.runtime, "workflow", "validate", "nowhere.json", *project)

    assert status == 3
    assert missed["error"]["details"]["did_you_mean"] == [listed]
    assert [item["workflow_id"] for item in report["data"]["items"]] == [listed]
    assert report["data"]["counts"]["error"] == 1
    assert nowhere["error"]["message"] == 'There is no workflow and no file "nowhere.json".'


def test_validate_and_list_see_the_same_files_and_errors(disk: OnDisk) -> None:
    disk.put(disk.workflows, "plain.json", workflow("project.plain"))
    disk.put(disk.workflows, "deep/er/nested.json", workflow("project.nested"))
    disk.put(disk.workflows, "reserved.json", workflow("wr.mine"))
    disk.put(disk.workflows, "twice.json", workflow("project.plain"))
    disk.put(disk.workflows, "written.yaml", "id: project.written\n")
    disk.put(disk.workflows, "torn.yaml", "id: [\n")
    disk.put(disk.workflows, "pack/contracts/project.contracts.count.json", WRONG_EXAMPLE)
    disk.put(disk.project / ".handrail", "config.json", {})

    validated, listed = disk.validated(), disk.listed()
    started = answer(
        disk.runtime, "run.start", workflowId="project.nested", goal="Look.", project=str(disk.project)
    )

    codes = {name: [one["code"] for one in found] for name, found in listed.items()}
    assert codes == {
        "project.plain": ["shadowed_id"],  # of the second file; the first one is fine
        "project.nested": [],
        "wr.mine": ["reserved_id"],
        "written.yaml": ["missing_key", "missing_key", "missing_key"],
        "torn.yaml": ["unreadable"],
        "project.contracts.count": ["broken_contract"],
    }
    assert "project.written" in validated  # by the id that it says; a list names the file that is wrong
    validated["written.yaml"] = validated.pop("project.written")
    assert {name: [one["code"] for one in found][:1] for name, found in validated.items()} == {
        name: found[:1] for name, found in codes.items()
    }
    assert started["pending"]["stepId"] == "a"


def test_a_folder_is_read_alike_from_outside_and_from_inside(
    disk: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.put(disk.project / ".handrail", "config.json", {})
    disk.put(disk.project / ".handrail", "contracts/project.contracts.count.json", WRONG_EXAMPLE)
    outside = disk.validated()
    found = []
    for folder in (".", "contracts"):
        monkeypatch.chdir(disk.project / ".handrail" / folder)
        line = ("workflow", "validate", ".", "--report-only", "--project", str(disk.project))
        _, report = command(disk.runtime, *line)
        found.append([item["problems"][0]["code"] for item in report["data"]["items"]])

    assert list(outside) == ["project.contracts.count"]
    assert found == [["broken_contract"], ["broken_contract"]]


def problem_of(runtime: Runtime, document: Any) -> dict[str, Any]:
    """The first error of a file, as the command line's validate tells it."""
    text = document if isinstance(document, str) else json.dumps(document)
    report = answer(
        runtime, "workflow.validate", documents=[{"source": "x.json", "text": text}], reportOnly=True
    )
    found: dict[str, Any] = report["items"][0]["problems"][0]
    return found


def test_fix_names_what_was_meant(runtime: Runtime) -> None:
    inputs = {"size": {"type": "string"}, "other": {"type": "string"}}
    shown = step("z", prompt="{{size}} {{other}}", output={"hints": ["Short."]})
    strange = step("a", when={"kind": "compare", "input": "size", "op": "==", "value": "x"})
    foreign = step("a", runCondition={"var": "size", "equals": "x"})
    doubled = step("a", titel="Another title")

    operator = problem_of(runtime, workflow("project.w", strange, shown) | {"inputs": inputs})
    condition = problem_of(runtime, workflow("project.w", foreign, shown) | {"inputs": inputs})
    twice = problem_of(runtime, workflow("project.w", doubled, shown) | {"inputs": inputs})

    assert operator["fix"] == "Did you mean equals?"
    assert operator["edit"] == [{"op": "replace", "path": "/steps/0/when/op", "value": "equals"}]
    assert condition["fix"] == "Did you mean when?"
    assert "edit" not in condition
    assert twice["fix"] == "title is already there: keep the value that you mean under title."
    assert "edit" not in twice


@pytest.mark.parametrize(
    ("text", "said", "place", "edit"),
    [
        ('{\n "a": 1,\n}', "there is a comma before a closing bracket", (2, 8), (1, "")),
        ('{\n // why\n "a": 1}', "JSON has no comments", (2, 2), (6, "")),
        ("{'a': 1}", "keys and texts need double quotes", (1, 2), (3, '"a"')),
        ('{"a": True}', "JSON writes true, false and null", (1, 7), (4, "true")),
        ('{"a": None}', "JSON writes true, false and null", (1, 7), (4, "null")),
        ("{a: 1}", "a key has no double quotes", (1, 2), (1, '"a"')),
        ('{"a": "\\d"}', "an escape that JSON does not have", (1, 8), (0, "\\")),
        ("id: project.a\n", "this is YAML, not JSON", (1, 1), None),
    ],
)
def test_what_is_almost_json_is_told_apart(
    runtime: Runtime, text: str, said: str, place: tuple[int, int], edit: tuple[int, str] | None
) -> None:
    problem = problem_of(runtime, text)

    assert problem["code"] == "unreadable"
    assert said in problem["message"]
    assert (problem["line"], problem["column"]) == place
    told = [(one.get("length", 0), one.get("text", "")) for one in problem.get("edit", [])]
    assert told == ([] if edit is None else [edit])


def counted_loop(times: int) -> dict[str, Any]:
    late = step("late", when=equals("at", times - 1))
    return loop(count={"times": times, "indexAs": "at"}, maxIterations=times, body=[step("each"), late])


def test_step_behind_limits_is_untried_and_not_dead(
    runtime: Runtime,
) -> None:
    names = [f"flag{number}" for number in range(8)]
    every = [equals(name, False) for name in names]
    inner = loop(
        loopId="inner",
        when={"kind": "and", "of": every[:4]},
        count=1,
        body=[step("rare", when={"kind": "and", "of": every[4:]})],
    )
    inputs = {name: {"type": "boolean"} for name in names} | {"size": {"enum": ["s", "l"]}}
    limited = give(runtime, counted_loop(10), inner, step("z"), inputs=inputs)
    large = loop(
        when=equals("size", "l"), count=1, body=[step("never", when=equals("size", "s")), step("ever")]
    )
    contradicted = give(runtime, large, step("z"), inputs={"size": {"enum": ["s", "l"]}})

    report = answer(runtime, "workflow.simulate", workflowId=limited)
    failure = refusal(runtime, "workflow.simulate", workflowId=contradicted)

    assert (report["ok"], report["truncated"], report["dead_steps"]) == (True, True, [])
    assert [one["step_id"] for one in report["untried"]] == ["late", "rare"]
    assert [one["step_id"] for one in failure.details["report"]["dead_steps"]] == ["never"]


def test_inspect_shows_conditions_in_words(runtime: Runtime) -> None:
    inputs = {"size": {"enum": ["s", "l"]}}
    parts = [
        step("a", when=equals("size", "l"), requireConfirmation=equals("size", "s")),
        loop(until=equals("size", "s")),
        step("named", when="is_large"),
    ]
    declared = [{"id": "is_large", **equals("size", "l")}]
    workflow_id = give(runtime, *parts, inputs=inputs, conditions=declared)

    rendered = tool_call(runtime, "inspect_workflow", workflowId=workflow_id, part="steps")
    status, document = command(runtime, "workflow", "inspect", workflow_id, "--part", "steps")

    assert status == 0
    rows = {row["id"]: row for row in document["data"]["workflow"]["steps"]}
    assert rows["a"]["when"] == 'size = "l"'
    assert rows["a"]["requireConfirmation"] == 'size = "s"'
    assert rows["named"]["when"] == "is_large"
    assert "inline-" not in json.dumps(document)
    assert "inline-" not in str(rendered)
