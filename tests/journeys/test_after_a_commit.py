"""What a change is told as once it is made: a success, whatever breaks between the commit and the answer."""

from __future__ import annotations

import errno
import itertools
import json
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest

import handrail
from handrail.contract.disclosure.fields import Ask, Budget
from handrail.contract.outcome import Commits, NextCall, Outcome, Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.reading.command_table import COMMANDS
from handrail.wiring import registry
from tests.journeys.conversation import answer
from tests.journeys.interfaces import TOOL_OF, tool_call
from tests.journeys.writes import COMMITTING, KEEPS_NOTHING, WRITES, WRITING, World
from tests.quick_set import all_but_thorough
from tests.surfaces.cli.here import run_troubled

POINTS = 3
"""How many points after the commit are tried for one write at one door; each door tries others."""
ERRORS: tuple[Callable[[], Exception], ...] = (
    MemoryError,
    lambda: OSError(errno.EMFILE, "Too many open files"),
    lambda: RuntimeError("can't start new thread"),
    lambda: ValueError("a defect"),
)
GUARDS = frozenset(
    (
        "_catch_trouble",
        "_audit_outcome",
        "_try_work",
        "_try",
        "_record_incident",
        "make_stand_in",
        "_run_guarded",
        "_deliver",
        "is_made",
    )
)
"""What catches all the others."""
PACKAGE = os.path.join(os.path.dirname(handrail.__file__), "")


def by_library(runtime: Runtime, name: str, params: dict[str, Any]) -> bool:
    return isinstance(perform(runtime, name, params), Success)


def by_mcp(runtime: Runtime, name: str, params: dict[str, Any]) -> bool:
    rendered = tool_call(runtime, TOOL_OF[name], **params)
    assert rendered.text
    return not rendered.is_error


def by_command(runtime: Runtime, name: str, params: dict[str, Any], *flags: str) -> bool:
    path = next(row["path"] for row in COMMANDS.values() if row["operation"] == name)
    ran = run_troubled(runtime, [*path.split(), "--input", json.dumps(params), *flags])
    if "--human" in flags:
        return ran.status == 0 and bool(ran.out)
    document = json.loads(ran.out)
    return ran.status == 0 and document.get("ok", document.get("success")) is True


DOORS: dict[str, Callable[[Runtime, str, dict[str, Any]], bool]] = {
    "library": by_library,
    "mcp": by_mcp,
    "cli": by_command,
    "lafs": lambda runtime, name, params: by_command(runtime, name, params, "--envelope", "lafs"),
    "text": lambda runtime, name, params: by_command(runtime, name, params, "--human"),
}
CASES = [(name, door) for name in COMMITTING for door in DOORS if door != "mcp" or name in TOOL_OF]


@contextmanager
def after_the_commit(act: Callable[[], None]) -> Iterator[None]:
    """`act` happens the moment a change is noted."""
    real = Commits.note

    def note(commits: Commits, reads_back: NextCall) -> None:
        is_first = not commits.is_made
        real(commits, reads_back)
        if is_first:
            act()

    setattr(Commits, "note", note)  # noqa: B010 - mypy takes no other function for a method
    try:
        yield
    finally:
        setattr(Commits, "note", real)  # noqa: B010 - as above


class Trap:
    """Raises in the n-th function of the product that is called after the commit, once."""

    def __init__(self, place: int, error: Callable[[], Exception]) -> None:
        self.left = place
        self.error = error
        self.calls = 0
        self.sprung = ""
        self.before = sys.gettrace()

    def arm(self) -> None:
        sys.settrace(self._look)

    def disarm(self) -> None:
        sys.settrace(self.before)

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        if code.co_name in GUARDS or code.co_name == "<genexpr>":  # one that ends has nobody to tell
            return
        self.calls += 1
        if self.calls == self.left:
            self.sprung = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_code.co_name}"
            self.disarm()
            raise self.error()


def tried(folder: Path, name: str, door: str, trap: Trap) -> bool:
    """Whether the write is told as done, with the trap on its way."""
    folder.mkdir(parents=True)
    world = World(str(folder))
    params = WRITES[name](world)
    try:
        with after_the_commit(trap.arm):
            return DOORS[door](world.runtime, name, params)
    finally:
        trap.disarm()


def test_every_operation_that_writes_has_its_write_in_the_table() -> None:
    assert sorted(WRITES) == sorted(WRITING)


@pytest.mark.parametrize(("name", "door"), all_but_thorough(CASES, step=7))
def test_trouble_after_a_commit_is_no_failure(tmp_path: Path, name: str, door: str) -> None:
    looked = Trap(-1, MemoryError)
    assert tried(tmp_path / "whole", name, door, looked)
    assert looked.calls > 0, "nothing ran after the commit"
    offset = (WRITING.index(name) * len(DOORS) + list(DOORS).index(door)) % max(1, looked.calls // POINTS)
    places = [1 + offset + step * max(1, looked.calls // POINTS) for step in range(POINTS)]

    for place in places:
        trap = Trap(place, ERRORS[place % len(ERRORS)])
        is_told_as_done = tried(tmp_path / str(place), name, door, trap)

        assert is_told_as_done, f"{trap.error().__class__.__name__} in {trap.sprung}"


@pytest.mark.thorough
def test_no_call_after_the_commit_of_a_step_may_fail_it(tmp_path: Path) -> None:
    looked = Trap(-1, MemoryError)
    assert tried(tmp_path / "whole", "run.checkpoint", "mcp", looked)

    for place in range(1, looked.calls + 1, 11):
        trap = Trap(place, ERRORS[place % len(ERRORS)])

        assert tried(tmp_path / str(place), "run.checkpoint", "mcp", trap), trap.sprung


@pytest.mark.parametrize(("name", "door"), all_but_thorough(CASES, step=8))
def test_process_without_descriptors_still_reports_its_change(tmp_path: Path, name: str, door: str) -> None:
    world = World(str(tmp_path))
    params = WRITES[name](world)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)

    def use_up() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))

    try:
        with after_the_commit(use_up):
            is_told_as_done = DOORS[door](world.runtime, name, params)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    assert is_told_as_done


SEAMS = (
    ("handrail.runtime.hub", "disclose"),
    ("handrail.runtime.hub", "_add_cursor"),
    ("handrail.runtime.hub", "write_audit_line"),
    ("handrail.surfaces.cli.run", "render"),
    ("handrail.surfaces.cli.rendering.render", "encode_document"),
    ("handrail.surfaces.mcp.results", "render"),
    ("handrail.surfaces.mcp.results", "_text"),
)


def broken(*_: Any, **__: Any) -> Any:
    raise MemoryError


@pytest.mark.parametrize(
    ("seam", "door"),
    all_but_thorough(itertools.product(SEAMS, ["library", "mcp", "cli", "lafs", "text"]), step=3),
)
def test_lasting_trouble_after_a_commit_keeps_the_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seam: tuple[str, str], door: str
) -> None:
    world = World(str(tmp_path))
    params = WRITES["run.continue"](world)

    def breaks() -> None:
        monkeypatch.setattr(f"{seam[0]}.{seam[1]}", broken)
        monkeypatch.setattr(world.runtime.incidents, "record", broken)

    with after_the_commit(breaks):
        assert DOORS[door](world.runtime, "run.continue", params)


@pytest.mark.parametrize("name", all_but_thorough(COMMITTING, step=4))
def test_answer_that_cannot_be_made_names_the_reading_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    world = World(str(tmp_path))
    params = WRITES[name](world)

    with after_the_commit(lambda: monkeypatch.setattr("handrail.runtime.hub.disclose", broken)):
        outcome: Outcome = perform(world.runtime, name, params)
    monkeypatch.undo()

    assert isinstance(outcome, Success)
    assert isinstance(outcome.data, dict)
    assert outcome.data["committed"] is True
    assert [notice.type for notice in outcome.notices] == ["reply_not_built"]
    read = outcome.data["read"]
    answer(world.runtime, read["operation"], **read["params"])


@pytest.mark.parametrize("name", sorted(KEEPS_NOTHING))
def test_call_that_keeps_nothing_commits_nothing_on_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    world = World(str(tmp_path))
    params = WRITES[name](world)

    before = kept_files(world)
    with after_the_commit(lambda: pytest.fail("something was changed")):
        assert isinstance(perform(world.runtime, name, params), Success)
        monkeypatch.setattr("handrail.runtime.hub.disclose", broken)
        lost = perform(world.runtime, name, params)

    assert not isinstance(lost, Success)
    assert kept_files(world) == before


def kept_files(world: World) -> dict[str, bytes]:
    """Every file of the world but the lines of its audit."""
    files = [path for path in Path(world.folder).rglob("*") if path.is_file() and "audit" not in path.parts]
    return {str(path): path.read_bytes() for path in files}


def test_each_surface_spells_the_reading_call_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(str(tmp_path))

    def breaks() -> None:
        monkeypatch.setattr("handrail.runtime.hub.disclose", broken)

    params = WRITES["run.continue"](world)
    with after_the_commit(breaks):
        told = tool_call(world.runtime, "continue_workflow", **params)
    monkeypatch.undo()
    assert 'resume_session {"query":"ses_' in told.text
    assert not told.is_error

    params = WRITES["run.continue"](world)
    with after_the_commit(breaks):
        ran = run_troubled(world.runtime, ["run", "continue", "--input", json.dumps(params)])
    document = json.loads(ran.out)
    assert ran.status == 0
    assert document["data"]["read"]["call"].startswith("handrail session resume ses_")
    assert document["meta"]["notices"][0]["severity"] == "warning"


@pytest.mark.thorough
@pytest.mark.parametrize("name", all_but_thorough(WRITING, step=3))
def test_unknown_name_is_refused_before_anything_is_done(tmp_path: Path, name: str) -> None:
    world = World(str(tmp_path))
    params = WRITES[name](world)

    for ask in (Ask(fields=("nope", "items.nope.below")), Ask(field="nope"), Ask(expand=("nope",))):
        with after_the_commit(lambda: pytest.fail("something was changed")):
            refused = perform(world.runtime, name, params, ask)
        assert not isinstance(refused, Success)
    done = perform(world.runtime, name, params)

    assert isinstance(done, Success), "a refused call uses nothing up"


@pytest.mark.thorough
@pytest.mark.parametrize("name", all_but_thorough(WRITING, step=3))
def test_every_declared_field_can_be_asked_of_a_write(tmp_path: Path, name: str) -> None:
    world = World(str(tmp_path))
    params = WRITES[name](world)
    declared = [field.encode_name for field in msgspec.structs.fields(registry().operation(name).output)]

    outcome = perform(world.runtime, name, params, Ask(fields=tuple(declared)))

    assert isinstance(outcome, Success)
    assert outcome.disclosure == "custom"


@pytest.mark.thorough
@pytest.mark.parametrize("name", all_but_thorough(WRITING, step=3))
def test_a_budget_never_refuses_what_a_write_answers(tmp_path: Path, name: str) -> None:
    world = World(str(tmp_path))
    params = WRITES[name](world)

    outcome = perform(world.runtime, name, params, Ask(budget=Budget(max_tokens=1)))

    assert isinstance(outcome, Success)
    assert [notice.type for notice in outcome.notices][-1:] == ["budget_not_met"]


def test_delete_with_an_unknown_field_keeps_its_token(tmp_path: Path) -> None:
    world = World(str(tmp_path))
    params = WRITES["session.delete"](world)
    line = ["session", "delete", "--ids", params["ids"][0], "--dangerous", "--confirm", params["confirm"]]

    refused = run_troubled(world.runtime, [*line, "--fields", "nope"])
    done = run_troubled(world.runtime, [*line, "--fields", "summary.succeeded"])

    assert json.loads(refused.out)["error"]["details"]["domain_code"] == "FIELD_UNKNOWN"
    assert json.loads(done.out)["data"]["summary"] == {
        "total": 1,
        "succeeded": 1,
        "failed": 0,
        "skipped": 0,
    }


@pytest.mark.parametrize("name", ["run.start", "session.start"])
def test_needs_of_the_reply_are_looked_for_before_the_write(tmp_path: Path, name: str) -> None:
    world = World(str(tmp_path))
    params = WRITES[name](world)
    os.makedirs(f"{world.home}/data/keys", mode=0o700)
    with open(f"{world.home}/data/keys/keyring.json", "w", encoding="utf-8") as file:
        file.write("{")

    refused = perform(world.runtime, name, params)

    assert not isinstance(refused, Success)
    assert refused.kind.code == "KEYRING_INVALID"
    assert answer(world.runtime, "session.list")["items"] == []
