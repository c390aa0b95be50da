"""What an agent reports: notes and context, checked against their limits before anything is decided."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from handrail.contract.canonical import canonical_bytes, digest
from handrail.contract.catalogue import CONTEXT_BUDGET_EXCEEDED, VALIDATION_ERROR
from handrail.contract.ids import blob_ref
from handrail.contract.outcome import Fault
from handrail.engine.decide import RECAP_EXCERPT_BYTES, WorkDone
from handrail.ports import Blob
from handrail.runtime.operation import Input

NOTES_LIMIT_BYTES = 65_536
CONTEXT_LIMIT_BYTES = 262_144
_FORBIDDEN_KEYS = ("__proto__", "constructor", "prototype")


class Output(Input, frozen=True, kw_only=True):
    """The one durable write path of an agent."""

    notes_markdown: Annotated[
        str, msgspec.Meta(description="What happened in this step alone, up to 64 KB of Markdown.")
    ] = ""


def work_done(output: Output | msgspec.UnsetType, context: dict[str, Any] | msgspec.UnsetType) -> WorkDone:
    """The report in the form that decisions take.

    Raises Fault VALIDATION_ERROR or CONTEXT_BUDGET_EXCEEDED; nothing was stored then.
    """
    notes = "" if output is msgspec.UNSET else output.notes_markdown
    delta = {} if context is msgspec.UNSET else context
    _refuse_lone_surrogates(notes)
    size = len(notes.encode())
    if size > NOTES_LIMIT_BYTES:
        problem = {
            "param": "output.notesMarkdown",
            "problem": f"{size} bytes are more than {NOTES_LIMIT_BYTES}",
            "expected": "shorter notes, or a file that the notes name",
        }
        message = f"The notes have {size} bytes, {NOTES_LIMIT_BYTES} at most; nothing was stored."
        raise Fault(VALIDATION_ERROR, message, details={"problems": [problem]})
    check_context(delta)
    ref = blob_ref(notes.encode()) if size > RECAP_EXCERPT_BYTES else None
    return WorkDone(input_digest=_input_digest(notes, delta), notes=notes, notes_ref=ref, context=delta)


def _refuse_lone_surrogates(notes: str) -> None:
    try:
        notes.encode()
    except UnicodeEncodeError as error:
        problem = {
            "param": "output.notesMarkdown",
            "problem": f"character {error.start + 1} is half of a surrogate pair",
            "expected": "Unicode text",
        }
        message = "The notes are not Unicode text: half of a surrogate pair stands alone; nothing was stored."
        raise Fault(VALIDATION_ERROR, message, details={"problems": [problem]}) from error


def blobs_of(work: WorkDone) -> tuple[Blob, ...]:
    """The blobs that a report brings: notes too long for an event."""
    return () if work.notes_ref is None else (Blob(ref=work.notes_ref, content=work.notes.encode()),)


def check_context(context: dict[str, Any]) -> None:
    """Raises Fault VALIDATION_ERROR or CONTEXT_BUDGET_EXCEEDED."""
    forbidden = sorted(key for key in context if key in _FORBIDDEN_KEYS)
    if forbidden:
        problems = [{"param": f"context.{key}", "problem": "reserved name"} for key in forbidden]
        message = f"context must not hold the key {forbidden[0]}; nothing was stored."
        raise Fault(VALIDATION_ERROR, message, details={"problems": problems})
    size = len(canonical_bytes(context))
    if size > CONTEXT_LIMIT_BYTES:
        raise Fault(
            CONTEXT_BUDGET_EXCEEDED,
            f"The context has {size} bytes, {CONTEXT_LIMIT_BYTES} at most; nothing was stored.",
            details={"measured": size, "limit": CONTEXT_LIMIT_BYTES, "method": "RFC 8785 bytes"},
        )


def _input_digest(notes: str, context: dict[str, Any]) -> str:
    return digest({"notesMarkdown": notes, "context": context})
