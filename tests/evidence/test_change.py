"""How two trees are split, and which files each run of a proof gets."""

from __future__ import annotations

import pytest

from handrail.evidence.change import Change, RunName, list_broken, list_mixed, list_run, split_change
from handrail.evidence.file_sets import Patterns

FILE, PROGRAM, LINK, NESTED = "100644", "100755", "120000", "160000"


def make_change(before: dict[str, str], after: dict[str, str]) -> Change:
    """A change of files whose object ids are their contents."""
    old, new = ({path: (FILE, text) for path, text in one.items()} for one in (before, after))
    return split_change(old, new, Patterns(), {})


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("tests_before_code_before", {"a.py": "1", "test_a.py": "1", "tox.ini": "1", "uv.lock": "2"}),
        ("tests_before_code_after", {"a.py": "2", "test_a.py": "1", "tox.ini": "1", "uv.lock": "2"}),
        ("tests_after_code_before", {"a.py": "1", "test_a.py": "2", "tox.ini": "1", "uv.lock": "2"}),
        ("tests_after_code_after", {"a.py": "2", "test_a.py": "2", "tox.ini": "1", "uv.lock": "2"}),
        ("rules_after", {"a.py": "2", "test_a.py": "2", "tox.ini": "2", "uv.lock": "2"}),
        ("control", {"a.py": "2", "test_a.py": "2", "tox.ini": "1", "uv.lock": "2"}),
    ],
)
def test_run_gets_each_set_from_its_end(run: RunName, expected: dict[str, str]) -> None:
    paths = ("a.py", "test_a.py", "tox.ini", "uv.lock")
    change = make_change(dict.fromkeys(paths, "1"), dict.fromkeys(paths, "2"))
    assert {path: content for path, (_, content) in list_run(change, run).items()} == expected


def test_change_lists_what_differs_in_each_set() -> None:
    before = {"a.py": "1", "b.py": "1", "test_a.py": "1", "tox.ini": "1"}
    change = make_change(before, {"b.py": "1", "c.py": "1", "test_a.py": "2", "tox.ini": "1", "uv.lock": "1"})
    assert (change.code, change.tests, change.rules, change.dependencies) == (
        ("a.py", "c.py"),
        ("test_a.py",),
        (),
        ("uv.lock",),
    )


def test_mode_alone_is_a_change() -> None:
    change = split_change({"a": (FILE, "1")}, {"a": (PROGRAM, "1")}, Patterns(), {})
    assert change.code == ("a",)


def test_equal_trees_are_an_empty_change() -> None:
    assert make_change({"a.py": "1"}, {"a.py": "1"}).is_empty


def test_added_and_deleted_files_come_and_go_with_their_set() -> None:
    change = make_change({"a.py": "1", "test_a.py": "1"}, {"b.py": "1", "test_b.py": "1"})
    assert list(list_run(change, "tests_after_code_before")) == ["a.py", "test_b.py"]
    assert list(list_run(change, "tests_before_code_after")) == ["b.py", "test_a.py"]


def test_file_below_a_file_of_the_other_tree_is_left_out() -> None:
    change = make_change({"pkg": "1"}, {"pkg/tests/test_a.py": "1", "pkg/a.py": "1"})
    assert list(list_run(change, "tests_after_code_before")) == ["pkg"]


def test_manifests_that_differ_are_listed() -> None:
    before = {"pyproject.toml": (FILE, "1"), "package.json": (FILE, "1"), "a/setup.cfg": (FILE, "1")}
    assert list_mixed(before, before | {"package.json": (FILE, "2")}) == ("package.json",)


def test_control_breaks_changed_code_of_known_languages() -> None:
    before = {"kept.py": (FILE, "1"), "gone.py": (FILE, "1")}
    names = ("a.py", "b.js", "c.mjs", "d.ts", "e.tsx", "f.go", "g.rs", "h.md", "i.PY", "test_a.py", "tox.ini")
    after = {"kept.py": (FILE, "1"), **dict.fromkeys(names, (FILE, "2"))}
    after |= {"link.py": (LINK, "2"), "nested.py": (NESTED, "2")}
    broken = list_broken(split_change(before, after, Patterns(), {}))
    assert set(broken) == {"a.py", "b.js", "c.mjs", "d.ts", "e.tsx", "f.go", "g.rs", "i.PY"}


def test_control_empties_other_files_if_no_code_changed() -> None:
    change = make_change({"README.md": "1"}, {"README.md": "2", "rates.json": "1", "test_a.py": "1"})
    assert list_broken(change) == {"README.md": b"", "rates.json": b""}


def test_broken_python_does_not_compile() -> None:
    change = make_change({}, {"a.py": "1"})
    with pytest.raises(SyntaxError):
        compile(list_broken(change)["a.py"], "a.py", "exec")
