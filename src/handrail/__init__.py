"""Handrail: one step at a time for AI agents, with the truth in an append-only log."""

from handrail.version import __version__

TYPE_CHECKING = False  # type checkers know the name; importing `typing` would cost a third of a start
if TYPE_CHECKING:
    from typing import Any

    from handrail.engine.reply import Reply
    from handrail.library import (
        CandidatePage,
        ConfirmationNeeded,
        Conflict,
        Handrail,
        InvalidCall,
        NotAllowed,
        NotFound,
        OperationFailed,
        PersonNeeded,
        ReplyNotBuilt,
        SessionPage,
        Unavailable,
    )
    from handrail.operations.checks.prove_change import ProvenChange
    from handrail.operations.sessions.resume_session import Candidate
    from handrail.views.sessions import SessionView

__all__ = [
    "Candidate",
    "CandidatePage",
    "ConfirmationNeeded",
    "Conflict",
    "Handrail",
    "InvalidCall",
    "NotAllowed",
    "NotFound",
    "OperationFailed",
    "PersonNeeded",
    "ProvenChange",
    "Reply",
    "ReplyNotBuilt",
    "SessionPage",
    "SessionView",
    "Unavailable",
    "__version__",
]


def __getattr__(name: str) -> "Any":
    """Load the library on first use: `handrail --version` must not pay for it."""
    if name in __all__:
        import importlib  # noqa: PLC0415 - a public root that loads its names on first use

        return getattr(importlib.import_module("handrail.library"), name)
    raise AttributeError(f"module 'handrail' has no attribute {name!r}")
