"""The audit log: one line per change or refused change, in one private file per month of the home.

The newest files are kept by number, not by date: a clock that was wrong once must not empty it.
It imports little beside `os`, because every write loads it. No flag and no variable turns it off.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

import msgspec

from handrail.contract.redaction import Secrets
from handrail.host.private_files import ensure_private_directory, open_regular_file
from handrail.ports.process import AuditLine

MOST_LINE_BYTES = 4_096
"""One write of this size to a file opened for appending is not torn apart by another process."""
_STDERR = 2
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW
_PREFIX, _SUFFIX = "audit-", ".jsonl"


class AuditFiles:
    """`ports.Audit` in `audit/` of the home: the directory 0700, each file 0600 from its first moment."""

    def __init__(self, home: str, secrets: Secrets) -> None:
        self._directory = os.path.join(home, "audit")
        self._secrets = secrets

    def record(self, line: AuditLine, keep_months: int) -> None:
        month = line.at[:7]
        try:
            content = self._secrets.redact(encode_line(line))
            descriptor, is_new = self._opened(month)
            try:
                os.write(descriptor, content)
            finally:
                os.close(descriptor)
        except OSError as trouble:
            _complain(trouble)
            return
        if is_new:
            self._keep_newest(keep_months, month)

    def _opened(self, month: str) -> tuple[int, bool]:
        path = os.path.join(self._directory, f"{_PREFIX}{month}{_SUFFIX}")
        try:
            return open_regular_file(path, _APPEND), False
        except FileNotFoundError:
            ensure_private_directory(self._directory)
        descriptor = open_regular_file(path, _APPEND | os.O_CREAT)
        os.fchmod(descriptor, 0o600)  # whatever the umask is
        return descriptor, True

    def _keep_newest(self, count: int, current: str) -> None:
        """Once a month; it may fail without harm. The current month stays."""
        with suppress(OSError):
            names = os.listdir(self._directory)
            ours = sorted(name for name in names if name.startswith(_PREFIX) and name.endswith(_SUFFIX))
            for name in ours[:-count]:
                if name != f"{_PREFIX}{current}{_SUFFIX}":
                    os.unlink(os.path.join(self._directory, name))


def encode_line(line: AuditLine) -> bytes:
    """A line as stored: short enough for one write."""
    content = msgspec.json.encode(line) + b"\n"
    if len(content) > MOST_LINE_BYTES:
        shorter = msgspec.structs.replace(line, args={"omitted_bytes": len(msgspec.json.encode(line.args))})
        content = msgspec.json.encode(shorter) + b"\n"
    return content


def _complain(trouble: OSError) -> None:
    """One line on stderr; a call never fails because its audit line could not be written."""
    why = errno.errorcode.get(trouble.errno or 0, "unknown")
    line = f"handrail: the audit log could not be written ({why}); look at audit/ in the Handrail home.\n"
    with suppress(OSError):
        os.write(_STDERR, line.encode())
