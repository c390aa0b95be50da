"""What `code.edit` answers, one document per action."""

from __future__ import annotations

from handrail.contract.outcome import Answer
from handrail_code.operations.code_answers import CodeAnswer, UnsurePlace
from handrail_code.operations.named_symbols import FoundCode
from handrail_code.operations.planned_files import ChangedFile


class LocatedCode(CodeAnswer, frozen=True, kw_only=True):
    """Where definitions are."""

    location: FoundCode | None
    """The one that was asked for; none where several were."""
    locations: list[FoundCode]
    """Where several were asked for."""


class CodeContext(CodeAnswer, frozen=True, kw_only=True):
    """A definition with its text."""

    location: FoundCode
    first_line: int
    text: str
    """Its lines and a few around them."""
    truncated: bool


class EditedItem(Answer, frozen=True, kw_only=True):
    """One edit of a preview."""

    action: str
    id: str
    to: str
    """The new name or module."""
    edits: int
    unresolved: list[str]
    """Names in a given text that nothing in the project declares."""
    note: str
    """What a rename kept, or took along, and why; what was accepted."""


class EditPreview(CodeAnswer, frozen=True, kw_only=True):
    """What an edit would change; nothing is written."""

    action: str
    items: list[EditedItem]
    changes: list[ChangedFile]
    file_count: int
    edit_count: int
    untouched: list[UnsurePlace]
    """Places with the name that may be meant and are left as they are."""
    untouched_count: int
    diff: str
    """The whole as a unified diff, where it was asked for."""


class AppliedEdit(CodeAnswer, frozen=True, kw_only=True):
    """What was written."""

    action: str
    files_modified: list[str]


class CancelledEdit(CodeAnswer, frozen=True, kw_only=True):
    """A preview that is not applied."""

    message: str
