"""Preferences: which hold at a node, what a start and a changed baseline do, and what is too daring."""

from __future__ import annotations

from handrail.contract.ids import Autonomy, RiskPolicy
from handrail.engine.events import Preferences, PreferencesChanged, PreferencesDelta, Scope
from handrail.engine.facts import cap_preferences, preferences_at
from handrail.engine.plans import plan_event
from handrail.workflows.compiled import Recommended
from tests.cases import every_case
from tests.engine.written_log import SESSION_ID, WrittenLog, step, workflow_of

NEVER = PreferencesDelta(autonomy="full_auto_never_stop")


def told(preferences: Preferences) -> tuple[str, str]:
    return (preferences.autonomy, preferences.risk_policy)


def set_baseline(log: WrittenLog, autonomy: Autonomy, risk: RiskPolicy, number: int = 1) -> None:
    """What `preferences.set` records for a whole session."""
    change = PreferencesChanged(
        change_id=f"prf_{number}",
        source="user",
        operation="preferences.set",
        delta=PreferencesDelta(autonomy=autonomy, risk_policy=risk),
        effective=Preferences(autonomy=autonomy, risk_policy=risk),
    )
    log.take([plan_event(f"preferences_changed:{SESSION_ID}:{number}", Scope(), change)])


def test_a_baseline_set_in_between_applies_from_the_next_node_on() -> None:
    log = WrittenLog("a", "b", "c", "d")
    first = log.start()
    second = log.advance(first)
    set_baseline(log, "full_auto_never_stop", "balanced")
    third = log.advance(second)
    fourth = log.advance(third)

    modes = [preferences_at(log.history, node.node_id).autonomy for node in (first, second, third, fourth)]
    assert modes == ["guided", "guided", "full_auto_never_stop", "full_auto_never_stop"]
    changes = [node for node in (second, third, fourth) if log.history.attached[node.node_id].preferences]
    assert changes == [third]


def test_a_baseline_from_before_does_not_undo_what_the_user_asked_for() -> None:
    log = WrittenLog()
    set_baseline(log, "guided", "conservative")
    first = log.start(preferences=NEVER)

    second = log.advance(first)

    assert preferences_at(log.history, second.node_id).autonomy == "full_auto_never_stop"


@every_case(
    ("recommended", "chosen", "safest"),
    [
        ((None, None), ("full_auto_never_stop", "aggressive"), None),
        (("guided", None), ("guided", "aggressive"), None),
        (("guided", None), ("full_auto_never_stop", "balanced"), ("guided", "balanced")),
        (("full_auto_stop_on_user_deps", "balanced"), ("guided", "aggressive"), ("guided", "balanced")),
        (("full_auto_never_stop", "conservative"), ("full_auto_never_stop", "conservative"), None),
    ],
)
def test_the_highest_safe_combination_lowers_only_what_is_too_high(
    recommended: tuple[Autonomy | None, RiskPolicy | None],
    chosen: tuple[Autonomy, RiskPolicy],
    safest: tuple[str, str] | None,
) -> None:
    workflow = workflow_of(
        step("a"), recommended=Recommended(autonomy=recommended[0], risk_policy=recommended[1])
    )

    found = cap_preferences(workflow, Preferences(autonomy=chosen[0], risk_policy=chosen[1]))

    assert (None if found is None else told(found)) == safest
