"""Presets: autonomy and risk policy by one name that people know."""

from __future__ import annotations

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.interfaces import command

# PACK, presets.
PRESETS = [
    ("guided", "Guided", "guided", "conservative"),
    ("full_auto_with_stops", "Full auto with stops", "full_auto_stop_on_user_deps", "balanced"),
    ("full_auto", "Full auto", "full_auto_never_stop", "conservative"),
]


@pytest.mark.parametrize(("name", "label", "autonomy", "risk"), PRESETS)
def test_a_preset_is_set_by_name_and_told_by_its_label(
    runtime: Runtime, name: str, label: str, autonomy: str, risk: str
) -> None:
    line = ("settings", "set", "--preset", name)
    token = command(runtime, *line, "--dry-run")[1]["data"]["confirm_token"]
    _, made = command(runtime, *line, "--confirm", token)
    _, shown = command(runtime, "settings", "show", "--preferences")

    assert (made["data"]["autonomy"], made["data"]["risk_policy"]) == (autonomy, risk)
    assert shown["data"]["preset"] == name
    (row,) = [one for one in shown["data"]["presets"] if one["id"] == name]
    assert (row["label"], row["autonomy"], row["risk_policy"]) == (label, autonomy, risk)
    assert row["text"].endswith(".")


def test_every_value_of_a_preference_has_a_label_and_a_sentence(runtime: Runtime) -> None:
    choices = command(runtime, "settings", "show", "--preferences")[1]["data"]["choices"]

    assert [one["id"] for one in choices["autonomy"]] == [
        "guided",
        "full_auto_stop_on_user_deps",
        "full_auto_never_stop",
    ]
    assert [one["id"] for one in choices["risk_policy"]] == ["conservative", "balanced", "aggressive"]
    assert all(one["label"] and one["text"] for rows in choices.values() for one in rows)


def test_a_run_begins_with_a_preset_as_with_what_it_stands_for(runtime: Runtime) -> None:
    line = ("run", "start", "project.three_steps", "--request-id", "once")
    _, begun = command(runtime, *line, "--preset", "full_auto_with_stops")
    _, again = command(
        runtime, *line, "--autonomy", "full_auto_stop_on_user_deps", "--risk-policy", "balanced"
    )
    status, refused = command(runtime, *line, "--preset", "guided", "--autonomy", "guided")

    assert begun["data"]["preferences"] == {
        "autonomy": "full_auto_stop_on_user_deps",
        "riskPolicy": "balanced",
    }
    assert again["data"] == begun["data"]
    assert (status, refused["error"]["details"]["domain_code"]) == (2, "VALIDATION_ERROR")


def test_a_preset_beside_what_it_sets_is_refused(runtime: Runtime) -> None:
    status, document = command(
        runtime, "settings", "set", "--preset", "guided", "--autonomy", "guided", "--dry-run"
    )

    assert (status, document["error"]["code"]) == (2, "E_VALIDATION")
