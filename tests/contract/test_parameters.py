"""What a parameter holds is said by its type, and only what is marked is shown in an audit."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Annotated, Any

import msgspec
import pytest

from handrail.contract.parameters import (
    MintedId,
    NamedId,
    PathText,
    TokenText,
    describe_params,
    list_fields,
    list_paths,
)
from handrail.runtime.operation import Operation
from handrail.wiring import registry
from tests.contract.string_fields import list_text_places, put

CANARY = "the canary sings at 4"
OPERATIONS = registry().operations()


class Inner(msgspec.Struct, frozen=True, kw_only=True):
    file: PathText = ""
    text: str = ""


class Sample(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One field of each kind, and one that nobody marked."""

    session: Annotated[MintedId, msgspec.Meta(max_length=40)] | msgspec.UnsetType = msgspec.UNSET
    workflow_id: NamedId = ""
    project: PathText = ""
    ack_token: TokenText = ""
    count: int = 0
    new_field: str = ""
    changes: list[Inner] = []


def measured(value: str) -> dict[str, Any]:
    return {"bytes": len(value.encode()), "sha256": sha256(value.encode()).hexdigest()}


def test_a_field_without_a_marker_is_hidden_as_text() -> None:
    assert describe_params(Sample, {"newField": "hunter2"}) == {"newField": measured("hunter2")}


def test_marked_fields_are_shown_as_they_are() -> None:
    shown = {"session": "ses_0123456789ab", "workflowId": "project.look", "project": "/srv/app", "count": 3}

    assert describe_params(Sample, shown) == shown
    assert describe_params(Sample, {"ackToken": "ak1something"}) == {"ackToken": "[redacted]"}


@pytest.mark.parametrize("name", ["session", "workflowId"])
def test_a_text_in_place_of_an_id_is_hidden(name: str) -> None:
    """Its digest too: it may be a person's name, and those can be guessed."""
    assert describe_params(Sample, {name: CANARY}) == {name: {"bytes": len(CANARY)}}


def test_names_that_the_operation_lacks_are_counted() -> None:
    """A caller may put anything into a name, so it is not repeated either."""
    described = describe_params(Sample, {"my password is hunter2": 1})

    assert "hunter2" not in json.dumps(described)
    assert described["unknown_fields"]["count"] == 1


def test_nested_values_have_their_own_class() -> None:
    given = {"changes": [{"file": "src/a.py", "text": CANARY}]}

    assert describe_params(Sample, given) == {"changes": [{"file": "src/a.py", "text": measured(CANARY)}]}
    assert list_paths(Sample, {"project": "/a", **given}) == [
        ("project", "/a"),
        ("changes[].file", "src/a.py"),
    ]


@pytest.mark.parametrize("value", [{"a": "b"}, ["x", "y"], ["x"] * 60])
def test_a_value_of_another_kind_is_measured(value: Any) -> None:
    assert set(describe_params(Sample, {"workflowId": value})["workflowId"]) == {"bytes", "sha256"}


def test_a_field_that_shows_free_text_carries_a_marker() -> None:
    """The list of all fields of all operations with their class; read it with `pytest -s`."""
    unmarked, rows = [], []
    for called in OPERATIONS:
        known = {field.path: field for field in list_fields(called.input)}
        for path in list_text_places(called.input):
            at = tuple(name for name in path if name != "any")
            field = known.get(at) or known[at[:-1]]
            is_shown = CANARY in json.dumps(describe_params(called.input, {path[0]: put(path, CANARY)}))
            rows.append(f"{called.name:20} {'.'.join(path):30} {field.held:6} {'shown' if is_shown else ''}")
            if is_shown and not (field.is_marked and field.held == "path"):
                unmarked.append((called.name, path))
    print("\n".join(rows))

    assert unmarked == []
    assert len(rows) > 200


@pytest.mark.parametrize("called", OPERATIONS, ids=lambda called: called.name)
def test_texts_that_people_write_are_never_shown(called: Operation) -> None:
    """The fields that stood in clear text before: notes, reasons, titles, values and names of people."""
    for name in ("note", "notes", "title", "goal", "value", "name", "query", "withText", "worker"):
        shown = json.dumps(describe_params(called.input, {name: CANARY, "output": {"notesMarkdown": CANARY}}))
        assert CANARY not in shown
