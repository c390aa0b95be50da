"""The report as Markdown, and as one HTML page that lays the same words out. Pure.

Notes are quoted, so they cannot pose as the report. The page opens from the disk, runs nothing and fetches
nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from handrail.contract.effort import Effort
from handrail.contract.outcome import Json
from handrail.contract.wording import mark_hidden
from handrail.engine.messages import explain_gap
from handrail.projections.evidence import describe_answer, describe_gap
from handrail.projections.html.elements import (
    Html,
    count_markup,
    document,
    element,
    is_laid_out,
    report_html,
    style_sheet,
)
from handrail.projections.plain_words import STATUS_WORDS, artifact_lines
from handrail.projections.report.phrases import (
    banners,
    describe_branch,
    describe_claim,
    describe_delivery,
    describe_empty_session,
    describe_evidence,
    describe_moment,
    describe_omission,
    describe_output,
    describe_place,
    describe_preferences,
    describe_receipt,
    describe_run,
    describe_way,
    is_quick,
    moment_time,
    provenance,
    status_of,
    title_of,
)
from handrail.projections.report.story import Branch, Moment, RunStory, Story
from handrail.projections.run_graph import draw_run

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SCHEME = re.compile(r"(?i)\b(javascript|vbscript|data|file):")
_MARKS = re.compile(r"([\\`*_{}\[\]#+!|~])")
_FENCE = re.compile("`+")
_SPACES = re.compile(r"\s+")
MOST_DRAWN = 400

Quote: TypeAlias = Callable[[str], list[str]]
"""How notes are put into the report: each of their lines begins with `>`, or a fence holds all of them."""


def quote_calmly(text: str) -> list[str]:
    """Quote every line, whatever it holds; tags and odd links are defused."""
    return quote_lines(_SCHEME.sub(r"\1&#58;", _TAG.sub("&lt;", text)))


def quote_lines(text: str) -> list[str]:
    """Quote every line as it is, for a reader that takes no tags and no odd links."""
    return [f"> {line}".rstrip() for line in mark_hidden(text).split("\n")]


def markdown_report(story: Story, *, exported_at: str, producer: str, quote: Quote = quote_calmly) -> str:
    """The whole report, ending in one line feed."""
    lines = [f"# {_inline(title_of(story))}", "", f"Status: **{STATUS_WORDS[status_of(story)]}**", ""]
    place = describe_place(story)
    lines += [_inline(place), ""] if place else []
    for _, text in banners(story):
        lines += [f"> **Note:** {_inline(text)}", ""]
    lines += _session_notes(story, quote)
    for run in story.runs:
        lines += _run(story, run, quote)
    if not story.runs:
        lines += [describe_empty_session(story), "", *_provenance(story, None)]
    lines += ["---", "", f"Written by {_inline(producer)}, as of {moment_time(exported_at)}."]
    return "\n".join(lines) + "\n"


def _session_notes(story: Story, quote: Quote) -> Iterator[str]:
    if not story.notes:
        return
    yield from ("## Notes of the session", "")
    if story.notes_omitted:
        yield from (f"{story.notes_omitted} earlier notes are left out.", "")
    for noted in story.notes:
        yield from (f"`{noted.output_id}`, {moment_time(noted.at)}", "", *quote(noted.notes), "")
        if noted.is_cut:
            yield from ("The rest of these notes is no longer in the store.", "")


def _run(story: Story, run: RunStory, quote: Quote) -> Iterator[str]:
    yield from (f"## {_inline(run.name)}", "", _inline(describe_run(run)), "")
    if run.evidence is not None:
        yield from (_inline(describe_evidence(run)), "")
    if run.handed:
        yield from ("### Handed out", "", *(f"- {_inline(line)}" for line in run.handed), "")
    if run.open_gaps:
        yield from ("### Open gaps", "")
        yield from (f"- **{gap.severity}**: {_inline(explain_gap(gap))}" for gap in run.open_gaps)
        yield ""
    yield from ("### The way", "")
    if run.omitted:
        yield from (f"{run.omitted} earlier nodes are left out.", "")
    for number, moment in enumerate(run.moments):
        yield from _moment(moment, number + run.omitted, run, quote)
    if run.receipts:
        yield from ("### Programs that ran", "")
        if run.receipts_omitted:
            yield from (f"{run.receipts_omitted} earlier ones are left out.", "")
        yield from (f"- {_inline(describe_receipt(receipt))}" for receipt in run.receipts)
        yield ""
    drawn = draw_run(run.graph, lambda node: _SPACES.sub(" ", mark_hidden(run.labels[node.node_id])))
    yield from ("### Map", "", *fence_lines(drawn[:MOST_DRAWN], "text"), "")
    if run.artifacts:
        yield from ("### Current outputs", "")
        for held in run.artifacts:
            yield from (f"{_inline(describe_output(held, run))}:", "")
            yield from _artifact(held.body)
    yield from (
        "### Preferences and capabilities",
        "",
        f"- Preferences: {describe_preferences(run.preferences)}",
    )
    yield from (f"- {seen.capability}: {seen.status} ({seen.provenance})" for seen in run.capabilities)
    yield ""
    yield from _provenance(story, run)


def _moment(moment: Moment, number: int, run: RunStory, quote: Quote) -> Iterator[str]:
    yield from (f"#### {number}. {_inline(describe_moment(moment))}", "")
    yield from (f"`{moment.node_id}`, {moment_time(moment.at, is_quick=is_quick(run))}", "")
    facts = [f"Chosen: {_inline(moment.option_id)}"] if moment.option_id else []
    facts += ["This is a fork."] if moment.is_fork else []
    for one in moment.refused:
        facts += [f"Blocked: {_inline(one.why)}", *(_inline(fault) for fault in one.faults)]
    facts += [_inline(describe_gap(gap, moment.title)) for gap in moment.gaps]
    facts += [f"Evidence: {_inline(describe_claim(claim, moment))}" for claim in moment.claims]
    facts += [_inline(f"{describe_answer(moment.answer)}.")] if moment.answer is not None else []
    facts += [f"Left the instructions ({one.reason}): {_inline(one.summary)}" for one in moment.divergences]
    if moment.preferences is not None:
        facts.append(f"Preferences from here: {describe_preferences(moment.preferences)}")
    facts += map(_inline, describe_way(moment))
    yield from (f"- {fact}" for fact in facts)
    if facts:
        yield ""
    if moment.notes:
        yield from (*quote(moment.notes), "")
    if moment.is_cut:
        yield from ("The rest of these notes is no longer in the store.", "")
    for artifact in moment.artifacts:
        words, is_shown = describe_delivery(artifact, moment, run)
        yield from (_inline(words), "", *(_artifact(artifact.body) if is_shown else ()))
    if moment.branches_omitted:
        yield from (describe_omission(moment), "")
    for branch in moment.branches:
        yield from _branch(branch)


def _branch(branch: Branch) -> Iterator[str]:
    yield from (f"{describe_branch(branch)}:", "")
    for moment in branch.moments:
        words = _inline(_SPACES.sub(" ", moment.notes[:200]))
        yield f"- {_inline(describe_moment(moment))}{': ' + words if words else ''}"
    yield ""


def _provenance(story: Story, run: RunStory | None) -> Iterator[str]:
    yield from ("### Provenance", "", "| what | value |", "|---|---|")
    yield from (f"| {name} | {_inline(value)} |" for name, value in provenance(story, run))
    yield ""


def _artifact(body: dict[str, Json]) -> Iterator[str]:
    yield from (f"{'  ' * depth}- {_inline(words)}" for depth, words in artifact_lines(body))
    yield ""


def fence_lines(lines: Sequence[str], language: str = "") -> list[str]:
    """Fence a block so that nothing inside can end it: the fence is longer than any run of the mark."""
    longest = max((len(run) for line in lines for run in _FENCE.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, *lines, fence]


def _inline(text: str) -> str:
    """Text from outside inside a line of the report: one line, without Markdown of its own."""
    calm = _SPACES.sub(" ", mark_hidden(text)).strip()
    return _SCHEME.sub(r"\1&#58;", _MARKS.sub(r"\\\1", calm).replace("<", "&lt;"))


# The page: one file that opens from the disk, runs nothing and fetches nothing

# The style sheet: light and dark by system, from 320 pixels to paper. Quoted is what an agent wrote.

CSS = """
:root{color-scheme:light dark;--paper:#fbfaf7;--card:#fff;--ink:#1f2328;--soft:#5b626b;--line:#d9d6cf;
--rail:#2f6f5e;--link:#1f5fa8}
@media(prefers-color-scheme:dark){:root{--paper:#15181b;--card:#1d2125;--ink:#e7e9ea;--soft:#a3abb3;
--line:#343a40;--rail:#6fc3aa;--link:#8fbcf2}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif;
overflow-wrap:anywhere}
main{max-width:54rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem;text-wrap:balance}
h2{font-size:1.3rem;margin:2.5rem 0 .25rem;border-top:1px solid var(--line);padding-top:1.5rem}
h3{font-size:1.05rem;margin:1.75rem 0 .5rem;color:var(--rail)}
h4{font-size:1rem;margin:1.5rem 0 0;padding-left:.8rem;border-left:.3rem solid var(--rail)}
h6{font-size:1em;margin:.4rem 0}
p,ul,ol{margin:.4rem 0}ul,ol{padding-left:1.3rem}a{color:var(--link)}
a:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:.2rem}
blockquote{margin:.5rem 0;padding:.5rem .9rem;border-left:3px solid var(--line);background:var(--card);
unicode-bidi:plaintext}
pre,code{font-family:ui-monospace,monospace;font-size:.85em}
pre{background:var(--card);border:1px solid var(--line);border-radius:.4rem;padding:.7rem;overflow-x:auto;
white-space:pre-wrap}
table{border-collapse:collapse;display:block;overflow-x:auto;font-size:.9rem}
td,th{border:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top}
hr{border:0;border-top:1px solid var(--line);margin:3rem 0 1rem}
@media(max-width:30rem){main{padding:1.25rem .8rem 3rem}h1{font-size:1.4rem}}
@media print{body{background:#fff;color:#000}h4{break-after:avoid}}
"""


MOST_MARKUP_ON_PAGE = 400_000
"""What laying out the notes of a page may cost, in marks; the others are shown as plain text."""


def report_page(story: Story, *, exported_at: str, producer: str) -> str:
    """The whole page."""
    room = Effort(MOST_MARKUP_ON_PAGE, "", "")

    def quote(notes: str) -> list[str]:
        is_shown = is_laid_out(notes) and room.affords(count_markup(notes))
        return quote_lines(notes if is_shown else "\n".join(fence_lines(mark_hidden(notes).split("\n"))))

    told = markdown_report(story, exported_at=exported_at, producer=producer, quote=quote)
    body = element("body", element("main", report_html(told)))
    return document(element("html", _head(story), body, lang="en"))


def _head(story: Story) -> Html:
    digest = base64.b64encode(hashlib.sha256(CSS.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{title_of(story)} · Handrail"),
        style_sheet(CSS),
    )
