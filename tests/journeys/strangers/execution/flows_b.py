"""Small workflows and moves that several journeys share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.journeys.strangers.product import Called, Product, Server

Document = dict[str, Any]


def steps(count: int, **more: Any) -> list[Document]:
    return [
        {"id": f"s{n}", "title": f"Step {n}", "prompt": f"Do part {n}.", **more} for n in range(1, count + 1)
    ]


def document(name: str, parts: list[Document], **more: Any) -> Document:
    return {"id": name, "name": "Own", "description": "Written for one journey.", "steps": parts, **more}


def three(product: Product) -> str:
    return product.workflow(document("project.three", steps(3)))


def start(server: Server, workflow: str, **more: Any) -> Called:
    found = server.call("start_workflow", workflowId=workflow, **more)
    assert not found.is_error, found.text
    return found


def ack(
    server: Server, reply: Called, notes: str | None = "done", *artifacts: Document, **more: Any
) -> Called:
    """Acknowledges the pending step of a reply, blocked or not."""
    token = reply.structured.get("ackToken") or reply.structured["retryAckToken"]
    output: Document = {} if notes is None else {"notesMarkdown": notes}
    if artifacts:
        output["artifacts"] = list(artifacts)
    return server.call("continue_workflow", ackToken=token, output=output, **more)


def reread(server: Server, reply: Called) -> Called:
    return server.call("continue_workflow", stateToken=reply.structured["stateToken"])


def follow(server: Server, call: Document) -> Called:
    """Sends a call as it was printed."""
    return server.call(call["tool"], **call["params"])


def session_of(reply: Called) -> str:
    return str(reply.structured["session"]["sessionId"])


def run_of(reply: Called) -> str:
    return str(reply.structured["session"]["runId"])


def codes(reply: Called) -> list[str]:
    return [warning["code"] for warning in reply.structured.get("warnings", [])]


def events(product: Product, session: str, kind: str | None = None) -> list[Document]:
    found = product.data("session", "events", session, "--limit", "200")["items"]
    return [event for event in found if kind in (None, event["kind"])]


def stored(product: Product, session: str) -> bytes:
    """Every byte that the store keeps of a session."""
    folder = product.home / "data" / "sessions" / session
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "lock")


def export(product: Product, session: str, name: str) -> Path:
    product.data("session", "export", session, "--out", name)
    return product.project / name


def bring(product: Product, bundle: Path, *flags: str) -> Document:
    """Imports a bundle as the two-step commands say."""
    token = product.data("session", "import", str(bundle), *flags, "--dry-run")["confirm_token"]
    return product.data("session", "import", str(bundle), *flags, "--confirm", token)


def other_home(product: Product, name: str) -> Product:
    return Product(product.home.parent / name, product.programs)


def problems(product: Product, workflow: Document) -> list[Document]:
    """What `workflow validate` finds wrong with a file."""
    path = product.project / "checked.json"
    path.write_text(json.dumps(workflow), encoding="utf-8")
    found = product.run("workflow", "validate", "--report-only", str(path)).document
    assert "data" in found, found
    items: list[Document] = found["data"]["items"]
    return [problem for item in items for problem in item["problems"]]


def errors(product: Product, workflow: Document) -> list[Document]:
    return [problem for problem in problems(product, workflow) if problem["severity"] == "error"]


FINDINGS: Document = {
    "kind": "wr.review_findings",
    "verdict": "approve",
    "findings": [],
    "reviewed": ["a.py"],
    "notReviewed": [],
}
PLAN: Document = {
    "kind": "wr.plan",
    "goal": "A goal.",
    "outOfScope": [],
    "slices": [{"id": "one", "what": "A thing.", "doneWhen": "Seen.", "check": "true", "files": ["a.py"]}],
    "risks": [{"risk": "None known.", "response": "Look."}],
    "openQuestions": [],
}
USER_REASONS = (
    "needs_user_secret_or_token",
    "needs_user_account_access",
    "needs_user_artifact",
    "needs_user_choice",
    "needs_user_approval",
    "needs_user_environment_action",
)
