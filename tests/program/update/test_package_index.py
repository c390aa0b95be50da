"""The listing of a package index in JSON, and the release that is taken from it."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from handrail.program.update.package_index import (
    OfferedFile,
    choose_newest,
    choose_version,
    fits_python,
    is_major_step,
    read_offered_files,
)
from tests.cases import every_case

NAME = "handrail-1.2.0-py3-none-any.whl"


def listed(**row: Any) -> OfferedFile:
    (found,) = read_offered_files(msgspec.json.encode({"files": [{"filename": NAME, "url": NAME, **row}]}))
    return found


@every_case(
    ("row", "expected"),
    [
        ({}, {}),
        ({"yanked": "a reason"}, {"is_yanked": True}),
        ({"yanked": False}, {}),
        ({"requires-python": ">=3.12"}, {"requires_python": ">=3.12"}),
        ({"requires-python": None}, {}),
        ({"hashes": {"sha256": "ab"}}, {"sha256": "ab"}),
        ({"core-metadata": True}, {"has_metadata": True}),
        ({"core-metadata": {"sha256": "cd"}}, {"has_metadata": True, "metadata_sha256": "cd"}),
        ({"core-metadata": False}, {}),
        ({"provenance": "https://example.org/p"}, {"provenance": "https://example.org/p"}),
        ({"provenance": None}, {}),
    ],
)
def test_a_row_of_json_says_what_a_file_is(row: dict[str, Any], expected: dict[str, Any]) -> None:
    assert listed(**row) == OfferedFile(version="1.2.0", url=NAME, filename=NAME, **expected)


@given(content=st.binary(max_size=300))
def test_whatever_arrives_is_a_listing_or_none(content: bytes) -> None:
    try:
        found = read_offered_files(content)
    except ValueError:
        return

    assert all(isinstance(one, OfferedFile) for one in found)


@every_case(
    ("specifier", "fits"),
    [
        ("", True),
        (">=3.11", True),
        (">= 3.11.7", True),
        (">=3.11.8", False),
        (">=3.12,<4", False),
        (">=4", False),
    ],
)
def test_python_fits_if_not_older_than_the_oldest_named(specifier: str, fits: bool) -> None:
    assert fits_python(specifier, "3.11.7") is fits


def test_the_newest_that_fits_is_taken_and_a_named_one_as_it_is() -> None:
    files = [
        OfferedFile(version="1.9.0", url="a"),
        OfferedFile(version="1.10.0", url="b"),
        OfferedFile(version="2.0.0rc1", url="c"),
        OfferedFile(version="1.11.0", url="d", is_yanked=True),
        OfferedFile(version="1.12.0", url="e", requires_python=">=3.99"),
        OfferedFile(version="1.10", url="f", requires_python=">=3.99"),
    ]

    taken = choose_newest(files, "3.11.7")
    named = [choose_version(files, version, "3.11.7") for version in ("1.10.0", "1.11.0", "1.12.0", "3.0")]

    assert taken is not None
    assert taken.url == "b"
    assert [one and one.url for one in named] == ["b", "d", "e", None]


@every_case(
    ("before", "after", "is_major"),
    [
        ("0.1.0", "0.2.0", False),
        ("0.9", "1.0", True),
        ("1.0", "1.9.9", False),
        ("9.0", "10.0", True),
        ("2.0", "1.0", False),
    ],
)
def test_a_major_step_is_seen_by_number(before: str, after: str, is_major: bool) -> None:
    assert is_major_step(before, after) is is_major
