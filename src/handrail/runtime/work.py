"""What an agent reports: notes, artifacts, context, checked against their limits before a decision."""

from typing import Annotated, Any

import msgspec

from handrail.contract.canonical import canonical_bytes, digest
from handrail.contract.catalogue import CONTEXT_BUDGET_EXCEEDED, VALIDATION_ERROR
from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Fault, Json
from handrail.engine.history import History, Node, context_at
from handrail.engine.inherited import merged
from handrail.engine.inputs import InputProblem, problems_of_change
from handrail.engine.skeleton import unfilled
from handrail.engine.work import RECAP_EXCERPT_BYTES, WorkDone, long_notes_before
from handrail.ports import Blob, EventReader
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


def work_done(
    output: Output | msgspec.UnsetType,
    context: dict[str, Any] | msgspec.UnsetType,
    option: int | None = None,
) -> WorkDone:
    """The report in the form that decisions take.

    Raises Fault VALIDATION_ERROR or CONTEXT_BUDGET_EXCEEDED; nothing was stored then.
    """
    notes = "" if output is msgspec.UNSET else output.notes_markdown
    artifacts = [] if output is msgspec.UNSET else output.artifacts
    delta = {} if context is msgspec.UNSET else context
    problems = [*_notes_problems(notes), *_artifact_problems(artifacts)]
    if problems:
        raise _refused(problems)
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


def whole_kept_notes(reader: EventReader, history: History, node: Node) -> str:
    """The notes of the blocked attempt that a retry here counts, if the event has only a part of them."""
    ref = long_notes_before(history, node)
    return "" if ref is None else reader.get_blob(ref).decode()


def check_context(context: dict[str, Any]) -> None:
    """Raises Fault VALIDATION_ERROR or CONTEXT_BUDGET_EXCEEDED."""
    forbidden = sorted(key for key in context if key in _FORBIDDEN_KEYS)
    if forbidden:
        raise _refused([{"param": f"context.{key}", "problem": "reserved name"} for key in forbidden])
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
    size = len(canonical_bytes(merged(held, delta)))
    if size > CONTEXT_LIMIT_BYTES and size > len(canonical_bytes(held)):
        raise _too_large("With what was sent before, the context would have", size)


def _too_large(what: str, size: int) -> Fault:
    return Fault(
        CONTEXT_BUDGET_EXCEEDED,
        f"{what} {size} bytes, {CONTEXT_LIMIT_BYTES} at most; nothing was stored. Null deletes a key.",
        details={"measured": size, "limit": CONTEXT_LIMIT_BYTES, "method": "RFC 8785 bytes"},
    )


def check_filled_in(notes: str, artifacts: list[dict[str, Any]], context: dict[str, Any]) -> None:
    """A frame or an example that came back as it was offered is no report.

    Raises Fault VALIDATION_ERROR that names every place.
    """
    sent = [
        *unfilled(notes, "output.notesMarkdown"),
        *unfilled(artifacts, "output.artifacts"),
        *unfilled(context, "context"),
    ]
    if sent:
        expected = "your own value; an optional one can be left out"
        problems: list[dict[str, Json]] = [
            {"param": name, "problem": f"still holds the placeholder {mark}", "expected": expected}
            for name, mark in list(dict(sent).items())[:MOST_UNFILLED]
        ]
        raise _refused(problems)


def check_change(workflow: CompiledWorkflow, delta: dict[str, Any]) -> None:
    """A change of context against the declared inputs.

    Raises Fault VALIDATION_ERROR with every problem.
    """
    problems = problems_of_change(workflow.inputs, delta)
    if problems:
        raise _refused([input_row(problem) for problem in problems])


def input_row(problem: InputProblem) -> dict[str, Json]:
    return {
        "param": f"context.{problem.key}",
        "problem": problem.problem,
        "expected": problem.expected[:400],
    }


def _refused(problems: list[dict[str, Json]]) -> Fault:
    first = problems[0]
    more = f" ({len(problems) - 1} more in details.problems)" if len(problems) > 1 else ""
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
        from handrail.contract.json_trouble import refused_value  # noqa: PLC0415 - only a refused value pays

        for name in reversed(path):
            value = {name: value}
        raise refused_value(value) from None


def _input_digest(
    notes: str, context: dict[str, Any], artifacts: list[dict[str, Any]], option: int | None
) -> str:
    sent: dict[str, Json] = {"notesMarkdown": notes, "context": context}
    if artifacts:
        sent["artifacts"] = list(artifacts)
    if option is not None:
        sent["option"] = option
    return digest(sent)
