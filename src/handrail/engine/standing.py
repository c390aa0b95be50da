"""What stands at a node, from recorded facts alone: the pending step as it reads, and in which mode. Pure."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec

from handrail.engine.arriving import needs_confirmation
from handrail.engine.artifact_kinds import Misnamed, misnamed_among
from handrail.engine.asking import asked_at
from handrail.engine.events import Blocked, CapabilityObserved, GapRecorded, Preferences
from handrail.engine.facts import facts_at, inside_loops
from handrail.engine.history import History, Node, Run, attached_to
from handrail.engine.inputs import NearlyDeclared, nearly_declared
from handrail.engine.intents import Situation
from handrail.engine.navigate import EvaluatedCondition, SelectedStep, deciding_loop, leaf_at
from handrail.engine.passing_by import PassedBy, parts_passed_by
from handrail.engine.preferences import preferences_after, preferences_at, safest_highest
from handrail.engine.progress import NOT_BEGUN, Progress, progress_at
from handrail.engine.prompts import Occasion, View, prompt_at
from handrail.engine.skeleton import frame_of
from handrail.engine.state import Complete, Running
from handrail.workflows.compiled import Action, Choice, CompiledWorkflow, Contract, Leaf, Step


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a reply says about a node, before tokens are minted for it."""

    run: Run
    node: Node
    preferences: Preferences
    has_new_preferences: bool = False
    """Whether they were set at this very node; otherwise an earlier reply told them."""
    leaf: Leaf | None = None
    """None: the run is finished."""
    prompt: str = ""
    needs_confirmation: bool = False
    safest: Preferences | None = None
    """Where a mode above the author's recommendation was set: the highest combination considered safe."""
    unavailable: tuple[CapabilityObserved, ...] = ()
    passed_over: tuple[GapRecorded, ...] = ()
    """What would have stopped another mode on the way to this node."""
    nearly_declared: tuple[NearlyDeclared, ...] = ()
    """Context keys, set at this very node, that look like a declared one mistyped."""
    misnamed: tuple[Misnamed, ...] = ()
    """Kinds of artifacts, recorded at this very node, that are nearly known ones and count for nothing."""
    skipped: tuple[PassedBy, ...] = ()
    """What did not run on the way to this node."""
    frame: dict[str, Any] = {}
    """What the report on the pending step brings, to be filled in."""
    contracts: dict[str, Contract] = {}
    progress: Progress = NOT_BEGUN


def standing_at(history: History, workflow: CompiledWorkflow, node: Node, occasion: Occasion) -> Standing:
    """What stands at a node. The same for a first reply and for every replay of it."""
    # A recorded reply tells what held; whoever reads a step now is told what its report will meet.
    in_force = preferences_at if occasion == "reply" else preferences_after
    preferences = in_force(history, node.node_id)
    attached = attached_to(history, node.node_id)
    known = facts_at(history, workflow, node.node_id)
    is_moved = any(not isinstance(entry, EvaluatedCondition | SelectedStep) for entry in attached.trace)
    standing = Standing(
        run=history.runs[node.run_id],
        node=node,
        preferences=preferences,
        has_new_preferences=attached.preferences is not None,
        safest=safest_highest(workflow, preferences) if attached.preferences is not None else None,
        unavailable=tuple(
            seen
            for seen in attached.capabilities
            if seen.status == "unavailable" and not _is_told_by_blocker(workflow, node, seen)
        ),
        passed_over=tuple(gap for gap in attached.gaps if _is_told(gap)),
        nearly_declared=nearly_declared(workflow.inputs, history.context.get(node.node_id, {})),
        misnamed=misnamed_among(workflow, (held.artifact for held in attached.artifacts)),
        skipped=parts_passed_by(workflow, attached.trace, known) if is_moved else (),
        progress=progress_at(history, workflow, node),
    )
    match node.state:
        case Complete():
            return standing
        case Running() as state:
            leaf = leaf_at(workflow, state)
            facts = inside_loops(workflow, state, known)
            asks = asked_at(workflow, leaf.id, facts)
            view = View(
                autonomy=preferences.autonomy,
                occasion=occasion,
                asks=asks,
                has_new_mode=attached.preferences is not None and node.parent is not None,
            )
            loop_id = deciding_loop(workflow, state.loops)
            return msgspec.structs.replace(
                standing,
                leaf=leaf,
                prompt=prompt_at(history, workflow, node, leaf, facts, view),
                needs_confirmation=needs_confirmation(workflow, leaf, facts),
                contracts=workflow.contracts,
                frame=frame_of(workflow, leaf, loop_id, asks, preferences.autonomy),
            )
        case never:
            assert_never(never)


def _is_told_by_blocker(workflow: CompiledWorkflow, node: Node, seen: CapabilityObserved) -> bool:
    """Whether the run waits for the capability, so that no way without it is to be taken."""
    return node.kind == "blocked_attempt" and workflow.capabilities.get(seen.capability) == "required"


def _is_told(gap: GapRecorded) -> bool:
    """Whether there is something to settle: of what the agent reported itself it does not know the id."""
    return gap.reason != "reported" or not (gap.resolves_gap_id or gap.severity == "info")


def situation_of(standing: Standing, blocked: Blocked | None, *, is_healthy: bool) -> Situation:
    """Which row of the table of intents a reply at this node takes."""
    if not is_healthy:
        return "unhealthy"
    if standing.leaf is None:
        return "finished"
    if blocked is not None:
        return _blocked_situation(blocked)
    match standing.leaf:
        case Choice(non_assumable=kind):
            is_users = kind is not None and standing.preferences.autonomy != "full_auto_never_stop"
            return "user_choice" if is_users else "choice"
        case Step() | Action():
            is_asked = standing.needs_confirmation and standing.preferences.autonomy == "guided"
            return "confirmation" if is_asked else "step"
        case never:
            assert_never(never)


def _blocked_situation(blocked: Blocked) -> Situation:
    if not blocked.retryable:
        return "blocked_for_good"
    codes = {blocker.code for blocker in blocked.every_blocker}
    return "blocked_by_user" if "USER_ONLY_DEPENDENCY" in codes else "blocked_by_agent"
