"""Text for people about a step to do, its result, and a diff of files. Pure."""

from __future__ import annotations

import msgspec

from handrail.contract.fence import fence_text
from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.engine.children.joins import HOW_TO_BEGIN
from handrail.engine.messages import explain_all, judged_words, spell_purpose
from handrail.engine.reply import SHOWN_FIRST
from handrail.surfaces.cli.reading.spelling import when_chosen
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    format_aligned,
    lines_of,
    one_line,
    spell_command,
    spell_step,
    text_of,
    typed_line,
    wrap,
)

_VERDICTS = {
    "would_advance": "It would be accepted, and the run would go on.",
    "would_save": "It would be saved; the step stays pending.",
    "would_block": "It would be blocked.",
    "already_answered": "It was answered before: the recorded reply would come back, and nothing is written.",
}


def step_lines(reply: dict[str, Json], page: Page) -> list[str]:
    """Return a step to do: its title, the prompt as written, and the commands that continue from here."""
    lines = [*_warnings(reply, page, is_first=True)]
    lines += [""] if lines else []
    pending = reply.get("pending")
    if isinstance(pending, dict):
        title, step_id = one_line(pending["title"]), spell_step(one_line(pending["stepId"]))
        lines += [f"Step: {title} ({step_id})", ""]
        lines += [*lines_of(pending["prompt"]), ""] if pending.get("prompt") else []
    else:
        lines += ["The workflow is complete.", *wrap(one_line(reply.get("closing", "")), page.width), ""]
    parts = (_blocked(reply, page), _warnings(reply, page, is_first=False), children_lines(reply, page))
    for part in (*parts, _recap(reply, page)):
        lines += [*part, ""] if part else []
    lines += format_aligned([*_progress(reply, pending), *_calls(reply, pending, page)])
    session = reply.get("session")
    return lines + (["", *format_aligned(_session(session))] if isinstance(session, dict) else [])


def children_lines(reply: dict[str, Json], page: Page) -> list[str]:
    """Return the delegated work: each child with its brief and the command that begins it, or with
    its result.
    """
    lines: list[str] = []
    for child in reply.get("children", []):
        facts = [one_line(child[name]) for name in ("status", "worker") if child.get(name)]
        status = f" ({', '.join(facts)})" if facts else ""
        text = one_line(child.get("brief", "").removesuffix(HOW_TO_BEGIN) or child.get("result", ""))
        lines += wrap(f"{one_line(child['childId'])}{status}{f': {text}' if text else ''}", page.width)
        if child.get("workToken"):
            lines.append(f"{INDENT}{spell_command({'params': {'stateToken': child['workToken']}}, page)}")
    return lines


def _progress(reply: dict[str, Json], pending: Json) -> list[tuple[str, str]]:
    """Return how far the run is; at its end the summary says it."""
    held = reply.get("progress")
    return [("Done", f"{held['done']} of at least {held['atLeast']} steps")] if held and pending else []


def saved_lines(reply: dict[str, Json], page: Page) -> list[str]:
    """Return the result of a checkpoint, then the step that stays pending, or the session that stores the
    notes.
    """
    codes = {warning["code"] for warning in reply.get("warnings", [])}
    is_refused = "REPLAY_INPUT_MISMATCH" in codes
    first = "Nothing was saved: this token was used before." if is_refused else "Saved."
    return [first, "", *(step_lines if "nextIntent" in reply else text_of)(reply, page)]


def confirmed_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return what a person answered, or the question that they would get."""
    if "shown" in payload:
        asked = (
            ["", *wrap(one_line(payload["question"]), page.width)] if payload.get("is_asked", True) else []
        )
        return [*lines_of(payload["shown"]), *asked]
    step, answer = spell_step(one_line(payload["step_id"])), one_line(payload["answer"])
    who, source = one_line(payload["who"]), one_line(payload["source"])
    when = "" if payload.get("is_new", True) else " before"
    given = one_line(payload.get("value", ""))
    what = f"answered with {given}" if given else answer
    first = f"The step {step} was {what}{when} by {who} ({source})."
    return [*wrap(first, page.width), *wrap(one_line(payload.get("next", "")), page.width)]


def check_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return the result of a check; its output was already shown while it ran."""
    verdict = "Passed" if payload["hasPassed"] else "Did not pass"
    lines = wrap(f"{verdict}: {one_line(payload['status'])}.", page.width)
    counts = payload["counts"]
    if counts is not None:
        counted = [f"{number} {what}" for what, number in counts.items() if what != "byWords"]
        lines.append(f"{', '.join(counted)}{', by its own words' if counts.get('byWords') else ''}.")
    return [*lines, f"Check result {one_line(payload['checkResultId'])}."]


def _calls(reply: dict[str, Json], pending: Json, page: Page) -> list[tuple[str, str]]:
    recap = reply.get("recap", {})
    current, left = recap.get("current"), recap.get("stoodAt")
    calls = [
        ("Continue there", current and current["nextCall"]["params"]),
        ("Go back there", left and left["nextCall"]["params"]),
        *_following(reply, pending),
        ("Lost context", reply.get("stateToken") and {"stateToken": reply["stateToken"]}),
    ]
    return [(label, spell_command({"params": params}, page)) for label, params in calls if params]


def _following(reply: dict[str, Json], pending: Json) -> list[tuple[str, Json]]:
    """Return the whole next call, or one for each option of a choice, with placeholders for missing
    values.
    """
    call = reply.get("nextCall") or {"params": {}}
    choices = pending.get("choices", []) if isinstance(pending, dict) else []
    labels = {choice["id"]: one_line(choice["label"]) for choice in choices}
    choose = when_chosen(reply)
    options = [
        (f"{choose} {labels.get(one['id'], one['id'])}", one["params"]) for one in call.get("options", [])
    ]
    if options or "ackToken" not in call["params"]:  # a call that only reads is shown for lost context
        return options
    label = "When corrected" if reply.get("kind") == "blocked" else "When done"
    return [(label, call["params"])]


def _warnings(reply: dict[str, Json], page: Page, *, is_first: bool) -> list[str]:
    """Return the warnings that a reply begins with, or the others."""
    lines = []
    for warning in reply.get("warnings", []):
        if (warning["code"] in SHOWN_FIRST) is not is_first:
            continue
        aim = spell_purpose(warning)
        lines += wrap(f"Warning: {one_line(warning['message'])}{f' {aim}:' if aim else ''}", page.width)
        lines += [f"{INDENT}{spell_command(warning['nextCall'], page)}"] if warning.get("nextCall") else []
    for action in () if is_first else reply.get("ran", []):
        text = f"Handrail ran {spell_step(one_line(action['stepId']))}: {one_line(action['result'])}"
        lines += wrap(text, page.width, INDENT)
    for part in () if is_first else reply.get("skipped", []):
        text = f"{spell_step(one_line(part['stepId']))} did not run: {one_line(part['why'])}"
        lines += wrap(text, page.width, INDENT)
    return lines


def _recap(reply: dict[str, Json], page: Page) -> list[str]:
    recap = reply.get("recap", {})
    lines = []
    if recap.get("closed"):
        why = one_line(recap["closed"]["reason"]).replace("_", " ")
        lines += wrap(f"This run is closed ({why}). Continuing reopens it.", page.width)
    for answer in [*recap.get("people", []), *filter(None, [recap.get("personAnswer")])]:
        note = f": {one_line(answer['note'])}" if answer.get("note") else ""
        text = f"{spell_step(one_line(answer['stepId']))} was {one_line(answer['words'])}{note}"
        lines += wrap(text, page.width)
    if recap.get("readIn"):
        where = f"This run belongs to the project {one_line(reply.get('project', ''))}, not to this one."
        lines += wrap(where, page.width)
    if recap.get("sinceStep"):
        lines += wrap(one_line(recap["sinceStep"]), page.width)
    values = [
        f"{held['name']} = {msgspec.json.encode(held['value']).decode()}" for held in recap.get("inputs", [])
    ]
    lines += lines_of(fence_text("\n".join(values), "inputs")) if values else []
    for entry in recap.get("entries", []):
        lines += lines_of(fence_text(entry["notes"], f"notes of {entry['title']}"))
    for place, words in (
        (recap.get("current"), "The run has moved on since this step and is now at"),
        (recap.get("stoodAt"), "This is a fork, and the run continues on it; before, it was at"),
    ):
        if place:
            where = one_line(place.get("title") or place["status"])
            lines += wrap(f"{words}: {where}", page.width)
    return lines


def _session(session: dict[str, Json]) -> list[tuple[str, str]]:
    """Return a line that names the work."""
    named = [("Session", "sessionId"), ("Run", "runId"), ("Workflow", "workflowId"), ("Goal", "goal")]
    return [(label, one_line(session[key])) for label, key in named if session.get(key)]


def _blocked(reply: dict[str, Json], page: Page) -> list[str]:
    """Return why the step was not accepted, and an example that would be."""
    lines = []
    made, rest = explain_all(reply.get("blockers", []), reply.get("issues", []), "shell")
    for _, parts in made:
        lines += wrap(f"Blocked: {one_line(parts.why)}", page.width)
        for fault in parts.faults:
            lines += wrap(f"Fault: {one_line(fault)}", page.width, INDENT)
        lines += wrap(f"Fix: {one_line(parts.fix)}", page.width, INDENT) if parts.fix else []
    for fault in rest:
        lines += wrap(f"Fault: {one_line(fault)}", page.width, INDENT)
    if reply.get("kind") == "blocked":
        lines += wrap(judged_words("shell", is_retryable=reply.get("retryable", True)), page.width)
    if reply.get("example"):
        lines += [
            "Example of an artifact that is accepted, for --artifacts '[…]':",
            *_shown(reply["example"]),
        ]
    return lines


def _shown(example: Json) -> list[str]:
    text = msgspec.json.format(msgspec.json.encode(example), indent=2).decode()
    return [INDENT + line for line in lines_of(text)]


def verdict_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return what a report would lead to; nothing was written."""
    verdict = str(payload["verdict"])
    lines = wrap(_VERDICTS.get(verdict, one_line(verdict)), page.width)
    lines += [f"Step: {spell_step(one_line(payload['step_id']))}"] if payload.get("step_id") else []
    blocked = _blocked(payload, page)
    lines += ["", *blocked] if blocked else []
    for gap in payload.get("gaps", []):
        lines += wrap(f"It would be recorded as missing: {one_line(gap)}", page.width)
    return [*lines, "", "Nothing was written. Without --dry-run the same line does it."]


def diff_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return the diff of files itself, then the files without lines."""
    unknown = [
        line
        for one in payload["unknown"]
        for line in wrap(f"{one_line(one['path'])} was not compared: {one_line(one['why'])}", page.width)
    ]
    if not payload["differing"]:
        return ["No other file differs." if unknown else "No file differs.", *unknown]
    lines = lines_of(payload["diff"].rstrip("\n")) if payload["diff"] else []
    for file in payload["files"]:
        if file["note"]:
            lines += wrap(f"{one_line(file['path'])}: {one_line(file['note'])}", page.width)
    return [*lines, *unknown, "", f"{format_count(payload['differing'], 'file')} changed."]


def file_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Return a step of a workflow file: what ran before it, its prompt, and a command for each way to
    continue.
    """
    lines: list[str] = []
    for warning in payload["warnings"]:
        lines += wrap(f"Warning: {one_line(warning['message'])}", page.width)
    for action in payload["ran"]:
        lines += wrap(f"Handrail ran {one_line(action['step'])}: {one_line(action['result'])}", page.width)
    lines += [""] if lines else []
    if payload["current_step"] is None:
        lines += ["The workflow is complete.", *wrap(one_line(payload["closing"]), page.width), ""]
    else:
        title, step_id = one_line(payload["title"]), spell_step(one_line(payload["current_step"]))
        lines += [f"Step: {title} ({step_id})", "", *lines_of(payload["prompt"]), ""]
    blocked = _blocked(payload, page)
    lines += [*blocked, ""] if blocked else []
    for way in payload["next_actions"]:
        token = one_line(payload["continuation_tokens"][way["id"]])
        command = typed_line(f"handrail run file --resume {token}", page)
        lines += [f"{one_line(way['label'])}:", f"{INDENT}{command}{' --fix' if way['guard'] else ''}"]
    named = [("Session", "session_id"), ("Run", "run_id"), ("Workflow", "workflow_id")]
    return [*lines, *format_aligned([(label, one_line(payload[key])) for label, key in named])]
