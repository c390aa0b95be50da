"""Settings are set by name after a preview; a rule is loosened by a person and tightened by anyone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Failure
from handrail.host.settings import LocalSettings
from handrail.program.doctor.packed_settings import list_packed
from handrail.program.doctor.set_setting import LOOK, loosens
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import answer
from tests.journeys.test_confirmations import at_console

PIN = {"kind": "git", "path": "/flows", "ref": "0" * 40}


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    return msgspec.structs.replace(memory_runtime(), settings=LocalSettings(str(tmp_path), {}))


def try_setting(rt: Runtime, key: str, value: str) -> Any:
    """What the confirmed call answers, or why it was refused."""
    shown = perform(rt, "settings.set", {"key": key, "value": value, "dryRun": True})
    if isinstance(shown, Failure):
        return shown
    assert isinstance(shown.data, dict)
    token = shown.data["confirm_token"]
    return perform(rt, "settings.set", {"key": key, "value": value, "confirm": token})


def kept(tmp_path: Path) -> Any:
    return json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))


def test_setting_of_the_look_is_set_by_anyone(runtime: Runtime, tmp_path: Path) -> None:
    for key, value in (("output.format", "text"), ("retentionDays", "30"), ("keptSessions", '["ses_1"]')):
        assert try_setting(runtime, key, value).data["source"] == ""
    assert kept(tmp_path) == {"keptSessions": ["ses_1"], "output": {"format": "text"}, "retentionDays": 30}

    try_setting(runtime, "output.format", "null")

    assert kept(tmp_path)["output"] == {}
    assert runtime.settings.of().retention_days == 30


def test_rule_is_tightened_by_anyone_and_loosened_by_a_person(runtime: Runtime, tmp_path: Path) -> None:
    assert try_setting(runtime, "confirmations", "person").data["after"] == "person"

    alone = try_setting(runtime, "confirmations", "claimed")
    unwilling = try_setting(seat(runtime, Person("n")), "confirmations", "claimed")

    assert [one.kind.code for one in (alone, unwilling)] == ["E_HUMAN_REQUIRED"] * 2
    assert alone.details["action"] == "handrail settings set confirmations claimed --dry-run"
    assert kept(tmp_path) == {"confirmations": "person"}
    person = Person("y")
    assert try_setting(seat(runtime, person), "confirmations", "claimed").data["source"] == "terminal"
    assert 'It is "person" and would be "claimed", which loosens a rule' in person.shown[0]
    assert try_setting(at_console(runtime), "plugins", '["flows"]').data["source"] == "console"
    assert kept(tmp_path) == {"confirmations": "claimed", "plugins": ["flows"]}


@pytest.mark.parametrize(
    ("name", "before", "after", "is_looser"),
    [
        ("maxEffect", None, "write", False),
        ("maxEffect", "read", None, True),
        ("update.verify", None, True, False),
        ("update.index", None, "https://a.test/", True),
        ("workflowSources", [PIN], [], False),
        ("workflowSources", None, [PIN], True),
        ("code.snapshots", None, "off", True),
        ("auditReads", True, False, False),
    ],
)
def test_what_loosens_a_rule(runtime: Runtime, name: str, before: Any, after: Any, is_looser: bool) -> None:
    (one,) = [one for one in list_packed(runtime) if one.name == name]

    assert loosens(one, before, after) is is_looser


def test_every_setting_of_the_look_exists(runtime: Runtime) -> None:
    known = {one.name: one for one in list_packed(runtime)}

    assert set(LOOK) <= set(known)
    assert loosens(msgspec.structs.replace(known["maxEffect"], name="notify"), None, [])


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("retentonDays", "3", 'There is no setting "retentonDays".'),
        ("checks", "{}", "checks is a setting of projects"),
        ("retentionDays", "0", "The setting retentionDays cannot have this value"),
        ("output.format", "xml", "cannot have this value: allowed are json, text."),
        ("idleMinutes", "0", "cannot have this value: it takes a whole number of at least 1."),
        ("idleMinutes", "soon", "it takes a whole number."),
        ("output.compact", "3", "it takes true or false."),
        ("confirmations", "nobody", 'allowed are "claimed" and "person"'),
        ("workflowSources", '[{"kind": "git", "path": "/x", "ref": "main"}]', "is not pinned"),
    ],
)
def test_what_cannot_be_set_is_refused_before_the_preview(
    runtime: Runtime, tmp_path: Path, key: str, value: str, told: str
) -> None:
    refused = try_setting(runtime, key, value)

    assert refused.kind.code == "VALIDATION_ERROR"
    assert told in refused.message
    assert not (tmp_path / "config.json").exists()


def test_one_of_two_changes_from_the_same_value_is_made(runtime: Runtime, tmp_path: Path) -> None:
    asked = {"key": "auditMonths", "value": "3"}
    token = answer(runtime, "settings.set", **asked, dryRun=True)["confirm_token"]
    (tmp_path / "config.json").write_text('{"auditMonths": 5}', encoding="utf-8")

    refused = perform(runtime, "settings.set", {**asked, "confirm": token})

    assert isinstance(refused, Failure)
    assert refused.details["reason"] == "target_changed"


def test_a_person_loosens_the_limit_that_a_program_set(runtime: Runtime) -> None:
    assert try_setting(runtime, "maxEffect", "read").data["after"] == "read"

    again = try_setting(runtime, "retentionDays", "30")
    alone = try_setting(runtime, "maxEffect", "dangerous")
    told = try_setting(seat(runtime, Person("y")), "maxEffect", "dangerous")

    assert [one.kind.code for one in (again, alone)] == ["E_FORBIDDEN", "E_HUMAN_REQUIRED"]
    assert told.data["after"] == "dangerous"
