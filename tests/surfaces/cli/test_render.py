"""Outcome → bytes: what is measured is never smaller than what is sent, and each format keeps its streams."""

from __future__ import annotations

import msgspec
import pytest

from handrail.contract.catalogue import NOT_CONFORMANT
from handrail.contract.outcome import Call, Failure, NextCall, Notice, Page, Success
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.rendering.render import Output, Rendered, measure_widest, render, render_bare
from tests.conftest import library_of
from tests.surfaces.cli.here import run_here
from tests.surfaces.cli.tool import checked_document

CALL = Call(operation="workflow.list", request_id="req_1", at="2026-11-15T09:30:00.123Z", duration_ms=4)
WORKFLOW = """{"id": "project.number_%02d", "name": "Number %d", "description": "%s", "steps": [
  {"id": "only", "title": "Only", "prompt": "Do it."}]}"""


@pytest.fixture
def many(runtime: Runtime) -> Runtime:
    """A runtime with workflows of different sizes."""
    for number in range(12):
        content = WORKFLOW % (number, number, "é" * (7 * number % 23))
        library_of(runtime).add(content.encode(), f"{number}.json")
    return runtime


@pytest.mark.thorough
@pytest.mark.parametrize("flags", [["--compact"], [], ["--envelope", "lafs"], ["--human"]])
def test_every_byte_budget_holds_for_the_whole_document(many: Runtime, flags: list[str]) -> None:
    cut = 0

    for limit in range(150, 2400, 9):
        ran = run_here(many, ["workflow", "list", "--budget", f"bytes={limit}", *flags])
        assert ran.status == 2 or len(ran.out) <= limit
        cut += b"cu1" in ran.out

    assert cut > 1


def test_a_budget_page_goes_on_where_it_was_cut(many: Runtime) -> None:
    whole = checked_document(run_here(many, ["workflow", "list"]))["data"]["items"]

    joined: list[object] = []
    more: list[str] = []
    for _ in whole:
        line = ["workflow", "list", "--budget", "bytes=1100", "--compact", *more]
        data = checked_document(run_here(many, line))["data"]
        joined += data["items"]
        if not data["has_more"]:
            break
        more = ["--cursor", data["next_cursor"]]

    assert joined == whole


def test_what_is_measured_is_never_smaller_than_what_is_sent() -> None:
    success = Success(data={}, page=Page(items=({"id": "a"},), has_more=True, next_cursor="cu1"))

    measured = measure_widest(success, CALL, Output(), ())
    sent = render(success, msgspec.structs.replace(CALL, duration_ms=3_600_000), Output())

    assert measured >= len(sent.out)


@pytest.mark.promise("cli.stderr")
def test_notices_are_in_the_document_and_beside_text() -> None:
    success = Success(
        data={"id": "a"}, notices=(Notice(type="unknown_fields", message="One name is unknown."),)
    )

    document = render(success, CALL, Output())
    text = render(success, CALL, Output(format="text"))
    quiet = render(success, CALL, Output(format="text", is_quiet=True))

    assert (document.err, b"unknown_fields" in document.out) == (b"", True)
    assert (text.out, text.err) == (b"id: a\n", b"Note: One name is unknown.\n")
    assert quiet.err == b""


def test_failure_in_text_says_what_is_wrong_and_what_to_run() -> None:
    failure = Failure(
        kind=NOT_CONFORMANT,
        message="2 of 2 documents do not conform.",
        next_call=NextCall(operation="session.list"),
    )

    rendered = render(failure, CALL, Output(format="text"))

    assert rendered == Rendered(
        err=(
            b"Error: 2 of 2 documents do not conform.\n"
            b"Fix:   Fix what the reports list as failed, then check again.\n"
            b"Next:  handrail session list --human\n"
            b"Code:  NOT_CONFORMANT\n"
        ),
        status=2,
    )


def test_a_lone_surrogate_never_reaches_the_reader() -> None:
    success = Success(data={"note": "\ud800"})

    assert "\ufffd".encode() in render(success, CALL, Output()).out
    assert render(success, CALL, Output(format="text")).out == "note: \ufffd\n".encode()
    assert render_bare("a\udc80b", Output()).out == "a\ufffdb\n".encode()


def test_a_selection_shown_to_people_says_that_it_is_one() -> None:
    shown = Output(format="text", is_selected=True)

    assert render_bare("x", shown).err == b"Note: Only the selected fields are shown.\n"
    assert (
        render(Success(data={"id": "a"}), CALL, shown).err == b"Note: Only the selected fields are shown.\n"
    )
    assert render_bare("x", Output(format="text", is_selected=True, is_quiet=True)).err == b""
