"""Servers on this and other machines: how a local one is found, and the one that a team shares."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Json, Outcome


class RunningServer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a running server reports about itself to programs of the same user."""

    pid: int
    address: str
    """Address that a browser opens, with a slash at its end."""
    token: str
    """Token for programs of the user."""
    console_token: str = ""
    """Token for a page of the Console; a person's answer needs it."""
    version: str
    project: str
    started_at: str


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one request. Header names are in lower case."""

    method: str
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient(Protocol):
    """Sends requests to servers outside of Handrail.

    Every method may raise Fault E_VALIDATION, E_NETWORK or E_TIMEOUT.
    """

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"{}",
        seconds: float = ...,
        most_bytes: int = ...,
        *,
        is_public_only: bool = False,
    ) -> Exchange:
        """Send one request and return its answer, whatever its status; a redirect is an answer too.

        The body is only sent with a POST. An answer of more bytes than allowed is refused. If the address
        must be public, every other address is refused, whatever its name resolves to.
        """


class ServerPlace(Protocol):
    """Where the server of one home registers. Only the user can read it."""

    @property
    def state_path(self) -> str:
        """Return the file with the address and the token."""

    def claimed(self) -> AbstractContextManager[None]:
        """Be the server of this home for the scope of the `with`.

        It ends with the process, however that dies. Raise Fault E_CONFLICT if another process is the server.
        """

    def announce(self, server: RunningServer) -> None: ...

    def find_running(self) -> RunningServer | None:
        """Return the server that runs now; entries of killed processes are ignored."""

    def make_token(self) -> str:
        """Return a token of 256 random bits."""

    def keep_token(self, path: str) -> str:
        """Return the token in the user's own file, which is made if it is missing.

        Raise Fault E_CONFIG if others may read the file, or it has no token.
        """

    def show(self, address: str, token: str) -> bool:
        """Whether a browser was asked to open the Console. No program gets the token as an argument."""

    def note_unlocked(self) -> None:
        """Remove what carried the token to the browser, because a page has now used the token."""


# The team that a project belongs to: its server decides, and this program observes the files for it


class TeamCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call, as an interface makes it."""

    operation: str
    where: Literal["server", "client", "both"]
    effect: str
    params: dict[str, Json]
    ask: Ask
    needs_key: bool = False
    client: str = ""
    can_ask: bool = False


class TeamState(msgspec.Struct, frozen=True, kw_only=True):
    """The team of a project, and whether its server answers."""

    server: str
    workspace: str
    machine: str
    is_reachable: bool = True
    trouble: str = ""
    """Why the server cannot be used, as a sentence; empty if it answers and accepts this machine's token."""
    account: str = ""
    expires_at: str = ""
    """When this machine's token ends; empty if the server did not say."""


class Team(Protocol):
    """The team's server. Calls are never queued and never fall back to a local store."""

    def takes(self, call: TeamCall) -> bool:
        """Whether the server answers this call: its project is linked, or its token belongs to the team."""

    def perform(self, call: TeamCall) -> Outcome:
        """Return the server's answer. Facts that it asks for are gathered on this machine.

        Raise Fault STORE_UNAVAILABLE, E_AUTH or VERSION_UNSUPPORTED.
        """

    def state(self, project: str, *, is_offline: bool = False) -> TeamState | None:
        """Return the team of a project and whether its server answers; None if the project has no team.

        With `is_offline` the server is not asked. Never raises.
        """


class FactsDue(BaseException):
    """A call needs facts that only its caller's machine can gather; `order` lists them."""

    def __init__(self, order: Json) -> None:
        super().__init__("facts are missing")
        self.order = order
