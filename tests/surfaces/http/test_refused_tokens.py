"""A refused token says nothing about what is stored: present, deleted and never there answer alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

from handrail.contract.tokens.workflow import mint, purpose_key, verify
from handrail.wiring import registry
from handrail_serve.api import offered_operations
from tests.surfaces.http.client import Answered
from tests.surfaces.http.filled_calls import Work, begin_work
from tests.surfaces.http.whole_server import Asking, WholeServer, api, fetch, tool

KINDS = ("ackToken", "stateToken", "checkpointToken")
BESIDE = {"session.start": {"notes": "Looked.", "requestId": "x"}}
"""What an operation wants beside the session, or it refuses the call before it looks for one."""


class Stores(NamedTuple):
    """A server, and three pieces of work: one it has, one it deleted, one of another store."""

    server: WholeServer
    here: Work
    deleted: Work
    foreign: Work


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    folder = tmp_path_factory.mktemp("stores")
    made = []
    for name in ("own", "other"):
        (folder / name).mkdir()
        made.append(WholeServer(folder / name))
    server, other = made
    here, deleted = begin_work(server, "here"), begin_work(server, "deleted")
    asked = {"ids": deleted.values["ids"], "dangerous": True}
    shown = server.data(api("session.delete", {**asked, "dryRun": True}))
    server.data(api("session.delete", {**asked, "confirm": shown["confirm_token"]}))
    return Stores(server, here, deleted, begin_work(other, "foreign"))


def forged(stores: Stores, work: Work, kind: str) -> str:
    """The token of this work as somebody without our key would make it."""
    found = verify(stores.server.runtime.keys.verifying_keys("workflow"), work.values[kind])
    assert found is not None
    return mint(purpose_key(b"x" * 32, "workflow"), found)


def with_token(work: Work, field: str, token: str) -> Iterator[tuple[str, Asking]]:
    """Every way in that takes a token in this field or for a session; the list comes from the registry."""
    for called in offered_operations(registry()):
        names = {one.encode_name for one in msgspec.structs.fields(called.input)}
        for name in sorted(names & {field, "session"}):
            given = {name: token, **BESIDE.get(called.name, {})}
            yield f"{called.name} {name}", api(called.name, work.call(called, **given))
    names_of_tools = {"checkpointToken": "checkpoint_workflow"}
    arguments = {field: token} | ({"output": {"notesMarkdown": "x"}} if field != "stateToken" else {})
    yield f"mcp {field}", tool(names_of_tools.get(field, "continue_workflow"), arguments)
    yield (
        f"mcp start {field}",
        tool("start_workflow", {"workflowId": "project.three_steps", "session": token, "requestId": "x"}),
    )


def ask_all(server: WholeServer, way: Sequence[tuple[str, Asking]]) -> list[Answered]:
    return server.answers([asking for _, asking in way])


def plain(told: Answered, *own: str) -> tuple[int, str]:
    """The answer without its own number and time, and without what the caller wrote itself."""
    text = told.body.decode()
    for name in own:
        text = text.replace(name, "OWN")
    text = re.sub(r"req_[0-9a-f]+|inc_[0-9a-z]+", "REQ", text)
    return told.status, re.sub(r'"(duration_ms|executionMs)":\d+|"timestamp":"[^"]*"', "", text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.thorough
def test_a_forged_token_gets_one_answer_whatever_it_names(stores: Stores, kind: str) -> None:
    """Its MAC is wrong, so nothing that it says is believed or looked up."""
    tokens = [forged(stores, stores.here, kind), forged(stores, stores.deleted, kind)]
    tokens.append(tokens[0][:3] + "0" * (len(tokens[0]) - 3))
    tokens.append(stores.foreign.values[kind])
    before = stores.server.stored()

    ways = [list(with_token(stores.here, kind, token)) for token in tokens]
    told = [
        [
            plain(one, token, f"ses_{token[3:15]}")
            for one in stores.server.answers([asking for _, asking in way])
        ]
        for token, way in zip(tokens, ways, strict=True)
    ]

    assert len(ways[0]) >= 3
    for name, *answers in zip([name for name, _ in ways[0]], *told, strict=True):
        assert len(set(answers)) == 1, (name, answers)
        is_filter = name == "session.gaps session"  # finds nothing, as with a word that nobody wrote
        assert is_filter or answers[0][0] >= 400 or '"isError":true' in answers[0][1], (name, answers[0])
    assert stores.server.stored() == before


def test_deleted_foreign_and_unknown_ids_are_answered_alike(stores: Stores) -> None:
    """Through every operation that takes a session, a run or a node, and the pages and the ledger."""
    never = {
        name: re.sub("(?<=_)[0-9a-z]{12}", "0" * 12, str(value)) if isinstance(value, str) else value
        for name, value in stores.here.values.items()
    }
    works = [stores.deleted, stores.foreign, msgspec.structs.replace(stores.here, values=never)]
    ways = [list(by_id(work)) for work in works]

    told = [
        [plain(one, *ids_of(work)) for one in ask_all(stores.server, way)]
        for work, way in zip(works, ways, strict=True)
    ]

    assert len(ways[0]) >= 20
    for name, *answers in zip([name for name, _ in ways[0]], *told, strict=True):
        assert len(set(answers)) == 1, (name, answers)


def by_id(work: Work) -> Iterator[tuple[str, Asking]]:
    session, run, node = (work.values[name] for name in ("sessionId", "runId", "node"))
    for called in offered_operations(registry()):
        names = {one.encode_name for one in msgspec.structs.fields(called.input)}
        for name in names & {"sessionId", "session", "runId", "run"}:
            if called.name in ("workflow.inspect", "run.start", "session.gaps"):
                continue  # these take a session or run beside a workflow, and have their own lines below
            own = {name: work.values[name], **BESIDE.get(called.name, {})}
            yield f"{called.name} {name}", api(called.name, work.call(called, **own))
    given = {"workflowId": "project.three_steps", "part": "diff", "run": run}
    yield "workflow.inspect run", api("workflow.inspect", given)
    yield "session.gaps session", api("session.gaps", {"session": session})
    for path in (f"{session}", f"{session}/timeline", f"{session}/runs/{run}/nodes/{node}"):
        yield f"page {path.count('/')}", fetch(f"/api/view/sessions/{path}")
    yield "ledger", fetch(f"/_lafs/context/{run}")
    yield "resume", tool("resume_session", {"query": session})


def ids_of(work: Work) -> Sequence[str]:
    """Longest first, so that no name is replaced inside another."""
    found: set[str] = {one for one in map(_text, work.values.values()) if re.match("(ses|run|nod)_", one)}
    return sorted(found, key=len, reverse=True)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
