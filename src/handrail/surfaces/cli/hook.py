"""`handrail hook EVENT`: called by an agent's client around a compaction and when a session starts.

It never fails its host: any error is one line on stderr, and the exit status is 0.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from handrail.contract.fence import fence_text, flatten_text
from handrail.contract.ids import SessionId
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Failure, Fault, Json, failure_of, success_of
from handrail.operations.sessions.resume_session import WORK_HERE, Candidate, WorkHere, find_work_in_progress
from handrail.runtime.damaged_sessions import list_repair_commands
from handrail.runtime.hub import perform, perform_operation
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime

SECONDS = 5
"""Time limit of the client; the hook ends a little earlier."""
_STDIN_SECONDS = 2.0
"""Time for reading; the rest is for the work."""
MOST_OUTPUT_BYTES = 1_024
BEFORE_COMPACTION = frozenset({"PreCompact", "PreCompress", "preCompact"})
AT_SESSION_START = frozenset({"SessionStart", "sessionStart"})
EVENTS = tuple(sorted(BEFORE_COMPACTION | AT_SESSION_START))
"""Names as the clients spell them: Claude Code and Codex, Gemini CLI, Cursor."""

_CALLER = Caller(tool="handrail hook", command="hook")
_TRIGGERS = ("manual", "auto")
_FACTS_BEGIN = "The chat was compacted here"
"""The beginning of notes in our own checkpoints, which an agent need not read."""
_GOAL_LENGTH = 80
_SO_FAR_LENGTH = 300
_TITLE_LENGTH = 80
_MOST_TITLES = 5
_STATUSES_SHOWN = ("blocked", "needs_person", "closed")
"""Statuses of delegated work that its parent must learn."""


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Output for the client on stdout, and for a person on stderr."""

    out: str = ""
    note: str = ""


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    """The relevant part of a client's message."""

    trigger: str = ""
    directory: str = ""


def receive_message() -> bytes:
    """Return the client's message from stdin, and change to the directory that it names."""
    content = _read_stdin()
    directory = _given(content).directory
    if directory and os.path.isdir(directory):
        os.chdir(directory)
    return content


def _read_stdin() -> bytes:
    """Return everything that the client sends; empty if stdin is closed or a terminal.

    A client that keeps stdin open counts as finished after a while.
    """
    kept = bytearray()
    ends_at = time.monotonic() + _STDIN_SECONDS
    try:
        while not os.isatty(0) and select.select([0], [], [], max(0.0, ends_at - time.monotonic()))[0]:
            chunk = os.read(0, 65_536)
            if not chunk:
                break
            kept += chunk[: max(0, MOST_INPUT_BYTES - len(kept))]
    except TimeoutError:  # the time of the whole hook is over
        raise
    except (OSError, ValueError):
        return b""
    return bytes(kept)


def answer_hook(
    build_runtime: Callable[[], Runtime],
    event: str,
    content: bytes,
    changed_files: Callable[[str], int | None],
    client: str = "",
) -> HookAnswer:
    """Answer one event. `changed_files` counts those of a project, if that is possible.

    The client decides the format of text for the agent; an unknown client gets plain text.
    """
    if event not in EVENTS:
        named = f"the event {flatten_text(event)[:40]} means nothing here" if event else "no event is named"
        return HookAnswer(note=f"{named}; known: {', '.join(EVENTS)}")
    try:
        rt = build_runtime()
        project = rt.workspace.project("")
        if event in BEFORE_COMPACTION:
            return _before_compaction(rt, project, _given(content).trigger, changed_files)
        answer = _at_session_start(rt, project)
    except Fault as fault:
        return _trouble(failure_of(fault))
    return msgspec.structs.replace(answer, out=_wrap(answer.out, client)) if answer.out else answer


def _wrap(text: str, client: str) -> str:
    """Return the text for the agent in the client's format."""
    content: Json
    match client:
        case "codex" | "gemini":
            content = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}
        case "cursor":
            content = {"additional_context": text}
        case _:
            return text
    return msgspec.json.encode(content).decode() + "\n"


def _given(content: bytes) -> _Given:
    """Return the message. One that is not a JSON object is empty, and a field of another type is ignored."""
    message = read_object(content)
    roots = message.get("workspace_roots")  # Cursor names no working directory, but the folders it has open
    places = [message.get("cwd"), *(roots if isinstance(roots, list) else [])]
    trigger = message.get("trigger")
    return _Given(
        trigger=trigger if isinstance(trigger, str) else "",
        directory=next((one for one in places if isinstance(one, str) and one), ""),
    )


def _before_compaction(
    rt: Runtime, project: str, trigger: str, changed_files: Callable[[str], int | None]
) -> HookAnswer:
    """Save a checkpoint on the delegated work, or on the one run in progress; skip it if the facts are
    unchanged.
    """
    params = _find_own_work(rt)
    if not params:
        here = _find_work(rt, project)
        work = here.candidates
        if len(work) != 1:
            several = f"{len(work)} runs in progress here, so no checkpoint was added" if work else ""
            return HookAnswer(note=several or _damage(here.damaged).rstrip())
        params = work[0].next_call.params
    reply = _rehydrated(rt, params, project)
    if isinstance(reply, Failure):
        return _trouble(reply)
    notes = _facts(rt, project, trigger, changed_files(project))
    if "checkpointToken" not in reply or _is_there(reply, notes):
        return HookAnswer()
    saved: dict[str, Json] = {
        "checkpointToken": reply["checkpointToken"],
        "output": {"notesMarkdown": notes},
        "project": project,
    }
    outcome = perform(rt, "run.checkpoint", saved, caller=_CALLER)
    return _trouble(outcome) if isinstance(outcome, Failure) else HookAnswer()


def _find_own_work(rt: Runtime) -> dict[str, Json]:
    """Return the call for the work that was delegated to this agent; empty if there is none."""
    token = rt.workspace.work_token()
    return {"stateToken": token} if token else {}


def _find_work(rt: Runtime, project: str) -> WorkHere:
    """Return the work in progress here, from the team server for its projects. Raises Fault."""
    if rt.team is None:
        return find_work_in_progress(rt, project)
    outcome = perform_operation(rt, WORK_HERE, {"project": project}, caller=_CALLER)
    return msgspec.convert(success_of(outcome).data, WorkHere)


def _facts(rt: Runtime, project: str, trigger: str, changed: int | None) -> str:
    """Return facts that the machine can observe alone; equal facts give equal text."""
    seen = rt.workspace.observations(project)
    lines = [
        f"{_FACTS_BEGIN} ({trigger if trigger in _TRIGGERS else 'unknown'}).",
        f"Branch: {flatten_text(seen.get('git_branch', '')) or 'none'}",
        f"Head: {seen.get('git_head_sha', '') or 'none'}",
        f"Changed files: {'unknown' if changed is None else changed}",
    ]
    return "\n".join(lines)


def _is_there(reply: dict[str, Any], notes: str) -> bool:
    """Whether the checkpoint already exists, because clients call several times for one compaction."""
    entries = reply.get("recap", {}).get("entries", [])
    if not entries or "pending" not in reply:
        return False
    last, pending = entries[-1], reply["pending"]
    is_at_tip = last["stepId"] == pending["stepId"] and last.get("isCheckpoint", False)
    return bool(is_at_tip and last["notes"] == notes)


def _at_session_start(rt: Runtime, project: str) -> HookAnswer:
    if params := _find_own_work(rt):
        reply = _rehydrated(rt, params, project)
        if isinstance(reply, Failure):
            return _trouble(reply)
        if reply["pending"] is None:
            return HookAnswer(out="Handrail: the work that was handed to you is done.\n")
        head = f"Handrail: work of {reply['session']['workflowId']} was handed to you.\n"
        title = reply["pending"]["title"]
        return HookAnswer(out=_one(head, title, params, [], reply, MOST_OUTPUT_BYTES))
    here = _find_work(rt, project)
    work, damage = here.candidates, _damage(here.damaged)
    if not work:
        return HookAnswer(out=damage)
    most_bytes = MOST_OUTPUT_BYTES - len(damage.encode())
    if len(work) > 1:
        return HookAnswer(out=damage + _list_runs(work, most_bytes))
    (one,) = work
    reply = _rehydrated(rt, one.next_call.params, project)
    if isinstance(reply, Failure):
        return _trouble(reply)
    head = f"Handrail: a run of {one.workflow_id} is in progress here (session {one.session_id}).\n"
    if one.person_answer:
        head += f"It was {flatten_text(one.person_answer)[:_GOAL_LENGTH]}\n"
    lines = [f"Goal: {flatten_text(one.goal)[:_GOAL_LENGTH]}"] if one.goal else []
    return HookAnswer(
        out=damage + _one(head, one.pending_title, one.next_call.params, lines, reply, most_bytes)
    )


def _damage(damaged: Sequence[SessionId]) -> str:
    """Return a line about damaged sessions of this project; empty if all are intact."""
    if not damaged:
        return ""
    named = damaged[0] if len(damaged) == 1 else f"{damaged[0]} and {len(damaged) - 1} more"
    verify, _ = list_repair_commands(damaged[0])
    return f"Handrail: damaged here and not to be continued: session {named}. Ask the user to run {verify}\n"


def _rehydrated(rt: Runtime, params: dict[str, Json], project: str) -> dict[str, Any] | Failure:
    """Return the reply at the tip; reading it writes nothing."""
    outcome = perform(rt, "run.continue", {**params, "project": project}, caller=_CALLER)
    if isinstance(outcome, Failure):
        return outcome
    assert isinstance(outcome.data, dict), "a reply is an object"
    return outcome.data


def _one(
    head: str, title: str, params: dict[str, Json], lines: list[str], reply: dict[str, Any], most_bytes: int
) -> str:
    """Return the run, its step, the last notes as data, and the call that restores the context."""
    head += f"Pending step: {flatten_text(title)[:_TITLE_LENGTH]}\n"
    parts = [one for one in reply.get("children", ()) if one["status"] in _STATUSES_SHOWN]
    if parts:
        named = (f"{one['childId']} {one['status'].replace('_', ' ')}" for one in parts[:_MOST_TITLES])
        head += f"Of its parts: {', '.join(named)}\n"
    if so_far := reply.get("recap", {}).get("sinceStep", ""):
        head += f"{flatten_text(so_far)[:_SO_FAR_LENGTH]}\n"
    tail = (
        f"To see the step and go on, call continue_workflow {msgspec.json.encode(params).decode()}\n"
        f"or run: handrail run continue --state {params['stateToken']} --compact\n"
    )
    entries = reply.get("recap", {}).get("entries", [])
    notes = [entry["notes"] for entry in entries if not entry["notes"].startswith(_FACTS_BEGIN)]
    lines = [*lines, f"Last notes: {notes[-1]}"] if notes else lines
    return head + _fence_within("\n".join(lines), most_bytes - len((head + tail).encode())) + tail


def _fence_within(text: str, most_bytes: int) -> str:
    """Return as much of the text as fits inside its fence; empty if the fence alone does not fit."""
    if not text:
        return ""
    kept, is_cut = text, False
    while kept:
        block = fence_text(kept + ("…" if is_cut else ""), "goal and notes kept in the log") + "\n"
        over = len(block.encode()) - most_bytes
        if over <= 0:
            return block
        kept, is_cut = kept.encode()[: -over if is_cut else -over - 3].decode(errors="ignore"), True
    return ""


def _list_runs(work: Sequence[Candidate], most_bytes: int) -> str:
    lines = [
        f"- {one.workflow_id}, {flatten_text(one.pending_title)[:_TITLE_LENGTH]} (session {one.session_id})"
        for one in work[:_MOST_TITLES]
    ]
    tail = (
        'Ask the user which one is meant, then call resume_session with {"query": its session id}.\n'
        "What nobody needs is closed with: handrail run close SESSION_ID --reason abandoned\n"
    )
    head = f"Handrail: {len(work)} runs are in progress here.\n"
    while len((head + "\n".join(lines) + "\n" + tail).encode()) > most_bytes:
        lines.pop()
    return head + "\n".join(lines) + "\n" + tail


def _trouble(failure: Failure) -> HookAnswer:
    return HookAnswer(note=f"{failure.kind.code}: {flatten_text(failure.message)[:200]}")


MOST_INPUT_BYTES = 4_194_304
"""Bytes of a message that are kept; the rest is read and dropped, so that the client can finish writing."""


def read_object(content: bytes) -> dict[str, Any]:
    """Return the object that a client sends; empty if it is ambiguous, for example with a repeated key."""
    try:
        value = decode_json(content, max_bytes=MOST_INPUT_BYTES)
    except Fault:
        return {}
    return value if isinstance(value, dict) else {}
