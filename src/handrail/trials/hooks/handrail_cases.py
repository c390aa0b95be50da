"""Writes the test cases of one runner's process into the file that Handrail named; needs the library alone.

It runs in the interpreter of the project, so it keeps to what Python 3.7 knows. Only the process that claims
the file writes to it. The variable is taken away, so nothing that the process starts finds the file.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable
from typing import Any

PLACE = "HANDRAIL_CASES"
_WORST = {"passed": 0, "skipped": 1, "error": 2, "failed": 3}


class Record:
    """What this process writes about the runs of its runner."""

    def __init__(self, place: dict[str, str], runner: str) -> None:
        self.root = place["root"]
        self.is_ended = True
        self._nonce = place["nonce"]
        self._runner = runner
        self._owner = os.getpid()
        self._run = ""
        self._file = os.open(place["path"], os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0))

    def write(self, at: str, **fields: Any) -> None:
        import json  # noqa: PLC0415 - most processes of a project run no test

        if os.getpid() != self._owner:
            return
        line = json.dumps({"k": self._nonce, "at": at, "run": self._run, **fields}) + "\n"
        with contextlib.suppress(OSError):
            os.write(self._file, line.encode("utf-8", "backslashreplace"))

    def write_unloaded(self, file: str, missing: str, trouble: str) -> None:
        """Say that a test file could not be loaded: what is missing, and the error without our path."""
        self.write("unloaded", file=file, missing=missing, trouble=trouble.replace(self.root, "."))

    def begin(self) -> None:
        """Say that a run begins; without its end it ended early."""
        self.is_ended = False
        self._run = "%d-%s" % (self._owner, os.urandom(4).hex())  # noqa: UP031 - shortest for old versions
        self.write("begin", runner=self._runner)

    def end(self, is_early: bool = False) -> None:
        if not self.is_ended:
            self.is_ended = True
            self.write("end", early=is_early)

    def relate(self, path: str) -> str:
        """A path below the project, relative to it; empty for any other."""
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):
            return ""
        if not real.startswith(self.root + os.sep):
            return ""
        return real[len(self.root) + 1 :].replace(os.sep, "/")


def claim(runner: str) -> Record | None:
    """The record of this process, once, with its first run begun; None if nobody asked for it."""
    value = os.environ.pop(PLACE, "")
    if not value:
        return None
    import json  # noqa: PLC0415 - as above

    try:
        record = Record(json.loads(value), runner)
    except (OSError, ValueError, KeyError):
        return None
    record.begin()
    return record


def find_missing_name(error: Any, is_test: Callable[[str], bool]) -> str:
    """The name that the test file uses and that could not be imported or is not defined; else empty.

    `is_test` says of the file of a frame whether it is the test's.
    """
    trace = error.__traceback__
    last = ""
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith("<frozen importlib"):
            last = file
        trace = trace.tb_next
    if not last or not is_test(last):
        return ""
    if isinstance(error, ModuleNotFoundError):
        return error.name or ""
    if isinstance(error, ImportError):
        is_name = str(error).startswith("cannot import name '")
        return getattr(error, "name_from", None) or (_find_quoted(error) if is_name else "")
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError):
        return getattr(error, "name", None) or _find_quoted(error)
    if isinstance(error, AttributeError):
        owner = getattr(error, "obj", None)
        kind: Any = owner if isinstance(owner, type) else type(owner)
        is_ours = kind.__name__ == "module" or kind.__module__ != "builtins"
        return (getattr(error, "name", None) or "") if is_ours else ""
    return ""


def _find_quoted(error: BaseException) -> str:
    parts = str(error).split("'")
    return parts[1] if len(parts) > 2 else ""


def describe_error(error: Any) -> str:
    """The type of an error and its first line."""
    return ("%s: %s" % (type(error).__name__, error)).strip().split("\n")[0]  # noqa: UP031 - as above


# unittest


class _Unittest:
    """The runner of the library in this process; only its outermost runs count."""

    record: Record | None = None
    is_running = False

    def claim(self) -> Record | None:
        if self.record is None:
            self.record = claim("unittest")
        return self.record


_UNITTEST = _Unittest()


def _patch_main(module: Any) -> None:
    start = module.TestProgram.__init__

    def claim_and_start(self: Any, *arguments: Any, **options: Any) -> None:
        _UNITTEST.claim()  # before any module of the project is loaded
        start(self, *arguments, **options)

    module.TestProgram.__init__ = claim_and_start


def _patch_loader(module: Any) -> None:
    make = module._make_failed_import_test

    def record_and_make(name: str, suite_class: Any) -> Any:
        error, record = sys.exc_info()[1], _UNITTEST.record
        if record is not None and error is not None:
            file = _find_module_file(record, name)
            missing = find_missing_name(error, lambda path: record.relate(path) == file)
            record.write_unloaded(file, missing, describe_error(error))
        return make(name, suite_class)

    module._make_failed_import_test = record_and_make


def _find_module_file(record: Record, name: str) -> str:
    base = name.replace(".", os.sep)
    for folder in [os.getcwd(), *sys.path]:
        for file in (base + ".py", os.path.join(base, "__init__.py")):
            place = os.path.join(folder or os.curdir, file)
            if os.path.isfile(place) and record.relate(place):
                return record.relate(place)
    return base.replace(os.sep, "/") + ".py"


def _patch_runner(module: Any) -> None:
    run = module.TextTestRunner.run

    def run_and_record(self: Any, test: Any) -> Any:
        record = _UNITTEST.claim()
        if record is None or _UNITTEST.is_running:
            return run(self, test)
        if record.is_ended:
            record.begin()
        make = self._makeResult
        self._makeResult = lambda: _Watch(record).follow(make())
        _UNITTEST.is_running = True
        try:
            result = run(self, test)
        finally:
            _UNITTEST.is_running = False
        record.end()
        return result

    module.TextTestRunner.run = run_and_record


class _Watch:
    """Notes what a result object records, and writes each case when it stops."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._outcomes: dict[str, str] = {}
        self._missing: dict[str, str] = {}

    def follow(self, result: Any) -> Any:
        for name, outcome in (
            ("addSuccess", "passed"),
            ("addError", "failed"),
            ("addFailure", "failed"),
            ("addSkip", "skipped"),
            ("addExpectedFailure", "skipped"),
            ("addUnexpectedSuccess", "failed"),
        ):
            self._wrap(result, name, outcome)
        add, stop = getattr(result, "addSubTest", None), result.stopTest

        def add_subtest(test: Any, subtest: Any, error: Any) -> Any:
            if error is not None:
                self._note(test, "failed", error)
            return add(test, subtest, error) if add is not None else None

        def stop_test(test: Any) -> Any:
            self._finish(test)
            return stop(test)

        result.addSubTest = add_subtest
        result.stopTest = stop_test
        return result

    def _wrap(self, result: Any, name: str, outcome: str) -> None:
        add = getattr(result, name)

        def note_and_add(test: Any, *more: Any) -> Any:
            is_error = name in ("addError", "addFailure")
            self._note(test, outcome, more[0] if is_error and more else None)
            return add(test, *more)

        setattr(result, name, note_and_add)

    def _note(self, test: Any, outcome: str, error: Any) -> None:
        kind = type(test).__name__
        if kind in ("_FailedTest", "ModuleSkipped"):  # the file was recorded while it was loaded
            return
        if kind == "_ErrorHolder":  # what sets up or cleans up a class or a module
            self._record.write("case", name=test.id(), file="", outcome="error", missing="")
            return
        key = test.id()
        if _WORST[outcome] >= _WORST[self._outcomes.get(key, "passed")]:
            self._outcomes[key] = outcome
        if error is not None and error[1] is not None:
            file = self._record.relate(_find_file(test))
            self._missing[key] = find_missing_name(
                error[1], lambda path: bool(file) and self._record.relate(path) == file
            )

    def _finish(self, test: Any) -> None:
        key = test.id()
        outcome = self._outcomes.pop(key, "")
        if not outcome:
            return
        file = self._record.relate(_find_file(test))
        name = key
        if name.startswith("__main__.") and file:
            name = os.path.splitext(file)[0].replace("/", ".") + name[len("__main__") :]
        self._record.write("case", name=name, file=file, outcome=outcome, missing=self._missing.pop(key, ""))


def _find_file(test: Any) -> str:
    module = sys.modules.get(type(test).__module__)
    return getattr(module, "__file__", None) or ""


_PATCHES: dict[str, Callable[[Any], None]] = {
    "unittest.main": _patch_main,
    "unittest.loader": _patch_loader,
    "unittest.runner": _patch_runner,
}


class _Finder(importlib.abc.MetaPathFinder):
    """Changes the modules of unittest right after they are loaded."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        del target
        patch = _PATCHES.get(fullname)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path) if patch is not None else None
        if patch is None or spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_patch(module: Any) -> None:
            execute(module)
            with contextlib.suppress(AttributeError):  # an unknown version: its cases are not known
                patch(module)

        spec.loader.exec_module = execute_and_patch  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Be ready for a runner in this process; costs nothing until one is loaded."""
    if os.environ.get(PLACE):
        sys.meta_path.insert(0, _Finder())
