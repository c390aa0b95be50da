"""Bundles: what they hold, where they may go, and what they never do."""

from __future__ import annotations

import json

import pytest

from tests.journeys.strangers.execution.flows_b import (
    FINDINGS,
    ack,
    bring,
    codes,
    document,
    events,
    export,
    follow,
    other_home,
    reread,
    session_of,
    start,
    steps,
    stored,
    three,
)
from tests.journeys.strangers.product import Product


def story(product: Product, session: str) -> object:
    """What a session tells, without what names its place."""
    shown = product.data("session", "show", session)
    runs = [
        {
            key: run[key]
            for key in ("status", "graph", "gaps", "divergences", "notes", "fork_count", "artifacts")
        }
        for run in shown["runs"]
    ]
    return json.loads(json.dumps({"goal": shown["goal"], "status": shown["status"], "runs": runs}))


def eventful(product: Product) -> str:
    """A session with a fork, a blocked try, a checkpoint, a gap, a divergence and a large note."""
    look = {
        "id": "look",
        "title": "Look",
        "prompt": "L.",
        "output": {"contractRef": "wr.contracts.review_findings"},
    }
    workflow = product.workflow(document("project.e", [look, *steps(2)]))
    gap = {"kind": "wr.gap", "severity": "warning", "summary": "Something is open."}
    away = {"kind": "wr.workflow_divergence", "reason": "safety_stop", "summary": "Left it."}
    with product.serve() as server:
        begun = start(server, workflow, goal="An eventful one ü")
        second = ack(server, ack(server, begun, "first"), "L" * 60_000, FINDINGS, gap, away)
        server.call(
            "checkpoint_workflow",
            checkpointToken=second.structured["checkpointToken"],
            output={"notesMarkdown": "saved"},
        )
        ack(server, second, "went on")
        ack(server, reread(server, second), "forked")
    return session_of(begun)


@pytest.mark.promise("bundle.round-trip")
def test_an_eventful_session_tells_the_same_story_on_another_home_and_after_a_second_journey(
    product: Product,
) -> None:
    session = eventful(product)
    other, third = other_home(product, "other"), other_home(product, "third")

    first = bring(other, export(product, session, "a.json"))["session_id"]
    second = bring(third, export(other, first, "b.json"))["session_id"]

    assert story(other, first) == story(product, session)
    assert story(third, second) == story(product, session)
    report = [
        p.run("session", "export", s, "--as", "markdown", "--format", "raw").out.split("### Provenance")[0]
        for p, s in ((product, session), (other, first))
    ]
    assert report[0].split("### The way")[1] == report[1].split("### The way")[1]


@pytest.mark.promise("bundle.resumable")
def test_an_imported_session_is_finished_without_its_workflow_file_with_the_call_that_import_gives(
    product: Product,
) -> None:
    session = eventful(product)
    other = other_home(product, "other")
    answer = bring(other, export(product, session, "a.json"))
    with other.serve() as server:
        found = follow(server, answer["next_call"])
        reply = follow(server, found.structured["items"][0]["nextCall"])
        told = codes(reply)
        while not reply.structured["isComplete"]:
            reply = ack(server, reply, "here")
        shown = other.data("session", "show", answer["session_id"])["runs"][0]

    assert found.structured["items"][0]["sessionId"] == answer["session_id"]
    assert "SESSION_IMPORTED" in told
    assert shown["status"] in ("complete", "complete_with_gaps")
    assert other.data("store", "verify")


@pytest.mark.promise("bundle.import-as-new")
def test_the_same_bundle_again_after_the_session_moved_on_is_a_new_session_and_nothing_is_merged(
    product: Product,
) -> None:
    workflow = three(product)
    other = other_home(product, "other")
    with product.serve() as server:
        begun = start(server, workflow, goal="the goal")
        ack(server, begun, "at home")
    bundle = export(product, session_of(begun), "a.json")
    first = bring(other, bundle)["session_id"]
    with other.serve() as server:
        item = server.call("resume_session").structured["items"][0]
        ack(server, follow(server, item["nextCall"]), "moved on elsewhere")
    before = stored(other, first)

    second = bring(other, bundle)
    third = bring(other, bundle, "--as-new")
    fourth = bring(other, bundle, "--as-new")

    ids = [first, second["session_id"], third["session_id"], fourth["session_id"]]
    assert len(set(ids)) == 4, ids
    assert stored(other, first) == before
    assert all(answer["is_imported"] for answer in (second, third, fourth))
    assert all("moved on" not in json.dumps(story(other, name)) for name in ids[1:])


@pytest.mark.promise("bundle.tokens-stay")
def test_no_token_is_in_a_bundle_and_those_of_the_source_change_no_byte_of_a_copy_in_either_home(
    product: Product,
) -> None:
    workflow = three(product)
    other = other_home(product, "other")
    with product.serve() as server:
        begun = start(server, workflow)
        tip = ack(server, begun, "n")
    bundle = export(product, session_of(begun), "a.json")
    text = bundle.read_text(encoding="utf-8")
    tokens = [r.structured[k] for r in (begun, tip) for k in ("stateToken", "ackToken", "checkpointToken")]
    elsewhere = bring(other, bundle)["session_id"]
    copy = bring(product, bundle)["session_id"]
    before = stored(other, elsewhere)
    twin = stored(product, copy)
    with other.serve() as server:
        refused = [
            server.call("continue_workflow", stateToken=tip.structured["stateToken"]),
            ack(server, tip, "n"),
            server.call(
                "checkpoint_workflow",
                checkpointToken=tip.structured["checkpointToken"],
                output={"notesMarkdown": "n"},
            ),
        ]
    with product.serve() as server:
        mine = ack(server, tip, "on the source")

    assert not any(token in text for token in tokens)
    assert "keyring" not in text
    assert '"current"' not in text
    assert all(reply.is_error for reply in refused)
    assert stored(other, elsewhere) == before
    assert stored(product, copy) == twin
    assert session_of(mine) == session_of(begun)


@pytest.mark.promise("bundle.versioned")
def test_two_exports_are_the_same_bytes_and_a_later_or_missing_version_imports_nothing(
    product: Product,
) -> None:
    session = eventful(product)
    other = other_home(product, "other")

    first, second = (
        json.loads(export(product, session, name).read_text(encoding="utf-8"))
        for name in ("a.json", "b.json")
    )
    texts = [(product.project / name).read_bytes() for name in ("a.json", "b.json")]

    assert texts[0] == texts[1] or first.pop("exportedAt") != second.pop("exportedAt")
    assert first["bundleSchemaVersion"] == 1
    for version in (2, "1", None, 99):
        path = product.project / "later.json"
        path.write_text(json.dumps(first | {"bundleSchemaVersion": version}), encoding="utf-8")
        refused = other.error("session", "import", str(path), "--dry-run")
        assert "BUNDLE_" in json.dumps(refused), refused
    assert not (other.home / "data" / "sessions").exists()


@pytest.mark.promise("bundle.versioned")
def test_a_bundle_is_the_same_bytes_every_time_while_the_session_is_the_same(product: Product) -> None:
    session = eventful(product)

    first, second = (export(product, session, name).read_bytes() for name in ("a.json", "b.json"))

    assert first == second


@pytest.mark.promise("bundle.contents")
def test_a_bundle_holds_every_event_output_and_pinned_workflow_and_one_changed_letter_is_refused(
    product: Product,
) -> None:
    session = eventful(product)
    other = other_home(product, "other")
    bundle = export(product, session, "a.json")
    text = bundle.read_text(encoding="utf-8")
    parsed = json.loads(text)
    path = product.project / "changed.json"

    assert len(parsed["session"]["events"]) == len(events(product, session))
    assert "L" * 60_000 in text
    assert "An eventful one ü" in text
    pinned = json.dumps(parsed["session"]["pinnedWorkflows"])
    assert "Do part 2." in pinned
    assert "review_findings" in pinned
    assert {entry["path"].split("/")[1] for entry in parsed["integrity"]["entries"]} >= {
        "events",
        "manifest",
        "pinnedWorkflows",
        "snapshots",
    }
    for old, new in (("Something is open.", "Nothing is open."), ("Do part 2.", "Do part 3.")):
        path.write_text(text.replace(old, new), encoding="utf-8")
        refused = other.error("session", "import", str(path), "--dry-run")
        assert "INTEGRITY" in json.dumps(refused)
    path.write_text(text[: len(text) // 2], encoding="utf-8")
    assert "BUNDLE_INVALID_FORMAT" in json.dumps(other.error("session", "import", str(path), "--dry-run"))
    assert not (other.home / "data" / "sessions").exists()
