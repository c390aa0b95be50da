"""Every way Handrail touches the world, on one page. The docstrings are the promises.

`tests/event_log/conformance.py` repeats the promises of the log in code; every adapter passes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

from handrail.contract.ids import BlobRef, SessionId
from handrail.contract.outcome import Json
from handrail.contract.vocabulary import Autonomy, MaxEffect, ObservationKey, RiskPolicy, SourceKind

# Only who operates a store or an installation needs them, and every call pays for an import.
if TYPE_CHECKING:
    from handrail.contract.authored_facts import FilePlace
    from handrail.contract.client_facts import ClientPlaces, HeldSkill, KeptFile, SkillCopy
    from handrail.contract.installation_facts import (
        ClientServer,
        Handshake,
        InstalledSkill,
        PlaceFacts,
        ProgramFacts,
    )
    from handrail.contract.provenance_facts import ProvenanceAnswer, ProvenanceOrder
    from handrail.contract.store_facts import (
        CopyWay,
        ProofOrder,
        ProofPart,
        RemovalPlan,
        Removed,
        SessionCheck,
        SessionCopy,
        SessionToRemove,
        StoreCheck,
        StoreUsage,
    )
    from handrail.contract.update_facts import Driven, Fetched, Installed, InstallFacts, Look, ManagerCall


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """One event as planned. `body` is one JSON object without a newline; the log never reads it."""

    dedupe_key: str
    body: bytes


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One event as committed. `digest` is the chain digest that includes it."""

    index: int
    dedupe_key: str
    body: bytes
    digest: str


class Blob(msgspec.Struct, frozen=True, kw_only=True):
    """Content that a plan introduces, stored by the digest of its bytes."""

    ref: BlobRef
    content: bytes


HealthState: TypeAlias = Literal["healthy", "corrupt_tail", "corrupt_head", "unknown_version"]
HealthReason: TypeAlias = Literal[
    "",
    "digest_mismatch",
    "non_contiguous",
    "missing_segment",
    "missing_blob",
    "undecodable",
    "unsupported_version",
    "history_lost",
]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What the log can prove about a session; `reason` is empty when healthy."""

    state: HealthState = "healthy"
    reason: HealthReason = ""
    detail: str = ""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The attested events of a session, in order, from `first_index` on, and how sound they are.

    When the state is not healthy, `records` is the prefix that is still proven.
    """

    records: tuple[Record, ...]
    head: int
    """How many events the session has: the index the next one gets."""
    digest: str = ""
    """The chain digest after the last event: the same head with another digest is another log.

    Empty when the state is not healthy.
    """
    health: Health = Health()


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """The whole plan is durable."""

    records: tuple[Record, ...]


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The first dedupe key of the plan is known; nothing was written."""

    record: Record


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """The log is not where the caller thought; nothing was written. Load, decide again."""

    head: int


Appended: TypeAlias = Committed | Replayed | Conflict


class SessionStamp(msgspec.Struct, frozen=True, kw_only=True):
    """One stored session in a listing. `order` sorts by last activity and is never shown as a time."""

    session_id: SessionId
    order: int


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller worked out from the first `head` events, whose chain digest is `digest`."""

    head: int
    digest: str
    content: bytes


class EventReader(Protocol):
    """What rehydrate and every read get: it cannot append because it has no such method.

    Raises Fault STORE_IO_ERROR, STORE_PERMISSION_DENIED or STORE_UNSUPPORTED_VERSION.
    """

    def load(self, session_id: SessionId) -> Loaded | None:
        """All attested events; None when the session was never created here.

        Never waits for a writer: it sees a committed prefix. Never changes a byte of the store.
        Bytes that nothing attests are ignored, not salvaged.
        """

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        """The same from event `index` on."""

    def recall(self, session_id: SessionId) -> Remembered | None:
        """What `SessionHold.remember` was given last, if the log still begins with just those events.

        A cache: None at any time, and then `load` gives the same for more time.
        """

    def list_sessions(self) -> Sequence[SessionStamp]:
        """Every session with at least one commit, last activity first, then by id."""

    def get_blob(self, ref: BlobRef) -> bytes:
        """The content, checked against its ref. Raises Fault STORE_CORRUPT when it is missing or differs."""


class SessionHold(Protocol):
    """The only way to append: handed out by `EventLog.hold`, dead after its scope ends."""

    def load(self) -> Loaded | None:
        """As `EventReader.load`, under the hold: nothing can be added before the scope ends."""

    def load_since(self, index: int) -> Loaded | None:
        """The same from event `index` on."""

    def append(self, expected_head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = ()) -> Appended:
        """Commit the whole plan or nothing, durably, before returning.

        Order of answers: a first dedupe key that is already in the log is `Replayed`; a head other than
        `expected_head` is `Conflict`; else the blobs are durable before the events that name them, and the
        events with the record that attests them before `Committed`. A record that survives a crash without
        its events attests nothing: it was never acknowledged.
        An empty plan is a broken assumption. After the hold's scope: AssertionError before any I/O.

        Raises Fault SESSION_NOT_HEALTHY when the session is not healthy, STORE_IO_ERROR when the
        disk refuses; then nothing of the plan counts.
        """

    def remember(self, content: bytes) -> None:
        """Keep what was worked out from all events up to now, for `recall`. Never raises for the disk."""


class EventLog(EventReader, Protocol):
    """The store: one append-only log per session plus content-addressed blobs."""

    def hold(self, session_id: SessionId, wait_ms: int) -> AbstractContextManager[SessionHold]:
        """Be the single writer of a session, existing or new, for the scope of the `with`.

        Raises Fault SESSION_LOCKED when another writer keeps it longer than `wait_ms`. The hold ends with
        the process, however it dies. Alone it creates nothing that `load` or `list_sessions` would show.
        """

    def hold_existing(self, session_id: SessionId, wait_ms: int) -> AbstractContextManager[SessionHold]:
        """The same for a session that its caller saw. Raises Fault SESSION_NOT_FOUND, and makes nothing."""


class StoreKeeper(Protocol):
    """The store as a whole, for who operates it. Raises Fault STORE_IO_ERROR or STORE_PERMISSION_DENIED."""

    def check(self, session_ids: Sequence[SessionId] = ()) -> Iterator[SessionCheck | StoreCheck]:
        """Every byte of these sessions and their blobs, or of the store: each session, last the whole."""

    def usage(self) -> StoreUsage:
        """What takes how much."""

    def plan_removal(self, older_than_days: int, keep: Sequence[SessionId] = ()) -> RemovalPlan:
        """Sessions without activity for so long before the newest, and the blobs that only they name."""

    def remove(self, plan: RemovalPlan) -> Removed:
        """Sessions first, then blobs. A session that grew since the plan stays; so do blobs in use."""

    def sessions_to_remove(self, session_ids: Sequence[SessionId]) -> tuple[SessionToRemove, ...]:
        """Those of these sessions that exist, bound to what they hold now."""

    def remove_session(self, session: SessionToRemove, wait_ms: int) -> int | None:
        """Bytes freed; None: it is gone, or grew since, and stays whole. Raises also Fault SESSION_LOCKED."""

    def clear(self, name: str) -> int:
        """Delete what a removal before left under this name; the bytes that this call freed."""

    def wait_for_writers(self, session_ids: Sequence[SessionId], wait_ms: int) -> None:
        """Whoever writes to one of these sessions has finished. Raises also Fault SESSION_LOCKED."""

    def plan_copy(self, way: CopyWay, session_ids: Sequence[SessionId] = ()) -> tuple[SessionCopy, ...]:
        """What the target lacks of these sessions, or of all; what cannot be copied says why."""

    def copy_session(self, way: CopyWay, session_id: SessionId) -> SessionCopy:
        """Bring the target up to date and compare it event by event; a repeat goes on where it stopped.
        Raises Fault SESSION_NOT_FOUND, SESSION_NOT_HEALTHY, SESSION_LOCKED, or STORE_TARGET_NOT_EMPTY
        when the target holds other events under the same session id."""


class StoreProof(Protocol):
    """Puts a scratch store on the user's own disk through every trouble we know."""

    def run(self, order: ProofOrder) -> Iterator[ProofPart]:
        """One part per kind of trouble, each when it is done; the scratch directory is gone afterwards.
        Raises Fault E_VALIDATION when the directory does not exist, E_IO when it cannot be written."""


class Incidents(Protocol):
    """Where a defect's traceback goes: a private file, never an answer."""

    def record(self, traceback: str) -> str:
        """Keep it and return a short id to quote; empty when it could not be kept. Never raises."""


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """One change, or one refused change. Nothing in it is a secret, or what a caller wrote."""

    at: str
    tool: str
    """Which surface was asked."""
    version: str
    command: str
    args: dict[str, Json] = {}
    account: str
    workspace: str
    effect: str
    dry_run: bool = False
    code: str | None = None
    """Of the trouble; None when there was none."""
    exit: int = 0
    duration_ms: int = 0
    targets_count: int = 0
    token_fingerprint: str = ""
    request_id: str = ""


class Audit(Protocol):
    """Who changed what, kept apart from the sessions themselves."""

    def record(self, line: AuditLine, keep_months: int) -> None:
        """Add one line; of more months than `keep_months` the oldest go. Never raises: stderr tells."""


class Interruptions(Protocol):
    """How a call learns that it shall end, where it can end with a true answer."""

    def deferred(self) -> AbstractContextManager[None]:
        """Inside, nothing ends the call; it looks at `asked` between the parts of its work."""

    def asked(self) -> Literal["", "signal", "deadline"]:
        """What asks the call to end; empty while nothing does."""

    def end_here(self) -> None:
        """Raises Fault E_INTERRUPTED or E_TIMEOUT when a call shall end that has changed nothing yet."""

    def pause(self, milliseconds: int) -> None:
        """Let some time pass, less when the call shall end."""


class Progress(Protocol):
    """Where a long piece of work says how far it is."""

    def tell(self, done: int, total: int, what: str) -> None:
        """`done` of `total` (0: unknown) are finished. Cheap; most calls say nothing. Never raises."""

    def say(self, line: str) -> None:
        """Pass on a line of another program, for people. Never raises."""


class Clock(Protocol):
    """Time, only ever informational: nothing is ordered, compared or replayed by it."""

    def now(self) -> str:
        """UTC as `2026-11-15T09:30:00.123Z`."""

    def unix_seconds(self) -> int:
        """For expiries of cursor, confirm and continuation tokens."""

    def monotonic_ms(self) -> int:
        """For durations and bounded waits."""


class Randomness(Protocol):
    """The only source of chance."""

    def bytes(self, count: int) -> bytes: ...


class KeyringFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What may be told about the keyring."""

    count: int
    """Keys that verify: none before the first use, at most two."""
    version: str
    """Another one after every change; says nothing about the keys."""


class Keys(Protocol):
    """The keyring, reduced to derived purpose keys: no caller ever sees a ring key."""

    def facts(self) -> KeyringFacts:
        """Creates nothing. Raises Fault KEYRING_INVALID."""

    def rotate(self, expected_version: str) -> bool:
        """Sign with a new key; the one before it still verifies. False when this is not its version."""

    def signing_key(self, purpose: str) -> bytes:
        """32 bytes for minting. Creates the keyring on first use.

        Raises Fault KEYRING_INVALID when it cannot be read or created; never an unkeyed fallback.
        """

    def request_key(self) -> bytes:
        """Names the sessions of request ids: made once, never rotated. Raises Fault KEYRING_INVALID."""

    def verifying_keys(self, purpose: str) -> tuple[bytes, ...]:
        """Current first, then previous if there is one. Empty when no keyring exists yet; never creates."""


class WorkflowFile(msgspec.Struct, frozen=True, kw_only=True):
    """One workflow file as found; the language room reads it."""

    source_kind: SourceKind
    source_ref: str
    """Where it came from, without a machine path: file name, or package resource."""
    content: bytes
    holds: Literal["workflow", "contract"] = "workflow"
    trouble: str = ""
    """Why there is no content, in a sentence; empty when it could be read."""
    remedy: str = ""
    """What to do about the trouble."""
    summary: bytes = b""
    """What the language room said about this content earlier; empty when nothing is remembered."""


class WorkflowLibrary(Protocol):
    """Workflow files of every source: bundled, user, project, git, plugin; sorted by name within one."""

    def files(self, project: str) -> Sequence[WorkflowFile]:
        """Every `*.json` found. What cannot be read, YAML too, is given without content, never left out."""

    def content_now(self, project: str, source_kind: SourceKind, source_ref: str) -> bytes | None:
        """What the file of that name holds right now, empty when it is gone; reads one file, writes nothing.

        None where that cannot be told without more work: files from git, plugins and other machines.
        """


class Workspace(Protocol):
    """Facts about where the caller works. Never a subprocess."""

    def project(self, asked: str) -> str:
        """The project directory: as asked, then HANDRAIL_PROJECT, the git root, the working directory.

        Raises Fault E_VALIDATION when the asked directory does not exist.
        """

    def observations(self, project: str) -> dict[ObservationKey, str]:
        """`git_branch`, `git_head_sha`, `repo_root_hash`, as far as they are known."""

    def account(self) -> str:
        """Who is calling: the operating-system user."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What came of claiming a confirm token."""

    state: Literal["claimed", "already_used", "not_recorded"]
    reason: str = ""
    """Of `not_recorded`: one word from the operating system."""


class ConfirmedTokens(Protocol):
    """Which confirm tokens were used, across all processes of this home."""

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        """Use a token up. Of many callers with one fingerprint exactly one is told `claimed`.

        The claim is durable before this returns, and nothing gives a token back. `not_recorded` means that
        the disk refused and no earlier claim was found. Of very many claims the oldest are forgotten.
        Never raises.
        """

    def is_used(self, fingerprint: str) -> bool:
        """Whether a claim is recorded. Uses nothing up, and never raises."""


class AuthoredFiles(Protocol):
    """Files that people keep with their project. Handrail adds one when told to, and never changes one."""

    def place(self, project: str, directory: str, name: str) -> FilePlace:
        """Where `name` would go: into `directory`, or into the project's own workflows when that is empty.

        Raises Fault E_VALIDATION when that is no directory, or when the project's own leads out of it.
        """

    def create(self, path: str, content: bytes) -> bool:
        """Make a new file with this content, durably, and the directories above it; False when one is there.

        Raises Fault E_FORBIDDEN or E_IO; then there is no such file.
        """

    def create_private(self, path: str, parts: Iterable[bytes]) -> bool:
        """For this user only, 0600, in a directory that exists; no file until all is durable."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What people decided once instead of in every call. Every field has a safe default."""

    start_session: bool = False
    """Whether a session may begin without a run."""
    max_effect: MaxEffect = "dangerous"
    retention_days: int = 90
    kept_sessions: tuple[str, ...] = ()
    """Sessions that retention never removes."""
    audit_reads: bool = False
    audit_months: int = 12
    autonomy: Autonomy | None = None
    risk_policy: RiskPolicy | None = None
    output_format: str = ""
    output_envelope: str = ""
    is_compact: bool = False
    update_index: str = ""
    verify_updates: bool = False
    trusted_root: str = ""


class SettingProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Something in a settings file that is not as it should be."""

    place: str
    """File and key, without a machine path."""
    message: str
    fix: str


class SettingsFiles(Protocol):
    """The user's settings, and the little that a project may add. A project is not trusted."""

    def of(self, project: str = "") -> Settings:
        """The settings in force; with a project, its output defaults stand before the user's.

        Raises Fault E_CONFIG when a file cannot be read or a value is not one of those allowed.
        """

    def problems(self, project: str = "") -> tuple[SettingProblem, ...]:
        """Everything wrong with the files, unknown names included. Never raises."""

    def set_preferences(
        self, autonomy: Autonomy | None, risk_policy: RiskPolicy | None, shown: Settings
    ) -> bool:
        """Keep the user's preferences for later sessions; None leaves one as it is. Other keys stay.

        False when they are not those `shown` any more; raises Fault E_CONFIG or E_IO. Then nothing changed.
        """


class Installation(Protocol):
    """What is installed here and how it stands, for self-description. Never writes and never raises."""

    def packed(self, name: str) -> bytes | None:
        """A file packed with the program, such as `CHANGELOG.md`; None when it is not there."""

    def digest(self) -> str:
        """One digest of every packed source and data file but the record of readiness."""

    def home(self) -> str:
        """Where all state lives."""

    def secret_source(self) -> Literal["file", "environment"]:
        """Where the keys come from."""

    def program(self) -> ProgramFacts: ...

    def place(self, name: str) -> PlaceFacts:
        """One place in the home by its relative name; empty is the home itself."""

    def last_audit_line(self) -> str | None:
        """The newest line of the audit; None when there is none or it cannot be read."""

    def skills(self) -> Sequence[InstalledSkill]: ...

    def client_servers(self, project: str) -> Sequence[ClientServer]:
        """Sorted by client, then path. A client file that cannot be read has no entries."""

    def notices(self) -> Sequence[dict[str, Json]]:
        """What the last look at the index found, while it is still news."""

    def handshake(self) -> Handshake:
        """Start the MCP server, greet it and stop it again, within 25 seconds."""


class ClientFiles(Protocol):
    """Files of agent clients, which belong to the user: read whole, replaced whole. Raises Fault E_IO or
    E_FORBIDDEN."""

    def places(self) -> ClientPlaces: ...
    def exists(self, path: str) -> bool: ...
    def read(self, path: str) -> bytes | None:
        """None when there is no such file. Raises also Fault E_CONFIG: no plain file, or too large."""

    def replace(self, path: str, expected: bytes | None, content: bytes | None) -> bool:
        """Put the content there, None to remove the file; False when it does not hold what was expected.

        Mode and owner stay; a link is followed. What was there is kept first, for `kept`.
        """

    def kept(self, path: str) -> KeptFile | None:
        """How the file was before the first change that still stands."""

    def forget(self, path: str) -> None:
        """The file is as it was; nothing has to be kept any more."""

    def run(self, command: Sequence[str], project: str) -> str:
        """Run a client's own command; why it failed in a sentence, empty when it did not."""

    def held_skill(self) -> HeldSkill:
        """The user's copy of the skill. Never raises for the disk."""

    def sync_skill(self) -> SkillCopy:
        """Bring the user's copy of the skill to the packed one. Never raises."""

    def remove_skill(self) -> SkillCopy:
        """Take the copy away again, unless the user changed it. Never raises."""


class Updates(Protocol):
    """How the installed program is looked up and replaced. `asked` tells that the call shall end."""

    def facts(self) -> InstallFacts: ...
    def fetch(self, url: str, accept: str, asked: Callable[[], str], base: str = "") -> Fetched:
        """A `file:` or http address, as seen from `base`. Raises Fault, by what the other side answered."""

    def drive(self, call: ManagerCall, asked: Callable[[], str], say: Callable[[str], None]) -> Driven:
        """Run the package manager to its end; a signal is passed on to it. Never raises."""

    def installed(self) -> Installed | None:
        """What a new process says of itself; None when it cannot be started."""

    def sync_skill(self, package: str) -> SkillCopy: ...
    def last_look(self) -> Look | None: ...
    def keep_look(self, look: Look | None) -> None:
        """Remember what a look at the index found; None when it does not hold any more. Never raises."""


class Provenance(Protocol):
    """Whether a release is what its makers published. Never raises; `asked` tells that the call shall end."""

    def check(self, order: ProvenanceOrder, asked: Callable[[], str]) -> ProvenanceAnswer: ...
    def difference(self, wheel: bytes) -> str:
        """The first installed file that is not as in the wheel; empty when all are, or none is there."""
