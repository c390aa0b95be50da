"""The report as Markdown, and as one HTML page with the same text. Pure.

Notes are quoted, so they cannot pose as the report. The page opens from the disk, runs nothing and fetches
nothing.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, assert_never

from handrail.contract.outcome import Json
from handrail.contract.wording import end_sentence, format_count, mark_hidden
from handrail.engine.children.joins import name_workers
from handrail.engine.events import Artifact, Preferences, is_newer
from handrail.engine.facts import preferences_at
from handrail.engine.history import Receipt, confirmation_of, list_receipts, not_run_at
from handrail.engine.messages import explain_gap
from handrail.engine.navigate import (
    NO_ROUND_WORDS,
    DetectedNonTipAdvance,
    EnteredLoop,
    EvaluatedCondition,
    ExitedLoop,
    Running,
    SelectedStep,
    SkippedStep,
    TraceEntry,
)
from handrail.engine.owners import has_imported_facts
from handrail.engine.progress import describe_not_run
from handrail.engine.receipts import (
    ELSEWHERE,
    UNPLACED,
    WHO_SAW,
    describe_outcome,
    write_line,
)
from handrail.engine.tips import open_gaps
from handrail.projections.evidence import caveat_of, describe_answer, describe_gap, describe_level
from handrail.projections.html.elements import (
    Html,
    count_markup,
    document,
    element,
    is_laid_out,
    report_html,
    style_sheet,
)
from handrail.projections.overview import session_project, session_status, session_title
from handrail.projections.plain_words import (
    CLOSE_WORDS,
    LOOP_ENDS,
    STATUS_WORDS,
    artifact_lines,
    describe_statement,
    spell_kind,
)
from handrail.projections.report.story import (
    MOST_MOMENTS,
    MOST_RECEIPTS_SHOWN,
    Branch,
    Moment,
    RunStory,
    Story,
    list_runs,
    read_notes,
)
from handrail.projections.run_graph import CurrentArtifact, capabilities_at, current_artifacts, draw_run
from handrail.workflows.conditions import GENERATED_PREFIX
from handrail.workflows.limits import Effort

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_SCHEME = re.compile(r"(?i)\b(javascript|vbscript|data|file):")
_MARKS = re.compile(r"([\\`*_{}\[\]#+!|~])")
_FENCE = re.compile("`+")
_SPACES = re.compile(r"\s+")
MOST_DRAWN = 400
_QUICK = 10
"""Minutes up to which a run counts as quick."""
_KINDS = {"step": "", "checkpoint": "Checkpoint", "blocked_attempt": "Blocked attempt"}

Quote: TypeAlias = Callable[[str], list[str]]
"""How notes are quoted in the report: with `>` before each line, or with a fence around all of them."""


def quote_calmly(text: str) -> list[str]:
    """Quote every line, whatever it contains; tags and unusual links are neutralised."""
    return quote_lines(_SCHEME.sub(r"\1&#58;", _TAG.sub("&lt;", text)))


def quote_lines(text: str) -> list[str]:
    """Quote every line as it is, for a reader that interprets no tags and no unusual links."""
    return [f"> {line}".rstrip() for line in mark_hidden(text).split("\n")]


def markdown_report(story: Story, *, exported_at: str, producer: str, quote: Quote = quote_calmly) -> str:
    """Return the whole report, ending in one line feed."""
    lines = [f"# {_inline(_title_of(story))}", "", f"Status: **{STATUS_WORDS[_status_of(story)]}**", ""]
    place = _describe_place(story)
    lines += [_inline(place), ""] if place else []
    for text in _banners(story):
        lines += [f"> **Note:** {_inline(text)}", ""]
    lines += _session_notes(story, quote)
    runs = list_runs(story)
    for run in runs:
        lines += _run(story, run, quote)
    if not runs:
        lines += [_describe_empty_session(story), "", *_provenance(story, None)]
    lines += ["---", "", f"Written by {_inline(producer)}, as of {_moment_time(exported_at)}."]
    return "\n".join(lines) + "\n"


def _session_notes(story: Story, quote: Quote) -> Iterator[str]:
    noted = tuple(story.history.session_notes.values())
    if not noted:
        return
    yield from ("## Notes of the session", "")
    if len(noted) > MOST_MOMENTS:
        yield from (f"{len(noted) - MOST_MOMENTS} earlier notes are left out.", "")
    for held in noted[-MOST_MOMENTS:]:
        text, is_cut = read_notes(held.notes, story.whole_notes)
        yield from (f"`{held.output_id}`, {_moment_time(held.at)}", "", *quote(text), "")
        if is_cut:
            yield from ("The rest of these notes is no longer in the store.", "")


def _run(story: Story, run: RunStory, quote: Quote) -> Iterator[str]:
    history, tip = run.history, run.tip.node_id
    moments, omitted = run.list_moments()
    artifacts = current_artifacts(history, tip)
    yield from (f"## {_inline(run.name)}", "", _inline(_describe_run(run)), "")
    if summary := run.summarize():
        yield from (_inline(summary), "")
    if history.evidence and (caveat := caveat_of(history)):
        yield from (_inline(f"Its evidence is shown {caveat}."), "")
    if run.handed:
        yield from ("### Delegated", "", *(f"- {_inline(line)}" for line in run.handed), "")
    if gaps := open_gaps(history, tip):
        yield from ("### Open gaps", "")
        yield from (f"- **{gap.severity}**: {_inline(explain_gap(gap))}" for gap in gaps)
        yield ""
    yield from ("### The way", "")
    if omitted:
        yield from (f"{omitted} earlier nodes are left out.", "")
    quick = _is_quick(moments)
    for place, moment in enumerate(moments):
        yield from (f"#### {omitted + place}. {_inline(_describe_moment(moment))}", "")
        yield from (f"`{moment.node_id}`, {_moment_time(moment.at, is_quick=quick)}", "")
        yield from _moment(moment, moments[place + 1 :], artifacts, quote)
    if receipts := list_receipts(history, run.run.run_id):
        yield from ("### Programs that ran", "")
        if len(receipts) > MOST_RECEIPTS_SHOWN:
            yield from (f"{len(receipts) - MOST_RECEIPTS_SHOWN} earlier ones are left out.", "")
        yield from (f"- {_inline(_describe_receipt(one))}" for one in receipts[-MOST_RECEIPTS_SHOWN:])
        yield ""
    drawn = draw_run(run.graph, lambda node: _SPACES.sub(" ", mark_hidden(run.label(node))))
    yield from ("### Map", "", *fence_lines(drawn[:MOST_DRAWN], "text"), "")
    if artifacts:
        yield from ("### Current outputs", "")
        for held in artifacts:
            yield from (f"{_inline(_describe_output(held, moments))}:", "")
            yield from _artifact(held.body)
    preferences = _describe_preferences(preferences_at(history, tip))
    yield from ("### Preferences and capabilities", "", f"- Preferences: {preferences}")
    known = capabilities_at(history, tip).values()
    yield from (f"- {seen.capability}: {seen.status} ({seen.provenance})" for seen in known)
    yield ""
    yield from _provenance(story, run)


def _moment(
    moment: Moment, after: Sequence[Moment], shown: Sequence[CurrentArtifact], quote: Quote
) -> Iterator[str]:
    facts = [f"Chosen: {_inline(moment.option_id)}"] if moment.option_id else []
    facts += ["This is a fork."] if moment.is_fork else []
    for one in moment.refused:
        facts += [f"Blocked: {_inline(one.why)}", *(_inline(fault) for fault in one.faults)]
    facts += [_inline(describe_gap(gap, moment.title)) for gap in moment.gaps]
    statements = (
        f"{describe_statement(one, moment.artifacts)}: {describe_level(one)}" for one in moment.statements
    )
    facts += [f"Evidence: {_inline(one)}" for one in statements]
    facts += [_inline(f"{moment.answer}.")] if moment.answer else []
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
        words, is_shown = _describe_delivery(artifact, moment, after, shown)
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
    """Return a fenced block that its content cannot end: the fence is longer than any run of the mark."""
    longest = max((len(run) for line in lines for run in _FENCE.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + language, *lines, fence]


def _inline(text: str) -> str:
    """Return text from outside for use inside a line: one line, without Markdown of its own."""
    calm = _SPACES.sub(" ", mark_hidden(text)).strip()
    return _SCHEME.sub(r"\1&#58;", _MARKS.sub(r"\\\1", calm).replace("<", "&lt;"))


# The sentences


def _title_of(story: Story) -> str:
    history = story.history
    own = [run for run in history.runs.values() if run.parent is None]  # a child is not its session
    return session_title(history) or (story.name_of(own[-1]) if own else f"Session {history.session_id}")


def _status_of(story: Story) -> str:
    status = session_status(story.history)
    return "unreadable" if story.health != "healthy" and not story.history.head else status


def _describe_empty_session(story: Story) -> str:
    """Return the sentence for a session without runs."""
    if _status_of(story) == "unreadable":
        return "Nothing in this session can be proven, so there is nothing to report."
    return (
        "No run was started in this session."
        if story.history.session_notes
        else "Nothing was started in this session."
    )


def _describe_run(run: RunStory) -> str:
    """Return the status of a run in one sentence; for a delegated one also which run it belongs to."""
    handed = "" if run.run.parent is None else f" Delegated as {run.run.parent.child_id}."
    workers = name_workers(run.run)
    handed += f" Done by {workers}, as they state." if workers else ""
    others = [f"{path}, as {', '.join(names)}" for path, names in run.find_shared().items()]
    shared = f" Listed at the same time: {'; '.join(others)}." if others else ""
    return f"{_describe_end(run)}{handed}{shared}"


def _describe_end(run: RunStory) -> str:
    not_run = _capitalised(describe_not_run(not_run_at(run.history, run.tip.node_id)))
    pending = f"{run.title(run.tip.state)}.{_answered(run)}"
    match run.graph.status:
        case "in_progress":
            return f"Waiting at: {pending}"
        case "blocked":
            return f"Blocked at: {pending}"
        case "complete":
            return f"{not_run or 'Every step was done'}."
        case "complete_with_gaps":
            count = len(open_gaps(run.history, run.tip.node_id))
            left = "1 open gap is" if count == 1 else f"{count} open gaps are"
            return f"{not_run or 'Every step was passed'}; {left} left to follow up."
        case "closed":
            return _describe_closing(run)
        case never:
            assert_never(never)


def _capitalised(words: str) -> str:
    return words[:1].upper() + words[1:]


def _answered(run: RunStory) -> str:
    answer = confirmation_of(run.history, run.tip.node_id) if isinstance(run.tip.state, Running) else None
    return "" if answer is None else f" {end_sentence(describe_answer(run.history, answer))}"


def _describe_receipt(receipt: Receipt) -> str:
    """Return a line about one check result: its command, how it ended, and who recorded it."""
    fact = receipt.fact
    command = write_line(fact.argv, fact.by)
    name = f"{fact.check}: " if fact.check else ""
    counts = fact.counts
    counted = "" if counts is None else f", {counts.passed} passed, {counts.failed + counts.errors} failed"
    counted += f", nothing counted: {fact.uncounted}" if fact.uncounted else ""
    if fact.directory not in (".", UNPLACED) and not fact.check:
        command += f", {fact.directory}" if fact.directory == ELSEWHERE else f" in {fact.directory}"
    return f"{name}{command} ({describe_outcome(fact.outcome)}{counted}; {WHO_SAW[fact.by]})"


def _describe_closing(run: RunStory) -> str:
    """Return a line that says that a run was closed, and why."""
    closing = run.history.closings[run.run.run_id][-1]
    note = f" {closing.note}" if closing.note else ""
    return f"Closed on {_moment_time(closing.at)}, {CLOSE_WORDS[closing.reason]}.{note}"


def _moment_time(at: str, *, is_quick: bool = False) -> str:
    """Return the time to the minute, or to the second for a run that was over within minutes."""
    return f"{at[:10]} {at[11 : 19 if is_quick else 16]} UTC"


def _is_quick(moments: Sequence[Moment]) -> bool:
    """Whether the whole run was over within minutes, so that minutes say too little."""
    first, last = (choose(moment.at for moment in moments) for choose in (min, max))
    return first[:13] == last[:13] and int(last[14:16]) - int(first[14:16]) < _QUICK


def _describe_output(held: CurrentArtifact, moments: Sequence[Moment]) -> str:
    """Return a line about an output: its step, and what is known about its shape, never about its truth."""
    titles = [f"from “{one.title}”" for one in moments if one.node_id == held.node_id]
    known = "well-formed" if held.is_validated else "no contract asks for it"
    return ", ".join((spell_kind(held.kind), *titles, known))


def _describe_delivery(
    artifact: Artifact, moment: Moment, after: Sequence[Moment], shown: Sequence[CurrentArtifact]
) -> tuple[str, bool]:
    """Return what happened to an artifact of this moment, and whether the report shows it here."""
    kind = spell_kind(artifact.kind)
    if artifact.is_refused:
        return f"{kind} was rejected, so it is not among the outputs.", False
    if any(held.body == artifact.body for held in shown):
        return f"Delivered: {kind}, shown among the outputs.", False
    if any(held.kind == artifact.kind and not held.is_refused for one in after for held in one.artifacts):
        return f"{kind}, replaced later:", True
    if moment.kind == "blocked_attempt":
        return f"{kind}, brought by the blocked attempt:", True
    return f"Delivered: {kind}", True


def _describe_moment(moment: Moment) -> str:
    words = _KINDS[moment.kind]
    return f"{words}: {moment.title}" if words else moment.title


def _describe_branch(branch: Branch) -> str:
    """Return the lines about a branch that the preferred path did not take."""
    count = len(branch.moments)
    if all(moment.kind == "checkpoint" for moment in branch.moments):
        return "Progress saved from here" if count == 1 else f"Progress saved from here, {count} times"
    nodes = "1 node" if count == 1 else f"{count} nodes"
    return f"Left aside from here: {nodes}, {STATUS_WORDS[branch.status]}"


def _banners(story: Story) -> Iterator[str]:
    """Yield the warnings that a reader needs first."""
    if story.health != "healthy":
        trouble = (
            "was written by a newer version of Handrail"
            if is_newer(story.health)
            else f"is damaged ({story.health})"
        )
        yield (
            f"This session {trouble}. What follows is the part that is proven, "
            f"{story.history.head} events; it can be read, not continued. {story.health_detail}".rstrip()
        )
    for run in story.history.runs.values():
        if run.workflow_hash not in story.workflows:
            name = story.name_of(run)
            yield f"The workflow {name} is no longer in the store; its steps are called by their ids."
    if (label := story.history.imported) is not None:
        yield (
            f"Imported from session {label.source_session_id} in bundle {label.bundle_id}. Its notes were "
            "written elsewhere."
        )
    elif has_imported_facts(story.history):
        yield "This session came from another store. Its answers and check results count for nothing here."


def describe_way(moment: Moment) -> list[str]:
    """Return why the run came to a node, and how many further decisions the log only counts."""
    lines = [_describe_trace(entry) for entry in moment.trace if not _is_shown_elsewhere(entry)]
    if moment.trace_omitted:
        what = "1 of them is a part" if moment.passed_omitted == 1 else f"{moment.passed_omitted} are parts"
        passed = f"; {what} that did not run" if moment.passed_omitted else ""
        lines.append(f"{format_count(moment.trace_omitted, 'more decision')} left out{passed}.")
    return lines


def _name_condition(condition_id: str) -> str:
    """Return the author's name of a condition; one without a name has only a digest."""
    return "its condition" if condition_id.startswith(GENERATED_PREFIX) else f"the condition {condition_id}"


def _is_shown_elsewhere(entry: TraceEntry) -> bool:
    """Whether the entry is a condition without a name, which adds nothing to its result."""
    return isinstance(entry, EvaluatedCondition) and entry.condition_id.startswith(GENERATED_PREFIX)


def _name_carried(entry: EnteredLoop | ExitedLoop) -> str:
    """Return which artifact decided, if the iteration that ended delivered none."""
    sentence = " Its last round delivered no {}: that of {} decided."
    return "".join(sentence.format(one.artifact, one.step_id) for one in entry.carried)


def _describe_trace(entry: TraceEntry) -> str:
    match entry:
        case SelectedStep():
            rounds = [f"round {one.iteration + 1} of {one.loop_id}" for one in entry.loops]
            return f"Went to {', '.join([entry.step_id, *rounds])}."
        case EvaluatedCondition():
            name = _name_condition(entry.condition_id)
            return f"{name[:1].upper()}{name[1:]} {'held' if entry.holds else 'did not hold'}."
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
    """Return the project, its branch and the commit on which the work began, as far as they are known."""
    seen = story.history.observations
    project, branch, commit = session_project(story.history), seen.get("git_branch"), seen.get("git_head_sha")
    facts = (("Project", project), ("branch", branch), ("commit", commit and commit[:12]))
    line = ", ".join(f"{label} {value}" for label, value in facts if value)
    return line[:1].upper() + line[1:]


def _list_provenance(story: Story, run: RunStory | None) -> list[tuple[str, str]]:
    """Return facts with which a reader can verify the origin of the report."""
    history, seen = story.history, story.history.observations
    facts = [
        ("Session", str(history.session_id)),
        ("Events", str(history.head)),
        ("Chain digest", history.head_digest),
    ]
    named = (("Branch", "git_branch"), ("Commit", "git_head_sha"))
    facts += [(label, seen[key]) for label, key in named if seen.get(key)]
    if run is not None:
        facts += [
            ("Run", run.run.run_id),
            ("Workflow", f"{run.run.workflow_id} ({run.run.source_kind}, {run.run.source_ref})"),
            ("Workflow hash", run.run.workflow_hash),
        ]
        if run.workflow is not None and (base := run.workflow.base) is not None:
            facts.append(("Extends", f"{base.id} ({base.hash})"))
            left_out = [f"{one.id} ({one.title})" for one in base.left_out]
            facts += [("Left out by the customisation", ", ".join(left_out))] if left_out else []
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
"""Marks that the notes of one page may have; further notes are shown as plain text."""


def report_page(story: Story, *, exported_at: str, producer: str) -> str:
    """Return the report as one HTML page."""
    room = Effort(MOST_MARKUP_ON_PAGE, "", "")

    def quote(notes: str) -> list[str]:
        is_shown = is_laid_out(notes) and room.affords(count_markup(notes))
        return quote_lines(notes if is_shown else "\n".join(fence_lines(mark_hidden(notes).split("\n"))))

    text = markdown_report(story, exported_at=exported_at, producer=producer, quote=quote)
    body = element("body", element("main", report_html(text)))
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
