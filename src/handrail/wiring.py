"""The only file that knows which adapters exist."""

# ruff: noqa: PLC0415 - what a call on a running session does not use is loaded on demand

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from handrail.contract.catalogue import E_CONFIG
from handrail.contract.outcome import Fault, Json, Notice
from handrail.contract.redaction import Secrets
from handrail.host.keyring import FileKeyring
from handrail.host.process import (
    NOTICES,
    AuditFiles,
    ConfirmedTokenFiles,
    IncidentFiles,
    McpProcessFiles,
    SystemClock,
    SystemRandomness,
    notices_for,
)
from handrail.host.settings import LocalSettings
from handrail.host.workspace import LocalWorkspace, ProjectPlaceFiles
from handrail.ports.log import EventLog
from handrail.ports.process import Audit, ConfirmedTokens, Keys
from handrail.runtime.operation import CORE, NEIGHBOURS, Registry
from handrail.runtime.runtime import Runtime

if TYPE_CHECKING:
    from handrail.event_log.files.log import FileLog
    from handrail.event_log.files.store_key import StoreKey
    from handrail.ports.server import Team
    from handrail.ports.store import DatabaseFacts, SessionIndex, SharedStore, StoreKeeper, StoreProof
    from handrail.ports.workspace import AuthoredFiles, Workspace
    from handrail.ports.worktree import FactStore, Worktree


@cache
def registry() -> Registry:
    """Return the registry of everything that this installation offers."""
    return Registry(CORE, NEIGHBOURS)


def home_directory(environment: Mapping[str, str]) -> str:
    """Return the directory of all state: HANDRAIL_HOME, or `.handrail` in the user's home."""
    named = environment.get("HANDRAIL_HOME", "")
    return os.path.abspath(os.path.expanduser(named or "~/.handrail"))


def build_runtime(
    environment: Mapping[str, str],
    *,
    home: str = "",
    secrets: Secrets | None = None,
    is_server: bool = False,
) -> Runtime:
    """Return a runtime on the local file system. It touches no file before an operation needs one.

    Every secret that it reads is registered in `secrets`; interfaces remove them from what they write. The
    runtime of a server works only in its roots; that of a command works wherever its caller may.
    """
    place = home or home_directory(environment)
    randomness = SystemRandomness()
    known = Secrets() if secrets is None else secrets
    secret = environment.get("AI_NATIVE_CLI_SECRET", "")
    if secret:
        known.register(secret.encode(errors="surrogateescape"))
    data = os.path.join(place, "data")

    def key_of(folder: str) -> StoreKey:
        key: StoreKey = _load("handrail.event_log.files.store_key:StoreKey")(folder, randomness.bytes)
        return key

    worktree = _late("handrail.worktree.local_worktree:LocalWorktree", place, environment)
    trees = _late("handrail.worktree.git_trees:GitTrees", place, environment)
    trials = _late("handrail.trials.local_trials:LocalTrials", place, environment, trees)
    processes = McpProcessFiles(place)
    local = Runtime(
        log=cast(EventLog, _Late(lambda: _hot(_file_log(data, key_of)))),
        keys=FileKeyring(place, randomness, secret, known),
        clock=SystemClock(),
        randomness=randomness,
        library=_late("handrail.host.workflow_library:DirectoryLibrary", place),
        workspace=LocalWorkspace(environment, place),
        incidents=IncidentFiles(place, known),
        confirmed=ConfirmedTokenFiles(place),
        authored=_late("handrail.host.authored_files:ProjectFiles", place),
        settings=LocalSettings(place, environment),
        registry=registry(),
        keeper=lambda: _load("handrail.event_log.files.upkeep.keeper:FileKeeper")(data, key_of=key_of),
        proof=lambda: _proof(place, environment),
        index=lambda: _index(data, key_of),
        worktree=lambda: worktree,
        trees=lambda: trees,
        trial_results=lambda: _load("handrail.host.trial_results:TrialResultFiles")(place),
        trials=lambda: trials,
        facts=lambda: _facts(place),
        places=ProjectPlaceFiles(place),
        audit=AuditFiles(place, known),
        secrets=known,
        updates=lambda: _load("handrail.host.program.updates:LocalUpdates")(place, environment),
        provenance=lambda: _load("handrail.host.program.provenance:LocalProvenance")(environment),
        clients=lambda: _load("handrail.host.program.client_files:LocalClientFiles")(place, environment),
        installation=lambda: _load("handrail.host.program.installation:LocalInstallation")(
            place, environment
        ),
        check_programs=lambda: _load("handrail.host.checks:LocalCheckPrograms")(environment, known, place),
        known_checks=lambda: _load("handrail.host.checks:LocalKnownChecks")(place),
        receipt_keys=lambda: _load("handrail.host.checks:LocalReceiptKeys")(place, randomness, known),
        mcp_processes=lambda: processes,
        terminal=lambda: _load("handrail.host.terminal:LocalTerminal")(),
        start_notice=lambda argv, body: _load("handrail.host.programs:start_notice")(argv, body, environment),
        http_client=lambda: _load("handrail.host.http_client:LocalHttpClient")(),
    )
    if is_server:
        local = _confine(local, place)
    address = environment.get("HANDRAIL_STORE", "")
    if address:
        return _use_database(local, place, environment)
    # One stat is all that a machine without a team pays.
    is_in_team = "HANDRAIL_SERVER" in environment or os.path.exists(os.path.join(place, "team.json"))
    return local if not is_in_team else _join_team(local, place, environment)


def _confine(local: Runtime, place: str) -> Runtime:
    """Return the runtime of a server, which works only in its roots."""
    from msgspec.structs import replace

    from handrail.host.roots import LocalRoots, RootedFiles, RootedWorkspace, RootedWorktree

    roots = LocalRoots(place, lambda: local.workspace.project(""), local.settings.of)
    worktree = cast("Worktree", RootedWorktree(local.worktree(), roots))
    files = cast("AuthoredFiles", RootedFiles(local.authored, roots))
    workspace = cast("Workspace", RootedWorkspace(local.workspace, roots))
    return replace(local, roots=roots, workspace=workspace, worktree=lambda: worktree, authored=files)


def _proof(place: str, environment: Mapping[str, str]) -> StoreProof:
    from handrail.event_log.files.selftest import ScratchProof
    from handrail.host.programs import make_child_environment, own_command

    command = own_command("handrail.event_log.files.selftest_writers")
    return ScratchProof(place, command, make_child_environment(environment))


def _join_team(local: Runtime, place: str, environment: Mapping[str, str]) -> Runtime:
    """Return the runtime with its team, which answers the calls of projects that belong to it."""
    from msgspec.structs import replace

    link = _Late(lambda: registry().adapter("team_link")(place, environment, local))
    return replace(local, team=lambda: cast("Team", link))


def _use_database(local: Runtime, place: str, environment: Mapping[str, str]) -> Runtime:
    """Return the runtime with its store in a database, which is reached, and its code loaded, at the first
    use.
    """
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
    """Return the audit of the store; if the store cannot be used, a refused change is still noted on this
    machine.
    """
    try:
        return cast(Audit, store.audit)
    except Fault:
        return local.audit


def _team_store(local: Runtime, place: str, environment: Mapping[str, str]) -> SharedStore:
    """Return the store of a team. Raises Fault E_CONFIG for an address of another kind, and if the extra is
    missing.
    """
    address = environment.get("HANDRAIL_STORE", "")
    if not address.startswith(("postgresql://", "postgres://")):
        raise _unusable_store(
            "HANDRAIL_STORE is not an address of PostgreSQL.",
            "Write postgresql://HOST/DATABASE, or unset it to use files.",
        )
    try:
        store: Callable[..., SharedStore] = registry().adapter("team_store")
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
    """Return the stored notices that an answer carries; if there are none, this costs one stat."""
    place = home_directory(environment)
    if not os.path.exists(os.path.join(place, *NOTICES)):
        return ()
    return notices_for(place, operation)


def session_marks(environment: Mapping[str, str]) -> Callable[[], Mapping[str, str]]:
    """Return a function that gives each session a mark which changes with every commit; it is cheap enough
    for polling.
    """
    if environment.get("HANDRAIL_STORE"):
        store = _Late(lambda: _team_store(build_runtime({}), home_directory(environment), environment))
        return lambda: cast(Mapping[str, str], store.marks())
    from handrail.event_log.files.log import SessionMarks

    return SessionMarks(os.path.join(home_directory(environment), "data")).read


def give_back_memory() -> None:
    """Return unused memory to the system after a burst: garbage, and what the allocator keeps. Never
    raises.
    """
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


def _late(place: str, *arguments: object) -> Any:
    return _Late(lambda: _load(place)(*arguments))


def _load(place: str) -> Any:
    """Return the object at `module:name`; tests/host/test_adapters.py checks each against its port."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _hot(log: EventLog) -> EventLog:
    """Return the log with the rules of a run, which are imported here because questions about code do not
    need them.
    """
    from handrail.runtime.sessions import HotLog

    return HotLog(log)


def _file_log(data: str, key_of: Callable[[str], StoreKey]) -> FileLog:
    log: FileLog = _load("handrail.event_log.files.log:FileLog")(data, key=key_of(data))
    return log


def _index(data: str, key_of: Callable[[str], StoreKey]) -> SessionIndex | None:
    """Return the index of sessions; None if the library is missing: then lists and searches take longer."""
    try:
        from handrail.event_log.files.session_index import FileSessionIndex
    except ImportError:
        return None
    return FileSessionIndex(_file_log(data, key_of))


def _facts(place: str) -> FactStore:
    try:
        from handrail.worktree.fact_store import FactFiles
    except ImportError:  # without SQLite every source is read again
        from handrail.ports.worktree import NothingKept

        return NothingKept()
    return FactFiles(place)
