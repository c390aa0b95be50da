"""What an author may write as a condition, and wherever a condition is asked for. Pure."""

from __future__ import annotations

from typing import get_args

from handrail.workflows.conditions import Operator
from handrail.workflows.limits import MAX_LIST_ITEMS
from handrail.workflows.reading.shapes import (
    Anything,
    ByType,
    Flag,
    Items,
    Key,
    Named,
    Record,
    Shape,
    Tagged,
    Word,
)
from handrail.workflows.reading.words import ARTIFACT_KIND, CONDITION_ID, ID, PATH, key, needed

CONDITION_KINDS = ("always_true", "always_false", "compare", "and", "or", "not", "loop_control")
OPERATORS: tuple[str, ...] = get_args(Operator)

WHEN = Named(name="when")
CONFIRMATION = ByType(shapes=(Flag(), CONDITION_ID, Named(name="condition_place")))

_CONDITION = Named(name="condition")
_SEVERAL = Items(of=_CONDITION, least=1, most=MAX_LIST_ITEMS)

_KEYS: dict[str, dict[str, Key]] = {
    "always_true": {},
    "always_false": {},
    "compare": {
        "input": key(PATH, "A declared input or a loop variable; dotted for a member of one."),
        "artifact": key(ARTIFACT_KIND, "The kind of a validated artifact."),
        "field": key(PATH, "The member of the artifact to look at; dotted for a member of a member."),
        "op": needed(Word(values=OPERATORS), "How to compare."),
        "value": key(
            Anything(),
            "What to compare with: a list for in, a number or a text for gt, gte, lt and lte, "
            "a text, number or boolean for contains; exists takes true, false or nothing.",
        ),
        "lenient": key(
            Flag(),
            "Whether equals, not_equals, in and contains look past case and outer spaces, and a text equals "
            "the number or truth value that it spells.",
        ),
    },
    "and": {"of": needed(_SEVERAL, "Conditions that must all hold.")},
    "or": {"of": needed(_SEVERAL, "Conditions of which one must hold.")},
    "not": {"of": needed(_CONDITION, "The condition that must not hold.")},
    "loop_control": {
        "continueWhen": key(
            Word(values=("continue", "stop")),
            "The decision of the loop's last step with which the condition holds; continue unless written.",
        )
    },
}
_SAYS = {
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
    tag = needed(Word(values=(kind,)), "What kind of condition this is.")
    one_of = ("input", "artifact") if kind == "compare" else ()
    return Record(says=_SAYS[kind], keys={**own, "kind": tag, **_KEYS[kind]}, one_of=one_of)


CONDITION_SHAPES: dict[str, Shape] = {
    "condition": Tagged(
        says="A condition: one of a closed set of typed comparisons, no expression strings.",
        tag="kind",
        records={kind: kind for kind in CONDITION_KINDS},
    ),
    "declared_condition": Tagged(
        says="A condition that steps and loops name by its id.",
        tag="kind",
        records={kind: f"declared_{kind}" for kind in CONDITION_KINDS},
    ),
    "condition_ref": Record(
        says="A declared condition by its id.",
        keys={
            "kind": needed(Word(values=("condition_ref",)), "Says that a declared condition is meant."),
            "conditionId": needed(CONDITION_ID, "The id of a condition under conditions."),
        },
    ),
    "condition_place": Tagged(
        says="A reference to a declared condition, or a condition written in place.",
        tag="kind",
        records={"condition_ref": "condition_ref", **{kind: kind for kind in CONDITION_KINDS}},
    ),
    "when": ByType(shapes=(CONDITION_ID, Named(name="condition_place"))),
    **{kind: _condition(kind, {}) for kind in CONDITION_KINDS},
    **{
        f"declared_{kind}": _condition(kind, {"id": needed(ID, "What steps and loops call it.")})
        for kind in CONDITION_KINDS
    },
}
