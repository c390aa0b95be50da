"""What real commands answer, compared with the contract that we publish in `schemas/` (CLI 3.1)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.test_cli_contract import published
from tests.surfaces.cli.tool import Tool, strict_json

CONTRACT = published("contract.json")


@pytest.mark.promise("cli.envelope")
@pytest.mark.parametrize(
    "line", [["context"], ["session", "list"], ["nope"], ["session", "show", "ses_000000000000"]]
)
def test_an_answer_has_exactly_the_published_keys(tool: Tool, line: list[str]) -> None:
    document = strict_json(tool.run(*line).out)

    keys = CONTRACT["envelope"]
    assert list(document) == keys["success" if document["ok"] else "failure"]
    assert document["schema_version"] == CONTRACT["schema_version"]
    assert list(document.get("error", dict.fromkeys(keys["error"]))) == keys["error"]
    assert set(keys["meta"]["required"]) <= set(document["meta"])
    assert set(document["meta"]) <= {*keys["meta"]["required"], *keys["meta"]["optional"]}


@pytest.mark.thorough
@pytest.mark.promise("cli.contract-held")
def test_self_description_has_the_published_keys(tool: Tool) -> None:
    reference, context = tool.data("reference", "--mvi", "full"), tool.data("context")
    doctor, changelog = tool.data("doctor"), tool.data("changelog")
    told: dict[str, Any] = {
        "reference": reference,
        "reference_command": reference["commands"][0],
        "reference_schema": next(iter(reference["schemas"].values())),
        "release_readiness": reference["release_readiness"],
        "context": context,
        "doctor": doctor,
        "doctor_check": doctor["checks"][0],
        "changelog": changelog,
        "changelog_entry": dict.fromkeys(("version", "date", "changes")),  # nothing is released yet
    }

    assert set(told) == set(CONTRACT["self_description"])
    for name, keys in CONTRACT["self_description"].items():
        assert set(keys) <= set(told[name]), name


@pytest.mark.promise("cli.contract-held")
def test_every_declared_code_is_published_with_its_exit(tool: Tool) -> None:
    codes = tool.data("reference", "--mvi", "full")["error_codes"]
    own = published("contract-ext.json")["error_codes"]
    rows = CONTRACT["error_codes"]["core"] | own

    assert {code: (row["exit"], row["retryable"]) for code, row in codes.items()} == {
        code: (row["exit"], row["retryable"]) for code, row in rows.items()
    }


@pytest.mark.promise("cli.batch-of-one")
def test_batch_has_the_published_keys_for_one_and_several(fresh_tool: Tool) -> None:
    replies = [fresh_tool.data("run", "start", "wr.small_change", "--request-id", key) for key in "abc"]
    one, two, three = (reply["session"]["sessionId"] for reply in replies)
    shapes = CONTRACT["batch"]

    def deleted(*ids: str) -> Any:
        line = ["session", "delete", "--ids", ",".join(ids), "--dangerous", "--continue-on-error", "true"]
        token = fresh_tool.data(*line, "--dry-run")["confirm_token"]
        return fresh_tool.data(*line, "--confirm", token)

    alone, several = deleted(one), deleted(two, "ses_000000000000", three)

    for result in (alone, several):
        assert set(shapes["result"]) <= set(result)
        assert set(shapes["summary"]) <= set(result["summary"])
        assert all(set(shapes["item"]) <= set(item) for item in result["items"])
    assert set(alone) == set(several)
    failed = [item for item in several["items"] if not item["ok"]]
    assert [item["target"] for item in failed] == ["ses_000000000000"]
    assert set(shapes["item_error"]) <= set(failed[0]["error"])
