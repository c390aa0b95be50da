"""Which foreign texts count as a moment and as an absolute URI."""

from __future__ import annotations

from handrail.contract.conformance.rules import is_date_time, is_uri, loose_parts
from tests.cases import every_case


@every_case(
    "text",
    [
        "2026-11-15T09:30:00.123Z",
        "2026-11-15t09:30:00z",
        "2026-11-15T09:30:00+02:00",
        "2026-11-15T09:30:00.123456789-23:59",
        "2024-02-29T00:00:00Z",
        "2000-02-29T00:00:00Z",
        "0001-01-01T00:00:00Z",
    ],
)
def test_a_moment_with_an_offset_is_accepted_without_advice(text: str) -> None:
    assert is_date_time(text)
    assert loose_parts(text) == []


@every_case(
    ("text", "loose"),
    [
        ("2026-11-15 09:30:00Z", ["a space between date and time"]),
        ("2026-12-31T23:59:60Z", ["second 60"]),
        ("2027-01-01T00:59:60.5+01:00", ["second 60"]),
        ("2026-12-31T22:59:60-01:00", ["second 60"]),
        ("2026-11-15T09:30:00+0000", ["an offset without a colon"]),
        (
            "2026-12-31 23:59:60+0000",
            ["a space between date and time", "second 60", "an offset without a colon"],
        ),
    ],
)
def test_three_loose_forms_are_accepted_with_advice(text: str, loose: list[str]) -> None:
    assert is_date_time(text)
    assert loose_parts(text) == loose


@every_case(
    "text",
    [
        *("", "not-a-date", "2026-11-15", "09:30:00Z", "20261115T093000Z"),
        *("2026-11-15T09:30:00", "2026-11-15T09:30:00.123", "2026-11-15T09:30Z"),
        *("2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-04-31T00:00:00Z"),
        *("2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-01-00T00:00:00Z"),
        *("2026-11-15T24:00:00Z", "2026-11-15T09:60:00Z", "2026-11-15T09:30:61Z", "2026-11-15T09:30:60Z"),
        *("2026-12-31T23:59:60+01:00", "2026-11-15T09:30:00+24:00", "2026-11-15T09:30:00+02:60"),
        *(
            "2026-11-15T09:30:00Z\n",
            " 2026-11-15T09:30:00Z",
            "2026-11-15\n09:30:00Z",
            "2026-11-15T09:30:00.Z",
        ),
        *("٢٠٢٦-11-15T09:30:00Z", "2026-11-15T09:30:00 Z", "2026-11-15T09:30:00+02"),
    ],
)
def test_everything_else_is_no_moment(text: str) -> None:
    assert not is_date_time(text)


@every_case(
    "text",
    [
        *("https://example.org", "https://example.org/errors/v1/limit?x=1&y=%20#part", "http://[::1]:8000/a"),
        *(
            "http://user:pw@example.org:8080/",
            "urn:handrail:request:1",
            "mailto:a@example.org",
            "file:///etc",
        ),
        *("a+b-c.1:rest", "https://example.org/?q=a/b?c", "x:", "http://example.org:/"),
    ],
)
def test_an_absolute_uri_is_accepted(text: str) -> None:
    assert is_uri(text)


@every_case(
    "text",
    [
        *("", "/errors/limit", "errors", "//example.org/a", "#part", "://x", "1http://x", "ht tp://x"),
        *(
            "https://example.org/a b",
            "https://exämple.org",
            "https://example.org/%zz",
            "https://example.org/#a#b",
        ),
        *("https://example.org/<x>", "https://example.org\n", "http://[::1", "http://a b/", "http://x:80a/"),
    ],
)
def test_a_relative_or_broken_uri_is_refused(text: str) -> None:
    assert not is_uri(text)
