"""A validation tells every mistake of form, and once the form is right every name that leads nowhere."""

from __future__ import annotations

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import refusal

TEXT = """{
  "id": "project.mixed",
  "nme": "x",
  "name": "Mixed",
  "description": "Two kinds of mistakes.",
  "steps": [
    {"id": "a", "title": "A", "prompt": "p", "when": "nowhere"},
    {"id": "b", "title": "B", "prompt": "p", "output": {"contractRef": "wr.contracts.plann"}}
  ]
}"""


def problems_of(runtime: Runtime, text: str) -> list[tuple[str, int, int]]:
    documents = [{"source": "mixed.json", "text": text}]
    failure = refusal(runtime, "workflow.validate", documents=documents)
    problems = failure.details["report"]["items"][0]["problems"]
    return [(one["code"], one["line"], one["column"]) for one in problems]


def test_names_are_looked_up_once_the_form_is_right(runtime: Runtime) -> None:
    right = TEXT.replace('  "nme": "x",\n', "")

    assert problems_of(runtime, TEXT) == [("unknown_key", 3, 3)]
    assert problems_of(runtime, right) == [("unknown_id", 6, 54), ("unknown_id", 7, 72)]
