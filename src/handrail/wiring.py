"""The only file that knows which adapters exist."""

# ruff: noqa: PLC0415 - what a call on a running session does not use is loaded on demand

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from handrail.contract.catalogue import E_CONFIG
from handrail.contract.outcome import Fault, Json, Notice
from handrail.contract.redaction import Secrets
from handrail.host.audit import AuditFiles
from handrail.host.clock import SystemClock, SystemRandomness
from handrail.host.keyring import FileKeyring
from handrail.host.settings import LocalSettings
from handrail.host.workspace import LocalWorkspace, ProjectPlaceFiles
from handrail.ports.log import EventLog
from handrail.ports.process import Audit, ConfirmedTokens, Incidents, Keys, McpProcesses, Terminal
from handrail.ports.workspace import AuthoredFiles, WorkflowLibrary
from handrail.runtime.operation import CORE, NEIGHBOURS, Registry
from handrail.runtime.runtime import Runtime

if TYPE_CHECKING:
    from handrail.event_log.files.log import FileLog
    from handrail.ports.checks import CheckPrograms, KnownChecks
    from handrail.ports.facts import FactStore
    from handrail.ports.program import ClientFiles, Installation, Provenance, Updates
    from handrail.ports.receipts import CommittedFiles, ReceiptKeys
    from handrail.ports.server import HttpClient
    from handrail.ports.store import DatabaseFacts, SessionIndex, StoreKeeper, StoreProof
    from handrail.ports.team import Team
    from handrail.ports.worktree import Worktree
    from handrail_team.store.open_store import TeamStore


@cache
def registry() -> Registry:
    """Everything that this installation can be asked for."""
    return Registry(CORE, NEIGHBOURS)


def home_directory(environment: Mapping[str, str]) -> str:
    """Where all state lives: HANDRAIL_HOME, or `.handrail` in the user's home."""
    named = environment.get("HANDRAIL_HOME", "")
    return os.path.abspath(os.path.expanduser(named or "~/.handrail"))


def build_runtime(
    environment: Mapping[str, str], *, home: str = "", secrets: Secrets | None = None
) -> Runtime:
    """A runtime on the local file system. Touches no file before an operation needs one.

    Every secret that it reads is registered in `secrets`; surfaces remove them from what they write.
    """
    place = home or home_directory(environment)
    randomness = SystemRandomness()
    known = Secrets() if secrets is None else secrets
    secret = environment.get("AI_NATIVE_CLI_SECRET", "")
    if secret:
        known.register(secret.encode(errors="surrogateescape"))
    worktree = _Late(lambda: _worktree(place, environment))
    processes = _Late(lambda: _mcp_processes(place))
    local = Runtime(
        log=cast(EventLog, _Late(lambda: _log(place))),
        keys=FileKeyring(place, randomness, secret, known),
        clock=SystemClock(),
        randomness=randomness,
        library=cast(WorkflowLibrary, _Late(lambda: _library(place))),
        workspace=LocalWorkspace(environment, place),
        incidents=cast(Incidents, _Late(lambda: _incidents(place, known))),
        confirmed=cast(ConfirmedTokens, _Late(lambda: _confirmed(place))),
        authored=cast(AuthoredFiles, _Late(lambda: _authored(place))),
        settings=LocalSettings(place, environment),
        registry=registry(),
        keeper=lambda: _keeper(place),
        proof=lambda: _proof(place),
        index=lambda: _index(place),
        worktree=lambda: cast("Worktree", worktree),
        facts=lambda: _facts(place),
        places=ProjectPlaceFiles(place),
        audit=AuditFiles(place, known),
        secrets=known,
        updates=lambda: _updates(place, environment, known),
        provenance=lambda: _provenance(environment),
        clients=lambda: _clients(place, environment),
        installation=lambda: _installation(place, environment),
        check_programs=lambda: _check_programs(environment, known),
        known_checks=lambda: _known_checks(place),
        receipt_keys=lambda: _receipt_keys(place, known),
        committed=lambda: _committed(place, environment),
        mcp_processes=lambda: cast(McpProcesses, processes),
        terminal=_terminal,
        start_notice=lambda argv, body: _start_notice(argv, body, environment),
        http_client=_http_client,
    )
    address = environment.get("HANDRAIL_STORE", "")
    if address:
        return _use_database(local, place, environment)
    # One stat is all that a machine without a team pays.
    is_in_team = "HANDRAIL_SERVER" in environment or os.path.exists(os.path.join(place, "team.json"))
    return local if not is_in_team else _join_team(local, place, environment)


def _join_team(local: Runtime, place: str, environment: Mapping[str, str]) -> Runtime:
    """The same with its team, which answers the calls of projects that belong to it."""
    from msgspec.structs import replace

    link = _Late(lambda: registry().adapter("team_link")(place, environment, local))
    return replace(local, team=lambda: cast("Team", link))


def _use_database(local: Runtime, place: str, environment: Mapping[str, str]) -> Runtime:
    """The same with its store in a database, which is reached, and its code loaded, at the first use."""
    from msgspec.structs import replace

    store = _Late(lambda: _team_store(local, place, environment))

    def facts() -> DatabaseFacts:
        found: DatabaseFacts = store.facts()
        return found

    return replace(
        local,
        log=cast(EventLog, _Late(lambda: _hot(store.log))),
        keys=cast(Keys, _Late(lambda: store.keys)),
        confirmed=cast(ConfirmedTokens, _Late(lambda: store.confirmed)),
        audit=cast(Audit, _Late(lambda: _audit_of(store, local))),
        keeper=lambda: cast("StoreKeeper", store.keeper),
        index=lambda: cast("SessionIndex", store.index),
        database=facts,
    )


def _audit_of(store: _Late, local: Runtime) -> Audit:
    """That of the store; where it cannot be used, a refused change is still noted on this machine."""
    try:
        return cast(Audit, store.audit)
    except Fault:
        return local.audit


def _team_store(local: Runtime, place: str, environment: Mapping[str, str]) -> TeamStore:
    """Raises Fault E_CONFIG for an address of something else, and where the extra is missing."""
    address = environment.get("HANDRAIL_STORE", "")
    if not address.startswith(("postgresql://", "postgres://")):
        raise _unusable_store(
            "HANDRAIL_STORE is not an address of PostgreSQL.",
            "Write postgresql://HOST/DATABASE, or unset it to use files.",
        )
    try:
        store: type[TeamStore] = registry().adapter("team_store")
    except Fault as trouble:
        from shlex import join

        from handrail.program.update.verify_release import extra_command

        command = extra_command(local.updates().facts(), "handrail[team]")
        raise _unusable_store(
            "HANDRAIL_STORE names a database, and this installation cannot speak to one.",
            f"Install the extra, then repeat the call: {join(command)}.",
            command,
        ) from trouble
    return store(
        address,
        os.path.join(place, "data"),
        local.randomness,
        local.keys,
        local.secrets,
        local.audit,
        has_own_keys=bool(environment.get("AI_NATIVE_CLI_SECRET")),
    )


def _unusable_store(message: str, hint: str, command: Sequence[str] = ()) -> Fault:
    details: dict[str, Json] = {"setting": "HANDRAIL_STORE", "source": "environment"}
    if command:
        details |= {"reason": "extra_missing", "install_command": list(command)}
    return Fault(E_CONFIG, message, details=details, hint=hint)


def notices(environment: Mapping[str, str], operation: str) -> Sequence[Notice]:
    """The stored notices that an answer carries; if there are none, this costs one stat."""
    place = home_directory(environment)
    if not os.path.exists(os.path.join(place, "data", "cache", "notices.json")):
        return ()
    from handrail.host.notices import notices_for

    return notices_for(place, operation)


def session_marks(environment: Mapping[str, str]) -> Callable[[], Mapping[str, str]]:
    """What changes with every commit, for each session; cheap enough to be asked again and again."""
    if environment.get("HANDRAIL_STORE"):
        store = _Late(lambda: _team_store(build_runtime({}), home_directory(environment), environment))
        return lambda: cast(Mapping[str, str], store.marks())
    from handrail.event_log.files.log import SessionMarks

    return SessionMarks(os.path.join(home_directory(environment), "data")).read


def give_back_memory() -> None:
    """Give back what a burst left: what the collector finds, and what the allocator keeps. Never raises."""
    import ctypes
    import gc

    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):  # an allocator without this call
        return


class _Late:
    """An adapter that is created, and its module loaded, at its first use."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)


def _log(place: str) -> EventLog:
    return _hot(_file_log(place))


def _hot(log: EventLog) -> EventLog:
    """The rules of a run come with it; questions about code need neither."""
    from handrail.runtime.sessions import HotLog

    return HotLog(log)


def _file_log(place: str) -> FileLog:
    from handrail.event_log.files.log import FileLog

    return FileLog(os.path.join(place, "data"))


def _library(place: str) -> WorkflowLibrary:
    from handrail.host.workflow_library import DirectoryLibrary

    return DirectoryLibrary(place)


def _incidents(place: str, known: Secrets) -> Incidents:
    from handrail.host.incidents import IncidentFiles

    return IncidentFiles(place, known)


def _confirmed(place: str) -> ConfirmedTokens:
    from handrail.host.confirmed_tokens import ConfirmedTokenFiles

    return ConfirmedTokenFiles(place)


def _authored(place: str) -> AuthoredFiles:
    from handrail.host.authored_files import ProjectFiles

    return ProjectFiles(place)


def _installation(place: str, environment: Mapping[str, str]) -> Installation:
    from handrail.host.program.installation import LocalInstallation

    return LocalInstallation(place, environment)


def _clients(place: str, environment: Mapping[str, str]) -> ClientFiles:
    from handrail.host.program.client_files import LocalClientFiles

    return LocalClientFiles(place, environment)


def _check_programs(environment: Mapping[str, str], known: Secrets) -> CheckPrograms:
    from handrail.host.check_programs import LocalCheckPrograms

    return LocalCheckPrograms(environment, known)


def _receipt_keys(place: str, known: Secrets) -> ReceiptKeys:
    from handrail.host.receipt_keys import LocalReceiptKeys

    return LocalReceiptKeys(place, SystemRandomness(), known)


def _committed(place: str, environment: Mapping[str, str]) -> CommittedFiles:
    from handrail.host.worktree.committed_files import LocalCommittedFiles

    return LocalCommittedFiles(place, environment)


def _known_checks(place: str) -> KnownChecks:
    from handrail.host.known_checks import LocalKnownChecks

    return LocalKnownChecks(place)


def _mcp_processes(place: str) -> McpProcesses:
    from handrail.host.server.mcp_processes import McpProcessFiles

    return McpProcessFiles(place)


def _start_notice(argv: Sequence[str], body: bytes, environment: Mapping[str, str]) -> str:
    from handrail.host.programs import start_notice

    return start_notice(argv, body, environment)


def _terminal() -> Terminal:
    from handrail.host.terminal import LocalTerminal

    return LocalTerminal()


def _http_client() -> HttpClient:
    from handrail.host.server.http_client import LocalHttpClient

    return LocalHttpClient()


def _updates(place: str, environment: Mapping[str, str], known: Secrets) -> Updates:
    from handrail.host.program.updates import LocalUpdates

    return LocalUpdates(place, environment, known)


def _provenance(environment: Mapping[str, str]) -> Provenance:
    from handrail.host.program.provenance import LocalProvenance

    return LocalProvenance(environment)


def _keeper(place: str) -> StoreKeeper:
    from handrail.event_log.files.upkeep.keeper import FileKeeper

    return FileKeeper(os.path.join(place, "data"))


def _index(place: str) -> SessionIndex | None:
    """None if the library is missing: then lists and searches take longer."""
    try:
        from handrail.event_log.files.session_index import FileSessionIndex
    except ImportError:
        return None
    return FileSessionIndex(_file_log(place))


def _worktree(place: str, environment: Mapping[str, str]) -> Worktree:
    from handrail.host.worktree.local_worktree import LocalWorktree

    return LocalWorktree(place, environment)


def _facts(place: str) -> FactStore:
    try:
        from handrail.host.worktree.fact_store import FactFiles
    except ImportError:  # without SQLite every source is read again
        from handrail.ports.facts import NothingKept

        return NothingKept()
    return FactFiles(place)


def _proof(place: str) -> StoreProof:
    proof: StoreProof = registry().adapter("proof")(place)
    return proof
