"""What a person could answer so that a blocked attempt goes on: an input, a confirmation, a choice.

What they say to a confirmation or a choice is recorded here, with the client's form as its door.
"""

from __future__ import annotations

from typing import assert_never

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Json
from handrail.contract.redaction import Secrets
from handrail.engine.ask import Ask, ask_about
from handrail.engine.events import ConfirmationRecorded
from handrail.engine.history import History, Node, Recorded, confirmation_of
from handrail.engine.navigate import Running
from handrail.engine.reasons import Blocker, WaitKind, wait_of
from handrail.operations.handles import find_recorded_answer, node_of, read_ack, session_of
from handrail.operations.pending_step import PendingStep
from handrail.operations.replies import load_pinned_workflow
from handrail.operations.runs.confirm_run import Meant, record_answer
from handrail.projections.asked_person import FORM, show_to_person
from handrail.runtime.runtime import RehydratePorts, Runtime
from handrail.workflows.compiled import CompiledWorkflow, InputSpec

_ONE_VALUE = ("string", "number", "integer", "boolean")


class NeededAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A question that the form of a client can put to a person."""

    ask: Ask
    shown: str
    workflow: CompiledWorkflow
    given: Json | UnsetType = UNSET
    """What a person answered in a form to this attempt: a yes or no, an option (None: none), or a value."""

    @property
    def spec(self) -> InputSpec | None:
        """Of a value: the input that it is for."""
        return None if self.ask.needed is None else self.workflow.inputs.get(self.ask.needed.input)


def find_needed_answer(ports: RehydratePorts, secrets: Secrets, retry_ack: str) -> NeededAnswer | None:
    """What would let this attempt go on; None where only the agent, a secret or a document would.

    `retry_ack` is the ack of the blocked reply, or the token of any of its options. An answer in a form went
    to this very attempt, so a repeat of its call goes on with it; an answer at another door is for the next
    attempt. Nobody is asked about an attempt that went on without an answer, or about what they declined.
    Raises Fault for a token that does not verify.
    """
    claims = read_ack(ports.keys, retry_ack, UNSET).claims
    session = session_of(ports.log, claims)
    history = session.history
    node = node_of(history, claims)
    attempt = _find_attempt(history, node)
    if attempt is None or attempt.blocked is None or not isinstance(node.state, Running):
        return None
    workflow = load_pinned_workflow(ports.log, history.runs[node.run_id].workflow_hash)
    ask = ask_about(history, workflow, node)
    if {_asked_for(blocker) for blocker in attempt.blocked.every_blocker} != {ask.kind}:
        return None
    shown = secrets.redact_text(show_to_person(history, workflow, node, FORM))
    needed = NeededAnswer(ask=ask, shown=shown, workflow=workflow)
    if ask.kind == "give" and (not ask.takes_value or not _takes_one_value(needed.spec)):
        return None
    said = (held.fact for held in history.confirmations.get(node.node_id, ()))
    answers = [fact for fact in said if fact.asked in (None, ask.kind)]
    if answers:
        is_form = answers[-1].door == "elicitation"
        return msgspec.structs.replace(needed, given=_make_answer(ask, answers[-1])) if is_form else None
    is_answered = find_recorded_answer(session, claims, "advance") is not None
    return None if is_answered or _is_declined_before(history, node, attempt, digest(shown)) else needed


def _takes_one_value(spec: InputSpec | None) -> bool:
    return spec is not None and not spec.implicit and spec.type in _ONE_VALUE


def _make_answer(ask: Ask, fact: ConfirmationRecorded) -> Json:
    match ask.kind:
        case "choose":
            return fact.option_id or None
        case "give":
            return fact.value
        case "confirm" | "allow_write":
            return fact.answer == "confirmed"
        case never:
            assert_never(never)


def _asked_for(blocker: Blocker) -> WaitKind | None:
    """What a person is asked for; nothing where they have taken another option already."""
    wait = wait_of(blocker)
    return None if wait is None or wait.state == "invalid" else wait.kind


def record_persons_answer(rt: Runtime, retry_ack: str, needed: NeededAnswer, meant: Meant) -> None:
    """Keep what a person answered in the form of their client, at the attempt that they were asked about.

    Raises Fault as a report at this attempt would.
    """
    own = rt.for_one_call(None)
    claims = read_ack(own.keys, retry_ack, UNSET).claims
    session = session_of(own.log, claims)
    node = node_of(session.history, claims)
    run = session.history.runs[node.run_id]
    pending = PendingStep(session=session, run=run, node=node, by_token=True)
    record_answer(own, pending, needed.ask, meant, "elicitation", needed.shown)


def _find_attempt(history: History, node: Node) -> Recorded | None:
    """The attempt that made this node; None where none did."""
    return next((held for held in history.advances.values() if held.to_node_id == node.node_id), None)


def _is_declined_before(history: History, node: Node, asked: Recorded, shown_digest: str) -> bool:
    """Whether a person declined the same report, or saw the same text then."""
    said = confirmation_of(history, node.node_id)
    if said is None or said.fact.answer != "declined":
        return False
    declined = _find_attempt(history, history.nodes[said.fact.node_id])
    if declined is not None and declined.blocked and declined.input_digest == asked.input_digest:
        return True
    return said.fact.what_digest == shown_digest
