"""One real write for every operation of the registry that writes, each in a world of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Success
from handrail.event_log.files.log import FileLog
from handrail.operations.kept_trees import record_tree
from handrail.ports.program import (
    Fetched,
    Installed,
    InstallFacts,
    ManagerExit,
    SkillCopy,
    UpdateCheck,
)
from handrail.ports.server import Exchange
from handrail.ports.trees import TakenTree
from handrail.ports.workspace import DeclaredCheck, Settings
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import read_session
from handrail.wiring import build_runtime, registry
from handrail_team.client.team_file import KeptServer, change_team_file
from tests.conftest import THREE_STEPS, GivenSettings, KeptIncidents, settings_of
from tests.event_log.log_promises import A, append, plan
from tests.journeys.at_a_terminal import Person
from tests.journeys.conversation import advance, answer, start

NEWER = "99.0.0"


class World:
    """A home, a project and a user of their own."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.home, self.user = f"{folder}/home", f"{folder}/user"
        self.project = f"{folder}/project"
        os.makedirs(f"{self.project}/.handrail/workflows")
        os.makedirs(f"{self.user}/.cursor")
        with open(f"{self.project}/.handrail/workflows/three_steps.json", "wb") as file:
            file.write(THREE_STEPS)
        person = {"USER": "tester", "HOME": self.user, "PATH": os.environ["PATH"]}
        environment = {"HANDRAIL_PROJECT": self.project, **person}
        settings = GivenSettings()
        settings.settings = Settings(start_session=True, update_index="https://index.invalid/simple")
        updates = GivenUpdates()
        self.runtime = msgspec.structs.replace(
            build_runtime(environment, home=self.home),
            incidents=KeptIncidents(),
            settings=settings,
            updates=lambda: updates,
            terminal=lambda: Person("y"),
        )


class GivenUpdates:
    """An index with one newer release, and a manager that installs it."""

    def __init__(self) -> None:
        self.version = "0.0.0"

    def facts(self) -> InstallFacts:
        return InstallFacts(
            method="uv-tool",
            executable="/python",
            python="3.13.0",
            prefix="/prefix",
            is_writable=True,
            programs={"uv": "/uv"},
            has_pip=False,
        )

    def fetch(self, url: str, accept: str, asked: Callable[[], str], base: str = "") -> Fetched:
        name = f"handrail-{NEWER}-py3-none-any.whl"
        row = {"filename": name, "url": name, "hashes": {"sha256": sha256(b"wheel").hexdigest()}}
        content = b"wheel" if url.endswith(".whl") else json.dumps({"files": [row]}).encode()
        return Fetched(content=content, url=url)

    def drive(self, argv: Sequence[str], asked: Callable[[], str], say: Callable[[str], None]) -> ManagerExit:
        self.version = NEWER
        return ManagerExit(status=0)

    def installed(self) -> Installed | None:
        return Installed(version=self.version, package="/package")

    def sync_skill(self, package: str) -> SkillCopy:
        return SkillCopy(status="synced", path="/skill")

    def last_check(self) -> UpdateCheck | None:
        return None

    def keep_check(self, look: UpdateCheck | None) -> None:
        del look


def _confirmed(runtime: Runtime, operation: str, **params: Any) -> dict[str, Any]:
    """The params of the second call, after the preview."""
    token = answer(runtime, operation, **params, dryRun=True)["confirm_token"]
    return {**params, "confirm": token}


def _third(runtime: Runtime) -> dict[str, Any]:
    """At the step that asks a person."""
    return advance(runtime, advance(runtime, start(runtime)))


def _session(runtime: Runtime) -> str:
    session_id: str = start(runtime, requestId="before")["session"]["sessionId"]
    return session_id


def _bundle(runtime: Runtime) -> dict[str, Any]:
    session_id = _session(runtime)
    bundle = answer(runtime, "session.export", sessionId=session_id)["content"]
    text = bundle if isinstance(bundle, str) else json.dumps(bundle)
    return _confirmed(runtime, "session.import", bundle={"source": "b.json", "text": text}, asNew=True)


def _old(runtime: Runtime) -> dict[str, Any]:
    _session(runtime)
    return _confirmed(runtime, "store.gc", olderThan=0, dangerous=True)


def _copy(world: World) -> dict[str, Any]:
    _session(world.runtime)
    return _confirmed(world.runtime, "store.copy", to=f"{world.folder}/other")


def _unproven(world: World) -> dict[str, Any]:
    """A session from before the store key."""
    append(FileLog(f"{world.home}/data"), A, 0, plan("a:1"))
    _session(world.runtime)
    return {}


def _moved(world: World) -> dict[str, Any]:
    _session(world.runtime)
    return {"to": f"{world.folder}/moved"}


TESTS = DeclaredCheck(name="tests", command=(sys.executable, "-c", "pass"))


def _declared(world: World) -> dict[str, Any]:
    """The name of a check that the project declares."""
    settings = world.runtime.settings
    assert isinstance(settings, GivenSettings)
    settings.settings = msgspec.structs.replace(settings.settings, checks=(TESTS,))
    return {"name": TESTS.name}


def _restored(world: World) -> dict[str, Any]:
    runtime = world.runtime
    session = read_session(runtime.log, SessionId(_session(runtime)))
    assert session is not None
    given = settings_of(runtime)
    given.settings = msgspec.structs.replace(given.settings, snapshots="always", looking="always")
    (node_id,) = session.history.nodes
    taken = runtime.trees().take(world.project, is_anywhere=True)
    assert isinstance(taken, TakenTree), taken
    record_tree(runtime, session.history, node_id, world.project, taken, "start")
    with open(f"{world.project}/new.txt", "w", encoding="utf-8") as file:
        file.write("not there then\n")
    return _confirmed(runtime, "code.restore", node=node_id)


def _edited(world: World) -> dict[str, Any]:
    """The apply token of a rename."""
    with open(f"{world.project}/app.js", "w", encoding="utf-8") as file:
        file.write("export function greet() {}\n")
    asked = {"file": "app.js", "rename": "greet", "to": "welcome", "aiMode": True}
    shown = perform(world.runtime, "code.edit", asked)
    assert isinstance(shown, Success), shown
    assert isinstance(shown.data, dict)
    return {"continuation": shown.data["continuation_tokens"]["apply"], "fix": True}


def _written(world: World, operation: str, out: str, **params: Any) -> dict[str, Any]:
    """The params that put the workflow of the world into another file."""
    named = {"workflowId": "project.three_steps", "out": f"{world.project}/{out}"}
    return _confirmed(world.runtime, operation, **named, **params)


def _gap(world: World) -> dict[str, Any]:
    """The gap of a run that went on where a person should have said yes."""
    workflow = json.loads(THREE_STEPS) | {"id": "project.asks"}
    workflow["steps"] = [workflow["steps"][0] | {"requireConfirmation": True}]
    with open(f"{world.project}/.handrail/workflows/asks.json", "w", encoding="utf-8") as file:
        json.dump(workflow, file)
    first = start(world.runtime, workflowId="project.asks", preferences={"autonomy": "full_auto_never_stop"})
    answer(world.runtime, "run.continue", ackToken=first["ackToken"], output={"notesMarkdown": "done"})
    session_id = first["session"]["sessionId"]
    (gap,) = answer(world.runtime, "session.gaps", session=session_id)["items"]
    return {"gap": gap["id"], "note": "I looked at it.", "session": session_id}


def _saved(runtime: Runtime) -> dict[str, Any]:
    text = THREE_STEPS.replace(b"project.three", b"project.new_three").decode()
    return _confirmed(runtime, "workflow.save", document={"source": "new.json", "text": text})


SERVER = "https://handrail.example.com"


class GivenServer:
    """`ports.HttpClient` to a team server that lets every machine in and out."""

    def ask(self, method: str, url: str, *_: Any, **__: Any) -> Exchange:
        body = b'{"token": "hra_given", "expires_at": 0}'
        return Exchange(method=method, url=url, status=200, headers={}, body=body)


def _signed_in(world: World, kept: KeptServer) -> World:
    """A machine that a team server knows."""
    world.runtime = msgspec.structs.replace(world.runtime, http_client=GivenServer)
    change_team_file(world.home, SERVER, kept)
    return world


def _resumed(world: World) -> dict[str, Any]:
    _signed_in(world, KeptServer(asked="secret"))
    return {"resume": True}


def _signed_out(world: World) -> dict[str, Any]:
    _signed_in(world, KeptServer(token="hra_given"))
    return {}


def _unlinked(world: World) -> dict[str, Any]:
    answer(world.runtime, "team.link", **_confirmed(world.runtime, "team.link", server=SERVER))
    return _confirmed(world.runtime, "team.unlink")


WRITES: dict[str, Callable[[World], dict[str, Any]]] = {
    "workflow.new": lambda world: _confirmed(world.runtime, "workflow.new", workflowId="project.fresh"),
    "workflow.save": lambda world: _saved(world.runtime),
    "workflow.convert": lambda world: _written(world, "workflow.convert", "three_steps.yaml", to="yaml"),
    "workflow.fmt": lambda world: _written(world, "workflow.fmt", "three_steps.json"),
    "run.start": lambda world: {"workflowId": "project.three_steps", "requestId": "key"},
    "run.continue": lambda world: {
        "ackToken": start(world.runtime)["ackToken"],
        "output": {"notesMarkdown": "done"},
    },
    "run.checkpoint": lambda world: {
        "checkpointToken": start(world.runtime)["checkpointToken"],
        "output": {"notesMarkdown": "half done"},
    },
    "run.close": lambda world: {"run": _session(world.runtime), "reason": "abandoned"},
    "run.answer": lambda world: {"stateToken": _third(world.runtime)["stateToken"]},
    "check.run": lambda world: {"argv": [sys.executable, "-c", "pass"], "session": _session(world.runtime)},
    "check.prove": lambda _: {"argv": [sys.executable, "-c", "pass"]},
    "check.approve": _declared,
    "receipt.key": lambda world: {"rotate": True},
    "code.restore": _restored,
    "code.edit": _edited,
    "code.workflow": lambda world: {"workflowId": "project.three_steps", "requestId": "key"},
    "session.start": lambda world: {"goal": "Think first", "requestId": "key"},
    "session.resolve_gap": _gap,
    "session.rename": lambda world: {"session": _session(world.runtime), "title": "The parser"},
    "session.delete": lambda world: _confirmed(
        world.runtime, "session.delete", ids=[_session(world.runtime)], dangerous=True
    ),
    "preferences.set": lambda world: _confirmed(
        world.runtime, "preferences.set", autonomy="full_auto_never_stop", session=_session(world.runtime)
    ),
    "settings.set": lambda world: _confirmed(
        world.runtime, "settings.set", key="preferences.autonomy", value="guided"
    ),
    "keys.rotate": lambda world: _confirmed(world.runtime, "keys.rotate"),
    "store.gc": lambda world: _old(world.runtime),
    "store.copy": _copy,
    "store.adopt": _unproven,
    "store.move": _moved,
    "session.import": lambda world: _bundle(world.runtime),
    "clients.setup": lambda world: _confirmed(world.runtime, "clients.setup", clients=["cursor"]),
    "program.update": lambda world: {},
    "team.login": _resumed,
    "team.logout": _signed_out,
    "team.link": lambda world: _confirmed(world.runtime, "team.link", server=SERVER),
    "team.unlink": _unlinked,
}
"""The params of a call that changes something, made ready in its world."""

IN_A_DATABASE = frozenset(
    one.name for one in registry().operations() if "store" in one.input.__struct_fields__
)
"""Operations on the accounts of a team take the address of its database, and need one: tests/team has it."""

WRITING: Sequence[str] = [
    one.name for one in registry().operations() if one.effect != "read" and one.name not in IN_A_DATABASE
]
"""Every operation that can change something, from the registry: a new one needs its write above."""

KEEPS_NOTHING = frozenset({"check.prove"})
"""Starts programs; a typed command is recorded nowhere, so a lost answer is lost, and never told as good."""

COMMITTING: Sequence[str] = [name for name in WRITING if name not in KEEPS_NOTHING]
