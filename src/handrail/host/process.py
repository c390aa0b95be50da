"""`ports.process` on this machine: time, randomness, and the small files that calls leave in the home.

It imports little beside `os`, because every call loads it. No flag and no variable turns the audit off.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from handrail.contract.outcome import Json, Notice
from handrail.contract.redaction import Secrets, redact_shapes
from handrail.host.private_files import (
    create_exclusively,
    ensure_private_directory,
    open_regular_file,
    open_unfollowed,
    read_document,
)
from handrail.ports.process import AuditLine, Claim, McpProcess
from handrail.version import __version__


class SystemClock:
    """`ports.Clock` over the system's clocks."""

    def now(self) -> str:
        nanoseconds = time.time_ns()
        seconds, rest = divmod(nanoseconds, 1_000_000_000)
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1_000_000:03d}Z"

    def unix_seconds(self) -> int:
        return int(time.time())

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    def processor_ms(self) -> int:
        return time.thread_time_ns() // 1_000_000


class SystemRandomness:
    """`ports.Randomness` over the system's generator."""

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)


# The audit log: one line per change or refused change, in one private file per month of the home.
#
# The newest files are kept by number, not by date: a clock that was wrong once must not empty it.

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
        """Remove the oldest audit files, once a month. The current month stays. A failure does no harm."""
        with suppress(OSError):
            names = os.listdir(self._directory)
            ours = sorted(name for name in names if name.startswith(_PREFIX) and name.endswith(_SUFFIX))
            for name in ours[:-count]:
                if name != f"{_PREFIX}{current}{_SUFFIX}":
                    os.unlink(os.path.join(self._directory, name))


def encode_line(line: AuditLine) -> bytes:
    """Return a line as stored, short enough for one write."""
    content = msgspec.json.encode(line) + b"\n"
    if len(content) > MOST_LINE_BYTES:
        shorter = msgspec.structs.replace(line, args={"omitted_bytes": len(msgspec.json.encode(line.args))})
        content = msgspec.json.encode(shorter) + b"\n"
    return content


def _complain(trouble: OSError) -> None:
    """Write one line on stderr; a call never fails because its audit line could not be written."""
    why = errno.errorcode.get(trouble.errno or 0, "unknown")
    line = f"handrail: the audit log could not be written ({why}); look at audit/ in the Handrail home.\n"
    with suppress(OSError):
        os.write(_STDERR, line.encode())


# Tracebacks of defects, kept in private files of the home; answers only quote their id.

MOST_INCIDENT_BYTES = 65_536
_MOST_LOOKED_AT = 4 * MOST_INCIDENT_BYTES
"""Characters of a traceback that are read: more could not be kept anyway, and must not cost time."""


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
            with open(path, "wb", opener=open_unfollowed) as file:
                file.write(content)
        except OSError:
            return ""
        return incident


# Used confirm tokens: one file per token, created exclusively, so that one of many processes wins.
#
# It needs no lock, so it works even where `flock` does not.

_CLAIMS = "confirm-consumed"
_KEPT_CLAIMS = 1_024
"""This many claims stay whatever the clock says: a clock that is set back would make their tokens valid."""
_KEPT_SECONDS = 3_600
"""Beyond that number, claims that expired longer ago than this are removed."""
_MOST_REMOVED = 64


class ConfirmedTokenFiles:
    """`ports.ConfirmedTokens` in the home."""

    def __init__(self, home: str) -> None:
        self._directory = os.path.join(home, _CLAIMS)

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
            if len(paths) <= _KEPT_CLAIMS:
                return
            for expiry, path in sorted((_expiry(path, now), path) for path in paths)[:-_KEPT_CLAIMS][
                :_MOST_REMOVED
            ]:
                if expiry + _KEPT_SECONDS < now:
                    os.unlink(path)


def _expiry(path: str, now: int) -> int:
    """When the token of a claim expires; now if the file does not say, so that it stays."""
    try:
        with open(path, "rb") as file:
            return int(file.read(20))
    except (OSError, ValueError):
        return now


# Which MCP servers of this home run now: each has a file of its own, and holds its lock while it lives.
#
# A file that nobody holds was left by a server that was killed: it is not believed, and the next server that
# starts takes it away.

_MOST_SERVERS = 200
"""That are looked at, by name."""
_MOST_BYTES = 65_536
_RUNNING = "run"
_SERVER, _SERVER_SUFFIX = "mcp-", ".json"
_OPEN_SERVER = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class McpProcessFiles:
    """`ports.McpProcesses` in files of the home."""

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, _RUNNING)
        self._held: dict[str, int] = {}

    def announce(self, server: McpProcess) -> None:
        """Never raises: a server works without being listed."""
        path = os.path.join(self._folder, f"{_SERVER}{server.pid}{_SERVER_SUFFIX}")
        with suppress(OSError):
            ensure_private_directory(self._folder)
            self._remove_left()
            descriptor = os.open(path, _OPEN_SERVER, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, msgspec.json.encode(server) + b"\n")
            self._held[path] = descriptor

    def withdraw(self) -> None:
        for path, descriptor in self._held.items():
            with suppress(OSError):
                os.unlink(path)
            os.close(descriptor)
        self._held.clear()

    def running(self) -> tuple[McpProcess, ...]:
        found = [server for path in self._paths() if (server := _read_held(path)) is not None]
        return tuple(sorted(found, key=lambda one: (one.started_at, one.pid)))

    def _paths(self) -> list[str]:
        try:
            names = sorted(os.listdir(self._folder))
        except OSError:
            return []
        own = [name for name in names if name.startswith(_SERVER) and name.endswith(_SERVER_SUFFIX)]
        return [os.path.join(self._folder, name) for name in own[:_MOST_SERVERS]]

    def _remove_left(self) -> None:
        for path in self._paths():
            for _ in _unheld(path):
                with suppress(OSError):
                    os.unlink(path)


def _read_held(path: str) -> McpProcess | None:
    """Return the content of the file if its server lives; None otherwise."""
    for _ in _unheld(path):
        return None
    return read_document(path, McpProcess, _MOST_BYTES)


def _unheld(path: str) -> Iterator[None]:
    """Yield once if no process holds the lock of the file, and hold the lock meanwhile; yield nothing
    otherwise.
    """
    try:
        descriptor = open_regular_file(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)


# Notices about new releases: the file that every command may read, and which answers carry them.

NOTICES = ("data", "cache", "notices.json")
_MOST_NOTICE_BYTES = 65_536
_MOST_NOTICES = 5
OPERATIONS_WITH_ALL = frozenset(
    {"self.context", "self.doctor", "self.reference", "run.start", "session.resume"}
)
"""Operations that begin something or describe the program; the others carry only warnings."""


def read_notices(home: str) -> list[dict[str, Json]]:
    """Return the notices that still apply; none if the file cannot be read."""
    found = read_document(os.path.join(home, *NOTICES), list[dict[str, Any]], _MOST_NOTICE_BYTES)
    return [one for one in (found or ())[:_MOST_NOTICES] if _is_news(one)]


def notices_for(home: str, operation: str) -> Sequence[Notice]:
    """Return the notices for an answer of this operation."""
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
    from handrail.program.update.package_index import version_key  # noqa: PLC0415 - there is seldom news

    latest, running = version_key(str(notice.get("latest_version", ""))), version_key(__version__)
    return latest is not None and running is not None and running < latest
