"""A project's checks, programs that somebody asks for by name, and the keys and commits of their receipts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

PRINTED = "-"
"""In place of the path of a report: it is what the program prints."""
_STEERING = re.compile(
    r"PYTHON(?!_|UNBUFFERED|DONTWRITEBYTECODE|IOENCODING|UTF8|HASHSEED|WARNDEFAULTENCODING)\w+"
    r"|PYTEST_(ADDOPTS|PLUGINS|DISABLE_PLUGIN_AUTOLOAD)|NODE_(OPTIONS|PATH)"
    r"|(?i:npm_config_(?!_|user_agent$|cache$|registry$|loglevel$|color$|progress$|\w*proxy$).+)"
    r"|MAKE(FLAGS|FILES|OVERRIDES)|GNUMAKEFLAGS|GO(FLAGS|ENV)|CARGO_(BUILD|TARGET)_\w*(RUNNER|RUSTFLAGS|WRAPPER)"
    r"|RUST(FLAGS|C_WRAPPER|DOCFLAGS)|RUBY(OPT|LIB)|SPEC_OPTS|PERL5(OPT|LIB|DB)|PHPRC|PHP_INI_SCAN_DIR"
    r"|(_JAVA|JDK_JAVA|JAVA_TOOL)_OPTIONS|MAVEN_ARGS|(LD|DYLD)_(PRELOAD|AUDIT|INSERT_LIBRARIES)"
    r"|BASH_(ENV|FUNC_.+)|SHELLOPTS|BASHOPTS|ENV"
)

_OF_NPM = re.compile(
    r"npm_config_(userconfig|globalconfig|\w*prefix|init_module|node_gyp|npm_version)", re.IGNORECASE
)


def is_left_by_npm(name: str) -> bool:
    """Whether npm writes a variable for all that it starts, such as a client by `npx`: no check gets it.

    It would decide from which files npm reads how to start a test, and nobody set it for that.
    """
    return _OF_NPM.fullmatch(name) is not None


def steers_runner(name: str) -> bool:
    """Whether a variable steers a test runner or an interpreter: what ran under it is another check.

    Those that say where a tool is (PATH, HOME, LD_LIBRARY_PATH) or where it gets packages are the machine's
    own, and how a program prints is no other check.
    """
    return _STEERING.fullmatch(name) is not None


class ProgramCall(msgspec.Struct, frozen=True, kw_only=True):
    """What to start, and how long it may take."""

    argv: tuple[str, ...]
    directory: str
    """Where it starts: an absolute path inside the project."""
    project: str
    seconds: int
    is_declared: bool = False
    """It gets no variable that steers a runner, except from `environment`."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that it gets, whatever the caller has."""


class ProgramEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended. Exactly one of these says it."""

    status: int | None = None
    signal: str = ""
    """As in SIGKILL; also where it was ended because the call was."""
    is_interrupted: bool = False
    """That signal came because the call was to end."""
    is_timed_out: bool = False
    trouble: str = ""
    """Why there was no process."""
    duration_ms: int = 0


class ReportFile(msgspec.Struct, frozen=True, kw_only=True):
    """A report as it was found after a program; without content, why."""

    content: bytes = b""
    trouble: str = ""


class CheckPrograms(Protocol):
    """Starts a project's checks on this machine, with the rights and the environment of the caller."""

    def directory_in(self, project: str, asked: str) -> str:
        """The absolute directory to start in: as asked, relative to the project; empty: where the caller
        stands, or the project itself if that is elsewhere.

        Raises Fault VALIDATION_ERROR when that is no directory of the project, links followed.
        """

    def run(
        self,
        call: ProgramCall,
        stop_reason: Callable[[], Literal["", "signal", "deadline"]],
        take: Callable[[bytes], None],
    ) -> ProgramEnd:
        """Start one program without a shell, and hand on what it prints as it comes.

        It gets nothing on stdin and a process group of its own, which is ended as a whole when its time is
        over or `stop_reason` is a signal. A name is looked for on the absolute entries of PATH; a path is
        taken as it is typed, relative to the directory, if it stays in the project. Never raises.
        """

    def find_trouble(self, project: str, argv: Sequence[str]) -> str:
        """Why this program would not start in the project; empty: it is there."""

    def end_now(self) -> None:
        """End what runs, at once. For a process that is about to leave; never raises."""

    def register_secrets(self) -> None:
        """Let everything that the environment gives the program as a secret be redacted from here on."""

    def look_at_report(self, project: str, path: str) -> str:
        """What tells this version of the file from another; empty when there is no file."""

    def read_report(self, project: str, path: str, before: str) -> ReportFile:
        """The report, if the program wrote it; `before` is what it was like when the program began."""


class KnownCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What this machine knows of one declaration of a check."""

    is_approved: bool = False
    """The user lets Handrail run it without asking."""
    was_run: bool = False
    duration_ms: int | None = None
    """How long it took last; None: it was never run to its end, or was ended before it last time."""


class KnownChecksReader(Protocol):
    """Which checks of which project the user approved here, and how long each took last.

    A declaration is known by its digest, so that a changed one is another. Only a person's yes is kept: no
    project file, bundle or server brings one.
    """

    def find(self, project: str, digest: str) -> KnownCheck:
        """What is known of it; of a file that others could have written, nothing. Never raises."""


class KnownChecks(KnownChecksReader, Protocol):
    """The same, for whoever keeps it."""

    def approve(self, project: str, digests: Mapping[str, str], who: str, at: str) -> None:
        """Keep a person's yes to these declarations, by name; an earlier one to these names ends.

        Raises Fault E_IO.
        """

    def withdraw(self, project: str, names: Sequence[str]) -> None:
        """Forget the yes to these names. Raises Fault E_IO."""

    def keep_run(self, project: str, digest: str, duration_ms: int | None) -> None:
        """Keep how long it took. Never raises: without the record its next run counts as the first."""


class NoChecksKnown:
    """`KnownChecks` where nobody approved anything."""

    def find(self, project: str, digest: str) -> KnownCheck:
        del project, digest
        return KnownCheck()

    def approve(self, project: str, digests: Mapping[str, str], who: str, at: str) -> None:
        del project, digests, who, at

    def withdraw(self, project: str, names: Sequence[str]) -> None:
        del project, names

    def keep_run(self, project: str, digest: str, duration_ms: int | None) -> None:
        del project, digest, duration_ms


# The keys with which receipts are signed, and those of others that this user trusts


class PublicKey(msgspec.Struct, frozen=True, kw_only=True):
    """The public half of a key."""

    text: str
    """`ed25519:` and base64: what people hand on."""
    key_id: str
    """The digest of its bytes, which a signature names."""


class Signed(msgspec.Struct, frozen=True, kw_only=True):
    """A signature, and whose."""

    key: PublicKey
    signature: bytes


class ReceiptKeys(Protocol):
    """Ed25519 keys in the home: one that signs, the public halves of those before it, and pinned ones.

    Every method raises Fault E_CONFIG, with the line that installs what is missing, where the extra `verify`
    is not installed, and KEYRING_INVALID where the file cannot be used.
    """

    def list_own(self) -> tuple[PublicKey, ...]:
        """The one that signs, then those before it; none where nothing was ever signed."""

    def list_trusted(self) -> tuple[PublicKey, ...]:
        """Those that the user pinned."""

    def read(self, text: str) -> PublicKey:
        """Raises Fault VALIDATION_ERROR where the text is no public key."""

    def trust(self, key: PublicKey) -> bool:
        """Pin it; whether it is new."""

    def rotate(self) -> None:
        """Sign with a new key, or a first one; the public half of the old one stays known."""

    def sign(self, message: bytes) -> Signed:
        """With the present key, which is made now if there is none."""

    def is_signed_by(self, key: PublicKey, message: bytes, signature: bytes) -> bool:
        """Whether this key made the signature over exactly this message."""
