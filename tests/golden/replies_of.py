"""Replies to a corpus of calls, byte for byte: what a change of the house may not change.

    python -m tests.golden.replies_of           after a change that is meant to change replies
    python -m tests.golden.replies_of FOLDER    writes every reply, so that those of two trees can be compared

The corpus: every bundled workflow as a robot walks it that makes the call each reply names, each call twice
and its place shown beside it; every way to be blocked; every operation of the registry without input.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Success
from handrail.contract.workflow_files import WorkflowFile
from handrail.host.workflow_library import DirectoryLibrary
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.workflows.builtins.contracts import CONTRACTS
from tests.conftest import GivenFiles, memory_runtime
from tests.filled_in import filled_in
from tests.journeys.interfaces import tool_call
from tests.journeys.test_blocked_robot import BLOCKS

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "replies.json")
MODES = ("guided", "full_auto_never_stop")
MOST_CALLS = 25
"""A walk that goes round and round ends here."""


EXAMPLES = {spec.example.get("kind"): spec.example for spec in CONTRACTS}


def digest(reply: bytes) -> str:
    return hashlib.sha256(reply).hexdigest()[:16]


def bundled_files() -> list[WorkflowFile]:
    with tempfile.TemporaryDirectory() as home:
        return [file for file in DirectoryLibrary(home).files(home) if file.source_kind == "bundled"]


def told(runtime: Runtime, tool: str, params: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """What a tool answers, as bytes, and as an agent reads it."""
    answer = tool_call(runtime, tool, **params)
    return answer.text.encode() + b"\n" + msgspec.json.encode(answer.structured), dict(answer.structured)


def with_examples(params: dict[str, Any]) -> dict[str, Any]:
    """An offered call as a robot fills it in: where a contract prints an example, its values."""
    filled = filled_in(params)
    artifacts = filled.get("output", {}).get("artifacts", [])
    artifacts[:] = [EXAMPLES.get(artifact.get("kind"), artifact) for artifact in artifacts]
    return dict(filled)


def correct(params: dict[str, Any], problems: Sequence[dict[str, Any]]) -> bool:
    """Puts the first allowed value where a refusal names the allowed ones; whether there was one."""
    corrected = False
    for problem in problems:
        allowed = re.match(r"one of (\w+)", str(problem.get("expected")))
        *above, name = problem["param"].split(".")
        held = params
        for key in above:
            held = held.get(key, {})
        if allowed and name in held:
            held[name], corrected = allowed[1], True
    return corrected


def walk(files: list[WorkflowFile], workflow_id: str, mode: str) -> Iterator[bytes]:
    """A robot makes every call that a reply names, with its own words in it, until none is named."""
    runtime = msgspec.structs.replace(memory_runtime(), library=GivenFiles(files))
    began = {"workflowId": workflow_id, "requestId": "r", "goal": "Keep it."}
    tool, params = "start_workflow", began | {"preferences": {"autonomy": mode}}
    for _ in range(MOST_CALLS):
        reply, structured = told(runtime, tool, params)
        yield reply
        yield told(runtime, tool, params)[0]
        call = structured.get("nextCall")
        if call:
            tool, params = call["tool"], with_examples(call["params"])
        elif not correct(params, structured.get("details", {}).get("problems", ())):
            break
    yield told(runtime, "resume_session", {})[0]


def stories() -> Iterator[tuple[str, list[bytes]]]:
    """Every story of the corpus: its name, and its replies in order."""
    files = bundled_files()
    for workflow_id in sorted(file.source_ref.removesuffix(".md") for file in files):
        for mode in MODES:
            yield f"{workflow_id} {mode}", list(walk(files, workflow_id, mode))
    for names, block in sorted(BLOCKS.items()):
        yield f"blocked {' '.join(names).strip()}", [msgspec.json.encode(block(memory_runtime()))]
    runtime = memory_runtime()
    for operation in sorted(runtime.registry.names):
        outcome = perform(runtime, operation, {})
        payload = payload_of(outcome) if isinstance(outcome, Success) else outcome
        yield f"bare {operation}", [msgspec.json.encode(payload)]


def record() -> dict[str, list[str]]:
    return {name: [digest(reply) for reply in replies] for name, replies in stories()}


def main(arguments: list[str]) -> None:
    if arguments:
        os.makedirs(arguments[0], exist_ok=True)
        for name, replies in stories():
            with open(os.path.join(arguments[0], name.replace("/", "_")), "wb") as file:
                file.write(b"\n\n".join(replies) + b"\n")
        return
    with open(RECORD, "w", encoding="utf-8") as text:
        text.write(
            "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in record().items()) + "\n}\n"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
