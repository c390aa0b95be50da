"""What holds for the answer of every leaf, whichever it is: nothing waits, reads change nothing, one way of
writing times, ids, pages and streams."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.surfaces.cli.reading.command_table import COMMANDS
from tests.conformance.calls import Called
from tests.conformance.leaves import LEAVES
from tests.conformance.seeded import state_of
from tests.surfaces.cli.tool import checked_document, strict_json

pytestmark = pytest.mark.thorough

TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3})?Z")
LIKE_A_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*")
ID_KEY = re.compile(r"(.*_)?ids?|.*Ids?|target|targets")
PARTS_OF_FILES = ("compiled", "schema", "json_schema", "input", "script")
"""Documents of others inside an answer: what they call their keys is theirs."""


every_leaf = pytest.mark.parametrize("called", LEAVES, indirect=True)
every_read = pytest.mark.parametrize(
    "called", [path for path in LEAVES if COMMANDS[path]["effect"] == "read"], indirect=True
)
every_page = pytest.mark.parametrize(
    "called",
    [
        path
        for path in LEAVES
        if any(param["name"] == "cursor" for param in COMMANDS[path]["params"])
        and path != "ledger show"  # its page stands in a document of LAFS, with offsets
    ],
    indirect=True,
)
every_stream = pytest.mark.parametrize(
    "called",
    [path for path in LEAVES if "--stream" in COMMANDS[path]["globals"]],
    indirect=True,
)


def data_of(called: Called, *more: str) -> Any:
    document = checked_document(called.tool.run(*called.safe(), *more, plant=called.leaf.plant))
    assert document["ok"], document
    return document["data"]


@pytest.mark.promise("cli.never-waits")
@every_leaf
def test_no_answer_waits_for_stdin_or_starts_a_program(called: Called, tmp_path: Path) -> None:
    marker = tmp_path / "started"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n", encoding="utf-8")
    program.chmod(0o700)
    names = ("PAGER", "EDITOR", "VISUAL", "BROWSER", "HANDRAIL_PAGER", "MANPAGER", "GIT_EDITOR", "GIT_PAGER")

    ran = called.tool.run(
        *called.safe(),
        environment=dict.fromkeys(names, str(program)),
        plant=called.leaf.plant,
        ending="silence",
    )

    assert checked_document(ran)["ok"] is True
    assert not marker.exists()


@pytest.mark.promise("cli.reads-change-nothing")
@every_read
def test_a_read_changes_no_byte_of_sessions_settings_or_project(called: Called) -> None:
    before = state_of(called.tool)

    for line in (called.safe(), *(called.spelt(line) for line in called.leaf.further)):
        called.tool.run(*line, plant=called.leaf.plant)

    assert state_of(called.tool) == before


def pairs_of(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with the key that it stands under; items of a list have the key of the list."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in PARTS_OF_FILES:
                yield from pairs_of(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from pairs_of(inner, key)
    else:
        yield key, value


@pytest.mark.promise("cli.ids-and-times")
@every_leaf
def test_times_are_utc_and_ids_are_strings(called: Called) -> None:
    pairs = list(pairs_of(data_of(called)))

    assert pairs
    times = [value for _, value in pairs if isinstance(value, str) and LIKE_A_TIME.fullmatch(value)]
    assert [value for value in times if not TIME.fullmatch(value)] == []
    ids = [(key, value) for key, value in pairs if ID_KEY.fullmatch(key)]
    assert [(key, value) for key, value in ids if value is not None and not isinstance(value, str)] == []


@pytest.mark.promise("cli.paging")
@every_page
def test_a_page_holds_what_it_says_and_its_order_is_stable(called: Called) -> None:
    line = called.spelt(called.leaf.page or called.leaf.line)
    whole = called.tool.data(*line)

    joined: list[Any] = []
    more: list[str] = []
    while len(joined) < len(whole["items"]):
        page = called.tool.data(*line, "--limit", "1", *more)
        assert list(page)[:4] == ["items", "count", "next_cursor", "has_more"]
        assert page["count"] == len(page["items"]) == 1
        assert (page["next_cursor"] is None) is (page["has_more"] is False)
        assert "truncated" not in page
        joined += page["items"]
        more = ["--cursor", page["next_cursor"]] if page["has_more"] else []

    assert joined == whole["items"]
    assert more == []
    assert (whole["count"], whole["has_more"]) == (len(whole["items"]), False)
    assert called.tool.data(*line)["items"] == whole["items"]


@pytest.mark.promise("cli.stream")
@every_stream
def test_stream_is_lines_of_four_keys_and_a_summary(called: Called) -> None:
    ran = called.tool.run(*called.safe(), "--stream", plant=called.leaf.plant)

    *items, last = [strict_json(line + b"\n") for line in ran.out.splitlines()]
    assert (ran.status, ran.err) == (0, b"")
    assert items
    for item in items:
        assert list(item) == ["ok", "schema_version", "type", "data"]
        assert (item["ok"], item["schema_version"], item["type"]) == (True, "1.0", "item")
    assert list(last) == ["ok", "schema_version", "type", "data", "meta"]
    assert (last["ok"], last["type"], last["data"]["count"]) == (True, "summary", len(items))
    assert data_of(called)  # without the flag: one document
