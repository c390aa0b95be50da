"""The key file: `data/keys/keyring.json`, two ring keys at most, and the purpose keys derived from them.

If others can read the file, it is refused, not repaired: repairing it silently would hide that the key may
be known. Reading never changes anything.
"""

import binascii
import errno
import os
import re
import stat
from hashlib import sha256

import msgspec

from handrail.contract import catalogue
from handrail.contract.outcome import Fault
from handrail.contract.redaction import Secrets
from handrail.contract.tokens.workflow import KEY_LENGTH, purpose_key, ring_key_of_secret
from handrail.host.private_files import create_private, ensure_private_directory, lock_file, replace_private
from handrail.ports.process import KeyringFacts, Randomness

_VERSION = 1
_SIZE_LIMIT = 4096
_SECRET_LIMIT = 16
# Never through a link, and never waiting for the writer of a pipe in its place.
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_MEANWHILE = "Tokens end with a lost key file, history does not."
_NAME = "data/keys/keyring.json in the Handrail home"
_REQUESTS = "requests.key"
_REQUESTS_NAME = f"data/keys/{_REQUESTS} in the Handrail home"


class _KeyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The file as stored. `check` tells a damaged key from a foreign token."""

    v: int
    current: str
    previous: str = ""
    check: str


class Ring(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of one state of the file, current first, and what was derived from them so far."""

    stamp: tuple[int, ...]
    keys: tuple[bytes, ...]
    derived: dict[str, tuple[bytes, ...]]

    def __repr__(self) -> str:
        return f"Ring({len(self.keys)} keys)"  # a key must not reach a log by way of a traceback


class FileKeyring:
    """Implements ports.Keys over one file; follows a rotation by another process.

    With a `setting`, the secret that someone set in place of the file, the file is neither read nor made. It
    is read when a key is needed, so that what needs no key can still tell that the setting is wrong.
    """

    def __init__(
        self,
        home: str,
        randomness: Randomness,
        setting: str = "",
        secrets: Secrets | None = None,
    ) -> None:
        self._directory = os.path.join(home, "data", "keys")
        self._path = os.path.join(self._directory, "keyring.json")
        self._randomness = randomness
        self._secrets = secrets or Secrets()
        self._ring: Ring | None = None
        self._setting = setting
        self._override: Ring | None = None
        self._request_key: bytes | None = None

    def signing_key(self, purpose: str) -> bytes:
        ring = self._overriding() or self._current_ring() or self._create()
        return derive(ring, purpose)[0]

    def verifying_keys(self, purpose: str) -> tuple[bytes, ...]:
        ring = self._overriding() or self._current_ring()
        return () if ring is None else derive(ring, purpose)

    def request_key(self) -> bytes:
        if self._request_key is None:
            self._request_key = self._read_request_key()
            self._secrets.register(self._request_key)
        return self._request_key

    def _read_request_key(self) -> bytes:
        path = os.path.join(self._directory, _REQUESTS)
        try:
            ensure_private_directory(self._directory)
            if not os.path.lexists(path):
                create_private(path, (self._randomness.bytes(KEY_LENGTH).hex().encode(), b"\n"))
            descriptor = os.open(path, _READ_FLAGS)
            try:
                _check_is_private(os.fstat(descriptor), os.stat(self._directory), _REQUESTS_NAME)
                text = os.read(descriptor, _SIZE_LIMIT).decode("ascii", "replace").strip()
            finally:
                os.close(descriptor)
        except OSError as trouble:
            raise _unwritable(trouble, _REQUESTS_NAME) from trouble
        if re.fullmatch(rf"[0-9a-f]{{{2 * KEY_LENGTH}}}", text) is None:
            message = f"{_REQUESTS_NAME} is damaged. Restore it from a backup, or move it away."
            raise _invalid("damaged", f"{message} Without it a repeated request id starts a second run.")
        return bytes.fromhex(text)

    def facts(self) -> KeyringFacts:
        self._refuse_override()
        return facts_of(self._current_ring())

    def rotate(self, expected_version: str = "") -> bool:
        """Make a new current key; the one before it becomes `previous`. Without a version, rotate whatever
        is current.
        """
        self._refuse_override()
        try:
            ensure_private_directory(self._directory)
            with lock_file(os.path.join(self._directory, "keyring.lock")):
                held = self._current_ring()
                if expected_version and facts_of(held).version != expected_version:
                    return False
                ring = held or self._create()
                fresh = self._randomness.bytes(KEY_LENGTH)
                self._secrets.register(fresh)  # before anything is written
                replace_private(self._path, encode_ring(fresh, ring.keys[0]))
        except OSError as trouble:
            raise _unwritable(trouble) from trouble
        return True

    def _refuse_override(self) -> None:
        if self._setting:
            raise _invalid(
                "overridden", "The keys come from AI_NATIVE_CLI_SECRET. Change that secret instead."
            )

    def _overriding(self) -> Ring | None:
        if self._setting and self._override is None:
            secret = secret_of_setting(self._setting)
            key = ring_key_of_secret(secret)
            self._secrets.register(secret)
            self._secrets.register(key)
            self._override = Ring(stamp=(), keys=(key,), derived={})
        return self._override

    def _create(self) -> Ring:
        try:
            ensure_private_directory(self._directory)
            create_private(self._path, (encode_ring(self._randomness.bytes(KEY_LENGTH)),))
        except OSError as trouble:
            raise _unwritable(trouble) from trouble
        ring = self._current_ring()
        if ring is None:
            raise _invalid("unreadable", f"{_NAME} was removed while it was made. Send the same call again.")
        return ring

    def _current_ring(self) -> Ring | None:
        """Return the content of the file; it is read again only if it is another file than last time."""
        try:
            stamp = _stamp(os.lstat(self._path))
            if self._ring is None or self._ring.stamp != stamp:
                self._ring = self._read()
        except FileNotFoundError:
            self._ring = None
        except OSError as trouble:
            raise _unreadable(trouble) from trouble
        return self._ring

    def _read(self) -> Ring:
        descriptor = os.open(self._path, _READ_FLAGS)
        try:
            status = os.fstat(descriptor)
            _check_is_private(status, os.stat(self._directory))
            content = os.read(descriptor, _SIZE_LIMIT + 1)
        finally:
            os.close(descriptor)
        keys = decode_ring(content)
        for key in keys:
            self._secrets.register(key)
        return Ring(stamp=_stamp(status), keys=keys, derived={})


def secret_of_setting(text: str) -> bytes:
    """The secret in a setting such as AI_NATIVE_CLI_SECRET: plain text, or `base64:` and base64 (CONT 8.4).

    Raises Fault KEYRING_INVALID when it is too short to be a secret.
    """
    secret = text.encode(errors="surrogateescape")
    if text.startswith("base64:"):
        try:
            secret = binascii.a2b_base64(text.removeprefix("base64:"), strict_mode=True)
        except ValueError as trouble:
            message = "AI_NATIVE_CLI_SECRET is not valid base64. Correct or remove it."
            raise _invalid("secret_malformed", message) from trouble
    if len(secret) < _SECRET_LIMIT:
        message = (
            f"AI_NATIVE_CLI_SECRET has fewer than {_SECRET_LIMIT} bytes. Use a longer one, or remove it."
        )
        raise _invalid("secret_too_short", message)
    return secret


def derive(ring: Ring, purpose: str) -> tuple[bytes, ...]:
    """Return the purpose keys of a ring, worked out once."""
    keys = ring.derived.get(purpose)
    if keys is None:
        keys = ring.derived[purpose] = tuple(purpose_key(key, purpose) for key in ring.keys)
    return keys


def facts_of(ring: Ring | None) -> KeyringFacts:
    """Return what may be shown of a ring."""
    if ring is None:
        return KeyringFacts(count=0, version="none")
    shown = sha256(b"".join(derive(ring, "keyring.version"))).hexdigest()[:16]
    return KeyringFacts(count=len(ring.keys), version=shown)


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
    )


def _check_is_private(file: os.stat_result, directory: os.stat_result, name: str = _NAME) -> None:
    if not stat.S_ISREG(file.st_mode):
        raise _invalid("not_a_regular_file", f"{name} is not a regular file. Move it away. {_MEANWHILE}")
    if stat.S_IMODE(file.st_mode) & 0o077:
        message = (
            f"{name} is open to other users. Run chmod 600 on it; if others could read it, rotate the keys."
        )
        raise _invalid("too_open", message)
    if stat.S_IMODE(directory.st_mode) & 0o022:
        message = f"Other users can replace {name}. Run chmod 700 on its directory, then rotate the keys."
        raise _invalid("directory_too_open", message)


def encode_ring(current: bytes, previous: bytes = b"") -> bytes:
    """Return a ring as stored."""
    assert len(current) == KEY_LENGTH, "a ring key has 32 bytes"
    check = _checksum(current.hex(), previous.hex())
    file = _KeyFile(v=_VERSION, current=current.hex(), previous=previous.hex(), check=check)
    return msgspec.json.encode(file) + b"\n"


def decode_ring(content: bytes, name: str = _NAME) -> tuple[bytes, ...]:
    """Return the keys in stored bytes, current first. Raises Fault KEYRING_INVALID."""
    if not content:
        message = f"{name} is empty: it is being made or was cut off. Send the call again; else move it away."
        raise _invalid("incomplete", f"{message} {_MEANWHILE}")
    try:
        file = msgspec.json.decode(content, type=_KeyFile)
        keys = tuple(bytes.fromhex(text) for text in (file.current, file.previous) if text)
    except (msgspec.MsgspecError, ValueError) as trouble:
        raise _damaged(content, name) from trouble
    is_known = file.v == _VERSION and len(content) <= _SIZE_LIMIT
    is_whole = file.current != "" and all(len(key) == KEY_LENGTH for key in keys)
    if not (is_known and is_whole and file.check == _checksum(file.current, file.previous)):
        raise _damaged(content, name)
    return keys


def _checksum(current: str, previous: str) -> str:
    return sha256(f"handrail.keyring\0{current}\0{previous}".encode()).hexdigest()[:16]


def _damaged(content: bytes, name: str) -> Fault:
    """A file of a later release is not damaged; it says so in `v`."""
    try:
        version = msgspec.json.decode(content, type=dict).get("v")
    except (msgspec.MsgspecError, ValueError, RecursionError):  # bytes that are not UTF-8 are a ValueError
        version = None
    if isinstance(version, int) and version > _VERSION:
        return _invalid("unsupported_version", f"{name} was written by a later release. Update this one.")
    return _invalid("damaged", f"{name} is damaged. Restore it from a backup, or move it away. {_MEANWHILE}")


def _unreadable(trouble: OSError) -> Fault:
    if trouble.errno == errno.ELOOP:
        return _invalid("not_a_regular_file", f"{_NAME} is a link. Put the file itself there. {_MEANWHILE}")
    message = f"{_NAME} cannot be read: {os.strerror(trouble.errno or 0)}. Give this user access to it."
    return _invalid("unreadable", message)


def _unwritable(trouble: OSError, name: str = _NAME) -> Fault:
    reason = "disk_full" if trouble.errno in (errno.ENOSPC, errno.EDQUOT) else "unwritable"
    message = (
        f"{name} cannot be written: {os.strerror(trouble.errno or 0)}. Free space or give this user access."
    )
    hint = "Make that writable, or set HANDRAIL_HOME to another directory, then send the call again."
    return Fault(catalogue.KEYRING_INVALID, message, details={"reason": reason}, hint=hint)


def _invalid(reason: str, message: str) -> Fault:
    """Return the failure: its first sentence says what is wrong, the rest how to fix exactly that."""
    hint = message.partition(". ")[2]
    return Fault(catalogue.KEYRING_INVALID, message, details={"reason": reason}, hint=hint)
