"""Builtins as plain data."""

from __future__ import annotations

import json

import pytest

from handrail.workflows.builtins.description import describe_builtin
from handrail.workflows.builtins.registry import all_builtins, find_contract, find_feature, find_template
from handrail.workflows.builtins.specs import Builtin


@pytest.mark.parametrize("builtin", all_builtins(), ids=lambda each: each.id)
def test_every_builtin_is_described_in_json_with_its_example(builtin: Builtin) -> None:
    found = describe_builtin(builtin)

    assert list(found)[:4] == ["kind", "id", "title", "summary"]
    assert list(found)[-1] == "example"
    assert json.loads(json.dumps(found)) == found


def test_arguments_are_described_as_an_author_would_declare_them() -> None:
    template = find_template("wr.templates.capability_probe")
    assert template is not None

    found = describe_builtin(template)

    assert found["kind"] == "template"
    assert found["args"] == {
        "capability": {
            "type": "string",
            "enum": ["delegation", "web_browsing"],
            "required": True,
            "description": "The capability to try.",
        }
    }
    assert found["example"]["steps"][0]["args"] == {"capability": "web_browsing"}


def test_settings_and_contracts_say_what_can_be_written() -> None:
    feature = find_feature("wr.features.durable_recap_guidance")
    contract = find_contract("wr.contracts.loop_control")
    assert feature is not None
    assert contract is not None

    assert describe_builtin(feature)["config"]["maxLines"]["enum"] == [10, 20, 40, 80]
    assert describe_builtin(contract)["fields"][0] == "decision: one of continue, stop"
    assert describe_builtin(contract)["artifact"]["kind"] == "wr.loop_control"
