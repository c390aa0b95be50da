"""A workflow or contract file as it was found, before anything reads it. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from handrail.contract.ids import SourceKind


class WorkflowFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was found; `workflows` reads it."""

    source_kind: SourceKind
    source_ref: str
    """Its source without a machine path: file name, or package resource."""
    content: bytes
    holds: Literal["workflow", "contract"] = "workflow"
    trouble: str = ""
    """Why it cannot be used even before it is read, in a sentence; empty if it can."""
    remedy: str = ""
    """What to do about the problem."""
    summary: bytes = b""
    """What `workflows` reported about this content earlier; empty if nothing is stored."""
    decoded: bytes = b""
    """The document of this content as JSON, if it came with the file; empty if it must be read from the
    content.
    """
    namespaces: dict[str, str] = {}
    """Namespace aliases that the user configured for the source, such as wr. for workrail."""
    address: str = ""
    """For a repository: its path or its URL, as the user's settings have it, without credentials."""
