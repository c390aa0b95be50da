"""The keys with which receipts are signed, and those of others that this user trusts."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import msgspec


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


class NamedCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit of the repository of a project."""

    commit: str
    tree: str
    """Git's id of all its files."""


class CommittedFiles(Protocol):
    """The files of a commit, read from git's objects: no hook, no filter and no program but git."""

    def find(self, project: str, ref: str) -> NamedCommit | None:
        """The commit that a name means here; None: there is none. Never raises."""

    def read(self, project: str, commit: str, path: str) -> bytes | None:
        """One file of it below the project; None: it is not there. Never raises."""

    def copy(self, project: str, commit: str) -> AbstractContextManager[str]:
        """A scratch folder with all its files below the project, which goes when the context ends.

        Empty: the repository does not have all of it, or there is no room.
        """


class NothingCommitted:
    """`CommittedFiles` where there is no repository."""

    def find(self, project: str, ref: str) -> NamedCommit | None:
        del project, ref
        return None

    def read(self, project: str, commit: str, path: str) -> bytes | None:
        del project, commit, path
        return None

    def copy(self, project: str, commit: str) -> AbstractContextManager[str]:
        del project, commit
        return nullcontext("")
