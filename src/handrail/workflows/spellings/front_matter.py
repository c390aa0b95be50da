"""Which Markdown is a workflow: what its front matter says, seen without reading any YAML. Pure."""

from __future__ import annotations

import re

RULE = "---"
"""The line before and after the front matter."""
_HAS_ID = re.compile(rb"^(?:id|\"id\"|'id')[ \t]*:", re.MULTILINE)
_END = re.compile(rb"^---[ \t\r]*$", re.MULTILINE)


def has_workflow_id(content: bytes) -> bool:
    """Whether the front matter of a Markdown file has an `id`; other Markdown is no workflow."""
    first, _, rest = content.partition(b"\n")
    if first.rstrip() != RULE.encode():
        return False
    end = _END.search(rest)
    return _HAS_ID.search(rest, 0, len(rest) if end is None else end.start()) is not None
