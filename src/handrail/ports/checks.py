"""A project's checks, programs that a caller starts by name, and the keys and commits of receipts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

PRINTED = "-"
"""The path of a report that the program prints."""
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
    """Whether npm sets this variable for every program that it starts, such as a client started by `npx`.

    No check gets it: it would decide from which files npm reads how to start a test, and no person set it
    for that.
    """
    return _OF_NPM.fullmatch(name) is not None


def steers_runner(name: str) -> bool:
    """Whether a variable changes what a test runner or an interpreter does, so that the check differs.

    Variables that say where a tool is (PATH, HOME, LD_LIBRARY_PATH) or where it gets packages belong to the
    machine, and the style of the output does not change a check.
    """
    return _STEERING.fullmatch(name) is not None


class ProgramCall(msgspec.Struct, frozen=True, kw_only=True):
    """What to start, and how long it may take."""

    argv: tuple[str, ...]
    directory: str
    """Where it starts, as an absolute path inside the project."""
    project: str
    seconds: int
    is_declared: bool = False
    """Whether it gets no variable that steers a runner, except from `environment`."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that it gets in addition to the caller's, or in place of them."""


class ProgramEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended. Exactly one of the fields says it."""

    status: int | None = None
    signal: str = ""
    """Name such as SIGKILL, even if Handrail ended the program because the call ended."""
    is_interrupted: bool = False
    """Whether Handrail sent that signal because the call had to end."""
    is_timed_out: bool = False
    trouble: str = ""
    """Why the program could not be started."""
    duration_ms: int = 0


class ReportFile(msgspec.Struct, frozen=True, kw_only=True):
    """A report found after a program ended; if there is no content, the reason."""

    content: bytes = b""
    trouble: str = ""


class CheckPrograms(Protocol):
    """Starts a project's checks on this machine, with the rights and the environment of the caller."""

    def directory_in(self, project: str, asked: str) -> str:
        """Return the absolute directory to start in: as asked, relative to the project.

        If empty: the caller's working directory, or the project itself if that is elsewhere.

        Raise Fault VALIDATION_ERROR if that is not a directory of the project, links followed.
        """

    def run(
        self,
        call: ProgramCall,
        stop_reason: Callable[[], Literal["", "signal", "deadline"]],
        take: Callable[[bytes], None],
    ) -> ProgramEnd:
        """Start one program without a shell, and pass its output to `take` as it comes.

        The program gets nothing on stdin. It has a process group of its own, which is ended as a whole if
        its time is over or `stop_reason` is a signal. A name is searched for on the absolute entries of
        PATH; a path is used as typed, relative to the directory, if it stays in the project. Never raises.
        """

    def find_trouble(self, project: str, argv: Sequence[str]) -> str:
        """Return why this program would not start in the project; empty if it would."""

    def end_now(self) -> None:
        """End the running program at once, because this process is about to exit. Never raises."""

    def register_secrets(self) -> None:
        """Redact from now on everything that the environment gives the program as a secret."""

    def look_at_report(self, project: str, path: str) -> str:
        """Return a mark of the present version of the file; empty if there is no file."""

    def read_report(self, project: str, path: str, before: str) -> ReportFile:
        """Return the report, if the program wrote it; `before` is the mark from before the program began."""


class KnownCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What this machine remembers about one declaration of a check."""

    is_approved: bool = False
    """Whether the user approved that Handrail runs it without asking."""
    was_run: bool = False
    duration_ms: int | None = None
    """How long the last run took; None if the check never ran to its end, or was ended early last time."""


class KnownChecksReader(Protocol):
    """Which checks of which project the user approved here, and how long each took last.

    A declaration is identified by its digest, so a changed one is a new one. Only a person's approval is
    kept: no project file, bundle or server brings one.
    """

    def find(self, project: str, digest: str) -> KnownCheck:
        """Return what is remembered; nothing if other users could have written the file. Never raises."""


class KnownChecks(KnownChecksReader, Protocol):
    """The same, with methods that record approvals and durations."""

    def approve(self, project: str, digests: Mapping[str, str], who: str, at: str) -> None:
        """Record a person's approval of these declarations, by name.

        It replaces earlier ones of these names.

        Raise Fault E_IO.
        """

    def withdraw(self, project: str, names: Sequence[str]) -> None:
        """Remove the approval of these names. Raise Fault E_IO."""

    def keep_run(self, project: str, digest: str, duration_ms: int | None) -> None:
        """Record how long a run took. Never raises: without the record its next run counts as the first."""


class NoChecksKnown:
    """`KnownChecks` without any approval."""

    def find(self, project: str, digest: str) -> KnownCheck:
        del project, digest
        return KnownCheck()

    def approve(self, project: str, digests: Mapping[str, str], who: str, at: str) -> None:
        del project, digests, who, at

    def withdraw(self, project: str, names: Sequence[str]) -> None:
        del project, names

    def keep_run(self, project: str, digest: str, duration_ms: int | None) -> None:
        del project, digest, duration_ms


# The keys with which receipts are signed, and those of other people that this user trusts


class PublicKey(msgspec.Struct, frozen=True, kw_only=True):
    """The public half of a key."""

    text: str
    """`ed25519:` and base64, the form in which people pass on a key."""
    key_id: str
    """The digest of the key's bytes, which a signature names."""


class Signed(msgspec.Struct, frozen=True, kw_only=True):
    """A signature, and the key that made it."""

    key: PublicKey
    signature: bytes


class ReceiptKeys(Protocol):
    """Ed25519 keys in the home: the signing key, the public halves of earlier ones, and pinned keys.

    Every method raises Fault E_CONFIG if the extra `verify` is not installed, with the command that installs
    it, and KEYRING_INVALID if the file cannot be used.
    """

    def list_own(self) -> tuple[PublicKey, ...]:
        """Return the signing key, then the earlier ones; empty if nothing was ever signed."""

    def list_trusted(self) -> tuple[PublicKey, ...]:
        """Return the keys that the user pinned."""

    def read(self, text: str) -> PublicKey:
        """Return the key in a text. Raise Fault VALIDATION_ERROR if the text is not a public key."""

    def trust(self, key: PublicKey) -> bool:
        """Pin a key; return whether it is new."""

    def rotate(self) -> None:
        """Sign with a new key from now on; the public half of the old one is kept."""

    def sign(self, message: bytes) -> Signed:
        """Sign with the present key, which is created if there is none."""

    def is_signed_by(self, key: PublicKey, message: bytes, signature: bytes) -> bool:
        """Whether this key made the signature over exactly this message."""
