"""Which preferences hold at a node, and when a mode goes beyond what the author calls safe. Pure.

Preferences follow lineage like context. A change reaches the places where work stood when it was made, and
what follows them; whoever goes back to an older node works there in the preferences of that node.
"""

from __future__ import annotations

from typing import TypeVar, get_args

from handrail.contract.ids import NodeId
from handrail.contract.vocabulary import Autonomy, RiskPolicy
from handrail.engine.events import Preferences, PreferencesChanged, PreferencesDelta
from handrail.engine.history import History, steps_after
from handrail.workflows.compiled import CompiledWorkflow

_Level = TypeVar("_Level", Autonomy, RiskPolicy)

DEFAULT_PREFERENCES = Preferences(autonomy="guided", risk_policy="conservative")
NO_CHANGE = PreferencesDelta()

# The order of the closed sets is the order of daring.
_AUTONOMY: tuple[Autonomy, ...] = get_args(Autonomy)
_RISK: tuple[RiskPolicy, ...] = get_args(RiskPolicy)


def preferences_at(history: History, node_id: NodeId) -> Preferences:
    """The preferences in force at a node."""
    return history.inherited[node_id].preferences or DEFAULT_PREFERENCES


def preferences_after(history: History, node_id: NodeId) -> Preferences:
    """The preferences of a node that is made below this one now, be it by a retry."""
    change = change_since(history, node_id, "")
    return preferences_at(history, node_id) if change is None else change.effective


def change_at_start(
    history: History, asked: PreferencesDelta, change_id: str, defaults: PreferencesDelta = NO_CHANGE
) -> PreferencesChanged:
    """What a run begins with: the session's baseline, or the default, with what the user asked for.

    `defaults` are the user's own, for a session that begins with this run.
    """
    base = changed(DEFAULT_PREFERENCES, defaults if history.head == 0 else NO_CHANGE)
    if history.baseline:
        base = history.baseline.preferences
    return PreferencesChanged(
        change_id=change_id,
        source="system" if asked == NO_CHANGE else "user",
        operation="run.start",
        delta=asked,
        effective=changed(base, asked),
    )


def change_since(history: History, node_id: NodeId, change_id: str) -> PreferencesChanged | None:
    """What a child of this node takes over: a baseline that was set while work stood at the node.

    EXEC "Node-attached effective preferences": going back does not bring what is configured today.
    """
    held, baseline = preferences_at(history, node_id), history.baseline
    if baseline is None or baseline.preferences == held:
        return None
    node = history.nodes[node_id]
    if baseline.index < node.index or any(step.index > node.index for step in steps_after(history, node_id)):
        return None
    wanted = baseline.preferences
    delta = PreferencesDelta(
        autonomy=None if wanted.autonomy == held.autonomy else wanted.autonomy,
        risk_policy=None if wanted.risk_policy == held.risk_policy else wanted.risk_policy,
    )
    return PreferencesChanged(
        change_id=change_id, source="user", operation="run.continue", delta=delta, effective=wanted
    )


def changed(base: Preferences, delta: PreferencesDelta) -> Preferences:
    return Preferences(
        autonomy=delta.autonomy or base.autonomy, risk_policy=delta.risk_policy or base.risk_policy
    )


def safest_highest(workflow: CompiledWorkflow, preferences: Preferences) -> Preferences | None:
    """The highest combination the author considers safe; None when the preferences are within it."""
    most = workflow.recommended
    within = Preferences(
        autonomy=_lower(_AUTONOMY, preferences.autonomy, most.autonomy),
        risk_policy=_lower(_RISK, preferences.risk_policy, most.risk_policy),
    )
    return None if within == preferences else within


def _lower(order: tuple[_Level, ...], wanted: _Level, most: _Level | None) -> _Level:
    return wanted if most is None or order.index(wanted) <= order.index(most) else most
