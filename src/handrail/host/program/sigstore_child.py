"""Judges signed statements with the sigstore library, as a process of its own: an order in, an answer out.

The library takes many times longer to load than Handrail, so nothing else imports this file. The first line
says that it is loaded, the second is the answer.
"""

from __future__ import annotations

import signal
import sys

import msgspec
from cryptography.x509 import Certificate
from sigstore.errors import CertValidationError, Error, VerificationError
from sigstore.models import Bundle, ClientTrustConfig, TrustedRoot
from sigstore.verify import Verifier, policy

from handrail.ports.program import (
    Checked,
    IdentityPart,
    JudgedBundle,
    NotTrusting,
    ProvenanceAnswer,
    ProvenanceOrder,
    ReleaseIdentity,
)
from handrail.program.update.verify_release import STATEMENT

LOADED = b"loaded\n"
_SECONDS = 90
"""Longer than its caller waits: if the caller was killed, nobody else ends this process."""


class _Exactly:
    """A policy that remembers which part of the identity was another one."""

    def __init__(self, identity: ReleaseIdentity) -> None:
        self.mismatch: IdentityPart | None = None
        self._parts: tuple[tuple[IdentityPart, policy.VerificationPolicy], ...] = (
            ("issuer", policy.OIDCIssuerV2(identity.issuer)),
            ("repository", policy.OIDCSourceRepositoryURI(identity.repository)),
            ("tag", policy.OIDCSourceRepositoryRef(identity.tag)),
            ("workflow", policy.Identity(identity=identity.workflow)),
            ("workflow", policy.OIDCBuildConfigURI(identity.workflow)),
        )

    def verify(self, cert: Certificate) -> None:
        for part, wanted in self._parts:
            try:
                wanted.verify(cert)
            except VerificationError:
                self.mismatch = part
                raise


def main() -> None:
    signal.alarm(_SECONDS)
    sys.stdout.buffer.write(LOADED)
    sys.stdout.buffer.flush()
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=ProvenanceOrder)
    sys.stdout.buffer.write(msgspec.json.encode(_answer(order)) + b"\n")


def _answer(order: ProvenanceOrder) -> ProvenanceAnswer:
    try:
        root = (
            TrustedRoot.from_file(order.trusted_root)
            if order.trusted_root
            else ClientTrustConfig.production().trusted_root
        )
        verifier = Verifier(trusted_root=root)
    except (Error, OSError, ValueError):
        return NotTrusting(trouble="unreadable" if order.trusted_root else "refresh_failed")
    return Checked(judged=tuple(_judged(verifier, bundle, order.identity) for bundle in order.bundles))


def _judged(verifier: Verifier, content: str, identity: ReleaseIdentity) -> JudgedBundle:
    try:
        bundle = Bundle.from_json(content)
    except (Error, ValueError):
        return JudgedBundle(refusal="malformed_bundle")
    exactly = _Exactly(identity)
    try:
        kind, statement = verifier.verify_dsse(bundle, exactly)
    except CertValidationError:
        return JudgedBundle(refusal="untrusted_certificate")
    except (Error, ValueError):
        if exactly.mismatch:
            return JudgedBundle(refusal="wrong_identity", mismatch=exactly.mismatch)
        return JudgedBundle(refusal="bad_signature")
    return (
        JudgedBundle(statement=statement) if kind == STATEMENT else JudgedBundle(refusal="malformed_bundle")
    )


if __name__ == "__main__":
    main()
