"""Checks who may confirm a step that names a role, or another person than those whose agents did the work."""

from __future__ import annotations

from typing import Literal

from handrail.contract.accounts import ROLES, Principal, Role
from handrail.contract.catalogue import E_FORBIDDEN, E_HUMAN_REQUIRED
from handrail.contract.ids import RunId
from handrail.contract.outcome import Fault
from handrail.engine.events import AdvanceRecorded, NodeOutputAppended, decode_event
from handrail.engine.history import History, Node, instance_of, list_answers
from handrail.runtime.runtime import ReadPorts, WritePorts
from handrail.workflows.compiled import CONFIRMERS

_ROLE, _OTHER = "role:", "other"


def require_confirmer(rt: ReadPorts, history: History, node: Node, wanted: str) -> str:
    """Return the required confirmer, for the record; empty if any person may confirm.

    Without accounts nothing can be checked. Raise Fault E_FORBIDDEN if the caller is not the required
    confirmer.
    """
    principal = rt.principal
    if not wanted or principal is None:
        return wanted
    if not is_confirmer(rt, history, node, wanted, principal):
        raise Fault(
            E_FORBIDDEN,
            f"This step is confirmed by {CONFIRMERS[wanted]}. Nothing was recorded.",
            details={"needed": CONFIRMERS[wanted], "given": f"the role {principal.role}"},
            hint="Ask somebody else in the workspace to look at it.",
        )
    return wanted


def find_answerers(rt: ReadPorts, history: History, node: Node, wanted: str) -> str:
    """Return who must answer instead of this caller; empty if the caller may, or there are no accounts."""
    principal = rt.principal
    if principal is None:
        return ""
    if ROLES.index(principal.role) < ROLES.index("member"):  # the role comes first
        anybody = CONFIRMERS["role:member"]
        return (
            f"{anybody} none of whose agents did the work"
            if wanted == _OTHER
            else CONFIRMERS.get(wanted, anybody)
        )
    is_one = not wanted or is_confirmer(rt, history, node, wanted, principal)
    return "" if is_one else CONFIRMERS[wanted]


def has_confirmer(rt: WritePorts, history: History, node: Node, wanted: str) -> bool:
    """Whether a member of the workspace may confirm the step; False without accounts."""
    if not wanted or rt.members is None:
        return False
    if wanted.startswith(_ROLE):
        least, workers = wanted.removeprefix(_ROLE), frozenset[str]()
    else:
        least, workers = "member", find_workers(rt, history, node)
    return any(_is_at_least(role, least) and account not in workers for account, role in rt.members().items())


def _is_at_least(role: Role, least: str) -> bool:
    return ROLES.index(role) >= ([*ROLES].index(least) if least in ROLES else len(ROLES))


def is_confirmer(rt: ReadPorts, history: History, node: Node, wanted: str, principal: Principal) -> bool:
    """Whether the principal fulfils what the step requires of its confirmer."""
    if wanted.startswith(_ROLE):
        return _is_at_least(principal.role, wanted.removeprefix(_ROLE))
    return principal.account not in find_workers(rt, history, node)


def find_workers(rt: ReadPorts, history: History, node: Node) -> frozenset[str]:
    """Return the accounts that worked on the run, or on its child runs, since the step was last confirmed.

    An agent's account counts for every event that the agent caused, a person's only for the reports and
    steps that they sent themselves.
    """
    answers = list_answers(history, instance_of(history, node.node_id))
    since = max((one.index for one in answers if one.fact.answer == "confirmed"), default=-1)
    loaded = rt.log.load_since(history.session_id, since + 1)
    runs = _handed_out(history, node.run_id)
    found = set()
    for record in () if loaded is None else loaded.records:
        event = decode_event(record.body)
        is_work = event.actor is not None and (
            event.actor.kind == "agent" or isinstance(event.data, AdvanceRecorded | NodeOutputAppended)
        )
        if event.actor is not None and is_work and event.scope.run_id in runs:
            found.add(event.actor.id)
    return frozenset(found)


def _handed_out(history: History, run_id: RunId) -> frozenset[RunId]:
    """Return the ids of the run and of every run below it."""
    found = {run_id}
    for run in history.runs.values():  # a parent comes before its child runs
        if run.parent is not None and run.parent.run_id in found:
            found.add(run.run_id)
    return frozenset(found)


# Asking the person at the terminal. An agent's command line has no person who could agree.


_YES = ("y", "yes")


def require_yes(
    rt: WritePorts, text: str, *, command: str, resume: str, meanwhile: str = ""
) -> Literal["terminal"]:
    """Show the text at the terminal itself and wait for a yes.

    `command` is what a person runs instead, `resume` shows the present state, and `meanwhile` says what the
    caller does until then. Raise Fault E_HUMAN_REQUIRED if no person can be asked or the person does not
    agree.
    """
    with rt.interruptions.defer():
        answer = rt.terminal().ask(text, lambda: rt.interruptions.stop_reason() == "signal")
    if answer is not None and answer.strip().lower() in _YES:
        return "terminal"
    raise Fault(
        E_HUMAN_REQUIRED,
        "Nobody agreed at a terminal; nothing was changed. A person must run this command themselves.",
        details={"action": command, "resume": resume},
        hint=f"Ask the user to run `{command}` in a terminal of their own{meanwhile}.",
    )
