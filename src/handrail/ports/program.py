"""The program itself: what is installed, which clients use it, and where new releases come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from handrail.contract.outcome import Json

# The only identity that may sign a release: one workflow of one repository, on the tag of that version

REPOSITORY = "https://github.com/handrail.example/handrail"
"""A placeholder until the first release sets it. GitHub allows no dot in an account name, so until then
nobody can sign a release as Handrail.
"""
WORKFLOW = ".github/workflows/release.yml"
ISSUER = "https://token.actions.githubusercontent.com"
PUBLISH_STATEMENT = "https://docs.pypi.org/attestations/publish/v1"
"""The statement type that a release must carry; other types prove something else."""


class ReleaseIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What the certificate of a signature must name, exactly."""

    issuer: str
    repository: str
    tag: str
    workflow: str
    """The workflow file that ran, at the tag that it ran for."""


def identity_of(version: str) -> ReleaseIdentity:
    tag = f"refs/tags/v{version}"
    return ReleaseIdentity(
        issuer=ISSUER, repository=REPOSITORY, tag=tag, workflow=f"{REPOSITORY}/{WORKFLOW}@{tag}"
    )


# Facts for `setup`: this machine and the files of agent clients


class ClientPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where clients keep their files, and how to start Handrail from outside this shell."""

    user: str
    """The user's home directory."""
    configuration: str
    """Where desktop programs keep their configuration."""
    codex: str
    zed: str
    command: tuple[str, ...]
    """Absolute command; `mcp` or `hook` follows it."""
    programs: dict[str, str]
    """Installed commands of the clients, by name."""


class KeptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was before `setup` first changed it, and the digest of what `setup` made of it."""

    before: bytes | None
    after_sha256: str


class HeldSkill(msgspec.Struct, frozen=True, kw_only=True):
    """The user's copy of the skill as it is now."""

    version: str
    """A value that differs after every change."""
    state: Literal["absent", "as_packed", "older", "changed", "foreign"]
    """`changed`: the user edited the copy; `foreign`: a directory of that name that Handrail did not make."""


class SkillCopy(msgspec.Struct, frozen=True, kw_only=True):
    """The result of updating or removing the user's copy of the skill."""

    status: str
    """synced, unchanged, removed or failed."""
    path: str
    moved_to: str = ""
    """Where Handrail moved a copy that the user had changed."""
    trouble: str = ""


# Facts for self-description: what is installed here

InstallMethod: TypeAlias = Literal["editable", "uv-tool", "pipx", "ephemeral", "pip", "system", "pip-user"]


class ProgramFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Which Handrail runs, and which `handrail` the shell would start."""

    method: InstallMethod
    on_path: str
    """The first `handrail` on PATH; empty if there is none."""
    is_on_path: bool
    """Whether that `handrail` belongs to this installation."""
    git: str
    """The first `git` on PATH; empty if there is none."""


class PlaceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The present state of a file or directory in the home.

    If it does not exist, only `is_writable` is known.
    """

    path: str
    exists: bool = False
    mode: int | None = None
    """Permission bits; None if the system has no modes."""
    is_ours: bool = True
    is_writable: bool = False
    """Whether it can be written, or created."""
    can_lock: bool | None = None
    """For a directory: whether a lock can be taken; None if that was not tried."""
    modified_at: int = 0
    """Unix seconds."""
    free_bytes: int | None = None
    """Bytes that this user may still write on its file system; None if unknown."""


class InstalledSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of the agent skill in the user's home. A text is empty if the file does not contain it."""

    path: str
    version: str
    min_version: str
    is_packed_one: bool
    """Whether its files equal those packed with the program, byte by byte."""


class ClientServer(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of an agent client's file that would start Handrail."""

    client: str
    path: str
    command: str
    arguments: tuple[str, ...]
    command_exists: bool


class Handshake(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one of Handrail's own servers, started for this, to a client's first message."""

    protocol_version: str = ""
    server_version: str = ""
    trouble: str = ""
    """Why there is no answer, as a sentence; empty if there is one."""


# The provenance of a release: question and answer

IdentityPart: TypeAlias = Literal["issuer", "repository", "tag", "workflow"]
Refusal: TypeAlias = Literal["malformed_bundle", "untrusted_certificate", "wrong_identity", "bad_signature"]
RootTrouble: TypeAlias = Literal["refresh_failed", "unreadable"]


class ProvenanceOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Signed statements, the identity that must have signed them, and the trusted root."""

    bundles: tuple[str, ...]
    """Sigstore bundles, each in JSON."""
    identity: ReleaseIdentity
    trusted_root: str = ""
    """A file; empty for the public Sigstore root, updated first."""


class JudgedBundle(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one bundle: the statement that was signed, or why it does not count."""

    statement: bytes = b""
    refusal: Refusal | None = None
    mismatch: IdentityPart | None = None
    """For `wrong_identity`: the part in which the certificate differs."""


class Checked(msgspec.Struct, frozen=True, kw_only=True, tag="checked"):
    """Every bundle was judged, in order."""

    judged: tuple[JudgedBundle, ...]


class NotTrusting(msgspec.Struct, frozen=True, kw_only=True, tag="not_trusting"):
    """There is no trusted root to judge by."""

    trouble: RootTrouble


class NotChecked(msgspec.Struct, frozen=True, kw_only=True, tag="not_checked"):
    """The check did not finish."""

    why: Literal["signal", "deadline", "not_loaded", "ended"]
    """The caller ended it, its time was over, its library is missing, or it ended without an answer."""


ProvenanceAnswer: TypeAlias = Checked | NotTrusting | NotChecked


# Facts for `update`: how this copy is installed and what an index gave


class InstallFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How this copy was installed and where a newer one would come from."""

    method: InstallMethod
    executable: str
    """The interpreter that runs Handrail."""
    python: str
    """Its version, such as `3.13.1`."""
    prefix: str
    is_writable: bool
    """Whether the manager could change the installation."""
    programs: dict[str, str]
    """Paths of uv and pipx by name, if they are on PATH."""
    has_pip: bool
    extras: tuple[str, ...] = ()
    """Extras of Handrail whose libraries are installed; an update keeps them."""
    options: tuple[str, ...] = ()
    """Options with which uv or pipx installed this copy; an update repeats them."""

    @property
    def can_verify(self) -> bool:
        return "verify" in self.extras


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """The content at an address."""

    content: bytes
    url: str
    """The final address after redirects, for addresses relative to it."""


class ManagerExit(msgspec.Struct, frozen=True, kw_only=True):
    """How the package manager ended."""

    status: int
    """Its exit status; negative if it was not started, or killed."""
    trouble: str = ""
    stopped_by: Literal["", "signal", "deadline"] = ""


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """What a new process of the program reports about itself."""

    version: str
    package: str
    """The directory of its package."""


class UpdateCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The remembered result of a check of the index."""

    checked_at: str
    checked_unix: int
    version: str
    """The version of Handrail that checked."""
    latest: str
    index: str
    """The index that was asked; the result is not valid for others."""
    notice: dict[str, Any] | None = None
    """The notice to show until the running version is the latest; None if there is none."""


# Ports


class Installation(Protocol):
    """What is installed here, for self-description. Never writes and never raises."""

    def packed(self, name: str) -> bytes | None:
        """Return a file packed with the program, such as `CHANGELOG.md`; None if it is missing."""

    def digest(self) -> str:
        """Return one digest of every packed source and data file, except the record of readiness."""

    def home(self) -> str:
        """Return the directory with all state."""

    def secret_source(self) -> Literal["file", "environment"]:
        """Return where the keys come from."""

    def program(self) -> ProgramFacts: ...

    def place(self, name: str) -> PlaceFacts:
        """Return the facts about one path in the home; an empty name is the home itself."""

    def skills(self) -> Sequence[InstalledSkill]: ...

    def client_servers(self, project: str) -> Sequence[ClientServer]:
        """Return the servers in client files, by client, then path.

        A file that cannot be read has no entries.
        """

    def notices(self) -> Sequence[dict[str, Json]]:
        """Return what the last check of the index found, while it is still news."""

    def handshake(self) -> Handshake:
        """Start the MCP server, send the first message and stop it again, within 25 seconds."""


class ClientFiles(Protocol):
    """Files of agent clients, which belong to the user: read whole, replaced whole.

    Every method that reads or writes may raise Fault E_IO or E_FORBIDDEN.
    """

    def places(self) -> ClientPlaces: ...
    def exists(self, path: str) -> bool: ...
    def resolve(self, path: str, within: str = "") -> str:
        """Return the file that a path leads to, its links resolved.

        Raise Fault E_CONFIG if a link leads out of the folder `within`.
        """

    def read(self, path: str) -> bytes | None:
        """Return the content; None if there is no such file.

        Raise Fault E_CONFIG if it is not a plain file, or too large.
        """

    def replace(self, path: str, expected: bytes | None, content: bytes | None) -> bool:
        """Write the content, None to remove the file.

        Return False if the present content is not as expected.

        Mode and owner stay. Also False for a link: `resolve` returns its target. The previous content is
        saved first, for `kept`.
        """

    def kept(self, path: str) -> KeptFile | None:
        """Return the file as it was before the first change still in effect; None if there is none."""

    def forget(self, path: str) -> None:
        """Drop the saved copy of a file that has its original content again."""

    def run(self, command: Sequence[str], project: str) -> str:
        """Run a client's own command; return why it failed as a sentence, empty if it succeeded."""

    def held_skill(self) -> HeldSkill:
        """Return the state of the user's copy of the skill. Never raises for the disk."""

    def sync_skill(self) -> SkillCopy:
        """Update the user's copy of the skill to the packed one. Never raises."""

    def remove_skill(self) -> SkillCopy:
        """Remove the user's copy of the skill, unless the user changed it. Never raises."""


class Updates(Protocol):
    """Finds and installs new versions of the program. `asked` returns why a call must stop."""

    def facts(self) -> InstallFacts: ...
    def fetch(self, url: str, accept: str, asked: Callable[[], str], base: str = "") -> Fetched:
        """Return the content at an http address, relative to `base`.

        Raise a Fault that fits the server's answer.
        """

    def drive(
        self, argv: Sequence[str], asked: Callable[[], str], write: Callable[[str], None]
    ) -> ManagerExit:
        """Run the package manager to its end; pass a signal on to it. Never raises."""

    def installed(self) -> Installed | None:
        """Return what a new process of the program reports about itself; None if it cannot be started."""

    def sync_skill(self, package: str) -> SkillCopy: ...
    def last_check(self) -> UpdateCheck | None: ...
    def keep_check(self, look: UpdateCheck | None) -> None:
        """Remember what a check of the index found; None removes it. Never raises."""


class Provenance(Protocol):
    """Checks whether a release is what its makers published.

    Never raises; `asked` returns why a call must stop.
    """

    def check(self, order: ProvenanceOrder, asked: Callable[[], str]) -> ProvenanceAnswer: ...
    def difference(self, wheel: bytes) -> str:
        """Return the first installed file that differs from the wheel; empty if all are equal, or none is
        installed.
        """
