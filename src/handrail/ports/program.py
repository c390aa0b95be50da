"""The program itself: what is installed, which clients know it, and where new releases come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from handrail.contract.outcome import Json

# Who may sign a release: one workflow of one repository, on the tag of that version

REPOSITORY = "https://github.com/handrail.example/handrail"
"""The first release sets it. No account there has a dot in its name, so until then nobody can sign as us."""
WORKFLOW = ".github/workflows/release.yml"
ISSUER = "https://token.actions.githubusercontent.com"
PUBLISH_STATEMENT = "https://docs.pypi.org/attestations/publish/v1"
"""What the statement of a release says it is; other kinds of statements prove something else."""


class ReleaseIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What the certificate of a signature must name, letter by letter."""

    issuer: str
    repository: str
    tag: str
    workflow: str
    """The file that ran, at the tag that it ran for."""


def identity_of(version: str) -> ReleaseIdentity:
    tag = f"refs/tags/v{version}"
    return ReleaseIdentity(
        issuer=ISSUER, repository=REPOSITORY, tag=tag, workflow=f"{REPOSITORY}/{WORKFLOW}@{tag}"
    )


# Facts for `setup`: this machine and the files of agent clients


class ClientPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where clients keep their files, and how Handrail is started from outside this shell."""

    user: str
    """The user's home directory."""
    configuration: str
    """Where desktop programs keep theirs."""
    codex: str
    zed: str
    command: tuple[str, ...]
    """Absolute; `mcp` or `hook` comes after it."""
    programs: dict[str, str]
    """The clients' own commands that are installed, by name."""


class KeptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was before `setup` first changed it, and the digest of what `setup` made of it."""

    before: bytes | None
    after_sha256: str


class HeldSkill(msgspec.Struct, frozen=True, kw_only=True):
    """The user's copy of the skill as it lies there."""

    version: str
    """Another one after every change."""
    state: Literal["absent", "as_packed", "older", "changed", "foreign"]
    """`changed` by the user since it was copied; `foreign`: a directory of that name that is not ours."""


class SkillCopy(msgspec.Struct, frozen=True, kw_only=True):
    """What came of bringing the skill up to date."""

    status: str
    """synced, unchanged, removed or failed."""
    path: str
    moved_to: str = ""
    """Where a copy that the user had changed was put."""
    trouble: str = ""


# Facts for self-description: what is installed here

InstallMethod: TypeAlias = Literal["editable", "uv-tool", "pipx", "ephemeral", "pip", "system", "pip-user"]


class ProgramFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What runs, and which `handrail` the shell would start."""

    method: InstallMethod
    on_path: str
    """The first `handrail` on PATH; empty when there is none."""
    is_on_path: bool
    """Whether that one belongs to this installation."""
    git: str
    """The first `git` on PATH; empty when there is none."""


class PlaceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A file or directory in the home, as it is. Of one that does not exist, only `is_writable` is known."""

    path: str
    exists: bool = False
    mode: int | None = None
    """Permission bits; None where modes say nothing."""
    is_ours: bool = True
    is_writable: bool = False
    """Or could be made there."""
    can_lock: bool | None = None
    """Of a directory: whether a lock can be taken; None when it was not tried."""
    modified_at: int = 0
    """Unix seconds."""
    free_bytes: int | None = None
    """What this user may still write on its file system; None where nobody can tell."""


class InstalledSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of the agent skill in the user's home. Empty texts: the file does not say it."""

    path: str
    version: str
    min_version: str
    is_packed_one: bool
    """Whether its files are, byte by byte, those packed with the program."""


class ClientServer(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of an agent client's file that would start Handrail."""

    client: str
    path: str
    command: str
    arguments: tuple[str, ...]
    command_exists: bool


class Handshake(msgspec.Struct, frozen=True, kw_only=True):
    """What a server of our own, started for this, answered to a client's first message."""

    protocol_version: str = ""
    server_version: str = ""
    trouble: str = ""
    """Why there is no answer, in a sentence; empty when there is one."""


# The provenance of a release: question and answer

IdentityPart: TypeAlias = Literal["issuer", "repository", "tag", "workflow"]
Refusal: TypeAlias = Literal["malformed_bundle", "untrusted_certificate", "wrong_identity", "bad_signature"]
RootTrouble: TypeAlias = Literal["refresh_failed", "unreadable"]


class ProvenanceOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Signed statements, who must have signed them, and whom to trust about that."""

    bundles: tuple[str, ...]
    """Each a Sigstore bundle in JSON."""
    identity: ReleaseIdentity
    trusted_root: str = ""
    """A file; empty: the public Sigstore, brought up to date first."""


class JudgedBundle(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one bundle: the statement that was signed, or why it does not count."""

    statement: bytes = b""
    refusal: Refusal | None = None
    mismatch: IdentityPart | None = None
    """Of `wrong_identity`: what the certificate names otherwise."""


class Checked(msgspec.Struct, frozen=True, kw_only=True, tag="checked"):
    """Every bundle was judged, in order."""

    judged: tuple[JudgedBundle, ...]


class NotTrusting(msgspec.Struct, frozen=True, kw_only=True, tag="not_trusting"):
    """There is nothing to judge by."""

    trouble: RootTrouble


class NotChecked(msgspec.Struct, frozen=True, kw_only=True, tag="not_checked"):
    """The check did not come to its end."""

    why: Literal["signal", "deadline", "not_loaded", "ended"]
    """Ended by the caller, out of time, without its library, or ended by itself without an answer."""


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
    """uv and pipx by name, where they are on PATH."""
    has_pip: bool
    extras: tuple[str, ...] = ()
    """Extras of ours whose libraries are installed; an update keeps them."""
    options: tuple[str, ...] = ()
    """Options that uv or pipx were given when they installed this copy; an update repeats them."""

    @property
    def can_verify(self) -> bool:
        return "verify" in self.extras


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """What an address gave."""

    content: bytes
    url: str
    """Where it came from in the end, for addresses relative to it."""


class ManagerExit(msgspec.Struct, frozen=True, kw_only=True):
    """How the package manager ended."""

    status: int
    """Its exit status; negative: not started, or killed."""
    trouble: str = ""
    stopped_by: Literal["", "signal", "deadline"] = ""


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    """What a new process of the program says of itself."""

    version: str
    package: str
    """The directory of its package."""


class UpdateCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a check of the index found, as it is remembered."""

    checked_at: str
    checked_unix: int
    version: str
    """The version that checked."""
    latest: str
    index: str
    """The index that it asked: the result is not valid for others."""
    notice: dict[str, Any] | None = None
    """What to tell until the running version is the latest."""


# Ports


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

    def skills(self) -> Sequence[InstalledSkill]: ...

    def client_servers(self, project: str) -> Sequence[ClientServer]:
        """Sorted by client, then path. A client file that cannot be read has no entries."""

    def notices(self) -> Sequence[dict[str, Json]]:
        """What the last check of the index found, while it is still news."""

    def handshake(self) -> Handshake:
        """Start the MCP server, greet it and stop it again, within 25 seconds."""


class ClientFiles(Protocol):
    """Files of agent clients, which belong to the user: read whole, replaced whole. Raises Fault E_IO or
    E_FORBIDDEN."""

    def places(self) -> ClientPlaces: ...
    def exists(self, path: str) -> bool: ...
    def resolve(self, path: str, within: str = "") -> str:
        """The file that a path leads to, its links resolved.

        Raises Fault E_CONFIG if a link leads out of the folder `within`.
        """

    def read(self, path: str) -> bytes | None:
        """None when there is no such file. Raises also Fault E_CONFIG: no plain file, or too large."""

    def replace(self, path: str, expected: bytes | None, content: bytes | None) -> bool:
        """Put the content there, None to remove the file; False when it does not hold what was expected.

        Mode and owner stay. False also for a link: `resolve` says where it leads. What was there is kept
        first, for `kept`.
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
    """How the installed program is looked up and replaced. `asked` says why a call must stop."""

    def facts(self) -> InstallFacts: ...
    def fetch(self, url: str, accept: str, asked: Callable[[], str], base: str = "") -> Fetched:
        """An http address, as seen from `base`. Raises Fault, by what the other side answered."""

    def drive(
        self, argv: Sequence[str], asked: Callable[[], str], write: Callable[[str], None]
    ) -> ManagerExit:
        """Run the package manager to its end; a signal is passed on to it. Never raises."""

    def installed(self) -> Installed | None:
        """What a new process says of itself; None when it cannot be started."""

    def sync_skill(self, package: str) -> SkillCopy: ...
    def last_check(self) -> UpdateCheck | None: ...
    def keep_check(self, look: UpdateCheck | None) -> None:
        """Remember what a check of the index found; None forgets it. Never raises."""


class Provenance(Protocol):
    """Whether a release is what its makers published. Never raises; `asked` says why a call must stop."""

    def check(self, order: ProvenanceOrder, asked: Callable[[], str]) -> ProvenanceAnswer: ...
    def difference(self, wheel: bytes) -> str:
        """The first installed file that is not as in the wheel; empty when all are, or none is there."""
