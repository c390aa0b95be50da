"""What was executed is recorded, and a gap in it is found, counted and lowers the level."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.recorder import VARIABLE, evidence, record
from tools.readiness import gaps, main, read_evidence, record_of

COMMAND: dict[str, Any] = {
    "path": "session list",
    "params": [{"flag": "--limit"}, {"flag": None}],
    "global_flags": ["--compact"],
    "errors": ["E_USAGE", "INVALID_TOKEN"],
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
            ["session", "show", "ses_1", "--format", "text"],
            0,
            b"plain",
            {"leaf": "session show ses_1", "flags": ["--format"], "format": "text", "code": ""},
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


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [
        (0, ["no success", "flag --compact never used"]),
        (1, ["no bad arguments", "code E_USAGE never produced"]),
        (2, ["code INVALID_TOKEN never produced"]),
    ],
)
def test_each_missing_call_is_named(left_out: int, expected: list[str]) -> None:
    calls = [call for place, call in enumerate(WHOLE) if place != left_out]

    assert gaps([COMMAND], calls) == sorted(f"session list: {gap}" for gap in expected)


def test_a_command_that_nobody_called_and_a_code_that_nobody_declared_are_gaps() -> None:
    other = {**COMMAND, "path": "session show"}
    surprise = shown("session", "list", status=1, code="E_IO")

    assert gaps([COMMAND, other], [*WHOLE, surprise]) == [
        "session list: code E_IO not declared",
        "session show: never called",
    ]


@pytest.mark.parametrize(
    ("missing", "companions", "statuses"),
    [
        ([], {}, ("verified", "missing", "missing")),
        (["x: no success"], {"mock_upstream.json": "verified"}, ("missing", "verified", "missing")),
        (
            [],
            {"mock_upstream.json": "verified", "live_smoke.json": "verified"},
            ("verified", "verified", "verified"),
        ),
    ],
)
def test_the_record_holds_what_the_evidence_says(
    tmp_path: Path, missing: list[str], companions: dict[str, str], statuses: tuple[str, ...]
) -> None:
    for name, status in companions.items():
        (tmp_path / name).write_text(json.dumps({"status": status}), encoding="utf-8")

    made = record_of(str(tmp_path), missing, "sha256:x")

    assert (made.fcc_status, made.mock_upstream_status, made.live_smoke_status) == statuses
    assert made.gaps == len(missing)


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
