"""The reference says everything, truly and in the same bytes, and a slice says only what was asked."""

from __future__ import annotations

import os
import re
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from handrail.contract.catalogue import KINDS
from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.surfaces.cli.reading.command_table import COMMANDS
from handrail.surfaces.cli.reading.parse import mark_of, words_of
from handrail.surfaces.cli.self_description.reference import RISK_TIER, Reference
from handrail.wiring import registry
from tests.house.tree import page
from tests.surfaces.cli.tool import CORE_CODES, Tool, checked_document
from tools.commands.merged import called_of, command_of, derive_errors, rows

TOP = {
    *("tool", "version", "risk_tier", "release_readiness", "global_flags", "commands", "schemas"),
    *("exit_codes", "error_codes", "marks"),
}
COMMAND = {
    *("path", "type", "effect", "where", "tool", "description", "params", "paging", "default_sort", "batch"),
    *("dangerous", "requires_confirmation", "authorised_by", "blast_radius", "output_schema"),
    *("dry_run_output_schema", "errors", "examples", "deprecated"),
}
OF_THREE_WORDS = ("team token ", "team workspace ")
"""A team has things of its own to make and list, and `create` without them would not say what."""
INDEX_TOKENS = 5_000
SCHEMA = {"shape", "fields", "untrusted_fields", "key_style"}


@pytest.fixture(scope="session")
def reference(tool: Tool) -> Any:
    return tool.data("reference", "--mvi", "full")


@pytest.mark.thorough
@pytest.mark.promise("cli.reference")
def test_the_whole_has_every_key_and_the_declared_type(reference: Any) -> None:
    assert set(reference) == TOP
    assert all(set(command) >= COMMAND for command in reference["commands"])
    assert all(set(schema) == SCHEMA for schema in reference["schemas"].values())
    assert msgspec.json.decode(msgspec.json.encode(msgspec.convert(reference, Reference))) == reference


@pytest.mark.promise("cli.reference")
def test_reference_is_an_index_by_default(tool: Tool) -> None:
    index = tool.data("reference")

    head = {"tool", "version", "risk_tier", "release_readiness"}
    assert set(index) == head | {"commands", "schemas", "exit_codes"}
    assert {frozenset(one) for one in index["commands"]} == {
        frozenset({"path", "type", "description", "output_schema"})
    }
    assert {one["output_schema"] for one in index["commands"]} <= set(index["schemas"])
    tokens = estimate_tokens({name: index[name] for name in index if name != "schemas"})
    assert tokens is not None
    assert tokens <= INDEX_TOKENS
    assert "params" in tool.data("reference", "--domain", "run")["commands"][0]


@pytest.mark.promise("cli.reference")
def test_commands_are_flat_sorted_and_all_there(reference: Any) -> None:
    paths = [command["path"] for command in reference["commands"]]

    assert paths == sorted(COMMANDS)


@pytest.mark.promise("cli.schemas")
def test_every_leaf_names_a_schema_with_fields_and_an_example(reference: Any) -> None:
    for command in reference["commands"]:
        labels = [command["output_schema"], command["dry_run_output_schema"]]
        assert reference["schemas"][labels[0]]["fields"], command["path"]
        assert labels[1] is None or reference["schemas"][labels[1]]["fields"]
        assert command["examples"], command["path"]
        assert set(command["errors"]) <= set(KINDS)


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("session list", {"INVALID_TOKEN", "TOKEN_EXPIRED", "TOKEN_SCOPE_MISMATCH"}),
        ("store copy", {"E_CONFIRMATION_REQUIRED", "E_CONFLICT", "KEYRING_INVALID"}),
        ("run checkpoint", {"TOKEN_BAD_SIGNATURE", "TOKEN_UNKNOWN_NODE", "STORE_HISTORY_LOST"}),
    ],
)
def test_cursor_confirmation_and_run_token_bring_their_errors(
    reference: Any, path: str, codes: set[str]
) -> None:
    (command,) = [one for one in reference["commands"] if one["path"] == path]

    assert codes <= set(command["errors"])
    assert len(command["errors"]) == len(set(command["errors"]))


@pytest.mark.thorough
def test_no_operation_lists_an_error_that_follows_anyway() -> None:
    called = [
        (row, operation)
        for _, row in rows().values()
        if (operation := called_of(registry(), row)) is not None
    ]

    assert [
        f"{operation.name}: {code}"
        for row, operation in called
        for code in set(operation.errors) & set(derive_errors(operation, command_of(registry(), row.path)))
    ] == []


@pytest.mark.promise("cli.dangerous-declared")
@pytest.mark.promise("cli.examples")
def test_examples_of_a_write_show_preview_and_call(reference: Any) -> None:
    gated = [command for command in reference["commands"] if command["requires_confirmation"]]

    assert len(gated) >= 8
    for command in gated:
        lines = [example.split() for example in command["examples"]]
        assert any("--dry-run" in line for line in lines), command["path"]
        assert any("--confirm" in line for line in lines), command["path"]
        if command["dangerous"]:
            assert all("--dangerous" in line for line in lines), command["path"]


@pytest.mark.promise("cli.names")
def test_names_are_lower_case_words_and_no_group_is_a_command(reference: Any) -> None:
    paths = {command["path"] for command in reference["commands"]}

    for path in paths:
        words, mark = words_of(path), mark_of(path)
        assert 1 <= len(words.split()) <= 2 or words.startswith(OF_THREE_WORDS), path
        assert words in paths
        assert words.removeprefix("js-").replace(" ", "").isalpha(), path
        assert not mark or re.fullmatch("--[a-z]+", mark), path
        assert path == path.lower()
    groups = {words.rpartition(" ")[0] for words in map(words_of, paths) if " " in words}
    assert not groups & paths


@pytest.mark.promise("cli.params")
def test_boolean_is_a_switch_and_an_enumeration_lists_values(reference: Any) -> None:
    params = [param for command in reference["commands"] for param in command["params"]]

    for param in params:
        assert (param["type"] == "boolean") is (param["kind"] == "switch"), param
        assert bool(param["values"]) is (param["kind"] in ("choice", "choices")), param
    assert {param["kind"] for param in params} >= {"switch", "choice", "choices", "ids", "int"}


@pytest.mark.promise("cli.flags-everywhere")
@pytest.mark.promise("cli.update-no-gate")
def test_the_flags_of_the_table_are_offered_where_they_apply(reference: Any) -> None:
    for command in reference["commands"]:
        flags = set(command["global_flags"])
        if command["output"] != "document":
            continue
        assert flags >= {"--format", "--json", "--fields", "--compact", "--quiet"}, command["path"]
        if command["operation"] in ("code.edit", "code.workflow"):  # without --fix neither writes a file
            continue
        assert ("--dry-run" in flags) is (command["effect"] not in ("read", "record", "process")), command[
            "path"
        ]
        assert ("--confirm" in flags) is (command["effect"] in ("create", "gated", "dangerous")), command


@pytest.mark.promise("cli.dangerous-declared")
def test_effects_say_what_is_needed_and_what_is_at_stake(reference: Any) -> None:
    by_path = {command["path"]: command for command in reference["commands"]}

    assert by_path["session list"]["authorised_by"] is None
    assert by_path["session list"]["blast_radius"] is None
    assert by_path["run continue"]["authorised_by"] == "ackToken"
    assert by_path["run continue"]["requires_confirmation"] is False
    assert by_path["run start"]["authorised_by"] == "requestId or confirm"
    assert by_path["workflow new"]["requires_confirmation"] is True
    assert by_path["workflow new"]["dry_run_output_schema"] == "dry_run"
    assert by_path["run continue"]["dry_run_output_schema"] == "ack_verdict"
    assert by_path["session delete"]["authorised_by"] == "dangerous and confirm"
    for path in ("run answer", "session resolve", "session rename", "check approve"):
        assert "a person" in by_path[path]["authorised_by"]
        assert by_path[path]["type"] == "write"
    assert by_path["run close"]["authorised_by"] == "the call itself"
    assert by_path["check run"]["authorised_by"] == "the call itself, with the rights of its caller"
    assert by_path["session delete"]["batch"] == {
        "param": "--ids",
        "continue_on_error": False,
        "max_targets": 1000,
    }
    for command in reference["commands"]:
        assert (command["type"] == "read") is (command["effect"] in ("read", "scratch")), command["path"]
        assert bool(command["blast_radius"]) is (command["effect"] != "read"), command["path"]
        assert command["dangerous"] is (command["effect"] == "dangerous")
        is_named = command["effect"] not in ("read", "scratch", "server", "update")
        assert bool(command["authorised_by"]) is is_named, command["path"]


def test_keys_that_any_payload_may_have_are_declared(reference: Any) -> None:
    assert reference["marks"] == ["truncated", "truncated_fields", "_untrusted"]


@pytest.mark.promise("cli.sort-declared")
def test_lists_declare_their_order_and_paging(reference: Any) -> None:
    paged = [command for command in reference["commands"] if command["paging"] == "cursor"]

    assert {command["path"] for command in paged} >= {"session list", "workflow list", "workflow builtins"}
    for command in paged:
        fields = reference["schemas"][command["output_schema"]]["fields"]
        if "items" not in fields:  # a document with a page inside, such as the ledger
            continue
        assert fields[:4] == ["items", "count", "next_cursor", "has_more"], command["path"]
        assert command["default_sort"], command["path"]


def test_the_mcp_tool_of_a_command_is_told(reference: Any) -> None:
    tools = {command["path"]: command["tool"] for command in reference["commands"]}

    assert tools["run continue"] == "continue_workflow"
    assert tools["session resume"] == "resume_session"
    assert tools["session list"] is None


@pytest.mark.promise("cli.dotted-fields")
@pytest.mark.promise("cli.untrusted")
def test_payloads_of_runs_are_camel_case_and_say_so(reference: Any) -> None:
    assert reference["schemas"]["reply"]["key_style"] == "camelCase"
    assert "ackToken" in reference["schemas"]["reply"]["fields"]
    listed = reference["schemas"]["session_list"]
    assert {"items", "items.id", "items.goal", "scope"} <= set(listed["fields"])
    assert (listed["shape"], listed["key_style"]) == ("object", "snake_case")
    assert "items.goal" in listed["untrusted_fields"]


@pytest.mark.promise("cli.exits")
def test_codes_and_exits_are_those_of_the_specification(reference: Any) -> None:
    codes = reference["error_codes"]

    for code, (exit_status, retryable) in CORE_CODES.items():
        assert (codes[code]["exit"], codes[code]["retryable"]) == (exit_status, retryable)
    assert codes["E_HUMAN_REQUIRED"] == {
        "exit": 9,
        "retryable": False,
        "reserved": False,
        "native_codes": [],
        "reserved_codes": [],
    }
    assert "SESSION_NOT_FOUND" in codes["E_NOT_FOUND"]["native_codes"]
    assert set(reference["exit_codes"]) == {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "130"}


@pytest.mark.promise("cli.reserved")
def test_a_code_that_no_command_returns_is_reserved(reference: Any) -> None:
    returned = {code for command in reference["commands"] for code in command["errors"]}
    codes = reference["error_codes"]

    told = {code for row in codes.values() for code in row["native_codes"]}
    reserved = {code for row in codes.values() for code in row["reserved_codes"]}
    assert told == {code for code in returned if not code.startswith("E_")}
    assert told | reserved | set(codes) == set(KINDS)
    assert reserved >= {"SERVER_BUSY", "UPSTREAM_OPEN", "CONTEXT_STALE"}
    assert {code for code, row in codes.items() if row["reserved"]} == set()


def test_global_flags_name_their_variables(reference: Any) -> None:
    flags = {flag["name"]: flag for flag in reference["global_flags"]}

    assert flags["--format"]["env"] == "HANDRAIL_FORMAT"
    assert flags["--format"]["values"] == ["json", "text", "raw", "human"]
    assert (flags["--timeout"]["minimum"], flags["--timeout"]["maximum"]) == (1, 3600)
    for command in reference["commands"]:
        assert command["global_flags"] == list(COMMANDS[command["path"]]["globals"])


def test_the_risk_tier_is_that_of_security_md() -> None:
    assert f"Risk tier: **{RISK_TIER}**" in page("SECURITY.md").text


@pytest.mark.promise("cli.reference")
@pytest.mark.parametrize("path", ["run continue", "workflow list", "doctor", "reference"])
def test_a_slice_is_small_and_holds_what_its_command_needs(tool: Tool, reference: Any, path: str) -> None:
    ran = tool.run("reference", "--command", path, "--compact")

    part = checked_document(ran)["data"]
    whole = msgspec.json.encode({"data": reference})
    assert len(ran.out) < len(whole) / 4
    assert set(part) == {*TOP, "selection"} - {"marks"}
    labels = {part["commands"][0]["output_schema"], part["commands"][0]["dry_run_output_schema"]} - {None}
    assert part["selection"] == {
        "kind": "command",
        "value": path,
        "command_count": 1,
        "schema_count": len(labels),
    }
    (known,) = [one for one in reference["commands"] if one["path"] == path]
    (told,) = part["commands"]
    assert told | {"params": []} == known | {"params": []}
    for short, whole_param in zip(told["params"], known["params"], strict=True):
        left_out = whole_param.keys() - short.keys() - {"kind"}
        assert {name: whole_param[name] for name in short} == short
        said = (None, False, whole_param["name"])
        assert [whole_param[name] for name in left_out if whole_param[name] not in said] == []
    assert set(part["schemas"]) == labels
    assert part["exit_codes"] == part["error_codes"] == {}


@pytest.mark.thorough
def test_a_domain_has_all_its_commands(tool: Tool) -> None:
    part = tool.data("reference", "--domain", "run")

    words = ("answer", "checkpoint", "close", "continue", "file", "start")
    assert [one["path"] for one in part["commands"]] == [f"run {word}" for word in words]
    assert part["selection"]["command_count"] == 6
    assert {"ack_verdict", "answered_run", "closed_run", "dry_run", "reply"} < set(part["schemas"])


@pytest.mark.parametrize("label", ["reply", "session_list", "examination"])
@pytest.mark.thorough
def test_a_schema_comes_with_a_json_schema_that_the_answer_keeps(
    tool: Tool, started: Any, label: str
) -> None:
    lines = {
        "reply": ["run", "continue", "--state", started["stateToken"]],
        "session_list": ["session", "list"],
        "examination": ["doctor", "--offline"],
    }
    schema = tool.data("reference", "--schema", label)["schemas"][label]["json_schema"]

    payload = tool.data(*lines[label])

    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(payload)
    assert not Draft202012Validator(schema).is_valid([])


@pytest.mark.parametrize(
    ("line", "near"),
    [
        (["--command", "run contniue"], "run continue"),
        (["--domain", "sesion"], "session"),
        (["--schema", "session_lists"], "session_list"),
    ],
)
@pytest.mark.thorough
def test_an_unknown_name_gets_the_nearest(tool: Tool, line: list[str], near: str) -> None:
    error = tool.error("reference", *line)

    assert error["code"] == "E_NOT_FOUND"
    assert near in error["details"]["did_you_mean"]
    assert near in error["details"]["next_command"], "the whole reference is dear"


@pytest.mark.thorough
def test_a_name_beside_every_other_one_leads_to_the_help(tool: Tool) -> None:
    assert tool.error("reference", "--command", "zzzzzz")["details"]["next_command"] == "handrail help"


@pytest.mark.thorough
@pytest.mark.promise("cli.help-as-data")
def test_help_as_a_document_is_the_slice(tool: Tool) -> None:
    assert tool.data("run", "start", "--help", "--json") == tool.data("reference", "--command", "run start")
    assert tool.data("session", "--help", "--json") == tool.data("reference", "--domain", "session")


@pytest.mark.thorough
@pytest.mark.promise("cli.always-answers")
def test_it_needs_no_store_no_keys_and_no_settings(fresh_tool: Tool, reference: Any) -> None:
    with open(fresh_tool.home, "w", encoding="utf-8") as file:
        file.write("not a directory")
    fresh_tool.environment["AI_NATIVE_CLI_SECRET"] = "short"

    assert fresh_tool.data("reference", "--mvi", "full") == reference
    assert os.path.isfile(fresh_tool.home)


@pytest.mark.thorough
def test_the_minimal_level_keeps_its_published_budget(tool: Tool, started: Any, reference: Any) -> None:
    """LAFS 9.1: per answer, or per item of a list."""
    by_path = {command["path"]: command["mvi_budget"] for command in reference["commands"]}
    lines = {
        "workflow list": [],
        "session list": [],
        "session show": [started["session"]["sessionId"]],
        "context": [],
        "doctor": [],
        "reference": [],
        "changelog": [],
    }

    for path, rest in lines.items():
        payload = tool.data(*path.split(), *rest, "--mvi", "minimal")
        budget = by_path[path]
        costs = [payload] if budget["per"] == "answer" else payload["items"]
        assert costs
        for one in costs:
            assert estimate_tokens(one) <= budget["tokens"], path
