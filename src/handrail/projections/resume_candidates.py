"""Which work a caller in a new chat means: candidates in tiers, best first. Pure.

Work of the caller's project comes first, and what is unfinished before what is done. Then exact beats
likely, likely beats recent; inside a tier the branch in question decides, then the last activity, then the
ids. No clock and no order of the input plays a part (tests/properties/test_resume_ranking.py).
"""

# Annotations are not strings here: msgspec would compile each of them again in every process.

import re
import unicodedata
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

import msgspec

from handrail.contract.ids import RunId, SessionId
from handrail.engine.facts import Place, excerpt, is_same_place, notes_at, run_place, session_place
from handrail.engine.history import History, attached_to
from handrail.projections.overview import (
    SessionFacts,
    SessionStatus,
    given_title,
    last_notes,
    list_seen,
    session_status,
)
from handrail.projections.run_graph import run_graph
from handrail.workflows.compiled import CompiledWorkflow

MOST_FOUND = 5
SNIPPET_BYTES = 2_048
OUTPUT_BYTES = 16_384
"""How much of a run's notes and artifacts is searched, the newest first."""
MOST_RUNS = 20
"""Of one session, the latest; a session with more is one that nobody looks through by hand."""

_WORD = re.compile(r"[a-z0-9_-]+")
_COMMIT = "[0-9a-fA-F]{7,64}"
"""Git shows at least seven digits."""


class Tier(IntEnum):
    """What matched, from certain to a guess (execution.md, resume)."""

    ID = 1
    HEAD = 2
    BRANCH = 3
    BRANCH_BEGINNING = 4
    RECAP = 5
    WORKFLOW = 6
    OUTPUT = 7
    RECENT = 8


class ResumeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller knows about the work, and where the caller is."""

    query: str = ""
    branch: str = ""
    head: str = ""
    here: Place = Place()
    here_branch: str = ""
    here_head: str = ""

    @property
    def is_asked(self) -> bool:
        """Whether the caller named anything; if not, the place of the caller counts."""
        return bool(self.query or self.branch or self.head)


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """One run at its preferred tip, or a session without a run, as far as the search looks at it."""

    session_id: SessionId
    run_id: RunId | None = None
    order: int
    """The session's last activity: larger is later. Only ever compared."""
    last_index: int = 0
    """The last event of the run, for several runs of one session."""
    goal: str = ""
    title: str = ""
    """Of the session, where a person gave it one."""
    workflow_id: str = ""
    workflow_name: str = ""
    status: SessionStatus
    branches: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    place: Place = Place()
    """The project it was begun in."""
    tags: tuple[str, ...] = ()
    """Of the workflow."""
    recap: str = ""
    """The newest notes on the way to the tip."""
    outputs: tuple[str, ...] = ()
    """Everything written down for the run, the newest first, within a budget."""


class RankedSubject(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate, why it is one, and the text that shows it."""

    subject: Subject
    is_here: bool
    """It belongs to the project where the caller stands."""
    tier: Tier
    is_of_branch: bool = False
    """It was also done on the branch in question; this decides between equal matches."""
    why: tuple[str, ...]
    snippet: str


class _Match(NamedTuple):
    tier: Tier
    why: str
    text: str = ""


_RECENT = _Match(Tier.RECENT, "recent activity")


def rank_subjects(
    subjects: Iterable[Subject], wanted: ResumeQuery, most: int = MOST_FOUND
) -> tuple[RankedSubject, ...]:
    """Rank the candidates: the best five unless more are asked for; none if nothing matches."""
    found = [held for subject in subjects if (held := _found(subject, wanted)) is not None]
    return tuple(sorted(found, key=_rank)[:most])


def list_latest(
    subjects: Iterable[Subject], here: Place, most: int = MOST_FOUND
) -> tuple[RankedSubject, ...]:
    """The most recent ones, for a query that matches nothing."""
    return rank_subjects(subjects, ResumeQuery(here=here), most)


def is_offered(subject: Subject, wanted: ResumeQuery) -> bool:
    """Whether it may be found: a closed run only by its own id or that of its session."""
    return subject.status != "closed" or wanted.query in (subject.session_id, subject.run_id)


def is_finished(subject: Subject) -> bool:
    """Whether nothing is left to go on with."""
    return subject.status in ("complete", "complete_with_gaps")


def words_of(text: str) -> frozenset[str]:
    """The words of a text as the search compares them."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return frozenset(_WORD.findall(plain.lower()))


def words_in(subjects: Iterable[Subject]) -> frozenset[str]:
    """Every word that one of these can be found by."""
    found: frozenset[str] = frozenset()
    for subject in subjects:
        found |= words_of(
            " ".join(
                (
                    *(subject.title, subject.goal, subject.recap, subject.workflow_id, subject.workflow_name),
                    *(*subject.tags, *subject.outputs),
                )
            )
        )
    return found


def may_be_found(facts: SessionFacts, wanted: ResumeQuery) -> bool:
    """Whether a session may match a query by other means than words."""
    query = wanted.query
    branches = [branch.casefold() for branch in facts.branches]
    return (
        query in facts.run_ids
        or _is_head(query, facts.heads)
        or _is_head(wanted.head, facts.heads)
        or any(
            branch.startswith(asked.casefold())
            for branch in branches
            for asked in (query, wanted.branch)
            if asked
        )
    )


def subjects_of(
    history: History,
    order: int,
    workflows: Mapping[str, CompiledWorkflow],
) -> list[Subject]:
    """Every run of a session at its preferred tip; the session itself where it has none.

    `workflows` are the pinned ones by hash.
    """
    if not history.runs:
        return [_of_session(history, order)]
    own = (run for run in history.runs.values() if run.parent is None)
    newest = sorted(own, key=lambda run: (run.index, run.run_id))[-MOST_RUNS:]
    return [_of_run(history, run.run_id, order, workflows[run.workflow_hash]) for run in newest]


def _of_session(history: History, order: int) -> Subject:
    texts = [held.notes.text for held in reversed(tuple(history.session_notes.values()))]
    seen = history.observations
    return Subject(
        session_id=history.session_id,
        order=order,
        goal=seen.get("goal", ""),
        title=given_title(history),
        status=session_status(history),
        branches=tuple(value for key, value in seen.items() if key == "git_branch"),
        heads=tuple(value for key, value in seen.items() if key == "git_head_sha"),
        place=session_place(history),
        recap=texts[0] if texts else "",
        outputs=_within_budget(texts),
    )


def _of_run(
    history: History,
    run_id: RunId,
    order: int,
    workflow: CompiledWorkflow,
) -> Subject:
    run = history.runs[run_id]
    graph = run_graph(history, run_id)
    on_the_way = list_seen(history, run_id, graph.preferred_tip)
    return Subject(
        session_id=history.session_id,
        run_id=run_id,
        order=order,
        last_index=max(history.last_index[node.node_id] for node in graph.nodes),
        goal=run.seen.get("goal", ""),
        title=given_title(history),
        workflow_id=run.workflow_id,
        workflow_name=workflow.name,
        tags=run.tags,
        status=graph.status,
        branches=on_the_way.get("git_branch", ()),
        heads=on_the_way.get("git_head_sha", ()),
        place=run_place(run),
        recap=last_notes(history, graph.preferred_tip),
        outputs=_within_budget(_texts(history, run_id)),
    )


def _texts(history: History, run_id: RunId) -> Iterable[str]:
    """What was written down in a run, in the work that it handed out and beside it, the newest first."""
    runs = {run_id}
    for run in history.runs.values():  # a run comes after the one that handed it out
        runs |= {run.run_id} if run.parent is not None and run.parent.run_id in runs else set()
    for node in reversed(tuple(history.nodes.values())):
        if node.run_id not in runs:
            continue
        notes = notes_at(history, node.node_id)
        if notes is not None:
            yield notes.text
        for held in attached_to(history, node.node_id).artifacts:
            yield msgspec.json.encode(held.artifact.body).decode()
    for kept in reversed(tuple(history.session_notes.values())):
        yield kept.notes.text


def _within_budget(texts: Iterable[str]) -> tuple[str, ...]:
    kept, left = [], OUTPUT_BYTES
    for text in texts:
        part = excerpt(text, left)
        kept.append(part)
        left -= len(part.encode())
        if left <= 0:
            break
    return tuple(kept)


def _found(subject: Subject, wanted: ResumeQuery) -> RankedSubject | None:
    if not is_offered(subject, wanted):
        return None
    is_here = is_same_place(subject.place, wanted.here)
    local = _local_matches(subject, wanted) if is_here else [_RECENT]
    matches = _asked_matches(subject, wanted) if wanted.is_asked else local
    if not matches:
        return None
    best = min(matches, key=lambda match: match.tier)
    return RankedSubject(
        subject=subject,
        is_here=is_here,
        tier=best.tier,
        is_of_branch=any(match.tier is Tier.BRANCH for match in matches),
        why=tuple(dict.fromkeys(match.why for match in matches)),
        snippet=excerpt(best.text or subject.recap, SNIPPET_BYTES),
    )


def _local_matches(subject: Subject, wanted: ResumeQuery) -> list[_Match]:
    """Nothing was asked for: work of this project at this commit or branch first, then the latest."""
    matches = []
    if wanted.here_head and wanted.here_head in subject.heads:
        matches.append(_Match(Tier.HEAD, "git head of this project"))
    if wanted.here_branch and wanted.here_branch in subject.branches:
        matches.append(_Match(Tier.BRANCH, "git branch of this project"))
    return [*matches, _RECENT]


def _asked_matches(subject: Subject, wanted: ResumeQuery) -> list[_Match]:
    query = wanted.query
    matches = []
    if query and query == subject.session_id:
        matches.append(_Match(Tier.ID, "session id"))
    if query and query == subject.run_id:
        matches.append(_Match(Tier.ID, "run id"))
    if _is_head(query, subject.heads) or _is_head(wanted.head, subject.heads):
        matches.append(_Match(Tier.HEAD, "git head"))
    for asked in (query, wanted.branch):
        matches += _branch_matches(subject, asked.casefold())
    return [*matches, *_word_matches(subject, words_of(query))]


def _is_head(asked: str, heads: Iterable[str]) -> bool:
    """A commit by its id, or by as much of it as git shows."""
    return re.fullmatch(_COMMIT, asked) is not None and any(head.startswith(asked.lower()) for head in heads)


def _branch_matches(subject: Subject, asked: str) -> list[_Match]:
    """A branch is typed from memory, so its case does not count; the whole name beats its beginning."""
    branches = [branch.casefold() for branch in subject.branches] if asked else []
    if asked in branches:
        return [_Match(Tier.BRANCH, "git branch")]
    if any(branch.startswith(asked) for branch in branches):
        return [_Match(Tier.BRANCH_BEGINNING, "git branch")]
    return []


def _word_matches(subject: Subject, words: frozenset[str]) -> list[_Match]:
    """Every word must be there; a query without one finds nothing by words."""
    if not words:
        return []
    matches = []
    of_goal, of_recap = words_of(subject.goal), words_of(subject.recap)
    if words <= words_of(subject.title):
        matches.append(_Match(Tier.RECAP, "title"))
    if words <= of_goal:
        matches.append(_Match(Tier.RECAP, "goal"))
    if words <= of_recap:
        matches.append(_Match(Tier.RECAP, "newest notes"))
    if not matches and words <= of_goal | of_recap:
        matches.append(_Match(Tier.RECAP, "goal and newest notes"))
    if words <= words_of(" ".join((subject.workflow_id, subject.workflow_name, *subject.tags))):
        matches.append(_Match(Tier.WORKFLOW, "workflow"))
    if not matches:
        output = next((text for text in subject.outputs if words <= words_of(text)), None)
        if output is not None:
            matches.append(_Match(Tier.OUTPUT, "earlier output", output))
    return matches


def _rank(found: RankedSubject) -> tuple[bool, bool, int, bool, int, str, int, str]:
    subject = found.subject
    return (
        not found.is_here,
        is_finished(subject),
        found.tier,
        not found.is_of_branch,
        -subject.order,
        subject.session_id,
        -subject.last_index,
        subject.run_id or "",
    )
