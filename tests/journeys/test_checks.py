"""Checks that a project declares: listed, run by name, pinned, pointed out, and counted by their reports."""

from __future__ import annotations

import json
import marshal
import os
import shlex
import shutil
import stat
import sys
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.ids import ReportFormat
from handrail.engine.receipts import digest_argv
from handrail.host.checks import MOST_BYTECODE
from handrail.operations.checks.reports import UnreadableReport, count_tests
from handrail.runtime.runtime import Runtime
from tests.cases import every_case
from tests.conftest import GivenWorkspace
from tests.journeys.conversation import start
from tests.journeys.interfaces import command, events_of, of_kind
from tests.journeys.test_receipts import SECRET, Place, receipts

CHECKS = {
    "tests": {"command": [sys.executable, "-c", "print('ran')"], "description": "All of them."},
}


@pytest.fixture
def place(runtime: Runtime, tmp_path: Path) -> Place:
    return Place(runtime, tmp_path)


def test_a_declared_check_is_listed_and_run_by_its_name(place: Place) -> None:
    place.declare(CHECKS)
    first = start(place.runtime)

    _, listed = command(place.runtime, "check", "list")
    told = place.run("tests")

    (row,) = listed["data"]["items"]
    assert (row["name"], row["command"]) == ("tests", CHECKS["tests"]["command"])
    assert (told["check"], told["tail"]) == ("tests", "ran\n")
    (fact,) = receipts(place, first)
    assert fact["check"] == "tests"
    status, refused = command(place.runtime, "check", "run", "test")
    assert (status, "tests" in refused["error"]["message"]) == (2, True)
    assert "--" in refused["error"]["message"]


@pytest.mark.parametrize(
    "checks",
    [
        {"Tests!": {"command": ["true"]}},
        {"tests": {"command": []}},
        {"tests": {"command": "true"}},
        {"tests": {"command": [""]}},
        {"tests": {}},
        {"tests": {"command": ["true"], "timeoutSeconds": 0}},
        {"tests": {"command": ["true"], "shell": True}},
        {"tests": {"command": ["true"], "directory": "../elsewhere"}},
        {"tests": {"command": ["true"], "directory": "/tmp"}},
        {"tests": {"command": ["true"], "report": {"path": "a/../../b.xml"}}},
        {"tests": {"command": ["true"], "report": {"path": "b.xml", "format": "prose"}}},
        {f"t{number}": {"command": ["true"]} for number in range(21)},
        {"tests": {"command": ["true"] * 41}},
    ],
)
def test_a_declaration_that_is_wrong_is_named(place: Place, checks: dict[str, Any]) -> None:
    place.declare(checks)

    (problem,) = place.runtime.settings.problems(str(place.project))
    status, refused = command(place.runtime, "check", "list")

    assert problem.place == ".handrail/config.json"
    assert status == 4
    assert refused["error"]["code"] == "E_CONFIG"


FAILS = {"tests": {"command": [sys.executable, "-c", "raise SystemExit(9)"]}}


@pytest.mark.parametrize("later", [FAILS, {}])
def test_command_of_the_start_runs_whatever_is_declared_since(place: Place, later: dict[str, Any]) -> None:
    place.declare(CHECKS)
    first = start(place.runtime)
    (begun,) = of_kind(events_of(place.runtime, first), "run_started")

    same = place.run("tests")
    place.declare(later)
    changed = place.run("tests")

    (pinned,) = begun["data"]["checks"]
    assert (pinned["name"], pinned["argvDigest"]) == ("tests", digest_argv(CHECKS["tests"]["command"]))
    assert "check_changed" not in same["notices"]
    assert "check_changed" in changed["notices"]
    assert (changed["check"], changed["exitStatus"], changed["tail"]) == ("tests", 0, "ran\n")
    assert [one["argvDigest"] for one in receipts(place, first)] == [pinned["argvDigest"]] * 2


def test_a_changed_declaration_is_told_with_both_commands(
    place: Place, capfd: pytest.CaptureFixture[str]
) -> None:
    place.declare({"tests": {"command": ["true", "one"]}})
    start(place.runtime)
    place.declare({"tests": {"command": ["true", "two"]}})

    _, document = command(place.runtime, "check", "run", "tests")

    (told,) = [one["message"] for one in document["meta"]["notices"] if one["type"] == "check_changed"]
    assert told.endswith("is run, and counts: true one. Declared now: true two")
    assert told in capfd.readouterr().err


def test_directory_time_limit_and_report_are_pinned_too(place: Place) -> None:
    (place.project / "inner").mkdir()
    code = "import os; print(os.path.basename(os.getcwd()))"
    here = {"command": [sys.executable, "-c", code], "directory": "inner", "timeoutSeconds": 50}
    place.declare({"tests": {**here, "report": {"path": "r.xml", "format": "junit"}}})
    first = start(place.runtime)
    place.declare({"tests": {"command": here["command"]}})

    told = place.run("tests")

    (begun,) = of_kind(events_of(place.runtime, first), "run_started")
    (pinned,) = begun["data"]["checks"]
    assert (pinned["directory"], pinned["timeoutSeconds"]) == ("inner", 50)
    assert (pinned["reportPath"], pinned["reportFormat"]) == ("r.xml", "junit")
    assert (told["directory"], told["tail"]) == ("inner", "inner\n")
    assert {"check_changed", "report_not_read"} <= set(told["notices"])


def test_command_whose_words_are_not_stored_is_not_replaced(place: Place) -> None:
    place.declare({"tests": {"command": ["true", "--password", SECRET]}})
    first = start(place.runtime)
    place.declare(FAILS)

    status, refused = command(place.runtime, "check", "run", "tests")

    assert (status, refused["error"]["code"]) == (2, "E_VALIDATION")
    assert "true --password [redacted]" in refused["error"]["message"]
    assert SECRET not in json.dumps(refused)
    assert receipts(place, first) == []


def test_a_check_that_is_declared_later_runs_and_says_so(place: Place) -> None:
    first = start(place.runtime)
    place.declare(CHECKS)

    told = place.run("tests")

    assert "check_changed" in told["notices"]
    assert [one["check"] for one in receipts(place, first)] == ["tests"]


def test_a_start_without_checks_is_recorded_as_ever(place: Place) -> None:
    first = start(place.runtime)

    (begun,) = of_kind(events_of(place.runtime, first), "run_started")

    assert "checks" not in begun["data"]


def test_first_run_of_a_check_warns_with_its_command(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    place.declare(CHECKS)
    start(place.runtime)

    first, second = place.run("tests"), place.run("tests")
    place.declare({"tests": {"command": ["true"]}})
    later = start(place.runtime, requestId="later")
    changed = place.run("tests", "--session", later["session"]["sessionId"])

    assert ["check_first_use" in told["notices"] for told in (first, second, changed)] == [True, False, True]
    assert shlex.quote("print('ran')") in capfd.readouterr().err


JUNIT = (
    '<?xml version="1.0"?><testsuites tests="99"><testsuite name="a">'
    '<testcase name="1"/><testcase name="2"><failure>no</failure></testcase>'
    '<testcase name="3"><skipped/></testcase><testcase name="4"><error/></testcase>'
    '<testcase name="5"><system-out>fine</system-out></testcase></testsuite></testsuites>'
)
EMPTY = "<testsuites><testsuite/></testsuites>"


def reporting(place: Place, content: str | None, path: str = "out/report.xml") -> dict[str, Any]:
    """A declared check that writes this report, or none."""
    code = "import os; os.makedirs('out', exist_ok=True)\n"
    if content is not None:
        code += f"open({path!r}, 'w', encoding='utf-8').write({content!r})"
    place.declare({"tests": {"command": [sys.executable, "-c", code], "report": {"path": path}}})
    return place.run("tests")


def test_the_report_of_this_run_is_counted_and_no_older_one(place: Place) -> None:
    first = start(place.runtime)

    counted = reporting(place, JUNIT)
    old = reporting(place, None)

    assert counted["counts"] == {"passed": 2, "failed": 1, "skipped": 1, "errors": 1}
    assert counted["hasPassed"] is False
    assert old["counts"] is None
    assert "report_not_read" in old["notices"]
    assert (old["exitStatus"], old["hasPassed"]) == (0, False)
    assert receipts(place, first)[1]["uncounted"] == "the report is older than this run of the program"
    assert [fact.get("counts") for fact in receipts(place, first)] == [counted["counts"], None]


def test_a_runner_that_ran_nothing_has_not_passed(place: Place) -> None:
    start(place.runtime)

    nothing = reporting(place, EMPTY)
    no_tests = place.python("raise SystemExit(5)")

    assert (nothing["exitStatus"], nothing["hasPassed"]) == (0, False)
    assert nothing["counts"] == {"passed": 0, "failed": 0, "skipped": 0, "errors": 0}
    assert no_tests["hasPassed"] is False


def test_a_declared_report_that_is_not_written_has_not_passed(place: Place) -> None:
    start(place.runtime)

    told = reporting(place, None)

    assert (told["exitStatus"], told["hasPassed"], told["counts"]) == (0, False, None)


@every_case(
    "content",
    [
        '<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z "&x;&x;">]><testsuite>&z;</testsuite>',
        "<testsuite>",
        "no xml at all",
        "<html/>",
        "<testsuites>" + "<testsuite>" * 100 + "</testsuite>" * 100 + "</testsuites>",
    ],
)
def test_a_report_that_means_harm_or_nothing_is_not_counted(content: str) -> None:
    with pytest.raises(UnreadableReport):
        count_tests(content.encode(), "junit")


def test_the_report_of_jest_is_counted() -> None:
    told = b'{"numPassedTests": 3, "numFailedTests": 1, "numPendingTests": 2, "testResults": []}'

    counts = count_tests(told, "jest")

    assert counts is not None
    assert (counts.passed, counts.failed, counts.skipped, counts.errors) == (3, 1, 2, 0)


TAP_OF_NODE = """TAP version 13
# Subtest: adds
ok 1 - adds
# Subtest: group
    # Subtest: inner
    not ok 1 - inner
not ok 2 - group
1..2
# tests 3
# suites 0
# pass 1
# fail 1
# cancelled 0
# skipped 1
# todo 0
"""
GO = """{"Action":"start","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
FAIL q [build failed]
{"Action":"fail","Package":"q"}
"""


@every_case(
    ("form", "content", "counted"),
    [
        ("junit", '<testsuite tests="3"/>', (0, 0, 0, 0)),
        ("junit", '<testsuite tests="9"><testcase name="a"/></testsuite>', (1, 0, 0, 0)),
        ("tap", TAP_OF_NODE, (1, 1, 1, 0)),
        ("tap", "TAP version 13\n1..0\n", (0, 0, 0, 0)),
        ("tap", "TAP version 13\n# tests 0\n# pass 0\n# fail 0\n", (0, 0, 0, 0)),
        ("tap", "1..4\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP later\n", (1, 1, 1, 1)),
        ("go", GO, (1, 0, 1, 1)),
        ("go", '{"Action":"start","Package":"p"}\n{"Action":"skip","Package":"p"}\n', (0, 0, 0, 0)),
    ],
)
def test_what_a_runner_writes_or_prints_for_programs_is_counted(
    form: ReportFormat, content: str, counted: tuple[int, ...]
) -> None:
    counts = count_tests(content.encode(), form)

    assert counts is not None
    assert (counts.passed, counts.failed, counts.skipped, counts.errors) == counted


@pytest.mark.parametrize("form", ["tap", "go"])
def test_what_is_in_no_form_of_a_runner_counts_nothing(form: ReportFormat) -> None:
    with pytest.raises(UnreadableReport):
        count_tests(b"all 412 tests passed, 0 failed\n", form)


@pytest.mark.parametrize("form", ["cargo", "unittest"])
def test_text_for_people_counts_nothing(form: ReportFormat) -> None:
    assert count_tests(b"Ran 5 tests in 0.001s\n\nOK\n", form) is None


def test_what_steers_a_runner_is_kept_from_declared_checks(runtime: Runtime, tmp_path: Path) -> None:
    place = Place(runtime, tmp_path, PYTEST_ADDOPTS="-k nothing")
    start(place.runtime)
    code = "import os; raise SystemExit(bool(os.environ.get('PYTEST_ADDOPTS')))"
    place.declare({"tests": {"command": [sys.executable, "-c", code]}})

    declared = place.run("tests")
    typed = place.python(code)

    assert (declared["exitStatus"], typed["exitStatus"]) == (0, 1)


def test_bytecode_that_lies_in_the_project_is_not_loaded(runtime: Runtime, tmp_path: Path) -> None:
    place = Place(runtime, tmp_path, PYTHONDONTWRITEBYTECODE="1")
    start(place.runtime)
    source = place.project / "bill.py"
    source.write_text("raise SystemExit(1)\n", encoding="utf-8")
    forged = Path(cache_from_source(str(source)))
    forged.parent.mkdir()
    never_compared = (0b01).to_bytes(4, "little") + bytes(8)
    forged.write_bytes(MAGIC_NUMBER + never_compared + marshal.dumps(compile("", "bill.py", "exec")))
    place.declare({"tests": {"command": [sys.executable, "-c", "import bill"]}})
    kept = place.home / "data" / "cache" / "bytecode"

    for told in (place.run("tests"), place.run("--", sys.executable, "-c", "import bill")):
        assert told["exitStatus"] == 1

    (own,) = kept.iterdir()
    assert [*own.rglob("bill.*.pyc")]
    assert stat.S_IMODE(own.stat().st_mode) == 0o700


def test_a_source_of_the_same_size_and_time_is_compiled_again(place: Place, tmp_path: Path) -> None:
    start(place.runtime)
    source = place.project / "src" / "bill.py"
    installed = place.project / ".venv" / "site-packages" / "more.py"
    for file in (source, installed):
        file.parent.mkdir(parents=True)
        file.write_text("RIGHT = 1\n", encoding="utf-8")
        os.utime(file, (1, 1))
    code = f"import sys; sys.path[:0] = {[str(source.parent), str(installed.parent)]}; import more, bill"
    code += "; raise SystemExit(bill.RIGHT != 1)"
    assert place.python(code)["exitStatus"] == 0
    (kept,) = (place.home / "data" / "cache" / "bytecode").iterdir()
    (compiled,) = kept.rglob("more.*.pyc")
    made, mirrored = compiled.stat().st_mtime_ns, Path(f"{kept}{source.parent}")
    outside = mirrored.rename(tmp_path / "outside")

    source.write_text("RIGHT = 0\n", encoding="utf-8")
    os.utime(source, (1, 1))
    for is_link in (False, True):
        if is_link:
            shutil.rmtree(mirrored)
            mirrored.symlink_to(outside)
        else:
            shutil.copytree(outside, mirrored)
        assert place.python(code)["exitStatus"] == 1
    assert (compiled.stat().st_mtime_ns, len([*outside.iterdir()])) == (made, 1)
    (mirrored / "somebody's").touch()
    kept.rename(tmp_path / "moved")
    kept.symlink_to(tmp_path / "moved")
    assert place.python(code)["exitStatus"] == 1
    assert [*(tmp_path / "moved").rglob("somebody's")]


def test_a_declaration_may_place_the_bytecode_itself(place: Place, tmp_path: Path) -> None:
    start(place.runtime)
    own = {"PYTHONPYCACHEPREFIX": str(tmp_path / "own")}
    code = f"import sys; raise SystemExit(sys.pycache_prefix != {own['PYTHONPYCACHEPREFIX']!r})"
    place.declare({"tests": {"command": [sys.executable, "-c", code], "environment": own}})

    assert place.run("tests")["exitStatus"] == 0


def test_the_bytecode_of_a_few_projects_is_kept(place: Place, tmp_path: Path) -> None:
    start(place.runtime)
    kept, outside = place.home / "data" / "cache" / "bytecode", tmp_path / "outside"
    outside.mkdir()
    for at in range(MOST_BYTECODE):
        (kept / f"old{at}").mkdir(parents=True)
        (kept / f"old{at}" / "link").symlink_to(outside)
        os.utime(kept / f"old{at}", (at + 10, at + 10))

    place.python("")
    place.python("")

    left = {one.name for one in kept.iterdir()}
    assert (len(left), "old0" in left, "old1" in left, outside.is_dir()) == (MOST_BYTECODE, False, True, True)


def test_a_report_behind_a_link_out_of_the_project_is_not_read(place: Place, tmp_path: Path) -> None:
    start(place.runtime)
    (place.project / "out").mkdir()
    (place.project / "out" / "report.xml").symlink_to(tmp_path / "elsewhere.xml")

    told = reporting(place, JUNIT)

    assert told["counts"] is None
    assert "report_not_read" in told["notices"]


def test_a_check_finds_the_run_of_its_own_worktree(place: Place, tmp_path: Path) -> None:
    workspace = place.runtime.workspace
    assert isinstance(workspace, GivenWorkspace)
    workspace.seen["repo_root_hash"] = "sha256:" + "7" * 64
    begun = {}
    for name in [f"worktree_{number}" for number in range(7)]:
        (tmp_path / name).mkdir()
        workspace.directory = str(tmp_path / name)
        begun[name] = start(place.runtime)["session"]["sessionId"]

    found = {}
    for name in begun:
        workspace.directory = str(tmp_path / name)
        found[name] = place.python("")["sessionId"]
    (tmp_path / "without").mkdir()
    workspace.directory = str(tmp_path / "without")
    _, refused = command(place.runtime, "check", "run", "--", "true")

    assert found == begun
    assert "in other checkouts of this project" in refused["error"]["message"]
    assert refused["error"]["details"]["next_command"] == "handrail session resume --compact"
