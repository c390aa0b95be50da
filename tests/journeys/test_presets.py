"""Presets: autonomy and risk policy by one name that people know."""

from __future__ import annotations

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.doors import command

# PACK, presets.
PRESETS = [
    ("guided", "Guided", "guided", "conservative"),
    ("full_auto_with_stops", "Full auto with stops", "full_auto_stop_on_user_deps", "balanced"),
    ("full_auto", "Full auto", "full_auto_never_stop", "conservative"),
]


@pytest.mark.promise("truth.presets")
@pytest.mark.parametrize(("name", "label", "autonomy", "risk"), PRESETS)
def test_a_preset_is_set_by_name_and_told_by_its_label(
    runtime: Runtime, name: str, label: str, autonomy: str, risk: str
) -> None:
    line = ("preferences", "set", "--preset", name)
    token = command(runtime, *line, "--dry-run")[1]["data"]["confirm_token"]
    _, made = command(runtime, *line, "--confirm", token)
    _, shown = command(runtime, "preferences", "show")

    assert (made["data"]["autonomy"], made["data"]["risk_policy"]) == (autonomy, risk)
    assert shown["data"]["preset"] == name
    assert {"id": name, "label": label, "autonomy": autonomy, "risk_policy": risk} in shown["data"]["presets"]


@pytest.mark.promise("truth.presets")
def test_a_preset_beside_what_it_sets_is_refused(runtime: Runtime) -> None:
    status, document = command(
        runtime, "preferences", "set", "--preset", "guided", "--autonomy", "guided", "--dry-run"
    )

    assert (status, document["error"]["code"]) == (2, "E_VALIDATION")
