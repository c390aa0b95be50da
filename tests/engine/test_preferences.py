"""Preferences: which hold at a node, what a start and a changed baseline do, and what is too daring."""

from __future__ import annotations

from handrail.contract.ids import Autonomy, RiskPolicy
from handrail.engine.events import Preferences
from handrail.engine.facts import cap_preferences
from handrail.workflows.compiled import Recommended
from tests.cases import every_case
from tests.engine.written_log import step, workflow_of


def told(preferences: Preferences) -> tuple[str, str]:
    return (preferences.autonomy, preferences.risk_policy)


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
def test_highest_safe_combination_lowers_only_what_is_too_high(
    recommended: tuple[Autonomy | None, RiskPolicy | None],
    chosen: tuple[Autonomy, RiskPolicy],
    safest: tuple[str, str] | None,
) -> None:
    workflow = workflow_of(
        step("a"), recommended=Recommended(autonomy=recommended[0], risk_policy=recommended[1])
    )

    found = cap_preferences(workflow, Preferences(autonomy=chosen[0], risk_policy=chosen[1]))

    assert (None if found is None else told(found)) == safest
