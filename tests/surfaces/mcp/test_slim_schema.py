"""Schemas say what a client needs and nothing that only costs tokens."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.surfaces.mcp.tools import input_schema, output_schema


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A docstring that no client needs."""

    notes_markdown: Annotated[str, Meta(description="What happened.", max_length=9)] | UnsetType = UNSET


class Ask(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Another docstring."""

    title: Annotated[str, Meta(min_length=1, pattern="^[a-z]+$")]
    part: Literal["summary", "steps", "source"] | UnsetType = UNSET
    report: Annotated[Report, Meta(description="The report.")] | UnsetType = UNSET
    context: dict[str, Any] | UnsetType = UNSET
    hidden: int = 3


class Pending(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One step."""

    step_id: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer."""

    kind: Literal["ok"]
    pending: Pending | None
    data: Any
    notes: Annotated[str, Meta(description="Words.")] = ""


class Nullable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fields that may be null."""

    word: Annotated[str | None, Meta(description="A word.")] = None
    either: Literal["a"] | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One item."""

    id: str


def test_input_shows_offered_fields_inlined_and_closed() -> None:
    schema = input_schema(Ask, ("title", "part", "report", "context"), {"part": ("summary", "steps")})

    assert schema == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "part": {"type": "string", "enum": ["summary", "steps"]},
            "report": {
                "description": "The report.",
                "type": "object",
                "properties": {"notesMarkdown": {"description": "What happened.", "type": "string"}},
                "additionalProperties": False,
            },
            "context": {"type": "object"},
        },
        "required": ["title"],
        "additionalProperties": False,
    }


def test_a_field_that_the_input_lacks_is_a_broken_assumption() -> None:
    with pytest.raises(AssertionError, match="nowhere"):
        input_schema(Ask, ("nowhere",), {})


def test_output_shows_what_is_always_there() -> None:
    schema = output_schema(Answer, None, Shape())

    assert schema == {
        "type": "object",
        "properties": {"kind": {"type": "string"}, "pending": {}, "data": {}},
    }


def test_an_output_promises_only_what_the_smallest_level_keeps() -> None:
    schema = output_schema(Answer, None, Shape(levels={"minimal": ("kind", "notes")}))

    assert list(schema["properties"]) == ["kind"]


def test_entity_is_shown_by_its_key() -> None:
    schema = output_schema(Answer, None, Shape(levels={"minimal": ("id",)}, select="entity:pending"))

    assert list(schema["properties"]) == ["kind", "pending", "data"]


def test_a_list_is_told_by_its_items() -> None:
    schema = output_schema(Answer, Row, Shape(select="items"))

    assert schema == {"type": "object", "properties": {"items": {"type": "array"}}}


def test_field_with_a_clear_name_has_no_description() -> None:
    schema = input_schema(Ask, ("report",), {}, ("report",))
    answer = output_schema(Answer, None, Shape(), ("data",))

    assert "description" not in schema["properties"]["report"]
    assert "kind" in answer["properties"]
    assert "data" not in answer["properties"]


def test_nullable_type_is_shown_without_a_choice() -> None:
    schema = input_schema(Nullable, ("word", "either"), {})

    assert schema["properties"]["word"] == {"description": "A word.", "type": ["string", "null"]}
    assert schema["properties"]["either"] == {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}
