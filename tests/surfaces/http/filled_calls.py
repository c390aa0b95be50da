"""Calls of every operation of the registry, with values by the names of its fields.

A new operation is called without being named here, as long as its fields have names that others have.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from handrail.runtime.operation import Operation
from tests.conftest import THREE_STEPS
from tests.engine.bundles.made import rich_bundle
from tests.surfaces.http.whole_server import WholeServer, api, fetch

PLACES = frozenset({"project", "to", "from", "file", "tokenFile", "dir", "directory", "url", "toModule"})
"""Fields that name a place or a file on purpose: what may be there has its own tests."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A session with something in it, and a value for every field that asks for one."""

    reply: dict[str, Any]
    values: dict[str, Any]

    def call(self, called: Operation, **given: Any) -> dict[str, Any]:
        """Input for an operation: what it requires, and what is given instead or besides."""
        fields = [field for field in msgspec.structs.fields(called.input) if field.required]
        wanted = {field.encode_name for field in fields} - given.keys()
        assert wanted <= self.values.keys(), f"{called.name} asks for {wanted - self.values.keys()}"
        return {name: self.values[name] for name in sorted(wanted)} | given

    def whole_call(self, called: Operation) -> dict[str, Any]:
        """Input with which the operation does something: the fields of `MORE` as well."""
        known = {field.encode_name for field in msgspec.structs.fields(called.input)}
        more = {name: self.values[name] for name in MORE.get(called.name, ())}
        shown = {"dryRun": True} if "dryRun" in known and called.effect != "ack" else {}
        return self.call(called, **more, **shown)


MORE: dict[str, tuple[str, ...]] = {
    "workflow.graph": ("workflowId",),
    "workflow.simulate": ("workflowId",),
    "workflow.convert": ("workflowId",),
    "workflow.fmt": ("workflowId",),
    "run.continue": ("stateToken",),
    "run.answer": ("stateToken", "show"),
    "code.scan": ("search",),
    "lafs.check": ("documents",),
    "session.delete": ("dangerous",),
    "store.gc": ("dangerous", "olderThan"),
    "run.close": ("run",),
    "preferences.set": ("autonomy",),
    "self.doctor": ("offline",),
}
"""What an operation needs beside its required fields to do something."""


def text_fields(called: Operation) -> list[str]:
    """The fields of an operation that take a text, or a list of texts, and name no place."""
    found = []
    for field in msgspec.structs.fields(called.input):
        for candidate in ("x" * 16, ["x" * 16]):
            try:
                msgspec.convert(candidate, field.type)
            except msgspec.ValidationError:
                continue
            found.append(field.encode_name)
            break
    return [name for name in found if name not in PLACES]


def begin_work(server: WholeServer, request_id: str = "work", notes: str = "Looked at it.") -> Work:
    """A run with one answered step."""
    first = server.start(request_id)
    given = {"ackToken": first["ackToken"], "output": {"notesMarkdown": notes}}
    reply = server.data(api("run.continue", given))
    session, run = first["session"]["sessionId"], first["session"]["runId"]
    nodes = server.data(fetch(f"/api/run.graph?sessionId={session}"))["nodes"]
    return fill_work(reply, session, run, nodes)


def fill_work(reply: dict[str, Any], session: str, run: str, nodes: list[dict[str, Any]]) -> Work:
    """The work of a run that has these nodes."""
    document = {"source": "three_steps.json", "text": THREE_STEPS.decode()}
    return Work(
        reply=reply,
        values={
            **{name: reply[name] for name in ("ackToken", "stateToken", "checkpointToken")},
            "sessionId": session,
            "session": session,
            "ids": [session],
            "run": run,
            "runId": run,
            **dict.fromkeys(("node", "one", "before"), nodes[0]["id"]),
            **dict.fromkeys(("other", "after"), nodes[-1]["id"]),
            "workflowId": "project.three_steps",
            "output": {"notesMarkdown": "Looked."},
            "query": "looked",
            "search": "greet",
            "reason": "abandoned",
            "gap": "gap_000000000000",
            "note": "Seen to.",
            "title": "Another title",
            "to": "yaml",
            "document": document,
            "workflows": ["project.three_steps", "project.three_steps"],
            "documents": [{"source": "a.json", "text": json.dumps({"ok": True})}],
            "bundle": {"source": "b.json", "text": json.dumps(rich_bundle())},
            "receipt": {"source": "receipt.json", "text": "{}"},
            "commit": "HEAD",
            "dangerous": True,
            "olderThan": 1,
            "show": True,
            "quick": True,
            "offline": True,
            "key": "retentionDays",
            "value": "30",
            "autonomy": "guided",
            "code": "ABCD-1234",
            **dict.fromkeys(("name", "member"), "Ana"),
        },
    )
