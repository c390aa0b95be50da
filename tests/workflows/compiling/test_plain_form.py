"""One form for one meaning: what equals its default is left out, however it came to be."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from handrail.workflows.compiled import InputSpec, Option, Provenance, Reference, Step, While
from handrail.workflows.compiling.compilation import to_plain_json
from handrail.workflows.conditions import And, Compare, LoopControl
from tests.cases import every_case


def read_again(text: str) -> Any:
    """The same text as an object of its own, as a reader of files makes it."""
    return json.loads(json.dumps({"text": text}))["text"]


@every_case(
    ("value", "expected"),
    [
        (InputSpec(), {}),
        (InputSpec(type=read_again("any")), {}),
        (InputSpec(type="string", required=True), {"type": "string", "required": True}),
        (InputSpec(default=None), {"default": None}),
        (InputSpec(default=0), {"default": 0}),
        (LoopControl(continue_when=read_again("continue")), {"kind": "loop_control"}),
        (While(condition="go"), {"kind": "while", "condition": "go"}),
        (
            Compare(input="x", op="equals", value=False),
            {"kind": "compare", "input": "x", "op": "equals", "value": False},
        ),
        (And(of=(LoopControl(),)), {"kind": "and", "of": [{"kind": "loop_control"}]}),
        (
            Option(id="a", label="A", sets={"deep": [{"x": ()}]}),
            {"id": "a", "label": "A", "sets": {"deep": [{"x": []}]}},
        ),
        (
            Step(id="a", title="A", prompt="P", provenance=Provenance()),
            {"kind": "step", "id": "a", "title": "A", "prompt": "P"},
        ),
        (
            Step(id="a", title="A", prompt="P", require_confirmation="c", notes_optional=True),
            {
                "kind": "step",
                "id": "a",
                "title": "A",
                "prompt": "P",
                "requireConfirmation": "c",
                "notesOptional": True,
            },
        ),
        (
            Reference(id="r", title="R", source="./r", resolve_from=read_again("workspace")),
            {"id": "r", "title": "R", "source": "./r"},
        ),
    ],
)
def test_what_equals_its_default_is_left_out(value: msgspec.Struct, expected: dict[str, Any]) -> None:
    assert to_plain_json(value) == expected


def test_the_form_is_read_back_to_the_same_value() -> None:
    step = Step(id="a", title="A", prompt="P", when="c", provenance=Provenance(kind="template", origin="t"))

    assert msgspec.convert(to_plain_json(step), Step) == step
