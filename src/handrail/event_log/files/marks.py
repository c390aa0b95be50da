"""A mark per session that changes with every commit: size and time of its manifest, without opening it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.contract.ids import is_session_id
from handrail.event_log.files.manifest import MANIFEST_NAME


class SessionMarks:
    """Looks at the names and times of files only: cheap enough to be asked three times a second."""

    def __init__(self, data: str) -> None:
        self._sessions = os.path.join(data, "sessions")

    def read(self) -> Mapping[str, str]:
        """The marks of all sessions; one that is being made or removed just now may be missing."""
        marks = {}
        try:
            names = os.listdir(self._sessions)
        except OSError:
            return {}
        for name in names:
            if not is_session_id(name):
                continue
            try:
                status = os.stat(f"{self._sessions}/{name}/{MANIFEST_NAME}")
            except OSError:
                continue
            marks[name] = f"{status.st_size}-{status.st_mtime_ns}"
        return marks
