"""The report as one HTML page: opens from the disk, runs nothing, fetches nothing. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from handrail.contract.effort import Effort
from handrail.contract.outcome import Json
from handrail.engine.events import Artifact
from handrail.engine.messages import explain_gap
from handrail.projections.evidence import describe_answer, describe_gap, is_proven
from handrail.projections.html.elements import (
    Child,
    Html,
    count_markup,
    document,
    element,
    join_html,
    notes_html,
    style_sheet,
)
from handrail.projections.html.rail import draw_rail, lay_out
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

_CLAIM_CLASSES = {"contradicted": "stop", "stale": "gap"}

# The style sheet: light and dark by system, from 320 pixels to paper

CSS = """
:root{color-scheme:light dark;--paper:#fbfaf7;--card:#fff;--ink:#1f2328;--soft:#5b626b;--line:#d9d6cf;
--rail:#2f6f5e;--good:#1d6b4f;--busy:#1f5fa8;--bad:#a62b2b;--warn:#805300;--goodb:#e3f3ec;--busyb:#e4eefa;
--badb:#fbe7e6;--warnb:#faf0d8}
@media(prefers-color-scheme:dark){:root{--paper:#15181b;--card:#1d2125;--ink:#e7e9ea;--soft:#a3abb3;
--line:#343a40;--rail:#6fc3aa;--good:#7fd3b0;--busy:#8fbcf2;--bad:#f0a29d;--warn:#e6c276;--goodb:#17322a;
--busyb:#172a40;--badb:#3d1f1e;--warnb:#362c14}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif;
overflow-wrap:anywhere}
main{max-width:54rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .5rem;text-wrap:balance}
h2{font-size:1.3rem;margin:2.5rem 0 .25rem}h3{font-size:1.05rem;margin:1.75rem 0 .5rem}
p{margin:.4rem 0}a{color:var(--busy)}
.over{color:var(--soft);font-size:.85rem;margin:0 0 .35rem;letter-spacing:.02em}
.pill{display:inline-block;padding:.1rem .65rem;border-radius:1rem;font-size:.85rem;font-weight:600;
background:var(--busyb);color:var(--busy)}
.pill.complete{background:var(--goodb);color:var(--good)}
.pill.complete_with_gaps{background:var(--warnb);color:var(--warn)}
.pill.closed,.pill.unproven{background:var(--line);color:var(--soft)}
.pill.blocked{background:var(--badb);color:var(--bad)}
.banner{border-left:.3rem solid var(--busy);background:var(--busyb);padding:.7rem 1rem;margin:1rem 0;
border-radius:.3rem}
.banner.alarm{border-color:var(--bad);background:var(--badb)}
.way{list-style:none;margin:0;padding:0 0 0 1.6rem;position:relative}
.way::before{content:"";position:absolute;left:.5rem;top:.8rem;bottom:.8rem;width:2px;background:var(--line)}
.moment{position:relative;background:var(--card);border:1px solid var(--line);border-radius:.6rem;
padding:.75rem 1rem;margin:.7rem 0}
.moment::before{content:"";position:absolute;left:-1.55rem;top:1.05rem;width:.85rem;height:.85rem;
border-radius:50%;background:var(--card);border:2px solid var(--rail)}
.moment.checkpoint::before{border-radius:.1rem}
.moment.blocked_attempt::before{border-radius:0;border-color:var(--bad);background:var(--bad);
clip-path:polygon(50% 0,100% 100%,0 100%)}
.moment.last::before{background:var(--rail)}
.moment h4{font-size:1rem;margin:0}
.small{color:var(--soft);font-size:.8rem;margin:.1rem 0 .4rem}
.facts{margin:.4rem 0;padding-left:1.1rem}.facts li{margin:.15rem 0}
.gap{color:var(--warn)}.stop{color:var(--bad)}
.whose{color:var(--soft);font-size:.8rem;margin:.6rem 0 0}
.notes{border-left:2px solid var(--line);margin-top:.2rem;padding-left:.8rem;unicode-bidi:isolate}
.notes :is(h1,h2,h3,h4,h5,h6){font-size:1em}
.notes.long{max-height:24rem;overflow-y:auto}
.notes>*:first-child{margin-top:.3rem}
pre,code{font-family:ui-monospace,monospace;font-size:.85em}
pre{background:var(--paper);border:1px solid var(--line);border-radius:.4rem;padding:.7rem;overflow-x:auto;
white-space:pre-wrap}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top}
blockquote{margin:.5rem 0;padding-left:.9rem;border-left:3px solid var(--line);color:var(--soft)}
details{margin:.5rem 0}
summary{cursor:pointer;color:var(--soft);font-size:.9rem;padding:.2rem 0}
summary:focus-visible,.long:focus-visible,a:focus-visible{outline:2px solid var(--busy);
outline-offset:2px;border-radius:.2rem}
.aside-way{border-left:2px dashed var(--line);padding-left:.9rem;margin:.4rem 0}
.map{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:.6rem;
padding:.5rem;margin:0}
.rail{display:block}
.rail .way{fill:none;stroke:var(--rail);stroke-width:2}
.rail .mark{fill:var(--card);stroke:var(--rail);stroke-width:2}
.rail .mark.tip{fill:var(--rail)}
.rail .way.aside,.rail .mark.aside{stroke:var(--soft);stroke-dasharray:3 2}
.rail .mark.blocked{stroke:var(--bad)}
.rail text{font:13px system-ui,sans-serif;fill:var(--ink)}
.rail text.aside{fill:var(--soft)}.rail text.now{font-weight:700}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.5rem 0}
dt{color:var(--soft)}dd{margin:0}
footer{margin-top:3rem;border-top:1px solid var(--line);padding-top:.8rem;color:var(--soft);font-size:.85rem}
@media(max-width:30rem){main{padding:1.25rem .8rem 3rem}h1{font-size:1.4rem}
dl{grid-template-columns:1fr;gap:0}
dd{margin-bottom:.5rem}.way{padding-left:1.35rem}.moment{padding:.6rem .75rem}.moment::before{left:-1.35rem}
.way::before{left:.42rem}}
@media print{body{background:#fff;color:#000}.moment{break-inside:avoid}}
"""


LONG_NOTES = 3_000
MOST_MARKUP_ON_PAGE = 400_000
"""What laying out the notes of a page may cost, in marks; the others are shown as plain text."""


def report_page(story: Story, *, exported_at: str, producer: str) -> str:
    """The whole page."""
    room = Effort(MOST_MARKUP_ON_PAGE, "", "")
    body = element(
        "main",
        _header(story),
        *(element("p", text, class_=f"banner {look}", role="note") for look, text in banners(story)),
        _session_notes(story, room),
        *(_run(story, run, room) for run in story.runs),
        None if story.runs else _nothing(story),
        element(
            "footer",
            element(
                "p", f"Written by {producer}, as of {moment_time(exported_at)}. Notes are quoted as data."
            ),
        ),
    )
    return document(element("html", _head(story), element("body", body), lang="en"))


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


def _header(story: Story) -> Html:
    status = status_of(story)
    return element(
        "header",
        element(
            "p",
            " · ".join(filter(None, ("Session report", describe_place(story), story.session_id))),
            class_="over",
        ),
        element("h1", title_of(story)),
        _pill(status, story.runs),
    )


def _pill(status: str, runs: Sequence[RunStory]) -> Html:
    """How it stands. What only the agent has seen is never green."""
    is_green = status != "complete" or all(
        run.evidence is not None and is_proven(msgspec.structs.asdict(run.evidence)) for run in runs
    )
    return element("span", STATUS_WORDS[status], class_=f"pill {status}" if is_green else "pill unproven")


def _nothing(story: Story) -> Html:
    return element(
        "section",
        element("p", describe_empty_session(story)),
        _provenance(story, None),
    )


def _session_notes(story: Story, room: Effort) -> Child:
    if not story.notes:
        return None
    told = [
        element(
            "li",
            element("p", moment_time(noted.at), " · ", element("code", noted.output_id), class_="small"),
            _quoted(noted.notes, "Notes of the session", room),
            _cut() if noted.is_cut else None,
            class_="moment checkpoint",
            id=noted.output_id,
        )
        for noted in story.notes
    ]
    left = f"{story.notes_omitted} earlier notes are left out."
    return element(
        "section",
        element("h2", "Notes of the session"),
        element("p", left, class_="small") if story.notes_omitted else None,
        element("ol", *told, class_="way"),
    )


def _run(story: Story, run: RunStory, room: Effort) -> Html:
    return element(
        "section",
        element("h2", run.name),
        element(
            "p",
            *(_pill(run.status, [run]), " ") if len(story.runs) > 1 else (),
            describe_run(run),
        ),
        element("p", describe_evidence(run)) if run.evidence is not None else None,
        _handed(run),
        _open_gaps(run),
        _folded("Map of the run", _map(run), is_open=len(run.graph.tips) > 1),
        element("h3", "The way"),
        element("p", f"{run.omitted} earlier nodes are left out.", class_="small") if run.omitted else None,
        element("ol", *_moments(run.moments, run, room), class_="way"),
        _receipts(run),
        _outputs(run),
        element("h3", "Settings of this run"),
        _facts(
            [("Preferences", describe_preferences(run.preferences))]
            + [(seen.capability, f"{seen.status} ({seen.provenance})") for seen in run.capabilities]
        ),
        _provenance(story, run),
    )


def _handed(run: RunStory) -> Child:
    """What the run handed out; each has a section of its own."""
    if not run.handed:
        return None
    rows = [element("li", line) for line in run.handed]
    return join_html(element("h3", "Handed out"), element("ul", *rows, class_="facts"))


def _open_gaps(run: RunStory) -> Child:
    if not run.open_gaps:
        return None
    rows = [
        element("li", element("strong", gap.severity), f": {explain_gap(gap)}", class_="gap")
        for gap in run.open_gaps
    ]
    return join_html(element("h3", "Open gaps"), element("ul", *rows, class_="facts"))


def _receipts(run: RunStory) -> Child:
    if not run.receipts:
        return None
    rows = [element("li", describe_receipt(receipt)) for receipt in run.receipts]
    if run.receipts_omitted:
        rows.insert(0, element("li", f"{run.receipts_omitted} earlier ones are left out."))
    return _folded("Programs that ran", element("ul", *rows, class_="facts"))


def _moments(moments: tuple[Moment, ...], run: RunStory, room: Effort) -> Iterable[Html]:
    for moment in moments:
        is_last = moment.node_id == run.graph.preferred_tip
        yield element(
            "li",
            element("h4", describe_moment(moment)),
            element(
                "p",
                moment_time(moment.at, is_quick=is_quick(run)),
                " · ",
                element("code", moment.node_id),
                class_="small",
            ),
            _describe_events(moment),
            _notes(moment, room),
            _cut() if moment.is_cut else None,
            *(_delivered(artifact, moment, run) for artifact in moment.artifacts),
            _trace(moment),
            element("p", describe_omission(moment), class_="small") if moment.branches_omitted else None,
            *(_branch(branch, run, room) for branch in moment.branches),
            class_=f"moment {moment.kind}{' last' if is_last else ''}",
            id=moment.node_id,
        )


def _delivered(artifact: Artifact, moment: Moment, run: RunStory) -> Html:
    """A current artifact is shown once, among the outputs; one that was replaced is shown here."""
    words, is_shown = describe_delivery(artifact, moment, run)
    if is_shown:
        return _folded(words.removesuffix(":"), _artifact(artifact.body))
    return element("p", words, class_="small")


def _notes(moment: Moment, room: Effort) -> Child:
    return _quoted(moment.notes, f"Notes of {moment.title}", room) if moment.notes else None


def _cut() -> Html:
    return element("p", "The rest of these notes is no longer in the store.", class_="stop")


def _quoted(notes: str, label: str, room: Effort) -> Html:
    """Notes may look like anything, so their author is named. Long ones scroll; the keyboard gets there."""
    shown = notes_html(notes) if room.affords(count_markup(notes)) else element("pre", notes)
    whose = element("p", "Notes, as the agent wrote them:", class_="whose")
    if len(notes) <= LONG_NOTES:
        return join_html(whose, element("div", shown, class_="notes", dir="auto"))
    scrolled = element(
        "div",
        shown,
        class_="notes long",
        dir="auto",
        tabindex=0,
        role="region",
        aria_label=label,
    )
    return join_html(whose, scrolled)


def _describe_events(moment: Moment) -> Child:
    """The unusual events of a moment."""
    rows: list[Html] = []
    if moment.option_id:
        rows.append(element("li", "Chosen: ", element("strong", moment.option_id)))
    if moment.is_fork:
        rows.append(element("li", "A fork: the run had already moved on from the step before."))
    for one in moment.refused:
        rows += [element("li", said, class_="stop") for said in (one.why, *one.faults)]
    rows += [
        element("li", describe_gap(gap, moment.title), class_="gap" if gap.severity != "info" else "")
        for gap in moment.gaps
    ]
    rows += [
        element(
            "li", f"Evidence: {describe_claim(claim, moment)}", class_=_CLAIM_CLASSES.get(claim.verdict, "")
        )
        for claim in moment.claims
    ]
    if moment.answer is not None:
        look = "stop" if moment.answer.answer == "declined" else ""
        rows.append(element("li", f"{describe_answer(moment.answer)}.", class_=look))
    rows += [
        element("li", f"Left the instructions ({one.reason}): {one.summary}") for one in moment.divergences
    ]
    rows += [element("li", f"Capability {seen.capability}: {seen.status}") for seen in moment.capabilities]
    if moment.preferences is not None:
        rows.append(element("li", f"Preferences from here: {describe_preferences(moment.preferences)}"))
    return element("ul", *rows, class_="facts") if rows else None


def _trace(moment: Moment) -> Child:
    lines = [element("li", words) for words in describe_way(moment)]
    lines += [
        element("li", f"Shape compared with {one.contract_ref or 'the rules of the step'}: {one.result}.")
        for one in moment.validations
    ]
    return _folded("Why it went on here", element("ul", *lines, class_="facts")) if lines else None


def _branch(branch: Branch, run: RunStory, room: Effort) -> Html:
    told = [
        element(
            "div",
            element("h4", describe_moment(moment)),
            element(
                "p",
                moment_time(moment.at, is_quick=is_quick(run)),
                " · ",
                element("code", moment.node_id),
                class_="small",
            ),
            _describe_events(moment),
            _notes(moment, room),
        )
        for moment in branch.moments
    ]
    return _folded(describe_branch(branch), element("div", *told, class_="aside-way"))


def _map(run: RunStory) -> Html:
    rail = lay_out(run.graph)
    words = "Circle: step. Square: checkpoint. Triangle: blocked attempt. Dashed: left aside. Filled: now."
    return join_html(
        element("figure", draw_rail(rail, lambda node_id: run.labels[node_id]), class_="map"),
        element("p", words, class_="small"),
        element("p", f"{rail.omitted} earlier nodes are left out.", class_="small") if rail.omitted else None,
    )


def _outputs(run: RunStory) -> Child:
    if not run.artifacts:
        return None
    rows = [
        _folded(
            describe_output(held, run),
            _artifact(held.body),
            is_open=True,
        )
        for held in run.artifacts
    ]
    return join_html(element("h3", "Current outputs"), *rows)


def _provenance(story: Story, run: RunStory | None) -> Html:
    return _folded("Provenance", _facts(provenance(story, run)))


def _facts(pairs: Iterable[tuple[str, str]]) -> Html:
    inner = [part for name, value in pairs for part in (element("dt", name), element("dd", value))]
    return element("dl", *inner)


def _folded(summary: str, content: Html, *, is_open: bool = False) -> Html:
    return element("details", element("summary", summary), content, open=is_open)


def _artifact(body: dict[str, Json]) -> Html:
    """Nested points, as deep as the artifact is."""
    open_lists: list[list[Html]] = [[]]
    for depth, words in artifact_lines(body):
        while len(open_lists) - 1 > depth:
            _close_list(open_lists)
        while len(open_lists) - 1 < depth:
            open_lists.append([])
        open_lists[-1].append(element("li", words, dir="auto"))
    while len(open_lists) > 1:
        _close_list(open_lists)
    return element("ul", *open_lists[0], class_="facts artifact")


def _close_list(open_lists: list[list[Html]]) -> None:
    inner = open_lists.pop()
    open_lists[-1].append(element("li", element("ul", *inner), class_="inner"))
