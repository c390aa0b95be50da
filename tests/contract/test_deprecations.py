"""What is going away says so on every use, and nothing stays past its day."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from handrail.contract.deprecations import DEPRECATIONS, Deprecation, notice_of
from handrail.contract.envelopes.lafs import deprecation_warning
from handrail.contract.outcome import WITH_DEPRECATIONS, Notice
from tests.cases import every_case


def entry(remove_by: str = "2027-03-01", name: str = "flag.max") -> Deprecation:
    return Deprecation(
        id=name,
        what="--max",
        since="1.4",
        announced="2026-11-16",
        remove_by=remove_by,
        replacement="--limit",
        operation="session.list",
        param="max",
    )


@pytest.mark.promise("cli.deprecated")
def test_each_use_gives_a_notice_with_the_whole_entry() -> None:
    assert notice_of(entry()) == Notice(
        type="deprecated",
        severity="warning",
        message="--max goes away by 2027-03-01; use --limit instead.",
        extra={
            "id": "flag.max",
            "what": "--max",
            "since": "1.4",
            "remove_by": "2027-03-01",
            "replacement": "--limit",
        },
    )


@pytest.mark.parametrize(
    ("name", "code"),
    [("max", "W_DEPRECATED_MAX"), ("flag.old-limit_2", "W_DEPRECATED_FLAG_OLD_LIMIT_2")],
)
def test_lafs_names_the_entry_in_the_code(name: str, code: str) -> None:
    assert deprecation_warning(notice_of(entry(name=name)))["code"] == code


@pytest.mark.parametrize("day", ["2027-3-1", "01.03.2027", "2027-03-01T00:00:00Z", "٢٠٢٧-03-01"])
def test_a_day_is_written_in_one_way_only(day: str) -> None:
    with pytest.raises(AssertionError):
        entry(day)


@every_case("name", ["", "Max", "a b", "a.", "ä"])
def test_an_id_that_would_not_make_a_code_is_refused(name: str) -> None:
    with pytest.raises(AssertionError, match="lower-case words"):
        entry(name=name)


@pytest.mark.promise("cli.deprecated")
def test_nothing_that_should_be_gone_is_still_here() -> None:
    today = datetime.now(UTC).date().isoformat()

    assert [one.id for one in DEPRECATIONS if one.remove_by < today] == []


def test_every_deprecated_operation_is_listed_for_calls() -> None:
    assert {one.operation for one in DEPRECATIONS} == WITH_DEPRECATIONS


def test_no_two_entries_share_an_id() -> None:
    ids = [one.id for one in DEPRECATIONS]

    assert len(set(ids)) == len(ids)
