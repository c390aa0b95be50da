"""The runtime: every port an operation may use, in one value."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Never, TypeAlias, TypeVar, cast

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import FEATURE_DISABLED
from handrail.contract.ids import NodeId, SessionId
from handrail.contract.outcome import Commits, Fault
from handrail.contract.redaction import Secrets
from handrail.runtime.operation import CORE, Effect, Operation, Registry

if TYPE_CHECKING:
    from handrail.contract.accounts import Principal, Role
    from handrail.contract.ids import Actor
    from handrail.contract.outcome import Json
    from handrail.ports.actions import OwnAction
    from handrail.ports.checks import (
        CheckPrograms,
        KnownChecks,
        KnownChecksReader,
        ReceiptKeys,
    )
    from handrail.ports.log import EventLog, EventReader, Record
    from handrail.ports.process import (
        Audit,
        Clock,
        ConfirmedTokens,
        Incidents,
        Interruptions,
        Keys,
        McpProcesses,
        Observer,
        Progress,
        Randomness,
        Terminal,
    )
    from handrail.ports.program import ClientFiles, Installation, Provenance, Updates
    from handrail.ports.server import HttpClient, Team
    from handrail.ports.store import DatabaseFacts, SessionIndex, StoreKeeper, StoreProof
    from handrail.ports.trees import TakenTree, TreeReader, Trees
    from handrail.ports.trials import TrialResults, Trials
    from handrail.ports.workspace import (
        AuthoredFiles,
        Notify,
        ProjectPlaces,
        Roots,
        Settings,
        SettingsFiles,
        WorkflowLibrary,
        Workspace,
    )
    from handrail.ports.worktree import FactStore, TreeLook, Worktree


# Defaults: what a runtime has unless a surface provides more


class NeverInterrupted:
    """`ports.Interruptions` for an interface that has its own way to end."""

    def defer(self) -> AbstractContextManager[None]:
        return nullcontext()

    def stop_reason(self) -> Literal["", "signal", "deadline"]:
        return ""

    def end_here(self) -> None:
        return

    def pause(self, milliseconds: int) -> None:
        time.sleep(milliseconds / 1000)

    def ms_left(self) -> int | None:
        return None


class Silent:
    """A port that accepts every call and returns nothing.

    It stands in for progress that is not shown, the audit of a temporary store, calls that are not counted,
    and a terminal without a person.
    """

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


def _refuse(message: str, hint: str = "Run it on the command line.") -> Callable[[], Never]:
    """Return the stand-in for a port that this runtime lacks: a caller that asks for it gets the reason."""

    def refuse() -> Never:
        raise Fault(FEATURE_DISABLED, message, hint=hint)

    return refuse


def _stand_in(name: str) -> Callable[[], Any]:
    """Return a function that creates `module:name` for a missing port; the few calls that need it load it."""

    def make() -> Any:
        module, _, made = name.partition(":")
        return getattr(import_module(f"handrail.ports.{module}"), made)()

    return make


class OneLook:
    """`ports.Workspace` of one call: it finds the caller's project once, and keeps it until the call ends."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._projects: dict[str, str] = {}
        self._identities: dict[str, str] = {}
        self.observations = workspace.observations
        self.repository = workspace.repository
        self.main_checkout = workspace.main_checkout
        self.work_token = workspace.work_token
        self.worker = workspace.worker
        self.account = workspace.account

    def project(self, asked: str) -> str:
        if asked not in self._projects:
            self._projects[asked] = self._workspace.project(asked)
        return self._projects[asked]

    def identity(self, project: str) -> str:
        if project not in self._identities:
            self._identities[project] = self._workspace.identity(project)
        return self._identities[project]


def no_terminal() -> Terminal:
    return cast("Terminal", Silent())


no_worktree = _stand_in("worktree:UnseenWorktree")
no_trees = _stand_in("trees:UnseenTrees")
no_facts = _stand_in("worktree:NothingKept")
no_known_checks = _stand_in("checks:NoChecksKnown")
no_installation = _refuse("This runtime does not know how it was installed.")
no_clients = _refuse("This runtime does not know any agent client.")
no_updates = no_installation
no_provenance = _refuse("This runtime cannot verify releases.")
no_check_programs = no_trials = no_trial_results = _refuse("This runtime starts no programs.")
no_receipt_keys = _refuse("This runtime has no keys for receipts.")
no_http_client = _refuse("This runtime asks no other server.")
no_processes = _refuse("This runtime does not know which servers run.")
no_keeper = no_proof = _refuse(
    "This store is not kept in files.", "Use a store in files, as the command line does."
)
NEVER_INTERRUPTED = NeverInterrupted()
NO_AUDIT: Audit = cast("Audit", Silent())
NO_OBSERVER: Observer = cast("Observer", Silent())
NO_PROGRESS: Progress = cast("Progress", Silent())
NO_PLACES: ProjectPlaces = cast("ProjectPlaces", Silent())
"""Stand-in without which a project is found only from the directory of the call."""
ALONE = Registry(CORE)
"""The core without the other packages of the distribution."""


# The runtime


class TreeDue(msgspec.Struct, frozen=True, kw_only=True):
    """A node for which Handrail takes a file snapshot when its reply is sent."""

    session_id: SessionId
    node_id: NodeId
    project: str
    cause: Literal["start", "advance", "checkpoint", "receipt"]
    tree: TakenTree | None = None
    """The tree that the call itself has taken; None if it has taken none."""


class NoticeDue(msgspec.Struct, frozen=True, kw_only=True):
    """Events that may need a notice when the reply is sent."""

    session_id: SessionId
    records: Sequence[Record]
    notify: Notify


Due: TypeAlias = TreeDue | NoticeDue


class RehydratePorts(msgspec.Struct, frozen=True, kw_only=True):
    """The ports for reading a pending step again: none of them can append, and there is no clock."""

    log: EventReader
    keys: Keys
    randomness: Randomness
    library: WorkflowLibrary
    workspace: Workspace
    worktree: Callable[[], TreeLook] = no_worktree
    """Reads the files of the project; a runtime without one reads no files."""
    trees: Callable[[], TreeReader] = no_trees
    """Trees of the project as git would commit them."""
    places: ProjectPlaces = NO_PLACES
    """Finds the projects of runs; without it only the directory of the call is known."""


class ReadPorts(RehydratePorts, frozen=True, kw_only=True):
    """The ports of an operation that changes nothing: none of them appends or writes.

    An operation names what it takes in the type of its first parameter: this, `WritePorts` or `Runtime`. The
    type checker checks its body against that, and the hub passes it no more (`Runtime.narrow`).
    """

    clock: Clock
    settings: SettingsFiles
    registry: Registry = ALONE
    """The operations of the core and of the other installed packages."""
    client: str = ""
    """The name that the calling program gives itself; empty for a command line."""
    is_served: bool = False
    """Whether the call comes over HTTP: it starts no program but git, and sends no request to another
    server.
    """
    team_client: str = ""
    """The machine that reads files and starts programs for this call; empty for this one."""
    principal: Principal | None = None
    """The caller of a server with accounts; None if there are none: the caller is who runs the program."""
    origin: str = ""
    """On a server with accounts: the address under which people reach the server, for links."""
    index: Callable[[], SessionIndex | None] = lambda: None
    """The index of sessions, for lists and searches; None if they are read from the log."""
    facts: Callable[[], FactStore] = no_facts
    """Facts about source files that are kept between calls; a runtime without any reads the files again."""
    trees: Callable[[], Trees] = no_trees
    trials: Callable[[], Trials] = no_trials
    """Runs checks on trees in copies of the project."""
    trial_results: Callable[[], TrialResults] = no_trial_results
    """Results of earlier trials on this machine."""
    known_checks: Callable[[], KnownChecksReader] = no_known_checks
    interruptions: Interruptions = NEVER_INTERRUPTED
    progress: Progress = NO_PROGRESS
    secrets: Secrets = msgspec.field(default_factory=Secrets)
    """Values that this process has read and must never write."""


class WritePorts(ReadPorts, frozen=True, kw_only=True):
    """The ports of an operation that changes sessions or files of the project."""

    log: EventLog
    confirmed: ConfirmedTokens
    authored: AuthoredFiles
    incidents: Incidents
    worktree: Callable[[], Worktree] = no_worktree
    known_checks: Callable[[], KnownChecks] = no_known_checks
    check_programs: Callable[[], CheckPrograms] = no_check_programs
    terminal: Callable[[], Terminal] = no_terminal
    """Where a person can be asked; servers have none."""
    can_ask: bool = False
    """Whether the client of this call can show a person a form."""
    is_at_console: bool = False
    """Whether the call comes from a page of the Console, so that an answer in it is a person's."""
    actions: Callable[[str, dict[str, Json]], OwnAction] | None = None
    """Carries out the actions of a workflow that another package provides; None if it is not installed."""
    trees_due: list[Due] | None = None
    """Work that the call leaves for its interface to do after the reply; None if the interface does none."""
    members: Callable[[], Mapping[str, Role]] | None = None
    """On a server with accounts: the members of the caller's workspace, with their roles."""
    commits: Commits = msgspec.field(default_factory=Commits)
    """What the current call has changed; the hub gives each call its own."""

    @property
    def actor(self) -> Actor | None:
        """Return the actor for whom the events of this call are recorded."""
        return None if self.principal is None else self.principal.actor

    def for_rehydrate(self) -> RehydratePorts:
        return _take(self, RehydratePorts)


class Runtime(WritePorts, frozen=True, kw_only=True):
    """Every port: for the hub and the interfaces, and for operations that manage the
    program and the store.
    """

    installation: Callable[[], Installation] = no_installation
    clients: Callable[[], ClientFiles] = no_clients
    updates: Callable[[], Updates] = no_updates
    provenance: Callable[[], Provenance] = no_provenance
    receipt_keys: Callable[[], ReceiptKeys] = no_receipt_keys
    mcp_processes: Callable[[], McpProcesses] = no_processes
    http_client: Callable[[], HttpClient] = no_http_client
    """Sends requests to other servers; a server of Handrail sends none for any caller."""
    roots: Roots | None = None
    """Where a server may work; None if this is no server, and works wherever its caller may."""
    team: Callable[[], Team] | None = None
    """The team server for calls of projects that belong to a team; None if there is no team."""
    may: Callable[[Operation, Effect], None] | None = None
    """On a server with accounts: raises the Fault that keeps this caller from an operation."""
    accounts: object = None
    """On a server with accounts: what the operations about accounts work with."""
    name_people: Callable[[str, Json], Json] | None = None
    """On a server with accounts: replaces account ids in an operation's answer with the names of people."""
    keeper: Callable[[], StoreKeeper] = no_keeper
    """Made only when needed, as the ports before and after it: most calls have no use for them."""
    proof: Callable[[], StoreProof] = no_proof
    database: Callable[[], DatabaseFacts] | None = None
    """How the store's database answers; None if the store is in files of the home."""
    start_notice: Callable[[Sequence[str], bytes], str] | None = None
    """Starts the command that notifies people about a run; None if nothing is started here."""
    audit: Audit = NO_AUDIT
    observer: Observer = NO_OBSERVER

    def for_one_call(self, commits: Commits | None) -> Runtime:
        """Return the runtime for one call, with its own record of changes and one lookup of the project."""
        own = Commits() if commits is None else commits
        return msgspec.structs.replace(self, commits=own, workspace=OneLook(self.workspace))

    def narrow(self, perform: Callable[[Any, Any], object]) -> ReadPorts:
        """Return the ports that the function of an operation says that it takes, by its first annotation."""
        named = next(iter(perform.__annotations__.values()), "")  # as written, or the type itself
        kind = _PORTS[getattr(named, "__name__", named)]
        return self if kind is Runtime else _take(self, kind)


_PORTS: dict[str, type[ReadPorts]] = {"ReadPorts": ReadPorts, "WritePorts": WritePorts, "Runtime": Runtime}
_Ports = TypeVar("_Ports", bound=RehydratePorts)


def _take(ports: RehydratePorts, kind: type[_Ports]) -> _Ports:
    return kind(**{name: getattr(ports, name) for name in kind.__struct_fields__})


def leave_tree(
    rt: WritePorts,
    session_id: SessionId,
    node_id: NodeId,
    asked: str | UnsetType,
    cause: Literal["advance", "checkpoint", "receipt"],
    tree: TakenTree | None = None,
) -> None:
    """Have the tree of a new node kept after the reply; a replay made no node, so it keeps none."""
    if rt.trees_due is None or not rt.commits.is_made:
        return
    try:
        project = project_of(rt, asked)
    except Fault:  # the directory is gone, so no file can be read there
        return
    if not looks_at_code(rt, project):
        return
    rt.trees_due.append(
        TreeDue(
            session_id=session_id,
            node_id=node_id,
            project=project,
            cause=cause,
            tree=tree,
        )
    )


def looks_at_code(rt: ReadPorts, project: str) -> bool:
    """Whether Handrail lists this project's files, so that reports can be checked against the list."""
    return _is_wanted(rt, project, lambda settings: settings.looking)


def keeps_code(rt: ReadPorts, project: str) -> bool:
    """Whether Handrail keeps contents of this project's files."""
    return _is_wanted(rt, project, lambda settings: settings.snapshots)


def _is_wanted(rt: ReadPorts, project: str, choose: Callable[[Settings], str]) -> bool:
    try:
        wanted = choose(rt.settings.of(project))
    except Fault:  # settings that cannot be read allow nothing
        return False
    return wanted == "always" or (wanted == "git" and "repo_root_hash" in rt.workspace.observations(project))


def project_of(rt: ReadPorts, asked: str | UnsetType) -> str:
    """Return the project directory in use."""
    return rt.workspace.project("" if asked is UNSET else asked)


def project_or_root(rt: ReadPorts, asked: str | UnsetType) -> tuple[str, Fault | None]:
    """Return the project for an operation that must answer anyway; without one, the root and the reason.

    Raise Fault if the caller itself named a directory that does not exist.
    """
    try:
        return project_of(rt, asked), None
    except Fault as fault:
        if asked is not UNSET:
            raise
        return "/", fault
