"""What an author may write as a rule that the notes of a step must meet. Pure."""

from __future__ import annotations

from handrail.workflows.limits import MAX_LIST_ITEMS, MAX_NOTES_CHARACTERS, MAX_PATTERN_CHARACTERS
from handrail.workflows.reading.shapes import Items, Key, Named, Record, Shape, Tagged, Text, Whole, Word
from handrail.workflows.reading.words import FREE_OBJECT, ONE_TEXT, REMARK, key, needed

_LENGTH = Whole(least=0, most=MAX_NOTES_CHARACTERS)
_MESSAGE = key(REMARK, "What the agent reads when the rule is not met; a plain sentence unless written.")


def _type(name: str) -> Key:
    return needed(Word(values=(name,)), "What kind of rule this is.")


_RULES = Items(of=Named(name="rule"), least=1, most=MAX_LIST_ITEMS)
RULE_SHAPES: dict[str, Shape] = {
    "rule": Tagged(
        says="What the notes of a step must meet.",
        tag="type",
        records={
            "contains": "contains_rule",
            "regex": "regex_rule",
            "length": "length_rule",
            "schema": "schema_rule",
            "all": "all_rule",
            "any": "any_rule",
        },
    ),
    "contains_rule": Record(
        says="The notes hold this text, whatever its case.",
        keys={
            "type": _type("contains"),
            "value": needed(ONE_TEXT, "The text."),
            "message": _MESSAGE,
        },
    ),
    "regex_rule": Record(
        says="The notes match this pattern somewhere.",
        keys={
            "type": _type("regex"),
            "pattern": needed(
                Text(most=MAX_PATTERN_CHARACTERS), "A regular expression; no repetition inside a repetition."
            ),
            "flags": key(
                Text(
                    most=3,
                    may_be_blank=True,
                    pattern=r"(?!.*(.).*\1)[ims]*",
                    wanted="Use i (any case), m (lines) and s (dot matches line ends), each once.",
                    trouble="bad_value",
                ),
                "i: any case, m: lines, s: dot matches line ends.",
            ),
            "message": _MESSAGE,
        },
    ),
    "length_rule": Record(
        says="The notes have this many characters.",
        any_of=("minimum", "maximum"),
        keys={
            "type": _type("length"),
            "minimum": key(_LENGTH, "At least this many."),
            "maximum": key(_LENGTH, "At most this many."),
            "message": _MESSAGE,
        },
    ),
    "schema_rule": Record(
        says="The notes are a JSON document of this schema.",
        keys={
            "type": _type("schema"),
            "schema": needed(FREE_OBJECT, "A JSON Schema (2020-12)."),
            "message": _MESSAGE,
        },
    ),
    "all_rule": Record(
        says="Every one of these rules is met.",
        keys={"type": _type("all"), "of": needed(_RULES, "The rules.")},
    ),
    "any_rule": Record(
        says="One of these rules is met.",
        keys={"type": _type("any"), "of": needed(_RULES, "The rules.")},
    ),
}
