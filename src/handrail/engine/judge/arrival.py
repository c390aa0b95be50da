"""What a run meets between two steps, and the text of the next prompt in the mode in force. Pure.

A move may skip parts, end loops early, or lack a list; all of that blocks or is disclosed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from typing import Any, Literal, TypeAlias, assert_never

import msgspec

from handrail.contract.ids import Autonomy, RiskPolicy
from handrail.contract.wording import shorten
from handrail.engine.events import GapRecorded, Preferences, ReportStatement
from handrail.engine.history import Confirmation
from handrail.engine.judge.missing_lists import find_missing_lists, judge_handouts
from handrail.engine.navigate import ExitedLoop, Move, Running, TraceEntry, find_loop, leaf_at, list_passed
from handrail.engine.owners import counter_of
from handrail.engine.reasons import (
    BY_PERSON,
    AskKind,
    Reason,
    WaitsFor,
    WaitState,
    WorkflowStep,
    shorten_message,
)
from handrail.workflows.compiled import (
    CONFIRMERS,
    Action,
    Choice,
    ChoiceKind,
    CompiledWorkflow,
    Count,
    Delegate,
    ForEach,
    Leaf,
    Loop,
    Step,
    Until,
    While,
    loop_variables,
    names_set_inside,
    walk_parts,
)
from handrail.workflows.conditions import (
    MISSING,
    Condition,
    Facts,
    comparisons,
    describe_condition,
    holds,
    named_value,
)
from handrail.workflows.prompt_sections import (
    ASK_FOR_FILES,
    NOBODY_ANSWERS,
    NOBODY_ASKED,
    ONCE_FOR_ALL,
    QUESTIONS,
    USER_CHOOSES,
    heading_of,
    replace_user_section,
)

# Parts that a move skipped, from the recorded trace

CONFIRMATION = "/requireConfirmation"
"""The place of a statement about the step itself: whether the user confirmed it."""
CHOSEN = "/choice"
"""The place of a statement about a choice: whether a person took this option."""
MOST_WORDS = 200
"""Limit in characters for the reason why one part was skipped."""
SHOWN_ITEMS = 10
"""Limit for the items that a gap names."""


class PassedPart(msgspec.Struct, frozen=True, kw_only=True):
    """A step or loop that did not run."""

    step_id: str
    why: str
    condition_id: str = ""
    times: int = 1
    """Number of rounds that skipped it."""


def list_passed_parts(
    workflow: CompiledWorkflow, trace: Iterable[TraceEntry], facts: Facts
) -> tuple[PassedPart, ...]:
    """Return every step and loop that a move skipped, each once and in the order of the move, except parts
    that were not needed.
    """
    passed = [part for part in list_passed(trace) if not part.not_needed]
    times = Counter(part.part_id for part in passed)
    found: dict[str, PassedPart] = {}
    for part in passed:
        name, condition_id = part.part_id, part.condition_id
        if name in found:
            continue
        if condition_id:
            why = _explain_unmet(workflow, workflow.conditions[condition_id], facts)
        else:
            why = _no_round(workflow, find_loop(workflow, name), facts)
        found[name] = PassedPart(step_id=name, why=why, condition_id=condition_id, times=times[name])
    return tuple(found.values())


def _describe_left_work(workflow: CompiledWorkflow, loop: Loop, rounds: int, facts: Facts) -> str:
    match loop.repeat:
        case ForEach(input=name):
            items = named_value(facts.values, name)
            more = len(items) - rounds if isinstance(items, list) else 0
            if counter_of(workflow, name):
                return f"{more} rounds were not made"
            return f"{more} items of {name} were not worked on" if more > 0 else f"items of {name} are left"
        case Count(count=count):
            return f"{count - rounds} rounds were not made"
        case While():
            return "another round was wanted"
        case Until():
            return "what it works towards was not reached"
        case never:
            assert_never(never)


def _no_round(workflow: CompiledWorkflow, loop: Loop, facts: Facts) -> str:
    match loop.repeat:
        case ForEach(input=name):
            items = named_value(facts.values, name)
            counter = counter_of(workflow, name)
            if counter:
                value = named_value(facts.values, counter)
                return f"{counter} was not sent" if value is MISSING else f"{counter} is {_show_value(value)}"
            if items is MISSING or items is None:
                return f"{name} was not sent"
            return f"{name} is empty" if isinstance(items, list) else f"{name} is not a list"
        case While(condition=condition_id) | Until(condition=condition_id):
            return _explain_unmet(workflow, workflow.conditions[condition_id], facts)
        case Count():
            return "it has no rounds"
        case never:
            assert_never(never)


def _explain_unmet(workflow: CompiledWorkflow, condition: Condition, facts: Facts) -> str:
    """Return what the part needs, and the values on which that depends."""
    loops = (part for part in walk_parts(workflow.steps) if isinstance(part, Loop))
    own = frozenset(names_set_inside(workflow.steps)).union(*map(loop_variables, loops))
    texts: dict[str, str] = {}
    for atom in comparisons(condition):
        if atom.input and atom.input.partition(".")[0] not in own:
            value = named_value(facts.values, atom.input)
            texts[atom.input] = (
                f"{atom.input} was not sent" if value is MISSING else f"{atom.input} is {_show_value(value)}"
            )
    needs, states = (
        text if len(text) <= MOST_WORDS else text[: MOST_WORDS - 1] + "…"
        for text in (describe_condition(condition), "; ".join(texts.values()))
    )
    return f"needs {needs}" + (f"; {states}" if states else "")


def _show_value(value: Any) -> str:
    return shorten(msgspec.json.encode(value).decode())


# The prompt in the mode in force: if no person will be asked, no prompt says to ask
#
# Compiled prompts are the same in every mode, so one hash identifies one workflow. Parts that differ by mode
# can be recognised: sections that the compiler writes, and list items that begin with the name of a mode.

_MODE_ITEM = re.compile(
    r"^([ \t]*)- (guided|full_auto_stop_on_user_deps|full_auto_never_stop):[^\n]*(?:\n\1[ \t]+[^\n]*)*\n?",
    re.MULTILINE,
)
_QUESTIONS_ELSEWHERE: dict[Autonomy, str] = {
    "guided": QUESTIONS,
    "full_auto_stop_on_user_deps": (
        "Before you begin, resolve these questions; ask the user only what nobody else can answer"
    ),
    "full_auto_never_stop": (
        "Before you begin, resolve these questions yourself; nobody is asked in this mode"
    ),
}
_NOBODY_ANSWERS = f"""\
## {NOBODY_ANSWERS}
Nobody is asked in this mode ({{reason}}). Find out what you can, take the way that is easiest to undo, and \
write into the notes what you assumed. It is recorded as a gap."""
_NOBODY_CHOOSES = f"""\
{NOBODY_ASKED}Choose in the user's place, by what is easiest to undo, and keep the reason in \
the notes; the choice is recorded as a gap. What the user would read:"""
_USER_CHOOSES = f"""\
{USER_CHOOSES}{{why}}. Show them the question and the options, and make the call of the one \
that they take."""
_WHY_THE_USER: Mapping[ChoiceKind, str] = {
    "preference_tradeoff": "it depends on what only they prefer",
    "scope_boundary": "it sets how far the work goes",
    "irreversible_action": "what follows cannot be undone",
    "external_side_effect": "what follows reaches others outside this project",
    "policy_or_compliance": "a rule that they answer for is at stake",
}
_WRITES_UNASKED = " It writes files; nobody is asked in this mode."
_ASK_BEFORE_WRITE = " It writes files: ask the user first."
_WRITES_BY_POLICY = " It writes files, which can be undone: with this risk policy you need not ask."
_RISK_GUIDANCE: dict[RiskPolicy, str] = {
    "balanced": "Risk policy balanced: do not ask about a change that is easy to undo.",
    "aggressive": "Risk policy aggressive: take the direct way, and note what you did not check.",
}
_FIND_FILES = "Find the files that this step needs; nobody is asked in this mode."


NOT_ANSWERED: Set[AskKind] = frozenset()


def describe_consent(leaf: Action, preferences: Preferences, answered: Set[AskKind]) -> str:
    """Return what the prompt of an action says about its write: whether to ask the user first."""
    if not leaf.is_guarded or "allow_write" in answered:
        return ""
    if preferences.autonomy == "full_auto_never_stop":
        return _WRITES_UNASKED
    return _ASK_BEFORE_WRITE if preferences.risk_policy == "conservative" else _WRITES_BY_POLICY


def asks_before(leaf: Leaf, preferences: Preferences) -> bool:
    """Whether the preferences in force ask the user about this step; `guided` does.

    Handrail's own writes can be undone, so only the policy `conservative` asks about them.
    """
    is_asked = not isinstance(leaf, Action) or preferences.risk_policy == "conservative"
    return is_asked and preferences.autonomy == "guided"


def describe_risk(risk_policy: RiskPolicy) -> str:
    """Return what the first prompt of a run says about its policy; the default adds nothing to the
    procedure.
    """
    return _RISK_GUIDANCE.get(risk_policy, "")


def phrase_for_mode(text: str, leaf: Leaf, autonomy: Autonomy, answered: Set[AskKind] = NOT_ANSWERED) -> str:
    """Return the prompt of a step for a mode, without questions that people have already answered."""
    text = _MODE_ITEM.sub(lambda item: item[0] if item[2] == autonomy else "", text)
    text = text.replace(f"## {QUESTIONS}\n", f"## {_QUESTIONS_ELSEWHERE[autonomy]}\n")
    if autonomy != "full_auto_never_stop":
        if isinstance(leaf, Choice) and leaf.non_assumable is not None and "choose" not in answered:
            return f"{_USER_CHOOSES.format(why=_WHY_THE_USER[leaf.non_assumable])}\n\n{text}"
        if isinstance(leaf, Step) and leaf.user_only is not None and "give" in answered:
            return replace_user_section(text, leaf.user_only, "")
        return text
    if isinstance(leaf, Step) and leaf.user_only is not None:
        alone = _NOBODY_ANSWERS.format(reason=leaf.user_only.reason)
        text = replace_user_section(text, leaf.user_only, "" if "give" in answered else alone)
    if isinstance(leaf, Choice) and leaf.non_assumable is not None:
        text = f"{_NOBODY_CHOOSES}\n\n{text}"
    return text.replace(ASK_FOR_FILES, _FIND_FILES)


def find_lasting_sections(prompt: str) -> dict[str, str]:
    """Return the sections of a first prompt that apply to every later step, by heading."""
    sections = (part for part in prompt.split("\n\n") if part.startswith("## "))
    return {heading: section for section in sections if (heading := heading_of(section)) in ONCE_FOR_ALL}


# What a move meets


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """What a move meets. Reasons stop the run or become gaps, by mode; gaps are disclosed in every mode."""

    reasons: tuple[Reason, ...] = ()
    gaps: tuple[GapRecorded, ...] = ()


def needs_confirmation(workflow: CompiledWorkflow, leaf: Leaf, facts: Facts) -> bool:
    """Whether the user has to confirm this step: the author requires it, or it is an action that writes
    files.

    `facts` include the loops' values.
    """
    if not isinstance(leaf, Step):
        return isinstance(leaf, Action) and leaf.is_guarded
    wanted = leaf.require_confirmation
    return wanted if isinstance(wanted, bool) else holds(workflow.conditions[wanted], facts)


def named_confirmer(leaf: Leaf) -> str:
    """Return who has to confirm a step according to its author; empty means any person."""
    return leaf.confirmed_by if isinstance(leaf, Step) else ""


def ask_of(leaf: Leaf) -> AskKind:
    """Return what a person is asked about this step: to approve its report or its write, or to choose an
    option.
    """
    match leaf:
        case Step():
            return "confirm"
        case Action():
            return "allow_write"
        case Choice() | Delegate():
            return "choose"
        case never:
            assert_never(never)


def may_ask(leaf: Leaf) -> bool:
    """Whether a step can ask a person for something, in whatever mode."""
    match leaf:
        case Step():
            return leaf.require_confirmation is not False or leaf.user_only is not None
        case Choice() | Delegate():
            return leaf.non_assumable is not None
        case Action():
            return leaf.is_guarded
        case never:
            assert_never(never)


SeenReport: TypeAlias = Literal["", "another", "declined", "none", "elsewhere", "unproven"]


class PersonsWord(msgspec.Struct, frozen=True, kw_only=True):
    """How people's answers count for one question about the pending step (`engine/ask.py`)."""

    is_given: bool = False
    """A person approved exactly this report, chose an option, or gave a value."""
    is_declined: bool = False
    option_id: str = ""
    """The option of a choice step that a person chose."""
    value: str = ""
    """What a person gave, as they typed it; empty if they said that it is done."""
    seen: SeenReport = ""
    """Why an answer does not count: it was about another report, was given before there was a report, comes
    from another store, or is from before this store could prove who answered.
    """
    answered: Confirmation | None = None
    """The answer that decides, if there is one."""
    is_due: bool = False
    """An agent's statement is not enough, because the settings say so, or because a person rejected what it
    sent before.
    """
    can_be_asked: bool = False
    """The client of this call can ask a person."""
    is_implied: bool = False
    """An option that a person chose after the preview already allows the write."""


GIVEN = "/userOnly"
"""The place of a statement about what only the user can give: whether a person gave it."""
NOT_CONFIRMED = "no person has confirmed it"
AGENTS_WORD = "the agent says that the user agreed"
DECLINED = "a person declined it"
DECLINED_BEFORE = "a person declined it before, and has not seen this report"
NOT_SHOWN = "a person confirmed the step, and did not see this report"
_BEFORE_REPORT = "a person confirmed the step before there was a report"
_ELSEWHERE = "confirmed elsewhere"
_UNPROVEN = "confirmed before this store could prove it"
_SHOW_AND_ASK = "Show the user what you did and ask for the confirmation, then make the call in nextCall."
_ASK_YOURSELF = "Ask the user yourself; if they agree, make the call in nextCall, which counts as your word."
_LET_CHOOSE = "Ask the user yourself, then make the call of the option that they take."


def refuse_declined(leaf: Leaf, kind: AskKind, word: PersonsWord) -> tuple[ReportStatement, Reason]:
    """Return the statement and the reason for a report whose last answer is a rejection of exactly this
    report.
    """
    statement = ReportStatement(pointer=CONFIRMATION, check="person", verdict="contradicted", fact=DECLINED)
    return statement, Reason(
        name="user_only_dependency:needs_user_approval",
        pointer=WorkflowStep(step_id=leaf.id),
        waits_for=WaitsFor(kind=kind, state="declined", values={"step": leaf.id} | BY_PERSON),
        message=_add_note(f"“{leaf.title}” does not pass: {DECLINED}", word),
    )


def _add_note(sentence: str, word: PersonsWord) -> str:
    """Return a sentence about a step with the note of the person who answered, so that the agent reads it
    here.
    """
    note = "" if word.answered is None else word.answered.fact.note
    return shorten_message(f"{sentence}. They wrote: {note}" if note else f"{sentence}.")


def make_statement(pointer: str, word: PersonsWord, *, is_agents: bool) -> ReportStatement:
    """Return how a person's answer counts for a place. With `is_agents`, the agent states what they
    answered.
    """
    if word.is_given:
        return ReportStatement(pointer=pointer, check="person", level="confirmed")
    if word.seen == "declined":
        return ReportStatement(pointer=pointer, check="person", verdict="contradicted", fact=DECLINED_BEFORE)
    facts: dict[SeenReport, str] = {
        "another": NOT_SHOWN,
        "none": _BEFORE_REPORT,
        "elsewhere": _ELSEWHERE,
        "unproven": _UNPROVEN,
        "": AGENTS_WORD if is_agents else NOT_CONFIRMED,
    }
    return ReportStatement(pointer=pointer, check="person", verdict="missing", fact=facts[word.seen])


def weigh_confirmation(
    workflow: CompiledWorkflow, leaf: Leaf, autonomy: Autonomy, before: Facts, after: Facts, word: PersonsWord
) -> tuple[ReportStatement | None, Reason | None]:
    """Return how the confirmation of a step counts, and a reason if a person has to confirm and has not.

    Both facts include the loops' values; `after` has the whole report applied.
    """
    is_needed = any(needs_confirmation(workflow, leaf, facts) for facts in (before, after))
    if not is_needed or word.is_implied:
        return None, None
    is_agents = not word.is_due and autonomy != "full_auto_never_stop"
    statement = make_statement(CONFIRMATION, word, is_agents=is_agents)
    if word.is_given or is_agents:
        return statement, None
    # A mode that never stops asks no person: there, this reason becomes a critical gap.
    state: WaitState = "another_report" if word.seen == "another" else "missing"
    who = CONFIRMERS.get(named_confirmer(leaf), "")
    whom = who[:1].upper() + who[1:] or "A person"
    message = _add_note(
        f"{whom} must confirm “{leaf.title}”, and an agent's statement does not count: {statement.fact}", word
    )
    values = {"step": leaf.id} | BY_PERSON | ({"who": who} if who else {})
    if not word.is_due:
        message = f"The user did not confirm “{leaf.title}”."
    return statement, Reason(
        name="user_only_dependency:needs_user_approval",
        pointer=WorkflowStep(step_id=leaf.id),
        waits_for=WaitsFor(kind=ask_of(leaf), state=state, values=values),
        message=message,
    )


def find_unasked_confirmation(
    workflow: CompiledWorkflow, leaf: Leaf, before: Facts, word: PersonsWord
) -> list[Reason]:
    """Return a reason if a confirmation is needed and no person was asked for it.

    This is so in three cases: only the report makes the confirmation necessary, so the step did not ask for
    it when it was shown; a person confirmed another report; or the client can ask a person. `before`
    includes the loops' values.
    """
    state: WaitState = "missing"
    if word.seen == "another":
        message, fix, state = (
            f"The user confirmed another report of “{leaf.title}”.",
            _SHOW_AND_ASK,
            "another_report",
        )
    elif needs_confirmation(workflow, leaf, before):
        message = f"The user must confirm “{leaf.title}”, and has not answered."
        fix = _ASK_YOURSELF if word.can_be_asked else ""
    else:
        message = f"Because of this report the user must confirm “{leaf.title}”; nobody asked yet."
        fix = _SHOW_AND_ASK
    if not fix:
        return []
    return [
        Reason(
            name="user_only_dependency:needs_user_approval",
            pointer=WorkflowStep(step_id=leaf.id),
            waits_for=WaitsFor(kind=ask_of(leaf), state=state, values={"step": leaf.id}),
            message=message,
            fix=fix,
        )
    ]


def weigh_choice(
    choice: Choice, option_id: str, autonomy: Autonomy, word: PersonsWord
) -> tuple[ReportStatement | None, Reason | None]:
    """Return how a person's answer supports the option of a choice, and a reason if the option cannot be
    taken.
    """
    if word.option_id == option_id:
        return ReportStatement(pointer=CHOSEN, check="person", level="confirmed"), None
    if not word.option_id:
        if choice.non_assumable is None or autonomy == "full_auto_never_stop":
            return None, None  # `choice_gaps` discloses the second case
        statement = make_statement(CHOSEN, word, is_agents=not word.is_due)
        return statement, _let_take(choice, word) if word.is_due else None
    fact = f"a person chose {word.option_id}"
    return ReportStatement(pointer=CHOSEN, check="person", verdict="contradicted", fact=fact), Reason(
        name="user_only_dependency:needs_user_choice",
        pointer=WorkflowStep(step_id=choice.id),
        waits_for=WaitsFor(
            kind="choose", state="invalid", values={"step": choice.id, "option": word.option_id}
        ),
        message=shorten_message(f"This call takes {option_id} for {choice.id}, but {fact}."),
        fix=shorten_message(f"Make the call of the option {word.option_id}."),
    )


def _let_take(choice: Choice, word: PersonsWord) -> Reason:
    return Reason(
        name="user_only_dependency:needs_user_choice",
        pointer=WorkflowStep(step_id=choice.id),
        waits_for=WaitsFor(kind="choose", values={"step": choice.id} | BY_PERSON),
        message=_add_note(
            f"A person must choose in {choice.id}, and an agent's statement does not count: nobody has", word
        ),
    )


def find_unasked_choice(choice: Choice) -> Reason:
    """Return the reason to ask a person which option to take, for a client that can ask."""
    return Reason(
        name="user_only_dependency:needs_user_choice",
        pointer=WorkflowStep(step_id=choice.id),
        waits_for=WaitsFor(kind="choose", values={"step": choice.id}),
        message=f"The choice {choice.id} belongs to the user, who has not answered.",
        fix=_LET_CHOOSE,
    )


def assess_arrival(workflow: CompiledWorkflow, move: Move, facts: Facts) -> Arrival:
    """Return the reasons and gaps of a move. `facts` are those that decided it."""
    cut_short = {
        entry.loop_id: entry.iterations
        for entry in move.trace
        if isinstance(entry, ExitedLoop) and entry.reason == "limit_reached"
    }
    gaps = []
    for loop_id, rounds in cut_short.items():
        left = _describe_left_work(workflow, find_loop(workflow, loop_id), rounds, facts)
        summary = shorten_message(f"The loop {loop_id} ended at its limit of {rounds} rounds: {left}.")
        gaps.append(GapRecorded(gap_id="", severity="warning", reason="loop_limit_reached", summary=summary))
    return Arrival(reasons=_list_lacking(workflow, move, facts), gaps=tuple(gaps))


def _list_lacking(workflow: CompiledWorkflow, move: Move, facts: Facts) -> tuple[Reason, ...]:
    """Return the lists that a move lacks, for a loop that it skipped or a step that delegates work."""
    is_missed = any(isinstance(entry, ExitedLoop) and entry.reason == "items_missing" for entry in move.trace)
    leaf = leaf_at(workflow, move.state) if isinstance(move.state, Running) else None
    if not is_missed and not isinstance(leaf, Delegate):
        return ()
    # Few moves miss a list.
    return (*find_missing_lists(workflow, move), *judge_handouts(workflow, move, facts))


def list_dropped_items(
    workflow: CompiledWorkflow, state: Running, before: Facts, after: Facts
) -> tuple[GapRecorded, ...]:
    """Return gaps for lists that shrank while a loop goes through them: lost items that had no round yet
    get none.
    """
    gaps = []
    for frame in state.loops:
        loop = find_loop(workflow, frame.loop_id)
        if not isinstance(loop.repeat, ForEach):
            continue
        old, new = (named_value(facts.values, loop.repeat.input) for facts in (before, after))
        if not isinstance(old, list) or old == new:
            continue
        ahead = frame.iteration + 1
        kept = {msgspec.json.encode(item) for item in new[ahead:]} if isinstance(new, list) else set()
        dropped = [item for item in map(msgspec.json.encode, old[ahead:]) if item not in kept]
        if dropped:
            what = ", ".join(item.decode() for item in dropped[:SHOWN_ITEMS])
            gone = f"{loop.repeat.input} lost {len(dropped)} items that the loop {loop.id} had not reached"
            summary = shorten_message(f"{gone}: {what}.")
            gaps.append(GapRecorded(gap_id="", severity="warning", reason="items_dropped", summary=summary))
    return tuple(gaps)


def list_unasked_gaps(leaf: Leaf, autonomy: Autonomy) -> tuple[GapRecorded, ...]:
    """Return a gap for the author's questions that another mode would have asked the user before the step."""
    if autonomy != "full_auto_never_stop" or not isinstance(leaf, Step):
        return ()
    if f"## {QUESTIONS}\n" not in leaf.prompt:
        return ()
    return (
        GapRecorded(
            gap_id="",
            severity="warning",
            reason="user_only_dependency:needs_user_artifact",
            summary=f"The user was not asked the questions that come before “{leaf.title}”.",
        ),
    )
