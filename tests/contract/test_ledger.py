"""The context ledger: documents in LAFS names, a chain anyone can recompute, a fold that loses nothing."""

from __future__ import annotations

from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.contract.ledger import (
    ContextDelta,
    Held,
    LedgerDelta,
    LedgerDocument,
    LedgerEntry,
    LedgerSummary,
    LedgerView,
    ListChange,
    extend_checksum,
    fold_ledger,
    removed_constraints,
    start_checksum,
)
from handrail.contract.outcome import Fault, Json


def append(name: str, value: Json = None) -> ListChange:
    return ListChange(action="append", id=name, value=value)


def remove(name: str, value: Json = None) -> ListChange:
    return ListChange(action="remove", id=name, value=value)


def entry(version: int, delta: ContextDelta) -> LedgerEntry:
    return LedgerEntry(
        entry_id=f"evt_{version}",
        version=version,
        timestamp="2026-11-15T09:30:00.123Z",
        operation="run.start" if version == 1 else "run.continue",
        context_delta=delta,
    )


START = entry(
    1,
    ContextDelta(
        objective="Ship it",
        constraints=(append("c1", "no network"), append("c2", "small diffs")),
        references=(append("workflow", {"id": "wr.review"}),),
        state={"status": "in_progress", "step": "triage"},
    ),
)
STEP = entry(
    2,
    ContextDelta(
        constraints=(remove("c1", "no network"),),
        decisions=(append("d1", "fork"),),
        open_issues=(append("g1", "no tests"),),
        state={"status": "in_progress", "step": "fix"},
    ),
)
LAST = entry(3, ContextDelta(open_issues=(remove("g1"),), state={"status": "complete"}))
ENTRIES = (START, STEP, LAST)


def test_entry_has_lafs_names_and_what_changed_only() -> None:
    assert msgspec.json.encode(STEP).decode() == (
        '{"entryId":"evt_2","version":2,"timestamp":"2026-11-15T09:30:00.123Z","operation":"run.continue",'
        '"contextDelta":{"constraints":[{"action":"remove","id":"c1","value":"no network"}],'
        '"decisions":[{"action":"append","id":"d1","value":"fork"}],'
        '"openIssues":[{"action":"append","id":"g1","value":"no tests"}],'
        '"state":{"status":"in_progress","step":"fix"}}}'
    )


DOCUMENTS: list[tuple[msgspec.Struct, list[str]]] = [
    (
        LedgerDocument(
            ledger_id="run_1",
            version=3,
            created_at="t0",
            updated_at="t1",
            entries=ENTRIES,
            checksum="sha256:0",
        ),
        ["ledgerId", "version", "createdAt", "updatedAt", "entries", "checksum", "maxEntries"],
    ),
    (
        LedgerDelta(
            ledger_id="run_1", from_version=1, to_version=3, entries=ENTRIES[1:], checksum="sha256:0"
        ),
        ["ledgerId", "mode", "fromVersion", "toVersion", "entries", "removedConstraints", "checksum"],
    ),
    (
        LedgerSummary(ledger_id="run_1", version=3, checksum="sha256:0", entry_count=3),
        ["ledgerId", "version", "checksum", "entryCount"],
    ),
    (
        LedgerView(),
        ["objective", "constraints", "references", "decisions", "openIssues", "state", "version"],
    ),
]


@pytest.mark.parametrize(("document", "keys"), DOCUMENTS, ids=lambda case: type(case).__name__)
def test_a_document_has_exactly_its_keys(document: msgspec.Struct, keys: list[str]) -> None:
    assert list(msgspec.to_builtins(document)) == keys


def test_the_ledger_says_that_it_is_never_compacted() -> None:
    assert msgspec.to_builtins(DOCUMENTS[0][0])["maxEntries"] == 1_000_000


def chained(start: str, entries: tuple[LedgerEntry, ...] | list[Json]) -> str:
    for one in entries:
        start = extend_checksum(start, one)
    return start


def test_another_run_order_or_value_gives_another_checksum() -> None:
    changed = entry(3, ContextDelta(state={"status": "blocked"}))
    checksums = {
        chained(start_checksum("run_1"), ENTRIES),
        chained(start_checksum("run_2"), ENTRIES),
        chained(start_checksum("run_1"), ENTRIES[:2]),
        chained(start_checksum("run_1"), (STEP, START, LAST)),
        chained(start_checksum("run_1"), (START, STEP, changed)),
    }

    assert len(checksums) == 5


def test_the_fold_is_the_view_of_lafs_section_8() -> None:
    assert fold_ledger(ENTRIES) == LedgerView(
        objective="Ship it",
        constraints=(Held(id="c2", value="small diffs"),),
        references=(Held(id="workflow", value={"id": "wr.review"}),),
        decisions=(Held(id="d1", value="fork"),),
        open_issues=(),
        state={"status": "complete"},
        version=3,
    )


def test_entries_as_a_caller_decoded_them_fold_to_the_same_view() -> None:
    decoded = [msgspec.json.decode(msgspec.json.encode(one)) for one in ENTRIES]

    assert fold_ledger(decoded) == fold_ledger(ENTRIES)


def test_held_id_takes_the_new_value_in_its_place() -> None:
    again = entry(2, ContextDelta(constraints=(append("c1", "offline"),)))

    assert fold_ledger([START, again]).constraints == (
        Held(id="c1", value="offline"),
        Held(id="c2", value="small diffs"),
    )


@pytest.mark.parametrize(
    ("entries", "expected", "got"),
    [([START, LAST], 2, 3), ([STEP], 1, 2), ([START, START], 2, 1)],
    ids=["a gap", "no beginning", "a repeat"],
)
def test_entries_that_do_not_follow_each_other_are_refused(
    entries: list[LedgerEntry], expected: int, got: int
) -> None:
    with pytest.raises(Fault, match="does not follow") as refused:
        fold_ledger(entries)

    assert refused.value.details == {"expected": expected, "got": got}
    assert "without a filter" in refused.value.hint


@pytest.mark.parametrize(
    "malformed", [{}, {"entryId": 1}, msgspec.to_builtins(START) | {"contextDelta": {"constraints": ["c"]}}]
)
def test_a_malformed_entry_is_refused(malformed: dict[str, Json]) -> None:
    with pytest.raises(Fault, match="malformed"):
        fold_ledger([malformed])


REMOVALS: list[tuple[tuple[LedgerEntry, ...], tuple[Held, ...]]] = [
    ((START,), ()),
    ((STEP,), (Held(id="c1", value="no network"),)),
    ((STEP, entry(3, ContextDelta(constraints=(append("c1", "offline"),)))), ()),
    ((LAST,), ()),
]


@pytest.mark.parametrize(("entries", "expected"), REMOVALS)
def test_a_delta_reports_the_constraints_that_are_gone(
    entries: tuple[LedgerEntry, ...], expected: tuple[Held, ...]
) -> None:
    assert removed_constraints(entries) == expected


CHANGES = st.builds(
    lambda action, name, value: ListChange(action=action, id=name, value=value),
    st.sampled_from(["append", "remove"]),
    st.sampled_from(["c1", "c2", "c3"]),
    st.integers(0, 3),
)
DELTAS = st.builds(
    lambda constraints, decisions, state: ContextDelta(
        constraints=tuple(constraints), decisions=tuple(decisions), state={"n": state}
    ),
    st.lists(CHANGES, max_size=3),
    st.lists(CHANGES, max_size=3),
    st.integers(),
)


@given(st.lists(DELTAS, max_size=6), st.integers(0, 6))
def test_any_split_into_deltas_folds_to_the_same_view(deltas: list[ContextDelta], cut: int) -> None:
    entries = [entry(version, delta) for version, delta in enumerate(deltas, 1)]

    assert fold_ledger(entries[cut:], fold_ledger(entries[:cut])) == fold_ledger(entries)


@given(st.lists(DELTAS, max_size=6))
def test_a_constraint_is_held_unless_its_last_change_removed_it(deltas: list[ContextDelta]) -> None:
    entries = [entry(version, delta) for version, delta in enumerate(deltas, 1)]
    last: dict[str, Literal["append", "remove"]] = {
        change.id: change.action for delta in deltas for change in delta.constraints
    }

    held = {one.id for one in fold_ledger(entries).constraints}

    assert held == {name for name, action in last.items() if action == "append"}
