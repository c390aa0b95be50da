"""The timeline of a session, with one lane per run. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from handrail.contract.outcome import Answer, make_from
from handrail.contract.wording import name_person
from handrail.engine.history import History, Node
from handrail.engine.navigate import step_key
from handrail.engine.receipts import describe_outcome, write_line
from handrail.projections.evidence import spell_answer
from handrail.projections.run_graph import completed_step

SESSION_LANE = "session"


class MomentRow(Answer, frozen=True, kw_only=True):
    """One thing that happened."""

    index: int
    at: str
    seconds: int | None = None
    """Time since the moment before it in its lane; null for the first."""
    lane: str
    """Id of the run, or `session`."""
    workflow_name: str = ""
    what: str
    """A kind of node, `receipt` for a check result, a person's answer (`confirmed`, `declined`), or
    `closed`; in the lane of the session `notes`, `renamed` (the last time) or `imported`.
    """
    summary: str = ""
    """A short text for people. For an answer: an option, a value, confirmed or declined. For a check: its
    command and how it ended. For a report that was not accepted: why.
    """
    who: str = ""
    """Who answered; empty if nothing was asked."""
    note: str = ""
    """What the person wrote."""
    node_id: str = ""
    step_id: str = ""
    """The step that was acknowledged, or that a check or a question was about; empty at the start."""
    title: str = ""
    """Title of that step."""


class Timeline(Answer, frozen=True, kw_only=True):
    """The moments of one session or run."""

    session_id: str
    health: str
    banner: str
    """A warning about a damaged session; empty if the session is intact."""
    earlier: int
    """How many earlier moments are left out."""


def list_moments(history: History) -> list[MomentRow]:
    """Return every moment, oldest first, in the order of the log and never by clock."""
    moments = [*_list_nodes(history), *_list_answers(history), *_list_checks(history)]
    moments += [
        make_from(MomentRow, held, lane=run_id, what="closed")
        for run_id, closings in history.closings.items()
        for held in closings
    ]
    of_session = {
        "notes": tuple(history.session_notes.values()),
        "renamed": (history.title,),
        "imported": (history.imported,),
    }
    moments += [
        make_from(MomentRow, held, lane=SESSION_LANE, what=what)
        for what, every in of_session.items()
        for held in every
        if held is not None
    ]
    return sorted(moments, key=lambda moment: moment.index)


def _list_nodes(history: History) -> Iterator[MomentRow]:
    for node in history.nodes.values():
        yield make_from(
            MomentRow, node, lane=node.run_id, what=node.kind, step_id=completed_step(history, node)
        )


def _list_answers(history: History) -> Iterator[MomentRow]:
    for node_id, answers in history.confirmations.items():
        for held in answers:
            yield make_from(
                MomentRow,
                held,
                **_pending_at(history.nodes[node_id]),
                what=held.fact.answer,
                summary=spell_answer(history, held),
                who=name_person(held.fact.who),
                note=held.fact.note,
            )


def _list_checks(history: History) -> Iterator[MomentRow]:
    """Yield the checks that Handrail itself ran; those that hooks report would be too many here."""
    for node_id, held in history.receipts.items():
        for receipt in held:
            fact = receipt.fact
            if fact.by != "client_hook":
                line = fact.check or write_line(fact.argv, fact.by)
                yield make_from(
                    MomentRow,
                    receipt,
                    **_pending_at(history.nodes[node_id]),
                    what="receipt",
                    summary=f"{line}: {describe_outcome(fact.outcome)}",
                )


def _pending_at(node: Node) -> dict[str, str]:
    """Return the step that was pending when something happened at a node."""
    return {"lane": node.run_id, "node_id": node.node_id, "step_id": step_key(node.state)}
