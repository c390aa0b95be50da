"""A workflow or contract file as it was found, before anyone read it. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from handrail.contract.ids import SourceKind


class WorkflowFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as found; `workflows` reads it."""

    source_kind: SourceKind
    source_ref: str
    """Where it came from, without a machine path: file name, or package resource."""
    content: bytes
    holds: Literal["workflow", "contract"] = "workflow"
    trouble: str = ""
    """Why it cannot be used before anyone reads it, in a sentence; empty when it can."""
    remedy: str = ""
    """What to do about the trouble."""
    summary: bytes = b""
    """What `workflows` said about this content earlier; empty when nothing is remembered."""
    decoded: bytes = b""
    """The document of this content as JSON, where it came with the file; empty where it is read from it."""
    namespaces: dict[str, str] = {}
    """How the user who configured the source calls its namespaces, such as wr. to workrail."""
    address: str = ""
    """Of a repository: its path or its URL, as the user's settings have it, without credentials."""
