"""Approved checks that a report needs: Handrail runs the short ones itself, before the report is judged.

Each receipt is a commit of its own, and no session is held while a program runs. Only a process that the
user's client or shell started does this, and only for the very declaration that the user approved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from handrail.contract.outcome import Fault
from handrail.engine.ask import collect_brought
from handrail.engine.command_lines import read_suggested, split_command
from handrail.engine.decide import Gathered
from handrail.engine.history import History, Node
from handrail.engine.judge.arrival import PersonsWord
from handrail.engine.judge.assess import assess, place_of
from handrail.engine.judge.earlier_reports import witness
from handrail.engine.navigate import Running, leaf_at
from handrail.engine.receipts import PinnedCheck, digest_argv
from handrail.operations.checks.receipt_runs import Command, command_of, record_receipt, run_command
from handrail.operations.declared_checks import digest_check, find_check
from handrail.operations.handles import Prepared
from handrail.operations.pending_step import PendingStep
from handrail.runtime.runtime import ReadPorts, WritePorts, leave_tree
from handrail.runtime.sessions import Session
from handrail.workflows.conditions import Facts

SHORT_MS = 20_000
"""A check whose last run took longer is asked for by name."""
MOST_SECONDS = 40
"""For all of them in one call; a run that needs more is ended, and asked for by name from then on."""
SPARED_MS = 2_000
"""Of what is left of the call: to judge and to answer."""
_LEAST_MS = 1_000


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """A report and the session that it is judged in."""

    session: Session
    prepared: Prepared


def run_due_checks(rt: WritePorts, first: Looked, node: Node, look: Callable[[Session], Prepared]) -> Looked:
    """Run what the report needs and the user approved, each once; `look` gathers again after a run."""
    looked, spent_ms, tried = first, 0, set[str]()
    project = first.prepared.project
    if project is None:
        return first
    while True:
        due = find_due_checks(looked.session.history, node, looked.prepared.gathered)
        left_ms = _find_time_left(rt, spent_ms)
        named = next((name for name in due if name not in tried), "")
        command = _find_command(rt, looked.session, node, project, named, left_ms) if named else None
        if command is None:
            return looked
        tried.add(named)
        run = looked.session.history.runs[node.run_id]
        target = PendingStep(session=looked.session, run=run, node=node, by_token=True)
        rt.progress.write(f"handrail: this report needs the approved check {named}; running it\n")
        ran = run_command(rt, rt.check_programs(), command, target, project)
        session, _ = record_receipt(rt, target, ran.receipt)
        leave_tree(rt, session.history.session_id, node.node_id, project, "receipt", ran.tree)
        spent_ms += ran.receipt.duration_ms
        looked = Looked(session=session, prepared=look(session))
        if ran.is_interrupted:
            return looked


def _find_time_left(rt: ReadPorts, spent_ms: int) -> int:
    most = MOST_SECONDS * 1000 - spent_ms
    left = rt.interruptions.ms_left()
    return most if left is None else min(most, left - SPARED_MS)


def _find_command(
    rt: WritePorts, session: Session, node: Node, project: str, name: str, left_ms: int
) -> Command | None:
    """What to start; None: it is not approved as it would run, or nobody knows that it is short."""
    try:
        found = find_check(
            rt.settings.of(project), session.history.runs[node.run_id].checks, name, rt.secrets
        )
        directory = rt.check_programs().directory_in(project, found.check.directory)
    except Fault:  # the reply says what is missing, and the command that brings it
        return None
    known = rt.known_checks().find(project, digest_check(found.check))
    is_short = known.duration_ms is not None and known.duration_ms <= min(SHORT_MS, left_ms)
    if not known.is_approved or not is_short or left_ms < _LEAST_MS:
        return None
    rt.check_programs().register_secrets()
    return command_of(found.check, directory, min(left_ms // 1000, found.check.timeout_seconds))


def find_due_checks(history: History, node: Node, gathered: Gathered) -> tuple[str, ...]:
    """The declared checks that a report needs and that did not run on the present files, by name."""
    if gathered.sighting is None or not isinstance(node.state, Running):
        return ()
    workflow, work = gathered.workflow, gathered.work
    place = place_of(workflow, node.state, leaf_at(workflow, node.state))
    kept = collect_brought(history, node, place, gathered.kept_notes)
    known = witness(history, workflow, node, PersonsWord(), gathered.sighting)
    verdict = assess(place, Facts(), work.notes, work.artifacts, kept.artifacts, known)
    waited = [one.waits_for for one in verdict.reasons]
    lines = [one.values["command"] for one in waited if (one.kind, one.state) == ("check", "missing")]
    checks = history.runs[node.run_id].checks
    return tuple(dict.fromkeys(filter(None, (_find_named_check(checks, one) for one in lines))))


def _find_named_check(checks: Sequence[PinnedCheck], line: str) -> str:
    """The check that is suggested, by its name or by its words; empty: another program."""
    asked = read_suggested(line)
    digest = digest_argv(split_command(asked.program)) if asked.program and not asked.directory else ""
    return next((one.name for one in checks if one.name == asked.check or one.argv_digest == digest), "")
