"""A call that is too large is refused by its measure, whatever its shape."""

from __future__ import annotations

from typing import Any

from handrail.surfaces.mcp.arguments import MAX_BYTES, MAX_DEPTH, MAX_MEMBERS, check_size
from tests.cases import every_case


def nested(levels: int) -> dict[str, Any]:
    """An object with this many containers inside each other, itself included."""
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return dict(value)


def check(arguments: dict[str, Any], what: str, measured: int) -> None:
    refusal = check_size(arguments)

    assert refusal is not None
    assert refusal.kind.code == "REQUEST_TOO_LARGE"
    assert refusal.details["what"] == what
    assert refusal.details["measured"] == measured
    assert "nothing was stored" in refusal.message


@every_case(
    ("arguments", "what", "measured"),
    [
        ({"notes": "x" * 10_000_000}, "bytes", 10_000_005),
        ({"notes": "ä" * (MAX_BYTES // 2)}, "bytes", MAX_BYTES + 5),
        ({"x" * (MAX_BYTES + 1): 1}, "bytes", MAX_BYTES + 1),
        ({"a": ["x" * MAX_BYTES, "y"]}, "bytes", MAX_BYTES + 2),
        (nested(MAX_DEPTH + 1), "nested levels", MAX_DEPTH + 1),
        (nested(50_000), "nested levels", MAX_DEPTH + 1),
        ({"a": [0] * MAX_MEMBERS}, "members", MAX_MEMBERS + 1),
    ],
)
def test_too_much_is_refused_with_its_measure(arguments: dict[str, Any], what: str, measured: int) -> None:
    check(arguments, what, measured)


@every_case(
    "arguments",
    [
        {},
        {"notes": "x" * (MAX_BYTES - 5)},
        nested(MAX_DEPTH),
        {"a": [0] * (MAX_MEMBERS - 1)},
        {"half": "\ud800"},
    ],
)
def test_what_just_fits_is_taken(arguments: dict[str, Any]) -> None:
    assert check_size(arguments) is None
