"""Tracebacks of defects, kept in private files of the home; answers only quote their id."""

from __future__ import annotations

import hashlib
import os

MOST_INCIDENT_BYTES = 65_536


class IncidentFiles:
    """`ports.Incidents`: one 0600 file per defect, named by its content, so a repeat adds nothing."""

    def __init__(self, home: str) -> None:
        self._directory = os.path.join(home, "incidents")

    def record(self, traceback: str) -> str:
        content = traceback.encode(errors="replace")[:MOST_INCIDENT_BYTES]
        incident = hashlib.sha256(content).hexdigest()[:12]
        try:
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            path = os.path.join(self._directory, f"{incident}.txt")
            descriptor = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            try:
                os.write(descriptor, content)
            finally:
                os.close(descriptor)
        except OSError:
            return ""
        return incident
