"""Settings: who may set what, what a broken file answers, and that other people's keys survive."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.catalogue import E_CONFIG
from handrail.contract.outcome import Fault
from handrail.host.settings import LocalSettings
from handrail.ports.workspace import Settings


def written(directory: Path, document: Any) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(document)
    (directory / "config.json").write_text(text, encoding="utf-8")


def test_without_files_every_default_is_in_force(tmp_path: Path) -> None:
    settings = LocalSettings(str(tmp_path / "home"), {})

    assert settings.of(str(tmp_path / "project")) == Settings()
    assert not (tmp_path / "home").exists()


def test_the_user_decides_everything(tmp_path: Path) -> None:
    written(
        tmp_path,
        {
            "startSession": True,
            "maxEffect": "write",
            "retentionDays": 7,
            "keptSessions": ["s_1"],
            "auditReads": True,
            "auditMonths": 3,
            "preferences": {"autonomy": "guided", "riskPolicy": "aggressive"},
            "output": {"format": "text", "envelope": "lafs", "compact": True},
            "update": {"index": "https://example.org/simple", "verify": True},
            "workflowSources": [],
        },
    )

    assert LocalSettings(str(tmp_path), {}).of() == Settings(
        start_session=True,
        max_effect="write",
        retention_days=7,
        kept_sessions=("s_1",),
        audit_reads=True,
        audit_months=3,
        autonomy="guided",
        risk_policy="aggressive",
        output_format="text",
        output_envelope="lafs",
        is_compact=True,
        update_index="https://example.org/simple",
        verify_updates=True,
    )


def test_a_project_sets_how_answers_look_and_nothing_else(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    written(home, {"output": {"format": "text", "envelope": "lafs"}, "maxEffect": "read"})
    written(
        project / ".handrail",
        {"output": {"format": "json"}, "maxEffect": "dangerous", "startSession": True, "auditMonths": 1},
    )

    settings = LocalSettings(str(home), {}).of(str(project))

    assert settings == Settings(output_format="json", output_envelope="lafs", max_effect="read")


@pytest.mark.parametrize(
    ("configured", "variable", "expected"),
    [
        ("dangerous", "", "dangerous"),
        ("dangerous", "read", "read"),
        ("write", "dangerous", "write"),
        ("read", "write", "read"),
    ],
)
def test_the_environment_can_only_lower_the_ceiling(
    tmp_path: Path, configured: str, variable: str, expected: str
) -> None:
    written(tmp_path, {"maxEffect": configured})

    assert LocalSettings(str(tmp_path), {"HANDRAIL_MAX_EFFECT": variable}).of().max_effect == expected


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{", "config.json"),
        ("[]", "not one JSON object"),
        ({"retentionDays": 0}, "retentionDays"),
        ({"retentionDays": "90"}, "retentionDays"),
        ({"maxEffect": "all"}, "maxEffect"),
        ({"preferences": {"autonomy": "bold"}}, "preferences.autonomy"),
        ({"output": {"colour": True}}, "colour"),
        ("x" * 70_000, "config.json"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path: Path, document: Any, said: str) -> None:
    written(tmp_path, document)
    settings = LocalSettings(str(tmp_path), {})

    with pytest.raises(Fault) as caught:
        settings.of()

    assert caught.value.kind is E_CONFIG
    assert said in caught.value.message
    assert [said in problem.message for problem in settings.problems()] == [True]


def test_a_variable_that_means_nothing_is_refused(tmp_path: Path) -> None:
    settings = LocalSettings(str(tmp_path), {"HANDRAIL_MAX_EFFECT": "none"})

    with pytest.raises(Fault) as caught:
        settings.of()

    assert caught.value.details["setting"] == "HANDRAIL_MAX_EFFECT"
    assert [problem.place for problem in settings.problems()] == ["HANDRAIL_MAX_EFFECT"]


def test_an_unknown_name_changes_nothing_and_is_said(tmp_path: Path) -> None:
    written(tmp_path, {"retentionDay": 5, "plugins": []})
    settings = LocalSettings(str(tmp_path), {})

    assert settings.of() == Settings()
    assert [(problem.place, problem.fix) for problem in settings.problems()] == [
        ("config.json retentionDay", "Write retentionDays instead.")
    ]


def test_unread_setting_is_named_without_an_offer(tmp_path: Path) -> None:
    """A setting that nothing reads is named and no other is offered for it."""
    written(tmp_path, {"nope": 1})

    (problem,) = LocalSettings(str(tmp_path), {}).problems()

    assert problem.message.endswith('has a setting that nothing reads: "nope".')
    assert problem.fix.startswith("Remove it; known here: ")


def test_preferences_are_kept_and_other_keys_stay(tmp_path: Path) -> None:
    written(tmp_path, {"plugins": ["p"], "preferences": {"riskPolicy": "balanced"}, "unknown": 1})
    settings = LocalSettings(str(tmp_path), {})

    assert settings.keep({"preferences.autonomy": "full_auto_never_stop"}, {"preferences.autonomy": None})

    kept = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert kept == {
        "plugins": ["p"],
        "preferences": {"autonomy": "full_auto_never_stop", "riskPolicy": "balanced"},
        "unknown": 1,
    }
    assert os.stat(tmp_path / "config.json").st_mode & 0o777 == 0o600


def test_one_of_two_changes_of_the_same_preferences_counts(tmp_path: Path) -> None:
    written(tmp_path, {"preferences": {"riskPolicy": "balanced"}})
    one, two = (LocalSettings(str(tmp_path), {}) for _ in range(2))
    shown = {"preferences.autonomy": None, "preferences.riskPolicy": "balanced"}

    is_set = [
        one.keep({"preferences.autonomy": "guided"}, shown),
        two.keep({"preferences.riskPolicy": "aggressive"}, shown),
    ]

    assert is_set == [True, False]
    assert (two.of().autonomy, two.of().risk_policy) == ("guided", "balanced")


def test_preferences_never_replace_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    written(tmp_path, "{ half")

    with pytest.raises(Fault):
        LocalSettings(str(tmp_path), {}).keep({"preferences.autonomy": "guided"}, {})

    assert (tmp_path / "config.json").read_text(encoding="utf-8") == "{ half"


def test_a_directory_in_place_of_the_file_is_named_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()

    with pytest.raises(Fault, match=r"config\.json cannot be used: it is not a regular file\.") as caught:
        LocalSettings(str(tmp_path), {}).of()

    assert caught.value.kind is E_CONFIG


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            {"confirmations": "claimed"},
            'confirmations: only "person" is allowed here: a project may only tighten',
        ),
        ({"code": {"snapshots": "always"}}, 'code.snapshots: only "off" is allowed here'),
        ({"checks": {"t": {"command": "pytest -q"}}}, "command: write a list of words"),
        (
            {"checks": {"t": {"command": ["a"], "report": "r.xml"}}},
            'report: write {"path": "build/junit.xml"',
        ),
        (
            {"checks": {"t": {"command": ["a"], "report": {"path": "/r.xml"}}}},
            "write a path inside the project",
        ),
    ],
)
def test_a_mistaken_value_is_told_with_what_is_allowed(tmp_path: Path, document: Any, said: str) -> None:
    (tmp_path / ".handrail").mkdir()
    (tmp_path / ".handrail" / "config.json").write_text(json.dumps(document), encoding="utf-8")

    (problem,) = LocalSettings(str(tmp_path / "home"), {}).problems(str(tmp_path))

    assert said in problem.message
    assert "regex" not in problem.message
