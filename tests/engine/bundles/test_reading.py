"""A bundle is taken whole or refused with the one code that says what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from handrail.contract.outcome import Fault
from handrail.engine.bundles.limits import MOST_BYTES, MOST_DEPTH, MOST_VALUES
from handrail.engine.bundles.reading import read_bundle
from handrail.engine.folding import fold
from tests.cases import every_case
from tests.engine.bundles.made import (
    Change,
    Document,
    body_of,
    changed,
    doubled,
    place_of,
    rechained,
    resealed,
    rich_bundle,
    without_event,
)


def check(text: str, code: str, path: str = "") -> None:
    with pytest.raises(Fault) as refused:
        read_bundle(text)

    assert refused.value.kind.code == code, refused.value.message
    assert refused.value.details.get("path", "").startswith(path), refused.value.details


def test_a_whole_bundle_gives_its_session() -> None:
    document = rich_bundle()

    read = read_bundle(json.dumps(document, indent=3))

    assert read.bundle_id == document["bundleId"]
    assert [json.loads(record.body) for record in read.records] == [
        event["body"] for event in document["session"]["events"]
    ]
    assert read.records[-1].digest == document["session"]["manifest"][-1]["digest"]
    assert read.history == fold(read.session_id, read.records)
    assert set(read.contents) == {
        *document["session"]["pinnedWorkflows"],
        *document["session"]["artifacts"],
    }


def _scalars(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of every text, number and flag."""
    if isinstance(value, dict):
        for key in value:
            yield from _scalars(value[key], (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _scalars(inner, (*path, place))
    else:
        yield path


def _code_of(text: str) -> str:
    """Empty when the bundle is taken."""
    try:
        read_bundle(text)
    except Fault as fault:
        return fault.kind.code
    return ""


INFORMATIONAL = {("exportedAt",), ("producer", "name"), ("producer", "version")}


@pytest.mark.thorough
def test_no_value_of_a_bundle_can_be_changed_unseen() -> None:
    """Every scalar of the document is changed in turn; only who wrote it and when is free."""
    places = [path for path in _scalars(rich_bundle()) if path not in INFORMATIONAL]
    unseen = []

    for path in places:
        document = rich_bundle()
        holder: Any = document
        for key in path[:-1]:
            holder = holder[key]
        old = holder[path[-1]]
        holder[path[-1]] = (not old) if isinstance(old, bool) else old + ("x" if isinstance(old, str) else 1)
        if _code_of(json.dumps(document))[:7] != "BUNDLE_":
            unseen.append(path)

    assert len(places) > 400
    assert unseen == []


def _removals(document: Document) -> Iterator[tuple[str, str]]:
    for name in document["session"]:
        yield "session", name
    for name in ("pinnedWorkflows", "artifacts", "snapshots"):
        yield from ((name, key) for key in document["session"][name])


@every_case(("holder", "key"), list(_removals(rich_bundle())))
def test_nothing_can_be_taken_out_of_a_bundle_unseen(holder: str, key: str) -> None:
    document = rich_bundle()
    del (document["session"] if holder == "session" else document["session"][holder])[key]

    with pytest.raises(Fault) as refused:
        read_bundle(json.dumps(document))

    assert refused.value.kind.code.startswith("BUNDLE_")


def _set(document: Document, *path: Any, value: Any) -> None:
    holder: Any = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value


def _swap(document: Document, name: str, left: int, right: int) -> None:
    listed = document["session"][name]
    listed[left], listed[right] = listed[right], listed[left]


def _drop_all(document: Document, name: str) -> None:
    document["session"][name] = {}


DAMAGED: list[tuple[Change, str, str]] = [
    (lambda d: d.pop("bundleSchemaVersion"), "BUNDLE_INVALID_FORMAT", "bundleSchemaVersion"),
    (lambda d: _set(d, "bundleSchemaVersion", value="1"), "BUNDLE_INVALID_FORMAT", "bundleSchemaVersion"),
    (lambda d: _set(d, "bundleSchemaVersion", value=3), "BUNDLE_UNSUPPORTED_VERSION", "bundleSchemaVersion"),
    (
        lambda d: _set(d, "bundleSchemaVersion", value=10**4000),
        "BUNDLE_INVALID_FORMAT",
        "bundleSchemaVersion",
    ),
    (lambda d: _set(d, "bundleSchemaVersion", value=2), "BUNDLE_INTEGRITY_FAILED", "bundleId"),
    (lambda d: d["session"].update(code={"sha256:0": ""}), "BUNDLE_INVALID_FORMAT", "session/code"),
    (lambda d: _set(d, "extra", value=1), "BUNDLE_INVALID_FORMAT", ""),
    (lambda d: _set(d, "session", value=[]), "BUNDLE_INVALID_FORMAT", "session"),
    (lambda d: _set(d, "session", "sessionId", value="../x"), "BUNDLE_INVALID_FORMAT", "session/sessionId"),
    (lambda d: _set(d, "integrity", "kind", value="md5"), "BUNDLE_INVALID_FORMAT", "integrity"),
    (lambda d: _set(d, "bundleId", value="bnd_other"), "BUNDLE_INTEGRITY_FAILED", "bundleId"),
    (lambda d: d["integrity"]["entries"].reverse(), "BUNDLE_INTEGRITY_FAILED", "bundleId"),
    (
        lambda d: d["integrity"]["entries"].append(d["integrity"]["entries"][0]),
        "BUNDLE_INVALID_FORMAT",
        "integrity",
    ),
    (lambda d: _drop_all(d, "pinnedWorkflows"), "BUNDLE_MISSING_PINNED_WORKFLOW", ""),
    (lambda d: _drop_all(d, "artifacts"), "BUNDLE_INTEGRITY_FAILED", "session/artifacts"),
    (
        lambda d: body_of(d, "observation_recorded").update(at="x"),
        "BUNDLE_INTEGRITY_FAILED",
        "session/events",
    ),
]


@every_case(("change", "code", "path"), DAMAGED)
def test_a_damaged_bundle_is_refused_by_name(change: Change, code: str, path: str) -> None:
    check(changed(change), code, path)


def _without_manifest_record(document: Document) -> None:
    document["session"]["manifest"].pop()


def _circle(document: Document) -> None:
    """Two nodes that follow from each other."""
    later = body_of(document, "node_created", 2)["scope"]["nodeId"]
    body_of(document, "node_created", 1)["data"]["parentNodeId"] = later


def _given_to_the_session(document: Document, content: str, **data: str) -> None:
    """The first output with this content loses its node and its run."""
    bodies = [event["body"] for event in document["session"]["events"]]
    body = next(body for body in bodies if content in body["data"] and "outputId" in body["data"])
    body["scope"].clear()
    body["data"] |= data


FORGED: list[tuple[Change, str]] = [
    (lambda d: _swap(d, "events", 3, 4), "BUNDLE_EVENT_ORDER_INVALID"),
    (_circle, "BUNDLE_EVENT_ORDER_INVALID"),
    (lambda d: without_event(d, place_of(d, "node_created")), "BUNDLE_EVENT_ORDER_INVALID"),
    (lambda d: without_event(d, 0), "BUNDLE_EVENT_ORDER_INVALID"),
    (lambda d: doubled(d, 0), "BUNDLE_EVENT_ORDER_INVALID"),
    (lambda d: without_event(d, place_of(d, "edge_created")), "BUNDLE_INVALID_FORMAT"),
    (lambda d: doubled(d, place_of(d, "edge_created")), "BUNDLE_INVALID_FORMAT"),
    (lambda d: doubled(d, place_of(d, "run_started")), "BUNDLE_INVALID_FORMAT"),
    (lambda d: doubled(d, place_of(d, "node_created")), "BUNDLE_INVALID_FORMAT"),
    (lambda d: doubled(d, place_of(d, "advance_recorded"), attemptId="zzzzzzz"), "BUNDLE_INVALID_FORMAT"),
    (lambda d: doubled(d, place_of(d, "node_output_appended")), "BUNDLE_INVALID_FORMAT"),
    (
        lambda d: body_of(d, "node_created", 1)["data"]["state"].update(stepId="nowhere"),
        "BUNDLE_INVALID_FORMAT",
    ),
    (
        lambda d: body_of(d, "node_created", 1)["data"]["state"].update(
            loops=[{"loopId": "fix", "iteration": 0}]
        ),
        "BUNDLE_INVALID_FORMAT",
    ),
    (lambda d: body_of(d, "node_created", 1)["scope"].update(runId="run_" + "0" * 12), "BUNDLE_EVENT_ORDER"),
    (
        lambda d: body_of(d, "observation_recorded")["scope"].update(
            runId=body_of(d, "run_started")["scope"]["runId"]
        ),
        "BUNDLE_EVENT_ORDER_INVALID",
    ),
    (
        lambda d: body_of(d, "observation_recorded")["scope"].update(body_of(d, "node_created")["scope"]),
        "BUNDLE_EVENT_ORDER_INVALID",
    ),
    (lambda d: body_of(d, "observation_recorded")["data"].update(key="worker"), "BUNDLE_INVALID_FORMAT"),
    (lambda d: body_of(d, "context_set")["scope"].update(runId="run_" + "0" * 12), "BUNDLE_INVALID_FORMAT"),
    (
        lambda d: body_of(d, "advance_recorded")["data"]["outcome"].update(toNodeId="node_" + "0" * 12),
        "BUNDLE_INVALID_FORMAT",
    ),
    (lambda d: body_of(d, "context_set")["scope"].pop("nodeId"), "BUNDLE_EVENT_ORDER_INVALID"),
    (lambda d: body_of(d, "node_output_appended")["scope"].pop("nodeId"), "BUNDLE_INVALID_FORMAT"),
    (lambda d: _given_to_the_session(d, "artifact", channel="recap"), "BUNDLE_INVALID_FORMAT"),
    (lambda d: body_of(d, "session_created").update(v=9), "BUNDLE_UNSUPPORTED_VERSION"),
    (lambda d: body_of(d, "session_created")["data"].update(kind="moved"), "BUNDLE_UNSUPPORTED_VERSION"),
    (lambda d: body_of(d, "session_created").update(at="yesterday"), "BUNDLE_INVALID_FORMAT"),
    (lambda d: _set(d, "session", "events", 0, "dedupeKey", value="A B"), "BUNDLE_INVALID_FORMAT"),
    (
        lambda d: body_of(d, "run_started")["data"].update(workflowHash="sha256:" + "0" * 64),
        "BUNDLE_MISSING_PINNED_WORKFLOW",
    ),
    (lambda d: _drop_all(d, "snapshots"), "BUNDLE_MISSING_SNAPSHOT"),
    (lambda d: _drop_all(d, "artifacts"), "BUNDLE_INTEGRITY_FAILED"),
    (_without_manifest_record, "BUNDLE_MANIFEST_ORDER_INVALID"),
    (lambda d: _set(d, "session", "manifest", 2, "eventIndex", value=7), "BUNDLE_MANIFEST_ORDER_INVALID"),
    (lambda d: _set(d, "session", "manifest", 0, "pins", value=["sha256:0"]), "BUNDLE_INTEGRITY_FAILED"),
    (lambda d: _set(d, "session", "snapshots", "sha256:0", value={}), "BUNDLE_INVALID_FORMAT"),
    (
        lambda d: _set(d, "session", "salvage", value={"health": "corrupt_tail", "reason": "x"}),
        "BUNDLE_INTEG",
    ),
]


@every_case(("change", "code"), FORGED)
def test_bundle_with_fitting_digests_is_still_judged(change: Change, code: str) -> None:
    with pytest.raises(Fault) as refused:
        read_bundle(rechained(change))

    assert refused.value.kind.code.startswith(code), refused.value.message


def test_two_events_cannot_state_one_fact() -> None:
    def repeat(document: Document) -> None:
        events = document["session"]["events"]
        events[1]["dedupeKey"] = events[0]["dedupeKey"]

    check(rechained(repeat), "BUNDLE_EVENT_ORDER_INVALID", "session/events/1")


def test_an_event_must_be_the_one_that_the_chain_proves() -> None:
    """The list of parts fits the changed events; the chain over them does not."""
    document = rich_bundle()
    body_of(document, "observation_recorded")["data"]["value"] = "another branch"

    check(resealed(document), "BUNDLE_INTEGRITY_FAILED", "session/events/1")


def test_pinned_workflow_must_have_the_content_of_its_hash() -> None:
    document = rich_bundle()
    (workflow,) = document["session"]["pinnedWorkflows"].values()
    workflow["name"] = "Another"

    check(resealed(document), "BUNDLE_INTEGRITY_FAILED", "session/pinnedWorkflows/")


def test_a_snapshot_must_be_the_position_that_its_name_says() -> None:
    document = rich_bundle()
    snapshot = next(iter(document["session"]["snapshots"].values()))
    snapshot["state"] = {"kind": "complete"}

    check(resealed(document), "BUNDLE_INTEGRITY_FAILED", "session/snapshots")


def test_long_notes_must_begin_with_their_excerpt() -> None:
    def lie(document: Document) -> None:
        for event in document["session"]["events"]:
            notes = event["body"]["data"].get("notes", {})
            if notes.get("kind") == "blob":
                notes["excerpt"] = "Something else."

    check(rechained(lie), "BUNDLE_INTEGRITY_FAILED", "session/artifacts")


def test_an_artifact_must_have_its_digest() -> None:
    def lie(document: Document) -> None:
        for event in document["session"]["events"]:
            if "artifact" in event["body"]["data"]:
                event["body"]["data"]["artifact"]["body"]["forged"] = True

    check(rechained(lie), "BUNDLE_INVALID_FORMAT", "session/events/")


NOT_JSON = [
    ("", "BUNDLE_INVALID_FORMAT"),
    ("[]", "BUNDLE_INVALID_FORMAT"),
    ("null", "BUNDLE_INVALID_FORMAT"),
    ('{"bundleSchemaVersion": 1, "bundleSchemaVersion": 1}', "BUNDLE_INVALID_FORMAT"),
    ('{"bundleSchemaVersion": NaN}', "BUNDLE_INVALID_FORMAT"),
    ('{"bundleSchemaVersion": 1e999}', "BUNDLE_INVALID_FORMAT"),
    ('{"bundleSchemaVersion": "\\ud800"}', "BUNDLE_INVALID_FORMAT"),
    ('{"bundleSchemaVersion": ' + "9" * 5000 + "}", "BUNDLE_INVALID_FORMAT"),
    ("\ufeff{}", "BUNDLE_INVALID_FORMAT"),
    ("\udcff", "BUNDLE_INVALID_FORMAT"),
    ("[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1), "BUNDLE_TOO_LARGE"),
    ("[" * 200_000, "BUNDLE_TOO_LARGE"),
    ("[" + "," * MOST_VALUES + "]", "BUNDLE_TOO_LARGE"),
    ('"' + "x" * MOST_BYTES + '"', "BUNDLE_TOO_LARGE"),
    ('"' + "é" * (MOST_BYTES // 2) + '"', "BUNDLE_TOO_LARGE"),
]


@every_case(("text", "code"), NOT_JSON)
def test_what_is_no_bundle_is_refused_early(text: str, code: str) -> None:
    check(text, code)


def test_an_integer_that_other_readers_would_round_is_refused() -> None:
    check(
        changed(lambda d: _set(d, "session", "events", 0, "eventIndex", value=2**60)), "BUNDLE_INVALID_FORMAT"
    )


def _lengthen_key(document: Document, length: int) -> None:
    event = document["session"]["events"][0]
    event["dedupeKey"] = event["dedupeKey"].ljust(length, "x")


def test_a_dedupe_key_at_its_limit_is_taken() -> None:
    read = read_bundle(rechained(lambda document: _lengthen_key(document, 256)))

    assert len(read.records[0].dedupe_key) == 256


def test_a_dedupe_key_above_its_limit_is_refused() -> None:
    text = rechained(lambda document: _lengthen_key(document, 257))

    check(text, "BUNDLE_INVALID_FORMAT", "session/events/0")


def test_notes_of_the_session_itself_are_taken() -> None:
    read = read_bundle(rechained(lambda document: _given_to_the_session(document, "notes")))

    assert len(read.history.session_notes) == 1
