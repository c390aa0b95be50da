"""How far agents may go on their own: the presets, and what is in force."""

from __future__ import annotations

from typing import Any, Literal

from handrail.contract.ids import Autonomy, PresetName, RiskPolicy
from handrail.contract.outcome import Answer, make_from
from handrail.engine.events import Preferences
from handrail.engine.facts import DEFAULT_PREFERENCES, PRESETS, preferences_after
from handrail.engine.history import History
from handrail.ports.workspace import Settings
from handrail.projections.overview import choose_run
from handrail.projections.run_graph import run_graphs


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
        Choice(id="conservative", label="Conservative", text="A workflow asks you before it writes files."),
        Choice(
            id="balanced",
            label="Balanced",
            text="A workflow writes files unasked; you can undo it.",
        ),
        Choice(
            id="aggressive",
            label="Aggressive",
            text="The same, and the agent takes the direct way and notes what it left unchecked.",
        ),
    ),
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
