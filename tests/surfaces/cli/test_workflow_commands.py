"""The workflow commands as strangers meet them: files and ids, raw drawings, verdicts, the write gate."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.reading.params import MOST_FILES, is_workflow_id, workflow_files
from tests.conftest import THREE_STEPS, KeptClaims
from tests.surfaces.cli.here import run_here
from tests.surfaces.cli.tool import Tool, checked_document, strict_json

NEW = ["workflow", "new", "project.fresh"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with a sound workflow, a broken one below it, and a file that is none."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.json").write_bytes(THREE_STEPS)
    (tmp_path / "inner" / "b.json").write_bytes(THREE_STEPS.replace(b'"title"', b'"titel"', 1))
    (tmp_path / "notes.md").write_bytes(b"# Notes")
    return tmp_path


def test_a_directory_stands_for_every_workflow_file_below_it(runtime: Runtime, folder: Path) -> None:
    ran = run_here(runtime, ["workflow", "validate", str(folder), "--report-only"])

    data = checked_document(ran)["data"]
    assert [(item["target"], item["ok"]) for item in data["items"]] == [
        (str(folder / "a.json"), True),
        (str(folder / "inner" / "b.json"), False),
    ]


def test_a_negative_verdict_ends_with_2_and_names_every_place(runtime: Runtime, folder: Path) -> None:
    ran = run_here(runtime, ["workflow", "validate", str(folder)])

    error = checked_document(ran)["error"]
    assert (ran.status, error["code"], error["details"]["domain_code"]) == (
        2,
        "E_VALIDATION",
        "WORKFLOW_INVALID",
    )
    problems = error["details"]["report"]["items"][1]["problems"]
    assert {(problem["line"], problem["column"]) for problem in problems} == {(4, 21)}


def test_a_negative_verdict_as_text_reads_like_a_compiler(runtime: Runtime, folder: Path) -> None:
    ran = run_here(runtime, ["workflow", "validate", str(folder / "inner"), "--format", "text"])

    lines = ran.err.decode().splitlines()
    assert ran.status == 2
    assert ran.out == b""
    assert any(line.startswith(f"{folder}/inner/b.json:4:21 error unknown_key: ") for line in lines)


@pytest.mark.promise("cli.batch-inputs")
def test_files_ids_and_stdin_go_together(tool: Tool, folder: Path) -> None:
    line = ["workflow", "validate", str(folder / "a.json"), "wr.small_change", "-"]

    document = checked_document(tool.run(*line, stdin=THREE_STEPS))

    assert [item["target"] for item in document["data"]["items"]] == [
        str(folder / "a.json"),
        "wr.small_change",
        "-",
    ]


@pytest.mark.promise("cli.batch-stops")
def test_first_broken_file_may_end_the_check(runtime: Runtime, folder: Path) -> None:
    broken, sound = str(folder / "inner" / "b.json"), str(folder / "a.json")
    line = ["workflow", "validate", sound, broken, "wr.small_change", sound, "--continue-on-error", "false"]

    error = strict_json(run_here(runtime, line).out)["error"]
    report = error["details"]["report"]

    assert error["message"].startswith("1 of 2 workflows have errors, 1 not looked at, first ")
    assert [(item["target"], item["ok"]) for item in report["items"]] == [(sound, True), (broken, False)]
    assert set(report["items"][1]["error"]) == {"code", "retryable", "message", "domain_code"}
    assert report["items"][1]["error"]["code"] == "E_VALIDATION"
    assert report["summary"] == {"total": 2, "succeeded": 1, "failed": 1, "skipped": 1}
    assert report["skipped"] == ["wr.small_change"]


def test_a_file_that_is_too_long_or_no_text_is_its_own_problem(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "long.json").write_bytes(b" " * 1_000_001)
    (tmp_path / "odd.json").write_bytes(b'{"id": "\xff"}')

    ran = run_here(runtime, ["workflow", "validate", str(tmp_path), "--report-only"])

    problems = [item["problems"][0] for item in checked_document(ran)["data"]["items"]]
    assert [problem["code"] for problem in problems] == ["unreadable", "unreadable"]


def test_what_looks_like_a_path_is_never_taken_for_an_id(tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(b"")

    assert is_workflow_id("project.mine") is True
    assert is_workflow_id("mine") is True
    assert not any(map(is_workflow_id, ["-", "./mine", "./a.json", "a/b", str(tmp_path / "here")]))


def test_a_directory_without_workflow_files_is_told(runtime: Runtime, tmp_path: Path) -> None:
    ran = run_here(runtime, ["workflow", "validate", str(tmp_path)])

    assert (ran.status, checked_document(ran)["error"]["code"]) == (3, "E_NOT_FOUND")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_pipes_and_linked_directories_are_never_opened(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"{}")
    (tmp_path / "gone.json").symlink_to("nowhere")
    (tmp_path / "linked.json").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.json")

    found = workflow_files(runtime, str(tmp_path), "/project")

    assert {file.source_ref.rpartition("/")[2]: file.trouble.rpartition('" ')[2] for file in found} == {
        "a.json": "",
        "gone.json": "is a link that leads nowhere.",
        "linked.json": "is not a regular file.",
        "pipe.json": "is not a regular file.",
    }


def test_too_many_files_are_refused_and_links_are_not_followed(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "a.json").write_bytes(b"{}")

    found = workflow_files(runtime, str(tmp_path), "/project")

    assert [file.source_ref for file in found] == [str(tmp_path / "a.json")]

    for number in range(MOST_FILES):
        (tmp_path / f"{number}.json").touch()
    with pytest.raises(Exception, match="REQUEST_TOO_LARGE"):
        workflow_files(runtime, str(tmp_path), "/project")


@pytest.mark.parametrize("drawn_as", ["mermaid", "svg", "text"])
def test_raw_prints_the_drawing_itself(runtime: Runtime, drawn_as: str) -> None:
    line = ["workflow", "graph", "project.three_steps", "--as", drawn_as]

    raw = run_here(runtime, [*line, "--format", "raw"])
    data = checked_document(run_here(runtime, line))["data"]

    assert (raw.status, raw.err) == (0, b"")
    assert raw.out.decode() == data["drawing"]


def test_raw_json_is_a_document_of_its_own(runtime: Runtime, folder: Path) -> None:
    ran = run_here(runtime, ["workflow", "graph", str(folder / "a.json"), "--as", "json", "--format", "raw"])

    assert [node["kind"] for node in strict_json(ran.out)["nodes"]] == [
        "start",
        "step",
        "step",
        "step",
        "end",
    ]


def test_a_broken_workflow_prints_nothing_raw(runtime: Runtime, folder: Path) -> None:
    ran = run_here(runtime, ["workflow", "graph", str(folder / "inner" / "b.json"), "--format", "raw"])

    assert (ran.status, ran.out) == (2, b"")
    assert json.loads(ran.err)["error"]["details"]["domain_code"] == "WORKFLOW_INVALID"


def test_raw_does_not_go_with_a_file_that_gets_the_text(runtime: Runtime) -> None:
    line = ["workflow", "convert", "project.three_steps", "--to", "md", "--format", "raw", "--dry-run"]

    flag = run_here(runtime, [*line, "--out", "small.md"])
    whole = run_here(runtime, [*line, "--input", '{"out": "small.md"}'])

    assert flag.status == 2
    assert b"raw does not go with --out" in flag.err
    assert whole.status == 0
    assert strict_json(whole.out)["data"]["preview"]["action"] == "write a workflow file"


def test_people_see_the_text_of_a_converted_workflow_as_it_is(runtime: Runtime) -> None:
    line = ["workflow", "convert", "project.three_steps", "--to", "md"]

    raw = run_here(runtime, [*line, "--format", "raw"])

    assert run_here(runtime, [*line, "--human"]).out == raw.out
    assert raw.out.startswith(b"---\n")


def test_a_file_goes_where_the_line_is_typed(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the file that it reads; an operation takes a relative path from the project."""
    monkeypatch.chdir(tmp_path)
    line = ["workflow", "convert", "project.three_steps", "--to", "md", "--out", "small.md", "--dry-run"]

    change = checked_document(run_here(runtime, line))["data"]["preview"]["changes"][0]

    assert change["id"] == str(tmp_path / "small.md")


def test_the_token_can_come_through_input(runtime: Runtime) -> None:
    token = checked_document(run_here(runtime, [*NEW, "--dry-run"]))["data"]["confirm_token"]
    given = json.dumps({"workflowId": "project.fresh", "confirm": token})

    ran = run_here(runtime, ["workflow", "new", "--input", given])

    assert ran.status == 0


def test_token_that_was_not_recorded_is_reported(runtime: Runtime) -> None:
    token = checked_document(run_here(runtime, [*NEW, "--dry-run"]))["data"]["confirm_token"]
    assert isinstance(runtime.confirmed, KeptClaims)
    runtime.confirmed.refuses = "EROFS"

    ran = run_here(runtime, [*NEW, "--confirm", token])

    assert strict_json(ran.out)["data"]["warnings"][0]["code"] == "CONFIRM_NOT_RECORDED"
    assert ran.err.startswith(b"Warning: ")
    assert b"EROFS" in ran.err
