"""A session of the team, for an operation that reads files of this machine.

The client fetches the session as a bundle, checks it like an import and keeps it in memory for this one call.
The files, their contents and the key of receipts stay on this machine. Before the client restores files, the
server records the present ones, so that a restore can be undone too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Json, Outcome, success_of
from handrail.engine.bundles.reading import read_bundle
from handrail.engine.facts import encode_project
from handrail.event_log.memory import MemoryLog
from handrail.operations.code.named_trees import refuse_unclear
from handrail.ports.log import Blob, Draft, EventLog
from handrail.ports.server import TeamCall
from handrail.ports.worktree import Worktree
from handrail.runtime.hub import perform_operation
from handrail.runtime.runtime import Runtime
from handrail_team.client.kept_contents import KeepingTrees
from handrail_team.client.note_tree import NOTE_TREE

READS_A_SESSION: Final = ("code.status", "code.diff", "code.restore", "receipt.export")
"""Operations that read both a session and files of this machine."""

_MOST_NAMED: Final = 5
Ask = Callable[[str, dict[str, Json]], Outcome]
"""Asks the server for the outcome of an operation."""


def perform_here(
    local: Runtime,
    project: str,
    call: TeamCall,
    ask: Ask,
    keeping: Callable[[Callable[[], str]], tuple[Worktree, KeepingTrees]],
) -> Outcome:
    """Perform such an operation on this machine, with the server's copy of the session.

    Raises Fault CONTEXT_MISSING if the call fits no session, or several.
    """
    params = {name: value for name, value in call.params.items() if name != "stateToken"}
    if "stateToken" in call.params:
        raise refuse_unclear("In a team, this command takes a session id, not a token.", [])
    named = params.get("session")
    if not isinstance(named, str):
        named = (_find_newest if call.operation == "receipt.export" else _find_open)(project, ask)
    bundle = _require(ask("session.export", {"sessionId": named, "withCode": True}))
    log = _open_bundle(msgspec.json.encode(bundle["content"]).decode())
    worktree, trees = keeping(lambda: str(_require(ask(NOTE_TREE.name, {"session": named}))["treeId"]))
    entered = msgspec.structs.replace(local, log=log, worktree=lambda: worktree, trees=lambda: trees)
    called = local.registry.operation(call.operation)
    return perform_operation(entered, called, {**params, "session": named}, call.ask)


def _open_bundle(text: str) -> EventLog:
    bundle = read_bundle(text)
    log = MemoryLog()
    with log.hold(SessionId(bundle.session_id), 0) as hold:
        hold.append(
            0,
            [Draft(dedupe_key=record.dedupe_key, body=record.body) for record in bundle.records],
            [Blob(ref=ref, content=content) for ref, content in bundle.contents.items()],
        )
    return log


def _find_open(project: str, ask: Ask) -> str:
    """Return the session of the only run in progress in this project."""
    del project  # every call carries its project
    found = _require(ask("session.work", {})).get("candidates", [])
    sessions = list(dict.fromkeys(one["sessionId"] for one in found))
    if len(sessions) != 1:
        text = f"{len(sessions)} runs are in progress here." if sessions else "No run is in progress here."
        raise refuse_unclear(text, sessions)
    return str(sessions[0])


def _find_newest(project: str, ask: Ask) -> str:
    """Return the latest session of this project that agents of this account began."""
    me = _require(ask("team.whoami", {}))["account"]
    asked: dict[str, Json] = {"projectName": encode_project(project).name, "limit": _MOST_NAMED}
    own = _list_sessions(ask("session.list", {**asked, "account": me}))
    if own:
        return own[0]
    others = _list_sessions(ask("session.list", asked))
    text = "Only agents of other accounts began runs here." if others else "This project has no run."
    raise refuse_unclear(text, others)


def _list_sessions(outcome: Outcome) -> list[str]:
    page = success_of(outcome).page
    rows: Any = () if page is None else page.items
    return [str(row["id"]) for row in rows]


def _require(outcome: Outcome) -> dict[str, Any]:
    data = success_of(outcome).data
    assert isinstance(data, dict), "answers are objects"
    return data
