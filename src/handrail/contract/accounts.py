"""Accounts as every package knows them: who calls a server that has them. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.ids import Actor

Role: TypeAlias = Literal["owner", "admin", "member", "viewer"]
ROLES: tuple[Role, ...] = ("viewer", "member", "admin", "owner")
"""Each may do what those before it may."""


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Who a credential stands for: a person, or an agent of that person."""

    account: str
    """Of the person; opaque, and never a name."""
    name: str
    """Shown, and recorded nowhere."""
    kind: Literal["person", "agent"]
    workspace: str
    role: Role
    """Of the person in this workspace."""
    credential: str
    """Which one was shown, by its public id."""
    agent: str = ""
    """What the person calls this agent; empty: a person, or an agent that only a token of elsewhere names."""
    machine: str = ""
    scopes: tuple[str, ...] = ()
    expires_at: int = 0
    """When the credential ends, in Unix seconds; 0: nobody says."""

    @property
    def actor(self) -> Actor:
        return Actor(id=self.account, kind=self.kind, machine=self.machine)
