"""Names and hashes of workflows: who may have which id, what is listed how, and what a hash pins."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785

from handrail.contract.ids import BlobRef
from handrail.runtime.runtime import Runtime
from tests.conftest import THREE_STEPS, library_of
from tests.journeys.conversation import advance, answer, refusal, start
from tests.journeys.given_workflows import A_DECISION, WITH_DECISION, give, step
from tests.journeys.test_blocked import report, shown


def add(runtime: Runtime, workflow_id: str, **fields: Any) -> None:
    document = {"id": workflow_id, "name": "Given", "description": "For a journey.", "steps": [step("do")]}
    library_of(runtime).add(json.dumps(document | fields).encode(), f"{workflow_id}.json")


def pinned(runtime: Runtime, workflow_id: str, **params: Any) -> tuple[str, bytes]:
    """The hash a run names, and the compiled workflow that is stored under it."""
    run = shown(runtime, start(runtime, workflowId=workflow_id, **params))
    return run["workflow_hash"], runtime.log.get_blob(BlobRef(run["workflow_hash"]))


@pytest.mark.promise("workflows.id-format")
@pytest.mark.parametrize("workflow_id", ["Project.one", "a.b.c", "1a.b", ".b", "a.", "a b.c", "pro ject"])
def test_a_new_id_of_another_form_is_refused(runtime: Runtime, workflow_id: str) -> None:
    add(runtime, workflow_id)

    made = refusal(runtime, "workflow.new", workflowId=workflow_id, dryRun=True)
    listed = [item["id"] for item in answer(runtime, "workflow.list")["items"] if not item.get("problems")]

    assert made.kind.exit_status == 2
    assert workflow_id not in listed


@pytest.mark.promise("workflows.id-format")
@pytest.mark.parametrize("workflow_id", ["project.auth_review", "team.on-boarding", "a.b", "a1.b2"])
def test_two_lower_case_words_with_one_dot_are_an_id(runtime: Runtime, workflow_id: str) -> None:
    add(runtime, workflow_id)

    assert start(runtime, workflowId=workflow_id)["pending"]["stepId"] == "do"


@pytest.mark.promise("workflows.legacy-runs")
def test_workflow_with_an_old_id_runs_with_a_warning(runtime: Runtime) -> None:
    add(runtime, "bug-investigation")

    reply = start(runtime, workflowId="bug-investigation")
    (row,) = answer(runtime, "workflow.list", query="bug-investigation")["items"]
    looked_at = answer(runtime, "workflow.inspect", workflowId="bug-investigation")["workflow"]
    made = refusal(runtime, "workflow.new", workflowId="another-one", dryRun=True)

    assert [warning["code"] for warning in reply["warnings"]] == ["WORKFLOW_ID_LEGACY", "WORKFLOW_FIRST_RUN"]
    assert "project.bug-investigation" in reply["warnings"][0]["message"]
    assert (row["idStatus"], row["suggestedId"]) == ("legacy", "project.bug-investigation")
    assert looked_at["suggestedId"] == "project.bug-investigation"
    assert made.kind.code == "WORKFLOW_ID_LEGACY"
    assert advance(runtime, reply)["isComplete"]


@pytest.mark.promise("workflows.list-order")
def test_the_list_is_sorted_by_namespace_kind_and_name(runtime: Runtime) -> None:
    for workflow_id, kind in (
        ("team.b", "workflow"),
        ("project.z", "workflow"),
        ("project.a", "routine"),
        ("old-one", "workflow"),
        ("project.b", "workflow"),
    ):
        add(runtime, workflow_id, kind=kind)

    rows = answer(runtime, "workflow.list")["items"]

    assert [(row["id"], row["kind"], row["idStatus"]) for row in rows] == [
        ("old-one", "workflow", "legacy"),
        ("project.b", "workflow", "namespaced"),
        ("project.three_steps", "workflow", "namespaced"),
        ("project.z", "workflow", "namespaced"),
        ("project.a", "routine", "namespaced"),
        ("team.b", "workflow", "namespaced"),
    ]


@pytest.mark.promise("workflows.routines")
def test_routines_are_listed_beside_workflows_and_can_be_started(runtime: Runtime) -> None:
    add(runtime, "project.small", kind="routine")

    rows = {row["id"]: row["kind"] for row in answer(runtime, "workflow.list")["items"]}
    only = [row["id"] for row in answer(runtime, "workflow.list", kind="routine")["items"]]

    assert rows == {"project.small": "routine", "project.three_steps": "workflow"}
    assert only == ["project.small"]
    assert start(runtime, workflowId="project.small")["pending"]["stepId"] == "do"


@pytest.mark.promise("start.hash", "canonical.one-form")
def test_run_names_the_digest_of_its_compiled_workflow(runtime: Runtime) -> None:
    name, content = pinned(runtime, "project.three_steps")

    assert name.removeprefix("sha256:") == hashlib.sha256(content).hexdigest()
    assert rfc8785.dumps(json.loads(content)) == content
    assert json.loads(content)["id"] == "project.three_steps"


VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "another prompt": {"steps": [step("do", prompt="Do something else.")]},
    "a contract": {"steps": [step("do", **WITH_DECISION)]},
    "a template": {
        "steps": [step("do"), {"type": "template_call", "templateId": "wr.templates.verification_pass"}]
    },
    "a feature": {"features": ["wr.features.durable_recap_guidance"]},
    "an input": {"inputs": {"size": {"type": "string"}}},
    "a recommendation": {"recommended": {"autonomy": "guided"}},
}


@pytest.mark.promise("start.hash-covers")
def test_hash_covers_steps_templates_features_and_contracts(runtime: Runtime) -> None:
    hashes = {}
    for number, (name, fields) in enumerate(VARIANTS.items()):
        add(runtime, f"project.v{number}", **fields)
        content = json.loads(pinned(runtime, f"project.v{number}")[1])
        del content["id"]
        hashes[name] = hashlib.sha256(rfc8785.dumps(content)).hexdigest()

    assert len(set(hashes.values())) == len(VARIANTS)


@pytest.mark.promise("start.hash-covers")
def test_the_hash_does_not_change_with_the_form_of_the_file(runtime: Runtime) -> None:
    one = pinned(runtime, "project.three_steps")[0]
    library_of(runtime).held.clear()
    turned = dict(reversed(json.loads(THREE_STEPS).items()))
    library_of(runtime).add(json.dumps(turned, indent=7).encode(), "elsewhere.json")

    assert pinned(runtime, "project.three_steps")[0] == one


@pytest.mark.promise("contracts.pinned")
def test_a_run_keeps_the_contract_it_was_started_with(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = give(runtime, step("decide", **WITH_DECISION), step("do"))
    first = start(runtime, workflowId=workflow_id)
    _, content = pinned(runtime, workflow_id)

    monkeypatch.setattr("handrail.workflows.builtins.templates._CONTRACTS", {})
    blocked = report(runtime, first["ackToken"])
    after = report(runtime, blocked["retryAckToken"], A_DECISION)

    assert "wr.contracts.decision" in json.loads(content)["contracts"]
    assert blocked["blockers"][0]["pointer"]["contractRef"] == "wr.contracts.decision"
    assert after["pending"]["stepId"] == "do"
