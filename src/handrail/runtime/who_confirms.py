"""Who may confirm a step that says so: a role, or a person none of whose agents did the work."""

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
    """Who had to answer, for the record; empty: any person. Without accounts nobody can check it.

    Raises Fault E_FORBIDDEN when it is not this one.
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
    """Who answers instead of this caller; empty: this one may, or there are no accounts."""
    principal = rt.principal
    if principal is None:
        return ""
    if ROLES.index(principal.role) < ROLES.index("member"):  # whatever else the step asks, it is the role
        anybody = CONFIRMERS["role:member"]
        return (
            f"{anybody} none of whose agents did the work"
            if wanted == _OTHER
            else CONFIRMERS.get(wanted, anybody)
        )
    is_one = not wanted or is_confirmer(rt, history, node, wanted, principal)
    return "" if is_one else CONFIRMERS[wanted]


def has_confirmer(rt: WritePorts, history: History, node: Node, wanted: str) -> bool:
    """Whether somebody in the workspace may confirm the step; without accounts nobody is looked for."""
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
    """Whether they are who the step names."""
    if wanted.startswith(_ROLE):
        return _is_at_least(principal.role, wanted.removeprefix(_ROLE))
    return principal.account not in find_workers(rt, history, node)


def find_workers(rt: ReadPorts, history: History, node: Node) -> frozenset[str]:
    """The accounts that worked on the run, or on the runs that it delegated, since somebody last confirmed
    the step: an agent by whatever it caused, a person by the reports and steps that they sent themselves.
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
    """The run, and every run below it."""
    found = {run_id}
    for run in history.runs.values():  # in the order in which they began
        if run.parent is not None and run.parent.run_id in found:
            found.add(run.run_id)
    return frozenset(found)


# Asking the person at the terminal: a line that an agent runs has nobody there who could agree.


_YES = ("y", "yes")


def require_yes(
    rt: WritePorts, text: str, *, command: str, resume: str, meanwhile: str = ""
) -> Literal["terminal"]:
    """Show the text at the terminal itself and wait for a yes.

    `command` is what a person runs instead, `resume` what shows where things stand, `meanwhile` what the
    caller does until then. Raises Fault E_HUMAN_REQUIRED where nobody can be asked or nobody agrees.
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
