"""What an agent sends: the goal of a session, then notes, artifacts and context, each within its limits."""

from typing import Annotated, Any, cast

import msgspec

from handrail.contract.catalogue import CONTEXT_BUDGET_EXCEEDED, VALIDATION_ERROR
from handrail.contract.ids import blob_ref
from handrail.contract.json.canonical import canonical_bytes, digest
from handrail.contract.outcome import Fault, Json, refuse_argument
from handrail.contract.redaction import Secrets
from handrail.engine.ask import find_refused_values
from handrail.engine.facts import RECAP_EXCERPT_BYTES, WorkDone
from handrail.engine.history import History, Node, context_at, merge_context
from handrail.engine.judge.artifacts import check_context_change
from handrail.engine.judge.report_frame import find_marks
from handrail.engine.owners import refuse_context
from handrail.ports.log import Blob
from handrail.runtime.operation import Input
from handrail.workflows.compiled import CompiledWorkflow

NOTES_LIMIT_BYTES = 65_536
CONTEXT_LIMIT_BYTES = 262_144
MOST_ARTIFACTS = 32
ARTIFACT_LIMIT_BYTES = 65_536
ARTIFACTS_LIMIT_BYTES = 262_144
MOST_UNFILLED = 10
"""Unfilled places that one refusal names."""
_FORBIDDEN_KEYS = ("__proto__", "constructor", "prototype")


class Output(Input, frozen=True, kw_only=True):
    """The one durable write path of an agent."""

    notes_markdown: Annotated[str, msgspec.Meta(description="This step alone; Markdown up to 64 KB.")] = ""
    artifacts: Annotated[
        list[dict[str, Any]],
        msgspec.Meta(description="What the step asks for, each with a kind."),
    ] = []


def read_report(
    output: Output | msgspec.UnsetType,
    context: dict[str, Any] | msgspec.UnsetType,
    secrets: Secrets,
    option: int | None = None,
) -> WorkDone:
    """The report in the form that decisions take, without the secrets that this process knows.

    Raises Fault VALIDATION_ERROR or CONTEXT_BUDGET_EXCEEDED; nothing was stored then.
    """
    notes = "" if output is msgspec.UNSET else secrets.redact_text(output.notes_markdown)
    artifacts = [] if output is msgspec.UNSET else cast("list[Any]", secrets.redact_json(output.artifacts))
    delta = {} if context is msgspec.UNSET else cast("dict[str, Any]", secrets.redact_json(context))
    problems = [*_notes_problems(notes), *_artifact_problems(artifacts)]
    if problems:
        raise refuse_report(problems)
    check_context(delta)
    check_filled_in(notes, artifacts, delta)
    is_long = len(notes.encode()) > RECAP_EXCERPT_BYTES
    return WorkDone(
        input_digest=_input_digest(notes, delta, artifacts, option),
        notes=notes,
        notes_ref=blob_ref(notes.encode()) if is_long else None,
        context=delta,
        artifacts=tuple(artifacts),
        option=option,
    )


def blobs_of(work: WorkDone) -> tuple[Blob, ...]:
    """The blobs that a report brings: notes too long for an event."""
    return () if work.notes_ref is None else (Blob(ref=work.notes_ref, content=work.notes.encode()),)


def check_context(context: dict[str, Any]) -> None:
    """Raises Fault VALIDATION_ERROR or CONTEXT_BUDGET_EXCEEDED."""
    forbidden = sorted(key for key in context if key in _FORBIDDEN_KEYS)
    if forbidden:
        raise refuse_report([{"param": f"context.{key}", "problem": "reserved name"} for key in forbidden])
    size = _canonical_size(("context",), context)
    if size > CONTEXT_LIMIT_BYTES:
        raise _too_large("The context has", size)


def check_merged(history: History, node: Node, delta: dict[str, Any]) -> None:
    """The context of a branch has the same limit as that of a call.

    Raises Fault CONTEXT_BUDGET_EXCEEDED. What an older log holds beyond the limit may only shrink.
    """
    if not delta:
        return
    held = context_at(history, node.node_id)
    size = len(canonical_bytes(merge_context(held, delta)))
    if size > CONTEXT_LIMIT_BYTES and size > len(canonical_bytes(held)):
        raise _too_large("With what was sent before, the context would have", size)


def _too_large(what: str, size: int) -> Fault:
    return Fault(
        CONTEXT_BUDGET_EXCEEDED,
        f"{what} {size} bytes, {CONTEXT_LIMIT_BYTES} at most; nothing was stored. Null deletes a key.",
        details={"measured": size, "limit": CONTEXT_LIMIT_BYTES, "method": "RFC 8785 bytes"},
    )


MOST_GOAL_BYTES = 4_096
"""A goal is stored whole; lists show its beginning."""
Goal = Annotated[str, msgspec.Meta(description="What the user wants.", max_length=MOST_GOAL_BYTES)]


def check_goal_size(given: str | msgspec.UnsetType) -> str:
    """The goal itself, empty where none is given.

    Raises Fault VALIDATION_ERROR where it is too long.
    """
    goal = "" if given is msgspec.UNSET else given.strip()
    size = len(goal.encode("utf-8", "replace"))
    if size > MOST_GOAL_BYTES:
        most = f"{MOST_GOAL_BYTES} bytes at most"
        raise refuse_argument("The goal is too long.", "goal", f"{size} bytes", most)
    return goal


def check_filled_in(notes: str, artifacts: list[dict[str, Any]], context: dict[str, Any]) -> None:
    """Refuse a frame or an example that came back unchanged: it is not a report.

    Raises Fault VALIDATION_ERROR that names every place.
    """
    sent = [
        *find_marks(notes, "output.notesMarkdown"),
        *find_marks(artifacts, "output.artifacts"),
        *find_marks(context, "context"),
    ]
    if sent:
        expected = "your own value; an optional one can be left out"
        problems: list[dict[str, Json]] = [
            {"param": name, "problem": f"still holds the placeholder {mark}", "expected": expected}
            for name, mark in list(dict(sent).items())[:MOST_UNFILLED]
        ]
        raise refuse_report(problems)


def check_change(history: History, workflow: CompiledWorkflow, node: Node, work: WorkDone) -> None:
    """A change of context against the declared inputs, and against whose values are in force.

    Raises Fault VALIDATION_ERROR with every problem.
    """
    problems = find_refused_values(history, workflow, node, work)
    problems += check_context_change(workflow.inputs, work.context)
    if problems:
        raise refuse_context(problems)


def refuse_report(problems: list[dict[str, Json]]) -> Fault:
    """The refusal that names the first place and counts the others."""
    first = problems[0]
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    message = f"{first['param']}: {first['problem']}{more}; nothing was stored."
    return Fault(VALIDATION_ERROR, message, details={"problems": problems})


def _notes_problems(notes: str) -> list[dict[str, Json]]:
    try:
        size = len(notes.encode())
    except UnicodeEncodeError as error:
        return [
            {
                "param": "output.notesMarkdown",
                "problem": f"character {error.start + 1} is half of a surrogate pair",
                "expected": "Unicode text",
            }
        ]
    if size <= NOTES_LIMIT_BYTES:
        return []
    return [
        {
            "param": "output.notesMarkdown",
            "problem": f"{size} bytes are more than {NOTES_LIMIT_BYTES}",
            "expected": "shorter notes, or a file that the notes name",
        }
    ]


def _artifact_problems(artifacts: list[dict[str, Any]]) -> list[dict[str, Json]]:
    if len(artifacts) > MOST_ARTIFACTS:
        problem = f"{len(artifacts)} artifacts are more than {MOST_ARTIFACTS}"
        return [{"param": "output.artifacts", "problem": problem, "expected": "fewer artifacts"}]
    problems: list[dict[str, Json]] = []
    total = 0
    for place, body in enumerate(artifacts):
        param = f"output.artifacts[{place}]"
        kind = body.get("kind")
        if not isinstance(kind, str) or not kind or len(kind) > 128:
            expected = "the kind of artifact that the step asks for"
            problem = "not a text of 1 to 128 characters" if kind else "missing"
            problems.append({"param": f"{param}.kind", "problem": problem, "expected": expected})
        size = _canonical_size(("output", "artifacts", str(place)), body)
        total += size
        if size > ARTIFACT_LIMIT_BYTES:
            problem = f"{size} bytes are more than {ARTIFACT_LIMIT_BYTES}"
            problems.append({"param": param, "problem": problem, "expected": "a smaller artifact"})
    if total > ARTIFACTS_LIMIT_BYTES and not problems:
        problem = f"{total} bytes together are more than {ARTIFACTS_LIMIT_BYTES}"
        problems.append({"param": "output.artifacts", "problem": problem, "expected": "fewer of them"})
    return problems


def _canonical_size(path: tuple[str, ...], value: Json) -> int:
    """How many RFC 8785 bytes a part of the call has.

    Raises Fault E_VALIDATION that names the place in the whole call, not in the part.
    """
    try:
        return len(canonical_bytes(value))
    except Fault:
        from handrail.contract.json.trouble import explain_refused_value  # noqa: PLC0415 - only a refused value pays

        for name in reversed(path):
            value = {name: value}
        raise explain_refused_value(value) from None


def _input_digest(
    notes: str, context: dict[str, Any], artifacts: list[dict[str, Any]], option: int | None
) -> str:
    sent: dict[str, Json] = {"notesMarkdown": notes, "context": context}
    if artifacts:
        sent["artifacts"] = list(artifacts)
    if option is not None:
        sent["option"] = option
    return digest(sent)
