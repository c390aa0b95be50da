"""Capabilities as a stranger tries them: observed, claimed, lost, settled."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.strangers.execution.flows_a import (
    ack,
    again,
    blockers,
    codes,
    observation,
    pending,
    report,
    run_of,
    session,
    step,
    store,
    strings,
    workflow,
)
from tests.journeys.strangers.product import Product

NEVER_STOP = {"autonomy": "full_auto_never_stop"}


def needing(product: Product, name: str = "needing", **capabilities: str) -> str:
    return product.workflow(workflow(name, step("work"), step("end"), capabilities=capabilities))


@pytest.mark.promise("capabilities.closed-set")
def test_a_workflow_that_names_another_capability_cannot_be_started(product: Product) -> None:
    workflow_id = needing(product, delegation="preferred", file_write="required")
    with product.serve() as server:
        refused = server.call("start_workflow", workflowId=workflow_id)
        listed = server.call("list_workflows", query="needing")
    checked = product.run("workflow", "validate", f".handrail/workflows/{workflow_id}.json")

    assert refused.is_error
    assert [name for name in store(product) if "/sessions/" in name] == []
    assert workflow_id not in [item["id"] for item in listed.structured["items"]]
    assert checked.status != 0
    assert "file_write" in checked.out
    assert "delegation" in checked.out
    assert "web_browsing" in checked.out


@pytest.mark.promise("capabilities.closed-set")
@pytest.mark.parametrize("name", ["browsing", "Web_Browsing", "web-browsing", "", None])
def test_an_observation_of_a_capability_that_does_not_exist_counts_for_nothing(
    product: Product, name: Any
) -> None:
    workflow_id = needing(product, web_browsing="required")
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        found = report(server, started, "Tried.", observation() | {"capability": name})

    assert found.structured["kind"] == "blocked"
    assert pending(found) == "probe_web_browsing"
    assert set(run_of(product, started)["capabilities"].values()) <= {"unknown"}


@pytest.mark.promise("capabilities.hashed")
def test_the_hash_of_a_workflow_changes_with_what_it_requires_and_with_nothing_else_here(
    product: Product,
) -> None:
    def hashed(**capabilities: str) -> str:
        workflow_id = needing(product, **capabilities)
        return str(
            server.call("start_workflow", workflowId=workflow_id).structured["workflow"]["workflowHash"]
        )

    with product.serve() as server:
        none = hashed()
        preferred = hashed(web_browsing="preferred")
        required = hashed(web_browsing="required")
        other = hashed(delegation="required")
        both = hashed(delegation="required", web_browsing="required")
        turned = hashed(web_browsing="required", delegation="required")

    assert len({none, preferred, required, other, both}) == 5
    assert both == turned


@pytest.mark.promise("capabilities.recorded")
def test_an_observation_is_in_the_log_and_still_holds_in_a_process_that_did_not_see_it(
    product: Product,
) -> None:
    workflow_id = needing(product, web_browsing="required", delegation="preferred")
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        work = report(server, started, "Tried.", observation(provenance="probe_step"))
        end = report(
            server, work, "Alone.", observation("delegation", "unavailable", provenance="attempted_use")
        )
    with product.serve() as server:
        read = again(server, end)
        complete = report(server, read, "Done.")

    events = product.data("session", "events", session(started))["items"]
    recorded = [event["data"] for event in events if "capability" in strings(event["data"])]
    run = run_of(product, started)
    assert {(held["capability"], held["status"]) for held in recorded if "status" in held} >= {
        ("web_browsing", "available"),
        ("delegation", "unavailable"),
    }
    assert run["capabilities"] == {"web_browsing": "available", "delegation": "unavailable"}
    assert "CAPABILITY_UNAVAILABLE" in codes(read)
    assert complete.structured["isComplete"] is True


@pytest.mark.promise("capabilities.required")
def test_both_required_capabilities_are_probed_before_the_first_authored_step(product: Product) -> None:
    workflow_id = needing(product, web_browsing="required", delegation="required")
    with product.serve() as server:
        reply = server.call("start_workflow", workflowId=workflow_id)
        probes = []
        while pending(reply) != "work":
            probes.append(pending(reply))
            empty = report(server, reply, "Skipped it.")
            assert blockers(empty) == ["MISSING_REQUIRED_OUTPUT"]
            assert "example" in empty.structured
            wanted = str(pending(reply)).removeprefix("probe_")
            other = "delegation" if wanted == "web_browsing" else "web_browsing"
            crossed = report(server, empty, "", observation(other))
            assert crossed.structured["kind"] == "blocked"
            reply = report(server, crossed, "Tried.", observation(wanted))
            assert len(probes) < 4

    assert sorted(map(str, probes)) == ["probe_delegation", "probe_web_browsing"]


@pytest.mark.promise("capabilities.required")
def test_the_example_of_a_probe_is_about_the_capability_that_is_probed(product: Product) -> None:
    workflow_id = needing(product, delegation="required")
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        blocked = report(server, started, "Skipped it.")

    assert blocked.structured["example"]["capability"] == "delegation"
    assert "example.org" not in blocked.structured["example"]["summary"], started.text


@pytest.mark.promise("capabilities.required")
def test_a_required_capability_that_fails_later_stops_the_run_and_the_offered_call_has_room_for_the_cure(
    product: Product,
) -> None:
    workflow_id = needing(product, web_browsing="required")
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        work = report(server, started, "Tried.", observation())
        stopped = report(
            server, work, "Broke.", observation(status="unavailable", provenance="attempted_use")
        )
        read = server.call(stopped.structured["nextCall"]["tool"], **stopped.structured["nextCall"]["params"])
        offered = read.structured["nextCall"]["params"]
        cured = report(server, read, "Works again.", observation(provenance="attempted_use"))

    assert blockers(stopped) == ["REQUIRED_CAPABILITY_UNAVAILABLE"]
    assert pending(stopped) == "work"
    assert pending(cured) == "end"
    kinds = [artifact["kind"] for artifact in offered.get("output", {}).get("artifacts", [])]
    assert kinds == ["wr.capability_observation"], read.text


@pytest.mark.promise("capabilities.tried")
def test_a_claim_opens_the_step_neither_at_the_probe_nor_by_checkpoint_nor_after_a_failure(
    product: Product,
) -> None:
    workflow_id = needing(product, web_browsing="required")
    claim = observation(provenance="manual_claim")
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        claimed = report(server, started, "It works, surely.", claim)
        token = claimed.structured["checkpointToken"]
        saved = server.call("checkpoint_workflow", checkpointToken=token, output={"artifacts": [claim]})
        after = report(server, saved, "As I said.")
        failed = report(server, after, "", observation(status="unavailable"))
        again_claimed = report(server, again(server, failed), "Now it works.", claim)
        tried = report(server, again_claimed, "", observation(provenance="probe_step"))

    assert blockers(claimed) == ["REQUIRED_CAPABILITY_UNKNOWN"]
    assert [reply.structured["kind"] for reply in (after, failed, again_claimed)] == ["blocked"] * 3
    assert pending(again_claimed) == "probe_web_browsing"
    assert pending(tried) == "work"


@pytest.mark.promise("capabilities.tried")
def test_a_gap_about_an_unknown_capability_is_not_open_once_it_was_tried_and_works(product: Product) -> None:
    workflow_id = needing(product, web_browsing="required")
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        token = started.structured["checkpointToken"]
        claim = [observation(provenance="manual_claim")]
        saved = server.call("checkpoint_workflow", checkpointToken=token, output={"artifacts": claim})
        work = report(server, saved, "Tried.", observation(provenance="probe_step"))
        complete = report(server, report(server, work, "Done."), "Done.")

    assert run_of(product, started)["capabilities"] == {"web_browsing": "available"}
    assert "still unknown" not in complete.text, complete.text


@pytest.mark.promise("capabilities.required")
def test_an_observation_that_a_checkpoint_brought_is_not_called_missing_by_the_report(
    product: Product,
) -> None:
    workflow_id = needing(product, web_browsing="required")
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        token = started.structured["checkpointToken"]
        seen = [observation(provenance="probe_step")]
        saved = server.call("checkpoint_workflow", checkpointToken=token, output={"artifacts": seen})
        found = report(server, saved, "Tried, as I saved.")

    assert run_of(product, started)["capabilities"] == {"web_browsing": "available"}
    assert "none came" not in found.text, found.text


@pytest.mark.promise("capabilities.never-stop")
@pytest.mark.parametrize(
    "sent",
    [
        [],
        [observation(status="unavailable")],
        [observation(provenance="manual_claim")],
        [observation("delegation")],
    ],
)
def test_never_stop_goes_on_without_the_capability_and_keeps_a_critical_gap(
    product: Product, sent: list[dict[str, Any]]
) -> None:
    workflow_id = needing(product, web_browsing="required")
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id, preferences=NEVER_STOP)
        work = report(server, started, "Went on.", *sent)
        complete = report(server, report(server, work, "Worked."), "Ended.")

    gaps = run_of(product, started)["gaps"]
    assert pending(work) == "work"
    assert "GAP_RECORDED" in codes(work)
    assert [(gap["severity"], gap["is_open"]) for gap in gaps] == [("critical", True)]
    assert gaps[0]["id"] in work.text
    assert "1 open gap" in complete.text
    assert product.data("session", "show", session(started))["status"] == "complete_with_gaps"


@pytest.mark.promise("capabilities.preferred")
def test_a_missing_preferred_capability_warns_and_neither_probes_blocks_nor_leaves_a_gap(
    product: Product,
) -> None:
    workflow_id = needing(product, delegation="preferred", web_browsing="preferred")
    missing = [
        observation(name, "unavailable", provenance="attempted_use")
        for name in ("delegation", "web_browsing")
    ]
    with product.serve() as server:
        started = server.call("start_workflow", workflowId=workflow_id)
        end = report(server, started, "Did it one after the other.", *missing)
        complete = report(server, end, "Done.")

    run = run_of(product, started)
    assert pending(started) == "work"
    assert pending(end) == "end"
    assert codes(end).count("CAPABILITY_UNAVAILABLE") == 2
    assert "delegation" in end.text
    assert run["gaps"] == []
    assert run["capabilities"] == {"delegation": "unavailable", "web_browsing": "unavailable"}
    assert complete.structured["isComplete"] is True
    assert ack(started)
