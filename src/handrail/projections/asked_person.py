"""The text that a person reads before answering for a step: the state of the run and the report. Pure.

The text goes to a terminal, a page or a form, and most of it comes from elsewhere. Each such line is
marked, and nothing in it can steer a terminal. An approval covers all of the text, so it is complete,
except in a form. If a secret was found in what the agent sent, the text names its place, and it cannot be
approved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from handrail.contract.fence import break_marks, drop_invisible, flatten_text
from handrail.contract.redaction import REDACTED, is_secret_name, redact_shapes
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

FORM_PROMPT_BYTES = 600
FORM_REPORT_BYTES = 4_000
FORM_ARTIFACTS = 5
"""Artifacts that a form shows; it says how many it leaves out. Elsewhere a person sees every artifact."""
MOST_FILES = 50
"""Files of a write that a card or a form names."""
_ABOUT_BYTES = 200
_SHORTEST = 4
_CUT = "(cut here)"
_LEFT_OUT = re.compile(r"^(?:\(cut here\)$|- and \d+ more$|\(and \d+ more)", re.MULTILINE)


class Room(msgspec.Struct, frozen=True, kw_only=True):
    """How many bytes of each part, and how many artifacts, an interface can show; None means no limit."""

    prompt: int | None = None
    notes: int | None = None
    artifact: int | None = None
    artifacts: int | None = None
    files: int | None = None
    about: int | None = None
    """Bytes of the description of one option."""


WHOLE: Final = Room()
FORM: Final = Room(
    prompt=FORM_PROMPT_BYTES,
    notes=FORM_REPORT_BYTES,
    artifact=1_000,
    artifacts=FORM_ARTIFACTS,
    files=MOST_FILES,
    about=_ABOUT_BYTES,
)
"""Limits for a dialog of a client, which may not scroll."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The text for a person, and whether it can be approved."""

    text: str
    secrets_in: tuple[str, ...] = ()
    """The parts from which a secret was removed; if there are any, the text cannot be approved."""

    is_whole: bool = True
    """Whether everything that the agent sent is shown in full."""


def show_to_person(
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    redact: Callable[[str], str],
    room: Room = WHOLE,
    notes: str = "",
) -> Shown:
    """Return the text about the step that is pending at a node, with what the agent has sent for it so far.

    `redact` removes secrets that this process knows; `notes` are the full notes if the log has only an
    excerpt.
    """
    found = _Secrets(redact)
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
    writes, diff = describe_write(history, workflow, node, room.files)
    parts += [writes] if writes else []
    parts += ["What is written:\n" + _quote(found.clean("what is written", diff), room.notes)] if diff else []
    options = leaf.options if isinstance(leaf, Choice) else list_offered(standing)
    prompt = ""  # written by the author, so a form may shorten it
    assert isinstance(node.state, Running), "a step is pending"
    facts = add_loop_values(workflow, node.state, facts_at(history, workflow, node.node_id))
    asked = _quote(authored_part(render_step(workflow, leaf, facts)), room.prompt)
    if isinstance(leaf, Choice):
        parts.append(f"What is decided:\n{asked}")
    if options:
        parts.append("\n".join(["The options:", *_describe_options(options, room)]))
    sets = changed_context(history, node)
    if sets:
        values = _in_lines(found.clean_fields("the values that the agent sets", sets))
        parts.append("The agent sets, by its own word:\n" + _quote(values, room.notes))
    report = _last_report(history, workflow, node, room, found, notes)
    parts.append(
        f"What the agent reports:\n{report}" if report else "The agent has reported nothing for it yet."
    )
    if not writes and not isinstance(leaf, Choice):  # below the report, which the answer is about
        prompt = f"What the step asks for:\n{asked}"
        parts.append(prompt)
    # The author's text is shown in full, except for secrets that this process knows.
    return Shown(
        text=redact("\n\n".join(parts)),
        secrets_in=tuple(found.places),
        is_whole=not any(_LEFT_OUT.search(part) for part in parts if part is not prompt),
    )


class _Secrets:
    """Removes secrets from what an agent sent, and records the parts in which it found any."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self.places: list[str] = []

    def clean(self, place: str, text: str) -> str:
        """Return the text without secrets; one that was removed before the text was stored counts as well."""
        cleaned = self._redact(redact_shapes(text))
        if (cleaned != text or REDACTED in text) and place not in self.places:
            self.places.append(place)
        return cleaned

    def clean_fields(self, place: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Return an artifact or values without secrets; a single word in a field with a secret's name is
        one.
        """
        return {key: self._clean_value(place, key, value) for key, value in fields.items()}

    def _clean_value(self, place: str, name: str, value: Any) -> Any:
        match value:
            case dict():
                return self.clean_fields(place, value)
            case list():
                return [self._clean_value(place, name, one) for one in value]
            case str() if is_secret_name(name) and len(value) >= _SHORTEST and not re.search(r"\s", value):
                return self.clean(f"“{flatten_text(name)}” of {place}", REDACTED)
            case str():
                return self.clean(place, value)
            case _:
                return value


def describe_write(
    history: History, workflow: CompiledWorkflow, node: Node, most_files: int | None = MOST_FILES
) -> tuple[str, str]:
    """Return what a pending write does to which files, and the lines that change."""
    action = standing_at(history, workflow, node, "rehydrate").leaf
    if not isinstance(action, Action):
        return "", ""
    preview = facts_at(history, workflow, node.node_id).values.get(find_preview(workflow, action))
    changes = preview.get("changes") if isinstance(preview, dict) else None
    if not isinstance(preview, dict) or not isinstance(changes, list):
        return "", ""
    files = [flatten_text(str(one["file"])) for one in changes if isinstance(one, dict) and "file" in one]
    more = 0 if most_files is None else len(files) - most_files
    edits = f", {preview['edit_count']} edits" if isinstance(preview.get("edit_count"), int) else ""
    rest = [f"- and {more} more"] if more > 0 else []
    summary = [
        *(f"{one}." for one in map(_describe_edit, preview.get("items") or ()) if one),
        f"It writes {format_count(len(files), 'file')}{edits}:",
        *(f"- {one}" for one in files[:most_files]),
        *rest,
    ]
    lines = [str(one["hunks"]) for one in changes if isinstance(one, dict) and one.get("hunks")]
    return "\n".join(summary), "".join(lines) or str(preview.get("diff") or "")


def _describe_edit(item: Any) -> str:
    """Return one edit of a preview in words that people know: `Rename myFunc to fetchData`."""
    if not isinstance(item, dict) or not item.get("action"):
        return ""
    file, _, symbol = str(item.get("id") or "").partition("#")
    to = f" to {item['to']}" if item.get("to") else ""
    return flatten_text(f"{str(item['action']).capitalize()} {symbol.partition('@')[0] or file}{to}")


def _describe_options(options: Sequence[Option], room: Room) -> list[str]:
    return [
        f"- {flatten_text(option.id)}: {flatten_text(option.label)}"
        + (f" ({flatten_text(_cut(option.description, room.about))})" if option.description else "")
        for option in options
    ]


def _last_report(
    history: History, workflow: CompiledWorkflow, node: Node, room: Room, found: _Secrets, whole: str
) -> str:
    """Return the report that waits at an attempt, with what Handrail kept; before any, the newest
    checkpoint.

    A person who is asked about one attempt sees nothing that came after it.
    """
    kept = kept_report(history, workflow, node)
    if kept is not None:
        return _describe_report(whole or kept.notes, kept.artifacts, room, found)
    saved = kept_in_instance(history, instance_of(history, node.node_id))
    for held in sorted(saved, key=lambda one: one.index, reverse=True):
        notes = history.notes.get(held.node_id)
        artifacts = attached_to(history, held.node_id).artifacts
        if notes is not None or artifacts:
            bodies = [one.artifact.body for one in artifacts]
            return _describe_report("" if notes is None else notes.text, bodies, room, found)
    return ""


def _describe_report(notes: str, artifacts: Sequence[dict[str, Any]], room: Room, found: _Secrets) -> str:
    shown = artifacts[: room.artifacts]
    parts = [_quote(found.clean("the notes", notes), room.notes)] if notes else []
    for body in shown:
        kind = in_words(str(body.get("kind", "")))
        lines = _in_lines(found.clean_fields(f"the {kind}", body))
        parts.append(_quote(f"{kind.capitalize()}:\n{lines}", room.artifact))
    more = len(artifacts) - len(shown)
    return "\n".join([*parts, *([f"(and {more} more artifacts)"] if more > 0 else [])])


def _in_lines(body: dict[str, Any]) -> str:
    """Return an artifact or values as lines for people."""
    return "\n".join(f"{'  ' * depth}- {flatten_text(words)}" for depth, words in artifact_lines(body))


def _cut(text: str, limit: int | None) -> str:
    return text if limit is None else excerpt(text, limit)


def _quote(text: str, limit: int | None) -> str:
    """Return text from elsewhere with a mark on each line, so that it cannot pass for Handrail's own text."""
    shown = _cut(text, limit)
    lines = (break_marks(drop_invisible(line)) for line in shown.strip().splitlines())
    cut = [] if shown == text else [_CUT]
    return "\n".join([*(f"> {line}".rstrip() for line in lines), *cut])
