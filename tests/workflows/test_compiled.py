"""The compiled workflow: what a prompt becomes, what the hash covers, and that pinned bytes are enough."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest

from handrail.workflows.compiled import CompiledStep, Pinned, compile_workflow, decode_compiled
from handrail.workflows.source import read_source

DOCUMENT: dict[str, Any] = {
    "id": "project.two",
    "name": "Two",
    "description": "Two steps.",
    "agentRole": "You are careful.",
    "steps": [
        {"id": "a", "title": "First", "prompt": "Do a."},
        {
            "id": "b",
            "title": "Second",
            "prompt": "Do b.",
            "agentRole": "You are fast.",
            "requireConfirmation": True,
        },
    ],
}


def pinned(document: dict[str, Any], **layout: Any) -> Pinned:
    workflow = read_source(json.dumps(document, **layout).encode()).workflow
    assert workflow is not None
    return compile_workflow(workflow)


def changed(path: list[str | int], value: object) -> dict[str, Any]:
    """A copy of the document with one value changed."""
    copy: dict[str, Any] = json.loads(json.dumps(DOCUMENT))
    holder: Any = copy
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    return copy


def test_a_step_is_rendered_with_the_role_that_holds_for_it() -> None:
    steps = pinned(DOCUMENT).workflow.steps

    assert steps == (
        CompiledStep(
            id="a", title="First", prompt="Role: You are careful.\n\nDo a.", require_confirmation=False
        ),
        CompiledStep(
            id="b", title="Second", prompt="Role: You are fast.\n\nDo b.", require_confirmation=True
        ),
    )


def test_without_a_role_the_prompt_stands_alone() -> None:
    compiled = pinned(changed(["agentRole"], "  "))

    assert compiled.workflow.steps[0].prompt == "Do a."


def test_the_content_is_canonical_json_and_the_hash_is_its_digest() -> None:
    compiled = pinned(DOCUMENT)

    expected = {
        "v": 1,
        "id": "project.two",
        "kind": "workflow",
        "name": "Two",
        "description": "Two steps.",
        "version": "1.0.0",
        "steps": [
            {
                "id": "a",
                "title": "First",
                "prompt": "Role: You are careful.\n\nDo a.",
                "requireConfirmation": False,
            },
            {
                "id": "b",
                "title": "Second",
                "prompt": "Role: You are fast.\n\nDo b.",
                "requireConfirmation": True,
            },
        ],
    }
    # For plain ASCII without numbers beyond small integers, sorted compact JSON is RFC 8785.
    content = json.dumps(expected, sort_keys=True, separators=(",", ":")).encode()
    assert compiled.content == content
    assert compiled.workflow_hash == "sha256:" + hashlib.sha256(content).hexdigest()


def test_pinned_bytes_are_enough_to_run_on() -> None:
    compiled = pinned(DOCUMENT)

    assert decode_compiled(compiled.content) == compiled.workflow


def test_key_order_and_white_space_of_the_source_do_not_matter() -> None:
    reordered = {key: DOCUMENT[key] for key in reversed(DOCUMENT)}
    reordered["steps"] = [{key: step[key] for key in reversed(step)} for step in DOCUMENT["steps"]]

    hashes = {
        pinned(DOCUMENT).workflow_hash,
        pinned(DOCUMENT, indent=4).workflow_hash,
        pinned(DOCUMENT, separators=(",", ":")).workflow_hash,
        pinned(reordered).workflow_hash,
    }

    assert len(hashes) == 1


@pytest.mark.parametrize(
    "path",
    [["kind"], ["version"]],
)
def test_a_default_that_is_written_out_means_the_same(path: list[str | int]) -> None:
    written = {"kind": "workflow", "version": "1.0.0"}[str(path[0])]

    assert pinned(changed(path, written)).workflow_hash == pinned(DOCUMENT).workflow_hash


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["id"], "project.three"),
        (["kind"], "routine"),
        (["name"], "Too"),
        (["description"], "Two steps!"),
        (["version"], "1.0.1"),
        (["agentRole"], "You are bold."),
        (["steps", 0, "id"], "c"),
        (["steps", 0, "title"], "Begin"),
        (["steps", 0, "prompt"], "Do a"),
        (["steps", 0, "requireConfirmation"], True),
        (["steps", 1, "agentRole"], "You are slow."),
        (["steps", 1, "requireConfirmation"], False),
        (["steps"], DOCUMENT["steps"][:1]),
        (["steps"], DOCUMENT["steps"][::-1]),
    ],
)
def test_every_change_of_meaning_changes_the_hash(path: list[str | int], value: object) -> None:
    assert pinned(changed(path, value)).workflow_hash != pinned(DOCUMENT).workflow_hash


def test_bytes_that_lack_a_part_are_not_taken_for_a_workflow() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_compiled(b'{"v":1,"id":"project.two"}')
