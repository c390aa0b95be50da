"""How much agents may do on their own: the presets, and the preferences in force."""

from __future__ import annotations

from typing import Any

from handrail.contract.outcome import make_from
from handrail.engine.events import Preferences
from handrail.engine.facts import DEFAULT_PREFERENCES, PRESETS, preferences_after
from handrail.engine.history import History
from handrail.ports.workspace import Settings
from handrail.projections.overview import choose_run
from handrail.projections.run_graph import run_graphs
from handrail.views.preferences import (
    HeldPreferences,
    ShownPreferences,
)


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
    """Return the preferences of the next call in the session's current run, else those of a new run.

    A run that was started with its own preferences keeps them until the session's are set.
    """
    graphs = run_graphs(history)
    run_id = choose_run(history, graphs)
    return (
        baseline_of(history) if run_id is None else preferences_after(history, graphs[run_id].preferred_tip)
    )


def baseline_of(history: History) -> Preferences:
    return DEFAULT_PREFERENCES if history.baseline is None else history.baseline.preferences
