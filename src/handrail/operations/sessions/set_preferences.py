"""`settings set --preferences`: change preferences, for every session or for one."""

from __future__ import annotations

from functools import partial
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import Autonomy, PresetName, RiskPolicy
from handrail.contract.outcome import NextCall, Success, refuse_argument
from handrail.contract.parameters import MintedId
from handrail.contract.tokens.confirm import refusal
from handrail.engine.events import PlannedEvent, Preferences, PreferencesChanged, PreferencesDelta, Scope
from handrail.engine.facts import apply_delta, preferences_after
from handrail.engine.history import History
from handrail.engine.plans import plan_event
from handrail.operations.finding import find_session
from handrail.operations.report import read_preferences
from handrail.operations.sessions.preferences import (
    global_preferences,
    preferences_in_force,
    session_preferences,
)
from handrail.ports.workspace import Settings
from handrail.projections.run_graph import run_graphs
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import WritePorts
from handrail.runtime.sessions import PlanWith, Session, decide_and_commit, require_healthy, wait_for_writer
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write
from handrail.views.preferences import ShownPreferences

_T = TypeVar("_T")
_GLOBAL = "global"
AUTONOMY, RISK_POLICY = "preferences.autonomy", "preferences.riskPolicy"
"""The names of these settings in the user's file."""


class SetPreferences(GatedInput, frozen=True, kw_only=True):
    """The session or all sessions, and the changes; what is left out stays."""

    session: Maybe[Annotated[MintedId, Meta(description="Session id; default: those of new sessions.")]] = (
        UNSET
    )
    preset: Maybe[Annotated[PresetName, Meta(description="Both at once, by the name of a preset.")]] = UNSET
    autonomy: Maybe[Annotated[Autonomy, Meta(description="How far to go without the user.")]] = UNSET
    risk_policy: Maybe[Annotated[RiskPolicy, Meta(description="How much risk to take.")]] = UNSET


def set_preferences(rt: WritePorts, request: SetPreferences) -> DryRun | Success:
    """Return the preview, or make the change.

    Raise Fault E_VALIDATION if no change is requested, SESSION_NOT_FOUND, and what the gate raises.
    """
    wanted = _read_wanted(request)
    if request.session is UNSET:
        return _set_globally(rt, request, wanted)
    return _set_in_session(rt, request, request.session, wanted)


def _read_wanted(request: SetPreferences) -> PreferencesDelta:
    delta = read_preferences(request.preset, request.autonomy, request.risk_policy, E_VALIDATION)
    if delta != PreferencesDelta():
        return delta
    message = "Nothing to set: give KEY VALUE, or --preset, or --autonomy, --risk-policy or both."
    expected = "preset, autonomy or riskPolicy"
    raise refuse_argument(message, "autonomy", "is missing", expected, kind=E_VALIDATION)


def _set_globally(rt: WritePorts, request: SetPreferences, wanted: PreferencesDelta) -> DryRun | Success:
    given = {AUTONOMY: wanted.autonomy, RISK_POLICY: wanted.risk_policy}
    changes = {name: value for name, value in given.items() if value is not None}

    def resolve() -> Plan[Settings]:
        rt.settings.check(changes)
        shown = rt.settings.of()
        held = global_preferences(shown)
        before = Preferences(autonomy=held.autonomy, risk_policy=held.risk_policy)
        version = f"{held.source}:{before.autonomy}:{before.risk_policy}"
        is_set = apply_delta(before, wanted) == before
        return _plan(_GLOBAL, before, wanted, version, shown, is_set=is_set)

    def write(shown: Settings) -> ShownPreferences:
        held = {AUTONOMY: shown.autonomy, RISK_POLICY: shown.risk_policy}
        if not rt.settings.keep(changes, held):
            raise refusal("target_changed")
        rt.commits.note(NextCall(operation="preferences.show"))
        return global_preferences(rt.settings.of())

    return preview_or_write(rt, OPERATION, request, workspace="", resolve=resolve, write=write)


def _set_in_session(
    rt: WritePorts, request: SetPreferences, named: str, wanted: PreferencesDelta
) -> DryRun | Success:
    session = find_session(rt, named)
    require_healthy(session)  # a preview of a call that would be refused is useless

    def resolve() -> Plan[str]:
        history = session.history
        version = _version(history)
        before, is_set = preferences_in_force(history), _is_in_force(history, wanted)
        return _plan(history.session_id, before, wanted, version, version, is_set=is_set)

    def write(version: str) -> ShownPreferences:
        return session_preferences(_record(rt, session, wanted, version).history)

    def wait() -> None:
        wait_for_writer(rt, session.history.session_id)

    return preview_or_write(rt, OPERATION, request, workspace="", resolve=resolve, write=write, wait=wait)


def _is_in_force(history: History, wanted: PreferencesDelta) -> bool:
    """Whether a new run and every present run already work like this.

    A run that went back to an older step keeps that step's own preferences.
    """
    after = apply_delta(preferences_in_force(history), wanted)
    if history.baseline is None or history.baseline.preferences != after:
        return False
    tips = (graph.preferred_tip for graph in run_graphs(history).values())
    return all(preferences_after(history, tip) == after for tip in tips)


def _version(history: History) -> str:
    """Return a version of the preferences in force, not of the log: a run that
    continues meanwhile does not matter.
    """
    held = preferences_in_force(history)
    index = 0 if history.baseline is None else history.baseline.index
    return f"{index}:{held.autonomy}:{held.risk_policy}"


def _plan(
    place: str, before: Preferences, wanted: PreferencesDelta, version: str, found: _T, *, is_set: bool
) -> Plan[_T]:
    in_session = (
        "the session from the next call on that continues, retries or saves where its work stands (an older "
        "step that is gone back to keeps its own)"
    )
    scope = "new sessions" if place == _GLOBAL else in_session
    change = Change(
        action="none" if is_set else "update",
        resource="preferences",
        id=place,
        before=msgspec.structs.asdict(before),
        after=msgspec.structs.asdict(apply_delta(before, wanted)),
    )
    return Plan(
        action="set preferences",
        changes=(change,),
        targets=(place,),
        versions={place: version},
        blast_radius=f"How agents act in {scope}; nothing that was done is changed.",
        found=found,
    )


def _record(rt: WritePorts, session: Session, wanted: PreferencesDelta, version: str) -> Session:
    """Record the change as an event of the session, which later nodes use.

    Raise Fault E_CONFLICT if they were changed meanwhile.
    """

    def decide(now: Session) -> PlanWith:
        if _version(now.history) != version:
            raise refusal("target_changed")
        return partial(_events, now.history, wanted)

    return decide_and_commit(rt, session, decide, by_token=False)[0]


def _events(history: History, wanted: PreferencesDelta, _: int) -> list[PlannedEvent]:
    name = f"{history.session_id}_{history.head}"
    change = PreferencesChanged(
        change_id=f"prf_{name}",
        source="user",
        operation="preferences.set",
        delta=wanted,
        effective=apply_delta(preferences_in_force(history), wanted),
    )
    return [plan_event(f"preferences_changed:{name}", Scope(), change)]


OPERATION = Operation(
    name="preferences.set",
    effect="gated",
    summary="Set how far agents may go on their own: in new sessions, or in one session.",
    input=SetPreferences,
    output=ShownPreferences,
    perform=set_preferences,
    shape=Shape(levels={"minimal": ("autonomy", "risk_policy")}),
    errors=("SESSION_NOT_FOUND", "SESSION_LOCKED", "SESSION_NOT_HEALTHY", "STORE_UNSUPPORTED_VERSION"),
)
