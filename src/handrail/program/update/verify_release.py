"""The stage `verify_signature` of an update: a release without valid provenance is not installed.

Every refusal is a Fault with a `reason`; the update adds the stage and what is installed.
"""

from __future__ import annotations

from shlex import join
from typing import Annotated, Any, assert_never

import msgspec
from msgspec import Meta

from handrail.contract.catalogue import (
    E_CONFIG,
    E_INTEGRITY,
    E_INTERRUPTED,
    E_NETWORK,
    E_NOT_FOUND,
    E_TIMEOUT,
)
from handrail.contract.outcome import Fault, Json
from handrail.contract.released import spell_requirement
from handrail.ports.program import (
    PUBLISH_STATEMENT,
    Checked,
    InstallFacts,
    JudgedBundle,
    NotChecked,
    NotTrusting,
    ProvenanceOrder,
    Updates,
    identity_of,
)
from handrail.program.update.package_index import OfferedFile
from handrail.runtime.runtime import ReadPorts, Runtime

# Reading provenance (PEP 740): attestations in, Sigstore bundles out

MOST_BYTES = 1_048_576
MOST_ATTESTATIONS = 16
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
STATEMENT = "application/vnd.in-toto+json"
_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"


class _Material(msgspec.Struct, frozen=True, kw_only=True):
    certificate: str
    transparency_entries: list[dict[str, Any]]


class _Envelope(msgspec.Struct, frozen=True, kw_only=True):
    statement: str
    signature: str


class _Attestation(msgspec.Struct, frozen=True, kw_only=True):
    version: Annotated[int, Meta(ge=1, le=1)]
    verification_material: _Material
    envelope: _Envelope


class _Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """What the index says about the publisher is not read: only the certificate counts."""

    attestations: list[_Attestation]


class _Provenance(msgspec.Struct, frozen=True, kw_only=True):
    version: Annotated[int, Meta(ge=1, le=1)]
    attestation_bundles: list[_Bundle]


class _Subject(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    digest: dict[str, str]


class _Statement(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    type: str = msgspec.field(name="_type")
    subject: list[_Subject]
    predicate_type: str


def read_bundles(provenance: bytes) -> tuple[str, ...]:
    """Return every attestation as a bundle. Raises ValueError for text that is no provenance or exceeds the
    limits.
    """
    if len(provenance) > MOST_BYTES:
        raise ValueError("it is too large")
    try:
        read = msgspec.json.decode(provenance, type=_Provenance)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as trouble:
        raise ValueError("it does not read as one") from trouble
    found = [one for bundle in read.attestation_bundles for one in bundle.attestations]
    if len(found) > MOST_ATTESTATIONS:
        raise ValueError("it holds too many attestations")
    return tuple(_bundle(one) for one in found)


def _bundle(one: _Attestation) -> str:
    """Return the same parts under the names that Sigstore gives them."""
    material = one.verification_material
    return msgspec.json.encode(
        {
            "mediaType": BUNDLE,
            "verificationMaterial": {
                "certificate": {"rawBytes": material.certificate},
                "tlogEntries": material.transparency_entries,
            },
            "dsseEnvelope": {
                "payload": one.envelope.statement,
                "payloadType": STATEMENT,
                "signatures": [{"sig": one.envelope.signature}],
            },
        }
    ).decode()


def is_about(statement: bytes, filename: str, sha256: str) -> bool:
    """Whether a statement publishes exactly this file with exactly this content."""
    try:
        read = msgspec.json.decode(statement, type=_Statement)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return (
        read.type == _STATEMENT_TYPE
        and read.predicate_type == PUBLISH_STATEMENT
        and len(read.subject) == 1
        and read.subject[0].name == filename
        and read.subject[0].digest.get("sha256") == sha256
    )


# Verifying a release

PROVENANCE = "application/vnd.pypi.integrity.v1+json, application/json;q=0.9"
_EXTRA = "handrail[verify]"
_STOP = "Do not try again and do not install it by hand. Report that this release cannot be verified."
_AGAIN = "Run handrail update --verify again; a repeat is safe."
_SENTENCES = {
    "malformed_bundle": "Its provenance is damaged.",
    "untrusted_certificate": "Its provenance was signed with a certificate that was not trusted then.",
    "wrong_identity": "Its provenance was signed by somebody else.",
    "bad_signature": "The signature of its provenance is not valid.",
}


def require_extra(facts: InstallFacts) -> None:
    """Raise Fault E_CONFIG with the install command if the extra is missing."""
    if not facts.can_verify:
        raise _without_library("This installation cannot verify signatures.", facts)


def verify_release(
    rt: Runtime, updates: Updates, facts: InstallFacts, offered: OfferedFile, page: str
) -> None:
    """Raise Fault unless our release workflow signed the file of this name and checksum."""
    order = ProvenanceOrder(
        bundles=_bundles(rt, updates, offered, page),
        identity=identity_of(offered.version),
        trusted_root=rt.settings.of().trusted_root,
    )
    match rt.provenance().check(order, rt.interruptions.stop_reason):
        case Checked(judged=judged):
            _require_one(judged, offered.filename, offered.sha256)
        case NotTrusting(trouble=trouble):
            raise _without_root(trouble)
        case NotChecked(why=why):
            raise _unfinished(why, facts)
        case never:
            assert_never(never)


def require_verified_files(rt: Runtime, wheel: bytes) -> None:
    """Raise Fault unless the manager installed what was verified; nothing of it is started before."""
    differing = rt.provenance().difference(wheel)
    if differing:
        raise Fault(
            E_INTEGRITY,
            "The package manager installed something else than the release that was verified.",
            details={"reason": "installed_differs", "path": differing},
            hint="Do not start handrail. Remove it with its package manager, and report what happened.",
        )


def _bundles(rt: ReadPorts, updates: Updates, offered: OfferedFile, page: str) -> tuple[str, ...]:
    if not offered.provenance:
        raise _refused("no_provenance", "The index has no provenance for it.")
    try:
        given = updates.fetch(offered.provenance, PROVENANCE, rt.interruptions.stop_reason, page).content
    except Fault as fault:
        if fault.kind is not E_NOT_FOUND:
            raise
        raise _refused("no_provenance", "The provenance that the index names is not there.") from fault
    try:
        bundles = read_bundles(given)
    except ValueError as trouble:
        raise _refused("malformed_provenance", f"Its provenance cannot be used: {trouble}.") from trouble
    if not bundles:
        raise _refused("no_provenance", "Its provenance holds no attestation.")
    return bundles


def _require_one(judged: tuple[JudgedBundle, ...], filename: str, digest: str) -> None:
    """Require one valid attestation. If several are invalid, the first one gives the reason."""
    held = [one for one in judged if one.refusal is None]
    if any(is_about(one.statement, filename, digest) for one in held):
        return
    if held:
        raise _refused("other_subject", "Its provenance is about another file.")
    first = judged[0]
    assert first.refusal is not None, "what holds was looked at before"
    more: dict[str, Json] = {"mismatch": first.mismatch} if first.mismatch else {}
    raise _refused(first.refusal, _SENTENCES[first.refusal], more)


def _refused(reason: str, why: str, more: dict[str, Json] | None = None) -> Fault:
    return Fault(
        E_INTEGRITY,
        f"The release was not verified. {why}",
        details={"reason": reason, **(more or {})},
        hint=_STOP,
    )


def _without_root(trouble: str) -> Fault:
    if trouble == "unreadable":
        return Fault(
            E_CONFIG,
            "The trusted root of the settings cannot be used.",
            details={"reason": "trusted_root", "setting": "update.trustedRoot"},
            hint="Give update.trustedRoot in config.json the whole path of a trusted root, or remove it.",
        )
    return Fault(
        E_NETWORK,
        "The keys of the public Sigstore could not be updated.",
        details={"cause": "trusted_root"},
        hint=_AGAIN,
    )


def _unfinished(why: str, facts: InstallFacts) -> Fault:
    if why == "not_loaded":
        return _without_library("The library that verifies signatures cannot be loaded.", facts)
    if why == "ended":
        return _refused("check_ended", "The check of its provenance ended without an answer.")
    return Fault(
        E_TIMEOUT if why == "deadline" else E_INTERRUPTED,
        "The check of the signature was ended before it was done.",
        details={"committed": False},
        hint=_AGAIN,
    )


def _without_library(message: str, facts: InstallFacts) -> Fault:
    command = extra_command(facts)
    return Fault(
        E_CONFIG,
        message,
        details={"reason": "extra_missing", "setting": "update.verify", "install_command": list(command)},
        hint=f"Install the extra, then run handrail update --verify again: {join(command)}.",
    )


def extra_command(facts: InstallFacts, extra: str = _EXTRA) -> tuple[str, ...]:
    """Return the command that adds an extra to this version, by its own manager; it installs no newer,
    unverified version.
    """
    wanted = spell_requirement(extra)
    match facts.method:
        case "uv-tool":
            return ("uv", "tool", "install", "--force", *facts.options, wanted)
        case "pipx":
            return ("pipx", "install", "--force", *facts.options, wanted)
        case _ if facts.has_pip:
            return (facts.executable, "-P", "-m", "pip", "install", wanted)
        case _:
            return ("uv", "pip", "install", "--python", facts.executable, wanted)
