"""Times and addresses in foreign documents: which texts count as `date-time` and as `uri`. Pure."""

from __future__ import annotations

import re

_DATE_TIME = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?P<separator>[Tt ])"
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.[0-9]+)?"
    r"(?:[Zz]|(?P<sign>[+-])(?P<offset_hour>[0-9]{2})(?P<colon>:?)(?P<offset_minute>[0-9]{2}))"
)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_MINUTES_OF_DAY = 24 * 60

_UNRESERVED = r"A-Za-z0-9._~!$&'()*+,;=\-"
_PERCENT = "%[0-9A-Fa-f]{2}"
_SEGMENTS = rf"(?:[{_UNRESERVED}:@/]|{_PERCENT})*"
_HOST = rf"(?:\[[{_UNRESERVED}:]+\]|(?:[{_UNRESERVED}]|{_PERCENT})*)"
_AUTHORITY = rf"(?:(?:[{_UNRESERVED}:]|{_PERCENT})*@)?{_HOST}(?::[0-9]*)?"
_URI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*:(?://{_AUTHORITY}(?:/{_SEGMENTS})?|(?!//){_SEGMENTS})"
    rf"(?:\?(?:[{_UNRESERVED}:@/?]|{_PERCENT})*)?(?:#(?:[{_UNRESERVED}:@/?]|{_PERCENT})*)?"
)


def is_uri(text: str) -> bool:
    """Whether the text is an absolute RFC 3986 address; what stands in `[…]` hosts is not looked into."""
    return _URI.fullmatch(text) is not None


def is_date_time(text: str) -> bool:
    """Whether the text is a moment: a real date, a time and an offset. A time without one is not."""
    found = _DATE_TIME.fullmatch(text)
    if found is None:
        return False
    year, month, day = (int(found[part]) for part in ("year", "month", "day"))
    hour, minute, second = (int(found[part]) for part in ("hour", "minute", "second"))
    offset_hour, offset_minute = int(found["offset_hour"] or 0), int(found["offset_minute"] or 0)
    is_day = 1 <= month <= 12 and 1 <= day <= _days_in(year, month)
    is_offset = offset_hour <= 23 and offset_minute <= 59
    if not (is_day and is_offset and hour <= 23 and minute <= 59):
        return False
    offset = (offset_hour * 60 + offset_minute) * (-1 if found["sign"] == "-" else 1)
    last_minute = (hour * 60 + minute - offset) % _MINUTES_OF_DAY == _MINUTES_OF_DAY - 1
    return second <= 59 or (second == 60 and last_minute)


def loose_parts(text: str) -> list[str]:
    """What in an accepted time goes beyond RFC 3339 as most readers know it; empty when nothing does."""
    found = _DATE_TIME.fullmatch(text)
    assert found is not None, "only a time that was accepted can be loose"
    loose = []
    if found["separator"] == " ":
        loose.append("a space between date and time")
    if found["second"] == "60":
        loose.append("second 60")
    if found["sign"] and not found["colon"]:
        loose.append("an offset without a colon")
    return loose


def _days_in(year: int, month: int) -> int:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and is_leap else _DAYS[month - 1]
