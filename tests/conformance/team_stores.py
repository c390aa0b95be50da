"""Databases with a team in them, for the leaves that need one: copies of one, made at the first use."""

from __future__ import annotations

import os
import secrets
import threading
from contextlib import ExitStack

import psycopg
from psycopg import conninfo, sql

from handrail.host.process import SystemClock, SystemRandomness
from handrail_team.accounts.directory import Directory
from handrail_team.operations.team_scope import OPERATOR
from handrail_team.store.database import Database
from tests.team.postgres import NAMED, fresh_database, role_of_its_own, running_server

PASSPHRASE = "three blue words"


class TeamStores:
    """One server for all of them; nothing is started before the first is asked for."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._lock = threading.Lock()
        self._server = ""
        self._role = ""
        self._template = ""

    def make(self) -> str:
        """The address of a database with a workspace, an owner, a member, and an agent of the owner."""
        with self._lock:
            if not self._server:
                self._begin()
            name = f"handrail_{secrets.token_hex(6)}"
            with psycopg.connect(self._server, autocommit=True) as link:
                made = sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {}")
                link.execute(made.format(*map(sql.Identifier, (name, self._template, self._role))))
            if os.environ.get(NAMED):  # one of our own goes away as a whole
                self._stack.callback(self._drop, name)
        known = conninfo.conninfo_to_dict(self._server)
        return f"postgresql://{self._role}@/{name}?host={known['host']}"

    def _drop(self, name: str) -> None:
        with psycopg.connect(self._server, autocommit=True) as link:
            link.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _begin(self) -> None:
        self._server = self._stack.enter_context(running_server())
        database = self._stack.enter_context(fresh_database(self._server))
        address = self._stack.enter_context(role_of_its_own(self._server, database))
        known = conninfo.conninfo_to_dict(address)
        self._role, self._template = str(known["user"]), str(known["dbname"])
        held = Database(address, is_team=True)
        directory = Directory(held, SystemClock(), SystemRandomness())
        workspace = directory.make_workspace("main", "main").id
        for name, role in (("Ana", "owner"), ("Ben", "member")):
            invited = directory.invite(workspace, role, name, OPERATOR)  # type: ignore[arg-type]  # one of the roles
            directory.accept(invited.secret, name, PASSPHRASE)
        ana = directory.find_member(workspace, "Ana").account
        directory.make_token(workspace, ana, "builder-3", "laptop-7", ("read", "work"), 9)
        held.close()
