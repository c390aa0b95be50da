"""The process around one call: time, randomness, keys, confirmed tokens, audit, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from handrail.contract.outcome import Json


class Incidents(Protocol):
    """Where the traceback of a defect goes: a private file, never an answer."""

    def record(self, traceback: str) -> str:
        """Store the traceback and return a short id to quote; empty if that failed. Never raises."""


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """One change, or one refused change. It contains no secret and nothing that a caller wrote."""

    at: str
    tool: str
    """The interface that was called."""
    version: str
    command: str
    args: dict[str, Json] = {}
    account: str
    workspace: str
    effect: str
    dry_run: bool = False
    code: str | None = None
    """Code of the failure; None if the call succeeded."""
    exit: int = 0
    duration_ms: int = 0
    targets_count: int = 0
    token_fingerprint: str = ""
    request_id: str = ""


class Audit(Protocol):
    """The record of who changed what, separate from the sessions."""

    def record(self, line: AuditLine, keep_months: int) -> None:
        """Add one line, and drop months older than `keep_months`. Never raises; trouble goes to stderr."""


class Interruptions(Protocol):
    """How a call learns that it must stop, at points where it can still give a true answer."""

    def defer(self) -> AbstractContextManager[None]:
        """Inside, nothing stops the call; it checks `stop_reason` between the parts of its work."""

    def stop_reason(self) -> Literal["", "signal", "deadline"]:
        """Return why the call must stop; empty if it need not."""

    def end_here(self) -> None:
        """Raise Fault E_INTERRUPTED or E_TIMEOUT if the call must stop.

        The call has changed nothing so far.
        """

    def pause(self, milliseconds: int) -> None:
        """Wait; return early if the call must stop."""

    def ms_left(self) -> int | None:
        """Return how long the call may still take; None if there is no limit."""


class Progress(Protocol):
    """Where a long operation reports its progress."""

    def report(self, done: int, total: int, what: str) -> None:
        """Report that `done` of `total` (0: unknown) are finished.

        Cheap: most calls print nothing. Never raises.
        """

    def write(self, line: str) -> None:
        """Write whole lines for a person to read. Never raises."""

    def pass_on(self, lines: str) -> None:
        """Show whole lines of a program whose last lines the reply quotes. Never raises."""


class Terminal(Protocol):
    """The terminal of a person: never stdin or stdout, which may belong to a program."""

    def ask(self, text: str, must_stop: Callable[[], bool]) -> str | None:
        """Show the text and return the line that the person types, without its end; None if no person can
        answer at a terminal, the terminal is gone, or `must_stop` became true. The text is shown unchanged,
        so it must contain no terminal control characters. Never raises.
        """


class Clock(Protocol):
    """Time, for information only: nothing is ordered, compared or replayed by it."""

    def now(self) -> str:
        """Return UTC as `2026-11-15T09:30:00.123Z`."""

    def unix_seconds(self) -> int:
        """Return Unix seconds, for the expiry of cursor, confirm and continuation tokens."""

    def monotonic_ms(self) -> int:
        """Return milliseconds for durations and bounded waits."""

    def processor_ms(self) -> int:
        """Return how long this thread has worked, for limits that a busy machine must not bring closer."""


class Randomness(Protocol):
    """The only source of randomness."""

    def bytes(self, count: int) -> bytes: ...


class KeyringFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about the keyring that may be shown."""

    count: int
    """Number of keys that verify: 0 before the first use, at most 2."""
    version: str
    """A value that differs after every change and reveals nothing about the keys."""


class Keys(Protocol):
    """The keyring, reduced to derived purpose keys: no caller ever gets a ring key."""

    def facts(self) -> KeyringFacts:
        """Return facts about the keyring. Creates nothing. Raise Fault KEYRING_INVALID."""

    def rotate(self, expected_version: str) -> bool:
        """Sign with a new key from now on; the previous key still verifies.

        Return False if the version differs.
        """

    def signing_key(self, purpose: str) -> bytes:
        """Return 32 bytes for minting. Creates the keyring on first use.

        Raise Fault KEYRING_INVALID if it cannot be read or created; there is never an unkeyed fallback.
        """

    def request_key(self) -> bytes:
        """Return the key that names the sessions of request ids: made once, never rotated.

        Raise Fault KEYRING_INVALID.
        """

    def verifying_keys(self, purpose: str) -> tuple[bytes, ...]:
        """Return the current key, then the previous one if any; empty if there is no keyring.

        Never creates one.
        """


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The result of using a confirm token."""

    state: Literal["claimed", "already_used", "not_recorded"]
    reason: str = ""
    """If `not_recorded`: one word from the operating system."""


class ConfirmedTokens(Protocol):
    """The record of used confirm tokens, across all processes of this home."""

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        """Use a token up. Of many callers with one fingerprint exactly one gets `claimed`.

        The record is durable before this returns, and nothing makes a token usable again. `not_recorded`
        means that the disk refused the record and that no earlier use was found. If there are very many
        records, the oldest are dropped. Never raises.
        """

    def is_used(self, fingerprint: str) -> bool:
        """Whether a use of the token is recorded. Uses nothing up, and never raises."""


class McpProcess(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a running MCP server reports about itself to programs of the same user."""

    pid: int
    version: str
    transport: Literal["stdio", "http"]
    project: str
    tools: tuple[str, ...]
    """The tools that it offers, fixed when it started."""
    started_at: str


class McpProcesses(Protocol):
    """The running MCP servers of this home."""

    def announce(self, server: McpProcess) -> None:
        """List this process until it ends, however it dies.

        Never raises: the server works without being listed.
        """

    def withdraw(self) -> None:
        """Remove this process from the list, because it ends. Never raises."""

    def running(self) -> tuple[McpProcess, ...]:
        """Return the running servers by start; entries of killed processes are ignored.

        Writes nothing, never raises.
        """


class CallNote(msgspec.Struct, frozen=True, kw_only=True):
    """Note that an operation was called: all that leaves the machine if telemetry is on."""

    operation: str
    outcome: str
    """`ok`, `blocked`, or the code of the failure."""
    is_failure: bool
    duration_ms: int


class Observer(Protocol):
    """Counts calls, for monitoring from outside the process."""

    def note_call(self, call: CallNote) -> None: ...

    def note_feeds(self, change: int) -> None:
        """Add to the number of open change feeds; `change` is negative if some were closed."""

    def close(self) -> None:
        """Send what remains, within a bounded time."""
