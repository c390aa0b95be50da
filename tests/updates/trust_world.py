"""A Sigstore of our own: certificate authority, certificate log and signature log, with keys made here.

What it signs is checked by the real library against the trusted root that it writes; nothing is faked but
who owns the keys.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import struct
from pathlib import Path
from typing import Any, Literal

import msgspec
import rfc8785
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

REPOSITORY = "https://github.com/handrail.example/handrail"
ISSUER = "https://token.actions.githubusercontent.com"
PUBLISH = "https://docs.pypi.org/attestations/publish/v1"
SIGNED_AT = datetime.datetime(2026, 11, 1, 12, 0, tzinfo=datetime.UTC)
_MINUTE = datetime.timedelta(minutes=1)
_YEARS = datetime.timedelta(days=3650)
_STATEMENT = "application/vnd.in-toto+json"
_CLAIMS = "1.3.6.1.4.1.57264.1."
_SHA256 = ec.ECDSA(hashes.SHA256())

Flaw = Literal[
    "",
    "changed statement",
    "other key signed",
    "foreign authority",
    "expired",
    "no certificate log",
    "no log entry",
    "two log entries",
    "no inclusion proof",
    "other log",
    "changed log entry",
    "later time",
    "no certificate",
]


def base64_text(content: bytes) -> str:
    return base64.b64encode(content).decode()


class Authority:
    """One root that signs short-lived certificates."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority of the tests")])
        self.certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self.key.public_key())
            .serial_number(1)
            .not_valid_before(SIGNED_AT - _YEARS)
            .not_valid_after(SIGNED_AT + _YEARS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(key_cert_sign=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )


class TrustWorld:
    """Everything that stands behind a signature."""

    def __init__(self) -> None:
        self.authority, self.foreign = Authority(), Authority()
        self.certificate_log = ec.generate_private_key(ec.SECP256R1())
        self.signature_log = ec.generate_private_key(ec.SECP256R1())
        self.other_log = ec.generate_private_key(ec.SECP256R1())

    def write_root(self, path: Path) -> Path:
        """The one file that a client of this world trusts."""
        since = {"start": "2016-01-01T00:00:00Z"}
        own = base64_text(_der(self.authority.certificate))

        def log(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
            return {
                "baseUrl": "https://log.invalid",
                "hashAlgorithm": "SHA2_256",
                "publicKey": {
                    "rawBytes": base64_text(_public(key)),
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": since,
                },
                "logId": {"keyId": base64_text(_key_id(key))},
            }

        root = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(self.signature_log)],
            "ctlogs": [log(self.certificate_log)],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "tests", "commonName": "an authority of the tests"},
                    "uri": "https://authority.invalid",
                    "certChain": {"certificates": [{"rawBytes": own}]},
                    "validFor": since,
                }
            ],
            "timestampAuthorities": [],
        }
        path.write_bytes(msgspec.json.encode(root))
        return path

    def provenance(self, *attestations: dict[str, Any]) -> bytes:
        publisher = {"kind": "GitHub", "repository": "handrail.example/handrail", "workflow": "release.yml"}
        bundle = {"publisher": publisher, "attestations": list(attestations)}
        return msgspec.json.encode({"version": 1, "attestation_bundles": [bundle]})

    def attestation(
        self,
        name: str,
        sha256: str,
        version: str,
        *,
        flaw: Flaw = "",
        issuer: str = ISSUER,
        repository: str = REPOSITORY,
        workflow: str = ".github/workflows/release.yml",
        tag: str = "",
        kind: str = PUBLISH,
    ) -> dict[str, Any]:
        """What the release workflow would publish for this file; the rest is what it would not."""
        ref = tag or f"refs/tags/v{version}"
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self.issued(key, issuer, repository, f"{repository}/{workflow}@{ref}", ref, flaw)
        subject = [{"name": name, "digest": {"sha256": sha256}}]
        statement = msgspec.json.encode(
            {"_type": "https://in-toto.io/Statement/v1", "subject": subject, "predicateType": kind}
        )
        signer = ec.generate_private_key(ec.SECP256R1()) if flaw == "other key signed" else key
        signature = signer.sign(_encoded(statement), _SHA256)
        entry = self.logged(statement, signature, certificate, flaw)
        entries = {"no log entry": [], "two log entries": [entry, entry]}.get(flaw, [entry])
        if flaw == "changed statement":
            statement = statement.replace(b"handrail", b"handrall")
        return {
            "version": 1,
            "verification_material": {
                "certificate": base64_text(b"nothing" if flaw == "no certificate" else _der(certificate)),
                "transparency_entries": entries,
            },
            "envelope": {"statement": base64_text(statement), "signature": base64_text(signature)},
        }

    def issued(
        self,
        key: ec.EllipticCurvePrivateKey,
        issuer: str,
        repository: str,
        workflow: str,
        ref: str,
        flaw: Flaw,
    ) -> x509.Certificate:
        """A certificate for ten minutes, promised to the log of certificates."""
        authority = self.foreign if flaw == "foreign authority" else self.authority
        begins = SIGNED_AT - _MINUTE * (60 if flaw == "expired" else 1)
        claims = {"8": issuer, "9": workflow, "12": repository, "14": ref, "18": workflow}
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(authority.certificate.subject)
            .public_key(key.public_key())
            .serial_number(2)
            .not_valid_before(begins)
            .not_valid_after(begins + 10 * _MINUTE)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False
            )
            .add_extension(
                x509.SubjectAlternativeName([x509.UniformResourceIdentifier(workflow)]), critical=True
            )
        )
        for number, value in claims.items():
            builder = builder.add_extension(
                x509.UnrecognizedExtension(x509.ObjectIdentifier(_CLAIMS + number), _der_text(value)),
                critical=False,
            )
        bare = builder.sign(authority.key, hashes.SHA256())
        if flaw == "no certificate log":
            return bare
        promised = self._promise(bare, authority)
        return builder.add_extension(promised, critical=False).sign(authority.key, hashes.SHA256())

    def _promise(self, bare: x509.Certificate, authority: Authority) -> x509.UnrecognizedExtension:
        """RFC 6962, section 3.2: the log's signature over the certificate before it holds the signature."""
        moment = int(SIGNED_AT.timestamp() * 1000)
        content = bare.tbs_certificate_bytes
        signed = (
            struct.pack("!BBQH", 0, 0, moment, 1)
            + _key_id(authority.key)
            + len(content).to_bytes(3, "big")
            + content
            + b"\0\0"
        )
        signature = self.certificate_log.sign(signed, _SHA256)
        stamp = (
            b"\0"
            + _key_id(self.certificate_log)
            + struct.pack("!QH", moment, 0)
            + bytes((4, 3))
            + struct.pack("!H", len(signature))
            + signature
        )
        listed = struct.pack("!H", len(stamp)) + stamp
        return x509.UnrecognizedExtension(
            x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2"),
            _der_value(4, struct.pack("!H", len(listed)) + listed),
        )

    def logged(
        self, statement: bytes, signature: bytes, certificate: x509.Certificate, flaw: Flaw
    ) -> dict[str, Any]:
        """The entry of a log with two leaves, ours the second."""
        key = self.other_log if flaw == "other log" else self.signature_log
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        body = rfc8785.dumps(
            {
                "apiVersion": "0.0.1",
                "kind": "dsse",
                "spec": {
                    "envelopeHash": {"algorithm": "sha256", "value": "0" * 64},
                    "payloadHash": {"algorithm": "sha256", "value": hashlib.sha256(statement).hexdigest()},
                    "signatures": [{"signature": base64_text(signature), "verifier": base64_text(pem)}],
                },
            }
        )
        moment = int(SIGNED_AT.timestamp())
        promise = key.sign(
            rfc8785.dumps(
                {
                    "body": base64_text(body),
                    "integratedTime": moment,
                    "logID": _key_id(key).hex(),
                    "logIndex": 1,
                }
            ),
            _SHA256,
        )
        neighbour = hashlib.sha256(b"\0another entry").digest()
        root = hashlib.sha256(b"\1" + neighbour + hashlib.sha256(b"\0" + body).digest()).digest()
        note = f"log.invalid - 1\n2\n{base64_text(root)}\n"
        seal = base64_text(_key_id(key)[:4] + key.sign(note.encode(), _SHA256))
        entry: dict[str, Any] = {
            "logIndex": "1",
            "logId": {"keyId": base64_text(_key_id(key))},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(moment + (1 if flaw == "later time" else 0)),
            "inclusionPromise": {"signedEntryTimestamp": base64_text(promise)},
            "inclusionProof": {
                "logIndex": "1",
                "rootHash": base64_text(root),
                "treeSize": "2",
                "hashes": [base64_text(neighbour)],
                "checkpoint": {"envelope": f"{note}\n\u2014 log.invalid {seal}\n"},
            },
            "canonicalizedBody": base64_text(body + b" " if flaw == "changed log entry" else body),
        }
        if flaw == "no inclusion proof":
            del entry["inclusionProof"]
        return entry


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        key_cert_sign=key_cert_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _encoded(statement: bytes) -> bytes:
    """What is signed: the statement with its type, in the encoding of the DSSE envelope."""
    return b"DSSEv1 %d %s %d %s" % (len(_STATEMENT), _STATEMENT.encode(), len(statement), statement)


def _public(key: ec.EllipticCurvePrivateKey) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.DER, form)


def _key_id(key: ec.EllipticCurvePrivateKey) -> bytes:
    return hashlib.sha256(_public(key)).digest()


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)


def _der_text(value: str) -> bytes:
    return _der_value(12, value.encode())


def _der_value(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes((tag, size)) + content
    count = (size.bit_length() + 7) // 8
    return bytes((tag, 128 + count)) + size.to_bytes(count, "big") + content
