"""What is asked about the provenance of a release, and what the check of it answers. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.contract.release_identity import ReleaseIdentity

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


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one bundle: the statement that was signed, or why it does not count."""

    statement: bytes = b""
    refusal: Refusal | None = None
    mismatch: IdentityPart | None = None
    """Of `wrong_identity`: what the certificate names otherwise."""


class Checked(msgspec.Struct, frozen=True, kw_only=True, tag="checked"):
    """Every bundle was judged, in order."""

    judged: tuple[Judged, ...]


class NotTrusting(msgspec.Struct, frozen=True, kw_only=True, tag="not_trusting"):
    """There is nothing to judge by."""

    trouble: RootTrouble


class NotChecked(msgspec.Struct, frozen=True, kw_only=True, tag="not_checked"):
    """The check did not come to its end."""

    why: Literal["signal", "deadline", "not_loaded", "ended"]
    """Ended by the caller, out of time, without its library, or ended by itself without an answer."""


ProvenanceAnswer: TypeAlias = Checked | NotTrusting | NotChecked


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """A wheel whose provenance holds."""

    sha256: str
    wheel: bytes
