"""The project that a call works in: its workflows, its settings, and the files that Handrail writes there."""

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
    """The path where a new file would go."""

    path: str
    """Absolute, with every link resolved."""
    content: bytes | None = None
    """The present content, up to a megabyte; None if there is no file."""
    missing_directories: tuple[str, ...] = ()
    """Directories to create, outermost first."""


class WorkflowLibrary(Protocol):
    """Workflow files of every source: bundled, user, project, git, plugin; sorted by name within one."""

    def files(self, project: str) -> Sequence[WorkflowFile]:
        """Return every workflow file found, in any spelling; Markdown counts if its front matter has an id.

        A file that cannot be read is listed without content, never left out.
        """

    def content_now(self, project: str, source_kind: SourceKind, source_ref: str) -> bytes | None:
        """Return the present content of this file, empty if it is gone; reads one file, writes nothing.
        None if that takes more work: files from git, plugins and other machines.
        """

    def named_files(self, directory: str, project: str) -> Sequence[WorkflowFile]:
        """Return what `files` would return for a directory that the caller names, each under its path."""

    def refused_file(self, path: str, project: str) -> WorkflowFile | None:
        """Return a file that the caller names if `files` would skip it because a link leads out of its
        source.
        """


class Workspace(Protocol):
    """Facts about the place where the caller works. Starts no subprocess."""

    def project(self, asked: str) -> str:
        """Return the project directory: the asked one, HANDRAIL_PROJECT, the git root, or the working
        directory.

        Raise Fault E_VALIDATION if the asked directory does not exist.
        """

    def observations(self, project: str) -> dict[ObservationKey, str]:
        """Return `git_branch`, `git_head_sha` and `repo_root_hash`, as far as they are known."""

    def identity(self, project: str) -> str:
        """Return the identity of the project, which all clones and worktrees of a repository share; empty
        if only its directory identifies it. Never raises.
        """

    def repository(self, project: str) -> str:
        """Return the git directory that all worktrees of a repository share; empty if there is none."""

    def main_checkout(self, project: str) -> str:
        """Return the main checkout if the project is another worktree of its repository; else empty."""

    def work_token(self) -> str:
        """Return the token of the work that was delegated to the caller (HANDRAIL_WORK); empty if there is
        none.
        """

    def worker(self) -> str:
        """Return the caller's name among helpers (HANDRAIL_WORKER); empty if it has none."""

    def account(self) -> str:
        """Return the caller's operating-system user name, or its number if it has no name."""


class NamedWorkspace:
    """`Workspace` of a project of which only the name and the account of the caller are known."""

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
    """The folders that a server may work in: where it was started, and those that its user added."""

    def require(self, named: Sequence[tuple[str, str]]) -> None:
        """Raise Fault E_FORBIDDEN if a path, links resolved, lies outside or in Handrail's own state.

        Each path comes with the name of its parameter. Relative paths are relative to the path called
        `project`.
        """

    def explain_closed(self, target: str) -> str:
        """Return why no server writes this file, whatever root contains it; empty if it may."""


class ProjectPlaces(Protocol):
    """The directories of projects on this machine, by the hash that the log keeps of each."""

    def keep(self, key: str, project: str) -> None:
        """Remember a directory. Never raises: after a failure the project is not found from elsewhere."""

    def find(self, key: str) -> str | None:
        """Return the directory, if it is known and still exists; the caller compares it with the hash."""


class AuthoredFiles(Protocol):
    """Files that people keep with their project.

    Handrail writes one on request, and overwrites only known content.
    """

    def place(self, project: str, directory: str, name: str, param: str) -> FilePlace:
        """Return where `name` would go: into `directory`, or into the project's own workflows if that is
        empty.

        A relative directory is relative to the project. Raise Fault E_VALIDATION, which names the parameter,
        if the directory does not exist or the project's own workflow folder leads out of the project.
        """

    def create(self, path: str, content: bytes) -> bool:
        """Create a file with this content, and its directories, durably; return False if a file exists.

        Raise Fault E_FORBIDDEN or E_IO; then there is no such file.
        """

    def replace(self, path: str, content: bytes, expected: bytes) -> bool:
        """Replace the expected content as a whole and durably; return False if the file has other content.

        The file keeps its mode. Raise Fault E_VALIDATION for a link, E_FORBIDDEN or E_IO; then nothing
        changed.
        """

    def create_private(self, path: str, parts: Iterable[bytes]) -> bool:
        """Create a file for this user only (0600) in an existing directory.

        No file appears until all is durable.
        """


MOST_COMMAND_WORDS = 40
LONGEST_COMMAND_WORD = 1_000
INSIDE = r"^(?!/)(?!(?:[^/]*/)*\.\.(?:/|\Z))[^\x00-\x1f\\]+\Z"
"""A relative path without `..`."""


class ReportPlace(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The file in which the program of a check counts its tests."""

    path: Annotated[str, Meta(max_length=500, pattern=INSIDE)]
    """Where the program writes its report, relative to the project; `-` if it prints the report."""
    format: ReportFormat = "junit"
    """JUnit XML, the JSON of Jest and Vitest, TAP or `go test -json`. `cargo` and `unittest` are text for
    people, and count no tests.
    """


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
    """Names and values of variables that it gets in addition to the caller's."""
    narrow: tuple[str, ...] = ()
    """The command for selected test files; the word `{files}` stands for them."""
    prepare: tuple[str, ...] = ()
    """The command that prepares a copy of the project, such as `npm ci`."""
    links: tuple[str, ...] = ()
    """Files and folders outside of git that a copy of the project needs."""
    inherits: tuple[str, ...] = ()
    """Names of the caller's variables that it needs in a copy."""
    tests: tuple[str, ...] = ()
    """Patterns of the files that are tests; empty for the usual names."""


class Notify(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which notices about runs Handrail sends, and where."""

    url: Annotated[str, Meta(max_length=2048, pattern=r"^(https?://[^\s]+)?\Z")] = ""
    """The address to which the team server sends notices about runs."""
    key: Annotated[str, Meta(max_length=512)] = ""
    """Key that signs each body: the header `X-Handrail-Signature` is its HMAC with this key."""
    command: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=LONGEST_COMMAND_WORD)], ...],
        Meta(max_length=MOST_COMMAND_WORDS),
    ] = ()
    """The command that a local call starts after its answer, word by word.

    The notice is its last argument.
    """
    kinds: Annotated[tuple[OutwardKind, ...], Meta(max_length=len(get_args(OutwardKind)))] = ()
    """Kinds of notices: needs_person, blocked, done, critical_gap, idle, stalled; empty for all."""
    with_text: bool = False
    """Whether texts of a run may be included."""
    allow_private: bool = False
    """Whether Handrail may also send to an address of a private network."""


class TeamLimits(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Limits of one account at a team server; a workspace has a fixed multiple of each."""

    calls_a_minute: Annotated[int, Meta(ge=1, le=1_000_000)] = 600
    """Calls of one account per minute on each team server; ten times as many for one workspace."""
    calls_at_once: Annotated[int, Meta(ge=1, le=64)] = 32
    """Calls of one account in progress on each team server; half as many more for one workspace."""
    body_bytes: Annotated[int, Meta(ge=65_536, le=67_108_864)] = 4_194_304
    """Largest body of a request to the team server, except a request that imports a bundle."""
    feeds: Annotated[int, Meta(ge=1, le=512)] = 8
    """Open pages of one account that each team server keeps live; 32 times as many for one workspace."""
    open_runs: Annotated[int, Meta(ge=1, le=1_000_000)] = 200
    """Runs in progress that one account of a team began; fifty times as many for one workspace."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions that people make once instead of in every call. Every field has a safe default."""

    start_session: bool = False
    """Whether a session may begin without a run."""
    max_effect: MaxEffect = "dangerous"
    idle_minutes: int = 60
    """Minutes without a commit after which a run in progress is idle, and a waiting one is stalled."""
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
    """The checks of the project, in the order of its file."""
    snapshots: Literal["git", "always", "off"] = "git"
    """Projects for which Handrail keeps the contents of files with the nodes of a run."""
    looking: Literal["git", "always", "off"] = "git"
    """Projects whose files Handrail lists. Only the user decides: a project cannot switch off a check."""
    confirmations: Confirmations = "claimed"
    notify: Notify | None = None
    """Where notices about runs go; None for no notices."""
    limits: TeamLimits = TeamLimits()
    """Limits of the team server."""
    project_name: str = ""
    """The name that the project gives itself, on every machine."""
    confirmations_from: Literal["", "user", "project"] = ""
    """The settings file that says `person`; empty if none does."""
    roots: tuple[str, ...] = ()
    """Folders that servers may work in, in addition to the one that each was started in."""


class SettingProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem in a settings file."""

    place: str
    """File and key, without a machine path."""
    message: str
    fix: str


class DesiredSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The values in the files, unchecked: by the name of a setting, dotted if nested."""

    user_file: str
    project_file: str
    user: dict[str, Json]
    project: dict[str, Json]


class SettingsFiles(Protocol):
    """The user's settings, and the few that a project may add. A project is not trusted."""

    def of(self, project: str = "") -> Settings:
        """Return the settings in force.

        With a project, they include its checks, and its output defaults before the user's.

        Raise Fault E_CONFIG if a file cannot be read or a value is not allowed.
        """

    def read_checks(self, content: bytes) -> tuple[DeclaredCheck, ...]:
        """Return the checks that these bytes of a project's file declare. Raise Fault E_CONFIG."""

    def problems(self, project: str = "") -> tuple[SettingProblem, ...]:
        """Return every problem in the files, unknown names included. Never raises."""

    def desired(self, project: str = "") -> DesiredSettings:
        """Return the values in the files, unchecked; a file that is not JSON has none. Never raises."""

    def keep(self, changes: Mapping[str, Json], held: Mapping[str, Json]) -> bool:
        """Write these user settings, by dotted name; null removes one. Every other key stays.

        Return False if a present value is no longer as in `held`. Raise Fault VALIDATION_ERROR for a value
        that is not allowed, E_CONFIG or E_IO. In both cases nothing changed.
        """

    def check(self, changes: Mapping[str, Json]) -> None:
        """Raise what `keep` would raise about the values and the file. Changes nothing."""
