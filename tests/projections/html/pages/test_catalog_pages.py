"""The pages beside sessions: their numbers are those of the operations, and text from outside stays text."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any, get_args

import msgspec
import pytest

from handrail.operations.workflows.new_workflow import Starter
from handrail.projections.html.elements import Html
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.views.gaps import GapItem, GapList
from handrail.views.questions import Question
from handrail.wiring import registry
from handrail_serve.pages.gaps import gaps_page
from handrail_serve.pages.items import answer_form, close_form
from handrail_serve.pages.parts import Rows
from handrail_serve.views import render_view
from tests.conftest import THREE_STEPS, GivenFiles, memory_runtime
from tests.journeys.conversation import advance, answer, start, viewed
from tests.journeys.given_workflows import begin, choice, option, step
from tests.journeys.rich_session import report
from tests.projections.html.pages.test_pages import words_in

HOSTILE = "</p><script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202ebad"
A_GAP = {"kind": "wr.gap", "severity": "critical", "summary": HOSTILE}
PARTS = ("", "graph", "source", "compiled", "runs", "problems", "edit")
CURSOR = "cu1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
"""As long as a real one, which looks like a token."""


def make_store() -> tuple[Runtime, dict[str, str]]:
    """A run whose file changed since, a hostile goal, a gap, and a file that cannot be used."""
    runtime = memory_runtime()
    begun = start(runtime, goal=HOSTILE)
    report(runtime, begun["ackToken"], A_GAP, notes=HOSTILE)
    library = runtime.library
    assert isinstance(library, GivenFiles)
    library.held.clear()
    library.add(THREE_STEPS.replace(b"Do the first thing.", b"Do it otherwise."), "three_steps.json")
    broken = {"id": "project.broken", "name": HOSTILE, "description": HOSTILE, "steps": [{"titel": HOSTILE}]}
    library.add(json.dumps(broken).encode(), "broken.json")
    return runtime, {"session": begun["session"]["sessionId"], "run": begun["session"]["runId"]}


@pytest.fixture(scope="module")
def store() -> tuple[Runtime, dict[str, str]]:
    return make_store()


def show(runtime: Runtime, path: str, **query: str) -> Html:
    return render_view(lambda name, params: perform(runtime, name, params), path, query).html


def all_pages(store: tuple[Runtime, dict[str, str]]) -> dict[str, Html]:
    runtime, ids = store
    flow = "/workflows/project.three_steps"
    question = answer(runtime, "run.answer", session=ids["session"], show=True)
    return {
        **{
            path: show(runtime, path) for path in ("/gaps", "/builtins", "/workflows", "/import", "/settings")
        },
        "export": show(runtime, f"/sessions/{ids['session']}/export"),
        "preferences": show(runtime, f"/sessions/{ids['session']}/preferences"),
        **{f"part {part}": show(runtime, flow, part=part) for part in PARTS},
        "diff": show(runtime, flow, part="diff", run=ids["run"]),
        **{
            f"broken {part}": show(runtime, "/workflows/broken.json", part=part)
            for part in ("", "source", "edit")
        },
        "confirm": answer_form(viewed(Question, question)),
        "close": close_form(ids["run"]),
    }


class Tags(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_text_from_outside_is_never_markup(store: tuple[Runtime, dict[str, str]]) -> None:
    for name, page in all_pages(store).items():
        assert "\u202e" not in page.markup, name
        for tag, attributes in Tags(page.markup).found:
            assert tag not in ("script", "style", "iframe", "object"), name
            assert not [one for one in attributes if one == "style" or one.startswith("on")], name
            assert (attributes.get("href") or "/").startswith(("/", "#")), name
            assert (attributes.get("src") or "data:image/svg+xml,").startswith("data:image/svg+xml,"), name


def test_input_of_every_form_fits_its_operation(
    store: tuple[Runtime, dict[str, str]],
) -> None:
    from handrail.runtime.operation import operation

    found = 0
    for page in all_pages(store).values():
        for tag in re.findall(r"<(?:form|button|textarea)[^>]*data-(?:operation|check)=[^>]*>", page.markup):
            held = {name: unescape(value) for name, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
            for named, given in (("data-operation", "data-input"), ("data-check", "data-check-input")):
                if named not in held:
                    continue
                found += 1
                assert held[named] in registry().names
                known = {field.encode_name for field in msgspec.structs.fields(operation(held[named]).input)}
                assert set(json.loads(held.get(given, "{}"))) <= known, tag
    assert found > 10


def test_the_counts_of_gaps_are_those_of_the_operation(store: tuple[Runtime, dict[str, str]]) -> None:
    runtime, _ = store
    listed = answer(runtime, "session.gaps")

    page = show(runtime, "/gaps")

    counts = listed["counts"]
    assert f"{counts['open']} open gap" in words_in(page)
    assert f"{counts['critical']} critical" in words_in(page)
    assert page.markup.count("data-key=") == len(listed["items"]) == 1


def test_a_filter_is_kept_in_the_form_and_in_the_next_page(store: tuple[Runtime, dict[str, str]]) -> None:
    runtime, _ = store
    listed = answer(runtime, "session.gaps") | {"has_more": True, "next_cursor": CURSOR}
    asked = {"only": "open", "workflow": "project.three_steps"}

    page = gaps_page(viewed(Rows[GapItem], listed), viewed(GapList, listed), asked)

    assert 'value="open" selected' in page.markup
    assert f"/gaps?only=open&amp;workflow=project.three_steps&amp;cursor={CURSOR}" in page.markup


def test_a_workflow_warns_where_an_open_run_follows_another_text(
    store: tuple[Runtime, dict[str, str]],
) -> None:
    runtime, ids = store

    told = words_in(show(runtime, "/workflows/project.three_steps"))
    runs = show(runtime, "/workflows/project.three_steps", part="runs")
    diff = words_in(show(runtime, "/workflows/project.three_steps", part="diff", run=ids["run"]))

    assert "Drift: 1 open run follows another text" in told
    assert f"part=diff&amp;run={ids['run']}" in runs.markup
    assert "1 place differs" in diff
    assert "- Do the first thing." in diff
    assert "+ Do it otherwise." in diff


def test_no_drift_is_told_of_a_run_of_another_project(store: tuple[Runtime, dict[str, str]]) -> None:
    runtime, _ = store

    def call(name: str, params: dict[str, Any]) -> Any:
        return perform(runtime, name, {**params, **({"project": "/other"} if "workflow." in name else {})})

    told = words_in(render_view(call, "/workflows/project.three_steps", {}).html)

    assert "Drift" not in told


def test_a_broken_file_shows_its_problems_at_their_places(store: tuple[Runtime, dict[str, str]]) -> None:
    runtime, _ = store
    found = answer(runtime, "workflow.validate", workflowIds=["broken.json"], reportOnly=True)

    page = words_in(show(runtime, "/workflows/broken.json"))

    for problem in found["items"][0]["problems"]:
        assert f"line {problem['line']}, column {problem['column']}" in page
    assert f"{found['counts']['error']} error" in page


def test_the_editor_saves_over_exactly_what_it_opened(store: tuple[Runtime, dict[str, str]]) -> None:
    runtime, _ = store
    opened = answer(runtime, "workflow.inspect", workflowId="project.three_steps", part="source")["workflow"]

    page = show(runtime, "/workflows/project.three_steps", part="edit")

    (saved,) = re.findall(r'data-operation="workflow.save" data-input="([^"]*)" data-gated', page.markup)
    assert json.loads(unescape(saved)) == {"file": "three_steps.json", "base": opened["sourceDigest"]}
    (text,) = re.findall(r"<textarea[^>]*>(.*?)</textarea>", page.markup, re.DOTALL)
    assert unescape(text) == opened["source"]


def test_editor_opens_saved_text_with_fixes_and_prompts(
    store: tuple[Runtime, dict[str, str]],
) -> None:
    runtime, _ = store

    page = show(runtime, "/workflows/project.three_steps", part="edit").markup

    assert 'data-then="/workflows/{workflow_id}?part=edit"' in page
    assert 'data-operation="workflow.fmt" data-input="{&quot;fix&quot;:true}" data-render="text"' in page
    assert "<details data-reads" in page
    assert "as the text is now" not in page, "it may have errors, and the drawing is older then"


def test_every_beginning_of_a_new_workflow_is_one(
    store: tuple[Runtime, dict[str, str]],
) -> None:
    runtime, _ = store

    page = show(runtime, "/workflows").markup

    assert 'href="#new"' in page
    assert re.fullmatch(unescape(re.findall(r'pattern="([^"]*)"', page)[0]), "project.my_check")
    named = re.findall(r'<select name="template">(.*?)</select>', page)
    offered = re.findall(r'value="(\w+)"', named[0])
    assert sorted(offered) == sorted(get_args(Starter))
    (sent,) = re.findall(r'data-operation="workflow.new" data-input="([^"]*)"', page)
    assert json.loads(unescape(sent)) == {"as": "md"}


def test_every_setting_is_shown_as_it_is_asked_for_and_in_force(
    store: tuple[Runtime, dict[str, str]],
) -> None:
    runtime, _ = store
    rows = answer(runtime, "self.settings")["settings"]

    page = show(runtime, "/settings")

    assert re.findall(r'data-key="([^"]*)"', page.markup) == [row["name"] for row in rows]
    told = words_in(page)
    missing = [row["name"] for row in rows if f"{row['name']} {row['text']} in force: " not in told]
    assert missing == []
    assert "set to: " not in told, "nothing is set here"


def test_presets_are_buttons_but_for_the_one_in_force(store: tuple[Runtime, dict[str, str]]) -> None:
    runtime, ids = store

    page = show(runtime, f"/sessions/{ids['session']}/preferences")

    sent = [json.loads(unescape(one)) for one in re.findall(r'data-input="([^"]*)"', page.markup)]
    assert [one["preset"] for one in sent if "preset" in one] == ["full_auto_with_stops", "full_auto"]
    assert all(one["session"] == ids["session"] for one in sent)


def test_form_of_a_person_has_what_the_terminal_shows() -> None:
    runtime = memory_runtime()
    first = begin(
        runtime,
        step("look"),
        choice("size", option("small"), option("large"), nonAssumable="scope_boundary"),
        fields={},
    )
    advance(runtime, first)
    question = answer(runtime, "run.answer", session=first["session"]["sessionId"], show=True)

    page = answer_form(viewed(Question, question))

    assert [one["id"] for one in question["options"]] == ["small", "large"]
    assert re.findall(r'name="given.answer" value="(\w+)"', page.markup) == ["small", "large", "no"]
    assert json.loads(unescape(re.findall(r'data-input="([^"]*)"', page.markup)[0])) == {
        "session": question["session_id"],
        "run": question["run_id"],
        "given": {"whatDigest": question["what_digest"], "basedOn": ""},
    }
