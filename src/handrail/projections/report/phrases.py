"""The sentences of a report, the same in Markdown and in HTML. Pure."""

from __future__ import annotations

from typing import assert_never

from handrail.contract.wording import format_count
from handrail.engine.children.joins import name_workers
from handrail.engine.events import Artifact, Claim, Preferences, is_newer
from handrail.engine.history import Receipt
from handrail.engine.judge.run_claims import write_line
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
from handrail.engine.receipts import ELSEWHERE, NOT_TOLD, WHO_SAW, describe_outcome
from handrail.projections.claim_texts import spell_kind, tell_claim
from handrail.projections.evidence import describe_answer, describe_level
from handrail.projections.plain_words import CLOSE_WORDS, LOOP_ENDS, STATUS_WORDS
from handrail.projections.report.story import Branch, Moment, RunStory, Story
from handrail.projections.run_graph import CurrentArtifact
from handrail.workflows.conditions import GENERATED_PREFIX

QUICK = 10
"""Minutes."""
_KINDS = {"step": "", "checkpoint": "Checkpoint", "blocked_attempt": "Blocked attempt"}


def title_of(story: Story) -> str:
    own = [run.name for run in story.runs if run.run.parent is None]  # a child speaks for no session
    return story.goal or (own[-1] if own else f"Session {story.session_id}")


def status_of(story: Story) -> str:
    if story.runs:
        return story.status
    if story.health != "healthy" and not story.event_count:
        return "unreadable"
    return "notes_only" if story.notes else "empty"


def describe_empty_session(story: Story) -> str:
    """The sentence in place of the runs."""
    if status_of(story) == "unreadable":
        return "Nothing in this session can be proven, so there is nothing to report."
    return "No run was started in this session." if story.notes else "Nothing was started in this session."


def describe_run(run: RunStory) -> str:
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
            return describe_closing(run)
        case never:
            assert_never(never)


def _capitalised(words: str) -> str:
    return words[:1].upper() + words[1:]


def _answered(run: RunStory) -> str:
    return "" if run.pending_answer is None else f" {describe_answer(run.pending_answer)}."


def describe_evidence(run: RunStory) -> str:
    """What the reports of a run could prove, and what the words mean."""
    if run.evidence is None:
        return ""
    return (
        f"{run.evidence_told[:1].upper()}{run.evidence_told[1:]}. Only what ran, was seen to change, or was "
        "confirmed by a person is proven; that a place exists proves nothing that is said about it."
    )


def describe_claim(claim: Claim, moment: Moment) -> str:
    """What a report claims, and how it is known."""
    return f"{tell_claim(claim, moment.artifacts)}: {describe_level(claim)}"


def describe_receipt(receipt: Receipt) -> str:
    """One program that ran: its command, how it ended, and who saw it."""
    fact = receipt.fact
    command = write_line(fact)
    name = f"{fact.check}: " if fact.check else ""
    counts = fact.counts
    counted = "" if counts is None else f", {counts.passed} passed, {counts.failed + counts.errors} failed"
    counted += f", nothing counted: {fact.uncounted}" if fact.uncounted else ""
    if fact.directory not in (".", NOT_TOLD) and not fact.check:
        command += f", {fact.directory}" if fact.directory == ELSEWHERE else f" in {fact.directory}"
    return f"{name}{command} ({describe_outcome(fact.outcome)}{counted}; {WHO_SAW[fact.by]})"


def describe_closing(run: RunStory) -> str:
    """That a run was closed, and why."""
    if run.closing is None:
        return "Closed."
    note = f" {run.closing.note}" if run.closing.note else ""
    return f"Closed on {moment_time(run.closing.at)}, {CLOSE_WORDS[run.closing.reason]}.{note}"


def describe_omission(moment: Moment) -> str:
    return f"{moment.branches_omitted} earlier branches from here are left out."


def moment_time(at: str, *, is_quick: bool = False) -> str:
    """To the minute; of a run that was over within minutes, to the second."""
    return f"{at[:10]} {at[11 : 19 if is_quick else 16]} UTC"


def is_quick(run: RunStory) -> bool:
    """Whether the whole run was over within minutes, which then say too little."""
    first, last = run.earliest, run.latest
    return first[:13] == last[:13] and _minute(last) - _minute(first) < QUICK


def _minute(at: str) -> int:
    return int(at[14:16])


def describe_output(held: CurrentArtifact, run: RunStory) -> str:
    """An output, the step that it is from, and what is known about it: its shape, never its truth."""
    titles = [f"from “{one.title}”" for one in run.moments if one.node_id == held.node_id]
    known = "well-formed" if held.is_validated else "no contract asks for it"
    return ", ".join((spell_kind(held.kind), *titles, known))


def describe_delivery(artifact: Artifact, moment: Moment, run: RunStory) -> tuple[str, bool]:
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


def describe_moment(moment: Moment) -> str:
    words = _KINDS[moment.kind]
    return f"{words}: {moment.title}" if words else moment.title


def describe_branch(branch: Branch) -> str:
    """What was left beside the preferred way."""
    count = len(branch.moments)
    if all(moment.kind == "checkpoint" for moment in branch.moments):
        return "Progress saved from here" if count == 1 else f"Progress saved from here, {count} times"
    nodes = "1 node" if count == 1 else f"{count} nodes"
    return f"Left aside from here: {nodes}, {STATUS_WORDS[branch.status]}"


def banners(story: Story) -> list[tuple[str, str]]:
    """What a reader must know before anything else: a word for its look, and the text."""
    found = []
    if story.health != "healthy":
        trouble = (
            "was written by a newer version of Handrail"
            if is_newer(story.health)
            else f"is damaged ({story.health})"
        )
        found.append(
            (
                "alarm",
                f"This session {trouble}. What follows is the part that is proven, "
                f"{story.event_count} events; it can be read, not continued. {story.health_detail}".rstrip(),
            )
        )
    for run in story.runs:
        if run.is_workflow_lost:
            lost = f"The workflow {run.name} is no longer in the store; its steps are called by their ids."
            found.append(("alarm", lost))
    if story.imported is not None:
        found.append(
            (
                "note",
                f"Imported from session {story.imported.source_session_id} in bundle "
                f"{story.imported.bundle_id}. Its notes were written elsewhere.",
            )
        )
    return found


def describe_way(moment: Moment) -> list[str]:
    """Why the run came to a node, and how much of that the log only counts."""
    told = [describe_trace(entry) for entry in moment.trace if not _is_told_elsewhere(entry)]
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


def describe_trace(entry: TraceEntry) -> str:
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


def describe_preferences(preferences: Preferences) -> str:
    return f"{preferences.autonomy}, {preferences.risk_policy}"


def describe_place(story: Story) -> str:
    """The project, its branch and the commit that the work began on, as far as they are known."""
    facts = (("Project", story.project), ("branch", story.branch), ("commit", story.head_sha[:12]))
    told = ", ".join(f"{label} {value}" for label, value in facts if value)
    return told[:1].upper() + told[1:]


def provenance(story: Story, run: RunStory | None) -> list[tuple[str, str]]:
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
