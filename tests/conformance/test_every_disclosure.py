"""Every leaf under every disclosure flag that it offers: it works, and what it prints is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.calls import Called, code_of
from tests.conformance.leaves import LEAVES
from tests.conformance.seeded import Seeded
from tests.surfaces.cli.tool import Ran, checked_document, strict_json

pytestmark = pytest.mark.thorough

LEVELS = ("minimal", "standard", "full")
BUDGETS = (
    ("items=1", ()),
    ("tokens=60", ("--mvi", "minimal")),
    ("bytes=900", ()),
    ("items=1,tokens=90", ("--envelope", "lafs")),
)
UNIT = {"maxTokens": "tokens", "maxBytes": "bytes", "maxItems": "items"}


every_leaf = pytest.mark.parametrize("called", LEAVES, indirect=True)


def lines_of(called: Called) -> list[list[str]]:
    """The plain line, and those others that may be repeated."""
    further = [called.spelt(line) for line in called.leaf.further]
    if called.path == "prove":  # what is recorded in a run is recorded once
        further = [line for line in further if "--run" not in line]
    return [called.safe(), *(line for line in further if not called.is_gated or "--dry-run" in line)]


def run(called: Called, line: list[str], *flags: str) -> Ran:
    own = line.index("--") if "--" in line else len(line)  # what follows belongs to another program
    return called.tool.run(*line[:own], *flags, *line[own:], plant=called.leaf.plant)


def data_of(called: Called, line: list[str], *flags: str) -> Any:
    document = checked_document(run(called, line, *flags))
    assert document["ok"], (line, flags, document)
    return document["data"]


@every_leaf
def test_every_level_answers_with_no_more_than_the_next(called: Called) -> None:
    if "--mvi" not in called.declared["global_flags"]:
        return
    for line in lines_of(called):
        told = [data_of(called, line, "--mvi", level) for level in LEVELS]

        assert told[0], line
        assert set(told[0]) <= set(told[1]) <= set(told[2]), line
    if called.is_gated:
        assert "confirm_token" in data_of(called, called.safe(), "--mvi", "minimal")


@every_leaf
def test_text_is_there_under_every_flag(called: Called) -> None:
    plain, *further = lines_of(called)
    flags_of_all = text_flags(called, plain)
    calls = [(plain, flags) for flags in flags_of_all]
    calls += [
        (line, flags) for line in further for flags in ((), ("--mvi", "minimal")) if flags in flags_of_all
    ]
    for line, flags in calls:
        told = run(called, line, "--human", *flags)

        assert (told.status, bool(told.out)) == (0, True), (line, flags, told.err)
        assert b"INTERNAL_ERROR" not in told.err, (line, flags)


def text_flags(called: Called, line: list[str]) -> list[tuple[str, ...]]:
    """Every level and expansion, one field, and a budget that cuts the answer and one that does not."""
    offered = called.declared["global_flags"]
    flags: list[tuple[str, ...]] = [()]
    if "--mvi" in offered:
        flags += [("--mvi", level) for level in LEVELS]
        flags += [("--mvi", "minimal", "--expand", name) for name in called.declared["expand"]]
    if "--fields" in offered:
        flags += [("--fields", next(iter(data_of(called, line))))]
    if "--budget" in offered:
        tight = run(called, line, "--budget", "bytes=900")
        flags += [("--budget", "bytes=900000"), *[("--budget", "bytes=900")][: tight.status == 0]]
    return flags


def test_the_reference_of_every_command_can_be_read_as_text(
    reference: Any, seeded: Seeded, tmp_path: Path
) -> None:
    tool = seeded.copy(tmp_path)
    paths = [declared["path"] for declared in reference["commands"]]
    for path in paths:
        told = tool.run("reference", "--command", path, "--human")
        words, _, flag = path.partition(" --")
        views = {one for one in paths if one != path and one.partition(" --")[0] == words}

        assert told.status == 0, (path, told.err)
        named = told.out.decode().partition("Other views:")[2]
        assert set(re.findall(r"--command '(.*)'", named)) == views, path
        usage = told.out.decode().split("\n\n")[0]
        assert usage.startswith(f"Usage: handrail {words}"), path
        assert not flag or f"--{flag}" in usage or f" {flag.upper()} " in usage, path


@every_leaf
def test_custom_is_named_where_fields_were_picked(called: Called) -> None:
    if "--mvi" not in called.declared["global_flags"]:
        return
    line = called.safe()
    name = next(iter(data_of(called, line)))

    assert code_of(run(called, line, "--mvi", "custom")) == "E_USAGE"
    for level in ("minimal", "full"):
        picked = run(called, line, "--envelope", "lafs", "--mvi", level, "--fields", name)
        assert strict_json(picked.out)["_meta"]["mvi"] == "custom", level


@every_leaf
def test_every_field_that_an_answer_has_can_be_picked(called: Called) -> None:
    if "--fields" not in called.declared["global_flags"]:
        return
    for line in lines_of(called):
        whole = data_of(called, line)
        rows = whole.get("items") if isinstance(whole.get("items"), list) else []
        inner = [f"items.{key}" for row in rows[:1] if isinstance(row, dict) for key in row]
        names = [name for name in (*whole, *inner) if "_untrusted" not in name]

        document = checked_document(run(called, line, "--fields", ",".join(names)))
        assert document["ok"], document
        assert "unknown_fields" not in str(document["meta"]), document["meta"]


@every_leaf
def test_every_part_that_it_offers_can_be_expanded(called: Called) -> None:
    for name in called.declared["expand"]:
        data_of(called, called.safe(), "--mvi", "minimal", "--expand", name)


@every_leaf
def test_a_budget_holds_or_says_truly_what_it_takes(called: Called) -> None:
    if "--budget" not in called.declared["global_flags"]:
        return
    for line in lines_of(called):
        for budget, flags in BUDGETS:
            check_budget(called, line, budget, flags)


def check_budget(called: Called, line: list[str], budget: str, flags: tuple[str, ...]) -> None:
    ran = run(called, line, "--compact", "--budget", budget, *flags)
    document = strict_json(ran.out)
    details = (document.get("error") or {}).get("details", {})
    if ran.status == 0:
        limits = dict(part.split("=") for part in budget.split(","))
        assert len(ran.out) <= int(limits.get("bytes", len(ran.out))), (line, budget)
        rows = (document.get("data") or document.get("result")).get("items", [])
        assert len(rows) <= int(limits.get("items", len(rows))), (line, budget)
        return
    assert details.get("domain_code") == "BUDGET_EXCEEDED", (line, budget, document)
    if details["minimum"] is None or "," in budget:
        return
    unit = UNIT[details["constraint"]]
    enough = run(called, line, "--compact", "--budget", f"{unit}={details['minimum']}", *flags)
    assert enough.status == 0, (line, budget, enough.out)
    if details["minimum"] > 1:
        less = run(called, line, "--compact", "--budget", f"{unit}={details['minimum'] - 1}", *flags)
        assert less.status == 2, (line, budget, less.out)


@every_leaf
def test_pages_in_a_budget_joined_are_the_whole_list(called: Called) -> None:
    if called.declared["paging"] != "cursor" or "--budget" not in called.declared["global_flags"]:
        return
    for line in lines_of(called):
        if {"--cursor", "--limit"} & set(line):
            continue
        whole = data_of(called, line, "--limit", "100")
        key = "entries" if "entries" in whole else "items"
        if key not in whole:
            continue
        joined: list[Any] = []
        cursor = ""
        while True:
            more = ("--cursor", cursor) if cursor else ()
            page = data_of(called, line, "--limit", "100", "--budget", "items=7", *more)
            joined += page[key]
            cursor = page.get("next_cursor") or ""
            if not cursor:
                break

        if "next_offset" not in whole:
            assert joined == whole[key], line


@every_leaf
def test_a_list_goes_on_in_the_way_that_is_declared(called: Called) -> None:
    declared = called.declared["paging"].split(" or ")
    seen = set()
    for line in lines_of(called):
        document = strict_json(run(called, line, "--envelope", "lafs").out)
        if "page" in document:
            seen.add(document["page"]["mode"])

    assert seen <= set(declared)
    if declared != ["none"]:
        assert seen, "no list was shown"
