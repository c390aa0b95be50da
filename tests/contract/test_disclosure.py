"""Disclosure of payloads: levels, relations, fields by name, one bare value, `_untrusted`, windows."""

from __future__ import annotations

import pytest

from handrail.contract.catalogue import (
    BUDGET_EXCEEDED,
    E_NOT_FOUND,
    EXPAND_UNKNOWN,
    FIELD_CONFLICT,
    FIELD_UNKNOWN,
    RUN_NOT_FOUND,
    Kind,
)
from handrail.contract.disclosure.disclose import disclose
from handrail.contract.disclosure.fields import Ask, Shape
from handrail.contract.disclosure.named_fields import select_field
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Failure, Fault, Json, Notice, Page, Success
from tests.cases import every_case

LISTING = Shape(
    levels={
        "minimal": ("id", "status"),
        "standard": ("id", "status", "title", "owner"),
        "full": ("id", "status", "title", "owner", "body"),
    },
    id_field="id",
    select="items",
    relations=("runs", "runs.nodes", "runs.nodes.events"),
    untrusted=("title", "owner.name"),
)
ENTITY = Shape(
    levels={"minimal": ("id",), "standard": ("id", "name"), "full": None}, id_field="id", select="entity:task"
)
REPLY = Shape(
    levels={"minimal": ("kind", "nextCall"), "standard": None, "full": None},
    select="top",
    required=("kind", "nextCall"),
)


def row(number: int, **more: Json) -> dict[str, Json]:
    return {
        "id": f"s{number}",
        "status": "open",
        "title": f"T{number}",
        "owner": {"name": "Ann", "mail": "a@b"},
        "body": "long",
        **more,
    }


def listing(*items: Json, **data: Json) -> Success:
    return Success(data=data, page=Page(items=items, sort_keys=tuple((str(i),) for i in range(len(items)))))


def unmeasured(_: Success) -> int:
    raise AssertionError("nothing is measured without a budget")


def shown(success: Success, shape: Shape | None, ask: Ask) -> Success:
    outcome = disclose(success, shape, ask, unmeasured)
    assert isinstance(outcome, Success), outcome
    return outcome


def check(success: Success, shape: Shape | None, ask: Ask, expected: Json) -> Success:
    """The payload that is shown, keys in the same order."""
    outcome = shown(success, shape, ask)
    payload = payload_of(outcome)
    assert payload == expected
    if isinstance(payload, dict):
        assert list(payload) == list(expected)
    return outcome


def check_refused(success: Success, shape: Shape | None, ask: Ask, kind: Kind) -> Failure:
    outcome = disclose(success, shape, ask, unmeasured)
    assert isinstance(outcome, Failure)
    assert outcome.kind is kind
    return outcome


def paged(*items: Json, **more: Json) -> dict[str, Json]:
    return {"items": list(items), "count": len(items), "next_cursor": None, "has_more": False, **more}


def test_a_failure_passes_unchanged() -> None:
    failure = Failure(kind=RUN_NOT_FOUND, message="No such run.", details={})

    assert disclose(failure, LISTING, Ask(mvi="minimal", fields=("id",)), unmeasured) is failure


@pytest.mark.parametrize(
    ("ask", "keys"),
    [
        (Ask(mvi="minimal"), ["id", "status"]),
        (Ask(), ["id", "status", "title", "owner", "_untrusted"]),
        (Ask(mvi="full"), ["id", "status", "title", "owner", "body", "_untrusted"]),
    ],
)
def test_a_level_shows_its_declared_fields(ask: Ask, keys: list[str]) -> None:
    outcome = shown(listing(row(1), row(2)), LISTING, ask)

    assert outcome.disclosure == ask.mvi
    assert outcome.page is not None
    assert [list(item) for item in outcome.page.items] == [keys, keys]


def test_a_level_leaves_the_wrapper_and_other_items_alone() -> None:
    check(
        listing(row(1), "odd", 7, scope="here"),
        LISTING,
        Ask(mvi="minimal"),
        paged({"id": "s1", "status": "open"}, "odd", 7, scope="here"),
    )


def test_a_level_applies_inside_the_entity() -> None:
    success = Success(data={"task": {"id": 1, "name": "n", "body": "b"}, "project": "p"})

    check(success, ENTITY, Ask(mvi="minimal"), {"task": {"id": 1}, "project": "p"})
    check(success, ENTITY, Ask(), {"task": {"id": 1, "name": "n"}, "project": "p"})
    check(success, ENTITY, Ask(mvi="full"), {"task": {"id": 1, "name": "n", "body": "b"}, "project": "p"})


def test_an_entity_may_be_several_or_missing() -> None:
    check(
        Success(data={"task": [{"id": 1, "name": "n"}, {"id": 2, "name": "m"}]}),
        ENTITY,
        Ask(mvi="minimal"),
        {"task": [{"id": 1}, {"id": 2}]},
    )
    check(Success(data={"task": None}), ENTITY, Ask(mvi="minimal"), {"task": None})
    check(Success(data={}), ENTITY, Ask(mvi="minimal"), {})


def test_an_array_may_be_a_tuple() -> None:
    batch = Success(data={"items": ({"id": 1, "more": 2},), "summary": {"total": 1}})
    shape = Shape(levels={"minimal": ("id",)}, id_field="id", select="items", untrusted=("id",))

    check(
        batch,
        shape,
        Ask(mvi="minimal"),
        {"items": [{"id": 1, "_untrusted": ["id"]}], "summary": {"total": 1}},
    )
    check(Success(data={"task": ({"id": 1, "b": 2},)}), ENTITY, Ask(mvi="minimal"), {"task": [{"id": 1}]})
    check(Success(data={"tasks": ({"a": 1, "b": 2},)}), None, Ask(fields=("a",)), {"tasks": [{"a": 1}]})


def test_without_a_shape_a_level_changes_nothing_but_its_name() -> None:
    outcome = check(Success(data={"a": 1}), None, Ask(mvi="minimal"), {"a": 1})

    assert outcome.disclosure == "minimal"


def expanded_row() -> dict[str, Json]:
    return row(1, runs=[{"id": "r1", "nodes": [{"id": "n1", "events": [1, 2]}]}])


@every_case(
    ("names", "runs"),
    [
        (("runs",), [{"id": "r1"}]),
        (("runs.nodes",), [{"id": "r1", "nodes": [{"id": "n1"}]}]),
        (("runs.nodes.events",), [{"id": "r1", "nodes": [{"id": "n1", "events": [1, 2]}]}]),
    ],
)
@every_case("level", ["minimal", "standard", "full"])
def test_relations_appear_only_when_expanded_at_every_level(
    names: tuple[str, ...], runs: Json, level: str
) -> None:
    mvi = {"minimal": Ask(mvi="minimal"), "standard": Ask(), "full": Ask(mvi="full")}[level].mvi

    plain = shown(listing(expanded_row()), LISTING, Ask(mvi=mvi))
    asked = shown(listing(expanded_row()), LISTING, Ask(mvi=mvi, expand=names))

    assert plain.page is not None
    assert asked.page is not None
    assert "runs" not in plain.page.items[0]
    assert asked.page.items[0]["runs"] == runs


def test_an_unknown_expansion_is_refused_with_what_is_offered() -> None:
    refusal = check_refused(
        listing(row(1)), LISTING, Ask(expand=("owner", "runs", "x" * 200)), EXPAND_UNKNOWN
    )

    assert refusal.details == {
        "unknown": ["owner", "x" * 80],
        "valid": ["runs", "runs.nodes", "runs.nodes.events"],
    }
    assert refusal.message == '"owner" and 1 more cannot be expanded here.'
    check_refused(Success(data={}), None, Ask(expand=("runs",)), EXPAND_UNKNOWN)


def test_expansion_ends_after_three_relations() -> None:
    refusal = check_refused(
        listing(row(1)), LISTING, Ask(expand=("runs.nodes.events.causes",)), BUDGET_EXCEEDED
    )

    assert refusal.details == {"constraint": "depth", "budget": 3, "measured": 4}
    check_refused(listing(row(1)), LISTING, Ask(expand=("a.b.c.d",)), EXPAND_UNKNOWN)


@pytest.mark.promise("cli.fields")
@pytest.mark.parametrize("name", ["status", "items.status"])
def test_fields_project_each_item_and_keep_id_and_paging(name: str) -> None:
    outcome = check(
        listing(row(1), row(2), scope="here"),
        LISTING,
        Ask(fields=(name,)),
        paged({"id": "s1", "status": "open"}, {"id": "s2", "status": "open"}, scope="here"),
    )

    assert outcome.disclosure == "custom"
    assert outcome.notices == ()


@pytest.mark.promise("cli.dotted-fields")
def test_fields_reach_beyond_the_level_and_into_objects() -> None:
    check(
        listing(row(1)),
        LISTING,
        Ask(mvi="minimal", fields=("body", "owner.name")),
        paged({"id": "s1", "owner": {"name": "Ann"}, "body": "long", "_untrusted": ["owner.name"]}),
    )


def test_naming_a_wrapper_key_loses_no_items() -> None:
    outcome = check(
        listing(row(1), scope="here"),
        LISTING,
        Ask(fields=("count", "scope", "status")),
        paged({"id": "s1", "status": "open"}, scope="here"),
    )
    check(listing(row(1)), LISTING, Ask(fields=("count",)), paged({"id": "s1"}))
    whole = shown(listing(row(1)), LISTING, Ask(fields=("items",)))

    assert outcome.notices == ()
    assert whole.page is not None
    assert list(whole.page.items[0]) == ["id", "status", "title", "owner", "body", "_untrusted"]


def test_some_unknown_names_are_ignored_with_a_notice() -> None:
    outcome = check(
        listing(row(1)),
        LISTING,
        Ask(fields=("status", "colour", "owner.age")),
        paged({"id": "s1", "status": "open"}),
    )

    assert outcome.notices == (
        Notice(
            type="unknown_fields",
            message="2 unknown field names ignored",
            extra={
                "names": ["colour", "owner.age"],
                "valid": [
                    *("id", "status", "title", "owner", "body"),
                    *("runs", "runs.nodes", "runs.nodes.events"),
                ],
            },
        ),
    )


def test_one_unknown_name_is_counted_in_the_singular() -> None:
    outcome = shown(listing(row(1)), None, Ask(fields=("id", "colour")))

    assert [notice.message for notice in outcome.notices] == ["1 unknown field name ignored"]
    assert outcome.notices[0].extra["valid"] == ["id", "status", "title", "owner", "body"]


@pytest.mark.promise("cli.fields")
def test_only_unknown_names_are_refused_with_the_valid_set() -> None:
    refusal = check_refused(listing(row(1)), LISTING, Ask(fields=("colour", "y" * 99)), FIELD_UNKNOWN)

    assert refusal.details["unknown"] == ["colour", "y" * 80]
    assert refusal.details["valid"][:5] == ["id", "status", "title", "owner", "body"]


@every_case(
    ("data", "names", "expected"),
    [
        ([row(1), "odd", None], ("status",), [{"id": row(1)["id"], "status": "open"}, "odd", None]),
        ([{"a": 1, "b": 2}, {"a": 3}], ("items.a",), [{"a": 1}, {"a": 3}]),
        (["a", "b"], ("status",), ["a", "b"]),
        ([], ("status",), []),
        ({"a": 1, "b": 2, "c": {"d": 3, "e": 4}}, ("c.d", "a"), {"a": 1, "c": {"d": 3}}),
        ({"task": {"a": 1, "b": 2}, "total": 7}, ("a",), {"task": {"a": 1}, "total": 7}),
        ({"tasks": [{"a": 1, "b": 2}, 5], "n": 1}, ("a", "z"), {"tasks": [{"a": 1}, 5], "n": 1}),
    ],
)
def test_names_mean_top_level_keys_without_a_shape(
    data: Json, names: tuple[str, ...], expected: Json
) -> None:
    check(Success(data=data), None, Ask(fields=names), expected)


@pytest.mark.parametrize(
    ("data", "valid"),
    [
        ({"a": 1, "b": 2}, ["a", "b"]),
        ({"task": {"a": 1}, "n": 2}, ["a"]),
        ([{"a": 1}, {"b": 2, "_untrusted": ["b"]}], ["a", "b"]),
    ],
)
def test_without_a_shape_unknown_names_never_return_everything(data: Json, valid: list[str]) -> None:
    refusal = check_refused(Success(data=data), None, Ask(fields=("x", "y.z")), FIELD_UNKNOWN)

    assert refusal.details == {"unknown": ["x", "y.z"], "valid": valid}


@pytest.mark.parametrize(
    ("data", "names", "expected"),
    [
        ({"run_id": "r", "as_id": "x", "a": 1, "b": 2}, ("b",), {"run_id": "r", "b": 2}),
        ({"a": 1, "id": "i", "b_id": "x"}, ("a",), {"a": 1, "id": "i"}),
        (
            {"sessionId": "s", "runs": [{"id": "r", "status": "ok", "n": 1}], "a": 1},
            ("runs.status",),
            {"sessionId": "s", "runs": [{"id": "r", "status": "ok"}]},
        ),
        ({"a": 1, "b": 2}, ("a",), {"a": 1}),
    ],
)
@pytest.mark.promise("cli.fields")
def test_choice_of_fields_keeps_every_id(data: Json, names: tuple[str, ...], expected: Json) -> None:
    shape = Shape(levels={"minimal": ("a",)}, select="top")

    check(Success(data=data), shape, Ask(fields=names), expected)


@pytest.mark.parametrize("ask", [Ask(fields=("title",)), Ask(mvi="minimal")])
def test_own_text_is_not_called_outside_text(ask: Ask) -> None:
    shape = Shape(
        levels={"minimal": ("id", "title")},
        id_field="id",
        select="items",
        untrusted=("title",),
        trusted_where=("kind", "bundled"),
    )
    rows = [{"id": "1", "title": "ours", "kind": "bundled"}, {"id": "2", "title": "theirs", "kind": "user"}]

    expected = [{"id": "1", "title": "ours"}, {"id": "2", "title": "theirs", "_untrusted": ["title"]}]
    check(Success(data={"items": rows}), shape, ask, {"items": expected})


def test_fields_of_a_run_reply_keep_what_is_required() -> None:
    success = Success(
        data={"kind": "ok", "pending": {"title": "t", "prompt": "p"}, "nextCall": {"tool": "c"}}
    )

    check(
        success,
        REPLY,
        Ask(fields=("pending.title",)),
        {"kind": "ok", "pending": {"title": "t"}, "nextCall": {"tool": "c"}},
    )


def test_fields_inside_an_entity_with_and_without_its_name() -> None:
    success = Success(data={"task": {"id": 1, "name": "n", "body": "b"}, "project": "p"})

    for name in ("body", "task.body"):
        check(success, ENTITY, Ask(fields=(name,)), {"task": {"id": 1, "body": "b"}, "project": "p"})
    whole = {"task": {"id": 1, "name": "n", "body": "b"}, "project": "p"}
    check(success, ENTITY, Ask(fields=("task",)), whole)
    check(success, ENTITY, Ask(fields=("project",)), {"task": {"id": 1}, "project": "p"})


def test_expanded_parts_stay_unless_fields_inside_were_picked() -> None:
    item = row(1, runs=[{"id": "r1", "at": "now"}])

    check(
        listing(item),
        LISTING,
        Ask(fields=("status",), expand=("runs",)),
        paged({"id": "s1", "status": "open", "runs": [{"id": "r1", "at": "now"}]}),
    )
    check(
        listing(item),
        LISTING,
        Ask(fields=("runs.id",), expand=("runs",)),
        paged({"id": "s1", "runs": [{"id": "r1"}]}),
    )


def test_empty_list_refuses_only_ruled_out_names() -> None:
    half_declared = Shape(levels={"minimal": ("id",), "full": None}, id_field="id", select="items")

    check(listing(), LISTING, Ask(fields=("title",)), paged())
    check(listing(), half_declared, Ask(fields=("anything",)), paged())
    check(listing(), None, Ask(fields=("anything",)), paged())
    check_refused(listing(), LISTING, Ask(fields=("anything",)), FIELD_UNKNOWN)


def test_a_declared_field_that_is_null_or_missing_here_is_known() -> None:
    item = {"id": "s1", "status": None}

    check(
        listing(item), LISTING, Ask(fields=("title.part", "status.part")), paged({"id": "s1", "status": None})
    )


@pytest.mark.promise("cli.fields")
def test_untrusted_names_stand_per_item_with_their_field() -> None:
    outcome = shown(listing(row(1), row(2)), LISTING, Ask(fields=("title",)))

    assert outcome.page is not None
    assert [item["_untrusted"] for item in outcome.page.items] == [["title"], ["title"]]


def test_field_and_fields_exclude_each_other() -> None:
    refusal = check_refused(
        listing(row(1)), LISTING, Ask(field="id", fields=("id", "status")), FIELD_CONFLICT
    )

    assert refusal.details == {"field": "id", "fields": ["id", "status"]}


def test_a_page_shows_no_more_than_its_limit() -> None:
    page = Page(items=(1, 2, 3), sort_keys=(("a",), ("b",), ("c",)), limit=2)

    outcome = shown(Success(data={}, page=page), None, Ask())

    assert outcome.page == Page(items=(1, 2), sort_keys=(("a",), ("b",)), limit=2, has_more=True)


VALUES = {
    "text": "a\nb",
    "number": 1.5,
    "large": 2**60,
    "yes": True,
    "nothing": None,
    "object": {"ä": [1, 2]},
    "list": [{"id": "first"}, {"id": "second"}],
}


@every_case(
    ("name", "expected"),
    [
        ("text", "a\nb"),
        ("number", "1.5"),
        ("large", "1152921504606846976"),
        ("yes", "true"),
        ("nothing", "null"),
        ("object", '{"ä":[1,2]}'),
        ("object.ä", "[1,2]"),
        ("list.id", "first"),
    ],
)
def test_one_field_is_printed_as_a_bare_value(name: str, expected: str) -> None:
    assert select_field(Success(data=VALUES), None, name) == expected


@every_case(
    ("success", "shape", "name", "expected"),
    [
        (listing(row(1), row(2)), LISTING, "count", "2"),
        (listing(row(1), row(2)), LISTING, "title", "T1"),
        (listing(row(1), row(2)), LISTING, "items.title", "T1"),
        (listing(row(1), scope="here"), LISTING, "scope", "here"),
        (Success(data=[{"id": 7}]), None, "id", "7"),
        (Success(data={"task": {"id": 1, "name": "n"}}), ENTITY, "name", "n"),
        (Success(data={"task": {"id": 1, "name": "n"}}), ENTITY, "task", '{"id":1,"name":"n"}'),
    ],
)
def test_field_is_looked_for_on_top_in_list_then_entity(
    success: Success, shape: Shape | None, name: str, expected: str
) -> None:
    assert select_field(success, shape, name) == expected


@pytest.mark.parametrize(
    ("success", "shape", "name"),
    [
        (listing(row(1)), LISTING, "colour"),
        (listing(), LISTING, "colour"),
        (Success(data={"a": {"b": 1}}), None, "b"),
        (Success(data={"a": 1}), None, "a.b"),
    ],
)
def test_a_field_that_no_schema_knows_is_refused(success: Success, shape: Shape | None, name: str) -> None:
    with pytest.raises(Fault) as raised:
        select_field(success, shape, name)

    assert raised.value.kind is FIELD_UNKNOWN
    assert raised.value.details["unknown"] == [name]


@every_case(
    ("success", "shape", "name"),
    [
        (listing(), LISTING, "title"),
        (listing({"id": "s1"}), LISTING, "title"),
        (listing({"id": "s1"}, {"id": "s2", "extra": 1}), None, "extra"),
        (Success(data={"a": None}), None, "a.b"),
        (Success(data={"task": None}), ENTITY, "name"),
    ],
)
def test_a_known_field_without_a_value_is_not_found(success: Success, shape: Shape | None, name: str) -> None:
    with pytest.raises(Fault) as raised:
        select_field(success, shape, name)

    assert raised.value.kind is E_NOT_FOUND
    assert raised.value.details == {"field": name}


def test_asking_for_one_field_is_not_bound_to_the_level() -> None:
    outcome = shown(listing(row(1)), LISTING, Ask(mvi="minimal", field="body"))

    assert select_field(outcome, LISTING, "body") == "long"


@pytest.mark.parametrize(("source", "marked"), [("bundled", False), ("project", True), (None, True)])
def test_text_that_came_with_the_program_is_not_called_untrusted(source: str | None, marked: bool) -> None:
    shape = Shape(select="items", untrusted=("name",), trusted_where=("source", "bundled"))
    item: Json = {"name": "A"} if source is None else {"name": "A", "source": source}

    page = shown(Success(data={}, page=Page(items=(item,), limit=5)), shape, Ask()).page

    assert page is not None
    (told,) = page.items
    assert (told.get("_untrusted") == ["name"]) is marked
