"""The project that a call works in: its workflows, its settings, and the files we write there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, Protocol, get_args

import msgspec
from msgspec import Meta

from handrail.contract.ids import (
    Autonomy,
    Confirmations,
    MaxEffect,
    ObservationKey,
    OutwardKind,
    ReportFormat,
    RiskPolicy,
    SourceKind,
)
from handrail.contract.outcome import Json
from handrail.contract.workflow_files import WorkflowFile


class FilePlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a new file would go."""

    path: str
    """Absolute, with every link resolved."""
    content: bytes | None = None
    """What is there now, up to a megabyte; None when nothing is."""
    missing_directories: tuple[str, ...] = ()
    """Outermost first."""


class WorkflowLibrary(Protocol):
    """Workflow files of every source: bundled, user, project, git, plugin; sorted by name within one."""

    def files(self, project: str) -> Sequence[WorkflowFile]:
        """Return every workflow file found, in any spelling; Markdown is one if its front matter has an id.

        What cannot be read is given without content, never left out.
        """

    def content_now(self, project: str, source_kind: SourceKind, source_ref: str) -> bytes | None:
        """What the file of that name holds right now, empty when it is gone; reads one file, writes nothing.

        None where that takes more work: files from git, plugins and other machines.
        """

    def named_files(self, directory: str, project: str) -> Sequence[WorkflowFile]:
        """Return what `files` would give of a directory that a caller names, each under the path to it."""

    def refused_file(self, path: str, project: str) -> WorkflowFile | None:
        """Return a file that a caller names, if `files` would not read it: a link leads out of its source."""


class Workspace(Protocol):
    """Facts about where the caller works. Never a subprocess."""

    def project(self, asked: str) -> str:
        """Return the project directory: as asked, then HANDRAIL_PROJECT, the git root, the working directory.

        Raises Fault E_VALIDATION when the asked directory does not exist.
        """

    def observations(self, project: str) -> dict[ObservationKey, str]:
        """`git_branch`, `git_head_sha`, `repo_root_hash`, as far as they are known."""

    def identity(self, project: str) -> str:
        """Return what tells the project on every machine: clones and worktrees of one repository share it.

        Empty: only its directory tells it. Never raises.
        """

    def repository(self, project: str) -> str:
        """Return the git directory that all worktrees of a repository share; empty: there is none."""

    def main_checkout(self, project: str) -> str:
        """Of another worktree of a repository: the checkout that holds its git directory; else empty."""

    def work_token(self) -> str:
        """Return the work that was handed to whoever calls: HANDRAIL_WORK; empty: none was."""

    def worker(self) -> str:
        """Return what whoever calls is called among helpers: HANDRAIL_WORKER; empty: nobody gave a name."""

    def account(self) -> str:
        """Return who is calling: the name of the operating-system user; its number where it has none."""


class NamedWorkspace:
    """`Workspace` of a project of which only the name is known, and who works there."""

    def __init__(self, account: str) -> None:
        self._account = account

    def project(self, asked: str) -> str:
        return asked

    def observations(self, project: str) -> dict[ObservationKey, str]:
        del project
        return {}

    def identity(self, project: str) -> str:
        del project
        return ""

    repository = main_checkout = identity

    def work_token(self) -> str:
        return ""

    worker = work_token

    def account(self) -> str:
        return self._account


class Roots(Protocol):
    """The folders that a server works in: where it was started, and those that its user added."""

    def require(self, named: Sequence[tuple[str, str]]) -> None:
        """Raise Fault E_FORBIDDEN if a path, links resolved, lies outside or in Handrail's own state.

        Each comes with the name of its parameter. Relative paths are of the path called `project`.
        """

    def explain_closed(self, target: str) -> str:
        """Return why no server writes this file, whatever root it lies in; empty if it may."""


class ProjectPlaces(Protocol):
    """Where projects are on this machine, by the hash that the log keeps of each."""

    def keep(self, key: str, project: str) -> None:
        """Remember it. Never raises: then it is not found from elsewhere."""

    def find(self, key: str) -> str | None:
        """Return the directory, if it is known and still there; the caller compares it with the hash."""


class AuthoredFiles(Protocol):
    """Files that people keep with their project. Handrail writes one on request, over nothing unseen."""

    def place(self, project: str, directory: str, name: str, param: str) -> FilePlace:
        """Where `name` would go: into `directory`, or into the project's own workflows when that is empty.

        A relative directory is one of the project. Raises Fault E_VALIDATION, which names the parameter, when
        that is no directory, or when the project's own leads out of it.
        """

    def create(self, path: str, content: bytes) -> bool:
        """Make a new file with this content, durably, and the directories above it; False when one is there.

        Raises Fault E_FORBIDDEN or E_IO; then there is no such file.
        """

    def replace(self, path: str, content: bytes, expected: bytes) -> bool:
        """Put the content in place of the expected one, as a whole and durably; False when it is another.

        The file keeps its mode. Raises Fault E_VALIDATION for a link, E_FORBIDDEN or E_IO; then nothing
        changed.
        """

    def create_private(self, path: str, parts: Iterable[bytes]) -> bool:
        """For this user only, 0600, in a directory that exists; no file until all is durable."""


MOST_COMMAND_WORDS = 40
LONGEST_COMMAND_WORD = 1_000
INSIDE = r"^(?!/)(?!(?:[^/]*/)*\.\.(?:/|\Z))[^\x00-\x1f\\]+\Z"
"""A path that does not begin at the root and has no way up."""


class ReportPlace(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The file in which a check's program counts its tests."""

    path: Annotated[str, Meta(max_length=500, pattern=INSIDE)]
    """Where the program writes its report, relative to the project; `-`: it is what the program prints."""
    format: ReportFormat = "junit"
    """JUnit XML, the JSON of Jest and Vitest, TAP or `go test -json`. `cargo` and `unittest` are text for
    people, and count nothing."""


class DeclaredCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A command that a project declares under a name."""

    name: str
    command: tuple[str, ...]
    directory: str = "."
    """Relative to the project."""
    timeout_seconds: int = 600
    description: str = ""
    report: ReportPlace | None = None
    environment: tuple[tuple[str, str], ...] = ()
    """Names and values that it gets beside what the caller has."""
    narrow: tuple[str, ...] = ()
    """The same for some test files alone: the word `{files}` stands for them."""
    prepare: tuple[str, ...] = ()
    """What makes a copy of the project ready for it, such as `npm ci`."""
    links: tuple[str, ...] = ()
    """Files and folders outside of git that a copy of the project needs."""
    inherits: tuple[str, ...] = ()
    """Variables of the caller that it needs in a copy, by name."""
    tests: tuple[str, ...] = ()
    """Patterns of the files that are tests; empty: the usual names."""


class Notify(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Whom to tell what about runs."""

    url: Annotated[str, Meta(max_length=2048, pattern=r"^(https?://[^\s]+)?\Z")] = ""
    """Where the server of a team sends what happens in runs."""
    key: Annotated[str, Meta(max_length=512)] = ""
    """Signs each body: the header `X-Handrail-Signature` is its HMAC with this key."""
    command: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=LONGEST_COMMAND_WORD)], ...],
        Meta(max_length=MOST_COMMAND_WORDS),
    ] = ()
    """What a local call starts after its answer, word by word; the notice is its last argument."""
    kinds: Annotated[tuple[OutwardKind, ...], Meta(max_length=len(get_args(OutwardKind)))] = ()
    """What to tell: needs_person, blocked, done, critical_gap, idle, stalled; all of it by default."""
    with_text: bool = False
    """Let texts of a run leave with it."""
    allow_private: bool = False
    """Send to an address of a private network, too."""


class TeamLimits(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What one account may have at the server of a team; a workspace has a fixed multiple of it."""

    calls_a_minute: Annotated[int, Meta(ge=1, le=1_000_000)] = 600
    """Calls of one account in a minute on each server of a team; of one workspace, ten times as many."""
    calls_at_once: Annotated[int, Meta(ge=1, le=64)] = 32
    """Calls of one account in progress on each server of a team; of one workspace, half as many more."""
    body_bytes: Annotated[int, Meta(ge=65_536, le=67_108_864)] = 4_194_304
    """Bytes of a request to the server of a team, but of one that imports a bundle."""
    feeds: Annotated[int, Meta(ge=1, le=512)] = 8
    """Open pages of one account that each server of a team keeps live; of one workspace, 32 times as many."""
    open_runs: Annotated[int, Meta(ge=1, le=1_000_000)] = 200
    """Runs under way that one account of a team began; of one workspace, fifty times as many."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What people decided once instead of in every call. Every field has a safe default."""

    start_session: bool = False
    """Whether a session may begin without a run."""
    max_effect: MaxEffect = "dangerous"
    idle_minutes: int = 60
    """Without a commit for so long, a run under way is idle, and one that waits is stalled."""
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
    checks: tuple[DeclaredCheck, ...] = ()
    """Of the project, in the order of its file."""
    snapshots: Literal["git", "always", "off"] = "git"
    """Of which projects contents of files are kept with the nodes of a run."""
    looking: Literal["git", "always", "off"] = "git"
    """Of which projects the list of files is: the user's word alone; a project switches off no check."""
    confirmations: Confirmations = "claimed"
    notify: Notify | None = None
    """Whom to tell about runs; None: nobody."""
    limits: TeamLimits = TeamLimits()
    """Of the server of a team."""
    project_name: str = ""
    """What the project calls itself, on every machine."""
    confirmations_from: Literal["", "user", "project"] = ""
    """Whose file says `person`; empty: nobody's."""
    roots: tuple[str, ...] = ()
    """Folders that servers work in, beside the one that each was started in."""


class SettingProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Something in a settings file that is not as it should be."""

    place: str
    """File and key, without a machine path."""
    message: str
    fix: str


class DesiredSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the files say, as they say it: by the name of a setting, dotted where it is nested."""

    user_file: str
    project_file: str
    user: dict[str, Json]
    project: dict[str, Json]


class SettingsFiles(Protocol):
    """The user's settings, and the little that a project may add. A project is not trusted."""

    def of(self, project: str = "") -> Settings:
        """The settings in force; with a project, its checks, and its output defaults before the user's.

        Raises Fault E_CONFIG when a file cannot be read or a value is not one of those allowed.
        """

    def read_checks(self, content: bytes) -> tuple[DeclaredCheck, ...]:
        """Return the checks that these bytes of a project's file declare. Raises Fault E_CONFIG."""

    def problems(self, project: str = "") -> tuple[SettingProblem, ...]:
        """Everything wrong with the files, unknown names included. Never raises."""

    def desired(self, project: str = "") -> DesiredSettings:
        """Return what the files ask for, unchecked; a file that is no JSON asks for nothing. Never raises."""

    def keep(self, changes: Mapping[str, Json], held: Mapping[str, Json]) -> bool:
        """Write these of the user's settings, by dotted name; null takes one out. Every other key stays.

        False when one is not as `held` any more. Raises Fault VALIDATION_ERROR for a value that is not
        allowed, E_CONFIG or E_IO. Then nothing changed.
        """

    def check(self, changes: Mapping[str, Json]) -> None:
        """Raises what `keep` would raise about the values and the file. Changes nothing."""
