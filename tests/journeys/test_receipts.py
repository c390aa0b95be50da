"""Programs that really ran: through the command line, from the words to the fact in the log."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.printed_text import LONGEST_LINE, PrintedText, redact_argv, redact_line
from handrail.contract.redaction import Secrets
from handrail.engine.receipts import digest_argv
from handrail.host.checks import LocalCheckPrograms, LocalKnownChecks
from handrail.host.settings import LocalSettings
from handrail.runtime.operation import operation
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.tools import OFFERED, SWITCHED_ON
from handrail.wiring import registry
from tests.cases import every_case
from tests.conformance.forked import ForkedTool, ForkServer
from tests.conftest import GivenWorkspace, KeptAudit
from tests.journeys.conversation import advance, answer, rehydrate, start
from tests.journeys.interfaces import command, events_of, of_kind
from tests.journeys.test_moving_sessions import exported, imported
from tests.surfaces.cli.here import run_here
from tests.surfaces.cli.test_signals_while_waiting import begun, is_marked, wait_until
from tests.surfaces.cli.tool import patient_tool

SECRET = "correct-horse-battery-staple"


class Place:
    """A project on disk, a home beside it, and a runtime that may start programs there."""

    def __init__(self, runtime: Runtime, folder: Path, **environment: str) -> None:
        self.project, self.home = folder / "project", folder / "home"
        self.project.mkdir(parents=True)
        assert isinstance(runtime.workspace, GivenWorkspace)
        runtime.workspace.directory = str(self.project)
        self.environment = {"PATH": os.environ["PATH"], **environment}
        programs = LocalCheckPrograms(self.environment, runtime.secrets, str(self.home))
        self.runtime = msgspec.structs.replace(
            runtime,
            check_programs=lambda: programs,
            known_checks=lambda: LocalKnownChecks(str(self.home)),
            settings=LocalSettings(str(self.home), {}),
        )

    def declare(self, checks: dict[str, Any]) -> None:
        (self.project / ".handrail").mkdir(exist_ok=True)
        (self.project / ".handrail" / "config.json").write_text(
            json.dumps({"checks": checks}), encoding="utf-8"
        )

    def python(self, code: str, *flags: str) -> dict[str, Any]:
        """The answer to a check that runs this code."""
        return self.run(*flags, "--", sys.executable, "-c", code)

    def run(self, *words: str) -> dict[str, Any]:
        status, document = command(self.runtime, "check", "run", "--mvi", "full", *words)
        assert (status, document["ok"]) == (0, True), document
        data: dict[str, Any] = document["data"]
        data["notices"] = [one["type"] for one in document["meta"].get("notices", [])]
        return data


@pytest.fixture
def place(runtime: Runtime, tmp_path: Path) -> Place:
    return Place(runtime, tmp_path)


def receipts(place: Place, reply: dict[str, Any]) -> list[dict[str, Any]]:
    return [event["data"] for event in of_kind(events_of(place.runtime, reply), "receipt_recorded")]


@pytest.mark.parametrize(("status", "most"), [(0, 300), (1, 900)])
def test_a_check_replies_with_its_end_in_few_characters(place: Place, status: int, most: int) -> None:
    start(place.runtime)
    code = f"for n in range(99): print('line', n)\nprint('3 passed in 0.12s'); raise SystemExit({status})"

    ran = run_here(place.runtime, ("check", "run", "--compact", "--", sys.executable, "-c", code))

    told = json.loads(ran.out)["data"]
    assert len(ran.out) <= most
    assert told["hasPassed"] is (status == 0)
    assert told["lastLines"].endswith("line 98\n3 passed in 0.12s")
    assert (b"line 98" in ran.err) is False


def test_a_receipt_tells_the_command_its_end_and_its_output(place: Place) -> None:
    first = start(place.runtime)
    argv = [sys.executable, "-c", "print('one'); print('two')"]

    told = place.run("--", *argv)

    (fact,) = receipts(place, first)
    assert fact["argv"] == argv
    assert fact["argvDigest"] == digest_argv(argv)
    assert fact["outcome"] == {"kind": "exited", "status": 0}
    assert fact["outputDigest"] == "sha256:" + hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert (fact["outputBytes"], fact["head"], fact.get("tail", "")) == (8, "one\ntwo\n", "")
    assert (fact["by"], fact.get("directory", ".")) == ("handrail", ".")
    assert (told["checkResultId"], told["status"], told["hasPassed"]) == (fact["receiptId"], "exit 0", True)
    assert told["tail"] == "one\ntwo\n"


def test_long_output_keeps_head_tail_and_whole_digest(place: Place) -> None:
    first = start(place.runtime)

    place.python("for number in range(5000): print('line', number)")

    (fact,) = receipts(place, first)
    whole = "".join(f"line {number}\n" for number in range(5000)).encode()
    assert fact["outputDigest"] == "sha256:" + hashlib.sha256(whole).hexdigest()
    assert fact["head"].startswith("line 0\nline 1\n")
    assert fact["tail"].endswith("line 4998\nline 4999\n")
    assert len(fact["head"]) <= 2048
    assert 3000 <= len(fact["tail"]) <= 4096


@pytest.mark.parametrize(
    ("code", "outcome", "exit_status"),
    [
        ("raise SystemExit(3)", {"kind": "exited", "status": 3}, 3),
        (
            "import os; os.kill(os.getpid(), 9)",
            {"kind": "signalled", "signal": "SIGKILL"},
            137,
        ),
    ],
)
def test_a_program_that_fails_is_recorded_and_the_call_succeeds(
    place: Place, code: str, outcome: dict[str, Any], exit_status: int
) -> None:
    first = start(place.runtime)

    told = place.python(code)

    (fact,) = receipts(place, first)
    assert fact["outcome"] == outcome
    assert (told["hasPassed"], told["exitStatus"]) == (False, exit_status)
    passed = run_here(place.runtime, ["check", "run", "--pass-status", "--", sys.executable, "-c", code])
    assert passed.status == exit_status
    assert json.loads(passed.out)["ok"] is True


def test_a_program_that_is_not_there_is_recorded_as_not_started(place: Place) -> None:
    first = start(place.runtime)

    told = place.run("--", "no-such-program-anywhere")

    (fact,) = receipts(place, first)
    assert fact["outcome"]["kind"] == "not_started"
    assert "PATH" in fact["outcome"]["reason"]
    assert (told["hasPassed"], told["exitStatus"]) == (False, 127)


@pytest.mark.thorough
def test_a_program_out_of_time_is_ended_with_all_that_it_started(place: Place) -> None:
    first = start(place.runtime)
    child = "import time\ntime.sleep(600)"
    code = (
        "import subprocess, sys\n"
        f"inner = subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "print(inner.pid, flush=True)\n"
        "inner.wait()\n"
    )

    told = place.python(code, "--time-limit", "1")

    (fact,) = receipts(place, first)
    assert fact["outcome"] == {"kind": "timed_out", "seconds": 1}
    assert (told["hasPassed"], told["exitStatus"]) == (False, 124)
    pid = int(fact["head"].strip())
    wait_until(lambda: not _is_alive(pid))


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.thorough
def test_a_program_ends_when_what_started_it_is_killed(tmp_path: Path) -> None:
    tool = patient_tool(str(tmp_path))
    tool.data("run", "start", "wr.small_change", "--request-id", "one", "--goal", "kills")
    mark = tmp_path / "mark"
    code = f"import os, signal\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\nsignal.pause()"
    running = begun(tool, ["check", "run", "--", sys.executable, "-c", code])
    try:
        wait_until(lambda: is_marked(running, mark))
        running.kill()
        running.communicate(timeout=60)
        wait_until(lambda: not _is_alive(int(mark.read_text(encoding="ascii"))))
    finally:
        running.kill()
        with suppress(OSError, ValueError):
            os.kill(int(mark.read_text(encoding="ascii")), signal.SIGKILL)


def test_no_lock_is_held_while_a_program_runs(place: Place) -> None:
    first = start(place.runtime)
    gate = place.project / "gate"
    waits = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)"
    done: list[dict[str, Any]] = []
    check = threading.Thread(
        target=lambda: done.append(
            answer(
                place.runtime, "check.run", argv=[sys.executable, "-c", waits], stateToken=first["stateToken"]
            )
        )
    )
    check.start()

    second = advance(place.runtime, first, "did it meanwhile")
    gate.touch()
    check.join(120)

    (fact,) = receipts(place, first)
    assert done[0]["status"] == "exit 0"
    assert second["pending"]["stepId"] != first["pending"]["stepId"]
    created = of_kind(events_of(place.runtime, first), "node_created")
    assert fact["nodeId"] == created[0]["scope"]["nodeId"]


def test_a_receipt_on_an_older_step_moves_no_tip(place: Place) -> None:
    first = start(place.runtime)
    second = advance(place.runtime, first, "did it")

    told = place.run("--state", first["stateToken"], "--", sys.executable, "-c", "pass")

    assert told["stepId"] == first["pending"]["stepId"]
    assert rehydrate(place.runtime, second)["pending"]["stepId"] == second["pending"]["stepId"]
    (found,) = answer(place.runtime, "session.resume", query=first["session"]["sessionId"])["items"]
    assert found["pendingTitle"] == second["pending"]["title"]


def test_nothing_is_started_without_exactly_one_run(place: Place) -> None:
    mark = place.project / "started"
    words = ["check", "run", "--", sys.executable, "-c", f"open({str(mark)!r}, 'w', encoding='ascii')"]

    none, nothing = command(place.runtime, *words)
    one, other = start(place.runtime, goal="one"), start(place.runtime, goal="other")
    two, several = command(place.runtime, *words)

    assert (none, two) == (2, 2)
    assert "No run is in progress" in nothing["error"]["message"]
    for reply in (one, other):
        assert reply["session"]["sessionId"] in several["error"]["message"]
    newest = other["session"]["sessionId"]
    assert f"--session {newest}" in several["error"]["details"]["hint"]
    following = several["error"]["details"]["next_command"]
    assert following.startswith("handrail check run ")
    assert newest in following
    assert not mark.exists()
    told = place.run("--session", newest, *words[2:])
    assert told["sessionId"] == other["session"]["sessionId"]
    assert mark.exists()


def test_a_program_gets_its_words_as_they_are_and_nothing_else(runtime: Runtime, tmp_path: Path) -> None:
    place = Place(runtime, tmp_path, AI_NATIVE_CLI_SECRET=SECRET, KEPT="yes")
    start(place.runtime)
    code = (
        "import os, sys\n"
        "print(sys.argv[1:], sys.stdin.read() == '', os.getcwd())\n"
        "print(os.environ.get('AI_NATIVE_CLI_SECRET'), os.environ['KEPT'], os.getpgid(0) == os.getpid())\n"
    )

    told = place.run("--", sys.executable, "-c", code, "$HOME", "; touch here", "*")

    assert told["tail"].splitlines() == [
        f"['$HOME', '; touch here', '*'] True {place.project}",
        "None yes True",
    ]
    assert list(place.project.iterdir()) == []


def test_program_of_the_directory_starts_by_its_path_only(place: Place) -> None:
    start(place.runtime)
    planted = place.project / "pytest"
    planted.write_text("#!/bin/sh\necho planted\n", encoding="utf-8")
    planted.chmod(0o755)
    place.environment["PATH"] = ".:bin::" + str(place.home)

    by_name = place.run("--", "pytest")
    by_path = place.run("--", "./pytest")

    assert (by_name["exitStatus"], by_name["tail"]) == (127, "")
    assert (by_path["exitStatus"], by_path["tail"]) == (0, "planted\n")


def test_a_check_starts_inside_the_project_only(place: Place, tmp_path: Path) -> None:
    first = start(place.runtime)
    (place.project / "out").symlink_to(tmp_path)
    (place.project / "sub").mkdir()
    outside = tmp_path / "tool"
    outside.write_text("#!/bin/sh\necho outside\n", encoding="utf-8")
    outside.chmod(0o755)

    for asked in ("..", "/", "out", "missing", "sub\0"):
        sent = json.dumps({"directory": asked, "argv": ["true"]})
        status, refused = command(place.runtime, "check", "run", "--input", sent)
        assert (status, refused["ok"]) == (2, False)
    told = place.run("--directory", "sub", "--", "pwd")
    climbing = place.run("--", "../tool")

    assert told["tail"] == f"{place.project}/sub\n"
    assert told["directory"] == "sub"
    assert climbing["exitStatus"] == 127
    assert len(receipts(place, first)) == 2
    assert str(tmp_path) not in json.dumps(
        [fact["directory"] for fact in receipts(place, first) if "directory" in fact]
    )


SECRETS = {
    "named": "password = hunter2-hunter2",
    "json": '{"api_key": "abcd-efgh-ijkl"}',
    "bearer": "Authorization: Bearer abcdef0123456789abcdef",
    "github": "cloning with ghp_0123456789abcdefghijABCDEFGHIJ",
    "openai": "sk-proj-0123456789abcdefghij",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "url": "https://user:swordfish-1@example.org/x",
}
LEAKS = (
    "hunter2-hunter2",
    "abcd-efgh-ijkl",
    "abcdef0123456789abcdef",
    "ghp_0123456789abcdefghijABCDEFGHIJ",
    "sk-proj-0123456789abcdefghij",
    "eyJzdWIiOiIxIn0",
    "swordfish-1",
    SECRET,
    "MIIEvQIBADANBgkqhkiG9w0BAQ",
)


def test_no_secret_is_in_log_answer_audit_or_terminal(
    runtime: Runtime, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = Place(runtime, tmp_path, DEPLOY_TOKEN=SECRET)
    first = start(place.runtime)
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END PRIVATE KEY-----"
    said = "\n".join([*SECRETS.values(), key])
    code = f"import os\nprint({said!r})\nprint(os.environ['DEPLOY_TOKEN'], flush=True)"
    words = ["--password", "hunter2-hunter2", "--token=abcd-efgh-ijkl", SECRETS["github"], SECRETS["url"]]

    ran = run_here(place.runtime, ["check", "run", "--progress", "--", sys.executable, "-c", code, *words])

    shown = capfd.readouterr().err
    loaded = place.runtime.log.load(first["session"]["sessionId"])
    assert loaded is not None
    assert isinstance(place.runtime.audit, KeptAudit)
    audit = msgspec.json.encode(place.runtime.audit.lines).decode()
    stored = b"".join(record.body for record in loaded.records).decode()
    for name, text in {"terminal": shown, "answer": ran.out.decode(), "log": stored, "audit": audit}.items():
        assert [leak for leak in LEAKS if leak in text] == [], name
    assert "[redacted]" in shown
    (fact,) = receipts(place, first)
    assert fact["argvDigest"] == digest_argv([sys.executable, "-c", code, *words])


def test_own_token_in_the_environment_is_cut_where_printed(runtime: Runtime, tmp_path: Path) -> None:
    assert isinstance(runtime.workspace, GivenWorkspace)
    runtime.workspace.directory = str(tmp_path / "project")
    first = start(runtime)
    place = Place(runtime, tmp_path, RUN_TOKEN=first["stateToken"])
    code = "import os; print(os.environ['RUN_TOKEN'])"

    told = place.run("--state", first["stateToken"], "--", sys.executable, "-c", code)

    assert told["sessionId"] == first["session"]["sessionId"]
    assert told["tail"] == "st1…\n"


def test_a_secret_that_is_cut_by_a_limit_leaves_no_half(place: Place) -> None:
    printed = PrintedText(Secrets())

    (line,) = printed.take(b"x" * 16_370 + b" token=abcdefghijklmnop\n")

    (shrunk,) = printed.take(b"token=" + b"a" * 16_365 + b" sk-abcdefghijklmnop1234567890\n")

    assert "token=" not in line
    assert len(line) <= LONGEST_LINE
    assert "sk-" not in shrunk
    assert redact_argv(["--secret", "abcdefgh"], Secrets()) == ("--secret", "[redacted]")


@every_case(
    "line",
    [
        "tests/test_tokens.py::test_x PASSED",
        "test_token.py:42: AssertionError",
        "max_tokens=4096, secret=true",
        "412 passed, 3 skipped in 9.41s",
        "src/secret.rs: error",
    ],
)
def test_what_is_no_secret_stays(line: str) -> None:
    assert redact_line(line, Secrets()) == line


def test_nothing_printed_can_steer_a_terminal(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    first = start(place.runtime)
    code = (
        "import sys\n"
        r"sys.stdout.buffer.write(b'\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://a\x1b\\link\x9b2J')"
        "\n"
        r"sys.stdout.buffer.write(b'\rover\xe2\x80\xaetxt\x08\x00\xff\n')"
        "\n"
        "print('y' * 100_000)\n"
    )

    told = place.python(code, "--progress")

    shown = capfd.readouterr().err
    (fact,) = receipts(place, first)
    for text in (shown, fact["head"], told["tail"]):
        assert all(character == "\n" or character.isprintable() for character in text)
        assert "red xlink" in text
        assert max(map(len, text.splitlines())) <= LONGEST_LINE


def test_no_server_offers_an_operation_that_starts_programs() -> None:
    starting = {called.name for called in registry().operations() if called.effect == "process"}

    assert starting == {"check.prove", "check.run"}
    assert starting.isdisjoint({*OFFERED, *SWITCHED_ON})
    assert {operation(name).tool for name in starting} == {""}


def test_session_and_its_copy_show_their_receipts(place: Place) -> None:
    first = start(place.runtime)
    told = place.run("--", sys.executable, "-c", "print('here')")
    session_id = first["session"]["sessionId"]

    _, moments = command(place.runtime, "session", "show", session_id, "--timeline")
    ledger = answer(place.runtime, "ledger.show", runId=first["session"]["runId"])
    moved = imported(place.runtime, exported(place.runtime, session_id))["session_id"]
    reports = [
        answer(place.runtime, "session.export", sessionId=session_id, **{"as": form})["content"]
        for form in ("markdown", "html")
    ]

    assert moments["data"]["items"][0]["what"] == "receipt"
    assert len(ledger["entries"]) == 1
    assert all("Programs that ran" in report and "started by Handrail" in report for report in reports)
    (copied,) = answer(place.runtime, "session.events", sessionId=moved, kinds=["receipt_recorded"])["items"]
    assert copied["data"]["receiptId"] == told["checkResultId"]


def test_what_another_store_recorded_is_told_as_such(tmp_path: Path, fork_server: ForkServer) -> None:
    here, there = (ForkedTool(str(tmp_path / name), fork_server) for name in ("here", "there"))
    started = here.data("run", "start", "wr.small_change", "--request-id", "one", "--goal", "moves")
    session_id = started["session"]["sessionId"]
    changing = here.data("run", "continue", "--ack", started["ackToken"], "--notes", "Planned.")
    Path(here.project, "new.py").write_text("new = 1\n", encoding="utf-8")
    files = [{"path": "new.py", "change": "added", "why": "It counts from one."}]
    checks = [{"command": "make test", "exitCode": 0, "summary": "It passed."}]
    body = json.dumps([{"kind": "wr.changed_files", "files": files, "checks": checks}])
    here.data("run", "continue", "--ack", changing["ackToken"], "--notes", "Done.", "--artifacts", body)
    bundle = str(tmp_path / "bundle.json")
    here.data("session", "export", session_id, "--out", bundle)
    shown = there.data("session", "import", bundle, "--dry-run")
    there.data("session", "import", bundle, "--confirm", shown["confirm_token"])

    reports = [
        one.data("session", "export", session_id, "--as", "markdown")["content"] for one in (here, there)
    ]
    listed = here.run("session", "resume", session_id, "--human").out.decode()

    told = "as another store recorded it before the import"
    assert [told in report for report in reports] == [False, True]
    assert "Evidence" in listed


def test_program_run_in_another_project_proves_nothing(runtime: Runtime, tmp_path: Path) -> None:
    place = Place(runtime, tmp_path)
    first = start(place.runtime)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    words = ("--session", first["session"]["sessionId"], "--project", str(elsewhere))
    status, document = command(place.runtime, "check", "run", *words, "--", "true")

    assert (status, document["ok"]) == (0, True)
    assert "check_elsewhere" in [one["type"] for one in document["meta"]["notices"]]
    (fact,) = receipts(place, first)
    assert (fact["directory"], fact.get("check", "")) == ("outside the project of the run", "")


class CountedProgress:
    """`ports.Progress` that keeps what it is told, and how often."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def report(self, done: int, total: int, what: str) -> None:
        raise AssertionError(f"nothing is counted here: {done} of {total} {what}")

    def write(self, line: str) -> None:
        raise AssertionError(f"nothing but the program talks here: {line}")

    def pass_on(self, lines: str) -> None:
        self.said.append(lines)


def test_many_lines_are_passed_on_a_chunk_at_a_time(place: Place) -> None:
    start(place.runtime)
    progress = CountedProgress()
    whole = "".join(f"line {number}\n" for number in range(20_000))
    code = "import sys; sys.stdout.write(''.join(f'line {number}\\n' for number in range(20_000)))"
    runtime = msgspec.structs.replace(place.runtime, progress=progress)

    answer(runtime, "check.run", argv=[sys.executable, "-c", code])

    assert "".join(progress.said) == whole
    assert len(progress.said) <= len(whole) // 4_000
