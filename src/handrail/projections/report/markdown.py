"""The report as Markdown, and as one HTML page that lays the same words out. Pure.

Notes are quoted, so they cannot pose as the report. The page opens from the disk, runs nothing and fetches
nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, assert_never

from handrail.contract.effort import Effort
from handrail.contract.outcome import Json
from handrail.contract.wording import format_count, mark_hidden
from handrail.engine.children.joins import name_workers
from handrail.engine.events import Artifact, Preferences, is_newer
from handrail.engine.history import Receipt
from handrail.engine.judge.run_claims import write_line
from handrail.engine.messages import explain_gap
from handrail.engine.navigate import (
    NO_ROUND_WORDS,
    DetectedNonTipAdvance,
    EnteredLoop,
    EvaluatedCondition,
    ExitedLoop,
    SelectedStep,
    SkippedStep,
    TraceEntry,
)
from handrail.engine.progress import describe_not_run
from handrail.engine.receipts import ELSEWHERE, NOT_TOLD, WHO_SAW, describe_outcome, name_owner
from handrail.projections.claim_texts import spell_kind, tell_claim
from handrail.projections.evidence import describe_answer, describe_gap, describe_level
from handrail.projections.html.elements import (
    Html,
    count_markup,
    document,
    element,
    is_laid_out,
    report_html,
    style_sheet,
)
from handrail.projections.plain_words import CLOSE_WORDS, LOOP_ENDS, STATUS_WORDS, artifact_lines
from handrail.projections.report.story import Branch, Moment, RunStory, Story
from handrail.projections.run_graph import CurrentArtifact, draw_run
from handrail.workflows.conditions import GENERATED_PREFIX

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SCHEME = re.compile(r"(?i)\b(javascript|vbscript|data|file):")
_MARKS = re.compile(r"([\\`*_{}\[\]#+!|~])")
_FENCE = re.compile("`+")
_SPACES = re.compile(r"\s+")
MOST_DRAWN = 400
_QUICK = 10
"""Minutes."""
_KINDS = {"step": "", "checkpoint": "Checkpoint", "blocked_attempt": "Blocked attempt"}
_PROVEN = (
    "Only what ran, was seen to change, or was confirmed by a person is proven; that a place exists proves "
    "nothing that is said about it."
)

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
    lines = [f"# {_inline(_title_of(story))}", "", f"Status: **{STATUS_WORDS[_status_of(story)]}**", ""]
    place = _describe_place(story)
    lines += [_inline(place), ""] if place else []
    for text in _banners(story):
        lines += [f"> **Note:** {_inline(text)}", ""]
    lines += _session_notes(story, quote)
    for run in story.runs:
        lines += _run(story, run, quote)
    if not story.runs:
        lines += [_describe_empty_session(story), "", *_provenance(story, None)]
    lines += ["---", "", f"Written by {_inline(producer)}, as of {_moment_time(exported_at)}."]
    return "\n".join(lines) + "\n"


def _session_notes(story: Story, quote: Quote) -> Iterator[str]:
    if not story.notes:
        return
    yield from ("## Notes of the session", "")
    if story.notes_omitted:
        yield from (f"{story.notes_omitted} earlier notes are left out.", "")
    for noted in story.notes:
        yield from (f"`{noted.output_id}`, {_moment_time(noted.at)}", "", *quote(noted.notes), "")
        if noted.is_cut:
            yield from ("The rest of these notes is no longer in the store.", "")


def _run(story: Story, run: RunStory, quote: Quote) -> Iterator[str]:
    yield from (f"## {_inline(run.name)}", "", _inline(_describe_run(run)), "")
    if run.evidence_told:
        yield from (_inline(f"{_capitalised(run.evidence_told)}. {_PROVEN}"), "")
    if run.handed:
        yield from ("### Handed out", "", *(f"- {_inline(line)}" for line in run.handed), "")
    if run.open_gaps:
        yield from ("### Open gaps", "")
        yield from (f"- **{gap.severity}**: {_inline(explain_gap(gap))}" for gap in run.open_gaps)
        yield ""
    yield from ("### The way", "")
    if run.omitted:
        yield from (f"{run.omitted} earlier nodes are left out.", "")
    quick = _is_quick(run)
    for number, moment in enumerate(run.moments, run.omitted):
        yield from (f"#### {number}. {_inline(_describe_moment(moment))}", "")
        yield from (f"`{moment.node_id}`, {_moment_time(moment.at, is_quick=quick)}", "")
        yield from _moment(moment, run, quote)
    if run.receipts:
        yield from ("### Programs that ran", "")
        if run.receipts_omitted:
            yield from (f"{run.receipts_omitted} earlier ones are left out.", "")
        yield from (f"- {_inline(_describe_receipt(receipt))}" for receipt in run.receipts)
        yield ""
    drawn = draw_run(run.graph, lambda node: _SPACES.sub(" ", mark_hidden(run.labels[node.node_id])))
    yield from ("### Map", "", *fence_lines(drawn[:MOST_DRAWN], "text"), "")
    if run.artifacts:
        yield from ("### Current outputs", "")
        for held in run.artifacts:
            yield from (f"{_inline(_describe_output(held, run))}:", "")
            yield from _artifact(held.body)
    yield from (
        "### Preferences and capabilities",
        "",
        f"- Preferences: {_describe_preferences(run.preferences)}",
    )
    yield from (f"- {seen.capability}: {seen.status} ({seen.provenance})" for seen in run.capabilities)
    yield ""
    yield from _provenance(story, run)


def _moment(moment: Moment, run: RunStory, quote: Quote) -> Iterator[str]:
    facts = [f"Chosen: {_inline(moment.option_id)}"] if moment.option_id else []
    facts += ["This is a fork."] if moment.is_fork else []
    for one in moment.refused:
        facts += [f"Blocked: {_inline(one.why)}", *(_inline(fault) for fault in one.faults)]
    facts += [_inline(describe_gap(gap, moment.title)) for gap in moment.gaps]
    claims = (f"{tell_claim(one, moment.artifacts)}: {describe_level(one)}" for one in moment.claims)
    facts += [f"Evidence: {_inline(one)}" for one in claims]
    facts += [_inline(f"{describe_answer(moment.answer)}.")] if moment.answer is not None else []
    facts += [f"Left the instructions ({one.reason}): {_inline(one.summary)}" for one in moment.divergences]
    if moment.preferences is not None:
        facts.append(f"Preferences from here: {_describe_preferences(moment.preferences)}")
    facts += map(_inline, describe_way(moment))
    yield from (f"- {fact}" for fact in facts)
    if facts:
        yield ""
    if moment.notes:
        yield from (*quote(moment.notes), "")
    if moment.is_cut:
        yield from ("The rest of these notes is no longer in the store.", "")
    for artifact in moment.artifacts:
        words, is_shown = _describe_delivery(artifact, moment, run)
        yield from (_inline(words), "", *(_artifact(artifact.body) if is_shown else ()))
    if moment.branches_omitted:
        yield from (f"{moment.branches_omitted} earlier branches from here are left out.", "")
    for branch in moment.branches:
        yield from _branch(branch)


def _branch(branch: Branch) -> Iterator[str]:
    yield from (f"{_describe_branch(branch)}:", "")
    for moment in branch.moments:
        words = _inline(_SPACES.sub(" ", moment.notes[:200]))
        yield f"- {_inline(_describe_moment(moment))}{': ' + words if words else ''}"
    yield ""


def _provenance(story: Story, run: RunStory | None) -> Iterator[str]:
    yield from ("### Provenance", "", "| what | value |", "|---|---|")
    yield from (f"| {name} | {_inline(value)} |" for name, value in _list_provenance(story, run))
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


# The sentences


def _title_of(story: Story) -> str:
    own = [run.name for run in story.runs if run.run.parent is None]  # a child speaks for no session
    return story.goal or (own[-1] if own else f"Session {story.session_id}")


def _status_of(story: Story) -> str:
    if story.runs:
        return story.status
    if story.health != "healthy" and not story.event_count:
        return "unreadable"
    return "notes_only" if story.notes else "empty"


def _describe_empty_session(story: Story) -> str:
    """The sentence in place of the runs."""
    if _status_of(story) == "unreadable":
        return "Nothing in this session can be proven, so there is nothing to report."
    return "No run was started in this session." if story.notes else "Nothing was started in this session."


def _describe_run(run: RunStory) -> str:
    """Where a run stands, in one sentence; and whose work it is, where it was handed out."""
    handed = "" if run.run.parent is None else f" Handed out as {run.run.parent.child_id}."
    workers = name_workers(run.run)
    handed += f" Done by {workers}, by their own word." if workers else ""
    others = [f"{path}, as {', '.join(names)}" for path, names in run.shared_files.items()]
    shared = f" Listed at the same time: {'; '.join(others)}." if others else ""
    return f"{_describe_end(run)}{handed}{shared}"


def _describe_end(run: RunStory) -> str:
    told = _capitalised(describe_not_run(run.not_run))
    match run.status:
        case "in_progress":
            return f"Waiting at: {run.pending}.{_answered(run)}"
        case "blocked":
            return f"Blocked at: {run.pending}.{_answered(run)}"
        case "complete":
            return f"{told or 'Every step was done'}."
        case "complete_with_gaps":
            left = "1 open gap is" if len(run.open_gaps) == 1 else f"{len(run.open_gaps)} open gaps are"
            return f"{told or 'Every step was passed'}; {left} left to follow up."
        case "closed":
            return _describe_closing(run)
        case never:
            assert_never(never)


def _capitalised(words: str) -> str:
    return words[:1].upper() + words[1:]


def _answered(run: RunStory) -> str:
    return "" if run.pending_answer is None else f" {describe_answer(run.pending_answer)}."


def _describe_receipt(receipt: Receipt) -> str:
    """One program that ran: its command, how it ended, and who saw it."""
    fact = receipt.fact
    command = write_line(fact)
    name = f"{fact.check}: " if fact.check else ""
    counts = fact.counts
    counted = "" if counts is None else f", {counts.passed} passed, {counts.failed + counts.errors} failed"
    counted += "" if counts is None else name_owner(counts)
    counted += f", nothing counted: {fact.uncounted}" if fact.uncounted else ""
    if fact.directory not in (".", NOT_TOLD) and not fact.check:
        command += f", {fact.directory}" if fact.directory == ELSEWHERE else f" in {fact.directory}"
    return f"{name}{command} ({describe_outcome(fact.outcome)}{counted}; {WHO_SAW[fact.by]})"


def _describe_closing(run: RunStory) -> str:
    """That a run was closed, and why."""
    if run.closing is None:
        return "Closed."
    note = f" {run.closing.note}" if run.closing.note else ""
    return f"Closed on {_moment_time(run.closing.at)}, {CLOSE_WORDS[run.closing.reason]}.{note}"


def _moment_time(at: str, *, is_quick: bool = False) -> str:
    """To the minute; of a run that was over within minutes, to the second."""
    return f"{at[:10]} {at[11 : 19 if is_quick else 16]} UTC"


def _is_quick(run: RunStory) -> bool:
    """Whether the whole run was over within minutes, which then say too little."""
    first, last = (choose(moment.at for moment in run.moments) for choose in (min, max))
    return first[:13] == last[:13] and int(last[14:16]) - int(first[14:16]) < _QUICK


def _describe_output(held: CurrentArtifact, run: RunStory) -> str:
    """An output, the step that it is from, and what is known about it: its shape, never its truth."""
    titles = [f"from “{one.title}”" for one in run.moments if one.node_id == held.node_id]
    known = "well-formed" if held.is_validated else "no contract asks for it"
    return ", ".join((spell_kind(held.kind), *titles, known))


def _describe_delivery(artifact: Artifact, moment: Moment, run: RunStory) -> tuple[str, bool]:
    """What became of an artifact that came at a moment, and whether it is shown there."""
    kind = spell_kind(artifact.kind)
    if artifact.is_refused:
        return f"{kind} did not fit and is stored only as refused.", False
    if any(held.body == artifact.body for held in run.artifacts):
        return f"Delivered: {kind}, shown among the outputs.", False
    ids = [one.node_id for one in run.moments]
    after = run.moments[ids.index(moment.node_id) + 1 :]
    if any(held.kind == artifact.kind and not held.is_refused for one in after for held in one.artifacts):
        return f"{kind}, replaced later:", True
    if moment.kind == "blocked_attempt":
        return f"{kind}, brought by the blocked attempt:", True
    return f"Delivered: {kind}", True


def _describe_moment(moment: Moment) -> str:
    words = _KINDS[moment.kind]
    return f"{words}: {moment.title}" if words else moment.title


def _describe_branch(branch: Branch) -> str:
    """What was left beside the preferred way."""
    count = len(branch.moments)
    if all(moment.kind == "checkpoint" for moment in branch.moments):
        return "Progress saved from here" if count == 1 else f"Progress saved from here, {count} times"
    nodes = "1 node" if count == 1 else f"{count} nodes"
    return f"Left aside from here: {nodes}, {STATUS_WORDS[branch.status]}"


def _banners(story: Story) -> Iterator[str]:
    """What a reader must know before anything else."""
    if story.health != "healthy":
        trouble = (
            "was written by a newer version of Handrail"
            if is_newer(story.health)
            else f"is damaged ({story.health})"
        )
        yield (
            f"This session {trouble}. What follows is the part that is proven, "
            f"{story.event_count} events; it can be read, not continued. {story.health_detail}".rstrip()
        )
    for run in story.runs:
        if run.is_workflow_lost:
            yield f"The workflow {run.name} is no longer in the store; its steps are called by their ids."
    if story.imported is not None:
        yield (
            f"Imported from session {story.imported.source_session_id} in bundle "
            f"{story.imported.bundle_id}. Its notes were written elsewhere."
        )


def describe_way(moment: Moment) -> list[str]:
    """Why the run came to a node, and how much of that the log only counts."""
    told = [_describe_trace(entry) for entry in moment.trace if not _is_told_elsewhere(entry)]
    if moment.trace_omitted:
        what = "1 of them is a part" if moment.passed_omitted == 1 else f"{moment.passed_omitted} are parts"
        passed = f"; {what} that did not run" if moment.passed_omitted else ""
        told.append(f"{format_count(moment.trace_omitted, 'more decision')} left out{passed}.")
    return told


def _name_condition(condition_id: str) -> str:
    """By the name that its author gave; one that is written in place has only a digest."""
    return "its condition" if condition_id.startswith(GENERATED_PREFIX) else f"the condition {condition_id}"


def _is_told_elsewhere(entry: TraceEntry) -> bool:
    """A condition without a name says nothing beside what came of it."""
    return isinstance(entry, EvaluatedCondition) and entry.condition_id.startswith(GENERATED_PREFIX)


def _name_carried(entry: EnteredLoop | ExitedLoop) -> str:
    """Whose artifact decided, where the round that ended delivered none."""
    said = " Its last round delivered no {}: that of {} decided."
    return "".join(said.format(one.artifact, one.step_id) for one in entry.carried)


def _describe_trace(entry: TraceEntry) -> str:
    match entry:
        case SelectedStep():
            rounds = [f"round {one.iteration + 1} of {one.loop_id}" for one in entry.loops]
            return f"Went to {', '.join([entry.step_id, *rounds])}."
        case EvaluatedCondition():
            told = _name_condition(entry.condition_id)
            return f"{told[:1].upper()}{told[1:]} {'held' if entry.holds else 'did not hold'}."
        case SkippedStep(not_needed=True):
            return f"Not needed: {entry.step_id}, because {_name_condition(entry.condition_id)} did not hold."
        case SkippedStep():
            return f"Skipped {entry.step_id}, because {_name_condition(entry.condition_id)} did not hold."
        case EnteredLoop():
            return f"Entered loop {entry.loop_id}, iteration {entry.iteration + 1}.{_name_carried(entry)}"
        case ExitedLoop(iterations=0, not_needed=True):
            return f"Not needed: loop {entry.loop_id}, because {NO_ROUND_WORDS[entry.reason]}."
        case ExitedLoop(iterations=0):
            return f"Passed loop {entry.loop_id} by, because {NO_ROUND_WORDS[entry.reason]}."
        case ExitedLoop():
            why = f"because {LOOP_ENDS[entry.reason]}.{_name_carried(entry)}"
            return f"Left loop {entry.loop_id} after {entry.iterations}, {why}"
        case DetectedNonTipAdvance():
            return "The run had gone on from the step before, so this is a fork."
        case never:
            assert_never(never)


def _describe_preferences(preferences: Preferences) -> str:
    return f"{preferences.autonomy}, {preferences.risk_policy}"


def _describe_place(story: Story) -> str:
    """The project, its branch and the commit that the work began on, as far as they are known."""
    facts = (("Project", story.project), ("branch", story.branch), ("commit", story.head_sha[:12]))
    told = ", ".join(f"{label} {value}" for label, value in facts if value)
    return told[:1].upper() + told[1:]


def _list_provenance(story: Story, run: RunStory | None) -> list[tuple[str, str]]:
    """Facts by which anyone can check where this came from."""
    facts = [
        ("Session", story.session_id),
        ("Events", str(story.event_count)),
        ("Chain digest", story.head_digest),
    ]
    if story.branch:
        facts.append(("Branch", story.branch))
    if story.head_sha:
        facts.append(("Commit", story.head_sha))
    if run is not None:
        facts += [
            ("Run", run.run.run_id),
            ("Workflow", f"{run.run.workflow_id} ({run.run.source_kind}, {run.run.source_ref})"),
            ("Workflow hash", run.run.workflow_hash),
        ]
        if run.base is not None:
            facts.append(("Extends", f"{run.base.id} ({run.base.hash})"))
            left_out = [f"{one.id} ({one.title})" for one in run.base.left_out]
            facts += [("Left out by the overlay", ", ".join(left_out))] if left_out else []
    return facts


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
        element("title", f"{_title_of(story)} · Handrail"),
        style_sheet(CSS),
    )
