"""A pointer into a translated document leads back to the author's own file, never to nothing."""

from __future__ import annotations

from typing import Any

from handrail.workflows.reading.reader import origin_in
from tests.cases import every_case

ORIGINAL: dict[str, Any] = {
    "id": "x",
    "steps": [
        {"id": "a", "runCondition": {"var": "v", "equals": 1}},
        {"id": "b/c", "loop": {"type": "for"}, "body": ["d"], "empty": None},
        {"id": "d", "guidance": ["one", "two"], "m~n": {"k": 1}},
    ],
}
POINTERS = {
    "": "",
    "/steps/0/when": "/steps/0/runCondition",
    "/steps/1": "/steps/1",
    "/steps/1/count": "/steps/1/loop",
    "/steps/1/body/0": "/steps/2",
}


@every_case(
    ("pointer", "expected"),
    [
        ("", ""),
        ("/id", "/id"),
        ("/steps/0", "/steps/0"),
        ("/steps/0/when", "/steps/0/runCondition"),
        ("/steps/0/when/value", "/steps/0/runCondition"),
        ("/steps/0/when/var", "/steps/0/runCondition/var"),
        ("/steps/1/count/times", "/steps/1/loop"),
        ("/steps/1/loopId", "/steps/1"),
        ("/steps/1/empty/x", "/steps/1"),
        ("/steps/1/body/0/guidance/1", "/steps/2/guidance/1"),
        ("/steps/1/body/0/guidance/2", "/steps/2/guidance"),
        ("/steps/1/body/0/guidance/one", "/steps/2/guidance"),
        ("/steps/1/body/0/guidance/999999999999", "/steps/2/guidance"),
        ("/steps/1/body/0/m~0n/k", "/steps/2/m~0n/k"),
        ("/steps/1/body/0/id/deeper", "/steps/2/id"),
        ("/features/0", ""),
    ],
)
def test_the_longest_known_beginning_leads_back(pointer: str, expected: str) -> None:
    assert origin_in(ORIGINAL, POINTERS)(pointer) == expected


def test_without_a_map_what_exists_keeps_its_place() -> None:
    assert origin_in(ORIGINAL, {})("/steps/2/guidance/0") == "/steps/2/guidance/0"


def test_map_to_a_missing_place_does_not_raise() -> None:
    assert origin_in(ORIGINAL, {"/a": "/nowhere/9"})("/a/b") == "/nowhere/9"
