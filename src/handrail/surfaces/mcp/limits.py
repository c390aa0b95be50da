"""How much one call may carry, measured before anything looks at the content. Pure."""

from __future__ import annotations

from handrail.contract.catalogue import REQUEST_TOO_LARGE
from handrail.contract.outcome import Failure, Json

MAX_BYTES = 4 * 1024 * 1024
"""Of all names and texts together; what stands between them hardly counts."""
MAX_DEPTH = 64
MAX_MEMBERS = 100_000


def too_large(arguments: dict[str, Json]) -> Failure | None:
    """The refusal of arguments over a limit. Walks level by level, so depth cannot exhaust the stack."""
    size_bytes = members = depth = 0
    level: list[Json] = [arguments]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return _refusal("nested levels", depth, MAX_DEPTH)
        deeper: list[Json] = []
        for container in level:
            members += len(container)
            values = container
            if isinstance(container, dict):
                size_bytes += sum(map(_text_bytes, container))
                values = container.values()
            size_bytes += sum(_text_bytes(value) for value in values if isinstance(value, str))
            deeper.extend(value for value in values if isinstance(value, dict | list))
        if members > MAX_MEMBERS:
            return _refusal("members", members, MAX_MEMBERS)
        if size_bytes > MAX_BYTES:
            return _refusal("bytes", size_bytes, MAX_BYTES)
        level = deeper
    return None


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _refusal(what: str, measured: int, limit: int) -> Failure:
    return Failure(
        kind=REQUEST_TOO_LARGE,
        message=f"The arguments have {measured} {what}, {limit} at most; nothing was stored.",
        details={"what": what, "measured": measured, "limit": limit},
        hint="Send less: shorten the notes, and put references instead of content into context.",
    )
