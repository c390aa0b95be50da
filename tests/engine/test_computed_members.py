"""What Handrail fills into a report, and what becomes of a list that the agent sends."""

from __future__ import annotations

from typing import Any

from handrail.engine.judge.computed import ChangedFile, Computed, drop_computed, fill_in
from handrail.workflows.builtins.templates import find_contract
from handrail.workflows.compiled import Contract
from handrail.workflows.contracts.check import find_violations

SMALL = ChangedFile(path="a.py", change="modified", added=1, removed=0)
LARGE = ChangedFile(path="b.py", change="added", added=40, removed=0)
BINARY = ChangedFile(path="c.png", change="deleted")
SENT_LIST: dict[str, Any] = {
    "kind": "wr.changed_files",
    "files": [{"path": "lie.py", "change": "added", "why": "It was slow."}],
    "checks": [{"command": "true", "exitCode": 0, "summary": "all passed"}],
}


def contract(name: str = "changed_files") -> Contract:
    spec = find_contract(f"wr.contracts.{name}")
    assert spec is not None
    return spec.compiled()


def test_observed_files_are_listed_by_size_with_reasons() -> None:
    body = {"kind": "wr.changed_files", "why": {"a.py": "It rounds once."}}

    filled = fill_in(contract(), body, Computed(changes=(SMALL, LARGE, BINARY)))

    assert filled["files"] == [
        {"path": "b.py", "change": "added", "added": 40, "removed": 0},
        {"path": "a.py", "change": "modified", "added": 1, "removed": 0, "why": "It rounds once."},
        {"path": "c.png", "change": "deleted"},
    ]
    assert (filled["filesTotal"], filled["linesAdded"], filled["linesRemoved"]) == (3, 41, 0)
    assert filled["source"] == "observed"
    assert find_violations(contract().schema, filled) == []


def test_a_sent_list_is_ignored_and_its_reasons_are_kept() -> None:
    filled = fill_in(contract(), SENT_LIST, Computed(changes=(SMALL,)))

    assert [row["path"] for row in filled["files"]] == ["a.py"]
    assert filled["why"] == {"lie.py": "It was slow."}
    assert "checks" not in filled
    assert find_violations(contract().schema, filled) == []


def test_a_sent_list_is_stated_if_nobody_could_look() -> None:
    for known in (None, Computed()):
        filled = fill_in(contract(), SENT_LIST, known)

        assert filled["source"] == "stated"
        assert [row["path"] for row in filled["files"]] == ["lie.py"]
        assert "filesTotal" not in filled
        assert find_violations(contract().schema, filled) == []


def test_paths_with_reasons_are_stated_if_nobody_could_look() -> None:
    filled = fill_in(contract(), {"kind": "wr.changed_files", "why": {"a.py": "It was slow."}}, Computed())

    assert filled["files"] == [{"path": "a.py", "why": "It was slow."}]
    assert filled["source"] == "stated"
    assert find_violations(contract().schema, filled) == []


def test_more_than_a_hundred_files_are_counted() -> None:
    many = tuple(ChangedFile(path=f"{n:03}.py", change="added", added=n, removed=0) for n in range(150))

    filled = fill_in(contract(), {"kind": "wr.changed_files", "why": "Moved."}, Computed(changes=many))

    assert len(filled["files"]) == 100
    assert filled["files"][0]["path"] == "149.py"
    assert filled["filesTotal"] == 150


def test_an_empty_reason_is_no_reason() -> None:
    filled = fill_in(contract(), {"kind": "wr.changed_files", "why": {}}, Computed(changes=(SMALL,)))

    assert [one.pointer for one in find_violations(contract().schema, filled)] == ["/why"]


def test_the_first_twenty_results_are_filled_in() -> None:
    ran = tuple({"check": f"{number}", "passed": True, "result": "exit 0"} for number in range(21))

    filled = fill_in(
        contract("verification_report"), dict(contract("verification_report").example), Computed(checks=ran)
    )

    assert [row["check"] for row in filled["checks"]] == [f"{number}" for number in range(20)]


def test_results_stand_beside_the_stated_claims() -> None:
    report = dict(contract("verification_report").example)
    ran = ({"check": "tests", "passed": False, "result": "exit 1"},)

    filled = fill_in(
        contract("verification_report"), report | {"checks": [{"check": "mine"}]}, Computed(checks=ran)
    )

    assert filled["checks"] == list(ran)
    assert filled["claims"] == report["claims"]


def test_what_an_agent_sent_is_the_same_before_and_after() -> None:
    filled = fill_in(contract(), SENT_LIST, Computed(changes=(SMALL,)))

    assert drop_computed(contract(), filled) == drop_computed(contract(), SENT_LIST)


def test_a_contract_without_own_members_is_left_alone() -> None:
    plan = contract("plan")
    body = dict(plan.example)

    assert fill_in(plan, body, Computed(changes=(SMALL,))) is body
