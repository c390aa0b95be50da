"""Documents of the neighbouring dialect for the tests, and short ways to look at what became of them."""

from __future__ import annotations

import json
from typing import Any

from handrail.workflows.dialect.translation import Translation, to_native
from handrail.workflows.problem import Problem
from handrail.workflows.reading.reader import read_workflow

Object = dict[str, Any]


def foreign(*steps: Any, **keys: Any) -> Object:
    """A document around these steps; keys are put beside them."""
    listed = list(steps) or [step()]
    return {
        "id": "their.workflow",
        "name": "Theirs",
        "description": "From elsewhere.",
        "version": "0.1.0",
        **keys,
        "steps": listed,
    }


def step(name: str = "one", **keys: Any) -> Object:
    return {"id": name, "title": f"Title {name}", "prompt": f"Prompt of {name}.", **keys}


def loop(name: str = "again", body: Any = None, **settings: Any) -> Object:
    inside = [step("inside")] if body is None else body
    return {"id": name, "type": "loop", "title": f"Loop {name}", "loop": settings, "body": inside}


def translated(*steps: Any, **keys: Any) -> Translation:
    """The translation, after a check that the native reader has nothing against it."""
    found = to_native(foreign(*steps, **keys))
    accept(found)
    return found


def accept(found: Translation) -> None:
    """The native reader finds no error in the document, and the translation made none."""
    assert [problem for problem in found.problems if problem.severity == "error"] == []
    reading = read_workflow(json.dumps(found.document).encode())
    assert [problem for problem in reading.problems if problem.severity == "error"] == []


def only_step(**keys: Any) -> Object:
    """What became of one step with these keys."""
    part: Object = translated(step(**keys)).document["steps"][0]
    return part


def told(found: Translation, code: str = "changed_meaning") -> list[str]:
    """The pointers of the warnings with this code."""
    return [problem.pointer for problem in found.problems if problem.code == code]


def about(found: Translation, pointer: str) -> Problem:
    """The one warning at this pointer."""
    (problem,) = [problem for problem in found.problems if problem.pointer == pointer]
    return problem
