"""What a person is shown before they answer for a step: where the run stands, and what was reported. Pure.

The text goes to a terminal or a form, and most of it comes from elsewhere: each line of it is marked, and it
is cut, without what looks like a secret, and without anything that could steer a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from handrail.contract.fence import break_marks, drop_invisible, flatten_text
from handrail.contract.redaction import redact_secrets, redact_shapes
from handrail.contract.wording import format_count
from handrail.engine.ask import changed_context, kept_report
from handrail.engine.facts import add_loop_values, excerpt, facts_at
from handrail.engine.history import History, Node, attached_to, instance_of, kept_in_instance
from handrail.engine.judge.actions import find_preview
from handrail.engine.judge.arrival import named_confirmer
from handrail.engine.messages import in_words
from handrail.engine.navigate import Running
from handrail.engine.standing import list_offered, render_step, standing_at
from handrail.projections.overview import session_title
from handrail.projections.plain_words import artifact_lines
from handrail.workflows.compiled import CONFIRMERS, Action, Choice, CompiledWorkflow, Option
from handrail.workflows.prompt_sections import authored_part

PROMPT_BYTES = 4_000
REPORT_BYTES = 100_000
"""A terminal scrolls, and a yes is about what was shown: a whole report has room."""
FORM_PROMPT_BYTES = 600
FORM_REPORT_BYTES = 1_000
FORM_ARTIFACTS = 5
"""A form names how many it leaves out; elsewhere a person is shown every artifact of the report."""
MOST_FILES = 50
"""Files of a write that a person is shown by name."""
_ABOUT_BYTES = 200
"""Of the description of one option."""


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of each part that a place can show, and how many artifacts: all, unless it says so."""

    prompt: int
    notes: int
    artifact: int
    artifacts: int | None = None


TERMINAL: Final = Room(prompt=PROMPT_BYTES, notes=REPORT_BYTES, artifact=REPORT_BYTES)
FORM: Final = Room(prompt=FORM_PROMPT_BYTES, notes=FORM_REPORT_BYTES, artifact=300, artifacts=FORM_ARTIFACTS)
"""A dialog of a client, which may not scroll."""


def show_to_person(history: History, workflow: CompiledWorkflow, node: Node, room: Room = TERMINAL) -> str:
    """The step that is pending at a node, and what the agent has brought for it so far."""
    standing = standing_at(history, workflow, node, "rehydrate")
    leaf = standing.leaf
    assert leaf is not None, "only a pending step is confirmed"
    goal = flatten_text(session_title(history))
    parts = [
        "\n".join(
            [
                *([f"Goal: {goal}"] if goal else []),
                f"Workflow: {flatten_text(workflow.name)}",
                f"Step: {flatten_text(leaf.title)}",
            ]
        )
    ]
    if whom := CONFIRMERS.get(named_confirmer(leaf)):
        parts.append(f"Who confirms: {whom}.")
    writes, diff = describe_write(history, workflow, node)
    parts += [writes] if writes else []
    parts += ["What is written:\n" + _quote(diff, room.notes)] if diff else []
    options = leaf.options if isinstance(leaf, Choice) else list_offered(standing)
    assert isinstance(node.state, Running), "a step is pending"
    facts = add_loop_values(workflow, node.state, facts_at(history, workflow, node.node_id))
    asked = _quote(authored_part(render_step(workflow, leaf, facts)), room.prompt)
    if isinstance(leaf, Choice):
        parts.append(f"What is decided:\n{asked}")
    if options:
        parts.append("\n".join(["The options:", *_describe_options(options)]))
    sets = changed_context(history, node)
    if sets:
        parts.append("The agent sets, by its own word:\n" + _quote(_in_lines(sets), room.notes))
    report = _last_report(history, workflow, node, room)
    parts.append(
        f"What the agent reports:\n{report}" if report else "The agent has reported nothing for it yet."
    )
    if not writes and not isinstance(leaf, Choice):  # below the report, which the answer is about
        parts.append(f"What the step asks for:\n{asked}")
    return redact_shapes("\n\n".join(parts))


def describe_write(history: History, workflow: CompiledWorkflow, node: Node) -> tuple[str, str]:
    """What the preview of a pending write says: what it does to which files, and the lines that change."""
    action = standing_at(history, workflow, node, "rehydrate").leaf
    if not isinstance(action, Action):
        return "", ""
    preview = facts_at(history, workflow, node.node_id).values.get(find_preview(workflow, action))
    changes = preview.get("changes") if isinstance(preview, dict) else None
    if not isinstance(preview, dict) or not isinstance(changes, list):
        return "", ""
    files = [flatten_text(str(one["file"])) for one in changes if isinstance(one, dict) and "file" in one]
    more = len(files) - MOST_FILES
    edits = f", {preview['edit_count']} edits" if isinstance(preview.get("edit_count"), int) else ""
    rest = [f"- and {more} more"] if more > 0 else []
    summary = [
        *(f"{one}." for one in map(_describe_edit, preview.get("items") or ()) if one),
        f"It writes {format_count(len(files), 'file')}{edits}:",
        *(f"- {one}" for one in files[:MOST_FILES]),
        *rest,
    ]
    lines = [str(one["hunks"]) for one in changes if isinstance(one, dict) and one.get("hunks")]
    return "\n".join(summary), redact_shapes("".join(lines) or str(preview.get("diff") or ""))


def _describe_edit(item: Any) -> str:
    """One edit of a preview by the names that people know: `Rename myFunc to fetchData`."""
    if not isinstance(item, dict) or not item.get("action"):
        return ""
    file, _, symbol = str(item.get("id") or "").partition("#")
    to = f" to {item['to']}" if item.get("to") else ""
    return flatten_text(f"{str(item['action']).capitalize()} {symbol.partition('@')[0] or file}{to}")


def _describe_options(options: Sequence[Option]) -> list[str]:
    return [
        f"- {flatten_text(option.id)}: {flatten_text(option.label)}"
        + (f" ({flatten_text(excerpt(option.description, _ABOUT_BYTES))})" if option.description else "")
        for option in options
    ]


def _last_report(history: History, workflow: CompiledWorkflow, node: Node, room: Room) -> str:
    """The report that waits at an attempt, with what it kept; before any, what the newest checkpoint saved.

    Who is asked about one attempt is shown nothing that came after it.
    """
    kept = kept_report(history, workflow, node)
    if kept is not None:
        return _describe_report(kept.notes, kept.artifacts, room)
    saved = kept_in_instance(history, instance_of(history, node.node_id))
    for held in sorted(saved, key=lambda one: one.index, reverse=True):
        notes = history.notes.get(held.node_id)
        artifacts = attached_to(history, held.node_id).artifacts
        if notes is not None or artifacts:
            bodies = [one.artifact.body for one in artifacts]
            return _describe_report("" if notes is None else notes.text, bodies, room)
    return ""


def _describe_report(notes: str, artifacts: Sequence[dict[str, Any]], room: Room) -> str:
    shown = artifacts[: room.artifacts]
    parts = [_quote(notes, room.notes)] if notes else []
    parts += [
        _quote(f"{in_words(str(body.get('kind', ''))).capitalize()}:\n{_in_lines(body)}", room.artifact)
        for body in shown
    ]
    more = len(artifacts) - len(shown)
    return "\n".join([*parts, *([f"(and {more} more artifacts)"] if more > 0 else [])])


def _in_lines(body: dict[str, Any]) -> str:
    """An artifact or values as people read them, without secrets."""
    safe = redact_secrets({"body": body})["body"]
    return "\n".join(f"{'  ' * depth}- {flatten_text(words)}" for depth, words in artifact_lines(safe))


def _quote(text: str, limit: int) -> str:
    """Words from elsewhere, each line marked, and no line of ours: none of them can pass for ours."""
    shown = excerpt(text, limit)
    lines = (break_marks(drop_invisible(line)) for line in shown.strip().splitlines())
    cut = [] if shown == text else ["(cut here)"]
    return "\n".join([*(f"> {line}".rstrip() for line in lines), *cut])
