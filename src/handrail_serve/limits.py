"""Every limit of the HTTP server, and the count of what is in progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from handrail.contract.accounts import Principal
from handrail.contract.catalogue import E_RATE_LIMITED, REQUEST_TOO_LARGE, STATUS_BY_PART
from handrail.contract.outcome import Failure, Fault, Json
from handrail.ports.workspace import TeamLimits

PLAIN = TeamLimits()
MOST_BODY_BYTES = PLAIN.body_bytes
MOST_BUNDLE_BYTES = 64 * 1024 * 1024
"""Bytes of a request that imports a bundle, which is stored in a file until it is complete."""
MOST_HEADER_BYTES = 16 * 1024
MOST_URL_BYTES = 8 * 1024
MOST_MEMBERS = 100_000
"""Limit of values in all objects and lists of a body."""
MOST_VIEW_BYTES = 256 * 1024
"""Bytes of one page of the Console as HTML."""
REQUESTS_AT_ONCE = 64
TEAM_FEEDS_AT_ONCE = 512
FEEDS_AT_ONCE = PLAIN.feeds
"""Default number of open feeds: per account, or for the whole server if there are no accounts."""
FEEDS_A_WORKSPACE = 32
"""Open feeds of one workspace, as a multiple of those of one account."""
REQUEST_SECONDS = 30.0
"""Seconds for a whole request, its body included. A feed has no such limit."""
OPERATION_SECONDS = 28.0
"""Seconds after which an operation is asked to end, so that its own answer is still sent in time."""
IDLE_SECONDS = 15
DRAIN_SECONDS = 30.0
CUT_SECONDS = 1.0
CONNECTIONS_AT_ONCE = 256
"""Limit of connections. Beyond it an idle connection is closed for a new one; if none is idle, the new one
is refused.
"""
IDLE_OF_AN_ADDRESS = 64
"""Idle connections of one address without a valid credential; beyond this number the oldest is closed."""


def refuse_size(url: bytes, headers: list[tuple[bytes, bytes]]) -> Failure | None:
    """Refuse an address or headers that are too long; a body is measured while it is read."""
    if len(url) > MOST_URL_BYTES:
        return too_large("url", len(url), MOST_URL_BYTES)
    total = sum(len(name) + len(value) + 4 for name, value in headers)
    if total > MOST_HEADER_BYTES:
        return too_large("headers", total, MOST_HEADER_BYTES)
    return None


def too_large(what: str, measured: int, limit: int) -> Failure:
    message = f"The {what} of this request may have {limit} bytes; {measured} or more came."
    status = STATUS_BY_PART.get(what, REQUEST_TOO_LARGE.http_status)
    return Failure(
        kind=msgspec.structs.replace(REQUEST_TOO_LARGE, http_status=status),
        message=message,
        details={"what": what, "measured": measured, "limit": limit},
    )


def refuse_members(decoded: Json) -> None:
    """Refuse JSON with more members than any call has: each uses more memory than its bytes.

    Raise Fault REQUEST_TOO_LARGE.
    """
    count = 0
    waiting = [decoded]
    while waiting:
        value = waiting.pop()
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        count += len(inner)
        if count > MOST_MEMBERS:
            raise Fault(
                REQUEST_TOO_LARGE,
                f"The JSON of this request may have {MOST_MEMBERS} members.",
                details={"what": "members", "measured": count, "limit": MOST_MEMBERS},
            )
        waiting += [one for one in inner if isinstance(one, dict | list)]


class Load:
    """Count of what is in progress. Only the event loop uses it, so it needs no lock."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self.requests = 0
        self.feeds = 0
        self.is_draining = False
        own = self.bounds.limits  # of an account: none keeps all others waiting, nor does a workspace
        self.calls = Shares("calls in progress", own.calls_at_once, own.calls_at_once * 3 // 2)
        self.feeds_open = Shares("feeds open", own.feeds, own.feeds * FEEDS_A_WORKSPACE)

    def has_room(self) -> bool:
        return self.requests < self.bounds.requests

    def has_room_for_feed(self) -> bool:
        return self.feeds < self.bounds.feeds


class Shares:
    """Count of what is in progress for each account and each workspace, so that none of them can use the
    whole server.
    """

    def __init__(self, what: str, of_an_account: int, of_a_workspace: int) -> None:
        self._what = what
        self._most = (of_an_account, of_a_workspace)
        self.held: Counter[str] = Counter()

    @contextmanager
    def take(self, principal: Principal | None) -> Iterator[None]:
        """Count one call of the caller for the scope of the `with`; without accounts nothing is counted per
        caller.

        Raise Fault E_RATE_LIMITED if the limit is reached.
        """
        mine = () if principal is None else (principal.account, principal.workspace)
        for name, most, whose in zip(mine, self._most, ("account", "workspace"), strict=False):
            if self.held[name] >= most:
                raise Fault(E_RATE_LIMITED, f"This {whose} has as many {self._what} as one may have: {most}.")
        self.held.update(mine)
        try:
            yield
        finally:
            self.held.subtract(mine)
            self.held = +self.held


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of work in progress and of time; tests make them small."""

    requests: int = REQUESTS_AT_ONCE
    feeds: int = FEEDS_AT_ONCE
    request_seconds: float = REQUEST_SECONDS
    operation_seconds: float = OPERATION_SECONDS
    drain_seconds: float = DRAIN_SECONDS
    limits: TeamLimits = PLAIN
