"""Dotted names on JSON values: keeping, removing, finding and marking fields."""

from __future__ import annotations

from handrail.contract.disclosure.fields import (
    Object,
    Presence,
    path_of,
    presence,
    project,
    remove_field,
    shorten_list,
    stamp_untrusted,
    tree_of,
)
from handrail.contract.outcome import Json
from tests.cases import every_case

SESSION: Object = {
    "id": "s1",
    "goal": "ship",
    "owner": {"name": "Ann", "mail": "a@b"},
    "runs": [{"id": "r1", "notes": "n1"}, {"id": "r2", "notes": "n2"}, "odd"],
    "gone": None,
    "tags": [],
}


def test_names_become_a_tree_in_which_the_whole_wins_over_a_part() -> None:
    assert tree_of(["a.b.c", "a.b.d", "e"]) == {"a": {"b": {"c": None, "d": None}}, "e": None}
    assert tree_of(["a", "a.b"]) == {"a": None}
    assert tree_of(["a.b", "a"]) == {"a": None}
    assert tree_of(["a.b", "a", "a.c"]) == {"a": None}


@every_case(
    ("names", "expected"),
    [
        (["id"], {"id": "s1"}),
        (["goal", "id"], {"id": "s1", "goal": "ship"}),
        (["owner.mail"], {"owner": {"mail": "a@b"}}),
        (["runs.id"], {"runs": [{"id": "r1"}, {"id": "r2"}, "odd"]}),
        (["gone.inner", "tags.inner"], {"gone": None, "tags": []}),
        (["owner.nothing"], {"owner": {}}),
        (["nothing"], {}),
    ],
)
def test_a_projection_keeps_the_named_fields_in_payload_order(names: list[str], expected: Json) -> None:
    projected = project(SESSION, tree_of(names))

    assert projected == expected
    assert list(projected) == [key for key in SESSION if key in expected]


def test_a_projection_keeps_marks_and_makes_untrusted_honest() -> None:
    marked = {"id": 1, "text": "t", "note": "n", "truncated": True, "truncated_fields": ["x"]}
    marked["_untrusted"] = ["text", "note", 7]

    assert project(marked, tree_of(["id", "note"])) == {
        "id": 1,
        "note": "n",
        "truncated": True,
        "truncated_fields": ["x"],
        "_untrusted": ["note"],
    }
    assert project(marked, tree_of(["id"])) == {"id": 1, "truncated": True, "truncated_fields": ["x"]}


def test_marks_inside_nested_objects_follow_their_own_fields() -> None:
    value = {"runs": [{"id": 1, "notes": "n", "_untrusted": ["notes"]}], "_untrusted": ["runs.notes", "goal"]}

    assert project(value, tree_of(["runs.id"])) == {"runs": [{"id": 1}]}
    assert project(value, tree_of(["runs"])) == {
        "runs": [{"id": 1, "notes": "n", "_untrusted": ["notes"]}],
        "_untrusted": ["runs.notes"],
    }


@every_case(
    ("path", "expected"),
    [
        ("id", "there"),
        ("gone", "there"),
        ("owner.name", "there"),
        ("runs.notes", "there"),
        ("nothing", "absent"),
        ("owner.age", "absent"),
        ("id.inner", "absent"),
        ("runs.title", "absent"),
        ("gone.inner", "unclear"),
        ("tags.inner", "unclear"),
    ],
)
def test_a_field_is_there_absent_or_cannot_be_judged(path: str, expected: Presence) -> None:
    assert presence(SESSION, path_of(path)) == expected


def test_removing_a_field_leaves_the_original_alone() -> None:
    assert remove_field(SESSION, ("runs", "notes"))["runs"] == [{"id": "r1"}, {"id": "r2"}, "odd"]
    assert remove_field(SESSION, ("owner", "name"))["owner"] == {"mail": "a@b"}
    assert remove_field(SESSION, ("nothing",)) == SESSION
    assert remove_field({"a": 1, "b": 2, "_untrusted": ["a", "b"]}, ("a",)) == {"b": 2, "_untrusted": ["b"]}
    assert SESSION["runs"][0] == {"id": "r1", "notes": "n1"}


def test_shortening_cuts_lists_and_nothing_else() -> None:
    assert shorten_list(SESSION, ("runs",), 1)["runs"] == [{"id": "r1", "notes": "n1"}]
    assert shorten_list(SESSION, ("goal",), 1) == SESSION
    assert shorten_list({"a": [{"b": [1, 2]}, {"b": [3]}]}, ("a", "b"), 1) == {"a": [{"b": [1]}, {"b": [3]}]}


@every_case(
    ("holder", "names", "expected"),
    [
        ({"goal": "g", "id": 1}, ["goal", "branch"], {"goal": "g", "id": 1, "_untrusted": ["goal"]}),
        ({"id": 1}, ["goal"], {"id": 1}),
        ({"a": {"b": "x"}}, ["a.b", "a.c"], {"a": {"b": "x"}, "_untrusted": ["a.b"]}),
        (
            {"runs": [{"notes": "n"}, {"id": 2}, 3]},
            ["runs.notes"],
            {"runs": [{"notes": "n", "_untrusted": ["notes"]}, {"id": 2}, 3]},
        ),
        (
            {"r": {"e": [{"n": "x", "m": {"t": "y"}}]}},
            ["r.e.n", "r.e.m.t"],
            {"r": {"e": [{"n": "x", "m": {"t": "y"}, "_untrusted": ["n", "m.t"]}]}},
        ),
        ({"tags": ["x"]}, ["tags"], {"tags": ["x"], "_untrusted": ["tags"]}),
        ({"_untrusted": ["a"], "a": 1, "b": 2}, ["b", "a"], {"_untrusted": ["a", "b"], "a": 1, "b": 2}),
        ({"a": None}, ["a"], {"a": None, "_untrusted": ["a"]}),
        ({"a": None}, ["a.b"], {"a": None}),
    ],
)
def test_untrusted_names_stand_on_the_object_that_holds_them(
    holder: Object, names: list[str], expected: Object
) -> None:
    marked = stamp_untrusted(holder, names)

    assert marked == expected
    assert list(marked) == list(expected)
