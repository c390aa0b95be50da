"""Bundles for tests: one of a rich session, and the means to change a part and make the rest fit again."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from typing import Any

import msgspec
import rfc8785

from handrail.contract.json.canonical import chain_digest, genesis
from handrail.engine.bundles.document import integrity_entries, name_of
from tests.conftest import memory_runtime
from tests.journeys.conversation import answer
from tests.journeys.rich_session import rich_session

Document = dict[str, Any]
Change = Callable[[Document], None]


@cache
def _rich_text() -> str:
    runtime = memory_runtime()
    session_id = rich_session(runtime)["session"]["sessionId"]
    return json.dumps(answer(runtime, "session.export", sessionId=session_id)["content"])


def rich_bundle() -> Document:
    """A fresh copy."""
    document: Document = json.loads(_rich_text())
    return document


def changed(change: Change) -> str:
    """The rich bundle with a change and nothing else: what a damaged file is."""
    document = rich_bundle()
    change(document)
    return json.dumps(document)


def rechained(change: Change) -> str:
    """The same with every digest made to fit again: what a bundle written by a stranger may be."""
    document = rich_bundle()
    change(document)
    session = document["session"]
    digest = genesis(session["sessionId"])
    for event, proof in zip(session["events"], session["manifest"], strict=False):
        digest = chain_digest(digest, event["dedupeKey"], msgspec.json.encode(event["body"]))
        proof["digest"] = digest
    return resealed(document)


def resealed(document: Document) -> str:
    entries = integrity_entries(document["session"])
    document["integrity"]["entries"] = msgspec.to_builtins(entries)
    document["bundleId"] = name_of(entries)
    return json.dumps(document)


def repinned(document: Document, change: Change) -> None:
    """Change the pinned workflow, and everything that names it by its digest."""
    session = document["session"]
    ((old, workflow),) = session["pinnedWorkflows"].items()
    change(workflow)
    new = "sha256:" + sha256(rfc8785.dumps(workflow)).hexdigest()
    session["pinnedWorkflows"] = {new: workflow}
    names = {old: new}
    snapshots = {}
    for name, snapshot in session["snapshots"].items():
        snapshot["workflowHash"] = new
        names[name] = "sha256:" + sha256(rfc8785.dumps(snapshot)).hexdigest()
        snapshots[names[name]] = snapshot
    session["snapshots"] = snapshots
    for event in session["events"]:
        if event["body"]["data"]["kind"] == "run_started":
            event["body"]["data"]["workflowHash"] = new
    for proof in session["manifest"]:
        if "pins" in proof:
            proof["pins"] = [names.get(pin, pin) for pin in proof["pins"]]


def body_of(document: Document, kind: str, number: int = 0) -> Any:
    """The body of the n-th event of a kind."""
    events = [event["body"] for event in document["session"]["events"]]
    return [body for body in events if body["data"]["kind"] == kind][number]


def place_of(document: Document, kind: str, number: int = 0) -> int:
    """The index of the n-th event of a kind."""
    events = document["session"]["events"]
    return [place for place, event in enumerate(events) if event["body"]["data"]["kind"] == kind][number]


def without_event(document: Document, index: int) -> None:
    session = document["session"]
    for name in ("events", "manifest"):
        del session[name][index]
        for place, held in enumerate(session[name]):
            held["eventIndex"] = place


def doubled(document: Document, index: int, **data: Any) -> None:
    """Put a second event after the last one: as the one at `index`, with other data."""
    session = document["session"]
    event, proof = copy.deepcopy(session["events"][index]), copy.deepcopy(session["manifest"][index])
    event["dedupeKey"] += ":again"
    event["body"]["data"] |= data
    event["eventIndex"] = proof["eventIndex"] = len(session["events"])
    session["events"].append(event)
    session["manifest"].append(proof)
