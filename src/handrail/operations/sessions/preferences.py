"""`preferences.show` and `preferences.set`: how far agents may go on their own, in new sessions or in one."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import Autonomy, PresetName, RiskPolicy
from handrail.contract.outcome import Answer, NextCall, Success, make_from, refuse_argument
from handrail.contract.parameters import MintedId
from handrail.contract.tokens.confirm import refusal
from handrail.engine.events import PlannedEvent, Preferences, PreferencesChanged, PreferencesDelta, Scope
from handrail.engine.facts import DEFAULT_PREFERENCES, PRESETS, apply_delta, preferences_after
from handrail.engine.history import History
from handrail.engine.plans import plan_event
from handrail.operations.finding import find_session
from handrail.operations.report import read_preferences
from handrail.ports.workspace import Settings
from handrail.projections.overview import choose_run
from handrail.projections.run_graph import run_graphs
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts
from handrail.runtime.sessions import PlanWith, Session, decide_and_commit, require_healthy, wait_for_writer
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write


class Preset(Answer, frozen=True, kw_only=True):
    """A combination that people choose by name."""

    id: PresetName
    label: str
    text: str
    autonomy: Autonomy
    risk_policy: RiskPolicy


class Choice(Answer, frozen=True, kw_only=True):
    """A value of a preference, as people read it."""

    id: str
    label: str
    text: str


class Choices(Answer, frozen=True, kw_only=True):
    """Every value of each preference, the most careful first."""

    autonomy: tuple[Choice, ...]
    risk_policy: tuple[Choice, ...]


_WORDS: dict[PresetName, tuple[str, str]] = {
    "guided": ("Guided", "The agent waits for you where a step asks for a person, and takes no risks."),
    "full_auto_with_stops": (
        "Full auto with stops",
        "The agent goes on alone, and stops only for what nobody but you can give.",
    ),
    "full_auto": ("Full auto", "The agent never stops: what is missing becomes a gap that you see later."),
}
PRESET_ROWS = tuple(
    Preset(id=name, label=label, text=text, autonomy=held.autonomy, risk_policy=held.risk_policy)
    for name, held in PRESETS.items()
    for label, text in (_WORDS[name],)
)
CHOICES = Choices(
    autonomy=(
        Choice(id="guided", label="Guided", text="Confirmations wait for you; what is missing blocks."),
        Choice(
            id="full_auto_stop_on_user_deps",
            label="Full auto, stops for you",
            text="Confirmations are not asked for; what only you can give blocks.",
        ),
        Choice(
            id="full_auto_never_stop",
            label="Full auto, never stops",
            text="Nothing blocks; what is missing is recorded as a critical gap.",
        ),
    ),
    risk_policy=(
        Choice(id="conservative", label="Conservative", text="The agent is told to take the careful way."),
        Choice(
            id="balanced", label="Balanced", text="The agent is told to be quick where little can go wrong."
        ),
        Choice(
            id="aggressive",
            label="Aggressive",
            text="The agent is told to be quick, and to mend mistakes later.",
        ),
    ),
)


class ShowPreferences(Input, frozen=True, kw_only=True):
    """Whose preferences."""

    session: Maybe[Annotated[MintedId, Meta(description="Session id; default: those of new sessions.")]] = (
        UNSET
    )


class HeldPreferences(Answer, frozen=True, kw_only=True):
    """Both preferences."""

    autonomy: Autonomy
    risk_policy: RiskPolicy


class ShownPreferences(Answer, frozen=True, kw_only=True):
    """The preferences in one place, and whether somebody chose them."""

    scope: Literal["global", "session"]
    session_id: str | None
    run_id: str | None
    """The run that they are in force in: the one that the session is about; null where there is none."""
    autonomy: Autonomy
    risk_policy: RiskPolicy
    source: Literal["user", "run", "default"]
    """Who chose them: the user here, whoever started the run, or nobody."""
    new_runs: HeldPreferences
    """What a run begins with that asks for nothing else."""
    takes_effect: str
    preset: PresetName | None
    """The name of this combination, if it has one."""
    presets: tuple[Preset, ...] = PRESET_ROWS
    choices: Choices = CHOICES


def show_preferences(rt: ReadPorts, request: ShowPreferences) -> ShownPreferences | Success:
    """Raises Fault SESSION_NOT_FOUND, and E_CONFIG when the settings cannot be read."""
    if request.session is UNSET:
        return global_preferences(rt.settings.of())
    session = find_session(rt, request.session)
    return Success(data=msgspec.to_builtins(session_preferences(session.history)), notices=session.notices)


def global_preferences(settings: Settings) -> ShownPreferences:
    is_chosen = settings.autonomy is not None or settings.risk_policy is not None
    held = Preferences(
        autonomy=settings.autonomy or DEFAULT_PREFERENCES.autonomy,
        risk_policy=settings.risk_policy or DEFAULT_PREFERENCES.risk_policy,
    )
    return _show_held(
        held,
        held,
        scope="global",
        session_id=None,
        run_id=None,
        source="user" if is_chosen else "default",
        takes_effect="In sessions that begin from now on; running ones keep theirs.",
    )


def session_preferences(history: History) -> ShownPreferences:
    held, base = preferences_in_force(history), baseline_of(history)
    chosen = "default" if history.baseline is None else "user"
    return _show_held(
        held,
        base,
        scope="session",
        session_id=history.session_id,
        run_id=choose_run(history, run_graphs(history)),
        source=chosen if held == base else "run",
        takes_effect="From the next call on that continues, retries or saves.",
    )


def _show_held(held: Preferences, of_new_runs: Preferences, **own: Any) -> ShownPreferences:
    preset = next((name for name, one in PRESETS.items() if one == held), None)
    new_runs = make_from(HeldPreferences, of_new_runs)
    return make_from(ShownPreferences, held, new_runs=new_runs, preset=preset, **own)


def preferences_in_force(history: History) -> Preferences:
    """What the next call works with in the run that the session is about, else what a run begins with.

    A run that was started with its own preferences keeps them until somebody sets the session's.
    """
    graphs = run_graphs(history)
    run_id = choose_run(history, graphs)
    return (
        baseline_of(history) if run_id is None else preferences_after(history, graphs[run_id].preferred_tip)
    )


def baseline_of(history: History) -> Preferences:
    return DEFAULT_PREFERENCES if history.baseline is None else history.baseline.preferences


SHOW = Operation(
    name="preferences.show",
    effect="read",
    summary="Show how far agents may go on their own: in new sessions, or in one session.",
    input=ShowPreferences,
    output=ShownPreferences,
    perform=show_preferences,
    shape=Shape(levels={"minimal": ("autonomy", "risk_policy")}),
    errors=("SESSION_NOT_FOUND", "STORE_UNSUPPORTED_VERSION"),
)


# Setting them, from now on. Gated: shown first


_T = TypeVar("_T")
_GLOBAL = "global"
AUTONOMY, RISK_POLICY = "preferences.autonomy", "preferences.riskPolicy"
"""What the user's settings call them."""


class SetPreferences(GatedInput, frozen=True, kw_only=True):
    """Where, and what changes; what is left out stays."""

    session: Maybe[Annotated[MintedId, Meta(description="Session id; default: those of new sessions.")]] = (
        UNSET
    )
    preset: Maybe[Annotated[PresetName, Meta(description="Both at once, by the name of a preset.")]] = UNSET
    autonomy: Maybe[Annotated[Autonomy, Meta(description="How far to go without the user.")]] = UNSET
    risk_policy: Maybe[Annotated[RiskPolicy, Meta(description="How much risk to take.")]] = UNSET


def set_preferences(rt: WritePorts, request: SetPreferences) -> DryRun | Success:
    """Show or keep the change.

    Raises Fault E_VALIDATION when nothing is asked for, SESSION_NOT_FOUND, and what the gate raises.
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

    return preview_or_write(rt, SET, request, workspace="", resolve=resolve, write=write)


def _set_in_session(
    rt: WritePorts, request: SetPreferences, named: str, wanted: PreferencesDelta
) -> DryRun | Success:
    session = find_session(rt, named)
    require_healthy(session)  # a preview of what the confirmed call would refuse helps nobody

    def resolve() -> Plan[str]:
        history = session.history
        version = _version(history)
        before, is_set = preferences_in_force(history), _is_in_force(history, wanted)
        return _plan(history.session_id, before, wanted, version, version, is_set=is_set)

    def write(version: str) -> ShownPreferences:
        return session_preferences(_record(rt, session, wanted, version).history)

    def wait() -> None:
        wait_for_writer(rt, session.history.session_id)

    return preview_or_write(rt, SET, request, workspace="", resolve=resolve, write=write, wait=wait)


def _is_in_force(history: History, wanted: PreferencesDelta) -> bool:
    """Whether a new run begins so, and every run works so already: one that went back to an older step keeps
    that step's own.
    """
    after = apply_delta(preferences_in_force(history), wanted)
    if history.baseline is None or history.baseline.preferences != after:
        return False
    tips = (graph.preferred_tip for graph in run_graphs(history).values())
    return all(preferences_after(history, tip) == after for tip in tips)


def _version(history: History) -> str:
    """Bound is what is in force, not the head: a run that goes on meanwhile changes nothing here."""
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
    """The change as an event of the session: a later node takes it over.

    Raises Fault E_CONFLICT when somebody else set them meanwhile.
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


SET = Operation(
    name="preferences.set",
    effect="gated",
    summary="Set how far agents may go on their own: in new sessions, or in one session.",
    input=SetPreferences,
    output=ShownPreferences,
    perform=set_preferences,
    shape=Shape(levels={"minimal": ("autonomy", "risk_policy")}),
    errors=("SESSION_NOT_FOUND", "SESSION_LOCKED", "SESSION_NOT_HEALTHY", "STORE_UNSUPPORTED_VERSION"),
)
