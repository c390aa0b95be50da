"""Sessions for lists and searches: from the index if it is up to date, else from the log.

The index is a cache and never authoritative: with it, without it, and with a broken one the answers are the
same (tests/event_log/test_session_index.py). Only the time differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar

import msgspec

from handrail.contract.ids import NodeId, SessionId
from handrail.contract.outcome import Fault
from handrail.contract.search_terms import Choice
from handrail.engine.events import is_newer
from handrail.ports.log import EventReader, SessionStamp
from handrail.ports.store import Entry, Indexed, IndexTrouble, IndexView
from handrail.projections.needs import needs_of
from handrail.projections.overview import UNDER_WAY, SessionFacts, add_standing, session_facts
from handrail.projections.resume_candidates import Subject, list_words, subjects_of
from handrail.projections.run_graph import run_graphs
from handrail.runtime.damaged_sessions import pass_over
from handrail.runtime.history_cache import FOLD_VERSION
from handrail.runtime.permission import settings_or_defaults
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import load_pinned_workflow, read_session
from handrail.views.inbox import WaitingRun
from handrail.workflows.compiled import CompiledWorkflow

_T = TypeVar("_T")
READ_TO_PROVEN = "read only as far as proven"
"""How a search treats a damaged session that it does not leave out."""
SUMMARY_VERSION = 7
"""Raise it when a history is summarised differently while the fields stay the same."""
FACETS = ("status", "workflow_id", "project", "account", "agent")
"""Facts of a session by which lists are filtered."""
FAR = 10**24
"""Larger than any activity order."""
FIRST_LOOKED_AT = 300
"""Number of sessions that a filtered list reads before it queries the index for matching ones."""
_MOST_FOUND = 1_000
"""Most sessions that the first query of a search returns."""
MOST_NEW = 200
"""Most sessions that a list reads only to add them to the index, besides those of its page."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a session that was read, and what a search compares; None if it cannot be resumed."""

    facts: SessionFacts
    subjects: tuple[Subject, ...] | None
    node_ids: tuple[NodeId, ...] = ()


class Sessions:
    """The sessions of a store, each read at most once, and only if the index does not know it."""

    def __init__(
        self, rt: ReadPorts, view: IndexView | None, only: Sequence[SessionStamp] | None = None
    ) -> None:
        # A warm server does not read bytes twice; what it took for sound must not become what a new process
        # believes, so entries for the index come from a reader without memory.
        self._log = rt.log
        self._reader: EventReader = rt.log if view is None else view.reader
        self._view = view
        self._interruptions = rt.interruptions
        self._workflows: dict[str, CompiledWorkflow] = {}
        self._read: dict[SessionId, Summary] = {}
        self._words_of: dict[SessionId, frozenset[str]] = {}
        self._only = only
        self._indexed: dict[SessionId, Indexed] = {}
        """The index rows of sessions that were returned."""

    @cached_property
    def stamps(self) -> Sequence[SessionStamp]:
        """Return all sessions, last activity first."""
        if self._view is None:
            return self._log.list_sessions() if self._only is None else self._only
        return self._learn(self._view.look())

    @property
    def is_indexed(self) -> bool:
        return self._view is not None

    def count(self) -> int:
        return len(self.stamps) if self._view is None else self._view.count()

    def latest(self, most: int, after: SessionStamp | None = None) -> Sequence[SessionStamp]:
        """Return the first sessions, or those after this one: at least `most`, if there are so many."""
        return self.stamps if self._view is None else self._learn(self._view.look(most, after))

    def find(
        self, needed: Sequence[Choice], parts: Sequence[str] = (), first: int = _MOST_FOUND
    ) -> Iterator[SessionStamp]:
        """Yield the sessions without some that certainly lack a word or a part.

        No more than the caller takes.

        `first` sessions are queried before it is known that the caller needs more.
        """
        if self._view is None:
            yield from self.stamps
            return
        found = self._learn(self._view.find(needed, parts, first))
        yield from found
        if len(found) >= first:
            yield from self._learn(self._view.find(needed, parts, after=found[-1]))

    def filtered(self, facets: Sequence[str]) -> Iterator[SessionStamp]:
        """Yield the sessions without some that certainly lack one of these facets.

        If many sessions have them, the latest ones fill a page, and finding all of them would take longer.
        """
        if not facets:
            yield from self.stamps
            return
        first = self.latest(FIRST_LOOKED_AT)
        yield from first
        if self._view is not None and len(first) == FIRST_LOOKED_AT:
            yield from self._learn(self._view.find([(one,) for one in facets], after=first[-1]))

    def lacks_words(self, session_id: SessionId) -> bool:
        """Whether `find` found out that the session lacks one of the words."""
        held = self._indexed.get(session_id)
        return held is not None and held.lacks_words

    def _learn(self, found: Sequence[Indexed]) -> Sequence[SessionStamp]:
        self._indexed |= {held.stamp.session_id: held for held in found}
        return [held.stamp for held in found]

    def facts(self, session_id: SessionId) -> SessionFacts:
        """Return the facts that a list shows of a session, even of one that cannot be read."""
        held = self._indexed.get(session_id)
        if held is not None and held.facts is not None:
            return _FACTS.decode(held.facts)
        return self._summary(session_id).facts

    def is_resumable(self, session_id: SessionId) -> bool:
        """Whether the session is sound, and so is the workflow that it needs."""
        held = self._indexed.get(session_id)
        is_known = held is not None and held.facts is not None
        return is_known or self._summary(session_id).subjects is not None

    def has_lost_workflow(self, session_id: SessionId) -> bool:
        """Whether its log is sound but its workflow cannot be read, so that its state is unknown."""
        return not self.is_resumable(session_id) and self.facts(session_id).health == "healthy"

    def subjects(self, stamps: Sequence[SessionStamp]) -> Iterator[Subject]:
        """Yield what a search compares; nothing for a session that cannot be resumed."""
        for at in range(0, len(stamps), MOST_NEW):
            kept = self._find_subjects([stamp.session_id for stamp in stamps[at : at + MOST_NEW]])
            for stamp in stamps[at : at + MOST_NEW]:
                is_kept = stamp.session_id in kept
                found = kept[stamp.session_id] if is_kept else self._summary(stamp.session_id).subjects
                yield from (msgspec.structs.replace(subject, order=stamp.order) for subject in found or ())

    def _find_subjects(self, session_ids: Sequence[SessionId]) -> dict[SessionId, tuple[Subject, ...]]:
        """Return the subjects of the sessions that the index has."""
        known = [one for one in session_ids if one in self._indexed and self._indexed[one].facts is not None]
        kept = self._view.subjects(known) if self._view and known else {}
        return {session_id: _SUBJECTS.decode(one) for session_id, one in kept.items()}

    def find_words(
        self, words: Iterable[str], session_ids: Iterable[SessionId]
    ) -> dict[str, frozenset[SessionId]]:
        """Return which of these sessions have each word."""
        asked = frozenset(session_ids)
        known = {one for one in asked if one in self._indexed and self._indexed[one].facts is not None}
        found: dict[str, frozenset[SessionId]] = {}
        for word in words:
            kept = self._view.with_word(word) & known if self._view and known else frozenset()
            read = (one for one in asked - known if word in self._words(one))
            found[word] = kept.union(read)
        return found

    def _words(self, session_id: SessionId) -> frozenset[str]:
        if session_id not in self._words_of:
            self._words_of[session_id] = _list_words(self._summary(session_id))
        return self._words_of[session_id]

    def keep(self) -> None:
        """Add what was read to the index, and some sessions that it lacks; errors are ignored."""
        if self._view is None:
            return
        looked = self._indexed.values()
        unknown = [one.stamp.session_id for one in looked if one.facts is None]
        with suppress(Fault, IndexTrouble):  # the answer is complete, so an early stop is harmless
            for session_id in unknown[:MOST_NEW]:
                self._summary(session_id)
        entries = [
            entry
            for session_id, summary in self._read.items()
            if (entry := _entry(self._indexed.get(session_id), summary)) is not None
        ]
        with suppress(IndexTrouble):
            self._view.keep(entries)

    def _summary(self, session_id: SessionId) -> Summary:
        if session_id not in self._read:
            self._interruptions.end_here()
            self._read[session_id] = self._summarise(session_id)
        return self._read[session_id]

    def _summarise(self, session_id: SessionId) -> Summary:
        try:
            session = read_session(self._reader, session_id)
        except Fault as fault:
            pass_over(fault)
            return Summary(facts=SessionFacts(status="unreadable", health=fault.kind.code), subjects=None)
        if session is None:
            return Summary(facts=SessionFacts(status="unreadable", health="missing"), subjects=None)
        history, health = session.history, session.health.state
        facts = session_facts(history, health)
        if not session.is_sound:
            return Summary(facts=facts, subjects=None)
        try:
            for run in history.runs.values():
                if run.workflow_hash not in self._workflows:
                    self._workflows[run.workflow_hash] = load_pinned_workflow(self._reader, run.workflow_hash)
        except Fault as fault:
            pass_over(fault)
            return Summary(facts=facts, subjects=None)
        if facts.run_id:
            needs = needs_of(history, self._workflows, run_graphs(history))
            facts = add_standing(facts, history, self._workflows[facts.workflow_hash], needs)
        return Summary(
            facts=facts,
            subjects=tuple(subjects_of(history, 0, self._workflows)),
            node_ids=tuple(history.nodes),
        )


def ask_sessions(rt: ReadPorts, answer: Callable[[Sessions], _T]) -> _T:
    """Query the sessions of the store through the index, if there is one.

    If the index is broken, or names a session that is gone, the log is queried in the same way.
    """
    index = rt.index()
    if index is not None:
        with suppress(IndexTrouble), index.open_view(_form()) as view:
            sessions = Sessions(rt, view)
            answered = answer(sessions)
            sessions.keep()
            return answered
    return answer(Sessions(rt, None))


def list_with_word(rt: ReadPorts, word: str) -> list[SessionId]:
    """Return the sessions that have this id or word, and those that the index lacks, newest first."""

    def find(sessions: Sessions) -> list[SessionId]:
        found = (stamp.session_id for stamp in sessions.find([(word,)]))
        return [session_id for session_id in found if not sessions.lacks_words(session_id)]

    return ask_sessions(rt, find)


Silence: TypeAlias = Literal["", "idle", "stalled"]
"""`idle`: the agent has recorded nothing for long; `stalled`: the run waits, and no person has answered."""


FindSilence: TypeAlias = Callable[[SessionFacts | WaitingRun], Silence]


def find_silence(rt: ReadPorts) -> FindSilence:
    """Return how long each session has been silent now, in the categories that the user's settings define."""
    before = rt.clock.unix_seconds() - 60 * settings_or_defaults(rt).idle_minutes

    def of(facts: SessionFacts | WaitingRun) -> Silence:
        is_open = facts.health == "healthy" and facts.status in UNDER_WAY
        if not is_open or datetime.fromisoformat(facts.last_activity).timestamp() > before:
            return ""
        return "stalled" if any(need.kind in ("person", "blocked") for need in facts.needs) else "idle"

    return of


def describe_unsound(unsound: Mapping[SessionId, str], treated: str) -> str:
    """Return what a search adds about unsound sessions; without it their work would seem not to exist.

    `unsound` has the health of each session.
    """
    newer = [session_id for session_id, health in unsound.items() if is_newer(health)]
    damaged = [session_id for session_id in unsound if session_id not in newer]
    text = ""
    if damaged:
        those = f"{damaged[0]} is" if len(damaged) == 1 else f"{len(damaged)} are"
        text += f"; {those} damaged and {treated} (a person learns more with handrail store verify)"
    if newer:
        those = f"{newer[0]} was" if len(newer) == 1 else f"{len(newer)} were"
        text += f"; {those} written by a newer version and left out (a person updates with handrail update)"
    return text


def about(session_id: SessionId, facts: SessionFacts) -> str:
    """Return the text that list filters match against."""
    return " ".join((session_id, facts.goal, facts.project, facts.workflow_id, *facts.tags)).casefold()


def _entry(held: Indexed | None, summary: Summary) -> Entry | None:
    """Return the index entry; None if the index must not answer for the session.

    That is so for damage, a missing workflow, and files that may be changing.
    """
    if held is None or not held.version or summary.subjects is None:
        return None
    return Entry(
        session_id=held.stamp.session_id,
        version=held.version,
        facts=msgspec.msgpack.encode(summary.facts),
        subjects=msgspec.msgpack.encode(summary.subjects),
        words=" ".join(sorted(_list_words(summary) | _facets_of(summary.facts))),
        about=about(held.stamp.session_id, summary.facts),
    )


def _list_words(summary: Summary) -> frozenset[str]:
    """Return every word by which a session can be found."""
    return list_words(summary.subjects or ()) | frozenset((*summary.node_ids, *summary.facts.run_ids))


def sort_latest(order: int) -> str:
    """Return a sort key that puts the session with the latest activity first."""
    return f"{FAR - order:025d}"


def facet(name: str, value: str = "") -> str:
    """Return the word by which the index finds the sessions with this fact; no text contains it."""
    return f"facet_{hashlib.sha256(f'{name}={value}'.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _facets_of(facts: SessionFacts) -> frozenset[str]:
    """Return the facets that list filters use."""
    named = {name: str(getattr(facts, name)) for name in FACETS}
    counted = {"needs": len(facts.needs), "gap_count": facts.gap_count}
    return frozenset(
        (*(facet(*one) for one in named.items()), *(facet(name) for name, many in counted.items() if many))
    )


def _form() -> str:
    """Return a name for the form of the entries; it changes with everything that they are computed from."""
    forms = [f"{kind.__name__}{kind.__struct_fields__}" for kind in (SessionFacts, Subject)]
    return hashlib.sha256(f"{SUMMARY_VERSION} {FOLD_VERSION} {forms}".encode()).hexdigest()


_FACTS = msgspec.msgpack.Decoder(SessionFacts)
_SUBJECTS = msgspec.msgpack.Decoder(tuple[Subject, ...])


def find_sessions_with_run(rt: ReadPorts, run_id: str) -> list[SessionId]:
    """Return every session that has this run, by id: one and its copies."""

    def find(sessions: Sessions) -> list[SessionId]:
        found = (stamp.session_id for stamp in sessions.find([(run_id,)]))
        named = [one for one in found if not sessions.lacks_words(one)]  # its texts may contain the id, too
        return sorted(one for one in named if run_id in sessions.facts(one).run_ids)

    return ask_sessions(rt, find)
