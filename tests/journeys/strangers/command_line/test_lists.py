"""Second journeys about lists: order, paging, filters, heavy parts and what cannot be read."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.journeys.strangers.command_line.tools_b import (
    Json,
    paths_of,
    reference,
    session_ids,
    small_workflow,
    started,
)
from tests.journeys.strangers.product import Product

UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
LOOKS_LIKE_A_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
ID_KEY = re.compile(r"(^|[a-z_])(id|Id)$")


def wrong_ids(document: Any) -> list[tuple[str, Any]]:
    found = [(path, value) for path, value in paths_of(document) if ID_KEY.search(path.rsplit(".", 1)[-1])]
    assert found
    return [(path, value) for path, value in found if not isinstance(value, str | None)]


def wrong_times(document: Any) -> list[tuple[str, Any]]:
    return [
        (path, value)
        for path, value in paths_of(document)
        if isinstance(value, str) and LOOKS_LIKE_A_TIME.fullmatch(value) and not UTC_TIME.fullmatch(value)
    ]


def pages(product: Product, *line: str, cursor: str | None = None) -> list[Json]:
    """Every item of a list, one page after the other, as `next_cursor` leads."""
    items: list[Json] = []
    for _ in range(40):
        page = product.data(*line, *(("--cursor", cursor) if cursor else ()))
        items += page["items"]
        cursor = page["next_cursor"]
        assert page["has_more"] is (cursor is not None)
        if cursor is None:
            return items
    raise AssertionError("the pages do not end")


@pytest.mark.promise("cli.ids-and-times")
def test_numeric_ids_stay_text_and_times_stay_in_utc_on_a_machine_far_east(product: Product) -> None:
    product.environment["TZ"] = "Pacific/Auckland"
    product.workflow(small_workflow("project.w7", "1"))
    run = started(product, "123", workflow="project.w7")
    session, run_id = run["session"]["sessionId"], run["session"]["runId"]
    closed = product.data("run", "close", run_id, "--reason", "abandoned", "--request-id", "5")

    documents = [
        run,
        closed,
        product.data("session", "list"),
        product.data("session", "show", session, "--expand", "timeline"),
        product.data("session", "events", session),
        product.data("ledger", "show", run_id),
        product.data("session", "delete", "--ids", session, "--dangerous", "--dry-run"),
    ]

    assert [wrong_ids(document) for document in documents] == [[] for _ in documents]
    assert [wrong_times(document) for document in documents] == [[] for _ in documents]
    assert UTC_TIME.fullmatch(closed["closed_at"])
    assert UTC_TIME.fullmatch(documents[-1]["expires_at"])


@pytest.mark.promise("cli.sort-declared")
def test_an_old_session_that_moves_comes_first_as_the_declared_order_says(product: Product) -> None:
    declared = {command["path"]: command for command in reference(product)["commands"]}
    schemas = reference(product)["schemas"]
    lists = [
        path for path, found in declared.items() if "has_more" in schemas[found["output_schema"]]["fields"]
    ]
    first = started(product, "a")
    second = started(product, "b")

    product.data("run", "checkpoint", "--checkpoint", first["checkpointToken"], "--notes", "moved")
    listed = [item["id"] for item in product.data("session", "list")["items"]]

    assert "session list" in lists
    assert [path for path in lists if not declared[path]["default_sort"]] == []
    assert [path for path in lists if declared[path]["paging"] is None] == []
    assert declared["session list"]["default_sort"].startswith("last activity (newest first)")
    assert listed == [first["session"]["sessionId"], second["session"]["sessionId"]]


@pytest.mark.promise("cli.no-question")
def test_no_filter_and_a_filter_that_fits_nothing_both_answer_at_once(product: Product) -> None:
    started(product, "a", "something")
    lines = [
        ("session", "list", "--query", "zz", "--status", "blocked", "--workflow", "x.y"),
        ("workflow", "list", "--query", "qzqz", "--sources", "user"),
        ("workflow", "builtins", "--query", "qzqz"),
    ]

    empty = [product.data(*line) for line in lines]
    bare = product.run("session", "list")

    assert [found["items"] for found in empty] == [[], [], []]
    assert all(isinstance(found["scope"], str) and found["scope"] for found in empty)
    assert bare.status == 0
    assert bare.document["data"]["count"] == 1
    assert bare.err == ""
    assert "user" in empty[1]["scope"]


@pytest.mark.promise("cli.filters")
def test_a_filter_finds_the_oldest_even_on_a_first_page_of_one(product: Product) -> None:
    wanted = str(started(product, "old", "needle in hay")["session"]["sessionId"])
    session_ids(product, 3)
    unfiltered = product.data("session", "list", "--limit", "1")["next_cursor"]

    found = product.data("session", "list", "--query", "NEEDLE", "--limit", "1")
    mixed = product.run("session", "list", "--query", "needle", "--limit", "1", "--cursor", unfiltered)

    assert [item["id"] for item in found["items"]] == [wanted]
    assert found["count"] == 1
    assert found["has_more"] is False
    assert mixed.status in (2, 6), "a cursor of another list is refused"


@pytest.mark.promise("cli.filters")
def test_events_of_one_kind_are_counted_over_the_whole_session(product: Product) -> None:
    run = started(product, "a")
    session = run["session"]["sessionId"]
    product.data("run", "continue", "--ack", run["ackToken"], "--notes", "Planned and looked at the code.")
    wanted = [
        item for item in product.data("session", "events", session)["items"] if item["kind"] == "node_created"
    ]

    found = pages(product, "session", "events", session, "--kinds", "node_created", "--limit", "1")

    assert len(wanted) == 2
    assert [item["eventId"] for item in found] == [item["eventId"] for item in wanted]


@pytest.mark.promise("cli.heavy")
def test_notes_of_60_kilobytes_weigh_nothing_in_any_list(product: Product) -> None:
    heavy = "heavy words " * 5000
    (product.project / "notes.md").write_text(heavy, encoding="utf-8")
    run = started(product, "a")
    session = run["session"]["sessionId"]
    done = product.run("run", "continue", "--ack", run["ackToken"], "--notes-file", "notes.md")

    lists = [
        product.run("session", "list", "--query", "try").out,
        product.run("session", "resume", "heavy").out,
        product.run("session", "events", session).out,
        product.run("ledger", "show", run["session"]["runId"]).out,
    ]
    exported = product.run("session", "export", session, "--fields", "event_count").out

    assert done.status == 0, done.out[:500]
    assert [len(out) for out in lists if len(out) > 16000] == []
    assert len(exported) < 2000


@pytest.mark.promise("cli.expand")
def test_only_the_part_that_is_named_is_added_and_a_wrong_name_is_told_the_right_ones(
    product: Product,
) -> None:
    line = ("workflow", "builtins", "--kind", "contract")

    plain = product.data(*line)["items"]
    text = product.data(*line, "--expand", "text")["items"]
    both = product.data(*line, "--expand", "schema,text")["items"]
    wrong = product.error(*line, "--expand", "schemas")

    assert not any({"text", "schema"} & set(item) for item in plain)
    assert not any("schema" in item for item in text)
    assert all(item.get("schema") for item in both)
    assert wrong["details"]["domain_code"] == "EXPAND_UNKNOWN"
    assert "schema" in str(wrong["details"])


@pytest.mark.promise("cli.fan-out")
def test_a_torn_session_and_a_broken_file_are_listed_beside_the_sound_ones(product: Product) -> None:
    good, torn = session_ids(product, 2)
    log = product.home / "data" / "sessions" / torn / "events-000001.jsonl"
    log.write_bytes(b"\xff\xfe\x00" + log.read_bytes()[40:])
    folder = product.project / ".handrail" / "workflows"
    product.workflow(small_workflow("project.fine"))
    (folder / "torn.json").write_bytes(b'{"id": "project.torn", \xff')

    sessions = {item["id"]: item for item in product.data("session", "list")["items"]}
    workflows = product.data("workflow", "list", "--sources", "project")["items"]
    verified = product.run("store", "verify", "--report-only").document["data"]

    assert sessions[good]["health"] == "healthy"
    assert sessions[torn]["health"] != "healthy"
    assert any(item["id"] == "project.fine" and not item.get("problems") for item in workflows)
    assert any(item.get("problems") for item in workflows)
    assert torn in str(verified["problems"])
    assert good not in str(verified["problems"])


@pytest.mark.promise("sessions.paging")
def test_pages_of_one_joined_are_the_list_even_when_a_run_moves_meanwhile(product: Product) -> None:
    runs = [started(product, f"k{at}") for at in range(4)]
    first = product.data("session", "list", "--limit", "1")

    product.data("run", "checkpoint", "--checkpoint", runs[0]["checkpointToken"], "--notes", "moved")
    rest = pages(product, "session", "list", "--limit", "1", cursor=first["next_cursor"])
    still = pages(product, "session", "list", "--limit", "1")

    seen = [item["id"] for item in [*first["items"], *rest]]
    assert len(seen) == len(set(seen)), "no session is shown twice"
    assert {run["session"]["sessionId"] for run in runs[1:]} <= set(seen)
    assert [item["id"] for item in still] == [item["id"] for item in product.data("session", "list")["items"]]


@pytest.mark.promise("cli.fan-out")
def test_a_session_that_was_moved_to_another_disk_and_linked_does_not_vanish_in_silence(
    product: Product,
) -> None:
    good, moved = session_ids(product, 2)
    place = product.home / "data" / "sessions" / moved
    place.rename(product.home.parent / "elsewhere")
    place.symlink_to(product.home.parent / "elsewhere")

    listed = product.run("session", "list")
    examined = product.data("doctor", "--offline", "--checks", "store")["checks"][0]

    assert good in listed.out
    assert moved in listed.out or examined["status"] != "pass", "neither the list nor doctor says a word"
