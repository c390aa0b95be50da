"""A change that comes between the check of a token and its write: refused, and nothing is done."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from handrail.contract.outcome import Outcome, Success
from handrail.ports.process import Claim, ConfirmedTokens
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.runtime.write_permission import GatedInput
from handrail.wiring import registry
from tests.conftest import THREE_STEPS
from tests.journeys.conversation import advance, answer, start
from tests.journeys.writes import IN_A_DATABASE, SERVER, WRITES, World
from tests.team.team_races import MADE_ONCE, TEAM_RACES

Change = Callable[[], object]
LOOKED = ("/home/trees/projects/", "/objects/")
"""Where a look at the files remembers what it saw; what is kept of it for an undo has a name elsewhere."""
NOT_STATE = ("/home/audit/", "/home/confirm-consumed/", "/home/data/cache/", "/home/cache/", *LOOKED)
"""What a refused call may write: its audit line, that its token was used, and what it saw of the files."""


class Race(NamedTuple):
    """A call that holds its token, and what somebody else does before it writes."""

    params: dict[str, Any]
    change: Change


def confirmed(world: World, operation: str, **params: Any) -> dict[str, Any]:
    token = answer(world.runtime, operation, **params, dryRun=True)["confirm_token"]
    return {**params, "confirm": token}


def written(path: str, text: str) -> Change:
    """Somebody saves a file."""

    def write() -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    return write


def also(world: World, operation: str, **params: Any) -> Change:
    """Somebody else confirms this call, from a preview of their own."""
    given = confirmed(world, operation, **params)
    return lambda: answer(world.runtime, operation, **given)


def new_workflow(world: World) -> Race:
    params = confirmed(world, "workflow.new", workflowId="project.fresh")
    return Race(params, written(f"{world.project}/.handrail/workflows/project.fresh.json", "{}"))


def save_new_workflow(world: World) -> Race:
    params = WRITES["workflow.save"](world)
    return Race(params, written(f"{world.project}/.handrail/workflows/project.new_three_steps.json", "{}"))


def save_changed_workflow(world: World) -> Race:
    text = THREE_STEPS.replace(b"three steps", b"3 steps").decode() + "\n"
    params = confirmed(world, "workflow.save", document={"source": "three_steps.json", "text": text})
    return Race(params, written(f"{world.project}/.handrail/workflows/three_steps.json", "{}"))


def convert_over_file(world: World) -> Race:
    out = f"{world.project}/three_steps.yaml"
    params = confirmed(world, "workflow.convert", workflowId="project.three_steps", to="yaml", out=out)
    return Race(params, written(out, "{}"))


def lay_out_over_file(world: World) -> Race:
    out = f"{world.project}/three_steps.json"
    params = confirmed(world, "workflow.fmt", workflowId="project.three_steps", out=out)
    return Race(params, written(out, "{}"))


def start_changed_workflow(world: World) -> Race:
    params = confirmed(world, "run.start", workflowId="project.three_steps")
    changed = json.loads(THREE_STEPS)
    changed["steps"][0]["prompt"] = "Something that nobody has seen."
    return Race(params, written(f"{world.project}/.handrail/workflows/three_steps.json", json.dumps(changed)))


def start_in_grown_session(world: World) -> Race:
    reply = start(world.runtime, requestId="before")
    params = confirmed(
        world, "run.start", workflowId="project.three_steps", session=reply["session"]["sessionId"]
    )
    return Race(params, lambda: advance(world.runtime, reply))


def start_under_same_key(world: World) -> Race:
    call = {"workflowId": "project.three_steps", "requestId": "key"}
    return Race(
        confirmed(world, "run.start", **call), lambda: answer(world.runtime, "run.start", **call, goal="else")
    )


def session_under_same_key(world: World) -> Race:
    call = {"goal": "Think first", "requestId": "key"}
    return Race(
        confirmed(world, "session.start", **call),
        lambda: answer(world.runtime, "session.start", goal="else", requestId="key"),
    )


def delete_grown_session(world: World) -> Race:
    reply = start(world.runtime, requestId="before")
    params = confirmed(world, "session.delete", ids=[reply["session"]["sessionId"]], dangerous=True)
    return Race(params, lambda: advance(world.runtime, reply))


def collect_grown_session(world: World) -> Race:
    reply = start(world.runtime, requestId="before")
    params = confirmed(world, "store.gc", olderThan=0, dangerous=True)
    return Race(params, lambda: advance(world.runtime, reply))


def copy_grown_session(world: World) -> Race:
    reply = start(world.runtime, requestId="before")
    params = confirmed(world, "store.copy", to=f"{world.folder}/other")
    return Race(params, lambda: advance(world.runtime, reply))


def copy_into_filled_store(world: World) -> Race:
    params = WRITES["store.copy"](world)
    return Race(params, also(world, "store.copy", to=f"{world.folder}/other"))


def import_taken_session(world: World) -> Race:
    params = WRITES["session.import"](world)
    return Race(params, also(world, "session.import", bundle=params["bundle"], asNew=True))


def prefer_in_session(world: World) -> Race:
    params = WRITES["preferences.set"](world)
    return Race(params, also(world, "preferences.set", session=params["session"], preset="guided"))


def prefer_everywhere(world: World) -> Race:
    params = confirmed(world, "preferences.set", autonomy="full_auto_never_stop")
    return Race(params, also(world, "preferences.set", preset="guided"))


def set_everywhere(world: World) -> Race:
    return Race(WRITES["settings.set"](world), also(world, "preferences.set", preset="full_auto_with_stops"))


def rotate_keys(world: World) -> Race:
    return Race(WRITES["keys.rotate"](world), also(world, "keys.rotate"))


def set_up_changed_file(world: World) -> Race:
    also(world, "clients.setup", clients=["cursor"])()
    os.remove(f"{world.user}/.cursor/mcp.json")  # skill and worker are there: only the file is at stake
    params = WRITES["clients.setup"](world)
    return Race(params, written(f"{world.user}/.cursor/mcp.json", '{"mcpServers": {}}'))


def remove_changed_skill(world: World) -> Race:
    also(world, "clients.setup", clients=["cursor"])()
    for name in ("mcp.json", "agents/handrail-worker.md"):
        os.remove(f"{world.user}/.cursor/{name}")
    params = confirmed(world, "clients.setup", clients=["cursor"], remove=True)
    return Race(params, written(f"{world.user}/.agents/skills/handrail/SKILL.md", "My own words."))


def restore_changed_file(world: World) -> Race:
    return Race(WRITES["code.restore"](world), written(f"{world.project}/new.txt", "other words\n"))


def edit_changed_file(world: World) -> Race:
    params = WRITES["code.edit"](world)
    return Race(params, written(f"{world.project}/app.js", "export function greet() { return 1; }\n"))


def link_linked_project(world: World) -> Race:
    return Race(WRITES["team.link"](world), also(world, "team.link", server=SERVER, workspace="payments"))


def unlink_linked_anew(world: World) -> Race:
    params = WRITES["team.unlink"](world)
    return Race(params, also(world, "team.link", server=SERVER, workspace="payments"))


RACES: dict[str, tuple[Callable[[World], Race], ...]] = {
    "workflow.new": (new_workflow,),
    "workflow.convert": (convert_over_file,),
    "workflow.fmt": (lay_out_over_file,),
    "workflow.save": (save_new_workflow, save_changed_workflow),
    "run.start": (start_in_grown_session, start_under_same_key),
    "session.start": (session_under_same_key,),
    "session.delete": (delete_grown_session,),
    "session.import": (import_taken_session,),
    "store.gc": (collect_grown_session,),
    "store.copy": (copy_grown_session, copy_into_filled_store),
    "preferences.set": (prefer_in_session, prefer_everywhere),
    "settings.set": (set_everywhere,),
    "keys.rotate": (rotate_keys,),
    "clients.setup": (set_up_changed_file, remove_changed_skill),
    "code.restore": (restore_changed_file,),
    "code.edit": (edit_changed_file,),
    "team.link": (link_linked_project,),
    "team.unlink": (unlink_linked_anew,),
}

GATED = {
    one.name
    for one in registry().operations()
    if issubclass(one.input, GatedInput) or one.reads_without == "fix"
}
"""Every operation that takes the token of a preview."""

UNGATED = {
    "run.continue": "an ack, which answers once",
    "run.checkpoint": "a checkpoint token, which saves the same once",
    "run.close": "a person, or the agent of the run",
    "run.answer": "a person, for the digest of what they were shown: test_confirm_races.py",
    "session.resolve_gap": "a person, for one gap",
    "session.rename": "a person, for one title",
    "check.approve": "a person, for the digest of what they were shown",
    "check.prove": "whoever may start programs here",
    "store.adopt": "a person at a terminal, once for the whole store",
    "store.move": "a person at a terminal, for one folder",
    "check.run": "whoever may start programs here",
    "receipt.key": "a person at the terminal",
    "code.workflow": "an ack, which answers once",
    "program.update": "the user's command; it replaces the program or does nothing",
    "team.login": "a code that a person admits",
    "team.logout": "the user's own credential",
    "team.admit": "a person, for the code of one machine",
}
"""What writes by another right than the token of a preview."""


class AtTheClaim:
    """`ports.ConfirmedTokens`; a token is used up after everything was checked, right before the write."""

    def __init__(self, held: ConfirmedTokens, change: Change) -> None:
        self._held = held
        self._change = change

    def is_used(self, fingerprint: str) -> bool:
        return self._held.is_used(fingerprint)

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        self._change()
        return self._held.claim(fingerprint, expires_at=expires_at, now=now)


class AtTheFiles:
    """`ports.Worktree`; an edit of code uses its token up after it has written."""

    def __init__(self, held: Any, change: Change) -> None:
        self._held = held
        self._change = change

    def __getattr__(self, name: str) -> Any:
        if name == "write_files":
            self._change()
        return getattr(self._held, name)


def raced(world: World, operation: str, race: Race, seen: list[dict[str, bytes]]) -> Outcome:
    def change() -> None:
        race.change()
        seen.append(state_of(world))

    runtime: Runtime = world.runtime
    if operation == "code.edit":
        worktree = runtime.worktree
        runtime = msgspec.structs.replace(runtime, worktree=lambda: AtTheFiles(worktree(), change))
    else:
        runtime = msgspec.structs.replace(runtime, confirmed=AtTheClaim(runtime.confirmed, change))
    return perform(runtime, operation, race.params)


def state_of(world: World) -> dict[str, bytes]:
    """Every file that means something."""
    found = {}
    for folder, _, names in os.walk(world.folder):
        for name in names:
            path = f"{folder}/{name}"
            if not name.endswith(".lock") and not any(part in path for part in NOT_STATE):
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found | {"settings": repr(world.runtime.settings.of()).encode()}


def reasons_of(outcome: Outcome) -> set[str]:
    """Why each target was refused; empty for one that was not."""
    if not isinstance(outcome, Success):
        return {outcome.kind.native}
    assert isinstance(outcome.data, dict)
    items = outcome.data.get("items", [{"ok": True}])
    return {"" if item["ok"] else item["error"]["code"] for item in items}


def test_every_operation_that_takes_a_token_has_its_race() -> None:
    assert set(RACES) == GATED - IN_A_DATABASE
    assert set(TEAM_RACES) | MADE_ONCE == GATED & IN_A_DATABASE


def test_every_other_operation_that_writes_says_by_which_right() -> None:
    writing = {one.name for one in registry().operations() if one.effect != "read"}

    assert set(UNGATED) == writing - GATED


@pytest.mark.parametrize(
    ("operation", "make"), [(name, make) for name, each in RACES.items() for make in each]
)
def test_change_after_the_check_is_refused(
    tmp_path: Path, operation: str, make: Callable[[World], Race]
) -> None:
    world = World(str(tmp_path))
    race = make(world)
    seen: list[dict[str, bytes]] = []

    outcome = raced(world, operation, race, seen)

    (before,) = seen
    assert "E_CONFLICT" in reasons_of(outcome), outcome
    after = state_of(world)
    assert [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)] == []


def test_a_start_begins_the_workflow_that_its_preview_showed(tmp_path: Path) -> None:
    world = World(str(tmp_path))

    outcome = raced(world, "run.start", start_changed_workflow(world), [])

    assert isinstance(outcome, Success)
    assert isinstance(outcome.data, dict)
    assert outcome.data["pending"]["prompt"] == json.loads(THREE_STEPS)["steps"][0]["prompt"]
