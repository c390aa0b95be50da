"""Arguments with wrong names are refused with the caller's own call repaired; text is read as an object."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from handrail.contract.outcome import Failure, NextCall
from handrail.surfaces.mcp.arguments import MOST_FLAWS, SYNONYMS, Accepted, read_arguments
from handrail.surfaces.mcp.tools import Tool, fields_of, offered_tools
from handrail_code.mcp.tool_set import tools
from tests.cases import every_case

TOOLS = offered_tools()


def accepted(tool: str, arguments: dict[str, Any]) -> Accepted:
    result = read_arguments(TOOLS[tool], arguments)
    assert isinstance(result, Accepted), result
    return result


def refused(tool: str, arguments: dict[str, Any]) -> Failure:
    result = read_arguments(TOOLS[tool], arguments)
    assert isinstance(result, Failure), result
    assert result.kind.code == "VALIDATION_ERROR"
    return result


def check_repaired(tool: str, arguments: dict[str, Any], repaired: dict[str, Any]) -> Failure:
    """The refusal offers this call, and this call is taken."""
    refusal = refused(tool, arguments)

    assert refusal.next_call == NextCall(operation=TOOLS[tool].operation, params=repaired)
    assert accepted(tool, repaired).params == repaired
    return refusal


@every_case(
    ("tool", "arguments", "repaired"),
    [
        # the synonym table comes first
        (
            "continue_workflow",
            {"ackToken": "ak1", "notes": "done"},
            {"ackToken": "ak1", "output": {"notesMarkdown": "done"}},
        ),
        (
            "continue_workflow",
            {"ackToken": "ak1", "notesMarkdown": "done"},
            {"ackToken": "ak1", "output": {"notesMarkdown": "done"}},
        ),
        (
            "checkpoint_workflow",
            {"checkpointToken": "ck1", "text": "half"},
            {"checkpointToken": "ck1", "output": {"notesMarkdown": "half"}},
        ),
        ("list_workflows", {"text": "review"}, {"query": "review"}),
        ("continue_workflow", {"continueToken": "ak1"}, {"ackToken": "ak1"}),
        ("continue_workflow", {"token": "ak1"}, {"ackToken": "ak1"}),
        ("list_workflows", {"workspacePath": "/p"}, {"project": "/p"}),
        ("checkpoint_workflow", {"token": "ck1"}, {"checkpointToken": "ck1"}),
        ("start_workflow", {"workflow": "wr.x"}, {"workflowId": "wr.x"}),
        (
            "start_workflow",
            {"workflowId": "wr.x", "sessionId": "ses_1"},
            {"workflowId": "wr.x", "session": "ses_1"},
        ),
        ("resume_session", {"sessionId": "ses_1"}, {"query": "ses_1"}),
        # then spelling
        ("continue_workflow", {"ack_token": "ak1"}, {"ackToken": "ak1"}),
        ("start_workflow", {"workflow-id": "wr.x"}, {"workflowId": "wr.x"}),
        ("continue_workflow", {"akToken": "ak1"}, {"ackToken": "ak1"}),
        ("inspect_workflow", {"workflowld": "wr.x"}, {"workflowId": "wr.x"}),
        # inside an object
        (
            "continue_workflow",
            {"ackToken": "ak1", "output": {"notes": "done"}},
            {"ackToken": "ak1", "output": {"notesMarkdown": "done"}},
        ),
        (
            "continue_workflow",
            {"output": {"notesMarkdown": "done", "ackToken": "ak1"}},
            {"output": {"notesMarkdown": "done"}, "ackToken": "ak1"},
        ),
        # a free name in a start is an input of the workflow
        (
            "start_workflow",
            {"workflowId": "wr.x", "ticketNumber": 7, "context": {"a": 1}},
            {"workflowId": "wr.x", "context": {"a": 1, "ticketNumber": 7}},
        ),
        # no place for it
        ("continue_workflow", {"ackToken": "ak1", "verbose": True}, {"ackToken": "ak1"}),
        ("resume_session", {"ticketNumber": 7}, {}),
        # a value that is not offered, plain text for an object
        (
            "inspect_workflow",
            {"workflowId": "wr.x", "part": "step"},
            {"workflowId": "wr.x", "part": "steps"},
        ),
        ("inspect_workflow", {"workflowId": "wr.x", "part": "source"}, {"workflowId": "wr.x"}),
        (
            "continue_workflow",
            {"ackToken": "ak1", "output": "I did it."},
            {"ackToken": "ak1", "output": {"notesMarkdown": "I did it."}},
        ),
        # artifacts belong into the report, as a list
        (
            "continue_workflow",
            {"ackToken": "ak1", "artifacts": [{"kind": "a.b"}]},
            {"ackToken": "ak1", "output": {"artifacts": [{"kind": "a.b"}]}},
        ),
        (
            "continue_workflow",
            {"ackToken": "ak1", "artifact": {"kind": "a.b"}, "notes": "done"},
            {"ackToken": "ak1", "output": {"artifacts": [{"kind": "a.b"}], "notesMarkdown": "done"}},
        ),
        (
            "continue_workflow",
            {"ackToken": "ak1", "output": {"artefacts": {"kind": "a.b"}}},
            {"ackToken": "ak1", "output": {"artifacts": [{"kind": "a.b"}]}},
        ),
        (
            "checkpoint_workflow",
            {"checkpointToken": "ck1", "output": {"artifacts": {"kind": "a.b"}}},
            {"checkpointToken": "ck1", "output": {"artifacts": [{"kind": "a.b"}]}},
        ),
        (
            "continue_workflow",
            {"ackToken": "ak1", "output": [{"kind": "a.b"}]},
            {"ackToken": "ak1", "output": {"artifacts": [{"kind": "a.b"}]}},
        ),
        (
            "continue_workflow",
            {"ackToken": "ak1", "artifacts": [{"kind": "a.b"}], "output": "I did it."},
            {"ackToken": "ak1", "output": {"notesMarkdown": "I did it.", "artifacts": [{"kind": "a.b"}]}},
        ),
        # tokens of a choice and of a blocked reply
        ("continue_workflow", {"retryAckToken": "ak1"}, {"ackToken": "ak1"}),
        ("continue_workflow", {"choiceToken": "ch1"}, {"ackToken": "ch1"}),
        # preferences belong into their object, in the words that are offered
        (
            "start_workflow",
            {"workflowId": "wr.x", "autonomy": "guided", "risk_policy": "balanced"},
            {"workflowId": "wr.x", "preferences": {"autonomy": "guided", "riskPolicy": "balanced"}},
        ),
        (
            "start_workflow",
            {"workflowId": "wr.x", "mode": "guided"},
            {"workflowId": "wr.x", "preferences": {"autonomy": "guided"}},
        ),
        (
            "start_workflow",
            {"workflowId": "wr.x", "preferences": "aggressive"},
            {"workflowId": "wr.x", "preferences": {"riskPolicy": "aggressive"}},
        ),
        (
            "start_workflow",
            {"workflowId": "wr.x", "preferences": {"autonomy": "Full-Auto-Never-Stop"}},
            {"workflowId": "wr.x", "preferences": {"autonomy": "full_auto_never_stop"}},
        ),
        # a word that no preference offers is an input of the workflow
        (
            "start_workflow",
            {"workflowId": "wr.x", "mode": "deep", "risk": "high"},
            {"workflowId": "wr.x", "context": {"mode": "deep", "risk": "high"}},
        ),
        # several at once
        (
            "continue_workflow",
            {"token": "ak1", "notes": "done", "workspace": "/p"},
            {"ackToken": "ak1", "output": {"notesMarkdown": "done"}, "project": "/p"},
        ),
    ],
)
def test_one_copied_retry_repairs_the_call(
    tool: str, arguments: dict[str, Any], repaired: dict[str, Any]
) -> None:
    check_repaired(tool, arguments, repaired)


def test_refusal_names_the_argument_and_that_nothing_is_stored() -> None:
    refusal = refused("continue_workflow", {"ackToken": "ak1", "notes": "done"})

    assert refusal.message == (
        'continue_workflow, "notes": unknown name; send it as output.notesMarkdown. Nothing was stored.'
    )
    assert refusal.details == {
        "problems": [{"param": "notes", "problem": "unknown name", "fix": "send it as output.notesMarkdown"}],
        "did_you_mean": ["output.notesMarkdown"],
    }
    assert refusal.hint == "Make the call offered here."


def test_a_read_does_not_speak_of_storing() -> None:
    refusal = refused("list_workflows", {"zzz": 1})

    assert refusal.message == (
        'list_workflows, "zzz": unknown name; leave it out; list_workflows takes query, cursor, project.'
    )


def test_every_problem_is_reported_at_once() -> None:
    refusal = refused("inspect_workflow", {"id": "wr.x", "part": "all", "where": "/p"})

    assert [problem["param"] for problem in refusal.details["problems"]] == ["id", "part", "where"]
    assert "2 more in details.problems" in refusal.message


def test_a_repair_never_overwrites_what_the_caller_said() -> None:
    arguments = {"ackToken": "ak1", "notes": "new", "output": {"notesMarkdown": "old"}}

    refusal = refused("continue_workflow", arguments)

    assert refusal.next_call is None
    assert refusal.hint == "Correct what the problems name."
    assert arguments == {"ackToken": "ak1", "notes": "new", "output": {"notesMarkdown": "old"}}


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        (
            "start_workflow",
            {"workflowId": "wr.x", "preferences": {"autonomy": "full_auto"}},
            {
                "param": "preferences.autonomy",
                "problem": '"full_auto" is not offered',
                "fix": "use one of full_auto_never_stop, full_auto_stop_on_user_deps, guided",
            },
        ),
        (
            "start_workflow",
            {"workflowId": "wr.x", "autonomy": "full_auto"},
            {
                "param": "autonomy",
                "problem": "unknown name",
                "fix": "send it as preferences.autonomy, one of "
                "full_auto_never_stop, full_auto_stop_on_user_deps, guided",
            },
        ),
        (
            "continue_workflow",
            {"ackToken": "ak1", "output": {"notesMarkdown": "done", "verdict": "fine"}},
            {
                "param": "output.verdict",
                "problem": "unknown name",
                "fix": "output takes notesMarkdown, artifacts",
            },
        ),
    ],
    ids=["how much an agent may do", "the same at the wrong place", "a part of the report"],
)
def test_what_would_be_recorded_is_neither_guessed_nor_left_out(
    tool: str, arguments: dict[str, Any], problem: dict[str, str]
) -> None:
    refusal = refused(tool, arguments)

    assert refusal.details["problems"] == [problem]
    assert refusal.next_call is None


def test_a_long_call_is_not_sent_back() -> None:
    refusal = refused("continue_workflow", {"ackToken": "ak1", "notes": "x" * 5_000})

    assert refusal.next_call is None
    assert "send it as output.notesMarkdown" in refusal.message


def test_a_flood_of_unknown_names_is_bounded() -> None:
    refusal = refused("start_workflow", {f"name{number}": number for number in range(5_000)})

    assert len(refusal.details["problems"]) == MOST_FLAWS + 1
    assert refusal.next_call is None


@every_case(
    "name",
    ["x" * 100_000, "\x1b[2J\u202eevil", "a\nb", "ak1" + "0" * 53, ""],
)
def test_a_hostile_name_is_not_echoed_raw(name: str) -> None:
    refusal = refused("start_workflow", {"workflowId": "wr.x", name: 1})

    told = json.dumps([refusal.message, refusal.details], ensure_ascii=False)
    assert len(told) < 1_000
    assert all(sign not in told for sign in ("\x1b", "\u202e", "\n", "0" * 53))


@pytest.mark.parametrize(
    ("tool", "field", "sent", "read"),
    [
        ("start_workflow", "context", '{"ticket": "A-1", "n": null}', {"ticket": "A-1", "n": None}),
        ("continue_workflow", "output", ' {"notesMarkdown": "done"}', {"notesMarkdown": "done"}),
        ("continue_workflow", "context", "{}", {}),
    ],
)
def test_an_object_sent_as_text_is_read_once_and_named(
    tool: str, field: str, sent: str, read: dict[str, Any]
) -> None:
    result = accepted(tool, {"project": "/p", field: sent})

    assert result.params == {"project": "/p", field: read}
    assert result.warnings == (
        {
            "code": "INPUT_REPAIRED",
            "message": f"{field} was sent as text and read as JSON; send it as an object next time.",
        },
    )


@every_case(
    "text",
    [
        '{"a": 1',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        "[1]",
        '"{}"',
        '{"a":' * 5_000 + "1" + "}" * 5_000,
    ],
)
def test_text_that_is_no_object_is_refused(text: str) -> None:
    refusal = refused("start_workflow", {"workflowId": "wr.x", "context": text})

    assert refusal.details["problems"] == [
        {"param": "context", "problem": "not an object", "fix": "send a JSON object"}
    ]
    assert refusal.next_call is None


def test_names_inside_a_read_text_are_checked_too() -> None:
    refusal = check_repaired(
        "continue_workflow",
        {"ackToken": "ak1", "output": '{"notes": "done"}'},
        {"ackToken": "ak1", "output": {"notesMarkdown": "done"}},
    )

    assert refusal.details["problems"][0]["param"] == "output.notes"


def test_names_inside_an_artifact_are_free() -> None:
    arguments = {"ackToken": "ak1", "output": {"artifacts": [{"kind": "a.b", "notes": None, "text": "{}"}]}}

    assert accepted("continue_workflow", arguments) == Accepted(params=arguments)


def test_keys_of_context_are_free() -> None:
    arguments = {"workflowId": "wr.x", "context": {"notes": "free", "ackToken": None, "deep": {"x": [1]}}}

    assert accepted("start_workflow", arguments) == Accepted(params=arguments)


def test_a_ten_megabyte_argument_is_refused_by_its_size() -> None:
    result = read_arguments(TOOLS["continue_workflow"], {"ackToken": "x" * 10_000_000})

    assert isinstance(result, Failure)
    assert result.kind.code == "REQUEST_TOO_LARGE"


def test_wrong_types_are_left_to_the_operation() -> None:
    arguments = {"workflowId": 7, "goal": ["x"]}

    assert accepted("start_workflow", arguments).params == arguments


def test_every_synonym_leads_to_a_place_that_some_tool_has() -> None:
    places = [set(places_of(tool)) for tool in (*TOOLS.values(), *tools().values())]

    assert {place for targets in SYNONYMS.values() for place in targets} <= set().union(*places)
    for name, targets in SYNONYMS.items():
        reached = [
            held for held in places if name not in {place.lower() for place in held} and held & set(targets)
        ]
        assert reached, name


def places_of(tool: Tool) -> Iterator[str]:
    for name, schema in fields_of(tool).items():
        yield name
        yield from (f"{name}.{inner}" for inner in schema.get("properties", {}))


@every_case(
    ("tool", "arguments", "meant"),
    [
        ("continue_workflow", {"ackToken": "ak1", "stateToken": None}, {"ackToken": "ak1"}),
        ("continue_workflow", {"ackToken": "", "stateToken": "st1"}, {"stateToken": "st1"}),
        ("list_workflows", {"query": "", "cursor": None, "project": ""}, {}),
        ("resume_session", {"query": None}, {}),
        (
            "start_workflow",
            {
                "workflowId": "wr.x",
                "preferences": {"autonomy": None, "riskPolicy": ""},
                "context": {"ticket": None, "note": ""},
            },
            {"workflowId": "wr.x", "context": {"ticket": None, "note": ""}},
        ),
        ("start_workflow", {"workflowId": "wr.x", "context": None}, {"workflowId": "wr.x"}),
        ("start_workflow", {"workflowId": "wr.x", "context": ""}, {"workflowId": "wr.x"}),
        (
            "checkpoint_workflow",
            {"checkpointToken": "ck1", "output": {"notesMarkdown": "half", "artifacts": None}},
            {"checkpointToken": "ck1", "output": {"notesMarkdown": "half"}},
        ),
    ],
)
def test_null_and_empty_text_mean_an_absent_parameter(
    tool: str, arguments: dict[str, Any], meant: dict[str, Any]
) -> None:
    """Members of `context` are excepted: there null deletes a fact."""
    assert accepted(tool, arguments) == Accepted(params=meant)


def test_null_for_a_required_parameter_is_refused() -> None:
    refusal = refused("start_workflow", {"workflowId": None, "goal": "x"})

    assert [problem["param"] for problem in refusal.details["problems"]] == ["workflowId"]
    assert refusal.next_call is None
