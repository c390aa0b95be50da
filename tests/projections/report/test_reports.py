"""Reports tell the session as it was; nothing written into it can act, hide or pose as the report."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import SessionId
from handrail.engine.folding import fold
from handrail.projections.report.markdown import markdown_report, report_page
from handrail.projections.report.story import Story
from handrail.runtime.runtime import Runtime
from tests.cases import every_case
from tests.conftest import memory_runtime, settings_of
from tests.journeys.conversation import advance, answer, start
from tests.journeys.rich_session import rich_session, to_the_end
from tests.journeys.test_moving_sessions import exported, imported
from tests.journeys.test_session_without_run import begin, note
from tests.projections.html.test_elements import Seen
from tests.projections.report.hostile import HOSTILE

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "figure"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "span", "ol", "ul", "li", "details", "summary", "div", "pre"),
    *("code", "strong", "em", "dl", "dt", "dd", "svg", "path", "circle", "rect", "text", "a", "blockquote"),
    *("hr", "table", "thead", "tbody", "tr", "th", "td", "br"),
}


def report(runtime: Runtime, session_id: str, form: str) -> str:
    content = answer(runtime, "session.export", sessionId=session_id, **{"as": form})["content"]
    assert isinstance(content, str)
    return content


def written(text: str) -> tuple[Runtime, str]:
    """A session in which this text is everywhere that text can be."""
    runtime = memory_runtime()
    settings_of(runtime).settings = msgspec.structs.replace(settings_of(runtime).settings, start_session=True)
    alone = begin(runtime, goal=text)
    note(runtime, alone, text)
    first = start(runtime, session=alone["sessionToken"], goal=text, context={"constraints": [text]})
    gap = {"kind": "wr.gap", "severity": "warning", "summary": text[:200]}
    artifact = {"kind": "x.note", "body": text}
    reply = answer(
        runtime,
        "run.continue",
        ackToken=first["ackToken"],
        output={"notesMarkdown": text, "artifacts": [gap, artifact]},
    )
    advance(runtime, reply, text)
    return runtime, first["session"]["sessionId"]


def test_the_page_tells_the_way_the_forks_and_what_is_open(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]
    to_the_end(runtime, session_id)

    page = report(runtime, session_id, "html")
    text = " ".join(Seen(page).texts)

    assert "Make the cache <fast>" in text
    assert "complete with gaps" in text
    assert "1 open gap is left to follow up" in text
    assert "The agent has not delivered what" in text
    assert "Left the instructions (safety_stop): The database is live" in text
    assert "Skipped extra" in text
    assert "Left loop fix after 2, because its condition no longer held." in text
    assert "This is a fork." in text
    assert "Left aside from here: 1 node, in progress" in text
    assert "Progress saved from here" in text
    assert text.count("Looked at every file of the parser.") == 200
    assert "guided, conservative" in text


def test_both_reports_tell_the_same_facts(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]
    page, markdown = (report(runtime, session_id, form) for form in ("html", "markdown"))

    for fact in (
        session_id,
        "The agent has not delivered what",
        "The staging database was not reachable.",
        "Half way.",
    ):
        assert fact in page
        assert fact in markdown.replace("\\_", "_")


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_the_same_session_gives_the_same_bytes(runtime: Runtime, form: str) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]

    assert report(runtime, session_id, form) == report(runtime, session_id, form)


def test_the_page_runs_nothing_and_fetches_nothing(runtime: Runtime) -> None:
    page = report(runtime, rich_session(runtime)["session"]["sessionId"], "html")
    seen = Seen(page)

    assert {tag for tag, _ in seen.tags} <= TAGS
    policy = next(a["content"] for tag, a in seen.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    loading = {"src", "srcset", "style", "background", "poster", "action", "xlink:href"}
    assert [attributes for _, attributes in seen.tags if loading & attributes.keys()] == []
    assert "http://" not in page
    assert "https://" not in page


def test_the_policy_allows_exactly_our_style(runtime: Runtime) -> None:
    page = report(runtime, start(runtime)["session"]["sessionId"], "html")
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None

    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()

    assert f"'sha256-{digest}'" in page.replace("&#39;", "'")


@every_case("text", HOSTILE)
def test_hostile_text_stays_text_in_the_page(text: str) -> None:
    runtime, session_id = written(text)

    page = report(runtime, session_id, "html")
    seen = Seen(page)

    assert {tag for tag, _ in seen.tags} <= TAGS
    assert [tag for tag, _ in seen.tags].count("h1") == 1
    for tag, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        href = attributes.get("href")
        assert href is None or href.startswith(("https://example.org/", "mailto:"))
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b\u2060]", page) is None


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_cannot_pose_as_the_markdown_report(text: str) -> None:
    runtime, session_id = written(text)
    calm_runtime, calm_id = written("calm")

    markdown = report(runtime, session_id, "markdown")
    calm = report(calm_runtime, calm_id, "markdown")

    def structure(report_text: str) -> list[str]:
        """The marks by which a Markdown reader finds headings, tables, rules and blocks."""
        marks = [line for line in report_text.split("\n") if line.startswith(("#", "|", "---", "```"))]
        return [re.sub(r"^(#+|\|[^|]*\|?|---|`+).*", r"\1", line) for line in marks]

    prose = re.sub(r"(?ms)^(`{3,})\w*$.*?^\1$", "", markdown)
    assert structure(prose) == structure(re.sub(r"(?ms)^(`{3,})\w*$.*?^\1$", "", calm))
    assert re.search(r"<(?=[A-Za-z/!?])", markdown) is None
    assert "javascript:" not in prose
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b\u2060]", markdown) is None


def test_a_fence_in_an_artifact_opens_no_block() -> None:
    runtime, session_id = written("``` ````` \n```")

    markdown = report(runtime, session_id, "markdown")

    fences = [line for line in markdown.split("\n") if line.lstrip().startswith("```")]
    assert fences == ["```text", "```"]  # the map alone


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_an_artifact_stands_once_and_as_people_read_it(runtime: Runtime, form: str) -> None:
    artifact = {
        "kind": "x.findings",
        "findings": [
            {"title": "Rounds twice", "filePath": "src/bill.py", "isFixed": False, "lines": [3, 4]},
            {"title": "No test", "evidence": [{"claim": "nothing imports it", "exitStatus": 1}]},
        ],
    }
    first = start(runtime)
    answer(runtime, "run.continue", ackToken=first["ackToken"], output={"artifacts": [artifact]})

    told = report(runtime, first["session"]["sessionId"], form)

    for words in ("Findings:", "File path: src/bill.py", "Is fixed: no", "Exit status: 1"):
        assert words in told.replace("\\", ""), words
    assert told.count("Rounds twice") == told.count("nothing imports it") == 1
    assert '"filePath"' not in told


def test_a_quick_run_is_told_to_the_second(runtime: Runtime) -> None:
    first = start(runtime)
    advance(runtime, first, "done")

    told = [report(runtime, first["session"]["sessionId"], form) for form in ("html", "markdown")]

    assert ["08:00:00 UTC" in one for one in told] == [True, True]


def test_a_token_that_an_agent_wrote_down_is_not_repeated(runtime: Runtime) -> None:
    first = start(runtime)
    advance(runtime, first, f"My token is {first['ackToken']} and I keep it.")

    for form in ("html", "markdown"):
        assert first["ackToken"] not in report(runtime, first["session"]["sessionId"], form)


def test_an_imported_session_says_so_on_top(runtime: Runtime) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]
    made = imported(runtime, exported(runtime, session_id))["session_id"]

    page, markdown = (report(runtime, made, form) for form in ("html", "markdown"))

    banner = f"Imported from session {session_id} in bundle"
    assert banner in page
    assert page.index(banner) < page.index("The way")
    assert banner in markdown.replace("\\_", "_")
    assert "Imported from" not in report(runtime, session_id, "html")


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_notes_of_the_session_itself_are_told_before_the_runs(form: str) -> None:
    runtime, session_id = written("quite calm")

    text = report(runtime, session_id, form)

    notes = text.index("Notes of the session")
    assert notes < text.index("quite calm", notes) < text.index("The way")


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_a_session_of_notes_alone_says_that_no_run_was_started(form: str) -> None:
    runtime = memory_runtime()
    settings_of(runtime).settings = msgspec.structs.replace(settings_of(runtime).settings, start_session=True)
    alone = begin(runtime)
    note(runtime, alone, "Read the parser.")

    text = report(runtime, alone["session"]["sessionId"], form)

    assert "notes, no run" in text
    assert "Read the parser." in text
    assert "No run was started in this session." in text


def test_a_session_without_a_run_has_a_report_too() -> None:
    story = Story(history=fold(SessionId("ses_000000000001"), ()), workflows={}, whole_notes=lambda ref: None)
    facts: dict[str, Any] = {"exported_at": "2027-01-15T08:00:00.000Z", "producer": "handrail 0"}

    assert "Nothing was started" in report_page(story, **facts)
    assert "Nothing was started" in markdown_report(story, **facts)


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_report_begins_with_its_place(runtime: Runtime, form: str) -> None:
    session_id = rich_session(runtime)["session"]["sessionId"]
    shown = answer(runtime, "session.show", sessionId=session_id)

    told = report(runtime, session_id, form)

    assert f"Project {shown['project']}, branch {shown['branch']}" in told.partition("Evidence")[0]
    assert not re.search(r"inline-[0-9a-f]{8}", told)
