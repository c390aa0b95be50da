"""An edit as files before and after: what its preview shows, what its digest covers, how it is written.

Below stands what `code.edit` answers, one document per action.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from hashlib import sha256

import msgspec

from handrail.contract.catalogue import E_IO
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Answer, Fault
from handrail.contract.wording import shorten
from handrail.operations.code.unified_diff import diff_texts
from handrail.ports.worktree import (
    FileWrite,
    LeftOut,
    ListedFile,
    TreeEntry,
    absent,
    describe_content,
)
from handrail.runtime.runtime import ReadPorts, WritePorts
from handrail_code.operations.code_answers import CodeAnswer, UnsurePlace
from handrail_code.operations.named_symbols import FoundCode

MOST_PREVIEW_BYTES = 8_000
"""Of all hunks of a preview; `show_diff` shows more."""
MOST_SHOWN_DIFF_BYTES = 100_000
"""Of all hunks that `show_diff` shows."""
MOST_CHANGED_FILES = 2_000
"""Files that one edit may change."""


class PlannedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file that an edit changes; an absent one is new."""

    before: TreeEntry
    old: bytes
    new: bytes
    is_removed: bool = False


class ChangedFile(Answer, frozen=True, kw_only=True):
    """One file of a preview."""

    file: str
    added: int
    removed: int
    before_hash: str
    """Of its bytes; empty for a new file."""
    after_hash: str
    """Empty for a file that goes away."""
    hunks: str
    """Unified; hidden characters stand as their escapes."""
    note: str
    """Why there are no hunks; empty where they are."""


def plan_files(
    listed: Mapping[str, ListedFile],
    old: Mapping[str, bytes],
    new: Mapping[str, bytes],
    removed: Container[str] = (),
) -> tuple[PlannedFile, ...]:
    """The files whose bytes differ, and those that go away; sorted by path."""
    return tuple(
        PlannedFile(
            before=describe_content(path, listed[path].mode, old[path]) if path in old else absent(path),
            old=old.get(path, b""),
            new=new[path],
            is_removed=path in removed,
        )
        for path in sorted(new)
        if (path in old and (path in removed or old[path] != new[path]))
        or (path not in old and path not in removed)
    )


def digest_plan(files: Sequence[PlannedFile]) -> str:
    """What an apply token is bound to: each path, its bytes before, and its bytes after."""
    return digest([[one.before.path, _hash_before(one), _hash_after(one)] for one in files])


def describe_files(files: Sequence[PlannedFile], most_bytes: int) -> list[ChangedFile]:
    """The files with as many hunks as fit."""
    room = most_bytes
    described: list[ChangedFile] = []
    for one in files:
        diffed = diff_texts(one.before.path, one.old, one.new)
        added, removed, text, note = 0, 0, "", ""
        if isinstance(diffed, str):
            note = diffed
        else:
            added, removed, text = diffed.added, diffed.removed, diffed.text
            size = len(text.encode())
            if size > room:
                text, note = "", "the answer is full"
            else:
                room -= size
        described.append(
            ChangedFile(
                file=one.before.path,
                added=added,
                removed=removed,
                before_hash=_hash_before(one),
                after_hash=_hash_after(one),
                hunks=text,
                note=note,
            )
        )
    return described


def find_obstacles(rt: ReadPorts, project: str, files: Sequence[PlannedFile]) -> tuple[LeftOut, ...]:
    """What stands in the way of writing these files, as things are."""
    return rt.worktree().find_obstacles(project, [_write(one) for one in files]) if files else ()


def write_plan(rt: WritePorts, project: str, files: Sequence[PlannedFile]) -> tuple[LeftOut, ...]:
    """Write all of them, or none. Returns what stood in the way. Raises Fault E_IO."""
    writes = {one.before.path: _write(one) for one in files}
    with rt.interruptions.defer():
        worktree = rt.worktree()
        done = worktree.write_files(project, list(writes.values()), is_whole=True)
        left = [writes[one.path] for one in done.left_out]
        if left and not worktree.find_obstacles(project, left):  # so the disk refused
            raise Fault(
                E_IO,
                f"A file could not be written: {done.left_out[0].why}. Every file is as it was.",
                details={"reason": "refused", "path": shorten(done.left_out[0].path)},
            )
    return done.left_out


def _write(one: PlannedFile) -> FileWrite:
    mode = "file" if one.before.mode == "absent" else one.before.mode
    return FileWrite(
        path=one.before.path,
        mode="absent" if one.is_removed else mode,
        content=b"" if one.is_removed else one.new,
        before=one.before,
        before_content=one.old,
        spares_read_only=True,
    )


def _hash_before(one: PlannedFile) -> str:
    return hash_content(None if one.before.mode == "absent" else one.old)


def _hash_after(one: PlannedFile) -> str:
    return hash_content(None if one.is_removed else one.new)


def hash_content(content: bytes | None) -> str:
    """As a preview names contents: nothing for a file that is not there."""
    return "" if content is None else f"sha256:{sha256(content).hexdigest()}"


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
    """What a rename kept or took along, what was decided, and calls that no longer fit."""


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
