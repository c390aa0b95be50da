"""What a person could answer so that a blocked attempt goes on: an input, a confirmation, a choice.

What they say to a confirmation or a choice is recorded here, with the client's form as its door.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Json
from handrail.contract.redaction import Secrets
from handrail.engine.events import ConfirmationAnswer
from handrail.engine.facts import facts_at
from handrail.engine.history import History, Node, Recorded, confirmation_of
from handrail.engine.judge.arrival import waits_for_choice, waits_for_confirmation
from handrail.engine.navigate import Running, leaf_at
from handrail.engine.reasons import Blocker, ContextKey
from handrail.operations.handles import find_recorded_answer, node_of, read_ack, session_of
from handrail.operations.pending_step import PendingStep
from handrail.operations.replies import load_pinned_workflow
from handrail.operations.runs.confirm_run import record_answer
from handrail.projections.asked_person import FORM, show_to_person
from handrail.runtime.runtime import Reading, Runtime
from handrail.workflows.compiled import Choice, CompiledWorkflow, InputSpec, Leaf, Step, UserOnlyReason

_SECRET: tuple[UserOnlyReason, ...] = ("needs_user_secret_or_token", "needs_user_account_access")
_ONE_VALUE = ("string", "number", "integer", "boolean")


class NeededInput(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a declared input."""

    name: str
    spec: InputSpec
    step_title: str
    workflow_id: str
    given: Json | UnsetType = UNSET
    """The value that the attempt already recorded: nobody is asked twice."""


class NeededConfirmation(msgspec.Struct, frozen=True, kw_only=True):
    """A yes or a no to a step."""

    shown: str
    given: bool | UnsetType = UNSET
    """What a person answered to this attempt before."""


class NeededChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One option of a choice that belongs to the user."""

    shown: str
    options: tuple[tuple[str, str], ...]
    """Id and label, in the order of the choice."""
    given: str | UnsetType | None = UNSET
    """What a person took before; None: they declined every option."""


NeededAnswer: TypeAlias = NeededInput | NeededConfirmation | NeededChoice


def find_needed_answer(reading: Reading, secrets: Secrets, retry_ack: str) -> NeededAnswer | None:
    """What would let this attempt go on; None where only the agent, a secret or a document would.

    `retry_ack` is the ack of the blocked reply, or the token of any of its options. An answer in a form went
    to this very attempt, so a repeat of its call goes on with it; an answer at another door is for the next
    attempt. Nobody is asked about an attempt that went on without an answer, or about what they declined.
    Raises Fault for a token that does not verify.
    """
    claims = read_ack(reading.keys, retry_ack, UNSET).claims
    session = session_of(reading.reader, claims)
    history = session.history
    node = node_of(history, claims)
    workflow = load_pinned_workflow(reading.reader, history.runs[node.run_id].workflow_hash)
    leaf = leaf_at(workflow, node.state) if isinstance(node.state, Running) else None
    asked = _find_attempt(history, node)
    if leaf is None or asked is None:
        return None
    recorded = find_recorded_answer(session, claims, "advance")
    is_confirmed, is_chosen = (
        all(map(waits_for, asked.blockers)) for waits_for in (waits_for_confirmation, waits_for_choice)
    )
    if not (is_confirmed or is_chosen):
        return _needed_input(history, workflow, leaf, asked, recorded)
    said = history.confirmations.get(node.node_id)
    given = said.fact if said is not None and said.fact.door == "elicitation" else None
    if given is None and (said is not None or recorded is not None):
        return None
    shown = secrets.redact_text(show_to_person(history, workflow, node, FORM))
    if given is None and _is_declined_before(history, node, asked, digest(shown)):
        return None
    if isinstance(leaf, Choice) and (is_chosen or leaf.non_assumable is not None):
        options = tuple((option.id, secrets.redact_text(option.label)) for option in leaf.options)
        taken = UNSET if given is None else given.option_id or None
        return NeededChoice(shown=shown, options=options, given=taken)
    return NeededConfirmation(shown=shown, given=UNSET if given is None else given.answer == "confirmed")


def record_persons_answer(
    rt: Runtime, retry_ack: str, answer: ConfirmationAnswer, shown: str, option_id: str = ""
) -> None:
    """Keep what a person answered in the form of their client, at the attempt that they were asked about.

    Raises Fault as a report at this attempt would.
    """
    own = rt.for_one_call(None)
    claims = read_ack(own.keys, retry_ack, UNSET).claims
    session = session_of(own.log, claims)
    node = node_of(session.history, claims)
    run = session.history.runs[node.run_id]
    pending = PendingStep(session=session, run=run, node=node, by_token=True)
    record_answer(own, pending, answer, "elicitation", shown, option_id=option_id)


class _Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A blocked attempt: its report, and what stood in its way."""

    input_digest: str
    blockers: tuple[Blocker, ...]


def _find_attempt(history: History, node: Node) -> _Attempt | None:
    """The blocked attempt that made this node; None where none did."""
    found = next((held for held in history.advances.values() if held.to_node_id == node.node_id), None)
    if found is None or found.blocked is None:
        return None
    return _Attempt(input_digest=found.input_digest, blockers=found.blocked.every_blocker)


def _is_declined_before(history: History, node: Node, asked: _Attempt, shown_digest: str) -> bool:
    """Whether a person declined the same report, or saw the same text then."""
    said = confirmation_of(history, node.node_id)
    if said is None or said.fact.answer != "declined":
        return False
    declined = _find_attempt(history, history.nodes[said.fact.node_id])
    is_same = declined is not None and declined.input_digest == asked.input_digest
    return is_same or said.fact.what_digest == shown_digest


def _needed_input(
    history: History, workflow: CompiledWorkflow, leaf: Leaf, attempt: _Attempt, recorded: Recorded | None
) -> NeededInput | None:
    needed = leaf.user_only if isinstance(leaf, Step) else None
    if needed is None or needed.reason in _SECRET:
        return None
    if any(blocker.pointer != ContextKey(key=needed.input) for blocker in attempt.blockers):
        return None
    spec = workflow.inputs.get(needed.input)
    if spec is None or spec.implicit or spec.type not in _ONE_VALUE:
        return None
    asked = NeededInput(name=needed.input, spec=spec, step_title=leaf.title, workflow_id=workflow.id)
    if recorded is None:
        return asked
    given = facts_at(history, workflow, recorded.to_node_id).values.get(needed.input)
    return None if given is None else msgspec.structs.replace(asked, given=given)
