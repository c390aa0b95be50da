"""A server of this machine: how it is found, and how its token reaches the user's own programs alone."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from handrail.contract.conformance.check import Exchange


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
        """One request and its answer, whatever its status; a redirect is an answer too.

        The body is of a POST; an answer of more bytes than allowed is refused, and where the address must be
        public, every other one, whatever its name says.
        """

    def read_token(self, path: str) -> str:
        """The token in a file of the user. Raises Fault E_CONFIG."""


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
        """The server that holds the claim now; what a killed one left is never believed."""

    def make_token(self) -> str:
        """256 bits of chance."""

    def keep_token(self, path: str) -> str:
        """The token in the user's own file, which is made if it is missing.

        Raises Fault E_CONFIG when others may read the file, or it holds no token.
        """

    def show(self, address: str, token: str) -> bool:
        """Whether a browser was asked to open the Console. The token is in no argument of any program."""

    def note_unlocked(self) -> None:
        """Somebody has shown the token: what carried it to the browser is removed."""
