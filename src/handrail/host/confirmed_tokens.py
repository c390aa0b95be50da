"""Used confirm tokens: one file per token, created exclusively, so that one of many processes wins.

It needs no lock, so it works even where `flock` does not.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from handrail.host.private_files import create_exclusively, ensure_private_directory
from handrail.ports.process import Claim

_DIRECTORY = "confirm-consumed"
_KEPT = 1_024
"""This many claims stay whatever the clock says: a clock that is set back would make their tokens valid."""
_KEPT_SECONDS = 3_600
"""Beyond that number, claims that expired longer ago than this are removed."""
_MOST_REMOVED = 64


class ConfirmedTokenFiles:
    """`ports.ConfirmedTokens` in the home."""

    def __init__(self, home: str) -> None:
        self._directory = os.path.join(home, _DIRECTORY)

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        path = os.path.join(self._directory, fingerprint)
        try:
            ensure_private_directory(self._directory)
            is_ours = create_exclusively(path, str(expires_at).encode())
        except OSError as trouble:
            if self.is_used(fingerprint):
                return Claim(state="already_used")
            return Claim(state="not_recorded", reason=errno.errorcode.get(trouble.errno or 0, "unknown"))
        if not is_ours:
            return Claim(state="already_used")
        self._forget(now)
        return Claim(state="claimed")

    def is_used(self, fingerprint: str) -> bool:
        return os.path.lexists(os.path.join(self._directory, fingerprint))

    def _forget(self, now: int) -> None:
        """Remove some of the oldest claims when there are many. It may fail without harm."""
        with suppress(OSError):
            paths = [os.path.join(self._directory, name) for name in os.listdir(self._directory)]
            if len(paths) <= _KEPT:
                return
            for expiry, path in sorted((_expiry(path, now), path) for path in paths)[:-_KEPT][:_MOST_REMOVED]:
                if expiry + _KEPT_SECONDS < now:
                    os.unlink(path)


def _expiry(path: str, now: int) -> int:
    """When the token of a claim expires; now if the file does not say, so that it stays."""
    try:
        with open(path, "rb") as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return now
