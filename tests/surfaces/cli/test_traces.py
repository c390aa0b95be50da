"""A trace through code as people read it: an indented list with places, short, and honest about its gaps."""

from __future__ import annotations

from typing import Any

from handrail.surfaces.cli.rendering.human import human_text
from handrail.surfaces.cli.rendering.text import Page


def make_entry(name: str, place: str, *lines: int, depth: int = 1, repeated: bool = False) -> dict[str, Any]:
    return {"name": name, "file": place, "lines": list(lines), "depth": depth, "repeated": repeated}


def make_trace(*tree: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "symbol": {"name": "total", "file": "bills.py", "line": 3},
        "tree": list(tree),
        "left_out": 0,
        "unsure": [],
        "unsure_count": 0,
        "complete": True,
        "reasons": [],
        "reason_count": 0,
        **more,
    }


def read_trace(payload: dict[str, Any]) -> str:
    return human_text(payload, Page(width=80), "code.scan")


def test_callers_are_an_indented_list_with_places() -> None:
    text = read_trace(
        make_trace(
            make_entry("invoice", "shop.py", 10, 12),
            make_entry("", "run.py", 4, depth=2),
            make_entry("total", "bills.py", 5, repeated=True),
        )
    )
    assert text.splitlines() == [
        "total  bills.py:3",
        "  invoice  shop.py:10 and 1 more call",
        "    (top of the file)  run.py:4",
        "  total  bills.py:5, as above",
    ]


def test_incomplete_trace_says_where_it_ends() -> None:
    reasons = [{"code": "whole_module_used", "file": f"{name}.js", "line": 7} for name in "abcdef"]
    text = read_trace(make_trace(complete=False, reasons=reasons, reason_count=9))
    assert "  (nothing found)\nnot complete:\n  whole_module_used  a.js:7\n" in text
    assert text.endswith("  whole_module_used  e.js:7\n  and 4 more\n")


def test_trace_is_at_most_two_kilobytes() -> None:
    many = [make_entry(f"caller_number_{number}", "some/folder/module.py", number) for number in range(500)]
    text = read_trace(make_trace(*many, left_out=40))
    assert len(text.encode()) <= 2_048
    shown = text.count("caller_number_")
    assert f"and {540 - shown} more" in text
    assert shown > 20


def test_no_name_of_a_trace_moves_the_terminal() -> None:
    text = read_trace(make_trace(make_entry("a\x1b[2J\nb", "x.py", 1)))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 2
