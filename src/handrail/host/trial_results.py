"""`ports.trials.TrialResults` in files of the home: one for each result, removed when it is old."""

from __future__ import annotations

import os
import time
import zlib
from contextlib import suppress

import msgspec

from handrail.host.private_files import content_of, ensure_private_directory, replace_cache
from handrail.ports.trials import TrialResult

MOST_BYTES = 8_000_000
MOST_RESULTS = 400
KEPT_SECONDS = 14 * 86_400
"""As long as the trees of the runs are kept."""
_decode = msgspec.json.Decoder(TrialResult).decode


class TrialResultFiles:
    """The results of all projects of one home."""

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, "data", "cache", "trials")

    def find(self, key: str) -> TrialResult | None:
        path = self._locate(key)
        try:
            unpacker = zlib.decompressobj()
            content = unpacker.decompress(content_of(path, MOST_BYTES), MOST_BYTES)
            os.utime(path)
            return _decode(content)
        except (OSError, zlib.error, msgspec.DecodeError):
            return None

    def keep(self, key: str, result: TrialResult) -> None:
        content = msgspec.json.encode(result)
        if len(content) > MOST_BYTES:
            return
        with suppress(OSError):
            ensure_private_directory(self._folder)
            replace_cache(self._locate(key), zlib.compress(content))
            self._remove_old()

    def _locate(self, key: str) -> str:
        return os.path.join(self._folder, key.removeprefix("sha256:"))

    def _remove_old(self) -> None:
        with os.scandir(self._folder) as found:
            rows = sorted(((entry.stat().st_mtime, entry.path) for entry in found), reverse=True)
        oldest = time.time() - KEPT_SECONDS
        for place, (changed, path) in enumerate(rows):
            if place >= MOST_RESULTS or changed < oldest:
                with suppress(OSError):
                    os.unlink(path)
