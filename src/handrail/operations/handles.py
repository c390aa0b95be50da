"""The tokens of a run operation: reading, minting, and answering the attempt that a token identifies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Generic, Literal, TypeAlias, TypeVar, assert_never

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import TOKEN_UNKNOWN_NODE
from handrail.contract.ids import AttemptId, SessionId, attempt_for_new, attempt_of
from handrail.contract.outcome import Fault
from handrail.contract.tokens.workflow import (
    WORKFLOW,
    AckClaims,
    CheckpointClaims,
    ChoiceClaims,
    Claims,
    StateClaims,
    TokenKind,
    WorkClaims,
    choice_attempt,
    kind_of,
    mint,
    verify,
)
from handrail.engine.children.joins import list_options
from handrail.engine.decide import Attempt
from handrail.engine.events import Blocked, PlannedEvent, is_newer
from handrail.engine.gate import Answered, AttemptUse, Open, Refused, gate
from handrail.engine.gathered import Gathered
from handrail.engine.history import History, Node, Recorded, Run, is_session_point, node_at
from handrail.engine.messages import name_session
from handrail.engine.reasons import waits_for_person
from handrail.engine.reply import ReplyWarning, Tokens
from handrail.engine.standing import Standing
from handrail.engine.tips import find_newest_wait, find_tip
from handrail.ports.log import Blob, EventReader
from handrail.runtime.damaged_sessions import refuse_lost_work
from handrail.runtime.operation import Input, ValueRule
from handrail.runtime.runtime import WritePorts
from handrail.runtime.sessions import (
    COMMIT_TRIES,
    Session,
    commit,
    healthy_session,
    load_last_seen,
    read_session,
    refuse_moving,
    require_healthy,
)
from handrail.workflows.compiled import Choice

if TYPE_CHECKING:
    from handrail.ports.process import Keys, Randomness
    from handrail.ports.trees import TakenTree

# Who works: the name that a helper states, shown as stated

LONGEST_WORKER = 64
Worker = Annotated[str, msgspec.Meta(description="Your name, in a child run.", max_length=LONGEST_WORKER)]

Tried = Annotated[bool, msgspec.Meta(description="Only say whether it would be accepted, and why not.")]


def is_worker(name: object) -> bool:
    is_text = isinstance(name, str) and name.isascii() and name[:1].isalnum()
    return is_text and all(one.isalnum() or one in "._:@-" for one in str(name))


WORKER_RULE = ValueRule(
    fits=is_worker,
    problem="is no name of a helper",
    expected="letters, digits and . _ : @ - after a letter or digit",
)

# Reading and minting tokens

AttemptClaims: TypeAlias = AckClaims | CheckpointClaims | ChoiceClaims
_C = TypeVar("_C", bound=Claims)


class Handle(msgspec.Struct, Generic[_C], frozen=True, kw_only=True):
    """A verified token, and the warnings about how it was read."""

    claims: _C
    warnings: tuple[ReplyWarning, ...] = ()
    beside: tuple[StateClaims | WorkClaims, ...] = ()
    """State tokens of the same call; `require_one_reply` checks whether they belong to it."""


class TokenCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call of a token: what must be sent again if the token was answered with other content."""

    claims: AttemptClaims
    request: Input
    tool: Literal["continue_workflow", "checkpoint_workflow"]


def read_state(keys: Keys, text: str) -> Handle[StateClaims | WorkClaims]:
    """Verify a stateToken; a work token is accepted in its place.

    Raise Fault TOKEN_INVALID_FORMAT, TOKEN_UNSUPPORTED_VERSION, TOKEN_BAD_SIGNATURE, TOKEN_SCOPE_MISMATCH.
    """
    found, warnings = _read(keys, text, ("state", "work"))
    claims = found["state"] if "state" in found else found["work"]
    assert isinstance(claims, StateClaims | WorkClaims), "a place is a state token or a work token"
    return Handle(claims=claims, warnings=warnings)


def read_ack(keys: Keys, text: str, state_text: str | UnsetType) -> Handle[AckClaims | ChoiceClaims]:
    """Verify an ackToken, or a choice token in its place, and the stateToken that came with it."""
    found, warnings = _read(keys, text, ("ack", "choice"))
    claims = found["ack"] if "ack" in found else found["choice"]
    assert isinstance(claims, AckClaims | ChoiceClaims), "an ack is an ack token or a choice token"
    return _with_states(keys, claims, warnings, found.get("state"), state_text)


def read_checkpoint(keys: Keys, text: str, state_text: str | UnsetType) -> Handle[CheckpointClaims]:
    """Verify a checkpointToken, and the stateToken that came with it."""
    found, warnings = _read(keys, text, ("checkpoint",))
    claims = found["checkpoint"]
    assert isinstance(claims, CheckpointClaims), "a checkpoint token carries checkpoint claims"
    return _with_states(keys, claims, warnings, found.get("state"), state_text)


def _read(
    keys: Keys, text: str, expected: tuple[TokenKind, ...]
) -> tuple[dict[TokenKind, Claims], tuple[ReplyWarning, ...]]:
    """Return the tokens in one argument: agents paste two of them glued together."""
    known = keys.verifying_keys(WORKFLOW)
    verified = verify(known, text)
    if verified is not None and kind_of(verified) in expected:  # almost every call
        return {kind_of(verified): verified}, ()
    from handrail.contract.tokens.reading import read_tokens  # noqa: PLC0415 - few tokens need corrections

    tokens = read_tokens(known, text, expected)
    warnings = tuple(
        ReplyWarning(
            code="TOKEN_REPAIRED",
            message="The token had a typo and was repaired; use the corrected token.",
            corrected_token=token.text,
        )
        for token in tokens.values()
        if token.repaired
    )
    return {kind: token.claims for kind, token in tokens.items()}, warnings


def _with_states(
    keys: Keys,
    claims: _C,
    warnings: tuple[ReplyWarning, ...],
    glued: Claims | None,
    state_text: str | UnsetType,
) -> Handle[_C]:
    """Return the token with every stateToken of the call: pasted to it, or in its own argument."""
    beside = (glued,) if isinstance(glued, StateClaims | WorkClaims) else ()
    if state_text is UNSET:
        return Handle(claims=claims, warnings=warnings, beside=beside)
    state = read_state(keys, state_text)
    return Handle(claims=claims, warnings=(*warnings, *state.warnings), beside=(*beside, state.claims))


def session_of(reader: EventReader, claims: Claims) -> Session:
    """Return the session that a token names.

    Raise Fault TOKEN_UNKNOWN_NODE if it is not in this store, and STORE_UNSUPPORTED_VERSION if a newer
    version wrote what the token names, which is then not lost.
    """
    session = read_session(reader, claims.session_id)
    if session is None:
        raise Fault(
            TOKEN_UNKNOWN_NODE,
            f"Session {claims.session_id} is not in this store.",
            details={"session_id": claims.session_id},
        )
    is_known = claims.node_tag in session.history.by_tag or is_session_point(session.history, claims.node_tag)
    if not is_known and is_newer(session.health.state):
        require_healthy(session)
    return session


def node_of(history: History, claims: Claims) -> Node:
    """Return the node that a token names; for a work token, the present node of the delegated run.

    A state token of a step that still waits names the node where it waits now.

    Raise Fault STORE_HISTORY_LOST if the node is missing: the token verified, so its commit was durable
    once.
    """
    node = node_at(history, claims.node_tag)
    if node is None:
        raise refuse_lost_work(history.session_id, history.head)
    if not isinstance(claims, StateClaims | WorkClaims):
        return node

    if isinstance(claims, WorkClaims):
        return find_tip(history, node.run_id)
    return find_newest_wait(history, node)  # a choice may have been made since the token


def require_place(history: History, claims: Claims) -> None:
    """Raise Fault STORE_HISTORY_LOST unless the log has the node that a token names."""
    if not is_session_point(history, claims.node_tag):
        node_of(history, claims)


def mint_new_node_tokens(keys: Keys, session_id: SessionId, standing: Standing) -> Tokens:
    """Return the tokens of the reply that created a node; a replay mints the same bytes.

    A read of the node through a work token returns these too: helpers that share it share attempts.
    """
    return _tokens(keys, session_id, standing, attempt_for_new(standing.node.node_id))


def mint_fresh_tokens(
    keys: Keys, randomness: Randomness, session_id: SessionId, standing: Standing
) -> Tokens:
    """Return tokens with a random attempt: two agents that rehydrate one node and both advance get a fork."""
    return _tokens(keys, session_id, standing, attempt_of(randomness.bytes(8)))


def mint_work_token(keys: Keys, history: History, run: Run) -> str:
    """Return the token that leads to a delegated run; it is the same for the whole run."""
    tag = history.nodes[run.first_node].tag
    return mint(keys.signing_key(WORKFLOW), WorkClaims(session_id=history.session_id, node_tag=tag))


def mint_state_token_for(keys: Keys, claims: Claims) -> str:
    """Return the state token of the place that any other token names."""
    place = StateClaims(session_id=claims.session_id, node_tag=claims.node_tag)
    return mint(keys.signing_key(WORKFLOW), place)


def mint_state_token(keys: Keys, session_id: SessionId, node: Node) -> str:
    return mint(keys.signing_key(WORKFLOW), StateClaims(session_id=session_id, node_tag=node.tag))


def _tokens(keys: Keys, session_id: SessionId, standing: Standing, attempt_id: AttemptId) -> Tokens:
    """Return the tokens for the present state of a run.

    A pending step gets an ack; a choice gets one token per option instead; a finished run gets neither. A
    step that waits for its child runs gets none, until enough are done or one was closed. All get a
    checkpoint token: there may be something to note after the end.
    """
    key = keys.signing_key(WORKFLOW)
    tag, leaf = standing.node.tag, standing.leaf
    state = mint(key, StateClaims(session_id=session_id, node_tag=tag))
    saving = CheckpointClaims(session_id=session_id, node_tag=tag, attempt_id=attempt_id)
    checkpoint = mint(key, saving)
    options = list(range(len(leaf.options))) if isinstance(leaf, Choice) else []
    if standing.join is not None:
        options += [number for number, _ in list_options(standing.join, is_waiting=standing.is_waiting)]
    if leaf is None or (standing.is_waiting and not options):
        return Tokens(state=state, checkpoint=checkpoint)
    if options:
        shared = choice_attempt(attempt_id)
        choices = tuple(
            mint(key, ChoiceClaims(session_id=session_id, node_tag=tag, attempt_id=shared, option=option))
            for option in options
        )
        return Tokens(state=state, checkpoint=checkpoint, choices=choices)
    ack = AckClaims(session_id=session_id, node_tag=tag, attempt_id=attempt_id)
    return Tokens(state=state, ack=mint(key, ack), checkpoint=checkpoint)


# Answering an attempt, exactly once: find it and gather without the lock, then decide and commit under it
#
# A server that read the attempt as open a moment ago takes the lock at once; only what it reads then counts.


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a decision, and what its commit and the tree after it need in addition."""

    gathered: Gathered
    blobs: tuple[Blob, ...]
    project: str | None
    """The directory of the run's project; None if it is not available."""
    tree: TakenTree | None = None
    """All files, if a contract needs them."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded answer of an attempt."""

    session: Session
    recorded: Recorded
    prepared: Prepared | None = None
    """What the decision was based on; None if the attempt was answered before."""


class FoundAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt as the log has it now."""

    session: Session
    recorded: Recorded | None
    """The recorded answer; None if the attempt is open."""


Decide: TypeAlias = Callable[[History, Attempt, Gathered, int], Sequence[PlannedEvent]]
"""Plans the answer from what was gathered; pure, because it runs under the lock."""


def find_attempt(reader: EventReader, claims: AttemptClaims, use: AttemptUse) -> FoundAttempt:
    """Return the attempt that a token identifies.

    Committed answers never change, so a replay is answered from this without a lock.
    """
    session = load_last_seen(reader, claims.session_id)
    if session is not None and _is_open(session, claims, use):
        return FoundAttempt(session=session, recorded=None)
    session = session_of(reader, claims)
    return FoundAttempt(session=session, recorded=find_recorded_answer(session, claims, use))


def answer_attempt(
    rt: WritePorts,
    claims: AttemptClaims,
    use: AttemptUse,
    session: Session,
    prepared: Prepared,
    decide: Decide,
) -> Answer:
    """Answer an open attempt from gathered facts; if another call was faster, its answer counts."""
    for _ in range(COMMIT_TRIES):
        with healthy_session(rt, session, by_token=True) as (session, witness):
            recorded = find_recorded_answer(session, claims, use)
            if recorded is not None:
                return Answer(session=session, recorded=recorded)
            attempt = Attempt(node=node_of(session.history, claims), attempt_id=claims.attempt_id)
            plan_with = partial(decide, session.history, attempt, prepared.gathered)
            committed = commit(rt, witness, session, plan_with, prepared.blobs)
        if committed is not None:
            recorded = find_recorded_answer(committed, claims, use)
            assert recorded is not None, "a committed answer is in the history"
            return Answer(session=committed, recorded=recorded, prepared=prepared)
    raise refuse_moving(session)


def _is_open(session: Session, claims: AttemptClaims, use: AttemptUse) -> bool:
    return isinstance(gate(session.history, claims.node_tag, claims.attempt_id, use), Open)


def find_recorded_answer(session: Session, claims: AttemptClaims, use: AttemptUse) -> Recorded | None:
    """Return the answer of the attempt, if it has one.

    Raise Fault STORE_HISTORY_LOST if the log lacks the token's node.
    """
    match gate(session.history, claims.node_tag, claims.attempt_id, use):
        case Refused():
            raise refuse_lost_work(session.history.session_id, session.history.head)
        case Answered(recorded=recorded):
            return recorded
        case Open():
            return None
        case never:
            assert_never(never)


def name_persons_line(history: History, node: Node, blocked: Blocked | None) -> Blocked | None:
    """Return the refusal with the commands that a person can run."""
    if blocked is None or not any(map(waits_for_person, blocked.blockers)):
        return blocked

    blockers = name_session(blocked.blockers, history, node.run_id)
    return msgspec.structs.replace(blocked, blockers=tuple(blockers))
