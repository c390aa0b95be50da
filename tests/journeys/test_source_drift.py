"""A workflow file that changes under a run: told by what it means, wherever the run is found again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.contract.workflow_files import WorkflowFile
from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.journeys.conversation import answer, rehydrate, start
from tests.journeys.interfaces import tool_call

CONTRACT: dict[str, Any] = {
    "id": "project.contracts.note",
    "artifactKind": "project.note",
    "schema": {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "project.note"}}},
    "example": {"kind": "project.note"},
    "guidance": "Say it.",
}
WORKFLOW: dict[str, Any] = {
    "id": "project.noted",
    "name": "Noted",
    "description": "For a journey.",
    "steps": [
        {"id": "one", "title": "One", "prompt": "Do it.", "output": {"contractRef": "project.contracts.note"}}
    ],
}


def put(runtime: Runtime, workflow: bytes, contract: bytes) -> None:
    library_of(runtime).held[:] = [
        WorkflowFile(source_kind="project", source_ref="noted.json", content=workflow),
        WorkflowFile(source_kind="project", source_ref="note.json", content=contract, holds="contract"),
    ]


def drift_told(runtime: Runtime, first: dict[str, Any]) -> tuple[bool, bool]:
    """Whether reading again tells it, and whether finding the run does."""
    (found,) = answer(runtime, "session.resume", query=first["session"]["sessionId"])["items"]
    read = rehydrate(runtime, first)
    told = [[one["code"] for one in held.get("warnings", [])] for held in (read, found)]
    return "WORKFLOW_SOURCE_DIFFERS" in told[0], "WORKFLOW_SOURCE_DIFFERS" in told[1]


@pytest.mark.parametrize(
    ("workflow", "expected"),
    [(json.dumps(WORKFLOW | {"name": "Other"}), 1), (json.dumps(WORKFLOW, indent=4), 0)],
    ids=["another meaning", "another layout"],
)
def test_report_checkpoint_and_repeats_name_the_drift(runtime: Runtime, workflow: str, expected: int) -> None:
    put(runtime, json.dumps(WORKFLOW).encode(), json.dumps(CONTRACT).encode())
    first = start(runtime, workflowId="project.noted")
    put(runtime, workflow.encode(), json.dumps(CONTRACT).encode())

    noted = {"checkpointToken": first["checkpointToken"], "output": {"notesMarkdown": "half"}}
    saved = [tool_call(runtime, "checkpoint_workflow", **noted).structured for _ in range(2)]
    report = {"notesMarkdown": "done", "artifacts": [{"kind": "project.note"}]}
    sent = {"ackToken": first["ackToken"], "output": report}
    done = [tool_call(runtime, "continue_workflow", **sent).structured for _ in range(2)]

    for one, again in (saved, done):
        told = [held["code"] for held in one.get("warnings", [])]
        assert told.count("WORKFLOW_SOURCE_DIFFERS") == expected
        assert again == one


MARKDOWN = b"""---
id: project.noted
name: Noted
description: For a journey.
---

## One {#one}

```step
output: {contractRef: project.contracts.note}
```

%s
"""


@pytest.mark.parametrize(("prompt", "expected"), [(b"Do it.", False), (b"Do something else.", True)])
def test_another_spelling_of_the_same_workflow_is_no_drift(
    runtime: Runtime, prompt: bytes, expected: bool
) -> None:
    put(runtime, json.dumps(WORKFLOW).encode(), json.dumps(CONTRACT).encode())
    first = start(runtime, workflowId="project.noted")

    library_of(runtime).held[0] = WorkflowFile(
        source_kind="project", source_ref="noted.md", content=MARKDOWN % prompt
    )

    assert drift_told(runtime, first) == (expected, expected)


@pytest.mark.parametrize(
    ("workflow", "contract", "expected"),
    [
        (json.dumps(WORKFLOW, indent=4), json.dumps(CONTRACT), False),
        (json.dumps(dict(reversed(WORKFLOW.items()))), json.dumps(CONTRACT, indent=1), False),
        (json.dumps(WORKFLOW | {"name": "Other"}), json.dumps(CONTRACT), True),
        (json.dumps(WORKFLOW), json.dumps(CONTRACT | {"guidance": "Say something else."}), True),
        ("{", json.dumps(CONTRACT), True),
    ],
)
def test_only_a_change_of_meaning_is_told(
    runtime: Runtime, workflow: str, contract: str, expected: bool
) -> None:
    put(runtime, json.dumps(WORKFLOW).encode(), json.dumps(CONTRACT).encode())
    first = start(runtime, workflowId="project.noted")

    put(runtime, workflow.encode(), contract.encode())

    assert drift_told(runtime, first) == (expected, expected)


ROUTINE: dict[str, Any] = {
    "id": "project.routine_look",
    "kind": "routine",
    "name": "Look",
    "description": "For a journey.",
    "steps": [{"id": "see", "title": "See", "prompt": "Look at it."}],
}


def test_changed_routine_changes_its_callers(runtime: Runtime) -> None:
    calling = {
        "type": "template_call",
        "templateId": "project.templates.routine.look",
        "id": "look",
        "args": {},
    }
    caller = WORKFLOW | {"steps": [calling]}
    library_of(runtime).held[:] = [
        WorkflowFile(source_kind="project", source_ref="caller.json", content=json.dumps(caller).encode()),
        WorkflowFile(source_kind="project", source_ref="look.json", content=json.dumps(ROUTINE).encode()),
    ]
    first = start(runtime, workflowId="project.noted")
    changed = ROUTINE | {"steps": [{"id": "see", "title": "See", "prompt": "Look twice."}]}

    library_of(runtime).held[1] = WorkflowFile(
        source_kind="project", source_ref="look.json", content=json.dumps(changed).encode()
    )

    (told,) = rehydrate(runtime, first)["warnings"]
    assert told["message"].startswith('The project file "caller.json" means something else since this run')
    assert drift_told(runtime, first) == (True, True)
