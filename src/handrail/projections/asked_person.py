"""What a person is shown before they answer for a step: where the run stands, and what was reported. Pure.

The text goes to a terminal or a form, and most of it comes from elsewhere: it is fenced, cut, without what
looks like a secret, and without anything that could steer a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from handrail.contract.fence import fence_text, flatten_text
from handrail.contract.redaction import redact_secrets, redact_shapes
from handrail.contract.wording import format_count
from handrail.engine.ask import changed_context, kept_report
from handrail.engine.facts import excerpt, facts_at
from handrail.engine.history import History, Node, attached_to, instance_of, kept_in_instance
from handrail.engine.judge.actions import find_preview
from handrail.engine.standing import standing_at
from handrail.workflows.compiled import Action, Choice, CompiledWorkflow

PROMPT_BYTES = 4_000
REPORT_BYTES = 100_000
"""A terminal scrolls, and a yes is about what was shown: a whole report has room."""
FORM_PROMPT_BYTES = 600
FORM_REPORT_BYTES = 1_000
MOST_ARTIFACTS = 5
"""Artifacts of the last attempt that a person is shown, each as far as there is room."""
MOST_FILES = 50
"""Files of a write that a person is shown by name."""
_ABOUT_BYTES = 200
"""Of the description of one option."""


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of each part that a place can show."""

    prompt: int
    notes: int
    artifact: int


TERMINAL: Final = Room(prompt=PROMPT_BYTES, notes=REPORT_BYTES, artifact=REPORT_BYTES)
FORM: Final = Room(prompt=FORM_PROMPT_BYTES, notes=FORM_REPORT_BYTES, artifact=300)
"""A dialog of a client, which may not scroll."""


def show_to_person(history: History, workflow: CompiledWorkflow, node: Node, room: Room = TERMINAL) -> str:
    """The step that is pending at a node, and what the agent has brought for it so far."""
    standing = standing_at(history, workflow, node, "rehydrate")
    leaf = standing.leaf
    assert leaf is not None, "only a pending step is confirmed"
    parts = [
        f"Workflow: {flatten_text(workflow.name)} ({node.run_id} in {history.session_id})\n"
        f"Step: {flatten_text(leaf.title)} ({flatten_text(leaf.id)})",
        fence_text(_cut(standing.prompt, room.prompt), "what the step asks of the agent"),
    ]
    if isinstance(leaf, Action) and (writes := _describe_write(history, workflow, node, leaf)):
        parts.append(writes)
    if isinstance(leaf, Choice):
        parts.append("\n".join(["The options:", *_options(leaf)]))
    sets = changed_context(history, node)
    if sets:
        told = msgspec.json.encode(_redact(sets)).decode()
        parts.append(fence_text(_cut(told, room.notes), "the values that it sets"))
    report = _last_report(history, workflow, node, room)
    parts.append(
        fence_text(report, "what the agent last reported for it")
        if report
        else "The agent has reported nothing for it yet."
    )
    return redact_shapes("\n\n".join(parts))


def _describe_write(history: History, workflow: CompiledWorkflow, node: Node, action: Action) -> str:
    """What the preview of a write says: its files and how many edits, and not its digest."""
    preview = facts_at(history, workflow, node.node_id).values.get(find_preview(workflow, action))
    changes = preview.get("changes") if isinstance(preview, dict) else None
    if not isinstance(preview, dict) or not isinstance(changes, list):
        return ""
    files = [flatten_text(str(one["file"])) for one in changes if isinstance(one, dict) and "file" in one]
    more = len(files) - MOST_FILES
    edits = f", {preview['edit_count']} edits" if isinstance(preview.get("edit_count"), int) else ""
    rest = [f"- and {more} more"] if more > 0 else []
    return "\n".join(
        [
            f"It writes {format_count(len(files), 'file')}{edits}:",
            *(f"- {one}" for one in files[:MOST_FILES]),
            *rest,
        ]
    )


def _options(choice: Choice) -> list[str]:
    return [
        f"- {flatten_text(option.id)}: {flatten_text(option.label)}"
        + (f" ({flatten_text(excerpt(option.description, _ABOUT_BYTES))})" if option.description else "")
        for option in choice.options
    ]


def _last_report(history: History, workflow: CompiledWorkflow, node: Node, room: Room) -> str:
    """The report that waits at an attempt, with what it kept; before any, what the newest checkpoint saved.

    Who is asked about one attempt is shown nothing that came after it.
    """
    kept = kept_report(history, workflow, node)
    if kept is not None:
        return _tell_report(kept.notes, kept.artifacts, room)
    saved = kept_in_instance(history, instance_of(history, node.node_id))
    for held in sorted(saved, key=lambda one: one.index, reverse=True):
        notes = history.notes.get(held.node_id)
        artifacts = attached_to(history, held.node_id).artifacts
        if notes is not None or artifacts:
            bodies = [one.artifact.body for one in artifacts]
            return _tell_report("" if notes is None else notes.text, bodies, room)
    return ""


def _tell_report(notes: str, artifacts: Sequence[dict[str, Any]], room: Room) -> str:
    told = [_cut(notes, room.notes)] if notes else []
    told += [
        _cut(msgspec.json.encode(_redact(body)).decode(), room.artifact)
        for body in artifacts[:MOST_ARTIFACTS]
    ]
    more = len(artifacts) - MOST_ARTIFACTS
    return "\n".join([*told, *([f"(and {more} more artifacts)"] if more > 0 else [])])


def _redact(body: dict[str, object]) -> object:
    return redact_secrets({"body": body})["body"]


def _cut(text: str, limit: int) -> str:
    shown = excerpt(text, limit)
    return shown if shown == text else f"{shown}\n(cut here)"
