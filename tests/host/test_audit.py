"""The audit log on disk: private, whole lines, one file a month, never a reason to fail."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from handrail.contract.redaction import Secrets
from handrail.host.process import MOST_LINE_BYTES, AuditFiles
from handrail.ports.process import AuditLine

LINE = AuditLine(
    at="2027-03-15T08:00:00.000Z",
    tool="handrail cli",
    version="1.2.3",
    command="run start",
    args={"workflowId": "wr.small_change"},
    account="someone",
    workspace="/project",
    effect="create",
)
FIELDS = [
    "at",
    "tool",
    "version",
    "command",
    "args",
    "account",
    "workspace",
    "effect",
    "dry_run",
    "code",
    "exit",
    "duration_ms",
    "targets_count",
    "token_fingerprint",
    "request_id",
]


def lines_in(home: str, month: str = "2027-03") -> list[str]:
    return (Path(home) / "audit" / f"audit-{month}.jsonl").read_text(encoding="utf-8").splitlines()


def at(month: str) -> AuditLine:
    return msgspec.structs.replace(LINE, at=f"{month}-15T08:00:00.000Z")


@pytest.mark.promise("cli.audit")
def test_each_record_is_one_line_with_every_field(home: str) -> None:
    audit = AuditFiles(home, Secrets())

    audit.record(LINE, 12)
    audit.record(msgspec.structs.replace(LINE, code="E_CONFLICT", exit=6), 12)

    first, second = (json.loads(line) for line in lines_in(home))
    assert list(first) == FIELDS
    assert first["args"] == LINE.args
    assert (first["code"], second["code"], second["exit"]) == (None, "E_CONFLICT", 6)


@pytest.mark.parametrize("umask", [0, 0o277])
def test_folder_and_file_are_private_whatever_the_umask(home: str, umask: int) -> None:
    os.mkdir(home, 0o700)
    before = os.umask(umask)
    try:
        AuditFiles(home, Secrets()).record(LINE, 12)
    finally:
        os.umask(before)

    assert stat.S_IMODE(os.stat(f"{home}/audit").st_mode) == 0o700
    assert stat.S_IMODE(os.stat(f"{home}/audit/audit-2027-03.jsonl").st_mode) == 0o600


def test_a_line_never_grows_beyond_what_one_write_keeps_whole(home: str) -> None:
    long = msgspec.structs.replace(LINE, args={"to": "x" * 10_000})

    AuditFiles(home, Secrets()).record(long, 12)

    (line,) = lines_in(home)
    assert len(line) < MOST_LINE_BYTES
    assert json.loads(line)["args"] == {"omitted_bytes": 10_009}


def test_a_line_of_just_that_length_keeps_its_arguments(home: str) -> None:
    empty = msgspec.structs.replace(LINE, args={"to": ""})
    args = {"to": "x" * (MOST_LINE_BYTES - len(msgspec.json.encode(empty)) - 1)}

    AuditFiles(home, Secrets()).record(msgspec.structs.replace(LINE, args=args), 12)

    (line,) = lines_in(home)
    assert len(line) + 1 == MOST_LINE_BYTES
    assert json.loads(line)["args"] == args


@pytest.mark.promise("cli.secrets")
def test_registered_secrets_do_not_reach_the_file(home: str) -> None:
    secrets = Secrets()
    secrets.register(b"hunter2-hunter2")

    AuditFiles(home, secrets).record(msgspec.structs.replace(LINE, workspace="/x/hunter2-hunter2"), 12)

    assert json.loads(lines_in(home)[0])["workspace"] == "/x/[redacted]"


MONTHS = [f"2026-{month:02}" for month in range(1, 13)]


def files_of(months: list[str]) -> list[str]:
    return [f"audit-{month}.jsonl" for month in months]


def test_the_newest_files_stay_when_a_month_begins(home: str) -> None:
    audit = AuditFiles(home, Secrets())
    for month in ("2019-04", *MONTHS[:4]):
        audit.record(at(month), 120)
    (Path(home) / "audit" / "notes.txt").write_text("mine", encoding="utf-8")

    audit.record(at("2027-03"), 4)

    assert sorted(os.listdir(f"{home}/audit")) == [*files_of([*MONTHS[1:4], "2027-03"]), "notes.txt"]


@pytest.mark.parametrize("now", ["1970-01", "2029-01", "9999-12"])
def test_wrong_clock_removes_at_most_the_oldest_file(home: str, now: str) -> None:
    """A clock that is wrong takes at most the oldest file and never its own."""
    audit = AuditFiles(home, Secrets())
    for month in MONTHS:
        audit.record(at(month), 12)

    audit.record(at(now), 12)

    kept = sorted(os.listdir(f"{home}/audit"))
    assert set(kept) >= {*files_of(MONTHS[1:]), f"audit-{now}.jsonl"}
    assert len(kept) in (12, 13)


def test_only_the_first_line_of_a_month_looks_for_what_is_old(home: str) -> None:
    audit = AuditFiles(home, Secrets())
    audit.record(LINE, 12)
    audit.record(at("2020-01"), 120)
    (Path(home) / "audit" / "audit-2020-01.txt").write_text("not a log of ours", encoding="utf-8")

    audit.record(LINE, 1)
    kept_meanwhile = sorted(os.listdir(f"{home}/audit"))
    audit.record(at("2027-04"), 2)

    assert kept_meanwhile == ["audit-2020-01.jsonl", "audit-2020-01.txt", "audit-2027-03.jsonl"]
    assert sorted(os.listdir(f"{home}/audit")) == [
        "audit-2020-01.txt",
        "audit-2027-03.jsonl",
        "audit-2027-04.jsonl",
    ]


def test_unwritable_log_is_one_line_on_stderr(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A log that cannot be written is one line on stderr and no failure."""
    (tmp_path / "audit").write_text("in the way", encoding="utf-8")

    AuditFiles(str(tmp_path), Secrets()).record(LINE, 12)

    told = capfd.readouterr().err
    assert told.count("\n") == 1
    assert "could not be written (ENOTDIR)" in told


def test_a_link_in_place_of_the_file_is_not_followed(home: str, tmp_path: Path) -> None:
    AuditFiles(home, Secrets()).record(at("2027-02"), 12)
    target = tmp_path / "elsewhere"
    os.symlink(target, f"{home}/audit/audit-2027-03.jsonl")

    AuditFiles(home, Secrets()).record(LINE, 12)

    assert not target.exists()


@pytest.mark.thorough
def test_lines_of_many_processes_stay_whole(home: str) -> None:
    script = (
        "import sys, msgspec\n"
        "from handrail.contract.redaction import Secrets\n"
        "from handrail.host.process import AuditFiles\n"
        "from tests.host.test_audit import LINE\n"
        "audit = AuditFiles(sys.argv[1], Secrets())\n"
        "line = msgspec.structs.replace(LINE, command=sys.argv[2] * 500)\n"
        "for _ in range(50):\n"
        "    audit.record(line, 12)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    running = [
        subprocess.Popen([sys.executable, "-c", script, home, letter], env=environment) for letter in "ab"
    ]

    statuses = [one.wait(60) for one in running]

    commands = [json.loads(line)["command"] for line in lines_in(home)]
    assert statuses == [0, 0]
    assert sorted(commands) == sorted(letter * 500 for letter in "ab" for _ in range(50))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_in_place_of_the_file_makes_nobody_wait(home: str, capfd: pytest.CaptureFixture[str]) -> None:
    os.makedirs(f"{home}/audit")
    os.mkfifo(f"{home}/audit/audit-2027-03.jsonl")

    AuditFiles(home, Secrets()).record(LINE, 12)

    assert "the audit log could not be written" in capfd.readouterr().err
