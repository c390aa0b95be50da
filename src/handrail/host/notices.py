"""Notices about new releases: the file that every command may read, and which answers carry them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from handrail import __version__
from handrail.contract.outcome import Json, Notice
from handrail.host.private_files import read_document
from handrail.program.update.package_index import version_key

NOTICES = ("data", "cache", "notices.json")
_MOST_BYTES = 65_536
_MOST_NOTICES = 5
OPERATIONS_WITH_ALL = frozenset(
    {"self.context", "self.doctor", "self.reference", "run.start", "session.resume"}
)
"""Operations that begin something or describe the program; the others carry only warnings."""


def read_notices(home: str) -> list[dict[str, Json]]:
    """The notices that still apply; none if anything is wrong with the file."""
    found = read_document(os.path.join(home, *NOTICES), list[dict[str, Any]], _MOST_BYTES)
    return [one for one in (found or ())[:_MOST_NOTICES] if _is_news(one)]


def notices_for(home: str, operation: str) -> Sequence[Notice]:
    """The notices for an answer of this operation."""
    return tuple(
        Notice(
            type=str(one.get("type")),
            severity="warning" if one.get("severity") == "warning" else "info",
            message=f"Handrail {one['latest_version']} is out, this is {__version__}; run handrail update.",
            extra={name: value for name, value in one.items() if value is not None},
        )
        for one in read_notices(home)
        if one.get("severity") == "warning" or operation in OPERATIONS_WITH_ALL
    )


def _is_news(notice: dict[str, Any]) -> bool:
    """Whether the notice names a newer version than the running one."""
    latest, running = version_key(str(notice.get("latest_version", ""))), version_key(__version__)
    return latest is not None and running is not None and running < latest
