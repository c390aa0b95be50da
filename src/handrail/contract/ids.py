"""Ids, and the closed sets of words that several packages share. Pure.

An id is a short base32 name. Where a repeated call must find the same thing, its id is derived from what it
identifies.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Literal, NewType, TypeAlias

import msgspec

# Crockford base32, lower case: the alphabet of ids and workflow tokens

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"

_PAIRS = tuple(high + low for high in ALPHABET for low in ALPHABET)
_FORGIVEN = str.maketrans("oil", "011")


def encode_number(number: int, length: int) -> str:
    """`number` as exactly `length` characters, most significant first."""
    assert number >> 5 * length == 0, "the number does not fit into that many characters"
    odd = length % 2
    first = ALPHABET[number >> 5 * (length - 1)] if odd else ""
    return first + "".join(
        [_PAIRS[number >> shift & 1023] for shift in range(5 * (length - odd - 2), -1, -10)]
    )


def encode_digest(digest: bytes, length: int) -> str:
    """Return the first `5 * length` bits of a digest."""
    bits = len(digest) * 8
    assert length * 5 <= bits, "the digest is too short for that many characters"
    return encode_number(int.from_bytes(digest, "big") >> (bits - length * 5), length)


def forgive(text: str) -> str:
    """Return the text as its writer meant it: lower case, and the look-alikes o, i and l as 0, 1 and 1."""
    return text.lower().translate(_FORGIVEN)


# Ids

SessionId = NewType("SessionId", str)
RunId = NewType("RunId", str)
NodeId = NewType("NodeId", str)
AttemptId = NewType("AttemptId", str)
EventId = NewType("EventId", str)
WorkflowId = NewType("WorkflowId", str)
WorkflowHash = NewType("WorkflowHash", str)
BundleId = NewType("BundleId", str)
ReceiptId = NewType("ReceiptId", str)
BlobRef = NewType("BlobRef", str)
"""`sha256:` and 64 hex digits: the digest of the blob's bytes."""

SESSION_PREFIX = "ses_"
RUN_PREFIX = "run_"
NODE_PREFIX = "nod_"
EVENT_PREFIX = "evt_"
BUNDLE_PREFIX = "bnd_"
RECEIPT_PREFIX = "rcp_"

SESSION_BODY_LENGTH = 12
"""Characters after `ses_`; a workflow token carries exactly these."""
ATTEMPT_LENGTH = 7
"""Characters of an attempt id; a workflow token carries them as they are."""
NODE_TAG_LENGTH = 8
"""Characters of the tag by which a token names a node (tokens.md: at least 32 bits)."""

_BODY = f"[{ALPHABET}]"
_SESSION = rf"{SESSION_PREFIX}{_BODY}{{{SESSION_BODY_LENGTH}}}"
_RUN = rf"{RUN_PREFIX}{_BODY}{{12}}"
_NODE = rf"{NODE_PREFIX}{_BODY}{{12}}"
_RECEIPT = rf"{RECEIPT_PREFIX}{_BODY}{{12}}"


def is_session_id(text: str) -> bool:
    return re.fullmatch(_SESSION, text) is not None


def is_run_id(text: str) -> bool:
    return re.fullmatch(_RUN, text) is not None


def is_node_id(text: str) -> bool:
    return re.fullmatch(_NODE, text) is not None


def is_receipt_id(text: str) -> bool:
    return re.fullmatch(_RECEIPT, text) is not None


def session_id_of(randomness: bytes) -> SessionId:
    return SessionId(SESSION_PREFIX + encode_digest(randomness, SESSION_BODY_LENGTH))


def session_id_for_request(key: bytes, root: str, request_id: str, salt: int = 0) -> SessionId:
    """Return the id of the session that a start with this request id makes, so that a second start
    finds it.

    Keyed, so that knowing the request id is not enough to create another session with that id.
    """
    named = "\0".join(("handrail.request", root, request_id, str(salt))).encode()
    return session_id_of(hmac.new(key, named, hashlib.sha256).digest())


def older_session_id_for_request(account: str, request_id: str) -> SessionId:
    """Return the id that earlier versions gave that session: per account, wherever it was started."""
    return session_id_of(_digest("session", account, request_id))


def session_id_for_bundle(bundle_id: BundleId, salt: int = 0) -> SessionId:
    """Return the id of the session that a bundle becomes on import, so that a second import finds
    the first.
    """
    return session_id_of(_digest("import", bundle_id, str(salt)))


def run_id_for(session_id: SessionId, key: str) -> RunId:
    """Return the id of the run of a session that this key (a request id, or a fresh random one) started."""
    return RunId(RUN_PREFIX + encode_digest(_digest("run", session_id, key), 12))


def first_node_of(run_id: RunId, salt: int = 0) -> NodeId:
    return NodeId(NODE_PREFIX + encode_digest(_digest("node", run_id, str(salt)), 12))


def node_after(node_id: NodeId, attempt_id: AttemptId, cause: str, salt: int = 0) -> NodeId:
    """Return the id of the node that this attempt creates; another `salt` gives another id if tags
    collide.
    """
    return NodeId(NODE_PREFIX + encode_digest(_digest("node", node_id, attempt_id, cause, str(salt)), 12))


def receipt_id_for(node_id: NodeId, key: str) -> ReceiptId:
    """Return the id of a check result made at a node with this key (a client's call id, or a fresh random
    one).
    """
    return ReceiptId(RECEIPT_PREFIX + encode_digest(_digest("receipt", node_id, key), 12))


def answer_id_for(node_id: NodeId, number: int) -> str:
    """Return the id of the n-th answer that a person gave at a node."""
    return "ans_" + encode_digest(_digest("answer", node_id, str(number)), 12)


def attempt_of(randomness: bytes) -> AttemptId:
    """Return a fresh attempt, as rehydrate mints it."""
    return AttemptId(encode_digest(randomness, ATTEMPT_LENGTH))


def attempt_for_new(name: str) -> AttemptId:
    """Return the attempt minted with the reply that made a node, session or notes; a replay mints the same
    one.
    """
    return AttemptId(encode_digest(_digest("attempt", name), ATTEMPT_LENGTH))


def attempt_for_other(attempt_id: AttemptId, input_digest: str) -> AttemptId:
    """Return the attempt that stores what was sent with a used token; equal content gets the same one."""
    return AttemptId(encode_digest(_digest("other", attempt_id, input_digest), ATTEMPT_LENGTH))


def session_output_id(session_id: SessionId, tag: str, attempt_id: AttemptId) -> str:
    """Return the id of the session notes that this attempt stores at this point of the session."""
    return "out_" + encode_digest(_digest("output", session_id, tag, attempt_id), 12)


def node_tag(digest: str) -> str:
    """Return how a token names a node: the head of the chain digest of its `node_created` event."""
    return encode_digest(bytes.fromhex(digest), NODE_TAG_LENGTH)


def event_id(digest: str) -> EventId:
    """Return the id of an event from its place in the chain, so that the log need not store it."""
    return EventId(EVENT_PREFIX + encode_digest(bytes.fromhex(digest), 20))


def bundle_id(digest: str) -> BundleId:
    """Return the id of a bundle from the digest of its content, not from when or where it was written."""
    return BundleId(BUNDLE_PREFIX + encode_digest(bytes.fromhex(digest), 20))


def blob_ref(content: bytes) -> BlobRef:
    return BlobRef("sha256:" + hashlib.sha256(content).hexdigest())


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(("handrail.id", *parts)).encode()).digest()


# Closed sets of words

SourceKind: TypeAlias = Literal["bundled", "user", "project", "git", "remote", "plugin"]
"""Kinds of sources of a workflow."""

ObservationKey: TypeAlias = Literal[
    "git_branch", "git_head_sha", "repo_root_hash", "goal", "own_project", "worker"
]
"""Facts observed around a session that help to find it again.

The last two are about delegated work: where it is done, and the name that its helper states.
"""

ReportFormat: TypeAlias = Literal["junit", "jest", "tap", "go", "cargo", "unittest"]
"""How a test runner reports its counts: the first two in a file, the others in their output."""
Autonomy: TypeAlias = Literal["guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"]
"""How far an agent may go without the user, least first."""

RiskPolicy: TypeAlias = Literal["conservative", "balanced", "aggressive"]
"""How much risk an agent's choices may carry, least first."""

PresetName: TypeAlias = Literal["guided", "full_auto_with_stops", "full_auto"]
"""Named combinations of the two that people choose (PACK, presets)."""

Confirmations: TypeAlias = Literal["claimed", "person"]
"""Who can approve a step that asks for confirmation: `agent` may state it, or only a `person`."""

ProofWant: TypeAlias = Literal["proved", "kept", "passes"]
"""What a step requires the four runs of a check to show, the strictest first."""

Isolation: TypeAlias = Literal["", "bind_mount", "linked_folder", "prepared", "in_place"]
"""Where the runs of a proof took place; empty if nothing ran."""

OutwardKind: TypeAlias = Literal["needs_person", "blocked", "done", "critical_gap", "idle", "stalled"]
"""Events of a run that a notice can report; the last two only on a team server."""
MaxEffect: TypeAlias = Literal["read", "write", "dangerous"]
"""The permission ceiling, least first; `write` covers record, create, ack and gated operations."""


class Actor(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The account that caused an event: an opaque id, whose name is looked up for display."""

    id: str
    kind: Literal["person", "agent"]
    machine: str = ""
