"""What a scripted agent fills in: it knows no workflow, and takes values from what it is shown."""

from __future__ import annotations

import re
from typing import Any

from handrail.host.workflow_library import list_bundled_files
from tests.conftest import GivenFiles
from tests.filled_in import PLACEHOLDER

BUNDLED = list_bundled_files()
IDS = [file.source_ref.removesuffix(".md") for file in BUNDLED if b"\ndelegate:" not in file.content]
"""Without those that hand out work: their agent comes back to the run when a child is done, which
`tests/journeys/test_divided_work.py` shows."""
MODES = ["guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"]

ASKED = re.compile(r"^- ([\w.-]+) \((.*?)\)(?:: .*)?$", re.MULTILINE)
WORDS: dict[str, Any] = {
    "a list; [] if there is nothing": ["one"],
    "a number": 1,
    "true | false": True,
    "an object": {},
    "any text": "text",
}


def fitting_word(allowed: str) -> Any:
    """A value for what a prompt asks for; a text where the step itself names it."""
    return WORDS.get(allowed, allowed.split(" | ")[0])


def answered(params: dict[str, Any], prompt: str) -> dict[str, Any]:
    """The offered call with the values that the prompt asks for; the report itself is written later."""
    asked = dict(ASKED.findall(prompt.partition("Send as context with this step")[2]))
    sent = {
        name: fitting_word(asked.get(name, "any text")) if value == PLACEHOLDER else value
        for name, value in params.get("context", {}).items()
    }
    sent = {name: ["one"] if value == [PLACEHOLDER] else value for name, value in sent.items()}
    kept = {name: value for name, value in params.items() if name not in ("output", "context")}
    return kept | ({"context": sent} if sent else {})


def given(params: dict[str, Any], problems: list[dict[str, Any]]) -> dict[str, Any]:
    """The start that a refusal offers, with values such as it expects."""
    expected = {row["param"].removeprefix("context."): row["expected"] for row in problems}
    context = {
        name: _fitting(expected[name]) if value == PLACEHOLDER else value
        for name, value in params["context"].items()
    }
    return params | {"context": context}


def _fitting(expected: str) -> Any:
    if expected.startswith("one of "):
        return expected.removeprefix("one of ").partition(",")[0].partition(":")[0]
    kinds: dict[str, Any] = {"type array": [], "a list": [], "type object": {}, "type integer": 1}
    return next((value for kind, value in kinds.items() if kind in expected), "something")


def needed_by(workflow_id: str) -> GivenFiles:
    """The workflow and every routine: the others play no part in its run, and reading them takes time."""
    return GivenFiles(
        [
            file
            for file in BUNDLED
            if file.source_ref == f"{workflow_id}.md" or file.source_ref.startswith("wr.routine_")
        ]
    )
