"""The process around one call: time, randomness, keys, confirmed tokens, audit, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from handrail.contract.outcome import Json


class Incidents(Protocol):
    """Where a defect's traceback goes: a private file, never an answer."""

    def record(self, traceback: str) -> str:
        """Keep it and return a short id to quote; empty when it could not be kept. Never raises."""


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """One change, or one refused change. Nothing in it is a secret, or what a caller wrote."""

    at: str
    tool: str
    """Which surface was asked."""
    version: str
    command: str
    args: dict[str, Json] = {}
    account: str
    workspace: str
    effect: str
    dry_run: bool = False
    code: str | None = None
    """Of the trouble; None when there was none."""
    exit: int = 0
    duration_ms: int = 0
    targets_count: int = 0
    token_fingerprint: str = ""
    request_id: str = ""


class Audit(Protocol):
    """Who changed what, kept apart from the sessions themselves."""

    def record(self, line: AuditLine, keep_months: int) -> None:
        """Add one line, and drop months older than `keep_months`. Never raises; trouble goes to stderr."""


class Interruptions(Protocol):
    """How a call learns that it must stop, at points where it can still answer truthfully."""

    def defer(self) -> AbstractContextManager[None]:
        """Inside, nothing stops the call; it checks `stop_reason` between the parts of its work."""

    def stop_reason(self) -> Literal["", "signal", "deadline"]:
        """Return why the call must stop; empty while nothing asks it to."""

    def end_here(self) -> None:
        """Raises Fault E_INTERRUPTED or E_TIMEOUT if the call must stop; it has changed nothing so far."""

    def pause(self, milliseconds: int) -> None:
        """Wait; return early if the call must stop."""

    def ms_left(self) -> int | None:
        """How long the call may still take; None where nobody limits it."""


class Progress(Protocol):
    """Where a long piece of work says how far it is."""

    def report(self, done: int, total: int, what: str) -> None:
        """`done` of `total` (0: unknown) are finished. Cheap: most calls print nothing. Never raises."""

    def write(self, line: str) -> None:
        """Write whole lines for people. Never raises."""

    def pass_on(self, lines: str) -> None:
        """Show whole lines of a program whose reply quotes their end. Never raises."""


class Terminal(Protocol):
    """The terminal that a person sits at: never stdin or stdout, which may belong to a program."""

    def ask(self, text: str, must_stop: Callable[[], bool]) -> str | None:
        """Show the text and return the line that is typed after it, without its end.

        None: there is no terminal where somebody can answer, it is gone, or `must_stop` became true. The
        text is shown as it is, so nothing in it may steer a terminal. Never raises.
        """


class Clock(Protocol):
    """Time, for information only: nothing is ordered, compared or replayed by it."""

    def now(self) -> str:
        """UTC as `2026-11-15T09:30:00.123Z`."""

    def unix_seconds(self) -> int:
        """For expiries of cursor, confirm and continuation tokens."""

    def monotonic_ms(self) -> int:
        """For durations and bounded waits."""

    def processor_ms(self) -> int:
        """Return how long this thread has worked, for limits that a busy machine must not bring closer."""


class Randomness(Protocol):
    """The only source of chance."""

    def bytes(self, count: int) -> bytes: ...


class KeyringFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What may be shown about the keyring."""

    count: int
    """Keys that verify: none before the first use, at most two."""
    version: str
    """Another one after every change; says nothing about the keys."""


class Keys(Protocol):
    """The keyring, reduced to derived purpose keys: no caller ever sees a ring key."""

    def facts(self) -> KeyringFacts:
        """Creates nothing. Raises Fault KEYRING_INVALID."""

    def rotate(self, expected_version: str) -> bool:
        """Sign with a new key; the one before it still verifies. False when this is not its version."""

    def signing_key(self, purpose: str) -> bytes:
        """32 bytes for minting. Creates the keyring on first use.

        Raises Fault KEYRING_INVALID when it cannot be read or created; never an unkeyed fallback.
        """

    def request_key(self) -> bytes:
        """Names the sessions of request ids: made once, never rotated. Raises Fault KEYRING_INVALID."""

    def verifying_keys(self, purpose: str) -> tuple[bytes, ...]:
        """Current first, then previous if there is one. Empty when no keyring exists yet; never creates."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What came of claiming a confirm token."""

    state: Literal["claimed", "already_used", "not_recorded"]
    reason: str = ""
    """Of `not_recorded`: one word from the operating system."""


class ConfirmedTokens(Protocol):
    """Which confirm tokens were used, across all processes of this home."""

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        """Use a token up. Of many callers with one fingerprint exactly one gets `claimed`.

        The claim is durable before this returns, and nothing gives a token back. `not_recorded` means that
        the disk refused and no earlier claim was found. Of very many claims the oldest are forgotten.
        Never raises.
        """

    def is_used(self, fingerprint: str) -> bool:
        """Whether a claim is recorded. Uses nothing up, and never raises."""


class McpProcess(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an MCP server that runs now says of itself to programs of the same user."""

    pid: int
    version: str
    transport: Literal["stdio", "http"]
    project: str
    tools: tuple[str, ...]
    """What it offers: fixed when it started."""
    started_at: str


class McpProcesses(Protocol):
    """The MCP servers of this home."""

    def announce(self, server: McpProcess) -> None:
        """List this process until it ends, however it dies. Never raises: it works without being listed."""

    def withdraw(self) -> None:
        """This process ends. Never raises."""

    def running(self) -> tuple[McpProcess, ...]:
        """Those that live, by start; what a killed one left is not believed. Writes nothing, never raises."""


class CallNote(msgspec.Struct, frozen=True, kw_only=True):
    """That an operation was called: what leaves the machine where telemetry is on, and nothing else."""

    operation: str
    outcome: str
    """`ok`, `blocked`, or the code of the failure."""
    is_failure: bool
    duration_ms: int


class Observer(Protocol):
    """Counts what is called, for those who watch the process from outside."""

    def note_call(self, call: CallNote) -> None: ...

    def note_feeds(self, change: int) -> None:
        """So many more feeds of changes are open, or fewer."""

    def close(self) -> None:
        """Send what is left, within a bounded time."""
