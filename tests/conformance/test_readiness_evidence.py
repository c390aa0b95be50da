"""What was executed is recorded, and a gap in it is found, counted and lowers the level."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cases import every_case
from tests.checklist.__main__ import verdict
from tests.conformance import coverage
from tests.conformance.recorder import VARIABLE, evidence, record
from tools.readiness import ROOT, UPSTREAMS, gaps, main, read_evidence, record_of
from tools.test_report import Outcome, Results, read_reports, slowest

COMMAND: dict[str, Any] = {
    "path": "session list",
    "params": [{"flag": "--limit"}, {"flag": None}],
    "global_flags": ["--compact"],
    "errors": ["E_USAGE", "INVALID_TOKEN"],
    "effect": "read",
    "output": "document",
}
REFUSED = b'{"ok":false,"error":{"code":"E_CONFLICT","details":{"domain_code":"INVALID_TOKEN"}}}'


def shown(*words: str, status: int = 0, code: str = "", domain_code: str = "") -> dict[str, Any]:
    return {
        **evidence(words, status, b"", b""),
        "code": code,
        "domain_code": domain_code,
    }


WHOLE = [
    shown("session", "list", "--limit", "1", "--compact"),
    shown("session", "list", "--limit", "x", status=2, code="E_USAGE"),
    shown("session", "list", status=6, code="E_CONFLICT", domain_code="INVALID_TOKEN"),
    shown("session", "list", "--human"),
    shown("session", "list", "--envelope=lafs"),
]


@pytest.mark.parametrize(
    ("words", "status", "out", "expected"),
    [
        (
            ["--compact", "session", "list", "--limit=1"],
            0,
            b"{}",
            {
                "leaf": "session list",
                "flags": ["--compact", "--limit"],
                "format": "json",
                "exit": 0,
                "code": "",
            },
        ),
        (
            ["session", "show", "ses_1", "--graph", "--format", "text"],
            0,
            b"plain",
            {"leaf": "session show --graph", "flags": ["--format", "--graph"], "format": "text", "code": ""},
        ),
        (["session", "list"], 6, REFUSED, {"exit": 6, "code": "E_CONFLICT", "domain_code": "INVALID_TOKEN"}),
    ],
)
def test_a_call_is_recorded_as_it_was(
    words: list[str], status: int, out: bytes, expected: dict[str, Any]
) -> None:
    found = evidence(words, status, out, b"note\n")

    assert found.items() >= expected.items()
    assert found["stderr_bytes"] == 5


def test_nothing_is_kept_unless_a_directory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    record(["context"], 0, b"{}", b"")
    assert list(tmp_path.iterdir()) == []

    monkeypatch.setenv(VARIABLE, str(tmp_path / "evidence"))
    record(["context"], 0, b"{}", b"")
    record(["doctor"], 0, b"{}", b"")

    assert [line["leaf"] for line in read_evidence(str(tmp_path / "evidence"))] == ["context", "doctor"]


def test_whole_evidence_has_no_gap() -> None:
    assert gaps([COMMAND], WHOLE) == []


@every_case(
    ("left_out", "expected"),
    [
        (0, ["flag --compact never taken", "flag --limit never taken"]),
        (1, ["no bad arguments", "code E_USAGE never produced"]),
        (2, ["code INVALID_TOKEN never produced"]),
        (3, ["never as text"]),
        (4, ["never in the LAFS dialect"]),
    ],
)
def test_each_missing_call_is_named(left_out: int, expected: list[str]) -> None:
    calls = [call for place, call in enumerate(WHOLE) if place != left_out]

    assert gaps([COMMAND], calls) == sorted(f"session list: {gap}" for gap in expected)


GATED = {**COMMAND, "path": "keys rotate", "effect": "gated", "params": [], "errors": ["E_USAGE"]}
STEPS = [
    shown("keys", "rotate", "--compact", "--human", "--dry-run"),
    shown("keys", "rotate", "--envelope", "lafs", "--confirm", "ct_x"),
    shown("keys", "rotate", "--bogus", status=2, code="E_USAGE"),
    shown("keys", "rotate", status=5),
    {**shown("keys", "rotate", status=6), "reason": "already_used"},
]


@every_case(
    ("left_out", "expected"),
    [
        (None, []),
        (0, ["flag --compact never taken", "never as text", "never previewed"]),
        (1, ["never confirmed", "never in the LAFS dialect"]),
        (3, ["never bare"]),
        (4, ["never replayed"]),
    ],
)
def test_each_step_of_a_write_that_nobody_showed_is_named(left_out: int | None, expected: list[str]) -> None:
    calls = [call for place, call in enumerate(STEPS) if place != left_out]

    assert gaps([GATED], calls) == [f"keys rotate: {gap}" for gap in expected]


def test_protocol_needs_a_call_and_a_refusal() -> None:
    server = {**COMMAND, "path": "mcp", "output": "protocol"}
    hook = {**server, "path": "hook"}

    assert gaps([server, hook], [shown("mcp"), shown("hook", "PreCompact")]) == ["mcp: no bad arguments"]


def test_the_lafs_dialect_is_recorded_by_our_own_code() -> None:
    refused = (
        b'{"success":false,"error":{"code":"E_CONTEXT","details":{"native_code":"E_CONFLICT","reason":"x"}}}'
    )

    found = evidence(["keys", "rotate", "--envelope=lafs"], 6, refused, b"")

    assert (found["envelope"], found["code"], found["reason"]) == ("lafs", "E_CONFLICT", "x")


@pytest.mark.thorough
def test_the_table_fails_on_a_hole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "1.json").write_text(json.dumps(WHOLE[0]) + "\n", encoding="utf-8")

    status = coverage.main([str(tmp_path)])

    out = capsys.readouterr().out
    assert status == 1
    assert "hole: context: never called\n" in out
    assert coverage.main([]) == 2


@pytest.mark.promise("cli.covered")
def test_uncalled_command_and_undeclared_code_are_gaps() -> None:
    other = {**COMMAND, "path": "session show"}
    surprise = shown("session", "list", status=1, code="E_IO")

    assert gaps([COMMAND, other], [*WHOLE, surprise]) == [
        "session list: code E_IO not declared",
        "session show: never called",
    ]


def report_of(upstreams: str) -> str:
    """A JUnit report in which every fake was tried and passed, but for what is asked for in one file."""
    places = [place for named in UPSTREAMS.values() for place in named]
    asked = next(place for place in places if place.endswith(".py"))
    child = {"failure": "<failure/>", "skipped": "<skipped/>"}.get(upstreams, "")
    cases = [
        f'<testcase classname="{_module(place)}" name="test_it">{child if place == asked else ""}</testcase>'
        for place in places
        if place != asked or upstreams != "one is not there"
    ]
    return "<testsuite>" + "".join(cases) + ("" if upstreams == "cut off" else "</testsuite>")


def _module(place: str) -> str:
    return (place + "test_x.py" if place.endswith("/") else place).removesuffix(".py").replace("/", ".")


@pytest.mark.parametrize(
    ("missing", "upstreams", "smoke", "statuses"),
    [
        ([], "", "", ("verified", "missing", "missing")),
        (["x: no success"], "passed", "", ("missing", "verified", "missing")),
        ([], "passed", "verified", ("verified", "verified", "verified")),
        ([], "failure", "", ("verified", "missing", "missing")),
        ([], "skipped", "", ("verified", "missing", "missing")),
        ([], "cut off", "", ("verified", "missing", "missing")),
        ([], "one is not there", "", ("verified", "missing", "missing")),
    ],
)
def test_the_record_holds_what_the_evidence_says(
    tmp_path: Path, missing: list[str], upstreams: str, smoke: str, statuses: tuple[str, ...]
) -> None:
    if upstreams:
        (tmp_path / "report.xml").write_text(report_of(upstreams), encoding="utf-8")
    if smoke:
        (tmp_path / "live_smoke.json").write_text(json.dumps({"status": smoke}), encoding="utf-8")

    made = record_of(str(tmp_path), missing, "sha256:x")

    assert (made.fcc_status, made.mock_upstream_status, made.live_smoke_status) == statuses
    assert made.gaps == len(missing)


@pytest.mark.thorough
def test_the_tool_names_the_gaps_and_the_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "1.json").write_text(json.dumps(WHOLE[0]) + "\n", encoding="utf-8")

    status = main([str(tmp_path)])

    out = capsys.readouterr().out
    assert status == 0
    assert "context: never called\n" in out
    assert out.endswith("gaps: unpublishable.\n")


def test_a_wrong_call_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["/nowhere"]) == 2
    assert "Usage:" in capsys.readouterr().err


@every_case(
    ("outcomes", "expected"),
    [
        (["passed", "passed"], "kept"),
        (["passed", "skipped"], "kept"),
        (["passed", "failed"], "broken"),
        (["skipped"], "not shown"),
        ([], "not shown"),
    ],
)
def test_a_promise_is_kept_when_a_test_showed_it_and_none_failed(
    outcomes: list[Outcome], expected: str
) -> None:
    results: Results = {"tests/a.py::test_it": outcomes, "tests/a.py::test_other": ["failed"]}

    assert verdict(["tests/a.py::test_it"], results) == expected


def test_a_report_tells_where_the_time_went(tmp_path: Path) -> None:
    cases = [("a", "test_slow[1]", 2.5), ("a", "test_slow[2]", 2.0), ("b", "test_quick", 0.25)]
    rows = [f'<testcase classname="tests.{file}" name="{name}" time="{time}"/>' for file, name, time in cases]
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuite>{''.join(rows)}</testsuite>", encoding="utf-8")

    assert [line.split() for line in slowest([str(report)])] == [
        ["4.8", "s", "in", "3", "tests"],
        ["4.5", "s", "2", "tests/a.py::test_slow"],
        ["0.2", "s", "1", "tests/b.py::test_quick"],
        ["4.5", "s", "2", "tests/a.py"],
        ["0.2", "s", "1", "tests/b.py"],
    ]
    assert read_reports([str(report)] * 2)["tests/b.py::test_quick"] == ["passed", "passed"]


def test_every_place_where_an_upstream_is_tried_exists() -> None:
    places = [place for tried in UPSTREAMS.values() for place in tried]

    assert [place for place in places if not os.path.exists(os.path.join(ROOT, place))] == []
