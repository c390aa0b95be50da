"""`ports.checks` on this machine: processes and their reports, what people approved, the keys of receipts.

Approvals are in a file of their own that people can read. One that others could have written, or that is a
link, approves nothing.
"""

# ruff: noqa: PLC0415 - the library is an extra, and only receipts need it

from __future__ import annotations

import binascii
import hashlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, NoReturn

import msgspec

from handrail.contract.catalogue import E_CONFIG, E_IO, KEYRING_INVALID
from handrail.contract.outcome import Fault, refuse_argument
from handrail.contract.redaction import Secrets, cut_minted_tokens, find_credentials, is_secret_name
from handrail.contract.released import WHERE, spell_requirement
from handrail.contract.wording import quote
from handrail.host.private_files import (
    ensure_private_directory,
    is_below,
    leads_outside,
    open_regular_file,
    open_unfollowed,
    replace_private,
)
from handrail.host.programs import EndedBy, find_program, signal_group, watch_child
from handrail.ports.checks import (
    KnownCheck,
    ProgramCall,
    ProgramEnd,
    PublicKey,
    ReportFile,
    Signed,
    is_left_by_npm,
    steers_runner,
)
from handrail.ports.process import Randomness

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

OWN_SECRETS = frozenset({"AI_NATIVE_CLI_SECRET"})
"""Variables that are for Handrail alone: no check gets them."""
GRACE_SECONDS = 3.0
"""What a program has to end by itself after it is asked to."""
MOST_REPORT_BYTES = 8 * 1024 * 1024
MOST_BYTECODE = 20
"""Projects whose bytecode is kept; those checked longest ago make theirs again."""

_BYTECODE = ("data", "cache", "bytecode")
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_PLACE = "PYTHONPYCACHEPREFIX"
_MARK_LENGTH = 32
_SHELL = "/bin/sh"
_GUARDING = 'read -r told || kill -s KILL -- "-$1"'


class LocalCheckPrograms:
    """Programs with the environment of the caller."""

    def __init__(self, environment: Mapping[str, str], secrets: Secrets, home: str = "") -> None:
        """Without a home, Python keeps its bytecode where it does by itself."""
        self._environment = environment
        self._secrets = secrets
        self._home = home
        self._running = 0

    def directory_in(self, project: str, asked: str) -> str:
        root = os.path.realpath(project)
        if not asked:
            here = _working_directory()
            return here if here and is_below(here, root) else root
        try:
            place = os.path.realpath(os.path.join(root, asked))
        except ValueError:  # a null byte, or half of a surrogate pair: no directory is called that
            place = ""
        if not place or not is_below(place, root) or not os.path.isdir(place):
            problem = "is not a directory of the project"
            raise refuse_argument(
                f"{quote(asked)} {problem}.", "directory", problem, "a path relative to the project"
            )
        return place

    def run(
        self,
        call: ProgramCall,
        stop_reason: Callable[[], EndedBy],
        take: Callable[[bytes], None],
    ) -> ProgramEnd:
        program, trouble = self._find(call)
        if trouble:
            return ProgramEnd(trouble=trouble)
        started = time.monotonic()
        given = {
            name: value
            for name, value in self._environment.items()
            if name not in OWN_SECRETS
            and not is_left_by_npm(name)
            and not (call.is_declared and steers_runner(name))
        }
        given |= self._place_bytecode(call) | dict(call.environment)
        try:
            child = subprocess.Popen(  # noqa: S603 - what the caller asked for, word by word, never a shell
                [program, *call.argv[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=given,
                cwd=call.directory,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "its words hold a null character"
            return ProgramEnd(trouble=f"it could not be started: {reason}")

        def why_ended() -> EndedBy:
            """The time of the call is not that of the program: only a signal to the call ends it early."""
            is_over = time.monotonic() >= started + call.seconds
            return "signal" if stop_reason() == "signal" else "deadline" if is_over else ""

        self._running = child.pid
        guard = _start_guard(child.pid)
        try:
            with child:
                ended_by = watch_child(child, why_ended, take, GRACE_SECONDS)
        finally:
            self._running = 0
            _dismiss(guard)
        end = ProgramEnd(duration_ms=int((time.monotonic() - started) * 1000))
        if ended_by == "deadline":
            return msgspec.structs.replace(end, is_timed_out=True)
        if ended_by == "signal":
            return msgspec.structs.replace(end, signal="SIGINT", is_interrupted=True)
        if child.returncode < 0:
            return msgspec.structs.replace(end, signal=_signal_name(-child.returncode))
        return msgspec.structs.replace(end, status=child.returncode)

    def find_trouble(self, project: str, argv: Sequence[str]) -> str:
        return self._find(ProgramCall(argv=tuple(argv), directory=project, project=project, seconds=0))[1]

    def end_now(self) -> None:
        if self._running:
            signal_group(self._running, signal.SIGKILL)

    def register_secrets(self) -> None:
        for name, value in self._environment.items():
            if cut_minted_tokens(value) != value:
                continue  # ours: cut by their shape where they are printed, and shown to their owner
            found = find_credentials(value) if "://" in value else ()
            for secret in found:
                self._secrets.register(secret)
            if not found and is_secret_name(name):
                self._secrets.register(value.encode(errors="surrogateescape"))

    def look_at_report(self, project: str, path: str) -> str:
        place = os.path.join(project, path)
        try:
            seen = os.stat(place)
        except OSError:
            return ""
        return f"{seen.st_ino}:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"

    def read_report(self, project: str, path: str, before: str) -> ReportFile:
        place = os.path.join(project, path)
        seen = self.look_at_report(project, path)
        if not seen:
            return ReportFile(trouble="the program wrote no report")
        if seen == before:
            return ReportFile(trouble="the report is older than this run of the program")
        if leads_outside(place, project):
            return ReportFile(trouble="the report is behind a link that leads out of the project")
        try:
            with open(place, "rb", opener=open_regular_file) as file:
                content = file.read(MOST_REPORT_BYTES + 1)
        except OSError as error:
            return ReportFile(trouble=f"the report could not be read: {error.strerror}")
        if len(content) > MOST_REPORT_BYTES:
            return ReportFile(trouble=f"the report has more than {MOST_REPORT_BYTES} bytes")
        return ReportFile(content=content)

    def _place_bytecode(self, call: ProgramCall) -> dict[str, str]:
        """Variables by which Python loads no bytecode that lies in the project: nobody sees what is in it.

        That of what is installed is kept between checks, because a first one takes longer; a declaration may
        place it itself.
        """
        if not self._home or _PLACE in dict(call.environment):
            return {}
        kept = os.path.join(self._home, *_BYTECODE)
        own = os.path.join(kept, _mark(_locate_project(call.project), "")[:_MARK_LENGTH])
        try:
            if os.path.islink(own):
                os.unlink(own)
            ensure_private_directory(own)
            _forget_sources(own, {os.path.abspath(call.project), os.path.realpath(call.project)})
            os.utime(own)
            held = sorted((os.path.join(kept, name) for name in os.listdir(kept)), key=os.path.getmtime)
            for one in held[:-MOST_BYTECODE]:
                shutil.rmtree(one, ignore_errors=True)
        except OSError:  # it is made each time: below no folder, nothing is kept, and nothing old is found
            own = os.devnull
        return {_PLACE: own, "PYTHONDONTWRITEBYTECODE": ""}

    def _find(self, call: ProgramCall) -> tuple[str, str]:
        """The file to start, or why there is none."""
        word = call.argv[0]
        if os.sep not in word:
            found = find_program(word, self._environment)
            return found, "" if found else f"there is no program {quote(word)} on PATH"
        path = word if os.path.isabs(word) else os.path.normpath(os.path.join(call.directory, word))
        if not os.path.isabs(word) and not is_below(path, os.path.realpath(call.project)):
            return "", f"{quote(word)} leads out of the project; give its absolute path if it is meant"
        found = find_program(path, self._environment)
        return found, "" if found else f"{quote(word)} is not a program in the project"


def _forget_sources(kept: str, places: Collection[str]) -> None:
    """Remove the bytecode of a project's own files: Python tells their sources by time and size alone.

    `kept` repeats whole paths, so that only the way to the project is walked, and what is below; links go.
    """
    for folder, names, files in os.walk(kept, onerror=_raise):
        at = folder.removeprefix(kept) or os.sep
        is_own = any(is_below(at, place) for place in places)
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        for name in [*links, *files] if is_own else links:
            with suppress(FileNotFoundError):  # another check of the project was faster
                os.unlink(os.path.join(folder, name))
        names[:] = [
            name
            for name in names
            if name not in links
            and (
                (is_own and name not in _INSTALLED)
                or any(is_below(place, os.path.join(at, name)) for place in places)
            )
        ]


def _raise(trouble: OSError) -> NoReturn:
    raise trouble


def _working_directory() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except OSError:
        return ""


def _start_guard(group: int) -> subprocess.Popen[bytes] | None:
    """A shell that ends the program if we are killed: then its line of input never comes.

    A signal for the death of a parent would need code between fork and exec, which is not safe with threads.
    """
    try:
        return subprocess.Popen(  # noqa: S603 - fixed words, and a number of ours
            [_SHELL, "-c", _GUARDING, "handrail-guard", str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
    except OSError:  # without that shell it goes on until its own end
        return None


def _dismiss(guard: subprocess.Popen[bytes] | None) -> None:
    if guard is None or guard.stdin is None:
        return
    with suppress(OSError, subprocess.TimeoutExpired):
        guard.communicate(b"done\n", timeout=GRACE_SECONDS)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


# Which checks a person approved, and how long each took last

APPROVED = "approved-checks.json"
MOST_APPROVED = 1_000
MOST_REMEMBERED = 500
_REMEMBERED = ("data", "cache", "checks-run")
_LINE_BYTES = 80
_MOST_APPROVED_BYTES = 4 * 1024 * 1024
_NEVER_ENDED = "-"
_OTHERS_WRITE = 0o022


class _Approval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's yes: to one declaration under one name in one project."""

    project: str
    check: str
    digest: str
    who: str
    at: str


class _Approvals(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    v: Literal[1] = 1
    approved: tuple[_Approval, ...] = ()


class LocalKnownChecks:
    """The files of one home."""

    def __init__(self, home: str) -> None:
        self._approved = os.path.join(home, APPROVED)
        self._remembered = os.path.join(home, *_REMEMBERED)

    def find(self, project: str, digest: str) -> KnownCheck:
        place = _locate_project(project)
        duration = self._read_runs().get(_mark(place, digest))
        return KnownCheck(
            is_approved=any((one.project, one.digest) == (place, digest) for one in self._read_approved()),
            was_run=duration is not None,
            duration_ms=int(duration) if duration is not None and duration.isdecimal() else None,
        )

    def approve(self, project: str, digests: Mapping[str, str], who: str, at: str) -> None:
        place = _locate_project(project)
        new = [
            _Approval(project=place, check=name, digest=digest, who=who, at=at)
            for name, digest in digests.items()
        ]
        self._replace(place, digests, new)

    def withdraw(self, project: str, names: Sequence[str]) -> None:
        self._replace(_locate_project(project), names, [])

    def keep_run(self, project: str, digest: str, duration_ms: int | None) -> None:
        duration = _NEVER_ENDED if duration_ms is None else str(duration_ms)
        mark = _mark(_locate_project(project), digest)
        known = {one: held for one, held in self._read_runs().items() if one != mark} | {mark: duration}
        lines = [f"{one} {held}\n" for one, held in known.items()][-MOST_REMEMBERED:]
        with suppress(OSError):
            ensure_private_directory(os.path.dirname(self._remembered))
            replace_private(self._remembered, "".join(lines).encode())

    def _replace(self, place: str, names: Sequence[str] | Mapping[str, str], new: list[_Approval]) -> None:
        held = self._read_approved()
        kept = [one for one in held if one.project != place or one.check not in names]
        if not new and len(kept) == len(held):
            return
        file = _Approvals(approved=tuple([*kept, *new][-MOST_APPROVED:]))
        try:
            ensure_private_directory(os.path.dirname(self._approved))
            replace_private(self._approved, msgspec.json.format(msgspec.json.encode(file)) + b"\n")
        except OSError as trouble:
            raise Fault(
                E_IO,
                f"The approval could not be kept: {os.strerror(trouble.errno or 0)}.",
                details={"path": self._approved},
                hint="Make the Handrail home writable, then run the command again.",
            ) from trouble

    def _read_approved(self) -> tuple[_Approval, ...]:
        try:
            with open(self._approved, "rb", opener=open_unfollowed) as file:
                held = os.fstat(file.fileno())
                if stat.S_IMODE(held.st_mode) & _OTHERS_WRITE or held.st_uid != os.geteuid():
                    return ()
                return msgspec.json.decode(file.read(_MOST_APPROVED_BYTES), type=_Approvals).approved
        except (OSError, msgspec.MsgspecError, ValueError):
            return ()

    def _read_runs(self) -> dict[str, str]:
        try:
            with open(self._remembered, "rb", opener=open_regular_file) as file:
                lines = file.read(MOST_REMEMBERED * _LINE_BYTES).decode("ascii", "replace").splitlines()
        except OSError:
            return {}
        pairs = (line.partition(" ") for line in lines)
        return {mark: duration for mark, _, duration in pairs}


def _locate_project(project: str) -> str:
    """Where the project is, links followed, as text that a file can hold."""
    return os.fsencode(os.path.realpath(project)).decode("utf-8", "backslashreplace")


def _mark(place: str, digest: str) -> str:
    return hashlib.sha256(f"{place}\0{digest}".encode()).hexdigest()


# The keys of receipts, in `data/keys/receipts.json`, with the library of the extra `verify`

MOST_OLD_KEYS = 100
MOST_TRUSTED = 500
_ALGORITHM = "ed25519:"
_KEY_BYTES = 32
_MOST_KEY_BYTES = 262_144
_KEYS_NAME = "data/keys/receipts.json in the Handrail home"


class _KeyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As stored; `private` is the seed of the key that signs, in hex."""

    v: Literal[1] = 1
    private: str = ""
    previous: tuple[str, ...] = ()
    """Public halves, newest first."""
    trusted: tuple[str, ...] = ()


class LocalReceiptKeys:
    """The file of one home."""

    def __init__(self, home: str, randomness: Randomness, secrets: Secrets) -> None:
        self._path = os.path.join(home, "data", "keys", "receipts.json")
        self._randomness = randomness
        self._secrets = secrets

    def list_own(self) -> tuple[PublicKey, ...]:
        file = self._load()
        own = (_public_of(_private(file)),) if file.private else ()
        return (*own, *map(self.read, file.previous))

    def list_trusted(self) -> tuple[PublicKey, ...]:
        return tuple(map(self.read, self._load().trusted))

    def read(self, text: str) -> PublicKey:
        _require_extra()
        try:
            raw = binascii.a2b_base64(text.strip().removeprefix(_ALGORITHM), strict_mode=True)
        except ValueError:
            raw = b""
        if not text.strip().startswith(_ALGORITHM) or len(raw) != _KEY_BYTES:
            raise refuse_argument(
                "That is not a public key of receipts.",
                *("key", "is no public key", f"{_ALGORITHM} and base64"),
                hint="Ask for the line that `handrail receipt key` prints on the other machine.",
            )
        return _describe(raw)

    def trust(self, key: PublicKey) -> bool:
        file = self._load()
        if key.text in file.trusted:
            return False
        self._keep(msgspec.structs.replace(file, trusted=(*file.trusted, key.text)[-MOST_TRUSTED:]))
        return True

    def rotate(self) -> None:
        file = self._load()
        previous = tuple(one.text for one in self.list_own())[:MOST_OLD_KEYS]
        seed = self._randomness.bytes(_KEY_BYTES).hex()
        self._secrets.register(seed.encode())
        self._keep(msgspec.structs.replace(file, private=seed, previous=previous))

    def sign(self, message: bytes) -> Signed:
        if not self._load().private:
            self.rotate()
        key = _private(self._load())
        return Signed(key=_public_of(key), signature=key.sign(message))

    def is_signed_by(self, key: PublicKey, message: bytes, signature: bytes) -> bool:
        _require_extra()
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        raw = binascii.a2b_base64(key.text.removeprefix(_ALGORITHM))
        try:
            Ed25519PublicKey.from_public_bytes(raw).verify(signature, message)
        except InvalidSignature:
            return False
        return True

    def _load(self) -> _KeyFile:
        _require_extra()
        try:
            with open(self._path, "rb", opener=open_unfollowed) as held:
                if stat.S_IMODE(os.fstat(held.fileno()).st_mode) & 0o077:
                    raise _invalid("too_open", f"{_KEYS_NAME} is open to other users. Run chmod 600 on it.")
                file = msgspec.json.decode(held.read(_MOST_KEY_BYTES), type=_KeyFile)
        except FileNotFoundError:
            return _KeyFile()
        except OSError as trouble:
            raise _invalid("unreadable", f"{_KEYS_NAME} cannot be read: {trouble.strerror}.") from trouble
        except (msgspec.MsgspecError, ValueError) as trouble:
            raise _invalid("damaged", f"{_KEYS_NAME} is damaged. Restore it, or move it away.") from trouble
        if file.private:
            self._secrets.register(file.private.encode())
        return file

    def _keep(self, file: _KeyFile) -> None:
        try:
            ensure_private_directory(os.path.dirname(self._path))
            replace_private(self._path, msgspec.json.encode(file) + b"\n")
        except OSError as trouble:
            raise _invalid("unwritable", f"{_KEYS_NAME} cannot be written: {trouble.strerror}.") from trouble


def _private(file: _KeyFile) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(file.private))
    except ValueError as trouble:
        raise _invalid("damaged", f"{_KEYS_NAME} is damaged. Restore it, or move it away.") from trouble


def _public_of(key: Ed25519PrivateKey) -> PublicKey:
    return _describe(key.public_key().public_bytes_raw())


def _describe(raw: bytes) -> PublicKey:
    text = _ALGORITHM + binascii.b2a_base64(raw, newline=False).decode("ascii")
    return PublicKey(text=text, key_id=sha256(raw).hexdigest())


def _require_extra() -> None:
    if find_spec("cryptography") is not None:
        return
    wanted = spell_requirement("handrail[verify]")
    pip = [sys.executable, "-P", "-m", "pip", "install", wanted]
    uv = ["uv", "pip", "install", "--python", sys.executable, wanted]
    command = pip if find_spec("pip") is not None else uv
    raise Fault(
        E_CONFIG,
        "This installation can neither sign nor check receipts.",
        details={"reason": "extra_missing", "install_command": command},
        hint=f"Install the extra{WHERE}: {shlex.join(command)}.",
    )


def _invalid(reason: str, message: str) -> Fault:
    hint = message.partition(". ")[2] or "Give this user access to it, then run the command again."
    return Fault(KEYRING_INVALID, message, details={"reason": reason}, hint=hint)
