"""Tracebacks of defects, kept in private files of the home; answers only quote their id."""

from __future__ import annotations

import hashlib
import os

from handrail.contract.redaction import Secrets, redact_shapes
from handrail.host.private_files import ensure_private_directory

MOST_INCIDENT_BYTES = 65_536
_MOST_LOOKED_AT = 4 * MOST_INCIDENT_BYTES
"""What could not be kept anyway must not cost time."""


class IncidentFiles:
    """`ports.Incidents`: one 0600 file per defect, named by its content, so a repeat adds nothing."""

    def __init__(self, home: str, secrets: Secrets | None = None) -> None:
        self._directory = os.path.join(home, "incidents")
        self._secrets = secrets or Secrets()

    def record(self, traceback: str) -> str:
        text = redact_shapes(traceback[:_MOST_LOOKED_AT])
        content = self._secrets.redact(text.encode(errors="replace"))[:MOST_INCIDENT_BYTES]
        incident = hashlib.sha256(content).hexdigest()[:12]
        try:
            ensure_private_directory(self._directory)
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
