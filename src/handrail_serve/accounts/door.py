"""What a server with accounts asks of whoever keeps them. Without accounts there is no such thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from handrail.contract.accounts import Principal
from handrail.contract.outcome import Json
from handrail.ports.store import DatabaseFacts
from handrail.runtime.runtime import Runtime
from handrail_serve.feed import Marks


class Door(Protocol):
    """Knows credentials, and what each of them opens. Safe between threads; every call may ask a database.

    Raises Fault STORE_UNAVAILABLE when that is away.
    """

    def check(self) -> None:
        """Raises Fault when the database cannot be used as it is; one that is away may come back."""

    def facts(self) -> DatabaseFacts:
        """Where it is and whether it answers. Changes nothing, never raises."""

    def identify(self, token: str, *, is_person: bool, is_for_programs: bool = False) -> Principal:
        """Who acts with this token; as a person only where a page of ours shows it. At a door of programs a
        token of the identity provider does too, as an agent of its person.

        Raises Fault E_AUTH when it is unknown, expired or revoked.
        """

    def enter(self, runtime: Runtime, principal: Principal) -> Runtime:
        """The runtime for a call of theirs: their workspace and nothing else, within their rights."""

    def answer_companion(self, runtime: Runtime, content: bytes) -> bytes:
        """The answer to a call of a companion, which looks for the server. Raises Fault E_VALIDATION."""

    def start_sending(self, origin: str) -> None:
        """Send notices about runs to the address of the settings, from a thread of its own.

        `origin` is where this server is reached; the links that its operator makes lead there.
        """

    def marks(self, workspace: str) -> Marks:
        """What changes with every commit, of the sessions of a workspace."""

    def names(self, workspace: str) -> Mapping[str, str]:
        """What the members of a workspace are called, by account."""

    def describe_sign_in(self) -> dict[str, Json]:
        """Which ways to sign in there are, for anybody."""

    def describe_resource(self, origin: str) -> dict[str, Json]:
        """The metadata of `/mcp` as a protected resource (RFC 9728), under this address."""

    def leave_for_provider(self, invitation: str, binding: str) -> str:
        """The address at which somebody signs in. Raises Fault E_NOT_FOUND where there is no provider."""

    def return_from_provider(self, state: str, code: str) -> tuple[str, str]:
        """The token for a page, and what binds it to the page that began. Raises Fault E_AUTH, E_SERVER."""

    def sign_in(self, way: str, given: Mapping[str, Json], token: str) -> dict[str, Json]:
        """What came of one step of signing in or out: `invitation`, `passphrase`, `renew`, `leave`, …

        Raises Fault E_NOT_FOUND for a way that there is not, E_AUTH, E_VALIDATION and E_RATE_LIMITED.
        """
