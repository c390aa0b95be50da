"""Other machines and servers: how one of this machine is found, and the one that a team shares."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Json, Outcome


class RunningServer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a running server says of itself to programs of the same user."""

    pid: int
    address: str
    """With a slash at its end, as a browser opens it."""
    token: str
    """For programs of the user."""
    console_token: str = ""
    """For a page of the Console: a person's answer needs it."""
    version: str
    project: str
    started_at: str


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request, and what came back. Header names are in lower case."""

    method: str
    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpClient(Protocol):
    """Asking somebody else's server. Raises Fault E_VALIDATION, E_NETWORK or E_TIMEOUT."""

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
        """Return one request and its answer, whatever its status; a redirect is an answer too.

        The body is of a POST; an answer of more bytes than allowed is refused, and where the address must be
        public, every other one, whatever its name says.
        """


class ServerPlace(Protocol):
    """Where the server of one home is known. Everything in it is for the user alone."""

    @property
    def state_path(self) -> str:
        """The file with the address and the token."""

    def claimed(self) -> AbstractContextManager[None]:
        """Be the server of this home for the scope of the `with`.

        It ends with the process, however that dies. Raises Fault E_CONFLICT when another process is.
        """

    def announce(self, server: RunningServer) -> None: ...

    def find_running(self) -> RunningServer | None:
        """Return the server that holds the claim now; what a killed one left is never believed."""

    def make_token(self) -> str:
        """256 bits of chance."""

    def keep_token(self, path: str) -> str:
        """Return the token in the user's own file, which is made if it is missing.

        Raises Fault E_CONFIG when others may read the file, or it holds no token.
        """

    def show(self, address: str, token: str) -> bool:
        """Whether a browser was asked to open the Console. The token is in no argument of any program."""

    def note_unlocked(self) -> None:
        """Somebody has shown the token: what carried it to the browser is removed."""


# A team that a project belongs to: its server decides, and this program looks for it


class TeamCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call, as a surface makes it."""

    operation: str
    where: Literal["server", "client", "both"]
    effect: str
    params: dict[str, Json]
    ask: Ask
    needs_key: bool = False
    client: str = ""
    can_ask: bool = False


class TeamState(msgspec.Struct, frozen=True, kw_only=True):
    """The team of a project, and how its server answers."""

    server: str
    workspace: str
    machine: str
    is_reachable: bool = True
    trouble: str = ""
    """In a sentence; empty: it answers, and takes the token of this machine."""
    account: str = ""
    expires_at: str = ""
    """When the token of this machine ends; empty: its server did not say."""


class Team(Protocol):
    """The server of the team. Calls are never queued and never fall back to a local store."""

    def takes(self, call: TeamCall) -> bool:
        """Whether the server answers this call: its project is linked, or its token is the team's."""

    def perform(self, call: TeamCall) -> Outcome:
        """Return the server's answer. Facts that it asks for are gathered on this machine.

        Raises Fault STORE_UNAVAILABLE, E_AUTH or VERSION_UNSUPPORTED.
        """

    def state(self, project: str, *, is_offline: bool = False) -> TeamState | None:
        """Return the team of a project and whether its server answers; None: the project has no team.

        With `is_offline` the server is not asked. Never raises.
        """


class FactsDue(BaseException):
    """A call needs facts that only its caller's machine can gather. `order` says which."""

    def __init__(self, order: Json) -> None:
        super().__init__("facts are missing")
        self.order = order
