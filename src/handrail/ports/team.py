"""A team that a project belongs to: its server decides, and this program looks for it."""

from __future__ import annotations

from typing import Literal, Protocol

import msgspec

from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Json, Outcome


class TeamCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call, as a surface makes it."""

    operation: str
    where: Literal["server", "companion", "both"]
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
    """The server of the team. Nothing is kept for later, and nothing falls back to a local store."""

    def takes(self, call: TeamCall) -> bool:
        """Whether the server answers this call: its project belongs to the team, or its token is of there."""

    def perform(self, call: TeamCall) -> Outcome:
        """What the server answers; the looks that it asks for are made here.

        Raises Fault STORE_UNAVAILABLE, E_AUTH or VERSION_UNSUPPORTED.
        """

    def state(self, project: str, *, is_offline: bool = False) -> TeamState | None:
        """The team of a project and how its server answers now, unless nobody may be asked; None: it belongs
        to none. Never raises.
        """


class LookDue(BaseException):
    """A call needs a look that only the machine of its caller can make. `order` says which."""

    def __init__(self, order: Json) -> None:
        super().__init__("a look is due")
        self.order = order
