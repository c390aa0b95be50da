"""What a person is asked about the pending step, and which of their answers count. Pure. Begin to read here.

The problem: a confirmation, a choice that belongs to the user, a value that only the user has and a write
that waits looked like four things, each with its own rules, so an approval of one report could count for
another.

The idea: all four are one `Ask`. It is identified by the run, the step instance and the digest of what is
shown: the report, the preview, the options or the question, whatever an interface makes of them. An answer
names that digest. An approval counts only for the report that it was given to. A rejection, an option and a
value count on every branch of the run where the same question is asked. After a rejection, the person is
asked about the next report, and a statement of the agent alone is not enough. A rejection in a bundle still
counts; an approval in a bundle is only stated.

Whether a question waits follows from the pending step, never from the kind of the newest node.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, assert_never

import msgspec

from handrail.contract.ids import blob_ref
from handrail.contract.json.canonical import digest
from handrail.engine.artifact_shapes import USER_INPUT
from handrail.engine.children.joins import as_choice, find_join
from handrail.engine.events import Blocked, ConfirmationRecorded
from handrail.engine.facts import (
    KeptWork,
    WorkDone,
    add_loop_values,
    blocked_at,
    facts_at,
    find_long_notes,
    preferences_after,
    update_kept,
)
from handrail.engine.history import (
    Confirmation,
    History,
    Node,
    context_at,
    instance_of,
    kept_in_instance,
    list_answers,
    path_to,
)
from handrail.engine.judge.actions import fill_params, find_preview
from handrail.engine.judge.arrival import (
    PersonsWord,
    SeenReport,
    ask_of,
    asks_before,
    may_ask,
    named_confirmer,
    needs_confirmation,
)
from handrail.engine.judge.artifacts import is_blank_answer, read_sent, subject_of
from handrail.engine.judge.assess import collect_brought, place_of
from handrail.engine.judge.report_frame import make_retry_frame
from handrail.engine.navigate import Running, leaf_at, step_key
from handrail.engine.owners import is_imported, is_same, is_unproven, saved_names
from handrail.engine.reasons import AskKind, Blocker, WaitKind, wait_of
from handrail.engine.standing import Standing, fill_values, standing_at
from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Delegate,
    InputSpec,
    Leaf,
    Option,
    Step,
    UserOnly,
    UserOnlyReason,
)
from handrail.workflows.conditions import Facts
from handrail.workflows.evidence import Person

DONE_ONLY: tuple[UserOnlyReason, ...] = ("needs_user_secret_or_token", "needs_user_account_access")
"""What a person only reports as done, and never types: the log and its bundles would keep it."""
_NO_SUBJECT = ""

UNCHECKED = "role not checked here"


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a person."""

    kind: AskKind
    leaf: Leaf
    subject: str
    """The digest of what is shown. It is empty if there is no report yet; an approval then approves
    nothing.
    """
    attempt: Node
    """The attempt whose report is shown; the pending node itself if no attempt was blocked."""
    is_waiting: bool = False
    """The run waits until a person answers, or an agent states what they answered."""
    is_open: bool = False
    """A person's answer counts here; if not, the step asks no person."""

    @property
    def options(self) -> tuple[Option, ...]:
        return self.leaf.options if isinstance(self.leaf, Choice) else ()

    @property
    def needed(self) -> UserOnly | None:
        """What only the user has; None if the question is not about that."""
        return self.leaf.user_only if self.kind == "give" and isinstance(self.leaf, Step) else None

    @property
    def takes_value(self) -> bool:
        """Whether the person types a value; if not, they say that it is done."""
        return self.needed is not None and self.needed.reason not in DONE_ONLY


def find_ask(history: History, workflow: CompiledWorkflow, node: Node) -> Ask | None:
    """Return the question that the pending step of a node waits for, or None if it waits for no person."""
    if not isinstance(node.state, Running):
        return None
    ask = ask_about(history, workflow, node)
    return ask if ask.is_waiting else None


def ask_about(history: History, workflow: CompiledWorkflow, node: Node) -> Ask:
    """Return what a person can be asked about the pending step, whether or not the step waits for them."""
    assert isinstance(node.state, Running), "only a pending step is asked about"
    leaf = _asking_leaf(history, workflow, node)
    attempt = _find_attempt(history, node)
    facts = add_loop_values(workflow, node.state, facts_at(history, workflow, attempt.node_id))
    kinds = {waits.kind for blocker in _blockers(history, attempt) if (waits := wait_of(blocker)) is not None}
    kind = _choose_kind(history, workflow, attempt, leaf, facts, kinds)
    is_waiting = kind in kinds or _is_waiting(history, workflow, node, leaf, kind, facts)
    return Ask(
        kind=kind,
        leaf=leaf,
        subject=_digest_subject(history, workflow, attempt, kind),
        attempt=attempt,
        is_waiting=is_waiting,
        is_open=is_waiting or _is_asked(workflow, leaf, facts),
    )


def _asking_leaf(history: History, workflow: CompiledWorkflow, node: Node) -> Leaf:
    """Return the pending step. A step whose children were closed asks in the form of a choice."""
    assert isinstance(node.state, Running), "only a pending step asks"
    leaf = leaf_at(workflow, node.state)
    if not isinstance(leaf, Delegate):
        return leaf

    join = find_join(history, workflow, node)
    return as_choice(join) if join is not None and join.offered else leaf


def _is_asked(workflow: CompiledWorkflow, leaf: Leaf, facts: Facts) -> bool:
    """Whether a person's answer can count for the step, in any mode: its author or contract requires one,
    or it is a choice or an action that may ask.
    """
    match leaf:
        case Step():
            rules = workflow.contracts[leaf.contract].evidence if leaf.contract else ()
            wants_person = any(isinstance(rule, Person) for rule in rules)
            return leaf.user_only is not None or wants_person or needs_confirmation(workflow, leaf, facts)
        case Choice():
            return True  # an option may set a value that only a person can change
        case Action():
            return may_ask(leaf)
        case Delegate():
            return False
        case never:
            assert_never(never)


def _choose_kind(
    history: History,
    workflow: CompiledWorkflow,
    attempt: Node,
    leaf: Leaf,
    facts: Facts,
    kinds: set[WaitKind],
) -> AskKind:
    """Return which question comes first: a value that only the user has precedes approval of a report that
    uses it.
    """
    if not isinstance(leaf, Step) or leaf.user_only is None:
        return ask_of(leaf)
    if "give" in kinds or "confirm" in kinds:
        return "give" if "give" in kinds else "confirm"
    given = weigh_answers(history, workflow, attempt, "give")
    is_answered = given.is_given or _is_in_force(history, attempt, leaf.user_only, facts)
    return "confirm" if is_answered and needs_confirmation(workflow, leaf, facts) else "give"


def _is_waiting(
    history: History, workflow: CompiledWorkflow, node: Node, leaf: Leaf, kind: AskKind, facts: Facts
) -> bool:
    """Whether the mode in force stops for the question before the step is attempted."""
    preferences = preferences_after(history, node.node_id)
    if preferences.autonomy == "full_auto_never_stop":
        return False
    match kind:
        case "choose":
            return isinstance(leaf, Choice) and leaf.non_assumable is not None
        case "give":
            needed = leaf.user_only if isinstance(leaf, Step) else None
            return needed is not None and not _is_in_force(history, node, needed, facts)
        case "confirm" | "allow_write":
            is_person = history.runs[node.run_id].confirmations == "person" or bool(named_confirmer(leaf))
            is_asked = is_person or asks_before(leaf, preferences)
            return is_asked and needs_confirmation(workflow, leaf, facts)


def _is_in_force(history: History, node: Node, needed: UserOnly, facts: Facts) -> bool:
    """Whether an earlier value serves for what only the user has. If a person must answer, none does."""
    is_person = history.runs[node.run_id].confirmations == "person"
    return not is_person and bool(needed.input) and not is_blank_answer(facts.values.get(needed.input))


def _find_attempt(history: History, node: Node) -> Node:
    """Return the blocked attempt whose report waits: this node, or the newest attempt of the step instance.
    Return the node if there is none.
    """
    if node.kind == "blocked_attempt":
        return node
    kept = kept_in_instance(history, instance_of(history, node.node_id))
    return next((held for held in reversed(kept) if held.kind == "blocked_attempt"), node)


def _blockers(history: History, attempt: Node) -> Iterable[Blocker]:
    blocked = blocked_at(history, attempt)
    return () if blocked is None else blocked.every_blocker


# What is shown, as a digest


def _digest_subject(history: History, workflow: CompiledWorkflow, node: Node, kind: AskKind) -> str:
    """Return the digest of what a person is shown at a node."""
    if kind == "confirm":
        is_reported = node.kind == "blocked_attempt"
        return digest_report(history, workflow, node) if is_reported else _NO_SUBJECT
    return _digest_question(history, workflow, node, kind)


def digest_report(
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    work: WorkDone | None = None,
    kept: KeptWork | None = None,
) -> str:
    """Return the digest of the report that a call at a node makes, together with what was sent before;
    without `work`, of the report that waits there.

    Notes, artifacts and context count, no matter who repeats them and where.
    """
    assert isinstance(node.state, Running), "only a pending step is reported"
    place = place_of(workflow, node.state, leaf_at(workflow, node.state))
    brought = collect_brought(history, node, place) if kept is None else kept
    sent = () if work is None else work.artifacts
    artifacts = update_kept(brought, "", sent, partial(subject_of, place)).artifacts
    notes = "" if work is None else work.notes
    notes_ref = blob_ref(notes.encode()) if notes else find_long_notes(history, node)
    return digest(
        {
            "notes": notes_ref or blob_ref(brought.notes.encode()),
            "artifacts": sorted({digest(read_sent(place, body)) for body in artifacts}),
            "context": changed_context(history, node, None if work is None else work.context),
        }
    )


def kept_report(history: History, workflow: CompiledWorkflow, node: Node) -> KeptWork | None:
    """Return the report that waits at a node: what the last attempt sent, and what it kept from earlier
    ones. None if no attempt was blocked.
    """
    attempt = _find_attempt(history, node)
    if attempt.kind != "blocked_attempt" or not isinstance(attempt.state, Running):
        return None
    place = place_of(workflow, attempt.state, leaf_at(workflow, attempt.state))
    return collect_brought(history, attempt, place)


def changed_context(history: History, node: Node, sent: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what reports of the pending step have set so far, on the way to a node, together with what is
    sent now.
    """
    instance = instance_of(history, node.node_id)
    before = context_at(history, instance.node_id)
    changed: dict[str, Any] = {}
    for held in path_to(history, node.node_id):
        if held.index > instance.index:
            changed |= history.context.get(held.node_id, {})
    changed |= sent or {}
    return {key: value for key, value in changed.items() if not is_same(value, before.get(key))}


def _digest_question(history: History, workflow: CompiledWorkflow, node: Node, kind: AskKind) -> str:
    """Return the digest of the options, question or preview, with the values that they are about."""
    assert isinstance(node.state, Running), "only a pending step asks"
    instance = instance_of(history, node.node_id)
    facts = add_loop_values(workflow, node.state, facts_at(history, workflow, instance.node_id))
    leaf = leaf_at(workflow, node.state)
    about: dict[str, Any] = {"step": step_key(node.state), "kind": kind}
    match leaf:
        case Action():
            preview = facts.values.get(find_preview(workflow, leaf))
            about["write"] = fill_params(leaf, facts)[0] if preview is None else preview
        case Choice():
            about["question"] = fill_values(workflow, leaf.prompt, facts)
            about["options"] = msgspec.to_builtins(leaf.options)
            about["saved"] = {
                name: facts.values[name] for name in saved_names(workflow) if name in facts.values
            }
        case Step():
            about["needed"] = msgspec.to_builtins(leaf.user_only)
        case Delegate():
            join = find_join(history, workflow, node)
            closed = [] if join is None else [one for one in join.children if one.status == "closed"]
            about["closed"] = [one.run.run_id for one in closed]
    return digest(about)


# Which answers count


def weigh_answers(
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    kind: AskKind,
    subject: str | None = None,
    taken: int | None = None,
) -> PersonsWord:
    """Return how people's answers to this question count at the pending step. `subject` is the digest of a
    report to be judged, and `taken` the option of a choice.
    """
    if not history.confirmations:
        return PersonsWord()
    asked = _digest_subject(history, workflow, node, kind) if subject is None else subject
    answers = _list_relevant(history, workflow, node, kind, asked)
    if not answers:
        return _find_no_of_session(history, workflow, node, kind, asked, taken)
    last = answers[-1]
    about = [one.answer for one in answers if one.subject == asked and not one.is_elsewhere]
    if about and about[-1].fact.answer == "declined":
        return PersonsWord(is_declined=True, answered=about[-1])
    if about and asked:
        fact = about[-1].fact
        return PersonsWord(is_given=True, option_id=fact.option_id, value=fact.value, answered=about[-1])
    if last.answer.fact.answer == "declined":
        return PersonsWord(seen="declined", is_due=True, answered=last.answer)
    if last.is_elsewhere:
        is_old = is_unproven(history, last.answer.index)
        return PersonsWord(seen="unproven" if is_old else "elsewhere", answered=last.answer)
    seen: SeenReport = "another" if last.subject else "none"
    return PersonsWord(seen=seen, answered=last.answer)


def _find_no_of_session(
    history: History, workflow: CompiledWorkflow, node: Node, kind: AskKind, asked: str, taken: int | None
) -> PersonsWord:
    """Return how a person's answer to the same step in another run of the session limits a run that asks no
    person.

    Modes that ask people ask again. Only a rejection, or the choice of another option, counts here: an
    approval is valid only in its own run.
    """
    if preferences_after(history, node.node_id).autonomy != "full_auto_never_stop":
        return PersonsWord()
    assert isinstance(node.state, Running), "only a pending step has answers"
    key, runs = step_key(node.state), history.runs
    found = [
        answer
        for node_id, answers in history.confirmations.items()
        for at in [history.nodes[node_id]]
        if at.run_id != node.run_id and runs[at.run_id].workflow_id == runs[node.run_id].workflow_id
        if isinstance(at.state, Running) and step_key(at.state) == key
        for answer in answers
        if answer.fact.asked in (None, kind)
    ]
    last = max(found, key=lambda one: one.index, default=None)
    if last is None:
        return PersonsWord()
    if last.fact.answer == "declined":
        is_same = kind == "choose" or last.fact.subject == asked
        refused = PersonsWord(is_declined=True, answered=last)
        return refused if is_same else PersonsWord(seen="declined", is_due=True, answered=last)
    leaf = leaf_at(workflow, node.state)
    option = leaf.options[taken].id if isinstance(leaf, Choice) and taken is not None else ""
    is_another = bool(option and last.fact.option_id) and last.fact.option_id != option
    return PersonsWord(option_id=last.fact.option_id, answered=last) if is_another else PersonsWord()


class _Relevant(msgspec.Struct, frozen=True, kw_only=True):
    answer: Confirmation
    subject: str
    is_elsewhere: bool
    """It is an approval that was not given here, as far as this store can prove."""


def _list_relevant(
    history: History, workflow: CompiledWorkflow, node: Node, kind: AskKind, asked: str
) -> list[_Relevant]:
    """Return the answers at this step instance, and those on other branches that count everywhere; oldest
    first.

    A rejection without a later approval counts everywhere: a fork does not make a person agree.
    """
    instance = instance_of(history, node.node_id)
    own = {held.index for held in list_answers(history, instance)}
    assert isinstance(node.state, Running), "only a pending step has answers"
    key = step_key(node.state)
    found: list[_Relevant] = []
    for node_id, answers in history.confirmations.items():
        at = history.nodes[node_id]
        if at.run_id != node.run_id or not isinstance(at.state, Running) or step_key(at.state) != key:
            continue
        for answer in (one for one in answers if one.fact.asked in (None, kind)):
            subject = answer.fact.subject
            if answer.fact.asked is None:  # an older log has no subject
                subject = _digest_subject(history, workflow, at, kind)
            is_yes = answer.fact.answer == "confirmed"
            is_elsewhere = is_yes and (
                is_imported(history, answer.index) or is_unproven(history, answer.index)
            )
            found.append(_Relevant(answer=answer, subject=subject, is_elsewhere=is_elsewhere))
    found.sort(key=lambda one: one.answer.index)
    yeses = [one for one in found if one.answer.fact.answer == "confirmed" and not one.is_elsewhere]
    relented = [one.answer.index for one in yeses][-1:]

    def holds(one: _Relevant) -> bool:
        is_yes, is_same = one.answer.fact.answer == "confirmed", bool(asked) and one.subject == asked
        is_open = not is_yes and [one.answer.index] > relented
        return one.answer.index in own or is_open or (is_same and (not is_yes or kind in ("choose", "give")))

    return list(filter(holds, found))


def read_value(spec: InputSpec | None, text: str) -> Any:
    """Return what a person typed as the value of an input. Text that is not JSON stays text."""
    if spec is None or spec.type in ("string", "any"):
        return text
    try:
        return msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return text


def given_values(workflow: CompiledWorkflow, leaf: Leaf, word: PersonsWord) -> dict[str, Any]:
    """Return the value that a person gave for the step, under the name of the input that waits for it;
    empty if there is none.
    """
    needed = leaf.user_only if isinstance(leaf, Step) else None
    if needed is None or not needed.input or not word.is_given or not word.value or word.option_id:
        return {}
    return {needed.input: read_value(workflow.inputs.get(needed.input), word.value)}


def weigh_report(
    history: History, workflow: CompiledWorkflow, node: Node, work: WorkDone, kept: KeptWork
) -> tuple[PersonsWord, PersonsWord]:
    """Return how people's answers count for a report of the pending step, and for what only the user can
    give.
    """
    assert isinstance(node.state, Running), "only a pending step is reported"
    leaf = leaf_at(workflow, node.state)
    if not isinstance(leaf, Step):
        return weigh_answers(history, workflow, node, ask_of(leaf), taken=work.option), PersonsWord()
    report = digest_report(history, workflow, node, work, kept)
    word = weigh_answers(history, workflow, node, "confirm", report)
    return word, weigh_answers(history, workflow, node, "give")


def describe_unchecked(fact: ConfirmationRecorded) -> str:
    """Return a note that the role of the person was not checked, if the step requires one; otherwise an
    empty text.
    """
    return f", {UNCHECKED}" if fact.by and fact.source != "account" else ""


# How an answer changes the step when it is read again


def _find_answers(history: History, workflow: CompiledWorkflow, attempt: Node) -> dict[AskKind, PersonsWord]:
    """Return people's answers to the questions of the pending step, as far as they resolve them."""
    if not history.confirmations or not isinstance(attempt.state, Running):
        return {}
    leaf = _asking_leaf(history, workflow, attempt)
    kinds: list[AskKind] = ["give"] if isinstance(leaf, Step) and leaf.user_only is not None else []
    words = {kind: weigh_answers(history, workflow, attempt, kind) for kind in (*kinds, ask_of(leaf))}
    return {kind: word for kind, word in words.items() if word.is_given or word.is_declined}


def drop_answered(history: History, workflow: CompiledWorkflow, attempt: Node, blocked: Blocked) -> Blocked:
    """Return a recorded refusal without the questions that people have answered since."""
    answers = _find_answers(history, workflow, attempt)

    def is_open(blocker: Blocker) -> bool:
        waits = wait_of(blocker)
        word = next((word for kind, word in answers.items() if waits and waits.kind == kind), None)
        return word is None or (word.is_declined and waits is not None and waits.state == "declined")

    left = [tuple(filter(is_open, held)) for held in (blocked.blockers, blocked.left_out)]
    return msgspec.structs.replace(blocked, blockers=left[0], left_out=left[1])


def standing_now(history: History, workflow: CompiledWorkflow, node: Node) -> Standing:
    """Return the state of a node that is read again. After people answered, the prompt asks no more, and
    the next call sends only what is still missing.
    """
    attempt = _find_attempt(history, node)
    words = {kind: word for kind, word in _find_answers(history, workflow, attempt).items() if word.is_given}
    standing = standing_at(history, workflow, node, "rehydrate", words.keys())
    leaf = standing.leaf
    if leaf is None or not words:
        return standing
    blocked = blocked_at(history, attempt)
    left = blocked and drop_answered(history, workflow, attempt, blocked)
    if left is not None and left.every_blocker:
        words.pop("confirm", None)  # adding what is missing makes another report, which needs a new approval
    frame, lines = standing.frame, []
    if "give" in words and isinstance(leaf, Step) and leaf.user_only is not None:
        frame = _leave_out_given(frame, leaf.user_only)
        lines.append(_describe_given(leaf.user_only))
    if words and left is not None and attempt in path_to(history, node.node_id):
        frame = make_retry_frame(standing.contracts, frame, left)  # the rest of the report is already kept
    if "confirm" in words:
        sent = _find_confirmed(history, workflow, node, attempt)
        frame = frame if sent is None else sent
        lines.append(_CONFIRMED.format(how=_BY_HAND if sent is None else _BY_CALL))
    if "allow_write" in words:
        lines.append("A person has answered: Handrail may write what they were shown. The next call does it.")
    if "choose" in words:
        lines.append(_TAKEN.format(option=words["choose"].option_id))
    word = words.get(ask_of(leaf), standing.word)
    prompt = "\n\n".join([*lines, standing.prompt])
    return msgspec.structs.replace(standing, frame=frame, prompt=prompt, word=word)


_CONFIRMED = "A person has answered: they confirmed your report. {how} Another report asks again."
_BY_CALL = "The next call sends that report as it is."
_BY_HAND = "Send that report again, word for word."
_TAKEN = "A person has answered: they took the option {option}, and only its call goes on."


def _describe_given(needed: UserOnly) -> str:
    if needed.input:
        return f"A person has answered: the value of {needed.input} is recorded. Do not send it."
    return "A person has answered: what only they can do is done."


def _leave_out_given(frame: dict[str, Any], needed: UserOnly) -> dict[str, Any]:
    """Return the frame of a report without what a person gave."""
    output, context = dict(frame.get("output", {})), dict(frame.get("context", {}))
    context.pop(needed.input, None)
    kept = [held for held in output.pop("artifacts", ()) if held["kind"] != USER_INPUT]
    output |= {"artifacts": kept} if kept else {}
    return ({"output": output} if output else {}) | ({"context": context} if context else {})


def _find_confirmed(
    history: History, workflow: CompiledWorkflow, node: Node, attempt: Node
) -> dict[str, Any] | None:
    """Return what a call at a node must send to repeat the approved report, or None if the log does not
    have it.
    """
    asked = digest_report(history, workflow, attempt)
    if digest_report(history, workflow, node) == asked:
        return {}
    kept, context = kept_report(history, workflow, node), changed_context(history, attempt)
    if kept is None:
        return None
    work = WorkDone(input_digest="", notes=kept.notes, artifacts=kept.artifacts, context=context)
    if digest_report(history, workflow, node, work) != asked:
        return None
    assert isinstance(node.state, Running), "a report that waits is about a pending step"
    place = place_of(workflow, node.state, leaf_at(workflow, node.state))
    sent = [read_sent(place, body) for body in kept.artifacts]
    output = {"notesMarkdown": kept.notes} | ({"artifacts": sent} if sent else {})
    return {"output": output} | ({"context": context} if context else {})
