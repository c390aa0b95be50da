"""The accounts of a team server: identifies callers and makes the runtime of their workspace.

The server checks a valid credential again after three seconds, so a revoked one works nowhere five seconds
later. A runtime has the adapters of one workspace, and so does every cache.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import msgspec

from handrail.contract.accounts import Principal, Role
from handrail.contract.catalogue import (
    E_AUTH,
    E_CONFIG,
    E_NOT_FOUND,
    E_VALIDATION,
    FEATURE_DISABLED,
    STORE_UNAVAILABLE,
)
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault, Json
from handrail.contract.tokens.confirm import refusal
from handrail.host.counts import Counts, OwnCounts
from handrail.ports.log import Record
from handrail.ports.process import Audit, AuditLine
from handrail.ports.store import DatabaseFacts
from handrail.ports.workspace import NamedWorkspace
from handrail.runtime.operation import Effect, Operation
from handrail.runtime.outward import encode_notice, list_outward
from handrail.runtime.runtime import (
    NO_PLACES,
    Runtime,
    no_check_programs,
    no_clients,
    no_http_client,
    no_installation,
    no_known_checks,
    no_updates,
    no_worktree,
)
from handrail.runtime.sessions import MOST_TEAM_BYTES, HotLog, KeptHistories, make_histories
from handrail.version import __version__
from handrail_team.accounts.credentials import digest_secret
from handrail_team.accounts.directory import (
    Credential,
    Directory,
    Made,
    principal_of,
)
from handrail_team.accounts.machines import CHANCE_BYTES, ask_to_enter, fetch_token
from handrail_team.accounts.names import fold_name, join_names
from handrail_team.accounts.provider import STATE_SECONDS, Provider, ProviderOptions, State
from handrail_team.accounts.refusals import refuse_credential, refuse_invitation
from handrail_team.accounts.role_guard import LogOfPerson
from handrail_team.accounts.roles import SCOPES, need_of, require_right
from handrail_team.accounts.throttling import CallPace, SignInTries
from handrail_team.client.answer import answer_client
from handrail_team.client.sent_ports import ServersSettings
from handrail_team.notices import NoticeSender
from handrail_team.store.beside_the_log import SERVERS, TeamAudit, TeamConfirmedTokens, TeamKeys
from handrail_team.store.database import Database, facts_of, find_secrets
from handrail_team.store.keeper import TeamKeeper
from handrail_team.store.log import TeamLog
from handrail_team.store.open_runs import OpenRuns
from handrail_team.store.session_index import TeamSessionIndex
from handrail_team.store.store_key import TeamStoreKey

FRESH_SECONDS: Final = 3.0
MOST_KEPT: Final = 10_000
CALLS_OF_A_WORKSPACE: Final = 10
"""Calls a minute of a workspace, as a multiple of those of an account."""
SIGN_IN: Final = "sign_in"
SOMEBODY: Final = "somebody"
"""The audit's name for whoever failed to sign in: their identity is unknown."""
_WAYS: Final = {
    "invitation": "join by invitation",
    "passphrase": "sign in by passphrase",
    "provider": "sign in by provider",
    "enter": "sign in from another workspace",
    "leave": "sign out",
}
"""The audit's words for each way to sign in or out."""
NOWHERE: Final = "/nonexistent/handrail"
"""A path that does not exist: the server never opens a caller's project."""


class TeamService:
    """`handrail_serve.accounts.service.AccountService` over one database."""

    def __init__(
        self,
        address: str,
        runtime: Runtime,
        provider: Mapping[str, str] | None = None,
        note: Callable[[str], None] = lambda _: None,
        counts: Counts | None = None,
        workers: int = 1,
    ) -> None:
        """`counts` are shared by all `workers` of one server; each worker caches its share.

        `provider` has the fields of `ProviderOptions` if people sign in through an identity provider.

        `note` takes messages for the operator alone.
        """
        for secret in find_secrets(address):
            runtime.secrets.register(secret.encode())
        self.database = Database(address, is_team=True, note=note)
        self.directory = Directory(self.database, runtime.clock, runtime.randomness)
        self._provider = None if provider is None else Provider(ProviderOptions(**provider))
        self._keys = TeamKeys(self.database.within(SERVERS), runtime.randomness, None, runtime.secrets)
        self._base = runtime
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Credential]] = {}
        self._adapters: dict[str, dict[str, Any]] = {}
        paces, tries = counts or OwnCounts(), counts or OwnCounts()
        self._histories = make_histories(MOST_TEAM_BYTES // workers)
        self._tries = SignInTries(tries)
        self._limits = runtime.settings.of().limits
        self._paces = CallPace(paces, self._limits.calls_a_minute)
        self._paces_of_workspaces = CallPace(
            paces, self._limits.calls_a_minute * CALLS_OF_A_WORKSPACE, "workspace"
        )

    def check(self) -> None:
        """Raise Fault if there is no team, the tables are too new, or the role bypasses row security."""
        try:
            known = self.directory.workspaces()
        except Fault as fault:
            if fault.kind is STORE_UNAVAILABLE:  # it may come back; until then every call reports it
                return
            raise
        if not known:
            raise Fault(
                E_CONFIG,
                "This database has no team yet.",
                details={"setting": "--store"},
                hint="Make one first: handrail team init --store URI --request-id first.",
            )

    def close(self) -> None:
        self.database.close()

    def facts(self) -> DatabaseFacts:
        return facts_of(self.database)

    def identify(self, token: str, *, is_person: bool, is_for_programs: bool = False) -> Principal:
        if self._provider is not None and is_for_programs and token.count(".") == 2:
            return self._identify_subject(self._provider, token)
        held = self._look_up(token)
        is_good = held is not None and held.is_good(self._base.clock.unix_seconds())
        found = (
            None
            if held is None or not is_good
            else principal_of(held, is_person=is_person and held.kind == "page")
        )
        if found is None:
            raise refuse_credential()
        return found

    def _identify_subject(self, provider: Provider, token: str) -> Principal:
        """Return the agent of a person that the provider knows. Raises Fault E_AUTH."""
        claims = provider.check_token(token)
        account = self.directory.find_subject(provider.options.issuer, str(claims["sub"]))
        mine = self.directory.workspaces(account) if account else []
        if not mine or mine[0].role is None:
            raise refuse_credential()
        asked = str(claims.get("scope", "")).split()
        return Principal(
            account=account,
            name="",
            kind="agent",
            workspace=mine[0].id,
            role=mine[0].role,
            credential="jwt",
            scopes=tuple(one for one in SCOPES if one in asked),
            expires_at=int(claims["exp"]),
        )

    def _look_up(self, token: str) -> Credential | None:
        name = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        with self._lock:
            kept = self._known.get(name)
        if kept is not None and time.monotonic() - kept[0] < FRESH_SECONDS:
            return kept[1]
        held = self.directory.find(token)
        with self._lock:
            self._known.pop(name, None)
            if held is not None:
                self._known[name] = (time.monotonic(), held)
                while len(self._known) > MOST_KEPT:
                    del self._known[next(iter(self._known))]
        if held is not None and held.is_good(self._base.clock.unix_seconds()):
            self.directory.note_use(held)
        return held

    def forget(self) -> None:
        """Ask for every credential again."""
        with self._lock:
            self._known.clear()

    def enter(self, runtime: Runtime, principal: Principal) -> Runtime:
        self._paces.require(principal.account)
        self._paces_of_workspaces.require(principal.workspace)
        adapters = self.adapters(principal.workspace)
        if principal.kind == "person":
            adapters = adapters | {"log": LogOfPerson(adapters["log"], principal)}
        return msgspec.structs.replace(
            runtime,
            **adapters,
            workspace=AccountWorkspace(principal.account),
            principal=principal,
            settings=ServersSettings(runtime.settings),
            may=partial(self._require_right, principal),
            accounts=self.directory,
            name_people=partial(join_names, partial(self.names, principal.workspace)),
            members=partial(self.roles, principal.workspace),
            is_at_console=principal.kind == "person",
        )

    def _require_right(self, principal: Principal, called: Operation, effect: Effect) -> None:
        """Check a right. For what only people may do, their present role counts, not the cached one."""
        need = need_of(called, effect)
        if need is not None and need.is_persons and principal.kind == "person":
            now = self.roles(principal.workspace).get(principal.account)
            if now != principal.role:
                self.forget()
                if now is None:
                    raise refuse_credential()
                require_right(msgspec.structs.replace(principal, role=now), called, effect)
                raise refusal("target_changed")
        require_right(principal, called, effect)

    def answer_team_client(self, runtime: Runtime, content: bytes) -> bytes:
        return answer_client(runtime, content)

    def start_sending(self, origin: str) -> None:
        base = self._base
        with suppress(Fault):  # if the database is away, links keep the previous address
            self.directory.keep_origin(origin)
        NoticeSender(
            self.directory, base.settings, base.http_client(), base.clock, self.open_workspace
        ).start()

    def marks(self, workspace: str) -> Callable[[], Mapping[str, str]]:
        log: HotLog = self.adapters(workspace)["log"]
        return lambda: {stamp.session_id: str(stamp.order) for stamp in log.list_sessions()}

    def roles(self, workspace: str) -> Mapping[str, Role]:
        return {one.account: one.role for one in self.directory.members(workspace)}

    def names(self, workspace: str) -> Mapping[str, str]:
        return {one.account: one.name for one in self.directory.members(workspace)}

    def describe_sign_in(self) -> dict[str, Json]:
        has_provider = self._provider is not None and bool(self._provider.options.client_id)
        return {"ways": ["passphrase", *(["provider"] if has_provider else [])]}

    def describe_resource(self, origin: str) -> dict[str, Json]:
        issuers = [] if self._provider is None else [self._provider.options.issuer]
        return {
            "resource": f"{origin}/mcp",
            **({"authorization_servers": issuers} if issuers else {}),
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
        }

    def leave_for_provider(self, invitation: str, binding: str) -> str:
        state = State(
            chance=self._base.randomness.bytes(16).hex(),
            expires_at=self._base.clock.unix_seconds() + STATE_SECONDS,
            binding=binding,
            invitation=digest_secret(invitation) if invitation else "",
        )
        return self._require_provider().begin(self._keys.signing_key(SIGN_IN), state)

    def return_from_provider(self, state: str, code: str) -> tuple[str, str]:
        provider = self._require_provider()
        now = self._base.clock.unix_seconds()
        person = provider.finish(self._keys.signing_key(SIGN_IN), state, code, now)
        issuer, invitation = provider.options.issuer, person.state.invitation
        if invitation:
            made = self.directory.accept_subject(invitation, person.name, issuer, person.subject)
        else:
            account = self.directory.find_subject(issuer, person.subject)
            if not account:
                self._note_refused("provider", E_AUTH.code, [])
                raise refuse_credential()
            made = self.directory.enter(account)
        self._note_entry("invitation" if invitation else "provider", made)
        return made.secret, person.state.binding

    def _require_provider(self) -> Provider:
        if self._provider is None or not self._provider.options.client_id:
            raise Fault(E_NOT_FOUND, "This server has no identity provider.")
        return self._provider

    def sign_in(self, way: str, given: Mapping[str, Json], token: str, address: str) -> dict[str, Json]:
        match way:
            case "invitation":
                invitation = _text(given, "invitation")
                name, passphrase = _text(given, "name"), _text(given, "passphrase")
                # Tries count by name and by workspace: an admin of a workspace can make any number of
                # invitations to try names with.
                held = self.directory.find(invitation)
                is_good = held is not None and held.is_good(self._base.clock.unix_seconds())

                def accept() -> Made:
                    if not is_good:  # a wrong invitation costs no hash
                        raise refuse_invitation()
                    return self.directory.accept(invitation, name, passphrase)

                return self._tried(
                    way,
                    address,
                    (f"{way} {fold_name(name)}", invitation if held is None else held.workspace),
                    accept,
                    lambda: [] if held is None else [(held.workspace, {"invitation": held.id})],
                )
            case "passphrase":
                name, passphrase = _text(given, "name"), _text(given, "passphrase")
                workspace = _text(given, "workspace") if "workspace" in given else ""
                return self._tried(
                    way,
                    address,
                    (f"{way} {fold_name(name)}",),
                    lambda: self.directory.sign_in(name, passphrase, workspace),
                    lambda: [(place, {"member": one}) for place, one in self.directory.places_of(name)],
                )
            case "machine":
                asking = ask_to_enter(
                    self.directory, _text(given, "machine")[:128], self._base.randomness.bytes(CHANCE_BYTES)
                )
                return {"code": asking.code, "secret": asking.secret, "seconds": asking.seconds}
            case "machine_token":
                return _page(fetch_token(self.directory, _text(given, "secret")))
            case "renew":
                return _page(self.directory.renew(token))
            case "enter":
                person = self.identify(token, is_person=True)
                if person.kind != "person":
                    raise refuse_credential()
                made = self.directory.enter(person.account, _text(given, "workspace"))
                return _page(self._note_entry(way, made))
            case "leave":
                held = self.directory.find(token)
                ended = 0 if held is None else self.directory.end(held.workspace, [held.id])
                if held is not None and ended:
                    self._note(way, held.workspace, held.account)
                return {"ended": ended}
            case _:
                raise Fault(E_NOT_FOUND, "There is no such way to sign in.")

    def _tried(
        self,
        way: str,
        address: str,
        names: tuple[str, ...],
        work: Callable[[], Made],
        places: Callable[[], Sequence[tuple[str, dict[str, Json]]]],
    ) -> dict[str, Json]:
        """Try to sign in. A wrong try is noted in the audit of each of `places`."""
        self._tries.require(address, names)
        try:
            made = work()
        except Fault as fault:
            if fault.kind is not STORE_UNAVAILABLE:  # that was not a guess
                self._tries.note(address, names)
                self._note_refused(way, fault.kind.code, places())
            raise
        self._tries.forget(address, names)
        return _page(self._note_entry(way, made))

    def _note_entry(self, way: str, made: Made) -> Made:
        """Note in the audit of the workspace that a person signed in."""
        held = self.directory.find(made.secret)
        if held is not None:
            self._note(way, held.workspace, held.account)
        return made

    def _note_refused(self, way: str, code: str, places: Sequence[tuple[str, dict[str, Json]]]) -> None:
        """Note a failed sign-in; if it concerns no workspace, in the audit of this machine."""
        for workspace, about in places or [("", {})]:
            self._note(way, workspace, SOMEBODY, code, about)

    def _note(
        self,
        way: str,
        workspace: str,
        account: str,
        code: str | None = None,
        about: dict[str, Json] | None = None,
    ) -> None:
        line = AuditLine(
            at=self._base.clock.now(),
            tool="handrail http",
            version=__version__,
            command=_WAYS[way],
            args=about or {},
            account=account,
            workspace=workspace,
            effect="create",
            code=code,
        )
        audit: Audit = self.adapters(workspace)["audit"] if workspace else self._base.audit
        audit.record(line, self._base.settings.of().audit_months)

    def open_workspace(self, workspace: str) -> Runtime:
        """Return the server's own runtime for a workspace, without an account."""
        return msgspec.structs.replace(self._base, **self.adapters(workspace))

    def adapters(self, workspace: str) -> dict[str, Any]:
        """Return the adapters of a workspace. Their caches hold only that workspace."""
        with self._lock:
            if workspace not in self._adapters:
                open_runs = OpenRuns(workspace, self._limits.open_runs)
                database, memory = self.database.within(workspace), self._histories
                self._adapters[workspace] = _build_adapters(
                    self._base, database, open_runs, memory, workspace
                )
            return self._adapters[workspace]


def _build_adapters(
    base: Runtime, database: Database, open_runs: OpenRuns, memory: KeptHistories, workspace: str
) -> dict[str, Any]:
    key = TeamStoreKey(database, base.randomness.bytes)
    log = TeamLog(database, partial(_list_outward, base), open_runs, key)
    open_runs.memory = HotLog(log, memory, workspace)
    keeper, index = TeamKeeper(log, ""), TeamSessionIndex(log)
    return {
        "log": open_runs.memory,
        "keys": TeamKeys(database, base.randomness, None, base.secrets),
        "confirmed": TeamConfirmedTokens(database),
        "audit": TeamAudit(database, base.secrets, base.audit),
        "keeper": lambda: keeper,
        "index": lambda: index,
        "worktree": no_worktree,
        "check_programs": no_check_programs,
        "known_checks": no_known_checks,
        "clients": no_clients,
        "updates": no_updates,
        "places": NO_PLACES,
        "trees_due": None,
        "authored": NoAuthoredFiles(),
        **dict.fromkeys(("installation", "provenance", "receipt_keys", "mcp_processes"), no_installation),
        **dict.fromkeys(("http_client", "proof"), no_http_client),
        **dict.fromkeys(("team", "start_notice"), None),
    }


def _list_outward(
    base: Runtime, session_id: SessionId, records: Sequence[Record]
) -> Sequence[tuple[str, bytes]]:
    """Return the notices that the server's settings want for these events."""
    notify = base.settings.of().notify
    if notify is None or not notify.url:
        return ()
    notices = list_outward(session_id, records, notify.kinds, with_text=notify.with_text)
    return [(one.id, encode_notice(one)) for one in notices]


class AccountWorkspace(NamedWorkspace):
    """The workspace of a call to the server, which sees nothing of the caller's project."""

    def project(self, asked: str) -> str:
        if asked.startswith(f"{NOWHERE}/"):  # the name from an earlier reply
            return asked
        digest = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return f"{NOWHERE}/{digest}/{os.path.basename(asked.rstrip('/')) or 'project'}"


class NoAuthoredFiles:
    """`ports.AuthoredFiles` of a server, which writes no files."""

    def __getattr__(self, name: str) -> Any:
        raise Fault(
            FEATURE_DISABLED,
            "A team server does not read or write project files.",
            hint="Run the command on the machine that has the project.",
        )


def _page(made: Made) -> dict[str, Json]:
    return {"token": made.secret, "expires_at": made.expires_at}


def _text(given: Mapping[str, Json], name: str) -> str:
    value = given.get(name)
    if isinstance(value, str) and value.strip() and len(value) <= 2_048:
        return value
    raise Fault(E_VALIDATION, f"The field {name} is missing.", details={"param": name})
