"""`workflow.validate`: all problems at once, each with place, code and fix; the verdict is a failure."""

from __future__ import annotations

import json

import pytest

from handrail.contract.workflow_files import WorkflowFile
from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.operations.asked import answered, refused, text, workflow

TEN_MISTAKES = """{
  "id": "project.ten mistakes",
  "nam": "Ten mistakes",
  "name": "Ten mistakes",
  "description": "",
  "inputs": {"size": {"type": "strng"}},
  "conditions": [{"id": "big", "kind": "compare", "input": "size", "op": "equal", "value": "big"}],
  "steps": [
    {"id": "one", "title": "One", "prompt": "Do one thing."},
    {"id": "one", "title": "Again", "prompt": "Do it again."},
    {"id": "Two", "title": "Two", "prompt": "Do two things."},
    {"id": "three", "title": 3, "prompt": "Do three things."},
    {"type": "loop", "loopId": "rounds", "maxIterations": 0, "count": 2,
     "body": [{"id": "four", "title": "Four", "prompt": "Do four things."}]},
    {"id": "five", "prompt": "Do five things."}
  ]
}"""
PLACES = [(2, 9), (3, 3), (5, 18), (6, 31), (7, 74), (10, 12), (11, 12), (12, 30), (13, 59), (15, 5)]


def test_a_file_without_problems_passes(runtime: Runtime) -> None:
    report = answered(runtime, "workflow.validate", documents=[text(workflow())])

    assert report["ok"] is True
    assert report["summary"] == {"total": 1, "succeeded": 1, "failed": 0, "skipped": 0}
    assert report["skipped"] == []
    assert report["counts"] == {"error": 0, "warning": 0, "hint": 0}
    assert report["items"] == [
        {
            "target": "flow.json",
            "workflow_id": "project.given",
            "ok": True,
            "problems": [],
            "_untrusted": ["target", "workflow_id", "problems"],
        }
    ]


def test_ten_planted_mistakes_are_ten_problems(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.validate", documents=[text(TEN_MISTAKES)])

    assert (failure.kind.code, failure.kind.native, failure.kind.exit_status) == (
        "WORKFLOW_INVALID",
        "E_VALIDATION",
        2,
    )
    problems = failure.details["report"]["items"][0]["problems"]
    assert [(problem["line"], problem["column"]) for problem in problems] == PLACES
    for problem in problems:
        assert set(problem) - {"edit"} == {"code", "message", "pointer", "line", "column", "fix", "severity"}
        assert problem["severity"] == "error"
        assert problem["fix"].endswith((".", "?"))


def test_a_report_only_is_an_answer(runtime: Runtime) -> None:
    report = answered(runtime, "workflow.validate", documents=[text(TEN_MISTAKES)], reportOnly=True)

    assert report["ok"] is False
    assert report["counts"]["error"] == 10


def test_an_id_is_told_with_the_file_that_has_it(runtime: Runtime) -> None:
    content = json.dumps(workflow(description="")).encode()
    library_of(runtime).held = [WorkflowFile(source_kind="project", source_ref="sub/a.json", content=content)]

    report = answered(runtime, "workflow.validate", workflowIds=["project.given"], reportOnly=True)

    (item,) = report["items"]
    assert (item["target"], item["source_ref"], item["ok"]) == ("project.given", "sub/a.json", False)


def test_one_broken_file_hides_no_other(runtime: Runtime) -> None:
    documents = [text("{", "a.json"), text(workflow(), "b.json"), text("\udcff", "c.json")]

    report = answered(runtime, "workflow.validate", documents=documents, reportOnly=True)

    assert [(item["target"], item["ok"]) for item in report["items"]] == [
        ("a.json", False),
        ("b.json", True),
        ("c.json", False),
    ]
    assert {item["problems"][0]["code"] for item in report["items"] if not item["ok"]} == {"unreadable"}


def test_what_the_compiler_and_the_linter_find_is_told_too(runtime: Runtime) -> None:
    steps = [
        {"id": "a", "title": "A", "prompt": "Do it.", "output": {"contractRef": "wr.contracts.plann"}},
        {"id": "b", "title": "B", "prompt": "Do it.", "when": "nope"},
    ]

    failure = refused(runtime, "workflow.validate", documents=[text(workflow(steps=steps))])

    problems = failure.details["report"]["items"][0]["problems"]
    assert [problem["code"] for problem in problems] == ["unknown_id", "unknown_id"]
    assert "wr.contracts.plan" in problems[0]["fix"] + problems[0]["message"]
    assert all(problem["line"] > 1 for problem in problems)


@pytest.mark.parametrize(("least", "count"), [("error", 0), ("warning", 1), ("hint", 1)])
def test_lighter_problems_can_be_left_out_and_are_still_counted(
    runtime: Runtime, least: str, count: int
) -> None:
    document = text(workflow(inputs={"unused": {"type": "string", "description": "Nobody asks."}}))

    report = answered(runtime, "workflow.validate", documents=[document], minSeverity=least)

    assert report["ok"] is True
    assert len(report["items"][0]["problems"]) == count
    assert report["counts"]["warning"] == 1


@pytest.mark.parametrize(("workflow_id", "code"), [("wr.mine", "reserved_id"), ("mine", "legacy_id")])
def test_name_unusable_for_a_project_is_a_warning_in_a_file(
    runtime: Runtime, workflow_id: str, code: str
) -> None:
    report = answered(runtime, "workflow.validate", documents=[text(workflow(id=workflow_id))])

    (problem,) = report["items"][0]["problems"]
    assert (problem["code"], problem["severity"], problem["line"]) == (code, "warning", 2)


def test_a_reserved_name_is_an_error_in_the_catalog(runtime: Runtime) -> None:
    library_of(runtime).add(text(workflow(id="wr.mine"))["text"].encode(), "mine.json")

    failure = refused(runtime, "workflow.validate", workflowIds=["wr.mine"])

    (problem,) = failure.details["report"]["items"][0]["problems"]
    assert (problem["code"], problem["severity"]) == ("reserved_id", "error")


def test_an_unknown_id_is_not_found_and_the_nearest_is_named(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.validate", workflowIds=["project.three_stops"])

    assert failure.kind.code == "WORKFLOW_NOT_FOUND"
    assert failure.details["did_you_mean"] == ["project.three_steps"]


@pytest.mark.promise("cli.fan-out")
def test_unknown_id_is_an_item_of_its_own(runtime: Runtime) -> None:
    ids = ["project.three_stops", "project.three_steps", "project.three_stops"]

    report = answered(runtime, "workflow.validate", workflowIds=ids, reportOnly=True)

    assert [(item["target"], item["ok"]) for item in report["items"]] == [
        ("project.three_stops", False),
        ("project.three_steps", True),
    ]
    assert report["items"][0]["error"]["code"] == "E_NOT_FOUND"
    assert (report["ok"], report["summary"]["failed"]) == (False, 1)


def test_an_unknown_id_among_others_is_a_negative_verdict(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.validate", workflowIds=["project.three_steps", "project.nope"])

    assert failure.kind.code == "WORKFLOW_INVALID"
    assert failure.message.endswith('first "project.nope" is not there.')


def test_nothing_to_check_is_refused(runtime: Runtime) -> None:
    assert refused(runtime, "workflow.validate").kind.code == "VALIDATION_ERROR"


def test_an_empty_file_is_told_from_a_good_one(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.validate", documents=[text("", "empty.json")])

    (problem,) = failure.details["report"]["items"][0]["problems"]
    assert (problem["code"], problem["severity"], problem["line"]) == ("unreadable", "error", 1)


@pytest.mark.parametrize("operation", ["workflow.simulate", "workflow.graph"])
def test_an_empty_file_is_refused_by_name(runtime: Runtime, operation: str) -> None:
    failure = refused(runtime, operation, document=text("", "empty.json"))

    assert failure.kind.code == "WORKFLOW_INVALID"
    assert failure.details["problems"][0]["code"] == "unreadable"
