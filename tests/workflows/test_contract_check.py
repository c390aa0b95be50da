"""Documents against schemas: every violation, in one order, in our own words. The oracle is `jsonschema`."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from handrail.workflows.builtins.contracts import CONTRACTS
from handrail.workflows.builtins.specs import ContractSpec
from handrail.workflows.compiled import Contract
from handrail.workflows.contracts.check import (
    MAX_VIOLATIONS,
    Violation,
    check_contract_schema,
    find_violations,
    fitting_example,
)
from tests.cases import every_case

REPORT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"const": "acme.report"},
        "state": {"enum": ["ready", "blocked"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "title": {"type": "string", "minLength": 3, "maxLength": 5, "pattern": "^[a-z]"},
        "items": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
        },
        "note": {"type": ["string", "null"]},
    },
    "required": ["kind", "state"],
    "additionalProperties": False,
}
FITS: dict[str, Any] = {"kind": "acme.report", "state": "ready"}

every_contract = every_case("contract", CONTRACTS)


def check(document: Any, *expected: tuple[str, str, str]) -> None:
    found = find_violations(REPORT, document)

    assert [(each.pointer, each.rule, each.message) for each in found] == list(expected)


@pytest.mark.parametrize(
    "document",
    [
        FITS,
        FITS | {"count": 1, "title": "abc", "items": [{"id": "x", "more": 1}], "note": None},
        FITS | {"count": 9.0, "title": "abcde"},
    ],
)
def test_a_document_that_fits_has_no_violations(document: Any) -> None:
    check(document)


@every_case(
    ("document", "pointer", "rule", "message"),
    [
        ({"kind": "acme.report"}, "/state", "required", '"state" is missing.'),
        (FITS | {"stat": 1}, "/stat", "additionalProperties", '"stat" is not known; did you mean state?'),
        (
            FITS | {"zzzzzzzz": 1},
            "/zzzzzzzz",
            "additionalProperties",
            '"zzzzzzzz" is not known; it takes kind, state, count, title, items, note.',
        ),
        (FITS | {"kind": "acme.other"}, "/kind", "const", 'It must be "acme.report".'),
        (
            FITS | {"state": "redy"},
            "/state",
            "enum",
            'It must be one of "ready", "blocked". Did you mean "ready"?',
        ),
        (FITS | {"state": True}, "/state", "enum", 'It must be one of "ready", "blocked".'),
        (FITS | {"count": "two"}, "/count", "type", "It must be a whole number, not a text."),
        (FITS | {"count": True}, "/count", "type", "It must be a whole number, not true."),
        (FITS | {"count": 0}, "/count", "minimum", "It must be at least 1."),
        (FITS | {"count": 10}, "/count", "maximum", "It must be at most 9."),
        (FITS | {"title": "ab"}, "/title", "minLength", "It needs at least 3 characters."),
        (FITS | {"title": "abcdef"}, "/title", "maxLength", "It may have at most 5 characters; it has 6."),
        (FITS | {"title": "Abc"}, "/title", "pattern", 'It must match the pattern "^[a-z]".'),
        (FITS | {"items": []}, "/items", "minItems", "It needs at least 1 item; it has 0."),
        (
            FITS | {"items": [{"id": "a"}] * 3},
            "/items",
            "maxItems",
            "It may have at most 2 items; it has 3.",
        ),
        (FITS | {"items": [{"id": "a"}, {}]}, "/items/1/id", "required", '"id" is missing.'),
        (FITS | {"items": {"id": "a"}}, "/items", "type", "It must be a list, not an object."),
        (FITS | {"note": ["a"]}, "/note", "type", "It must be null or a text, not a list."),
        (["a"], "", "type", "It must be an object, not a list."),
        (None, "", "type", "It must be an object, not null."),
        (FITS | {"a/b~c": 1}, "/a~1b~0c", "additionalProperties", None),
    ],
)
def test_a_violation_has_its_place_its_rule_and_a_sentence(
    document: Any, pointer: str, rule: str, message: str | None
) -> None:
    found = find_violations(REPORT, document)

    assert [(each.pointer, each.rule) for each in found] == [(pointer, rule)]
    assert message is None or found[0].message == message


def test_all_violations_come_at_once_by_place() -> None:
    check(
        {"kind": "x", "count": 0, "items": [{"id": 1}, {}, 3], "extra": 1},
        ("/count", "minimum", "It must be at least 1."),
        (
            "/extra",
            "additionalProperties",
            '"extra" is not known; it takes kind, state, count, title, items, note.',
        ),
        ("/items", "maxItems", "It may have at most 2 items; it has 3."),
        ("/items/0/id", "type", "It must be a text, not a number."),
        ("/items/1/id", "required", '"id" is missing.'),
        ("/items/2", "type", "It must be an object, not a number."),
        ("/kind", "const", 'It must be "acme.report".'),
        ("/state", "required", '"state" is missing.'),
    )


def test_the_order_does_not_depend_on_the_order_of_keys() -> None:
    document = {"kind": "x", "count": 0, "extra": 1, "other": 2}
    turned = dict(reversed(document.items()))

    assert find_violations(REPORT, document) == find_violations(REPORT, turned)


def test_item_two_stands_before_item_ten() -> None:
    schema = {"type": "array", "items": {"type": "string"}}
    document = ["a", "a", 2, *["a"] * 7, 10]

    assert [each.pointer for each in find_violations(schema, document)] == ["/2", "/10"]


def test_many_violations_are_counted_instead_of_listed() -> None:
    schema = {"type": "array", "items": {"type": "string"}}

    found = find_violations(schema, [1] * 1_000)

    assert len(found) == MAX_VIOLATIONS + 1
    assert found[-1] == Violation(pointer="", rule="more", message="There are 950 more; fix these first.")
    assert {each.rule for each in find_violations(schema, [1] * 50)} == {"type"}


def test_a_blank_text_is_said_in_plain_words() -> None:
    assert find_violations({"pattern": r"\S"}, "  ")[0].message == "It must not be blank."


def test_a_long_value_is_not_repeated() -> None:
    found = find_violations(REPORT, FITS | {"state": "x" * 100_000, "y" * 100_000: 1})

    assert all(len(each.message) < 300 for each in found)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@every_case(
    "document",
    [nested(5_000), {"kind": "\ud800"}, {"n": object()}, {1: 2}, {"n": 10**400}, float("nan"), b"x"],
)
def test_an_odd_document_is_a_finding_and_never_an_exception(document: Any) -> None:
    assert find_violations(REPORT, document) != []


@every_case(
    "schema",
    [
        {"$ref": "http://localhost:1/x.json"},
        {"$ref": "file:///etc/hostname"},
        {"$ref": "#/$defs/nothing"},
        {"type": "strin"},
        {"pattern": "("},
        {"pattern": "(?=a)b"},
        {"minItems": "three"},
    ],
)
def test_an_unusable_schema_is_a_finding_and_fetches_nothing(schema: dict[str, Any]) -> None:
    (found,) = find_violations(schema, {})

    assert found.rule == "unreadable"
    assert found.message.startswith("It cannot be checked: ")


def test_a_reference_to_a_file_that_exists_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"type": "string"}', encoding="utf-8")

    (found,) = find_violations({"$ref": other.as_uri()}, 3)

    assert found.rule == "unreadable"


def test_formats_are_not_checked() -> None:
    assert find_violations({"type": "string", "format": "email"}, "nobody") == []


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 12), st.sampled_from(["", "ready", "abc", "abcdef"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["id", "kind", "state", "items", "x"]), inner, max_size=3),
    ),
    max_leaves=6,
)


@given(changes=st.dictionaries(st.sampled_from([*REPORT["properties"], "other"]), json_values, max_size=4))
def test_another_library_finds_violations_at_the_same_places(changes: dict[str, Any]) -> None:
    document = FITS | changes

    found = {(each.pointer, each.rule) for each in find_violations(REPORT, document)}

    expected = set()
    for error in Draft202012Validator(REPORT).iter_errors(document):
        place = "".join(f"/{part}" for part in error.absolute_path)
        if error.validator == "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            expected |= {(f"{place}/{name}", "required") for name in missing}
        elif error.validator == "additionalProperties":
            unknown = [name for name in error.instance if name not in REPORT["properties"]]
            expected |= {(f"{place}/{name}", "additionalProperties") for name in unknown}
        else:
            expected.add((place, str(error.validator)))
    assert found == expected


def test_the_validator_is_loaded_only_when_something_is_checked() -> None:
    program = (
        "import sys, handrail.workflows.contracts.check, handrail.workflows.builtins.templates; "
        "print('jsonschema_rs' in sys.modules)"
    )

    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True
    ).stdout

    assert printed == "False\n"


def of_kind(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"kind": {"const": "acme.x"}, **properties}, "required": ["kind"]}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


@every_case(
    ("schema", "pointer", "says", "fix"),
    [
        (
            of_kind(a={"anyOf": []}),
            "/properties/a/anyOf",
            'Contracts do not use the keyword "anyOf".',
            "Use only additionalProperties, const,",
        ),
        (of_kind(a={"minLenght": 3}), "/properties/a/minLenght", '"minLenght"', "Did you mean minLength?"),
        (
            of_kind(a={"type": "text"}),
            "/properties/a/type",
            '"text" is not a type.',
            "Did you mean string?",
        ),
        (
            of_kind(a={"type": "strin"}),
            "/properties/a/type",
            '"strin" is not a type.',
            "Did you mean string?",
        ),
        (of_kind(a={"type": ["string", "date"]}), "/properties/a/type", '"date" is not a type.', ""),
        (of_kind(a=3), "/properties/a", "A schema must be an object.", "Write an object with a type."),
        (
            of_kind(a={"$ref": "http://example.org/x"}),
            "/properties/a/$ref",
            'The reference "http://example.org/x" leaves the document.',
            "Put the schema under $defs",
        ),
        (
            of_kind(a={"$ref": "#"}),
            "/properties/a/$ref",
            "names the schema that it stands in",
            "Put the schema under $defs",
        ),
        (of_kind(a={"$ref": "#/$defs/b"}), "/properties/a/$ref", 'no definition "b".', "Add it under $defs."),
        (
            of_kind(a={"$ref": "#/$defs/b", "minimum": 1}) | {"$defs": {"b": {"type": "integer"}}},
            "/properties/a/minimum",
            '"minimum" stands beside a $ref.',
            "Move it into the definition",
        ),
        (
            of_kind(a={"$ref": "#/$defs/b"})
            | {"$defs": {"b": {"type": "array", "items": {"$ref": "#/$defs/b"}}}},
            "/$defs/b",
            'The definition "b" contains itself.',
            "Write the levels out",
        ),
        (of_kind() | {"$defs": {"b": {"oneOf": []}}}, "/$defs/b/oneOf", '"oneOf"', "Use only"),
        (
            of_kind() | {"$schema": "http://json-schema.org/draft-07/schema#"},
            "/$schema",
            "The dialect",
            "Remove $schema",
        ),
        (of_kind() | {"$id": "urn:x"}, "/$id", '"$id"', "Use only"),
        ({"type": "string"}, "", "The schema does not describe an object.", "an artifact is an object"),
        (of_kind(a=deep(20)), "/properties/a" + "/items" * 16, "nested deeper than 16 levels", "Flatten it"),
        (
            of_kind() | {"$defs": {"b": {"pattern": "("}}},
            "/$defs/b/pattern",
            "not a regular expression",
            "plainer",
        ),
        (of_kind(a={"pattern": "(?=a)b"}), "/properties/a/pattern", "look-around", "plainer"),
        (of_kind(a={"minItems": -1}), "/properties/a/minItems", 'keyword "minItems"', "Correct the value"),
        (of_kind(a={"description": "x" * 17_000}), "", "the limit is 16384", "Ask for less"),
        (of_kind(a={"const": 2**60}), "", "not plain JSON", "Write it with"),
    ],
)
def test_schema_outside_the_subset_is_refused_with_a_fix(
    schema: Any, pointer: str, says: str, fix: str
) -> None:
    (trouble,) = check_contract_schema(schema)

    assert trouble.pointer == pointer
    assert says in trouble.message
    assert fix in trouble.fix


@every_case(
    "schema",
    [
        of_kind(),
        REPORT,
        of_kind(a={"type": "string", "title": "A", "description": "An a.", "examples": ["x"]}),
        of_kind(a={"$ref": "#/$defs/b"}) | {"$defs": {"b": {"type": "integer"}}},
        of_kind(a=True) | {"$schema": "https://json-schema.org/draft/2020-12/schema"},
        of_kind(a={"type": "object", "additionalProperties": {"type": "string"}}),
    ],
)
def test_a_schema_inside_the_subset_is_allowed(schema: dict[str, Any]) -> None:
    assert check_contract_schema(schema) == []


@every_case("schema", [None, 3, "x", [], True])
def test_what_is_no_schema_at_all_is_refused(schema: Any) -> None:
    assert check_contract_schema(schema) != []


def test_all_troubles_of_a_schema_come_at_once() -> None:
    schema = of_kind(a={"anyOf": []}, b={"type": "text"}, c={"$ref": "http://example.org/x"})

    assert [trouble.pointer for trouble in check_contract_schema(schema)] == [
        "/properties/a/anyOf",
        "/properties/b/type",
        "/properties/c/$ref",
    ]


@given(
    schema=st.recursive(
        st.one_of(
            st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["string", "#/$defs/a", "("])
        ),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(
                    [
                        *("type", "properties", "required", "enum", "items", "minItems"),
                        *("$ref", "$defs", "a", "pattern"),
                    ]
                ),
                inner,
                max_size=4,
            ),
        ),
        max_leaves=12,
    )
)
@example(schema={"type": [], "properties": None, "$defs": None})
def test_any_schema_is_refused_or_can_be_used(schema: Any) -> None:
    """Checking any schema never raises and what is allowed can be used."""
    if check_contract_schema(schema) == []:
        assert "unreadable" not in {each.rule for each in find_violations(schema, {})}


def contract(schema: dict[str, Any], example: dict[str, Any] | None = None) -> Contract:
    return Contract(artifact_kind="acme.x", schema=schema, example=example or {}, guidance="Do it.")


@every_contract
def test_the_example_of_a_builtin_is_its_own_and_safe_to_change(contract: ContractSpec) -> None:
    before = copy.deepcopy(contract.example)

    example = fitting_example(contract.compiled())
    example["kind"] = "changed"
    for value in example.values():
        if isinstance(value, list):
            value.clear()

    assert contract.example == before


def test_an_example_that_does_not_fit_is_not_shown() -> None:
    schema = of_kind(a={"type": "integer"}) | {"required": ["kind", "a"]}

    assert fitting_example(contract(schema, {"kind": "acme.x", "a": 1})) == {"kind": "acme.x", "a": 1}
    assert fitting_example(contract(schema, {"kind": "acme.x", "a": "one"})) == {}
    assert fitting_example(contract(schema)) == {}
