"""What an author may write as a condition, a step, a choice, an action, a template call or a loop. Pure."""

from __future__ import annotations

from typing import get_args

from handrail.contract.ids import ProofWant
from handrail.workflows.compiled import CONFIRMERS, ChoiceKind, UserOnlyReason
from handrail.workflows.conditions import CONDITION_KINDS, Operator
from handrail.workflows.limits import (
    MAX_CHILDREN,
    MAX_ITERATIONS,
    MAX_LIST_ITEMS,
    MAX_NAME_CHARACTERS,
    MAX_OPTIONS,
    MAX_PARTS,
    MAX_TITLE_CHARACTERS,
    MAX_WORKFLOW_ID_CHARACTERS,
    MIN_OPTIONS,
)
from handrail.workflows.reading.shapes import (
    ARTIFACT_KIND,
    CONDITION_ID,
    DESCRIPTION,
    FREE_OBJECT,
    ID,
    NAME,
    PATH,
    PROMPT,
    PROSE,
    PROSE_LIST,
    REMARK,
    TITLE,
    WORKFLOW_ID,
    Anything,
    ByType,
    Flag,
    Items,
    Key,
    Members,
    Named,
    Record,
    Shape,
    Tagged,
    Text,
    Whole,
    Word,
    optional_key,
    required_key,
    tag_key,
)

# Conditions

OPERATORS: tuple[str, ...] = get_args(Operator)

WHEN = Named(name="when")
CONFIRMATION = ByType(shapes=(Flag(), CONDITION_ID, Named(name="condition_place")))
STEP_CONFIRMATION = ByType(shapes=(Flag(), CONDITION_ID, Named(name="confirmation_place")))

_CONDITION = Named(name="condition")
_SEVERAL = Items(of=_CONDITION, least=1, most=MAX_LIST_ITEMS)

_KEYS: dict[str, dict[str, Key]] = {
    "always_true": {},
    "always_false": {},
    "compare": {
        "input": optional_key(PATH, "A declared input or a loop variable; dotted for a member of one."),
        "artifact": optional_key(ARTIFACT_KIND, "The kind of a validated artifact."),
        "field": optional_key(
            PATH, "The member of the artifact to look at; dotted for a member of a member."
        ),
        "op": required_key(Word(values=OPERATORS), "How to compare."),
        "value": optional_key(
            Anything(),
            "What to compare with: a list for in, a number or a text for gt, gte, lt and lte, "
            "a text, number or boolean for contains; exists takes true, false or nothing.",
        ),
        "lenient": optional_key(
            Flag(),
            "Whether equals, not_equals, in and contains look past case and outer spaces, and a text equals "
            "the number or truth value that it spells.",
        ),
    },
    "and": {"of": required_key(_SEVERAL, "Conditions that must all hold.")},
    "or": {"of": required_key(_SEVERAL, "Conditions of which one must hold.")},
    "not": {"of": required_key(_CONDITION, "The condition that must not hold.")},
    "loop_control": {
        "continueWhen": optional_key(
            Word(values=("continue", "stop")),
            "The decision of the loop's last step with which the condition holds; continue unless written.",
        )
    },
}
_MEANINGS = {
    "always_true": "Holds.",
    "always_false": "Never holds.",
    "compare": "One value against another. An absent value makes every comparison false except not_equals, "
    "and exists with the value false.",
    "and": "All of them hold.",
    "or": "At least one of them holds.",
    "not": "The opposite.",
    "loop_control": "The decision that the body of the loop left in a wr.loop_control artifact.",
}


def _condition(kind: str, own: dict[str, Key]) -> Record:
    keys = {**own, "kind": tag_key(kind, "condition"), **_KEYS[kind]}
    one_of = ("input", "artifact") if kind == "compare" else ()
    return Record(description=_MEANINGS[kind], keys=keys, one_of=one_of)


CONDITION_SHAPES: dict[str, Shape] = {
    "condition": Tagged(
        description="A condition: one of a closed set of typed comparisons, no expression strings.",
        tag="kind",
        records={kind: kind for kind in CONDITION_KINDS},
    ),
    "declared_condition": Tagged(
        description="A condition that steps and loops name by its id.",
        tag="kind",
        records={kind: f"declared_{kind}" for kind in CONDITION_KINDS},
    ),
    "condition_ref": Record(
        description="A declared condition by its id.",
        keys={
            "kind": required_key(Word(values=("condition_ref",)), "Says that a declared condition is meant."),
            "conditionId": required_key(CONDITION_ID, "The id of a condition under conditions."),
        },
    ),
    "condition_place": Tagged(
        description="A reference to a declared condition, or a condition written in place.",
        tag="kind",
        records={"condition_ref": "condition_ref", **{kind: kind for kind in CONDITION_KINDS}},
    ),
    "confirmation_place": Tagged(
        description="Who has to confirm; or a condition under which somebody has to.",
        tag="kind",
        records={"condition_ref": "condition_ref", **{kind: kind for kind in CONDITION_KINDS}},
        own_keys={"by": "who_confirms"},
    ),
    "who_confirms": Record(
        description="Who has to confirm; a server with accounts checks it.",
        keys={
            "by": required_key(
                Word(values=tuple(CONFIRMERS)),
                "A role, or other: a person none of whose agents did the work.",
            )
        },
    ),
    "when": ByType(shapes=(CONDITION_ID, Named(name="condition_place"))),
    **{kind: _condition(kind, {}) for kind in CONDITION_KINDS},
    **{
        f"declared_{kind}": _condition(kind, {"id": required_key(ID, "What steps and loops call it.")})
        for kind in CONDITION_KINDS
    },
}


PARTS = Items(of=Named(name="part"), least=1, most=MAX_PARTS, trouble="no_steps")

CHOICE_KINDS: tuple[str, ...] = get_args(ChoiceKind)
REPEATS = ("while", "until", "forEach", "count")

_CHOICE_KIND = Word(values=CHOICE_KINDS)
_TEMPLATE_ID = Text(most=MAX_WORKFLOW_ID_CHARACTERS, names="templates")
CONTRACT_ID = Text(most=MAX_WORKFLOW_ID_CHARACTERS, names="contracts")
_REF_ID = Text(most=MAX_WORKFLOW_ID_CHARACTERS, names="refs")
_PLAIN_PATH = PATH.pattern
_TIMES = Whole(least=1, most=MAX_ITERATIONS)
_PROOF_WANT = Word(values=get_args(ProofWant))
_REQUIRED = Text(
    most=ARTIFACT_KIND.most,
    pattern=ARTIFACT_KIND.pattern,
    wanted="Write notes, context.NAME or the kind of an artifact, such as wr.plan.",
    trouble="bad_value",
)

PROMPT_PART = ByType(shapes=(PROMPT, Named(name="ref_part")))
BLOCK = ByType(shapes=(PROMPT, Named(name="ref_part"), Items(of=PROMPT_PART, least=1, most=MAX_LIST_ITEMS)))
_WHEN = optional_key(WHEN, "The part is skipped where this condition does not hold.")
_CONFIRM = optional_key(
    CONFIRMATION, "Whether the user must confirm before the step is done: a boolean or a condition."
)


_PART_SHAPES: dict[str, Shape] = {
    "part": Tagged(
        description="One part of the workflow; without a type it is a step.",
        tag="type",
        records={name: name for name in ("step", "loop", "template_call", "choice", "action")},
        default="step",
        own_keys={"slot": "slot"},
    ),
    "step": Record(
        description="A step an agent does, or delegates.",
        one_of=("prompt", "promptBlocks", "delegate"),
        keys={
            "type": optional_key(Word(values=("step",)), "A step; may be left out."),
            "id": required_key(ID, "What everything else calls this step."),
            "title": required_key(TITLE, "What people see."),
            "prompt": optional_key(PROMPT, "What the agent reads."),
            "promptBlocks": optional_key(
                Named(name="prompt_blocks"), "The prompt in parts, rendered in a fixed order."
            ),
            "delegate": optional_key(
                Named(name="delegate"), "Work to delegate; such a step has a title and no prompt."
            ),
            "promptFragments": optional_key(
                Items(of=Named(name="fragment"), most=MAX_LIST_ITEMS), "Text added where its condition holds."
            ),
            "guidance": optional_key(PROSE_LIST, "Advice for this step, shown after the prompt."),
            "agentRole": optional_key(REMARK, "The stance for this step, instead of the workflow's."),
            "requireConfirmation": optional_key(
                STEP_CONFIRMATION,
                "Whether the user must confirm before the step is done: a boolean, a condition, or who.",
            ),
            "when": _WHEN,
            "output": optional_key(Named(name="output"), "What the step must deliver."),
            "validation": optional_key(
                Items(of=Named(name="rule"), most=MAX_LIST_ITEMS), "What the notes of the step must meet."
            ),
            "gates": optional_key(
                Items(of=Named(name="gate"), most=MAX_LIST_ITEMS), "Assessments the step must report."
            ),
            "functionRefs": optional_key(
                Items(of=NAME, most=MAX_LIST_ITEMS), "Names under functions whose text the agent needs here."
            ),
            "userOnly": optional_key(Named(name="user_only"), "Something only the user can give."),
            "evidence": optional_key(Named(name="step_evidence"), "What must be proven before it is done."),
            "requires": optional_key(
                Items(of=_REQUIRED, most=MAX_LIST_ITEMS),
                "What the step is not done without: notes, context.NAME or the kind of an artifact. The "
                "default of the input stands for a value that nobody sends.",
            ),
            "proof": optional_key(
                ByType(shapes=(_PROOF_WANT, Named(name="step_proof"))),
                "What the project's check must show about the change: proved, kept or passes.",
            ),
            "notesOptional": optional_key(
                Flag(),
                "Whether the step may be finished without notes; false: it may not, as where outputRequired "
                "names notes.",
            ),
        },
    ),
    "loop": Record(
        description="Parts that run more than once, never more than maxIterations times.",
        one_of=REPEATS,
        any_of=("loopId", "id"),
        keys={
            "type": tag_key("loop", "part"),
            "loopId": optional_key(ID, "What loop_control artifacts call this loop."),
            "id": optional_key(ID, "Stands for loopId where that is left out."),
            "title": optional_key(TITLE, "What people see."),
            "while": optional_key(WHEN, "Another iteration as long as the condition holds."),
            "until": optional_key(WHEN, "Iterations until the condition holds; the first one always runs."),
            "forEach": optional_key(Named(name="for_each"), "One iteration per item of an array input."),
            "count": optional_key(
                ByType(shapes=(_TIMES, Named(name="times"))), "A fixed number of iterations."
            ),
            "maxIterations": required_key(_TIMES, "The most iterations, whatever the condition says."),
            "body": required_key(PARTS, "What is repeated, in order."),
            "when": _WHEN,
        },
    ),
    "template_call": Record(
        description="Steps that a builtin template stands for.",
        keys={
            "type": tag_key("template_call", "part"),
            "id": optional_key(ID, "What the expanded steps' ids begin with."),
            "title": optional_key(TITLE, "What people see."),
            "templateId": required_key(_TEMPLATE_ID, "The template, such as wr.templates.verification_pass."),
            "args": optional_key(FREE_OBJECT, "The template's arguments."),
            "requireConfirmation": _CONFIRM,
            "when": _WHEN,
        },
    ),
    "choice": Record(
        description="Named options; each sets context and has a token of its own.",
        keys={
            "type": tag_key("choice", "part"),
            "id": required_key(ID, "What everything else calls this choice."),
            "title": required_key(TITLE, "What people see."),
            "prompt": required_key(PROMPT, "What to consider before choosing."),
            "options": required_key(
                Items(of=Named(name="option"), least=MIN_OPTIONS, most=MAX_OPTIONS), "The ways it can go."
            ),
            "nonAssumable": optional_key(_CHOICE_KIND, "Why an agent must not choose for the user."),
            "irreversible": optional_key(Flag(), "Whether no option can be undone."),
            "when": _WHEN,
        },
    ),
    "action": Record(
        description="An operation. `code.scan` and `code.edit` are run by Handrail itself, "
        "the others by the agent.",
        keys={
            "type": tag_key("action", "part"),
            "id": required_key(ID, "What everything else calls this action."),
            "title": optional_key(TITLE, "What people see; the operation unless written."),
            "operation": required_key(
                Text(most=MAX_WORKFLOW_ID_CHARACTERS), "Its name, such as workflow.list."
            ),
            "params": optional_key(FREE_OBJECT, "The operation's parameters."),
            "saveAs": optional_key(NAME, "The context value that gets the result."),
            "when": _WHEN,
        },
    ),
    "slot": Record(
        description="A place where a customisation may add parts; nothing while none does.",
        keys={
            "slot": required_key(ID, "What a customisation fills it by."),
            "title": optional_key(TITLE, "What people see."),
            "description": optional_key(REMARK, "What belongs here."),
            "when": optional_key(WHEN, "What is added here is skipped where this condition does not hold."),
        },
    ),
}

_INNER_SHAPES: dict[str, Shape] = {
    "delegate": Record(
        description="Work to delegate: one helper each, or one agent after the other. The step waits for it.",
        one_of=("children", "forEach"),
        keys={
            "children": optional_key(
                Items(of=Named(name="child"), least=1, most=MAX_CHILDREN), "What is delegated."
            ),
            "forEach": optional_key(
                Text(
                    most=2 * MAX_NAME_CHARACTERS,
                    pattern=rf"{_PLAIN_PATH}|\{{\{{ *{_PLAIN_PATH} *\}}\}}",
                    wanted='Write the name of a list, such as "{{slices}}".',
                ),
                "A list; child is delegated once for each of its items.",
            ),
            "as": optional_key(NAME, "With forEach: the input of the child that gets the item."),
            "child": optional_key(Named(name="child"), "With forEach: what is delegated for an item."),
            "needs": optional_key(
                ByType(shapes=(Word(values=("all",)), Named(name="needs"))),
                "How many must be done before the run goes on; all unless written.",
            ),
            "collect": optional_key(NAME, "The value that gets what the children deliver."),
            "nonAssumable": optional_key(
                _CHOICE_KIND, "Why an agent must not decide what becomes of a child that was closed."
            ),
        },
    ),
    "needs": Record(
        description="Fewer than all.",
        keys={"atLeast": required_key(Whole(least=1, most=MAX_CHILDREN), "How many must be done.")},
    ),
    "child": Record(
        description="Work that is delegated: a workflow by its id, or steps written here.",
        one_of=("workflow", "steps"),
        keys={
            "id": required_key(ID, "What everything else calls this piece of work."),
            "workflow": optional_key(WORKFLOW_ID, "The workflow that does it."),
            "title": optional_key(TITLE, "Of steps that are written here; what people see."),
            "steps": optional_key(PARTS, "The steps that do it; they see the values that they name."),
            "inputs": optional_key(
                FREE_OBJECT, "Its context values; a text may name values of this run, such as {{goal}}."
            ),
            "brief": optional_key(DESCRIPTION, "A sentence for whoever gets the work."),
            "when": optional_key(WHEN, "It is delegated only where this condition holds."),
        },
    ),
    "prompt_blocks": Record(
        description="A prompt in parts; each is a text, a ref, or a list of both.",
        any_of=("goal", "constraints", "procedure", "outputRequired", "verify"),
        keys={
            "goal": optional_key(BLOCK, "What is true when the step is done."),
            "constraints": optional_key(BLOCK, "What must not happen."),
            "procedure": optional_key(BLOCK, "What to do, in order."),
            "outputRequired": optional_key(
                Members(of=PROMPT_PART, name=Text(most=MAX_TITLE_CHARACTERS), most=MAX_LIST_ITEMS),
                "What to deliver: the name of each thing, and what it must hold. context.NAME is a value: "
                "the call of the step has a place for it until somebody sends it.",
            ),
            "verify": optional_key(BLOCK, "How to see that it worked."),
        },
    ),
    "ref_part": Record(
        description="A builtin text, put in when the workflow is compiled.",
        keys={
            "kind": required_key(Word(values=("ref",)), "Says that a builtin text is meant."),
            "refId": required_key(_REF_ID, "The ref, such as wr.refs.notes_first."),
        },
    ),
    "fragment": Record(
        description="Text added to the prompt where its condition holds.",
        keys={
            "id": optional_key(ID, "Tells fragments of one step apart."),
            "when": optional_key(
                WHEN, "The text is added where this condition holds; always unless written."
            ),
            "text": required_key(PROMPT, "The text."),
        },
    ),
    "output": Record(
        description="What a step must deliver besides notes.",
        any_of=("contractRef", "hints"),
        keys={
            "contractRef": optional_key(
                CONTRACT_ID, "The contract of the artifact, such as wr.contracts.plan."
            ),
            "hints": optional_key(PROSE_LIST, "What helps to get it right."),
        },
    ),
    "gate": Record(
        description="An assessment the step must report.",
        keys={
            "assessmentId": required_key(ID, "The id of an assessment under assessments."),
            "followups": optional_key(
                Members(of=PROSE, name=Text(most=MAX_TITLE_CHARACTERS), most=MAX_LIST_ITEMS),
                "Level to what must be done before the run goes on when any dimension has it.",
            ),
        },
    ),
    "user_only": Record(
        description="Something only the user can give.",
        keys={
            "reason": required_key(Word(values=get_args(UserOnlyReason)), "What is needed from the user."),
            "choiceKind": optional_key(
                _CHOICE_KIND, "With needs_user_choice: why nobody may choose for the user."
            ),
            "input": optional_key(PATH, "The declared input whose value answers it."),
        },
    ),
    "step_evidence": Record(
        description="What must be proven before the step is done.",
        keys={
            "check": required_key(NAME, "A check that the project declares. Means `proof: passes`."),
        },
    ),
    "step_proof": Record(
        description="A proof that the step wants, and how much.",
        keys={
            "wants": required_key(
                _PROOF_WANT,
                "proved: a test fails without the change and passes with it. kept: every old test passes. "
                "passes: the check passes.",
            ),
            "demand": optional_key(
                Word(values=("where_possible", "required")),
                "required: the step waits until the proof is right or a person accepts the gap; "
                "where_possible unless written, which stops the run once.",
            ),
            "base": optional_key(
                Word(values=("run",)), "In a loop: the change since the start of the run, not of the round."
            ),
        },
    ),
    "for_each": Record(
        description="One iteration per item of an array input.",
        keys={
            "input": required_key(PATH, "The array input."),
            "as": required_key(NAME, "The name of the current item in prompts and conditions."),
            "indexAs": optional_key(NAME, "The name of the current index, from 0."),
        },
    ),
    "times": Record(
        description="A fixed number of iterations with a named index.",
        keys={
            "times": required_key(_TIMES, "How many iterations."),
            "indexAs": optional_key(NAME, "The name of the current index, from 0."),
        },
    ),
    "option": Record(
        description="One way a choice can go.",
        keys={
            "id": required_key(ID, "What the choice is recorded as."),
            "label": required_key(TITLE, "What people see."),
            "description": optional_key(REMARK, "What follows from it."),
            "set": optional_key(
                Members(of=Anything(), name=NAME, most=MAX_LIST_ITEMS), "Context values this option sets."
            ),
            "irreversible": optional_key(
                Flag(), "Whether it cannot be undone; a person is asked a second time."
            ),
            "recommended": optional_key(Flag(), "Whether its author advises it; of one option at most."),
        },
    ),
}

PART_SHAPES: dict[str, Shape] = {**_PART_SHAPES, **_INNER_SHAPES}
