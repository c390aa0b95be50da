"""Resources: answers of read operations, by address. No workflow needs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from handrail.contract.catalogue import E_NOT_FOUND
from handrail.contract.disclosure.fields import Ask
from handrail.contract.envelopes.cli import encode_document, payload_of
from handrail.contract.fence import fence_text, flatten_text
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault, Json, success_of
from handrail.contract.wording import quote
from handrail.engine.events import is_newer
from handrail.engine.tips import find_tip
from handrail.projections.overview import choose_run
from handrail.projections.recap import recap_at
from handrail.runtime.hub import DEFAULT_ASK, perform
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import load_pinned_workflow, read_session
from handrail.surfaces.mcp.reply_text import call_text, recap_lines

# Reading an operation

_CALLER = Caller(tool="handrail mcp")


def read_payload(
    runtime: Runtime, name: str, params: dict[str, Json], ask: Ask = DEFAULT_ASK
) -> dict[str, Any]:
    """Return the payload, as every interface sends it. Raises Fault for a failure."""
    assert runtime.registry.operation(name).effect == "read", "only tools may change something"
    payload = payload_of(success_of(perform(runtime, name, params, ask, caller=_CALLER)))
    assert isinstance(payload, dict), "every read answers with an object"
    return payload


# A session as Markdown, with stored text fenced as data


def session_text(runtime: Runtime, session_id: str) -> str:
    """Return the recap at the position of the current run, without tokens. Raises Fault SESSION_NOT_FOUND."""
    shown = read_payload(runtime, "session.show", {"sessionId": session_id})
    query: dict[str, Json] = {"query": shown["session_id"]}
    banner = shown["health"]["banner"]
    lines = [f"# Session {shown['session_id']}", "", *([banner, ""] if banner else []), *_standing(shown)]
    lines.extend(_recap(runtime, SessionId(shown["session_id"])))
    going_on = [] if banner else ["", f"Continue: {call_text('resume_session', query)}"]
    return "\n".join([*lines, *going_on, ""])


def _standing(shown: dict[str, Any]) -> Iterator[str]:
    health = shown["health"]
    reason = f" ({flatten_text(health['reason'])})" if health["reason"] else ""
    yield f"Status {shown['status']}, log {health['state']}{reason}, {shown['event_count']} events."
    if shown["project"]:
        yield f"Project {flatten_text(shown['project'])}."
    if shown["goal"]:
        yield fence_text(shown["goal"], f"goal of session {shown['session_id']}")
    for run in shown["runs"]:
        pending = f", pending {run['pending_step']}" if run["pending_step"] else ""
        yield f"- run {run['id']}: {flatten_text(run['workflow_id'])}, {run['status']}{pending}"


def _recap(runtime: Runtime, session_id: SessionId) -> Iterator[str]:
    session = read_session(runtime.log, session_id)
    run_id = None if session is None else choose_run(session.history)
    if session is None or run_id is None:
        return
    history = session.history
    workflow = load_pinned_workflow(runtime.log, history.runs[run_id].workflow_hash)
    tip = find_tip(history, run_id)
    yield from recap_lines(msgspec.to_builtins(recap_at(history, workflow, tip.node_id)))


# Addresses and listings


SCHEME = "handrail://"
WORKFLOWS = SCHEME + "workflows"
JSON, MARKDOWN = "application/json", "text/markdown"
LISTED_WORKFLOWS, LISTED_SESSIONS = 25, 20
"""Resources per page; the latest sessions are on the first page only. Templates reach all of them."""
LONGEST_URI = 512
LONGEST_DESCRIPTION = 300
FOR_BOTH: dict[str, Json] = {"audience": ["user", "assistant"]}
_OUTLINE = ("steps", "stepsOmitted")
_ESCAPED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """One family of addresses, and how its members are read."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    address: re.Pattern[str]
    read: Callable[[Runtime, str], str]


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an address."""

    uri: str
    mime_type: str
    text: str


def read_resource(runtime: Runtime, uri: str) -> Content:
    """Return the content of the address. Raises Fault; with the native code of E_NOT_FOUND if there
    is none.
    """
    if uri == WORKFLOWS:
        return _content(runtime, uri, JSON, _json(read_payload(runtime, "workflow.list", {})))
    for template in TEMPLATES:
        found = template.address.fullmatch(uri) if len(uri) <= LONGEST_URI else None
        if found is not None:
            return _content(runtime, uri, template.mime_type, template.read(runtime, _decoded(found["of"])))
    raise Fault(
        E_NOT_FOUND,
        f"There is no resource {quote(uri)}.",
        hint="Take an address from resources/list, or fill in one of resources/templates/list.",
    )


def list_resources(runtime: Runtime, cursor: str | None) -> dict[str, Json]:
    """Return the listing of workflows, every workflow, and the latest sessions, each with its size."""
    params: dict[str, Json] = {"limit": LISTED_WORKFLOWS} | ({"cursor": cursor} if cursor else {})
    listed = read_payload(runtime, "workflow.list", params)
    rows = [*_readable(listed["items"], lambda row: _workflow_row(runtime, row))]
    if not cursor:
        sessions = read_payload(runtime, "session.list", {"limit": LISTED_SESSIONS})["items"]
        text = "Every workflow that can be started here."
        first = _row(runtime, WORKFLOWS, "workflows", "Workflows", text, JSON)
        rows = [first, *rows, *_readable(sessions, lambda row: _session_row(runtime, row))]
    return make_page("resources", rows, listed["next_cursor"])


def make_page(name: str, rows: list[dict[str, Json]], next_cursor: str | None) -> dict[str, Json]:
    """Return one page of a listing."""
    return {name: rows} if next_cursor is None else {"nextCursor": next_cursor, name: rows}


def _readable(
    items: list[dict[str, Any]], row: Callable[[dict[str, Any]], dict[str, Json]]
) -> Iterator[dict[str, Json]]:
    """Yield the readable ones: one workflow that does not compile, or one damaged session, never hides the
    others.
    """
    for item in items:
        try:
            yield row(item)
        except Fault:
            continue


def _row(
    runtime: Runtime, uri: str, name: str, title: str, description: str, mime_type: str
) -> dict[str, Json]:
    """Return one resource as a client lists it."""
    return {
        "annotations": FOR_BOTH,
        "description": description,
        "mimeType": mime_type,
        "name": name,
        "size": _size(runtime, uri),
        "title": title,
        "uri": uri,
    }


def _workflow_row(runtime: Runtime, row: dict[str, Any]) -> dict[str, Json]:
    about = "A workflow: what it is for, its inputs and its steps without their prompts."
    title = flatten_text(row["name"])[:80]
    return _row(runtime, f"{WORKFLOWS}/{row['id']}", row["id"], title, about, JSON)


def _session_row(runtime: Runtime, row: dict[str, Any]) -> dict[str, Json]:
    about = flatten_text(", ".join(part for part in _about(row) if part))[:LONGEST_DESCRIPTION]
    return _row(runtime, f"{SCHEME}sessions/{row['id']}", row["id"], f"Session {row['id']}", about, MARKDOWN)


def _about(row: dict[str, Any]) -> tuple[str, ...]:
    damage = "written by a newer version" if is_newer(row["health"]) else f"damaged ({row['health']})"
    damage = "" if row["health"] == "healthy" else damage
    return damage, row["workflow_id"], row["status"], f"project {row['project']}" if row["project"] else ""


def _workflow(runtime: Runtime, workflow_id: str) -> str:
    """Return the summary with its inputs, and the outline of the steps, in one document."""
    summary = read_payload(runtime, "workflow.inspect", {"workflowId": workflow_id})
    outlined = read_payload(runtime, "workflow.inspect", {"workflowId": workflow_id, "part": "steps"})
    steps = {name: outlined["workflow"][name] for name in _OUTLINE if name in outlined["workflow"]}
    return _json({**summary, "workflow": {**summary["workflow"], **steps}})


def _content(runtime: Runtime, uri: str, mime_type: str, text: str) -> Content:
    """Return encodable text, without the secrets that this process has read."""
    clean = runtime.secrets.redact_text(text).encode("utf-8", "replace").decode()
    return Content(uri=uri, mime_type=mime_type, text=clean)


def _decoded(text: str) -> str:
    """Return an address with its percent escapes decoded (RFC 3986); a broken one stays as it is."""
    return _ESCAPED.sub(
        lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), text
    )


def _json(document: Json) -> str:
    return encode_document(document, compact=True).decode().rstrip("\n")


def _size(runtime: Runtime, uri: str) -> int:
    return len(read_resource(runtime, uri).text.encode())


TEMPLATES: tuple[Template, ...] = (
    Template(
        uri=WORKFLOWS + "/{id}",
        name="workflow",
        title="Workflow",
        description="One workflow: purpose, inputs, steps without prompts.",
        mime_type=JSON,
        address=re.compile(re.escape(WORKFLOWS) + "/(?P<of>[^/?#]+)"),
        read=_workflow,
    ),
    Template(
        uri=SCHEME + "sessions/{id}",
        name="session",
        title="Session",
        description="The recap of a session, as Markdown.",
        mime_type=MARKDOWN,
        address=re.compile(re.escape(SCHEME) + "sessions/(?P<of>[^/?#]+)"),
        read=session_text,
    ),
)
