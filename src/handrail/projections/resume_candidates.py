"""Rank which work a caller in a new chat means: heads of branches, best first. Pure.

A certain match comes first: an id, a commit, a branch. Then words count by how rare they are and where they
occur: the goal, the title and identifiers of the context before the newest notes, and these before the
rest. Unfinished, same project and recency break ties. Neither a clock nor the order of the input matters
(tests/properties/test_resume_ranking.py).
"""

# Annotations are not strings here: msgspec would compile each of them again in every process.

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

import msgspec

from handrail.contract.ids import NodeId, RunId, SessionId
from handrail.contract.search_terms import QueryTerm, index_terms, read_query
from handrail.engine.facts import Place, excerpt, is_same_place, notes_at, run_place, session_place
from handrail.engine.history import History, attached_to, context_at
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
"""Bytes of a run's notes and artifacts that are searched, the newest first."""
MOST_RUNS = 20
"""Runs of one session that are searched, the latest; a person could not read more by hand."""

MOST_BRANCHES = 20
"""Branches of one run that are searched, the latest."""
MOST_IDENTIFIERS = 30
LONGEST_IDENTIFIER = 100
"""Characters of a searched text in the context: a ticket, a branch, the number of a pull request."""
_COMMIT = "[0-9a-fA-F]{7,64}"
"""Digits of a commit id that git shows at least."""


class Tier(IntEnum):
    """The kind of match, from certain to a guess."""

    ID = 1
    HEAD = 2
    BRANCH = 3
    BRANCH_BEGINNING = 4
    WORDS = 5
    RECENT = 6


class ResumeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller knows about the work, and the caller's own project, branch and commit."""

    query: str = ""
    branch: str = ""
    head: str = ""
    here: Place = Place()
    here_branch: str = ""
    here_head: str = ""
    weights: Mapping[str, float] = {}
    """Weight of each query term, larger for rarer terms. A term without a weight is ignored."""

    @property
    def is_asked(self) -> bool:
        """Whether the caller named anything; if not, the caller's own place counts."""
        return bool(self.query or self.branch or self.head)


class BranchHead(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a branch of a run, with the facts that the search uses."""

    node_id: NodeId | None = None
    """The node; None for a session without a run."""
    branches: tuple[str, ...] = ()
    """Git branches observed on the way there; `heads` are the commits."""
    heads: tuple[str, ...] = ()
    recap: str = ""
    """The newest notes on the way there."""
    identifiers: tuple[str, ...] = ()
    """Short texts and whole numbers of its context."""


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """One run with the heads of its branches, or a session without a run, with the facts that the search
    uses.
    """

    session_id: SessionId
    run_id: RunId | None = None
    order: int
    """The session's last activity: larger is later. It is only ever compared."""
    last_index: int = 0
    """Index of the last event of the run, which orders several runs of one session."""
    goal: str = ""
    title: str = ""
    """Title of the session, if a person gave it one."""
    workflow_id: str = ""
    workflow_name: str = ""
    status: SessionStatus
    place: Place = Place()
    """The project in which it was begun."""
    tags: tuple[str, ...] = ()
    """Tags of the workflow."""
    ends: tuple[BranchHead, ...] = (BranchHead(),)
    """The heads of its branches, the preferred one first."""
    outputs: tuple[str, ...] = ()
    """Everything recorded for the run, the newest first, within a budget."""


class RankedSubject(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate, why it matches, and the text that shows it."""

    subject: Subject
    end: BranchHead
    """The branch that fits best."""
    is_here: bool
    """Whether it belongs to the caller's project."""
    tier: Tier
    score: float = 0.0
    """Sum of the weights of the matching words; words further from the goal count less."""
    is_of_branch: bool = False
    """Whether it was also done on the branch in question; this decides between equal matches."""
    why: tuple[str, ...]
    snippet: str

    @property
    def is_preferred(self) -> bool:
        """Whether it is the branch on which the run continues by default."""
        return self.end is self.subject.ends[0]


class _Match(NamedTuple):
    tier: Tier
    why: str
    text: str = ""
    score: float = 0.0


_RECENT = _Match(Tier.RECENT, "recent activity")


def rank_subjects(
    subjects: Iterable[Subject], wanted: ResumeQuery, most: int = MOST_FOUND
) -> tuple[RankedSubject, ...]:
    """Return the best candidates, five unless more are asked for; none if nothing matches.

    A run is listed once, at its best branch; if the caller asked for it by its id, with all its branches.
    """
    found = [held for subject in subjects for held in _find(subject, wanted)]
    return tuple(sorted(found, key=_rank_asked if wanted.is_asked else _rank_local)[:most])


def list_latest(
    subjects: Iterable[Subject], here: Place, most: int = MOST_FOUND
) -> tuple[RankedSubject, ...]:
    """Return the most recent ones, for a query that matches nothing."""
    return rank_subjects(subjects, ResumeQuery(here=here), most)


def show_node(subject: Subject, tip: NodeId, here: Place) -> RankedSubject:
    """Return the candidate for a node that the caller named by its id, at the head of its branch."""
    end = next((one for one in subject.ends if one.node_id == tip), BranchHead(node_id=tip))
    return RankedSubject(
        subject=subject,
        end=end,
        is_here=is_same_place(subject.place, here),
        tier=Tier.ID,
        why=("node id",),
        snippet=excerpt(end.recap, SNIPPET_BYTES),
    )


def is_offered(subject: Subject, wanted: ResumeQuery) -> bool:
    """Whether a search may find it: a closed run only by its own id or that of its session."""
    return subject.status != "closed" or wanted.query in (subject.session_id, subject.run_id)


def is_finished(subject: Subject) -> bool:
    """Whether there is nothing left to continue."""
    return subject.status in ("complete", "complete_with_gaps")


def list_words(subjects: Iterable[Subject]) -> frozenset[str]:
    """Return every word, and the beginnings of words, by which one of these can be found."""
    return index_terms(
        field.text for subject in subjects for end in subject.ends for field in _list_fields(subject, end)
    )


def may_be_found(facts: SessionFacts, wanted: ResumeQuery) -> bool:
    """Whether a session may match a query by anything but words."""
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
    """Return every run of a session at its preferred tip, or the session itself if it has no run.

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
        place=session_place(history),
        ends=(
            BranchHead(
                branches=tuple(value for key, value in seen.items() if key == "git_branch"),
                heads=tuple(value for key, value in seen.items() if key == "git_head_sha"),
                recap=texts[0] if texts else "",
            ),
        ),
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
    others = sorted(
        (tip for tip in graph.tips if tip != graph.preferred_tip), key=lambda tip: (-graph.reach[tip], tip)
    )
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
        place=run_place(run),
        ends=tuple(
            _end_at(history, run_id, tip) for tip in (graph.preferred_tip, *others[: MOST_BRANCHES - 1])
        ),
        outputs=_within_budget(_texts(history, run_id)),
    )


def _end_at(history: History, run_id: RunId, tip: NodeId) -> BranchHead:
    seen = list_seen(history, run_id, tip)
    return BranchHead(
        node_id=tip,
        branches=seen.get("git_branch", ()),
        heads=seen.get("git_head_sha", ()),
        recap=excerpt(last_notes(history, tip), OUTPUT_BYTES),
        identifiers=tuple(_list_identifiers(context_at(history, tip).values())),
    )


def _list_identifiers(values: Iterable[object]) -> list[str]:
    found = (
        str(value)
        for value in values
        if (isinstance(value, str) and 0 < len(value) <= LONGEST_IDENTIFIER) or type(value) is int
    )
    return list(dict.fromkeys(found))[:MOST_IDENTIFIERS]


def _texts(history: History, run_id: RunId) -> Iterable[str]:
    """Yield the texts of a run, of the work that it delegated, and of the session, the newest first."""
    runs = {run_id}
    for run in history.runs.values():  # a run comes after the one that delegated it
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


def _find(subject: Subject, wanted: ResumeQuery) -> Iterator[RankedSubject]:
    if not is_offered(subject, wanted):
        return
    if wanted.query and wanted.query == subject.run_id:
        for end in subject.ends:
            yield _make_ranked(subject, end, wanted, [_Match(Tier.ID, "run id")])
        return
    ranked = [
        _make_ranked(subject, end, wanted, matches)
        for end in (subject.ends if wanted.is_asked else subject.ends[:1])
        if (matches := _list_matches(subject, end, wanted))
    ]
    if ranked:
        yield min(ranked, key=lambda found: (found.tier, -found.score, not found.is_of_branch))


def _make_ranked(
    subject: Subject, end: BranchHead, wanted: ResumeQuery, matches: list[_Match]
) -> RankedSubject:
    best = min(matches, key=lambda match: (match.tier, -match.score))
    return RankedSubject(
        subject=subject,
        end=end,
        is_here=is_same_place(subject.place, wanted.here),
        tier=best.tier,
        score=round(sum(match.score for match in matches), 6),
        is_of_branch=any(match.tier is Tier.BRANCH for match in matches),
        why=tuple(dict.fromkeys(match.why for match in matches)),
        snippet=excerpt(best.text or end.recap, SNIPPET_BYTES),
    )


def _list_matches(subject: Subject, end: BranchHead, wanted: ResumeQuery) -> list[_Match]:
    if not wanted.is_asked:
        is_here = is_same_place(subject.place, wanted.here)
        return [*(_local_matches(end, wanted) if is_here else ()), _RECENT]
    return _asked_matches(subject, end, wanted)


def _local_matches(end: BranchHead, wanted: ResumeQuery) -> Iterator[_Match]:
    """Match without a query: work of this project at this commit or branch first, then the latest."""
    if wanted.here_head and wanted.here_head in end.heads:
        yield _Match(Tier.HEAD, "git head of this project")
    if wanted.here_branch and wanted.here_branch in end.branches:
        yield _Match(Tier.BRANCH, "git branch of this project")


def _asked_matches(subject: Subject, end: BranchHead, wanted: ResumeQuery) -> list[_Match]:
    query = wanted.query
    matches = []
    if query and query == subject.session_id:
        matches.append(_Match(Tier.ID, "session id"))
    if _is_head(query, end.heads) or _is_head(wanted.head, end.heads):
        matches.append(_Match(Tier.HEAD, "git head"))
    for asked in (query, wanted.branch):
        matches += _branch_matches(end, asked.casefold())
    return [*matches, *_word_matches(subject, end, wanted)]


def _is_head(asked: str, heads: Iterable[str]) -> bool:
    """Whether the text is the commit's id, or as much of it as git shows."""
    return re.fullmatch(_COMMIT, asked) is not None and any(head.startswith(asked.lower()) for head in heads)


def _branch_matches(end: BranchHead, asked: str) -> list[_Match]:
    """Whether the branch matches. People type it from memory, so case is ignored; a full name beats a
    prefix.
    """
    branches = [branch.casefold() for branch in end.branches] if asked else []
    if asked in branches:
        return [_Match(Tier.BRANCH, "git branch")]
    if any(branch.startswith(asked) for branch in branches):
        return [_Match(Tier.BRANCH_BEGINNING, "git branch")]
    return []


# Words


class _Field(NamedTuple):
    """A text that is searched, and the weight of its words."""

    why: str
    share: float
    text: str
    is_shown: bool = False
    """Whether the sentence with the word becomes the snippet; the other fields are always shown."""


def _list_fields(subject: Subject, end: BranchHead) -> Iterator[_Field]:
    yield _Field("title", 1.0, subject.title)
    yield _Field("goal", 1.0, subject.goal)
    yield _Field("context", 1.0, "\n".join(end.identifiers), is_shown=True)
    yield _Field("git branch", 1.0, "\n".join(end.branches))
    yield _Field("newest notes", 0.8, end.recap, is_shown=True)
    yield _Field("workflow", 0.5, "\n".join((subject.workflow_id, subject.workflow_name, *subject.tags)))
    for text in subject.outputs:
        yield _Field("earlier output", 0.4, text, is_shown=True)


def _word_matches(subject: Subject, end: BranchHead, wanted: ResumeQuery) -> list[_Match]:
    """Match by words; each term counts once, in the first field that contains it."""
    asked = [term for term in read_query(wanted.query) if wanted.weights.get(term.term)]
    if not asked:
        return []
    left = {term.term: term for term in asked}
    scores: dict[str, float] = {}
    shown: dict[str, str] = {}
    for field in _list_fields(subject, end):
        hits = _hit_terms(field.text, left.values(), wanted.weights) if left and field.text else {}
        if not hits:
            continue
        scores[field.why] = scores.get(field.why, 0.0) + field.share * sum(hits.values())
        if field.is_shown and field.why not in shown:
            shown[field.why] = _choose_sentence(field.text, [left[term] for term in hits], wanted.weights)
        left = {name: term for name, term in left.items() if name not in hits}
    return [_Match(Tier.WORDS, why, shown.get(why, ""), score) for why, score in scores.items()]


def _hit_terms(text: str, asked: Iterable[QueryTerm], weights: Mapping[str, float]) -> dict[str, float]:
    terms = index_terms((text,))
    return {one.term: weights[one.term] * hit for one in asked if (hit := one.hit_by(terms))}


def _choose_sentence(text: str, asked: list[QueryTerm], weights: Mapping[str, float]) -> str:
    """Return the first of the sentences that contain most of the words."""
    sentences = [line for line in re.split(r"(?<=[.!?])\s+|(?<=[。！？])|\n+", text) if line.strip()]
    scored = [(sum(_hit_terms(one, asked, weights).values()), one.strip()) for one in sentences]
    return max(scored, key=lambda held: held[0], default=(0.0, text))[1]


# The order


def _rank_asked(found: RankedSubject) -> tuple[int, float, bool, bool, bool, int, str, int, str, int]:
    return (found.tier, -found.score, not found.is_of_branch, *_rank_equals(found))


def _rank_local(found: RankedSubject) -> tuple[bool, bool, int, bool, bool, bool, int, str, int, str, int]:
    subject = found.subject
    return (
        *(not found.is_here, is_finished(subject), found.tier, not found.is_of_branch),
        *_rank_equals(found),
    )


def _rank_equals(found: RankedSubject) -> tuple[bool, bool, int, str, int, str, int]:
    """Return the sort key that decides between equal matches."""
    subject = found.subject
    return (
        is_finished(subject),
        not found.is_here,
        -subject.order,
        subject.session_id,
        -subject.last_index,
        subject.run_id or "",
        next(place for place, end in enumerate((*subject.ends, found.end)) if end is found.end),
    )
