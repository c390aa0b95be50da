"""What an agent reads at a node: the pending step, its prompt, the progress, and what to do next. Pure.

Everything comes from recorded facts, so a first reply and each replay of it are the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, assert_never

import msgspec

from handrail.contract.ids import Autonomy
from handrail.contract.outcome import Fault
from handrail.engine.artifact_shapes import LOOP_CONTROL
from handrail.engine.children.joins import list_options
from handrail.engine.children.waiting import find_wait
from handrail.engine.events import Blocked, CapabilityObserved, GapRecorded, Preferences
from handrail.engine.facts import (
    DEFAULT_PREFERENCES,
    add_loop_values,
    cap_preferences,
    facts_at,
    preferences_after,
    preferences_at,
)
from handrail.engine.history import (
    History,
    Node,
    NotRun,
    Run,
    attached_to,
    context_at,
    not_run_by_move,
    path_to,
)
from handrail.engine.judge.arrival import (
    NOT_ANSWERED,
    PassedPart,
    PersonsWord,
    asks_before,
    describe_consent,
    describe_risk,
    find_lasting_sections,
    list_passed_parts,
    needs_confirmation,
    phrase_for_mode,
)
from handrail.engine.judge.artifacts import (
    MisnamedKind,
    MistypedKey,
    find_mistyped_keys,
    list_misnamings,
)
from handrail.engine.judge.report_frame import Ask, list_asks, make_frame
from handrail.engine.judge.requirements import describe_rule
from handrail.engine.navigate import (
    Complete,
    Running,
    State,
    deciding_loop,
    leaf_at,
    leaves_of,
    open_loops,
)
from handrail.engine.progress import (
    NOT_BEGUN,
    STOPPED,
    Progress,
    describe_handed_out,
    mark_collected,
    progress_at,
    render_rounds,
)
from handrail.engine.reasons import AskKind
from handrail.engine.shared_files import ask_for_paths
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Contract,
    Delegate,
    Fragment,
    Leaf,
    Option,
    Reference,
    Step,
    list_required_values,
)
from handrail.workflows.conditions import Facts, fill_placeholders, holds
from handrail.workflows.contracts.own_members import FILES, list_own_members
from handrail.workflows.limits import MAX_FILLED_BYTES, MAX_MOVE_PLACES, Effort
from handrail.workflows.prompt_sections import (
    RULES_OF_REPORTS,
    SEND_AS_CONTEXT,
    leave_out_rules,
    list_report_rules,
    name_loop,
    phrase_named,
)

if TYPE_CHECKING:
    from handrail.engine.children.joins import Join

# What to do next, by situation: one table
#
# `nextIntent` says what to do next, not what just happened (mcp-and-http 1.2).

ReplyKind: TypeAlias = Literal["ok", "blocked"]
NextIntent: TypeAlias = Literal[
    "perform_pending_then_continue", "await_user_confirmation", "rehydrate_only", "complete"
]
CallForm: TypeAlias = Literal["ack", "retry", "read", "per_option", "child", "none"]
"""The call that comes next: with the ackToken, the retryAckToken, the stateToken, one per option, the work
token of the first open child, or none.
"""
Situation: TypeAlias = Literal[
    "finished",
    "unhealthy",
    "step",
    "confirmation",
    "choice",
    "user_choice",
    "blocked_by_agent",
    "blocked_by_user",
    "blocked_for_good",
    "waiting",
    "stopped",
]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply says in one situation."""

    kind: ReplyKind
    intent: NextIntent
    call: CallForm


INTENTS: dict[Situation, Row] = {
    "finished": Row(kind="ok", intent="complete", call="none"),
    "unhealthy": Row(kind="ok", intent="rehydrate_only", call="none"),
    "step": Row(kind="ok", intent="perform_pending_then_continue", call="ack"),
    "confirmation": Row(kind="ok", intent="await_user_confirmation", call="ack"),
    "choice": Row(kind="ok", intent="perform_pending_then_continue", call="per_option"),
    "user_choice": Row(kind="ok", intent="await_user_confirmation", call="per_option"),
    "blocked_by_agent": Row(kind="blocked", intent="perform_pending_then_continue", call="retry"),
    "blocked_by_user": Row(kind="blocked", intent="await_user_confirmation", call="retry"),
    "blocked_for_good": Row(kind="blocked", intent="rehydrate_only", call="read"),
    "waiting": Row(kind="ok", intent="perform_pending_then_continue", call="child"),
    "stopped": Row(kind="ok", intent="rehydrate_only", call="none"),
}


# The prompt of a step
#
# A prompt is never cut. It is bounded because the author's text is (workflows/limits.py) and because the
# values are: for a value that is too long only the name is shown, and once all values together exceed their
# limit, the remaining placeholders stay as they are.

Occasion: TypeAlias = Literal["reply", "rehydrate"]
"""When the text is read. On a rehydrate, the agent has lost its context and reads again what it got before.
"""

LONGEST_VALUE_BYTES = 4_096
_TOO_LONG = "(too long to show: "
RECAP_FUNCTIONS_BYTES = 4_096

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


class View(msgspec.Struct, frozen=True, kw_only=True):
    """How a step is shown: the mode, the values that it asks for, the occasion."""

    preferences: Preferences
    occasion: Occasion
    asks: Sequence[Ask] = ()
    has_new_mode: bool = False
    """Whether the mode was set at this node; if so, what the first step says about the mode is repeated."""
    waits: str = ""
    """The text of a step that delegated work, when it is read now."""
    answered: Set[AskKind] = NOT_ANSWERED
    """Questions that people have answered since the step was first shown; the reply does not ask them
    again.
    """


def prompt_at(
    history: History, workflow: CompiledWorkflow, node: Node, leaf: Leaf, facts: Facts, view: View
) -> str:
    """Return the complete prompt of the step that is pending at a node. `facts` include the loops' values."""
    assert isinstance(node.state, Running), "only a pending step has a prompt"
    own = view.waits or render_step(workflow, leaf, facts, view.preferences, view.answered)
    text = phrase_for_mode(own, leaf, view.preferences.autonomy, view.answered)
    if _is_decision(workflow, leaf) and len(open_loops(workflow, node.state.loops)) > 1:
        text = name_loop(text, deciding_loop(workflow, node.state.loops))
    shown = text if view.occasion == "rehydrate" else _leave_out_known(history, workflow, node, text)
    parts = [
        render_rounds(workflow, node.state, facts),
        shown,
        _render_way_to_values(history, node, text),
        _render_note_rules(leaf),
        _render_shared(history, workflow, leaf, node),
        _render_proof(history, leaf, node),
        _render_asks(view.asks),
    ]
    wanted = leaf.functions if isinstance(leaf, Step) else ()
    occasion = view.occasion
    if occasion == "rehydrate" or view.has_new_mode:
        parts += _repeat_first_sections(history, workflow, node, text, view.preferences.autonomy)
    is_told = occasion == "rehydrate" or view.has_new_mode or _is_first_step(history, node)
    parts += [describe_risk(view.preferences.risk_policy)] if is_told else []
    known = _functions_before(history, workflow, node)
    match occasion:
        case "reply":
            parts += _definitions(workflow, [name for name in wanted if name not in known], facts)
            parts += _references(workflow.references) if _is_first_step(history, node) else []
        case "rehydrate":
            parts += _definitions(workflow, wanted, facts)
            parts += _recap_definitions(workflow, [name for name in known if name not in wanted], facts)
            parts += _references(workflow.references)
        case never:
            assert_never(never)
    return "\n\n".join(part for part in parts if part)


def _render_shared(history: History, workflow: CompiledWorkflow, leaf: Leaf, node: Node) -> str:
    """Return what a step that reports changed files says if parallel work has the same directory."""
    if not isinstance(leaf, Step) or not leaf.contract or len(history.runs) == 1:
        return ""
    is_list = FILES in list_own_members(workflow.contracts[leaf.contract].schema)
    return ask_for_paths(history, node) if is_list else ""


def _render_proof(history: History, leaf: Leaf, node: Node) -> str:
    if not isinstance(leaf, Step) or leaf.proof is None:
        return ""
    from handrail.engine.judge.proofs import write_wish  # noqa: PLC0415 - few steps want a proof

    return write_wish(history, node, leaf.proof)


def _render_way_to_values(history: History, node: Node, text: str) -> str:
    """Return the command that shows values which are too long for the prompt. The log has only values that
    were sent.
    """
    sent = context_at(history, node.node_id).values() if _TOO_LONG in text else ()
    if not any(len(msgspec.json.encode(value)) > LONGEST_VALUE_BYTES for value in sent):
        return ""
    return f"Read it whole: handrail session events {history.session_id} --kinds context_set"


class _Values:
    """The values of names as a sentence shows them; each is evaluated once per text."""

    def __init__(self, workflow: CompiledWorkflow, text: str, facts: Facts) -> None:
        self._workflow = workflow
        self._text = text
        self._facts = facts
        self._known: dict[str, str | None] = {}
        self._code: list[tuple[int, int]] | None = None
        self._room = Effort(MAX_FILLED_BYTES, "The values of one prompt are too long.", "")

    def shown(self, found: re.Match[str]) -> str:
        """Return the value, or words if there is none. Return the placeholder itself if it is code, or if
        the limit for all values is reached.
        """
        name = found[1]
        if name not in self._known:
            self._known[name] = self._value(name)
        text = self._known[name]
        if text is None:
            if self._stands_for_itself(name, found.start()):
                return found[0]
            text = f"(not given: {name})"
        return text if self._room.affords(len(text.encode())) else found[0]

    def _value(self, name: str) -> str | None:
        text = phrase_named(self._facts, name)
        text = text and mark_collected(self._workflow, name, text)
        return text if text is None or len(text.encode()) <= LONGEST_VALUE_BYTES else f"{_TOO_LONG}{name})"

    def _stands_for_itself(self, name: str, place: int) -> bool:
        """Whether a placeholder is code. Inside code, braces around an undeclared name are code, such as an
        example of another template.
        """
        declared = self._workflow.inputs.get(name.partition(".")[0])
        if declared is not None and not declared.implicit:
            return False
        if self._code is None:
            self._code = [match.span() for match in _CODE.finditer(self._text)]
        return any(start <= place < end for start, end in self._code)


def fill_values(workflow: CompiledWorkflow, text: str, facts: Facts) -> str:
    """Return the text with every `{{name}}`, including dotted members, replaced by its value, or by words
    if there is none.
    """
    return fill_placeholders(text, _Values(workflow, text, facts).shown)


def render_step(
    workflow: CompiledWorkflow,
    leaf: Leaf,
    facts: Facts,
    preferences: Preferences = DEFAULT_PREFERENCES,
    answered: Set[AskKind] = NOT_ANSWERED,
) -> str:
    """Return the step's own text: its prompt, the fragments whose condition holds, values filled in."""
    match leaf:
        case Step(prompt=prompt, fragments=fragments):
            text = "\n\n".join([prompt, *_applying_fragments(workflow, fragments, facts)])
            return fill_values(workflow, text, facts)
        case Choice(prompt=prompt):
            return fill_values(workflow, prompt, facts)
        case Action(operation=operation, params=params, save_as=save_as):
            shown = fill_values(workflow, msgspec.json.encode(params).decode(), facts)
            if leaf.is_own:
                line = f"Handrail runs {operation} {shown} when this step is acknowledged."
                return line + describe_consent(leaf, preferences, answered)
            kept = f" and send the result back as context.{save_as}" if save_as else ""
            return f"Run the operation {operation} with the parameters {shown}{kept}."
        case Delegate():
            return describe_handed_out(leaf)
        case never:
            assert_never(never)


def _applying_fragments(
    workflow: CompiledWorkflow, fragments: tuple[Fragment, ...], facts: Facts
) -> Iterator[str]:
    """Yield the fragments whose condition holds. If the conditions compare too much, yield a line that says
    so.
    """
    effort = Effort(MAX_MOVE_PLACES, "The fragments of a prompt take too many comparisons.", "")
    for place, fragment in enumerate(fragments):
        try:
            applies = not fragment.when or holds(workflow.conditions[fragment.when], facts, "", effort)
        except Fault:
            yield f"[LEFT OUT] {len(fragments) - place} fragments: their conditions compare too much."
            return
        if applies:
            yield fragment.text


def _is_decision(workflow: CompiledWorkflow, leaf: Leaf) -> bool:
    contract = workflow.contracts.get(leaf.contract) if isinstance(leaf, Step) else None
    return contract is not None and contract.artifact_kind == LOOP_CONTROL


def _render_note_rules(leaf: Leaf) -> str:
    """Return the rules for the notes, so that the agent knows them before a report is blocked by them."""
    if not isinstance(leaf, Step) or not leaf.rules:
        return ""
    return "\n".join(
        ["The notes are accepted only if they:", *(f"- {describe_rule(rule)}" for rule in leaf.rules)]
    )


def _render_asks(asks: Sequence[Ask]) -> str:
    """Return the list of values that steer the run and that this step asks for."""
    if not asks:
        return ""
    lines = [
        f"- {ask.name} ({ask.allowed})" + (f": {ask.description}" if ask.description else "") for ask in asks
    ]
    return "\n".join([SEND_AS_CONTEXT, *lines])


def _repeat_first_sections(
    history: History, workflow: CompiledWorkflow, node: Node, text: str, autonomy: Autonomy
) -> list[str]:
    """Return the sections of the first step that apply to all steps, unless this step has them too."""
    state = history.nodes[history.runs[node.run_id].first_node].state
    leaf = leaf_at(workflow, state) if isinstance(state, Running) else None
    if not isinstance(leaf, Step | Choice):
        return []
    here = find_lasting_sections(text)
    sections = find_lasting_sections(phrase_for_mode(leaf.prompt, leaf, autonomy))
    return [section for heading, section in sections.items() if heading not in here]


def _functions_before(history: History, workflow: CompiledWorkflow, node: Node) -> tuple[str, ...]:
    """Return the functions to which earlier steps refer, in their order, each once."""
    if not workflow.functions:
        return ()
    steps = _steps_before(history, workflow, node)
    return tuple(dict.fromkeys(name for step in steps for name in step.functions))


def _steps_before(history: History, workflow: CompiledWorkflow, node: Node) -> list[Step]:
    states = (earlier.state for earlier in path_to(history, node.node_id))
    visited = dict.fromkeys(
        state.step_id for state in states if isinstance(state, Running) and state != node.state
    )
    known = leaves_of(workflow)
    return [leaf for step_id in visited if isinstance(leaf := known[step_id], Step)]


def _leave_out_known(history: History, workflow: CompiledWorkflow, node: Node, text: str) -> str:
    """Return the text without the rules of reports that an earlier step of the same path showed."""
    if not any(start in text for start in RULES_OF_REPORTS):
        return text
    steps = _steps_before(history, workflow, node)
    return leave_out_rules(text, frozenset().union(*(list_report_rules(step.prompt) for step in steps)))


def _is_first_step(history: History, node: Node) -> bool:
    return history.nodes[history.runs[node.run_id].first_node].state == node.state


def _definitions(workflow: CompiledWorkflow, names: Iterable[str], facts: Facts) -> list[str]:
    return [f"{name}: {fill_values(workflow, workflow.functions[name], facts)}" for name in names]


def _recap_definitions(workflow: CompiledWorkflow, names: list[str], facts: Facts) -> list[str]:
    """Return functions of earlier steps, up to their size limit; the rest is counted."""
    texts = _definitions(workflow, names, facts)
    kept, used = [], 0
    for text in texts:
        used += len(text.encode())
        if used > RECAP_FUNCTIONS_BYTES:
            break
        kept.append(text)
    left = len(texts) - len(kept)
    return [*kept, f"[TRUNCATED] {left} more functions of earlier steps."] if left else kept


def _references(references: tuple[Reference, ...]) -> list[str]:
    if not references:
        return []
    lines = [
        f"- {held.title} ({held.source}{', authoritative' if held.authoritative else ''})"
        + (f": {held.purpose}" if held.purpose else "")
        for held in references
    ]
    return ["\n".join(["References of this workflow:", *lines])]


# Everything that a reply needs to know about a node


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a reply says about a node, before tokens are minted for it."""

    join: Join | None = None
    """The children of a step that delegated work."""
    is_waiting: bool = False
    """Whether the step waits for them; a recorded reply says what was true when it was made."""
    is_stopped: bool = False
    """Whether the answer that created this node closed the run, because work that it waited for was closed.
    """

    run: Run
    node: Node
    preferences: Preferences
    has_new_preferences: bool = False
    """Whether the preferences were set at this node; if not, an earlier reply showed them."""
    leaf: Leaf | None = None
    """The pending step; None if the run is finished."""
    prompt: str = ""
    needs_confirmation: bool = False
    word: PersonsWord = PersonsWord()
    """The answer of a person to a step that is read again; the next call uses this approval or option."""
    safest: Preferences | None = None
    """The highest combination considered safe, if a mode above the author's recommendation was set."""
    unavailable: tuple[CapabilityObserved, ...] = ()
    passed_over: tuple[GapRecorded, ...] = ()
    """Gaps on the way to this node that would have blocked in another mode."""
    nearly_declared: tuple[MistypedKey, ...] = ()
    """Context keys set at this node that look like a mistyped declared key."""
    defaulted: Mapping[str, Any] = {}
    """Default values in force, because the reported step required them and they were not sent."""
    misnamed: tuple[MisnamedKind, ...] = ()
    """Kinds of artifacts recorded at this node that look like a mistyped known kind and do not count."""
    skipped: tuple[PassedPart, ...] = ()
    """What did not run on the way to this node, each part once."""
    not_run: NotRun = NotRun()
    """The same with one entry per round, and with parts that the log only counts."""
    frame: dict[str, Any] = {}
    """What the report on the pending step must contain, to be filled in."""
    contracts: dict[str, Contract] = {}
    progress: Progress = NOT_BEGUN


def standing_at(
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    occasion: Occasion,
    answered: Set[AskKind] = NOT_ANSWERED,
) -> Standing:
    """Return everything that a reply says about a node. It is the same for a first reply and every replay.

    `answered` are the questions of the pending step that people have answered, when it is read again.
    """
    # A recorded reply says what was true then; a reply for now says what its report will meet.
    in_force = preferences_at if occasion == "reply" else preferences_after
    preferences = in_force(history, node.node_id)
    attached = attached_to(history, node.node_id)
    known = facts_at(history, workflow, node.node_id)
    before = history.nodes[node.parent].state if node.parent is not None else None
    standing = Standing(
        run=history.runs[node.run_id],
        node=node,
        preferences=preferences,
        has_new_preferences=attached.preferences is not None,
        safest=cap_preferences(workflow, preferences) if attached.preferences is not None else None,
        unavailable=tuple(
            seen
            for seen in attached.capabilities
            if seen.status == "unavailable" and not _is_shown_by_blocker(workflow, node, seen)
        ),
        passed_over=tuple(gap for gap in attached.gaps if _is_shown(gap)),
        nearly_declared=find_mistyped_keys(workflow.inputs, history.context.get(node.node_id, {})),
        defaulted=_find_defaulted(workflow, node, before, known),
        misnamed=list_misnamings(workflow, (held.artifact for held in attached.artifacts)),
        skipped=list_passed_parts(workflow, attached.trace, known),
        not_run=not_run_by_move(attached),
        progress=progress_at(workflow, node, known),
    )
    match node.state:
        case Complete():
            return standing
        case Running() as state:
            leaf = leaf_at(workflow, state)
            facts = add_loop_values(workflow, state, known)  # a prompt shows the item of its round
            asks = list_asks(workflow, leaf, facts)
            view = View(
                preferences=preferences,
                occasion=occasion,
                asks=[ask for ask in asks if ask.allowed],
                has_new_mode=attached.preferences is not None,
                answered=answered,
            )
            loop_id = deciding_loop(workflow, state.loops)
            if isinstance(leaf, Delegate):
                is_recorded = occasion == "reply" and node.kind != "blocked_attempt"
                wait = find_wait(history, workflow, node, is_recorded=is_recorded)
                standing = msgspec.structs.replace(standing, join=wait.join, is_waiting=wait.is_waiting)
                view = msgspec.structs.replace(view, waits=wait.prompt)
            return msgspec.structs.replace(
                standing,
                leaf=leaf,
                prompt=prompt_at(history, workflow, node, leaf, facts, view),
                needs_confirmation=needs_confirmation(workflow, leaf, facts),
                contracts=workflow.contracts,
                frame=make_frame(workflow, leaf, loop_id, asks, preferences.autonomy),
            )
        case never:
            assert_never(never)


def stop_standing(standing: Standing) -> Standing:
    """Return everything that a reply says about a node whose answer closed the run: nothing is delegated
    there.
    """
    return msgspec.structs.replace(
        standing, join=None, is_waiting=False, is_stopped=True, prompt=STOPPED, frame={}
    )


def _find_defaulted(
    workflow: CompiledWorkflow, node: Node, before: State | None, facts: Facts
) -> dict[str, Any]:
    """Return the defaults in force for values that the previous step required, if this node is a step."""
    leaf = leaf_at(workflow, before) if node.kind == "step" and isinstance(before, Running) else None
    names = list_required_values(leaf) if isinstance(leaf, Step) else []
    return {name: facts.values[name] for name in names if name in facts.assumed}


def _is_shown_by_blocker(workflow: CompiledWorkflow, node: Node, seen: CapabilityObserved) -> bool:
    """Whether the run waits for the capability, so that the agent must not continue without it."""
    return node.kind == "blocked_attempt" and workflow.capabilities.get(seen.capability) == "required"


def _is_shown(gap: GapRecorded) -> bool:
    """Whether a gap is shown because the agent may resolve it. It does not know the id of a gap that it
    reported itself.
    """
    return gap.reason != "reported" or not (gap.resolves_gap_id or gap.severity == "info")


def list_offered(standing: Standing) -> tuple[Option, ...]:
    """Return the options of a step with children: if one was closed, or finished on another branch."""
    join = standing.join
    if join is None:
        return ()

    return tuple(option for _, option in list_options(join, is_waiting=standing.is_waiting))


def situation_of(standing: Standing, blocked: Blocked | None, *, is_healthy: bool) -> Situation:
    """Return the row of the table of intents for a reply at this node."""
    if not is_healthy:
        return "unhealthy"
    if standing.leaf is None:
        return "finished"
    if blocked is not None:
        return _blocked_situation(blocked)
    autonomy, is_unanswered = standing.preferences.autonomy, not standing.word.is_given
    is_users = autonomy != "full_auto_never_stop" and is_unanswered
    match standing.leaf:
        case Choice(non_assumable=kind):
            return "user_choice" if kind is not None and is_users else "choice"
        case Step() | Action():
            is_asked = standing.needs_confirmation and is_unanswered
            is_asked = is_asked and asks_before(standing.leaf, standing.preferences)
            return "confirmation" if is_asked else "step"
        case Delegate(non_assumable=kind):
            if standing.is_stopped:
                return "stopped"
            if standing.is_waiting:
                return "waiting"
            if not list_offered(standing):
                return "step"
            return "user_choice" if kind is not None and is_users else "choice"
        case never:
            assert_never(never)


def _blocked_situation(blocked: Blocked) -> Situation:
    if not blocked.retryable:
        return "blocked_for_good"
    codes = {blocker.code for blocker in blocked.every_blocker}
    return "blocked_by_user" if "USER_ONLY_DEPENDENCY" in codes else "blocked_by_agent"
