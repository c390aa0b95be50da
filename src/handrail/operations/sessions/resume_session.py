"""`session.resume`: find work again from a new chat; each candidate has the exact call that continues it.

The ranking is `projections/resume_candidates.py`; this file limits what is read for it. With a session id
one session is read, without a query the latest ones, and a search stops after 5 000 sessions or 500 000
events. Of the sessions with a word of the query, the 200 with the rarest words are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import KEYRING_INVALID
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import (
    NodeId,
    ObservationKey,
    RunId,
    SessionId,
    is_node_id,
    is_run_id,
    is_session_id,
)
from handrail.contract.outcome import Fault, Page, Payload, Success, make_from
from handrail.contract.parameters import Cursor, MintedId, ProjectPath
from handrail.contract.search_terms import PREFIX_WEIGHT, read_query, require_terms, weigh_by_rarity
from handrail.contract.tokens.workflow import WORKFLOW, StateClaims, mint
from handrail.contract.wording import format_count, shorten
from handrail.engine.children.joins import UNDONE, find_join
from handrail.engine.events import is_newer
from handrail.engine.facts import Place, is_same_place, place_of, run_place, title_of_goal
from handrail.engine.history import Confirmation, History, Node, confirmation_of
from handrail.engine.progress import HandedOut
from handrail.engine.reply import ReplyWarning, ToolCall
from handrail.engine.tips import find_tip
from handrail.operations.finding import find_session, read_or_pass_over
from handrail.operations.handles import mint_state_token
from handrail.operations.replies import describe_child
from handrail.operations.source_drift import warn_of_drift
from handrail.operations.step_so_far import describe_step_so_far
from handrail.operations.stored_sessions import Sessions, ask_sessions, describe_unsound
from handrail.ports.log import SessionStamp
from handrail.ports.store import IndexTrouble
from handrail.projections.evidence import EvidenceSum, sum_evidence, summarize_answer
from handrail.projections.overview import SessionFacts, imported_from, last_notes
from handrail.projections.resume_candidates import (
    MOST_FOUND,
    RankedSubject,
    ResumeQuery,
    Subject,
    is_finished,
    list_latest,
    may_be_found,
    rank_subjects,
    show_node,
)
from handrail.projections.run_graph import preferred_tip_below, run_graph, title_at
from handrail.runtime.damaged_sessions import pass_over
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.paging import read_place
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.runtime.sessions import load_pinned_workflow, require_healthy
from handrail.workflows.compiled import WITH_CHILDREN, CompiledWorkflow

LATEST_SESSIONS = 200
"""Number of latest sessions that are searched for this project's work if there is no query."""
MOST_SESSIONS = 5_000
MOST_EVENTS = 500_000
MOST_ITEMS = 500
MOST_COMPARED = 200
"""Most sessions that are ranked by their words: those with the rarest ones."""
_UNFINISHED = ("in_progress", "blocked")
FULL_HEAD = r"^[0-9a-fA-F]{40}([0-9a-fA-F]{24})?$"


class ResumeSession(Input, frozen=True, kw_only=True):
    """What the caller knows about the work to resume."""

    query: Maybe[Annotated[str, Meta(description="Words, branch, commit or id.", max_length=200)]] = UNSET
    branch: Maybe[Annotated[str, Meta(description="Git branch, or how its name begins.", max_length=200)]] = (
        UNSET
    )
    head: Maybe[Annotated[MintedId, Meta(description="Full id of a git commit.", pattern=FULL_HEAD)]] = UNSET
    project: Maybe[ProjectPath] = UNSET
    limit: Maybe[Annotated[int, Meta(description="Items per page.", ge=1, le=MOST_ITEMS)]] = UNSET
    cursor: Maybe[Cursor] = UNSET


class Candidate(Payload, frozen=True, kw_only=True):
    """One branch of a run that can be continued; without a run, a session with its notes."""

    session_id: str
    run_id: str = ""
    node_id: str = ""
    """The end of the branch, if it is not the one on which the run continues by default."""
    project: str
    """The name of its project; empty if the log does not have it."""
    is_here: bool
    """Whether that is the project of this call."""
    goal: str = ""
    title: str = ""
    """The title of the session, if a person gave it one."""
    workflow_id: str = ""
    status: str
    pending_title: str = ""
    why_matched: list[str]
    snippet: str = ""
    imported_from: str = ""
    person_answer: str = ""
    """What a person last answered about the pending step: `confirmed` or `declined`."""
    since_step: str = ""
    """For the first candidate of this project: what happened since its pending step began."""
    evidence: dict[str, int] | None = None
    """Number of its statements by how they are supported; None if it has none yet."""
    warnings: list[ReplyWarning] = []
    """Warnings if the file of its workflow no longer means what it meant at the start."""
    children: list[HandedOut] = []
    """The child runs, if the run waits for delegated work."""
    next_call: ToolCall
    fork_call: ToolCall | None = None
    """The call that forks from a node that was asked for by its id and that the run has left."""


class Candidates(Payload, frozen=True, kw_only=True):
    """Facts about the list of candidates: best first, five a page unless more are requested."""

    project: str
    matched: bool
    """False if nothing matches the query, so that the items are only the latest work."""
    scope: str


def resume_session(rt: ReadPorts, request: ResumeSession) -> Success:
    """Return ranked branches of healthy sessions; if nothing matches, the latest ones instead."""
    project = project_of(rt, request.project)
    here = place_of(project, seen := rt.workspace.observations(project), rt.workspace.identity(project))
    wanted = _read_question(request, here, seen)
    place = read_place(rt, OPERATION, request)
    start = 0 if place is None else int(place[0])
    window = range(start, start + (MOST_FOUND if request.limit is UNSET else request.limit))
    if is_session_id(wanted.query):
        stamp = SessionStamp(session_id=SessionId(wanted.query), order=0)
        return _resume(rt, project, wanted, window, Sessions(rt, None, only=[stamp]))
    return ask_sessions(rt, lambda sessions: _resume(rt, project, wanted, window, sessions))


def _resume(rt: ReadPorts, project: str, wanted: ResumeQuery, window: range, sessions: Sessions) -> Success:
    looked = _choose(sessions, wanted)
    found = _rank(rt, looked, wanted)
    scope, is_matched = looked.scope, bool(found) or not wanted.is_asked
    if not is_matched and not is_session_id(wanted.query):
        scope = f"nothing matches in {scope}"
    if not is_matched and wanted.query and not _is_exact(wanted.query):
        found = list_latest(looked.all_of_them(), wanted.here, most=LATEST_SESSIONS)
        scope += "; the latest sessions instead" if found else ""
    if not wanted.is_asked and found and found[0].is_here and not is_finished(found[0].subject):
        # Without a query, and with unfinished work here, one finished run is enough.
        done = [one for one in found if is_finished(one.subject)]
        found = tuple(one for one in found if one not in done[1:])
        scope += "; other finished runs are found by a query" if done[1:] else ""
    shown = found[window.start : window.stop]
    candidates = _candidates(rt, shown, project, sessions, wanted.query)
    items = tuple(map(msgspec.to_builtins, _describe_first(rt, project, list(candidates))))
    page = Page(
        items=items,
        sort_keys=tuple((f"{window.start + number:05d}",) for number in range(1, len(items) + 1)),
        limit=len(window),
        has_more=len(found) > window.stop,
        truncated=not looked.is_whole,
    )
    return Success(data={"project": project, "matched": is_matched, "scope": scope}, page=page)


def _describe_first(rt: ReadPorts, project: str, candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates, the first of this project with what happened since its pending step began."""
    for number, one in enumerate(candidates):
        if one.is_here and one.run_id and one.status in _UNFINISHED:
            history = find_session(rt, one.session_id).history
            node = history.nodes[NodeId(one.node_id)] if one.node_id else None
            tip = node or find_tip(history, RunId(one.run_id))
            so_far = describe_step_so_far(rt, history, tip, project)
            candidates[number] = msgspec.structs.replace(one, since_step=so_far)
            break
    return candidates


def _rank(rt: ReadPorts, looked: _Search, wanted: ResumeQuery) -> tuple[RankedSubject, ...]:
    if is_node_id(wanted.query):
        return tuple(_find_node(rt, looked, wanted, NodeId(wanted.query)))
    if not wanted.is_asked:
        return rank_subjects(looked.all_of_them(), wanted, most=LATEST_SESSIONS)
    weighed, stamps = looked.search(wanted)
    return rank_subjects(looked.sessions.subjects(stamps), weighed, most=MOST_SESSIONS)


def _find_node(
    rt: ReadPorts, looked: _Search, wanted: ResumeQuery, node_id: NodeId
) -> Iterator[RankedSubject]:
    """Yield the tip of the branch that has a node, in each session that has it."""
    for stamp in looked.that_have(node_id):
        session = read_or_pass_over(rt.log, stamp.session_id)
        node = None if session is None else session.history.nodes.get(node_id)
        if session is None or node is None:
            continue
        tip = preferred_tip_below(session.history, run_graph(session.history, node.run_id), node_id)
        for subject in looked.sessions.subjects([stamp]):
            if subject.run_id == node.run_id:
                yield show_node(subject, tip, wanted.here)


class WorkHere(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """The work in progress in a project."""

    candidates: tuple[Candidate, ...]
    damaged: tuple[SessionId, ...] = ()
    """Sessions of this project that cannot be continued, because their log is not proven whole."""


class ShowWork(Input, frozen=True, kw_only=True):
    """The project to show."""

    project: str | UnsetType = UNSET


def find_work_in_progress(rt: ReadPorts, project: str) -> WorkHere:
    """Return the unfinished runs of the caller's project, the latest first; at most five.

    If some began in the caller's own directory, only these: other worktrees and clones have their own work.
    """
    here = place_of(project, rt.workspace.observations(project), rt.workspace.identity(project))
    return ask_sessions(rt, lambda sessions: _in_progress(rt, project, here, sessions))


def _in_progress(rt: ReadPorts, project: str, here: Place, sessions: Sessions) -> WorkHere:
    looked = _choose(sessions, ResumeQuery(here=here))
    mine = [
        subject
        for subject in looked.all_of_them()
        if subject.run_id is not None and subject.status in _UNFINISHED and is_same_place(subject.place, here)
    ]
    mine = [one for one in mine if here.directory and one.place.directory == here.directory] or mine
    damaged = (
        name for name, health in looked.unsound.items() if not is_newer(health) and _is_of(rt, name, here)
    )
    return WorkHere(
        candidates=tuple(_candidates(rt, list_latest(mine, here), project, sessions)),
        damaged=tuple(damaged)[:MOST_FOUND],
    )


def _is_of(rt: ReadPorts, session_id: SessionId, here: Place) -> bool:
    """Whether the proven part of a damaged session says that it belongs to a project."""
    session = read_or_pass_over(rt.log, session_id)
    runs = () if session is None else session.history.runs.values()
    return any(is_same_place(run_place(run), here) for run in runs)


def _read_question(request: ResumeSession, here: Place, seen: dict[ObservationKey, str]) -> ResumeQuery:
    return ResumeQuery(
        here=here,
        query="" if request.query is UNSET else request.query.strip(),
        branch="" if request.branch is UNSET else request.branch.strip(),
        head="" if request.head is UNSET else request.head.strip(),
        here_branch=seen.get("git_branch", ""),
        here_head=seen.get("git_head_sha", ""),
    )


def _is_exact(query: str) -> bool:
    """Whether the query is an id: an id names one thing, so nothing else can be meant."""
    return is_session_id(query) or is_run_id(query) or is_node_id(query)


class _Search(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions that a search compares, as subjects of the ranking."""

    sessions: Sessions
    chosen: tuple[tuple[SessionStamp, SessionFacts], ...]
    scope: str
    is_whole: bool
    """Whether every session was read."""
    unsound: dict[SessionId, str]
    """Sessions that cannot be continued, with their health."""

    def all_of_them(self) -> Iterator[Subject]:
        yield from self.sessions.subjects([stamp for stamp, _ in self.chosen])

    @property
    def session_ids(self) -> list[SessionId]:
        return [stamp.session_id for stamp, _ in self.chosen]

    def that_have(self, word: str) -> list[SessionStamp]:
        having = self.sessions.find_words([word], self.session_ids)[word]
        return [stamp for stamp, _ in self.chosen if stamp.session_id in having]

    def search(self, wanted: ResumeQuery) -> tuple[ResumeQuery, list[SessionStamp]]:
        """Return the query with the weight of each word, and the sessions to compare."""
        asked = read_query(wanted.query)
        keys = dict.fromkeys(key for one in asked for key in one.keys)
        found = self.sessions.find_words(keys, self.session_ids)
        held = {
            one.term: {
                session_id: 1.0 if session_id in found[one.term] else PREFIX_WEIGHT
                for key in one.keys
                for session_id in found[key]
            }
            for one in asked
        }
        weights = weigh_by_rarity(
            asked, {term: len(having) for term, having in held.items()}, len(self.chosen)
        )
        scores: dict[SessionId, float] = {}
        for term, weight in weights.items():
            for session_id, hit in held[term].items():
                scores[session_id] = scores.get(session_id, 0.0) + weight * hit
        rarest = sorted(
            (stamp for stamp, _ in self.chosen if stamp.session_id in scores),
            key=lambda stamp: (-round(scores[stamp.session_id], 6), -stamp.order, stamp.session_id),
        )
        compared = {stamp.session_id for stamp in rarest[:MOST_COMPARED]} | self._find_on_branch(wanted)
        compared |= {SessionId(wanted.query)}
        stamps = [
            stamp
            for stamp, facts in self.chosen
            if stamp.session_id in compared or may_be_found(facts, wanted)
        ]
        return msgspec.structs.replace(wanted, weights=weights), stamps

    def _find_on_branch(self, wanted: ResumeQuery) -> frozenset[SessionId]:
        """Return the sessions with any work on that branch of git."""
        needed = require_terms(wanted.branch)
        if not needed:
            return frozenset()
        found = self.sessions.find_words([key for choice in needed for key in choice], self.session_ids)
        having = [frozenset[SessionId]().union(*(found[key] for key in choice)) for choice in needed]
        return having[0].intersection(*having[1:])


def _choose(sessions: Sessions, wanted: ResumeQuery) -> _Search:
    """Return the latest sessions, as many as the query needs."""
    most = MOST_SESSIONS if wanted.is_asked else LATEST_SESSIONS
    chosen: list[tuple[SessionStamp, SessionFacts]] = []
    unsound: dict[SessionId, str] = {}
    events = read = closed = 0
    count = sessions.count()
    for stamp in sessions.latest(most)[:most]:
        read += 1
        facts = sessions.facts(stamp.session_id)
        if not sessions.is_resumable(stamp.session_id):
            unsound |= {stamp.session_id: facts.health} if facts.health != "missing" else {}
            continue
        chosen.append((stamp, facts))
        closed += sum(wanted.query not in (stamp.session_id, run_id) for run_id in facts.closed_run_ids)
        events += facts.event_count
        if events >= MOST_EVENTS:
            break
    if is_session_id(wanted.query) and not chosen and not unsound:
        scope = "no session of this store has that id"
    else:
        left_out = describe_unsound(unsound, "left out")
        scope = f"{len(chosen)} of {count} sessions, the latest first{left_out}"
        scope += f"; {format_count(closed, 'closed run')} left out" if closed else ""
    return _Search(
        sessions=sessions,
        chosen=tuple(chosen),
        scope=scope,
        is_whole=read == count,
        unsound=unsound,
    )


def _candidates(
    rt: ReadPorts, found: Sequence[RankedSubject], project: str, sessions: Sessions, query: str = ""
) -> Iterator[Candidate]:
    """Yield the candidates that still exist.

    Raise IndexTrouble if the index named a session that no longer exists.
    """
    for held in found:
        try:
            yield _candidate(rt, held, project, query)
        except Fault as fault:
            if sessions.is_indexed:
                raise IndexTrouble(fault.message) from fault
            pass_over(fault)
            if fault.kind is KEYRING_INVALID:
                raise  # every other session would fail too, and "nothing found" would be untrue


def _candidate(rt: ReadPorts, found: RankedSubject, project: str, query: str) -> Candidate:
    """Return a candidate, always read from the log: a token is only minted for what exists."""
    subject = found.subject
    session = find_session(rt, subject.session_id)
    require_healthy(session)
    history = session.history
    warnings: tuple[ReplyWarning, ...] = ()
    evidence: EvidenceSum | None = None
    answer: Confirmation | None = None
    children: list[HandedOut] = []
    fork: ToolCall | None = None
    if subject.run_id is None:
        title, token = "", _mint_session_token(rt, history)
    else:
        run = history.runs[subject.run_id]
        tip = find_tip(history, run.run_id) if found.is_preferred else _find_end(history, found)
        workflow = load_pinned_workflow(rt.log, run.workflow_hash)
        title = title_at(workflow, tip)
        token = mint_state_token(rt.keys, history.session_id, tip)
        evidence = sum_evidence(history, tip.node_id)
        answer = confirmation_of(history, tip.node_id)
        children = _list_handed(rt, history, workflow, tip)
        if is_node_id(query) and query != tip.node_id:
            asked = mint_state_token(rt.keys, history.session_id, history.nodes[NodeId(query)])
            fork = _continue_with(asked)
        if found.is_here:
            warnings = warn_of_drift(rt.library, rt.workspace, project, run)
    return make_from(
        Candidate,
        found,
        subject,
        run_id=subject.run_id or "",
        node_id="" if found.is_preferred else found.end.node_id or "",
        project=subject.place.name,
        goal=title_of_goal(subject.goal),
        pending_title=title,
        why_matched=list(found.why),
        imported_from=imported_from(history),
        person_answer="" if answer is None else summarize_answer(history, answer, with_note=True),
        evidence=None if evidence is None else msgspec.structs.asdict(evidence),
        warnings=list(warnings),
        children=children,
        next_call=_continue_with(token),
        fork_call=fork,
    )


def _find_end(history: History, found: RankedSubject) -> Node:
    assert found.end.node_id is not None, "only a run has more than one branch"
    return history.nodes[found.end.node_id]


def _continue_with(state_token: str) -> ToolCall:
    return ToolCall(tool="continue_workflow", params={"stateToken": state_token})


def _list_handed(rt: ReadPorts, history: History, workflow: CompiledWorkflow, node: Node) -> list[HandedOut]:
    """Return what a waiting run delegated, with what was delivered and what is open."""
    if workflow.v < WITH_CHILDREN:
        return []
    join = find_join(history, workflow, node)
    handed = []
    for child in () if join is None else join.children:
        assert join is not None, "a child is one of a join"
        one = describe_child(rt.log, rt.keys, history, workflow, join.step, child)
        result = shorten(last_notes(history, child.tip.node_id)) if child.is_done else ""
        token = one.work_token if child.status in UNDONE else ""
        handed.append(msgspec.structs.replace(one, work_token=token, result=result))
    return handed


def _mint_session_token(rt: ReadPorts, history: History) -> str:
    """Return a state token without a run: it names the newest point of the session itself."""
    assert history.opening is not None, "every session began"
    tag = next(reversed([held.tag for held in history.session_notes.values()]), history.opening.tag)
    return mint(rt.keys.signing_key(WORKFLOW), StateClaims(session_id=history.session_id, node_tag=tag))


OPERATION = Operation(
    name="session.resume",
    effect="read",
    summary="Find work to continue, with the exact call that continues it.",
    input=ResumeSession,
    output=Candidates,
    item=Candidate,
    perform=resume_session,
    shape=Shape(
        levels={"minimal": ("sessionId", "status", "isHere", "nextCall")},
        id_field="sessionId",
        select="items",
        untrusted=(
            "project",
            "goal",
            "title",
            "snippet",
            "pendingTitle",
            "personAnswer",
            "sinceStep",
            "children.result",
        ),
    ),
    default_sort=(
        "match, then unfinished, this project, last activity (newest first), id; "
        "without a question this project and unfinished first; 5 a page"
    ),
    tool="resume_session",
    tool_description=(
        "Find work again in a new chat: by words in any language, ticket, branch or id, or the latest. "
        "Make a candidate's nextCall to continue it."
    ),
    tool_fields=("query", "cursor", "project"),
)


def show_work(rt: ReadPorts, request: ShowWork) -> WorkHere:
    """Return the work in progress in a project."""
    return find_work_in_progress(rt, project_of(rt, request.project))


WORK_HERE = Operation(
    name="session.work",
    effect="read",
    summary="What is under way in a project.",
    input=ShowWork,
    output=WorkHere,
    perform=show_work,
)
"""Not in the registry: only a client's hook calls it, and a team server answers it."""
