"""The plugin of pytest that writes its test cases for Handrail. PYTEST_DONT_REWRITE

It is loaded in every process of pytest, also in workers of xdist and where a test starts pytest. Only the
first one, which claims the file, writes; the others add what a report needs to travel.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

_cases: Any = importlib.import_module("handrail_cases")
_claimed = [_cases.claim("pytest")]
_MISSING = "_handrail_missing_name"
_TROUBLE = "_handrail_trouble"


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config: Any) -> Any:
    record, _claimed[0] = _claimed[0], None
    if record is not None:
        early_config.pluginmanager.register(Recorder(record, early_config), "handrail-recorder")
    outcome = yield
    if record is not None and outcome.excinfo is not None:
        _record_conftest(record, outcome.excinfo[1])


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: Any) -> None:
    """Run the tests of the other files if one cannot be loaded, here and in our workers."""
    is_ours = config.pluginmanager.hasplugin("handrail-recorder") or hasattr(config, "workerinput")
    if is_ours and hasattr(config.option, "continue_on_collection_errors"):
        config.option.continue_on_collection_errors = True


def _record_conftest(record: Any, error: Any) -> None:
    """A conftest.py that cannot be loaded ends pytest before its session."""
    path = getattr(error, "path", None)
    cause = getattr(error, "excinfo", None)
    if path is None:
        return
    file = record.relate(str(path))
    inner = getattr(error, "cause", None) or getattr(cause, "value", None)
    if inner is None and isinstance(cause, tuple):
        inner = cause[1]
    missing = _find_missing(inner, str(path)) if inner is not None else ""
    trouble = _cases.describe_error(inner) if inner is not None else ""
    record.write_unloaded(file, missing, trouble)
    record.end()


def _find_missing(error: Any, test: str) -> str:
    wanted = os.path.realpath(test)
    found: str = _cases.find_missing_name(error, lambda path: os.path.realpath(path) == wanted)
    return found


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    outcome = yield
    if call.excinfo is not None and outcome.excinfo is None:
        setattr(outcome.get_result(), _MISSING, _find_missing(call.excinfo.value, str(item.fspath)))


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: Any) -> Any:
    outcome = yield
    if outcome.excinfo is None:
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if report.failed and call is not None and call.excinfo is not None:
            error = call.excinfo.value
            inner = getattr(error, "__cause__", None) or error
            setattr(report, _MISSING, _find_missing(inner, str(getattr(collector, "path", collector.fspath))))
            setattr(report, _TROUBLE, _cases.describe_error(inner))


class Recorder:
    """Writes what the session reports."""

    def __init__(self, record: Any, config: Any) -> None:
        self._record = record
        self._config = config
        self._outcomes: dict[str, str] = {}
        self._ran: set[str] = set()
        self._has_started = False
        self._is_interrupted = False
        self._has_failed = False

    def pytest_sessionstart(self) -> None:
        self._has_started = True

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._has_failed = True
            file, _ = self._split(report.nodeid)
            missing, trouble = getattr(report, _MISSING, ""), getattr(report, _TROUBLE, "")
            self._record.write_unloaded(file or report.nodeid, missing, trouble)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.outcome == "rerun":
            return
        file, name = self._split(report.nodeid)
        self._ran.add(report.nodeid)
        outcome = report.outcome
        if outcome == "failed":
            self._has_failed = True
            outcome = "error" if report.when in ("setup", "teardown") else "failed"
        if outcome == "passed" and report.when != "call":
            return
        missing = getattr(report, _MISSING, "") if report.outcome == "failed" else ""
        self._record.write("case", name=name, file=file, outcome=outcome, missing=missing)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        self._is_interrupted = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> None:
        is_asked = getattr(self._config.option, "collectonly", False)
        is_partial = not is_asked and len(self._ran) < len(getattr(session, "items", ()))
        # After a failure, stopping is what the project asked for, and the failure says enough.
        self._record.end((self._is_interrupted or is_partial) and not self._has_failed)

    def pytest_unconfigure(self) -> None:
        if not self._has_started:  # it only printed its version or its help
            self._record.end()

    def _split(self, nodeid: str) -> Any:
        """The file of a node, relative to the project, and the name of the node with that file."""
        head, mark, rest = nodeid.partition("::")
        root = str(getattr(self._config, "rootpath", None) or self._config.rootdir)
        file = self._record.relate(os.path.join(root, head)) if head else ""
        return file, (file or head) + mark + rest.replace(self._record.root, ".")
