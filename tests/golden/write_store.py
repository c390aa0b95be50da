"""Writes a golden store: `python -m tests.golden.write_store VERSION`, once per release, never again.

Beside the home directory, `home/`, it writes `calls.json`: every call with the reply it got. Keys, ids
and time are fixed; a golden store is read by all later versions, so it is not written anew.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import msgspec

from handrail.event_log.files.log import FileLog
from handrail.host.keyring import FileKeyring
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import CountingRandomness, memory_runtime

STORES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stores")


def runtime_on(home: str) -> Runtime:
    """A runtime whose answers depend on nothing but the store."""
    randomness = CountingRandomness()
    return msgspec.structs.replace(
        memory_runtime(),
        log=FileLog(os.path.join(home, "data")),
        keys=FileKeyring(home, randomness),
        randomness=randomness,
    )


def story(runtime: Runtime) -> list[dict[str, Any]]:
    """A run with an advance, long notes, a checkpoint and a fork; and a session that is complete."""
    calls: list[dict[str, Any]] = []

    def call(operation: str, **params: Any) -> Any:
        outcome: Any = perform(runtime, operation, params)
        calls.append({"operation": operation, "params": params, "reply": outcome.data})
        return outcome.data

    first = call("run.start", workflowId="project.three_steps", requestId="golden", goal="Keep this")
    second = call("run.continue", ackToken=first["ackToken"], output={"notesMarkdown": "Did the first."})
    long = {"notesMarkdown": "Long notes, long enough for a blob. " * 120}
    third = call("run.continue", ackToken=second["ackToken"], output=long, context={"ticket": "T-1"})
    call("run.checkpoint", checkpointToken=third["checkpointToken"], output={"notesMarkdown": "Half way."})
    other: Any = perform(runtime, "run.continue", {"stateToken": first["stateToken"]})
    call("run.continue", ackToken=other.data["ackToken"], output={"notesMarkdown": "Another way."})
    reply = call("run.start", workflowId="project.three_steps", requestId="golden-complete")
    while "ackToken" in reply:
        reply = call("run.continue", ackToken=reply["ackToken"], output={"notesMarkdown": "Done."})
    return calls


def main(version: str) -> None:
    """Refuses to touch a store that exists."""
    place = os.path.join(STORES, version)
    os.makedirs(place)
    calls = story(runtime_on(os.path.join(place, "home")))
    with open(os.path.join(place, "calls.json"), "w", encoding="utf-8") as file:
        json.dump(json.loads(msgspec.json.encode(calls)), file, indent=1, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
