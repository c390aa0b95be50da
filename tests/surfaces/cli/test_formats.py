"""The same outcome as JSON, LAFS, text, raw bytes or one bare value; and what every answer leads to."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from handrail.surfaces.cli.reading.command_table import COMMANDS
from handrail.surfaces.cli.self_description.help import help_text
from handrail.wiring import registry
from tests.conftest import memory_runtime
from tests.surfaces.cli.here import run_here
from tests.surfaces.cli.tool import Tool, checked_document, strict_json


@pytest.mark.promise("cli.compact")
@pytest.mark.parametrize("line", [["workflow", "list"], ["session", "list"], ["nope"]])
def test_compact_is_the_same_document_on_one_line(tool: Tool, started: Any, line: list[str]) -> None:
    wide, narrow = tool.run(*line), tool.run("--compact", *line)

    assert narrow.out.count(b"\n") == 1
    assert b'": ' not in narrow.out.replace(b'\\"', b"").split(b'"message"')[0]
    first, second = strict_json(wide.out), strict_json(narrow.out)
    first.pop("meta")
    second.pop("meta")
    assert first == second
    assert wide.out.startswith(b'{\n  "ok": ')


def test_payloads_are_equal_in_both_dialects(fresh_tool: Tool) -> None:
    reply = fresh_tool.data("run", "start", "wr.small_change", "--request-id", "k")
    line = ["run", "continue", "--ack", reply["ackToken"], "--notes", "both dialects"]

    data = checked_document(fresh_tool.run(*line))["data"]
    document = strict_json(fresh_tool.run(*line, "--envelope", "lafs").out)

    assert document["result"] == data
    assert document["_meta"]["contextVersion"] == 2
    assert document["_extensions"]["contextLedger"]["version"] == 2


@pytest.mark.promise("cli.stderr")
def test_text_is_for_people_and_trouble_goes_to_stderr(tool: Tool) -> None:
    good, bad = (
        tool.run("workflow", "list", "--human"),
        tool.run("workflow", "inspect", "wr.smal_change", "--human"),
    )

    assert good.out.splitlines()[0].split() == [b"ID", b"DESCRIPTION"]
    assert good.err == b""
    assert (bad.status, bad.out) == (3, b"")
    lines = bad.err.decode().splitlines()
    assert lines[0].startswith("Error: ")
    assert any(line.startswith("Fix:   ") for line in lines)
    assert lines[-1] == "Code:  WORKFLOW_NOT_FOUND"


@pytest.mark.promise("cli.quiet")
def test_quiet_silences_notices_but_no_errors(tool: Tool) -> None:
    line = ["workflow", "list", "--human", "--fields", "id,colour"]

    assert b"Note: " in tool.run(*line).err
    assert tool.run(*line, "--quiet").err == b""
    assert b"Error: " in tool.run("nope", "--human", "--quiet").err


def test_one_field_is_a_bare_value(fresh_tool: Tool) -> None:
    started = fresh_tool.data("run", "start", "wr.small_change", "--request-id", "own")
    show = ["session", "show", started["session"]["sessionId"], "--field"]

    assert fresh_tool.run(*show, "status").out == b"in_progress\n"
    assert fresh_tool.run(*show, "event_count", "--json").out.strip().isdigit()
    assert strict_json(fresh_tool.run(*show, "health").out)["state"] == "healthy"


@pytest.mark.promise("cli.raw")
def test_raw_is_the_bytes_themselves(tool: Tool) -> None:
    line = ["workflow", "inspect", "wr.small_change", "--part", "source"]

    source = tool.data(*line)["workflow"]["source"]

    assert tool.run(*line, "--format", "raw").out == source.encode()


@pytest.mark.promise("cli.raw")
def test_raw_trouble_is_one_line_on_stderr(tool: Tool) -> None:
    ran = tool.run("workflow", "inspect", "wr.nope", "--part", "source", "--format", "raw")

    assert (ran.status, ran.out) == (3, b"")
    assert strict_json(ran.err)["error"]["code"] == "E_NOT_FOUND"
    assert ran.err.count(b"\n") == 1


@pytest.mark.promise("cli.create-key")
def test_create_without_a_key_names_the_command_with_one(fresh_tool: Tool) -> None:
    line = ["run", "start", "wr.small_change", "--goal", "it's 'quoted'", "--context", '{"a": [1, null]}']

    error = fresh_tool.error(*line)
    again = fresh_tool.error(*line)
    next_command = shlex.split(error["details"]["next_command"])
    replies = [fresh_tool.data(*next_command[1:]) for _ in range(2)]

    assert error["details"]["missing"] == "request_id"
    assert again["details"]["next_command"] == error["details"]["next_command"]
    assert next_command[0] == "handrail"
    assert replies[0] == replies[1]
    assert fresh_tool.data("session", "list")["items"][0]["goal"] == "it's 'quoted'"


def test_the_same_start_in_another_project_gets_another_key(fresh_tool: Tool, tmp_path: Any) -> None:
    here = fresh_tool.error("run", "start", "wr.small_change")
    fresh_tool.project = str(tmp_path)

    there = fresh_tool.error("run", "start", "wr.small_change")

    assert here["details"]["next_command"] != there["details"]["next_command"]


@pytest.mark.parametrize(
    "line",
    [
        ["session", "list", "--limit", "x", "--status", "y", "--bogus"],
        ["workflow", "inspect", "wr.nope"],
        ["run", "continue"],
        ["session", "show", "ses_000000000000"],
        ["nope"],
        ["workflow"],
    ],
)
def test_a_next_command_runs_as_it_stands(tool: Tool, line: list[str]) -> None:
    next_command = tool.error(*line)["details"]["next_command"]

    assert tool.run(*shlex.split(next_command)[1:]).status == 0


def test_a_next_call_of_a_reply_can_be_passed_back_as_input(tool: Tool, started: Any) -> None:
    params = json.dumps(started["nextCall"]["params"]).replace("\\u2026", "done")

    assert tool.data("run", "continue", "--input", params)["kind"] == "ok"


def test_help_of_an_unknown_command_is_still_unknown(tool: Tool) -> None:
    assert tool.error("nope", "--help")["code"] == "E_USAGE"


def test_every_problem_is_told_at_once(tool: Tool) -> None:
    error = tool.error("session", "list", "--limit", "x", "--status", "y", "--bogus")

    assert error["code"] == "E_USAGE"
    assert {problem["param"] for problem in error["details"]["problems"]} == {
        "--limit",
        "--status",
        "--bogus",
    }
    assert all(
        set(problem) == {"param", "problem", "got", "expected"} for problem in error["details"]["problems"]
    )


def test_a_bare_group_lists_its_commands(tool: Tool) -> None:
    assert tool.error("workflow")["details"]["commands"] == [
        path for path in COMMANDS if path.startswith("workflow ")
    ]


def test_line_without_a_command_is_answered_shortly(tool: Tool) -> None:
    bare, quiet = tool.run(), tool.run("--quiet", "--compact")

    assert (bare.status, strict_json(bare.out)["ok"]) == (0, True)
    assert (bare.err, quiet.err) == (help_text(registry(), "").encode(), b"")
    assert len(quiet.out) < 400


@pytest.mark.parametrize(
    ("words", "flags"),
    [((), ("-h",)), (("session",), ("--help",)), (("run", "start"), ("-h", "--quiet"))],
)
def test_help_is_one_text_however_it_is_asked_for(
    tool: Tool, words: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    asked = tool.run(*words, *flags)

    assert asked.out == tool.run("help", *words).out == help_text(registry(), " ".join(words)).encode()
    assert (asked.status, asked.err) == (0, b"")


@pytest.mark.parametrize("typed", ["sesion lst", "foo", "run foo", "session tiemline", "workflw list"])
def test_a_typo_costs_a_line(tool: Tool, typed: str) -> None:
    answer = tool.run(*typed.split(), "--compact").out

    assert len(answer) < 1_000
    assert len(json.loads(answer)["error"]["details"].get("did_you_mean", [])) <= 3


@pytest.mark.parametrize("typed", ["foo", "ship", "session foo"])
def test_nothing_is_offered_for_its_letters_alone(tool: Tool, typed: str) -> None:
    details = tool.error(*typed.split())["details"]

    assert "did_you_mean" not in details
    assert details["next_command"].startswith("handrail help")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("run graph S", "session show S --graph"),
        ("run node S N", "session show S N"),
        ("run compare S A B", "session show S A --compare B"),
        ("session timeline S --limit 5", "session show S --limit 5 --timeline"),
        ("session search words", "session list --query words"),
        ("session gaps --only open", "session inbox --only open --gaps"),
        ("preferences show --session S", "settings show --session S --preferences"),
        ("preferences set --autonomy guided", "settings set --autonomy guided --preferences"),
        ("session start --goal g", "session note --goal g"),
        ("scan --search greet", "code search greet"),
        ("scan --analyze greet", "code explain greet"),
        ("edit --locate greet", "code explain greet --locate"),
        ("edit --rename a --to b", "code rename a --to b"),
        ("edit --changes edits.json", "js-edit --changes edits.json"),
        ("tools --workflow f.json", "run file f.json"),
    ],
)
def test_an_old_name_is_refused_with_the_line_that_replaced_it(tool: Tool, old: str, new: str) -> None:
    error = tool.error(*old.split())

    assert error["code"] == "E_USAGE"
    assert error["details"]["next_command"] == f"handrail {new}"


def test_printed_command_is_typed_as_this_one_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "bin" / "handrail"
    script.parent.mkdir()
    script.touch(0o755)
    monkeypatch.setattr("sys.argv", [str(script)])

    def following(**environment: str) -> str:
        ran = run_here(memory_runtime(), ["session", "show", "ses_x"], environment=environment)
        return str(json.loads(ran.out)["error"]["details"]["next_command"])

    under_uv = {"UV_RUN_RECURSION_DEPTH": "1", "VIRTUAL_ENV": str(tmp_path)}
    assert following(PATH="/nowhere") == f"{shlex.quote(str(script))} session list --compact"
    assert following(PATH=str(script.parent)) == "handrail session list --compact"
    assert following(PATH=str(script.parent), **under_uv) == "uv run handrail session list --compact"
