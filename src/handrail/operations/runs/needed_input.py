"""The one value of a declared input that a blocked step waits for, if only the user can give it."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.outcome import Json
from handrail.engine.facts import facts_at
from handrail.engine.navigate import Running, leaf_at
from handrail.operations.handles import find_recorded_answer, node_of, read_ack, session_of
from handrail.operations.replies import load_pinned_workflow
from handrail.runtime.runtime import Reading
from handrail.workflows.compiled import InputSpec, Step, UserOnlyReason

_SECRET: tuple[UserOnlyReason, ...] = ("needs_user_secret_or_token", "needs_user_account_access")
_ONE_VALUE = ("string", "number", "integer", "boolean")


class NeededInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a person could be asked for."""

    name: str
    spec: InputSpec
    step_title: str
    workflow_id: str
    given: Json | UnsetType = UNSET
    """The value that the attempt already recorded: nobody is asked twice."""


def find_needed_input(reading: Reading, retry_ack: str) -> NeededInput | None:
    """The input that would let this attempt go on; None when a value of another kind, or a secret, would.

    Raises Fault for a token that does not verify.
    """
    claims = read_ack(reading.keys, retry_ack, UNSET).claims
    session = session_of(reading.reader, claims)
    history = session.history
    node = node_of(history, claims)
    workflow = load_pinned_workflow(reading.reader, history.runs[node.run_id].workflow_hash)
    leaf = leaf_at(workflow, node.state) if isinstance(node.state, Running) else None
    needed = leaf.user_only if isinstance(leaf, Step) else None
    if leaf is None or needed is None or needed.reason in _SECRET:
        return None
    spec = workflow.inputs.get(needed.input)
    if spec is None or spec.implicit or spec.type not in _ONE_VALUE:
        return None
    asked = NeededInput(name=needed.input, spec=spec, step_title=leaf.title, workflow_id=workflow.id)
    recorded = find_recorded_answer(session, claims, "advance")
    if recorded is None:
        return asked
    given = facts_at(history, workflow, recorded.to_node_id).values.get(needed.input)
    return None if given is None else msgspec.structs.replace(asked, given=given)
