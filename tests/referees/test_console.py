"""The Console in a real Chromium: access, safety, truth, keyboard, live changes, import and report.

Runs in `.ci/run browser` (`HANDRAIL_TEST_CONSOLE=1`), with Chromium from PATH or `HANDRAIL_TEST_CHROMIUM`;
playwright and axe come pinned from their registries. Each test says why it did not run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.outcome import Json, Outcome
from handrail.runtime.hub import perform
from handrail_serve.views import render_view
from tests.journeys.conversation import advance, answer
from tests.referees.console_place import VISIT_SECONDS, Chromium, Place, Server, chromium
from tests.referees.console_stores import advance_long, open_store, seed_busy, seed_long, to_release

__all__ = ["chromium"]

pytestmark = pytest.mark.thorough

LONG = 60
HUGE = 800
APPENDED = 20
THEMES = ("light", "dark")
WIDTHS = (1280, 768, 320)
LARGE = ("long", "huge")
PARTS = ("", "graph", "source", "compiled", "runs", "problems", "edit")
"""Of the page of a workflow."""


@pytest.fixture(scope="module")
def place(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("console")
    sessions = seed_busy(home)
    sessions["long"] = seed_long(home, LONG)
    sessions["huge"] = seed_long(home, HUGE)
    server = Server(home)
    try:
        yield Place(home=home, server=server, sessions=sessions)
    finally:
        server.stop()


def paths_of(place: Place) -> list[str]:
    """Every kind of page, with every kind of session, the states without data among them."""
    ids = place.sessions
    run = place.run("waiting")
    tips = [
        node["id"] for node in place.graph("waiting")["nodes"] if node["is_tip"] and node["kind"] == "step"
    ]
    kinds = {node["kind"]: f"{run}/nodes/{node['id']}" for node in place.graph("waiting")["nodes"]}
    return [
        *(
            "/inbox",
            "/sessions",
            "/sessions?q=bank",
            "/sessions?q=nothinghasthis",
            "/sessions/ses_000000000000",
        ),
        *(f"/sessions/{ids[name]}" for name in ids if name not in LARGE),
        *kinds.values(),
        *nodes_of(place, "waiting")[3:4],
        *nodes_of(place, "blocked")[-1:],
        *nodes_of(place, "hostile")[-1:],
        f"/sessions/{ids['two']}/timeline",
        f"/sessions/{ids['waiting']}/timeline?zoom=hour",
        f"/sessions/{ids['waiting']}/compare/{tips[0]}/{tips[-1]}",
        *("/gaps", "/workflows", "/builtins", "/import", "/settings", "/sessions?group=state&sort=silent"),
        f"/workflows/user.careful_fix?run={place.graph('waiting')['run_id']}",
        *(f"/sessions/{ids[name]}/export" for name in ("hostile", "damaged")),
        f"/sessions/{ids['hostile']}/preferences",
        *(f"/workflows/user.careful_fix?part={part}" for part in PARTS),
        *("/workflows/user.hostile", "/workflows/user.broken"),
    ]


def further_paths_of(place: Place) -> list[str]:
    """More of the same kinds, with other content."""
    ids = place.sessions
    return [
        *(f"/sessions/{ids[name]}" for name in LARGE),
        *(f"/sessions/{ids[name]}/timeline" for name in ("waiting", "notes", "hostile", "huge")),
        *nodes_of(place, "waiting"),
        *nodes_of(place, "damaged"),
        *("/sessions?status=blocked", "/gaps?severity=critical", "/workflows?query=nothinghasthis"),
        *("/workflows/user.hostile?part=graph", "/workflows/wr.code_review"),
    ]


def nodes_of(place: Place, name: str) -> list[str]:
    return [f"{place.run(name)}/nodes/{node['id']}" for node in place.graph(name)["nodes"]]


@pytest.mark.timeout(VISIT_SECONDS)
@pytest.mark.parametrize("theme", THEMES)
def test_every_page_is_accessible_and_safe_at_every_width(
    chromium: Chromium, place: Place, theme: str
) -> None:
    paths = paths_of(place)
    further = further_paths_of(place) if theme == THEMES[-1] else []

    found = chromium.visit(
        place.server, "every_page", paths=paths, further=further, theme=theme, widths=WIDTHS
    )

    looks = len(paths) * len(WIDTHS) + len(further)
    print(f"\n{theme}: {len(paths)} pages at {len(WIDTHS)} widths, {len(further)} more at one: ")
    print(f"{len(found['visited'])} looks by axe, {len(found['violations'])} violations")
    assert found["violations"] == []
    assert found["wider"] == []
    assert len(found["visited"]) == looks
    missing = [one for one in found["complaints"] if "404 (Not Found)" in one]
    assert found["complaints"] == missing
    assert len(missing) == 1, "the address of a session that is not there"
    assert found["cookies"] == []
    assert found["stored"] == [0, ["handrail.token"]]
    assert found["has_token"] == []
    assert all(address.startswith(place.server.address) for address in found["addresses"])
    assert not any(place.server.token in address.partition("#")[0] for address in found["addresses"])


def test_another_profile_is_locked_and_another_tab_is_not(chromium: Chromium, place: Place) -> None:
    found = chromium.visit(place.server, "from_outside", run=place.run("waiting"))

    assert place.server.token not in found["address"]
    assert found["tab"] == found["after_reload"] == "Invoices show one cent more than was paid"
    assert "This tab is locked" in found["locked"]
    assert "handrail console" in found["locked"]
    assert "Invoices" not in found["locked"]
    assert found["locked_violations"] == []
    assert "The Console needs JavaScript" in found["without_script"]
    assert found["cookies"] == []


def test_a_store_without_sessions_says_how_to_begin(
    chromium: Chromium, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("empty")
    open_store(home)
    server = Server(home)
    try:
        found = chromium.visit(server, "empty")
    finally:
        server.stop()

    assert "No sessions yet" in found["text"]
    assert "handrail setup" in found["text"]
    assert found["violations"] == found["complaints"] == []


NUMBER = re.compile(r"(?<![\w.@-])\d+(?![\w@-]|\.\d)")
PLACE = re.compile(r"^\d+\. |\u202f")
"""The place in a list, and the thin space inside a long number."""


def numbers_in(value: Any) -> set[int]:
    """Each number of a JSON value: as it stands, inside a text, and how many entries a list has."""
    match value:
        case bool() | None:
            return set()
        case int():
            return {value}
        case str():
            rounds = {int(one) + 1 for one in re.findall(r"@(\d+)::", value)}
            return {int(one) for one in re.findall(r"\d+", value) if len(one) < 19} | rounds
        case list():
            return {len(value)}.union(*(numbers_in(one) for one in value))
        case dict():
            return set().union(*(numbers_in(one) for one in value.values()))
        case _:
            return set()


def test_every_number_on_a_page_is_in_its_json(chromium: Chromium, place: Place) -> None:
    runtime = open_store(place.home)
    every = [*paths_of(place), *further_paths_of(place)]
    paths = [path for path in dict.fromkeys(every) if not path.endswith("ses_000000000000")]

    texts = chromium.visit(place.server, "texts", paths=paths)["texts"]

    for path in paths:
        asked: list[tuple[str, dict[str, Json]]] = []

        def call(operation: str, params: dict[str, Json], asked: Any = asked) -> Outcome:
            asked.append((operation, params))
            return perform(runtime, operation, params)

        where, _, query = path.partition("?")
        render_view(call, where, dict(part.split("=") for part in query.split("&") if part))
        told = set().union(*(numbers_in(answered(place, *one)) for one in asked))
        shown = {int(one) for text in texts[path] for one in NUMBER.findall(PLACE.sub("", text))}
        assert shown <= told, f"{path} shows {shown - told}, which {[name for name, _ in asked]} do not tell"


def answered(place: Place, operation: str, params: dict[str, Json]) -> Any:
    """The JSON of the operation; what it refuses tells nothing."""
    try:
        return place.json(operation, params)
    except OSError:
        return None


def test_the_counts_of_a_page_are_those_of_its_operation(chromium: Chromium, place: Place) -> None:
    gaps = place.json("session.gaps", {"limit": 100})
    needs = place.json("session.inbox", {})
    graph = place.graph("waiting")
    paths = ["/gaps", "/inbox", place.run("waiting"), "/sessions"]

    texts = chromium.visit(place.server, "texts", paths=paths)["texts"]

    open_gaps = sum(gap["state"] == "open" for gap in gaps["items"])
    assert f"{open_gaps} open gaps" in texts["/gaps"]
    assert f"{needs['total'] - needs['answered']} items wait for you" in texts["/inbox"]
    assert f"{needs['session_count']} sessions" in texts["/sessions"]
    assert f"{graph['node_count']} nodes, {graph['branch_count']} branches" in texts[paths[2]]
    assert {node["title"] for node in graph["nodes"]} <= set(texts[paths[2]])


def test_every_node_opens_by_its_address(chromium: Chromium, place: Place) -> None:
    nodes = place.graph("waiting")["nodes"]
    paths = nodes_of(place, "waiting")

    opened = chromium.visit(place.server, "nodes", nodes=paths)["opened"]

    assert opened == {path: [node["title"], node["id"]] for path, node in zip(paths, nodes, strict=True)}


def test_person_does_everything_by_keyboard(chromium: Chromium, place: Place, tmp_path: Path) -> None:
    runtime = open_store(place.home)
    held = to_release(runtime, "The step that the person releases")
    session_id = held["session"]["sessionId"]
    asked = answer(runtime, "run.graph", sessionId=session_id)["preferred_tip"]
    chromium.begin(
        place.server,
        "as_a_person",
        blocked_goal="Reverse-charge",
        session=session_id,
        next_step="Tell who waited",
        report=str(tmp_path / "report.html"),
        token=place.server.console_token,  # a person's answer needs it
    )
    chromium.meets("confirmed")
    advance(runtime, held, "Released as 2.4.2.")
    chromium.tell()
    found = chromium.next()

    assert "Next and previous node" in found["help"]
    assert found["search"] == "q"
    assert found["run"] == "Reverse-charge invoices round twice"
    assert "has not delivered what the step" in found["why"]
    assert place.sessions["blocked"] in found["resume"]
    assert "Do you confirm “Release it”?" in found["question"]
    assert re.match(r"\(\d+\) Inbox", found["title"])
    assert "Tell who waited" in found["moved"]
    assert found["loads"] == []
    assert found["compare_address"].endswith("/compare/" + "/".join(found["pair"]))
    assert "they part after" in found["compared"]
    assert found["complaints"] == []
    said = answer(runtime, "run.node", sessionId=session_id, node=asked)["pending"]["person"]
    assert (said["answer"], said["source"]) == ("confirmed", "console")
    assert found["drawn"], "the run page has a map"
    assert found["drawn"][-1] in found["report_text"], "the report tells in words what the map draws"
    assert "Released as 2.4.2." in found["report_text"]
    assert found["report_scripts"] == 0
    assert len(found["report_requests"]) == 1, "the report asks for nothing else"


def test_steps_that_are_added_while_somebody_reads_move_nothing(chromium: Chromium, place: Place) -> None:
    runtime = open_store(place.home)
    chromium.begin(place.server, "live", long=place.run("long"), appended=APPENDED)
    chromium.meets("reading")
    reply = answer(runtime, "session.resume", query=place.sessions["long"])["items"][0]
    reply = answer(runtime, "run.continue", **reply["nextCall"]["params"])
    started: set[str] = set(place.server.children())
    for number in range(APPENDED):
        reply = advance_long(runtime, reply, LONG + number)
        started |= set(place.server.children())
    chromium.tell()
    found = chromium.next()

    assert found["before"] == found["after"]
    assert found["said"] == f"{APPENDED} new steps"
    assert found["loads"] == []
    assert found["shown"] == LONG + APPENDED
    assert started == set()
    assert found["complaints"] == []


def test_page_stays_while_the_server_is_gone(chromium: Chromium, tmp_path: Path) -> None:
    session_id = seed_long(tmp_path, 5)
    server = Server(tmp_path)
    port = server.port
    try:
        chromium.begin(server, "restarted", long=f"/sessions/{session_id}")
        chromium.meets("reading")
        server.stop()
        chromium.tell()
        chromium.meets("gone")
        server = Server(tmp_path, port)
        chromium.tell()
        chromium.meets("back")
        server.stop()
        (tmp_path / "token").unlink()
        server = Server(tmp_path, port)
        chromium.tell()
        chromium.meets("locked")
        chromium.tell(server.token)
        found = chromium.next()
    finally:
        server.stop()

    assert found["gone"] == found["back"] == found["locked"] == found["again"] == "A long run"
    assert "does not answer" in found["gone_said"]


def test_bad_bundle_is_refused_before_anything_is_written(
    chromium: Chromium, place: Place, tmp_path: Path
) -> None:
    good = place.json("session.export", {"sessionId": place.sessions["done"]})["content"]
    text = json.dumps(good)
    files = {
        "good": text,
        "tampered": text.replace("Told the three customers", "Told the four customers"),
        "foreign": json.dumps({"bundleSchemaVersion": 1, "something": "else"}),
        "broken": text[: len(text) // 2],
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(content, encoding="utf-8")
    with (tmp_path / "oversized.json").open("wb") as large:
        large.truncate(65 * 1024 * 1024)
    before = digest_of(place.home / "data")
    refused = [str(tmp_path / f"{name}.json") for name in ("tampered", "foreign", "broken", "oversized")]

    chromium.begin(place.server, "import", refused=refused, good=str(tmp_path / "good.json"))
    chromium.meets("looked")
    after = digest_of(place.home / "data")
    chromium.tell()
    found = chromium.next()

    assert before == after
    for file in refused:
        assert found["told"][file].startswith("Refused; nothing was written"), file
    assert "64 MiB" in found["told"][refused[-1]]
    assert "was changed after export" in found["told"][refused[0]]
    assert "Import this session?" in found["preview"]
    assert "imported from" in found["imported"]


def digest_of(folder: Path) -> str:
    """Of every file and its bytes; what is derived from them is kept apart and may be written at any time."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and folder / "cache" not in path.parents:
            seen.update(f"{path.relative_to(folder)}\0".encode())
            seen.update(hashlib.sha256(path.read_bytes()).digest())
    return seen.hexdigest()
