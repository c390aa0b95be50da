"""One row of the catalogue: what code raises, and how each surface says it. Pure."""

from __future__ import annotations

import msgspec


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One row: what code raises, and how each surface says it."""

    code: str
    """The kind. Without `E_` it is a domain code and travels in `details.domain_code`."""
    native: str
    """`error.code` of the CLI dialect: one of the frozen core codes."""
    exit_status: int
    is_retryable: bool = False
    """The same bytes may be sent again."""
    lafs_code: str
    category: str
    is_lafs_retryable: bool = False
    agent_action: str
    needs_escalation: bool = False
    http_status: int
    wait_ms: int | None = None
    hint: str
    """What to do now; the default when a Failure brings no text of its own."""
    details: tuple[str, ...] = ()
    """The detail keys a Failure of this kind may carry."""
    is_reserved: bool = False
    """Declared, but nothing raises it yet."""
