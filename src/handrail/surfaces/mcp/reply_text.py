"""The reply of a run as text that is complete without its structured copy. Pure.

Most important first, because clients cut long results at the end: the step, the calls, then the recap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from handrail.contract.outcome import Json
from handrail.surfaces.mcp.fence import fenced, one_line

_BEFORE_CALL = {
    "perform_pending_then_continue": "When done",
    "await_user_confirmation": "Ask the user to confirm, then",
    "rehydrate_only": "Only reading is possible",
}


def reply_text(reply: dict[str, Any]) -> str:
    """What start, continue and checkpoint answer."""
    return "\n".join(
        [
            *_blocked(reply),
            *_step(reply),
            "",
            *_warnings(reply),
            *_calls(reply),
            *_standing(reply),
            *_recap(reply.get("recap") or {}),
        ]
    )


def call_text(tool: str, params: dict[str, Json]) -> str:
    """A call as agents write it."""
    return f"{tool} {msgspec.json.encode(params).decode()}"


def _blocked(reply: dict[str, Any]) -> Iterator[str]:
    if reply.get("kind") != "blocked":
        return
    yield "Blocked: this is not a failure. Fix what is named here, then call again."
    for blocker in reply.get("blockers", ()):
        pointer = ", ".join(f"{key} {value}" for key, value in blocker["pointer"].items())
        yield f"- {blocker['code']} ({one_line(pointer)}): {one_line(blocker['message'])}"
        if "suggestedFix" in blocker:
            yield f"  fix: {one_line(blocker['suggestedFix'])}"
    if reply.get("retryable") is False:
        yield "No new input can help here."


def _step(reply: dict[str, Any]) -> Iterator[str]:
    pending = reply.get("pending")
    if pending is None:
        yield "Complete: no step is left."
    else:
        yield f"Step: {one_line(pending['title'])} ({pending['stepId']})"
        yield pending["prompt"]


def _warnings(reply: dict[str, Any]) -> Iterator[str]:
    for warning in reply.get("warnings", ()):
        token = f" {warning['correctedToken']}" if "correctedToken" in warning else ""
        yield f"Warning {warning['code']}: {one_line(warning['message'])}{token}"


def _calls(reply: dict[str, Any]) -> Iterator[str]:
    call = reply.get("nextCall")
    if call is not None:
        params = dict(call["params"])
        if "ackToken" in params:
            params["output"] = {"notesMarkdown": "…"}
        yield f"{_BEFORE_CALL[reply['nextIntent']]}: {call_text(call['tool'], params)}"
    recovery = []
    if "stateToken" in reply:
        rehydrate = call_text("continue_workflow", {"stateToken": reply["stateToken"]})
        recovery.append(f"Lost context: {rehydrate}")
    if "checkpointToken" in reply:
        recovery.append(f"Save progress: checkpointToken {reply['checkpointToken']}")
    if recovery:
        yield "    ".join(recovery)


def _standing(reply: dict[str, Any]) -> Iterator[str]:
    parts = []
    if "session" in reply:
        parts.append(f"Session {reply['session']['sessionId']}, run {reply['session']['runId']}")
    if "preferences" in reply:
        parts.append(", ".join(reply["preferences"].values()))
    if "project" in reply:
        parts.append(f"project {one_line(reply['project'])}")
    if parts:
        yield " · ".join(parts)


def _recap(recap: dict[str, Any]) -> Iterator[str]:
    if recap.get("entries"):
        yield "\nRecap, oldest first:"
        yield from map(_entry, recap["entries"])
    if recap.get("children"):
        yield "\nThis step was done before. Branches that exist:"
        yield from map(_branch, recap["children"])
    if recap.get("downstream"):
        yield "\nWhat followed on the preferred branch, oldest first:"
        yield from map(_entry, recap["downstream"])
    if recap.get("truncated"):
        yield f"Omitted {recap['omitted']} earlier entries, {recap['policy']}."


def _entry(entry: dict[str, Any]) -> str:
    kind = "checkpoint in" if entry.get("isCheckpoint") else "notes of"
    return fenced(entry["notes"], f"{kind} step {entry['stepId']} ({entry['title']}), node {entry['nodeId']}")


def _branch(child: dict[str, Any]) -> str:
    preferred = "preferred, " if child["isPreferred"] else ""
    pending = child["pendingStepId"] or "nothing"
    line = f"- node {child['nodeId']}: {preferred}{child['status']}, pending {pending}"
    if not child.get("notes"):
        return line
    return line + "\n" + fenced(child["notes"], f"notes at node {child['nodeId']}")
