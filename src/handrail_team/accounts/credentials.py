"""Secrets of accounts: how Handrail makes them, and what it stores of them. Pure, except for the time of
scrypt.

A token has 256 random bits, so a plain digest is safe to store. A passphrase has fewer, so its stored form
costs an attacker memory and time for every guess.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final, Literal, TypeAlias

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.outcome import Fault

CredentialKind: TypeAlias = Literal["agent", "page", "invitation", "machine"]

SECRET_BYTES: Final = 32
SALT_BYTES: Final = 16
SHORTEST_PASSPHRASE: Final = 12
LONGEST_PASSPHRASE: Final = 1_024
_BEGINNINGS: Final[dict[CredentialKind, str]] = {
    "agent": "hra_",
    "page": "hrp_",
    "invitation": "hri_",
    "machine": "hrm_",
}
_COST, _BLOCK, _LANES = 2**15, 8, 1
_MEMORY: Final = 64 * 1024 * 1024
NOBODY: Final = "scrypt$" + "00" * SALT_BYTES + "$" + "00" * 64
"""The hash checked for an unknown name, so that it takes as long as a known one."""


def spell_secret(kind: CredentialKind, chance: bytes) -> str:
    """Return the secret in the form that its owner keeps. Its prefix says what it is for."""
    assert len(chance) == SECRET_BYTES, "a secret has 256 bits of chance"
    return _BEGINNINGS[kind] + base64.urlsafe_b64encode(chance).rstrip(b"=").decode()


def kind_of(secret: str) -> CredentialKind | None:
    """Return the kind that a secret's prefix names."""
    return next((kind for kind, begins in _BEGINNINGS.items() if secret.startswith(begins)), None)


def digest_secret(secret: str) -> str:
    """Return the digest stored for a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def keep_passphrase(passphrase: str, salt: bytes) -> str:
    """Return the hash stored for a passphrase. Raises Fault E_VALIDATION if it is too short or too long."""
    if not SHORTEST_PASSPHRASE <= len(passphrase) <= LONGEST_PASSPHRASE:
        raise Fault(
            E_VALIDATION,
            f"A passphrase has {SHORTEST_PASSPHRASE} to {LONGEST_PASSPHRASE} characters.",
            details={"param": "passphrase"},
            hint="Take a few words that belong together for you alone.",
        )
    return f"scrypt${salt.hex()}${_stretch(passphrase, salt).hex()}"


def fits(passphrase: str, kept: str) -> bool:
    """Whether a passphrase matches the stored hash."""
    _, salt, stretched = kept.split("$")
    if len(passphrase) > LONGEST_PASSPHRASE:
        return False
    return hmac.compare_digest(_stretch(passphrase, bytes.fromhex(salt)), bytes.fromhex(stretched))


def _stretch(passphrase: str, salt: bytes) -> bytes:
    return hashlib.scrypt(
        passphrase.encode("utf-8", "surrogatepass"), salt=salt, n=_COST, r=_BLOCK, p=_LANES, maxmem=_MEMORY
    )
