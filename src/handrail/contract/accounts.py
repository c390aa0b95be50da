"""Accounts: who calls a server that has them. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.ids import Actor

Role: TypeAlias = Literal["owner", "admin", "member", "viewer"]
ROLES: tuple[Role, ...] = ("viewer", "member", "admin", "owner")
"""Roles in ascending order; each may do what those before it may."""


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """The account that a token belongs to: a person, or an agent of that person."""

    account: str
    """Id of the person; opaque, and never a name."""
    name: str
    """Name for display; it is never recorded."""
    kind: Literal["person", "agent"]
    workspace: str
    role: Role
    """Role of the person in this workspace."""
    credential: str
    """Public id of the token."""
    agent: str = ""
    """The person's name for this agent; empty for a person, or for an agent that only a token issued
    elsewhere names.
    """
    machine: str = ""
    scopes: tuple[str, ...] = ()
    expires_at: int = 0
    """When the token expires, in Unix seconds; 0 if unknown."""

    @property
    def actor(self) -> Actor:
        return Actor(id=self.account, kind=self.kind, machine=self.machine)
