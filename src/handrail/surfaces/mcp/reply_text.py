"""The reply of a run as text that is complete without its structured copy. Pure.

The most important part comes first, because clients cut long results at the end: step, calls, then
recap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from handrail.contract.fence import drop_invisible, fence_text, flatten_text
from handrail.contract.outcome import Json
from handrail.contract.wording import end_sentence
from handrail.engine.judge.report_frame import TO_FILL_IN
from handrail.engine.messages import explain_all, spell_purpose
from handrail.engine.reply import SHOWN_FIRST

_BEFORE_CALL = {
    ("ok", "perform_pending_then_continue"): "When done",
    ("ok", "await_user_confirmation"): "Ask the user to confirm, then",
    ("ok", "rehydrate_only"): "Only reading is possible",
    ("blocked", "perform_pending_then_continue"): "When fixed",
    ("blocked", "await_user_confirmation"): "Ask the user for what is named above, then",
    ("blocked", "rehydrate_only"): "Once that has changed",
}
_BEFORE_OPTIONS = {
    "perform_pending_then_continue": "Choose one option and make its call:",
    "await_user_confirmation": "Ask the user to choose one option, then make its call:",
    "rehydrate_only": "The options, none of which can be taken now:",
}
_BESIDE_CHILDREN = "Instead of doing it again, you may make the call of an option:"


def reply_text(reply: dict[str, Any]) -> str:
    """Return the text for what start, continue and checkpoint answer."""
    return "\n".join(
        [
            *_warnings(reply, is_first=True),
            *_blocked(reply),
            *_step(reply),
            "",
            *_warnings(reply, is_first=False),
            *_calls(reply),
            *_standing(reply),
            *_place(reply),
            *recap_lines(reply.get("recap") or {}),
        ]
    )


def session_text(reply: dict[str, Any]) -> str:
    """Return the text of an answer about a session itself, without a step."""
    recap = reply.get("recap") or {}
    lines = [
        *_warnings(reply, is_first=True),
        f"{_session(reply['session']) if 'session' in reply else 'A session'}. No step is pending.",
        *_warnings(reply, is_first=False),
        *_session_calls(reply),
        *([f"Project {flatten_text(reply['project'])}"] if "project" in reply else []),
    ]
    for run in reply.get("runs", ()):
        lines.append(f"Run {run['runId']} of {run['workflowId']}, {run['status']}: {_call(run['nextCall'])}")
    lines += [fence_text(entry["notes"], f"notes {entry['outputId']}") for entry in recap.get("entries", ())]
    if recap.get("truncated"):
        lines.append(f"Omitted {recap['omitted']} earlier entries, {recap['policy']}.")
    return "\n".join(lines)


def _session_calls(reply: dict[str, Any]) -> Iterator[str]:
    """Yield the calls for a session itself; for a damaged one only calls that read."""
    call = reply["nextCall"]
    if call is None:
        return
    joining: dict[str, Json] = {"workflowId": TO_FILL_IN, "session": reply["sessionToken"]}
    yield f"Keep notes: {_call(call)}"
    yield f"Begin a run in it: {call_text('start_workflow', joining)}"


def call_text(tool: str, params: dict[str, Json]) -> str:
    """Return a call as agents write it."""
    return f"{tool} {msgspec.json.encode(params).decode()}"


def _blocked(reply: dict[str, Any]) -> Iterator[str]:
    if reply.get("kind") != "blocked":
        return
    if reply.get("retryable") is False:
        yield "Blocked: this is not a failure, and no other report would help. What must change first:"
    else:
        yield "Blocked: this is not a failure."
    yield from _blockers(reply.get("blockers", ()), reply.get("issues", ()))
    if "example" in reply:
        yield _example(reply["example"])


def _example(example: dict[str, Any]) -> str:
    shown = drop_invisible(msgspec.json.encode(example).decode())
    return f"An artifact that would be accepted, once it has your own values: {shown}"


def _blockers(blockers: Iterable[dict[str, Any]], issues: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield what blocks the report, each with its faults and its fix; then the faults that belong to no
    blocker.
    """
    made, rest = explain_all(blockers, issues, "agent")
    for blocker, parts in made:
        pointer = ", ".join(f"{key} {value}" for key, value in blocker.pointer.items())
        yield f"- {blocker.code} ({flatten_text(pointer)}): {flatten_text(parts.why)}"
        yield from (f"  - {flatten_text(fault)}" for fault in parts.faults)
        if parts.fix:
            yield f"  fix: {flatten_text(parts.fix)}"
    yield from (f"- {flatten_text(fault)}" for fault in rest)


def _step(reply: dict[str, Any]) -> Iterator[str]:
    pending = reply.get("pending")
    if pending is None:
        yield "Complete: no step is left."
        if "closing" in reply:
            yield f"Tell the user: {flatten_text(reply['closing'])}"
    else:
        yield f"Step: {flatten_text(pending['title'])} ({pending['stepId']})"
        yield from [pending["prompt"]] if "prompt" in pending else []
        yield from [flatten_text(reply["judged"])] if "judged" in reply else []


def _warnings(reply: dict[str, Any], *, is_first: bool) -> Iterator[str]:
    """Yield the warnings that a reply begins with, or the others."""
    for warning in reply.get("warnings", ()):
        if (warning["code"] in SHOWN_FIRST) is not is_first:
            continue
        token = f" {warning['correctedToken']}" if "correctedToken" in warning else ""
        aim = spell_purpose(warning)
        call = f"{f' {aim}:' if aim else ''} {_call(warning['nextCall'])}" if "nextCall" in warning else ""
        yield f"Warning {warning['code']}: {flatten_text(warning['message'])}{token}{call}"
    for action in () if is_first else reply.get("ran", ()):
        yield f"- Handrail ran {action['stepId']}: {flatten_text(action['result'])}"
    for part in () if is_first else reply.get("skipped", ()):
        yield f"- {part['stepId']} did not run: {flatten_text(part['why'])}"


def _calls(reply: dict[str, Any]) -> Iterator[str]:
    call = reply.get("nextCall")
    yield from _options(reply)
    yield from children_lines(reply)
    if call is not None and (call["params"] or "options" not in call):
        is_childs = "stateToken" in call["params"] and "children" in reply
        before = "To do the first yourself" if is_childs else _BEFORE_CALL[reply["kind"], reply["nextIntent"]]
        yield f"{before}: {_call(call)}"
    recovery = []
    if "stateToken" in reply:
        rehydrate = call_text("continue_workflow", {"stateToken": reply["stateToken"]})
        recovery.append(f"Lost context: {rehydrate}")
    if "checkpointToken" in reply:
        saving = "Save progress" if reply.get("pending") else "Keep notes after the end"
        recovery.append(f"{saving}: checkpointToken {reply['checkpointToken']}")
    if recovery:
        yield "    ".join(recovery)


def children_lines(reply: dict[str, Any]) -> Iterator[str]:
    """Yield the delegated work: what a helper needs, or what it delivered."""
    for child in reply.get("children", ()):
        place = f" at {child['stepId']}" if "stepId" in child else ""
        worker = f", {child['worker']}" if "worker" in child else ""
        status = f" ({child['status']}{place}{worker})" if "status" in child else ""
        token = f": workToken {child['workToken']}" if "workToken" in child else ""
        yield f"- {child['childId']}{status}{token}"
        yield from [f"  {flatten_text(child['brief'])}"] if "brief" in child else []
        yield from [fence_text(child["result"], f"result of {child['childId']}")] if "result" in child else []


def _options(reply: dict[str, Any]) -> Iterator[str]:
    """Yield the options of a choice, each with its own call."""
    choices = (reply.get("pending") or {}).get("choices", ())
    call = reply.get("nextCall") or {}
    params_by_id = {option["id"]: option["params"] for option in call.get("options", ())}
    if choices:
        yield _BESIDE_CHILDREN if call.get("params") else _BEFORE_OPTIONS[reply["nextIntent"]]
    for choice in choices:
        about = f" ({flatten_text(choice['description'])})" if "description" in choice else ""
        yield f"- {choice['id']}: {flatten_text(choice['label'])}{about}"
        if choice["id"] in params_by_id:
            yield f"  {call_text(call['tool'], params_by_id[choice['id']])}"


def _standing(reply: dict[str, Any]) -> Iterator[str]:
    parts = []
    if "progress" in reply and reply.get("pending") is not None:
        parts.append(f"{reply['progress']['done']} of at least {reply['progress']['atLeast']} steps done")
    if "session" in reply:
        parts.append(_session(reply["session"]))
    if "workflow" in reply:
        held = reply["workflow"]
        parts.append(f"from {held['sourceKind']}, {flatten_text(held['sourceRef'])}, {held['workflowHash']}")
    if "preferences" in reply:
        parts.append(", ".join(reply["preferences"].values()))
    if "project" in reply:
        parts.append(f"project {flatten_text(reply['project'])}")
    if parts:
        yield " · ".join(parts)


def _place(reply: dict[str, Any]) -> Iterator[str]:
    """Yield a notice that the work belongs to another project, for an agent that would do it here."""
    here = (reply.get("recap") or {}).get("readIn")
    if here:
        project = flatten_text(reply.get("project", "")) or "another one"
        yield (
            f"\nThis run belongs to the project {project}, not to {flatten_text(here)}: "
            "work there, or ask the user."
        )


def _session(session: dict[str, Any]) -> str:
    """Return a line that names the work; the goal is quoted because an agent wrote it."""
    run = f", run {session['runId']} of {session['workflowId']}" if "runId" in session else ""
    goal = f', goal (data) "{flatten_text(session["goal"])}"' if "goal" in session else ""
    return f"Session {session['sessionId']}{run}{goal}"


def _call(call: dict[str, Any]) -> str:
    return call_text(call["tool"], call["params"])


def recap_lines(recap: dict[str, Any]) -> Iterator[str]:
    """Yield what was done before, with stored text fenced; nothing if the recap is empty."""
    if recap.get("closed"):
        held = recap["closed"]
        note = f' (data) "{flatten_text(held["note"])}"' if "note" in held else ""
        yield f"\nThis run was closed as {held['reason']}{note}. Continuing reopens it: ask the user first."
    if recap.get("personAnswer"):
        yield f"\n{_describe_answer(recap['personAnswer'])}"
    if recap.get("people"):
        yield "\nWhat people answered before:"
        yield from (f"- {one['stepId']}: {_answered(one)}" for one in recap["people"])
    if recap.get("importedFrom"):
        yield f"\nThis session was imported from {recap['importedFrom']}: its notes were written elsewhere."
    if recap.get("sinceStep"):
        yield f"\n{flatten_text(recap['sinceStep'])}"
    if recap.get("blockedBy"):
        yield "\nThe last attempt at this step was blocked:"
        yield from _blockers(recap["blockedBy"], recap.get("issues", ()))
    if "example" in recap:
        yield _example(recap["example"])
    if recap.get("entries"):
        yield "\nRecap, oldest first:"
        yield from map(_entry, recap["entries"])
    yield from _artifacts(recap)
    yield from _inputs(recap)
    if recap.get("skipped"):
        skipped = (f"{part['stepId']} ({_why_skipped(part)})" for part in recap["skipped"])
        more = f" and {recap['skippedOmitted']} more" if "skippedOmitted" in recap else ""
        yield f"\nDid not run: {flatten_text(', '.join(skipped))}{more}"
    yield from _branches(recap)
    if recap.get("omitted"):
        yield f"Omitted {recap['omitted']} earlier entries, {recap['policy']}."


def _why_skipped(part: dict[str, Any]) -> str:
    return f"condition {part['conditionId']}" if "conditionId" in part else part.get("why", "")


def _describe_answer(answer: dict[str, Any]) -> str:
    if answer["answer"] == "declined":
        return f"This step was {_answered(answer)}: ask the user what to change before you report it."
    return end_sentence(f"This step was {_answered(answer)}")


def _answered(answer: dict[str, Any]) -> str:
    note = f' (data) "{flatten_text(answer["note"])}"' if "note" in answer else ""
    return f"{answer['answer']}, {flatten_text(answer['words'])}{note}"


def _branches(recap: dict[str, Any]) -> Iterator[str]:
    """Yield earlier work on this step, on this branch or beside it."""
    is_fork = "stoodAt" in recap
    if recap.get("children"):
        yield "\nThis step was worked on before. Branches that exist:"
        yield from map(_branch, recap["children"])
        if "childrenOmitted" in recap:
            yield f"{recap['childrenOmitted']} more branches are left out to keep this short."
    if recap.get("downstream"):
        of = "the branch that the run was on" if is_fork else "the preferred branch"
        yield f"\nWhat followed on {of}, oldest first:"
        yield from map(_entry, recap["downstream"])
    if is_fork:
        yield from _stood_at(recap["stoodAt"])
    if "current" in recap:
        yield from _current(recap["current"])


def _stood_at(place: dict[str, Any]) -> Iterator[str]:
    """Yield the state in which a fork left the run; this reply has the present state."""
    yield (
        f"\nThis is a fork, and the run continues on it. Before, it was at node {place['nodeId']}, "
        f"{place['status']}, {_pending_there(place)}, after {_done_since(place)}."
    )
    yield f"To continue from there instead: {_call(place['nextCall'])}"


def _done_since(place: dict[str, Any]) -> str:
    omitted = place.get("doneSinceOmitted", 0)
    return ", ".join([*([f"{omitted} earlier"] if omitted else []), *place.get("doneSince", ())])


def _pending_there(place: dict[str, Any]) -> str:
    if not place["pendingStepId"]:
        return "nothing is pending"
    return f"pending {flatten_text(place['title'])} ({place['pendingStepId']})"


def _current(place: dict[str, Any]) -> Iterator[str]:
    """Yield the current position of the run, for an agent with an earlier token."""
    yield (
        f"\nThe run has moved on since this step: {_done_since(place)}. It is now at node {place['nodeId']}, "
        f"{place['status']}, {_pending_there(place)}."
    )
    yield f"To continue from there instead: {_call(place['nextCall'])}"


def _inputs(recap: dict[str, Any]) -> Iterator[str]:
    if recap.get("inputs"):
        lines = [
            f"{held['name']} = {msgspec.json.encode(held['value']).decode()}" for held in recap["inputs"]
        ]
        yield "\n" + fence_text("\n".join(lines), "inputs, with their values here")
    if recap.get("inputsOmitted"):
        yield f"Omitted {recap['inputsOmitted']} inputs to keep this short."


def _artifacts(recap: dict[str, Any]) -> Iterator[str]:
    if recap.get("artifacts"):
        yield "\nArtifacts, the newest of each kind, oldest first:"
    for artifact in recap.get("artifacts", ()):
        label = f"artifact {artifact['kind']} of step {artifact['stepId']}"
        yield fence_text(msgspec.json.encode(artifact["body"]).decode(), label)
    if recap.get("artifactsOmitted"):
        yield f"Omitted {recap['artifactsOmitted']} artifacts to keep this short."


def _entry(entry: dict[str, Any]) -> str:
    kind = "checkpoint in" if entry.get("isCheckpoint") else "notes of"
    of = f"{kind} step {entry['stepId']} ({entry['title']})" if entry["stepId"] else "notes after the end"
    return fence_text(entry["notes"], f"{of}, node {entry['nodeId']}")


def _branch(child: dict[str, Any]) -> str:
    preferred = "preferred, " if child["isPreferred"] else ""
    pending = child["pendingStepId"] or "nothing"
    line = f"- node {child['nodeId']}: {preferred}{child['status']}, pending {pending}"
    if not child.get("notes"):
        return line
    return line + "\n" + fence_text(child["notes"], f"notes at node {child['nodeId']}")
