"""`ports.ReceiptKeys` in `data/keys/receipts.json`, with the library of the extra `verify`."""

# ruff: noqa: PLC0415 - the library is an extra, and only receipts need it

from __future__ import annotations

import binascii
import os
import shlex
import stat
import sys
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import msgspec

from handrail import __version__
from handrail.contract.catalogue import E_CONFIG, KEYRING_INVALID
from handrail.contract.outcome import Fault, refuse_argument
from handrail.contract.redaction import Secrets
from handrail.host.private_files import (
    ensure_private_directory,
    open_unfollowed,
    replace_private,
)
from handrail.ports.checks import PublicKey, Signed
from handrail.ports.process import Randomness

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MOST_OLD_KEYS = 100
MOST_TRUSTED = 500
_PREFIX = "ed25519:"
_KEY_BYTES = 32
_MOST_BYTES = 262_144
_NAME = "data/keys/receipts.json in the Handrail home"


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
            raw = binascii.a2b_base64(text.strip().removeprefix(_PREFIX), strict_mode=True)
        except ValueError:
            raw = b""
        if not text.strip().startswith(_PREFIX) or len(raw) != _KEY_BYTES:
            raise refuse_argument(
                "That is not a public key of receipts.",
                *("key", "is no public key", f"{_PREFIX} and base64"),
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

        raw = binascii.a2b_base64(key.text.removeprefix(_PREFIX))
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
                    raise _invalid("too_open", f"{_NAME} is open to other users. Run chmod 600 on it.")
                file = msgspec.json.decode(held.read(_MOST_BYTES), type=_KeyFile)
        except FileNotFoundError:
            return _KeyFile()
        except OSError as trouble:
            raise _invalid("unreadable", f"{_NAME} cannot be read: {trouble.strerror}.") from trouble
        except (msgspec.MsgspecError, ValueError) as trouble:
            raise _invalid("damaged", f"{_NAME} is damaged. Restore it, or move it away.") from trouble
        if file.private:
            self._secrets.register(file.private.encode())
        return file

    def _keep(self, file: _KeyFile) -> None:
        try:
            ensure_private_directory(os.path.dirname(self._path))
            replace_private(self._path, msgspec.json.encode(file) + b"\n")
        except OSError as trouble:
            raise _invalid("unwritable", f"{_NAME} cannot be written: {trouble.strerror}.") from trouble


def _private(file: _KeyFile) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(file.private))
    except ValueError as trouble:
        raise _invalid("damaged", f"{_NAME} is damaged. Restore it, or move it away.") from trouble


def _public_of(key: Ed25519PrivateKey) -> PublicKey:
    return _describe(key.public_key().public_bytes_raw())


def _describe(raw: bytes) -> PublicKey:
    text = _PREFIX + binascii.b2a_base64(raw, newline=False).decode("ascii")
    return PublicKey(text=text, key_id=sha256(raw).hexdigest())


def _require_extra() -> None:
    if find_spec("cryptography") is not None:
        return
    wanted = f"handrail[verify]=={__version__}"
    pip = [sys.executable, "-P", "-m", "pip", "install", wanted]
    uv = ["uv", "pip", "install", "--python", sys.executable, wanted]
    command = pip if find_spec("pip") is not None else uv
    raise Fault(
        E_CONFIG,
        "This installation can neither sign nor check receipts.",
        details={"reason": "extra_missing", "install_command": command},
        hint=f"Install the extra: {shlex.join(command)}.",
    )


def _invalid(reason: str, message: str) -> Fault:
    hint = message.partition(". ")[2] or "Give this user access to it, then run the command again."
    return Fault(KEYRING_INVALID, message, details={"reason": reason}, hint=hint)
