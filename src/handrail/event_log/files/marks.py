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
        self._seen: dict[str, tuple[tuple[int, int], str]] = {}
        """What the last look found, and how it was spelt: most sessions are as they were."""

    def read(self) -> Mapping[str, str]:
        """The marks of all sessions; one that is being made or removed just now may be missing."""
        try:
            folder = os.open(self._sessions, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return {}
        try:
            self._seen = self._look(folder)
        finally:
            os.close(folder)
        return {name: mark for name, (_, mark) in self._seen.items()}

    def _look(self, folder: int) -> dict[str, tuple[tuple[int, int], str]]:
        seen = {}
        for name in os.listdir(folder):
            held = self._seen.get(name)
            if held is None and not is_session_id(name):
                continue
            try:
                status = os.stat(f"{name}/{MANIFEST_NAME}", dir_fd=folder)
            except OSError:
                continue
            found = (status.st_size, status.st_mtime_ns)
            seen[name] = held if held is not None and held[0] == found else (found, "{}-{}".format(*found))
        return seen
