"""One operation for one command line: gather its input, run it protected from signals, pick a field."""

# ruff: noqa: PLC0415 - few calls ask for one field or for a file

from __future__ import annotations

import hashlib
import importlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from handrail.contract.catalogue import E_CONFLICT
from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Failure, Fault, Json, Outcome, Success, failure_of, is_stand_in
from handrail.contract.wording import quote
from handrail.ports.log import (
    Committed,
    EventLog,
    SessionHold,
)
from handrail.ports.workspace import AuthoredFiles, Settings
from handrail.runtime.hub import audit_call, declared_of, perform_chunked, perform_operation, perform_stream
from handrail.runtime.operation import Operation, Registry, StreamItem, effect_of, shape_of
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.process import STDERR, Interrupted, Process, is_terminal
from handrail.surfaces.cli.reading.params import params_in_line, params_of
from handrail.surfaces.cli.reading.parse import SELF_DESCRIPTION, Parsed, Problem, label_of
from handrail.surfaces.cli.reading.spelling import describe_stop

if TYPE_CHECKING:
    from handrail.ports.checks import CheckPrograms, ProgramEnd
    from handrail.surfaces.cli.reading.command_types import Param

_Port = TypeVar("_Port")


# Operations that only the command line has: they describe the command table itself

_PLACES = {
    "self.reference": "reference:OPERATION",
    "self.changelog": "version:CHANGELOG",
    "self.completion": "completion:OPERATION",
    "self.version": "version:VERSION",
}

OWN_OPERATION_NAMES: tuple[str, ...] = tuple(_PLACES)


def operation_of(registry: Registry, name: str) -> Operation:
    """Return one operation, of this interface or of the registry. Its module is imported when it is
    called.
    """
    if name not in _PLACES:
        return registry.operation(name)
    module, _, held = _PLACES[name].partition(":")
    loaded = getattr(importlib.import_module(f"handrail.surfaces.cli.self_description.{module}"), held)
    assert isinstance(loaded, Operation), f"{module} must define {held}"
    return loaded


# `--out FILE`: part of the answer goes into a new file


def write_to_file(files: AuthoredFiles, path: str, chunks: Iterator[bytes]) -> dict[str, Json]:
    """Write the chunks to a new file, and return its path, size and digest.

    Raises: Fault E_CONFLICT, and errors of the file system or the chunks.
    """
    full = os.path.abspath(path)
    whole = hashlib.sha256()
    size = 0

    def counted() -> Iterator[bytes]:
        nonlocal size
        for chunk in chunks:
            whole.update(chunk)
            size += len(chunk)
            yield chunk

    if not files.create_private(full, counted()):
        raise Fault(
            E_CONFLICT,
            f"{quote(full)} exists, and nothing is overwritten.",
            details={"reason": "target_exists"},
            hint="Choose another file name for --out, or move the file away.",
        )
    return {"path": full, "bytes": size, "sha256": whole.hexdigest()}


# Progress, for a person at a terminal

PATIENCE_SECONDS = 0.8
"""Seconds before the first line of progress, and between lines."""


class TerminalProgress:
    """`ports.Progress` on stderr, if the answer is text at a terminal or the caller asks for it; never if
    quiet.

    A person sees what a check prints; an agent sees it only if it asks for it, because it reads both the
    document and stderr, and would read the output twice.
    """

    def __init__(self, process: Process, *, is_quiet: bool, is_asked: bool, is_text: bool) -> None:
        self._process = process
        self._is_silent = is_quiet
        self._passes_on = not is_quiet and (is_asked or is_text or is_terminal(STDERR))
        self._is_quiet = is_quiet or not (is_asked or (is_text and is_terminal(STDERR)))
        self._due = time.monotonic() + PATIENCE_SECONDS

    def report(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        if self._is_quiet or now < self._due:
            return
        self._due = now + PATIENCE_SECONDS
        share = f"{done} of {total}" if total else str(done)
        self._process.write_error(f"handrail: {what}: {share}\n".encode())

    def write(self, line: str) -> None:
        if not self._is_silent:
            self._process.write_error(line.encode(errors="replace"))

    def pass_on(self, lines: str) -> None:
        if self._passes_on:
            self.write(lines)


# Ports that a signal cannot interrupt in the middle of a commit; it waits, and then the result is reported


class _Passing:
    """A port that passes every call on, except to methods that were replaced."""

    def __init__(self, port: object, own: Mapping[str, Callable[..., Any]]) -> None:
        self._port = port
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return self._own.get(name) or getattr(self._port, name)


def shield(
    port: _Port, process: Process, *names: str, is_made: Callable[[Any], bool] = lambda answer: answer is True
) -> _Port:
    """Return the port with these methods protected from signals; what they made is reported.

    They are looked up when they are called, because many a port is loaded at its first use.
    """

    def shielded(name: str, *given: Any, **named: Any) -> Any:
        with process.shielded():
            answer = getattr(port, name)(*given, **named)
            if is_made(answer):
                process.settle()
        return answer

    own = {name: partial(shielded, name) for name in names}
    return cast("_Port", _Passing(port, own))


def shield_log(log: EventLog, process: Process) -> EventLog:
    """Return the log with appending protected from signals."""

    @contextmanager
    def held(name: str, *given: Any, **named: Any) -> Iterator[SessionHold]:
        with getattr(log, name)(*given, **named) as hold:
            yield shield(hold, process, "append", is_made=lambda answer: isinstance(answer, Committed))

    own = {name: partial(held, name) for name in ("hold", "hold_existing")}
    return cast("EventLog", _Passing(log, own))


def _shield_programs(programs: CheckPrograms, process: Process) -> CheckPrograms:
    """Return the check programs, so that a second signal, which ends this process at once, also ends what
    they started.
    """

    def run(*given: Any, **named: Any) -> ProgramEnd:
        process.before_leaving = programs.end_now
        return programs.run(*given, **named)

    return cast("CheckPrograms", _Passing(programs, {"run": run}))


# Answering

TOOL = "handrail cli"


def answer_command(
    build_runtime: Callable[[], Runtime],
    process: Process,
    parsed: Parsed,
    ask: Ask,
    measure: Callable[[Success], int],
) -> Outcome | str:
    """Return the outcome, or the bare value if one field was asked for.

    Raises: Fault for an error before the operation runs.
    """
    runtime, params, called = _gather(build_runtime, process, parsed)
    caller = _caller(parsed)
    started_ms = runtime.clock.monotonic_ms()
    try:
        if "out" in parsed.options:  # the file gets everything, whatever the answer shows
            keep = partial(write_to_file, runtime.authored, str(parsed.options["out"]))
            return perform_chunked(runtime, called, params, keep, caller, process.commits)
        outcome = perform_operation(runtime, called, params, ask, measure, caller, process.commits)
    except Interrupted as stop:
        audit_call(runtime, called, params, describe_stop(stop, process.commits), caller, started_ms)
        raise
    if isinstance(outcome, Failure):
        return outcome if "input" in parsed.options else _name_flags(outcome, parsed)
    if is_stand_in(outcome):
        return outcome
    if params.get("passStatus") is True and isinstance(outcome.data, dict):
        process.passed_status = outcome.data["exitStatus"]
    if ask.field is None:
        return outcome
    from handrail.contract.disclosure.named_fields import select_field

    try:
        return select_field(outcome, shape_of(called, params), ask.field, declared_of(called))
    except Fault as fault:
        if effect_of(called, params) == "read":
            return failure_of(fault)
        process.write_error(f"handrail: {fault.message}\n".encode())
        return "null"


def _name_flags(refused: Failure, parsed: Parsed) -> Failure:
    """Return the refusal with flags as names, if a missing object is filled by several flags."""
    params = () if parsed.command is None else parsed.command["params"]
    rows = [dict(row) for row in refused.details.get("problems") or ()]
    named = [row | _flags_of(row, params) for row in rows]
    if named == rows:
        return refused
    from handrail.runtime.refused_calls import summarize_problems  # few calls are refused

    details = refused.details | {"problems": named}
    return msgspec.structs.replace(refused, message=summarize_problems(named), details=details)


def _flags_of(row: dict[str, Any], params: Sequence[Param]) -> dict[str, str]:
    if row.get("problem") != "missing":
        return {}
    flags = " or ".join(param["flag"] for param in params if param["name"].startswith(f"{row['param']}."))
    return {"param": flags} if flags else {}


def input_problems(registry: Registry, parsed: Parsed) -> list[Problem]:
    """Return what the operation would reject in the values of the line; a missing one may only be
    misspelt.
    """
    if parsed.command is None or not parsed.command["operation"]:
        return []
    params = params_in_line(parsed)
    if not params:
        return []
    from handrail.runtime.refused_calls import input_problems as found_in

    labels = {param["name"].partition(".")[0]: label_of(param) for param, _ in parsed.values}
    return [
        Problem(
            param=labels.get(str(row["param"]), str(row["param"])),
            problem=str(row["problem"]),
            expected=str(row.get("did_you_mean") or _listed(row.get("expected", ""))),
            is_usage=False,
        )
        for row in found_in(operation_of(registry, parsed.command["operation"]), params)[0]
        if row["problem"] != "missing"
    ]


def _listed(expected: Json) -> str:
    return ", ".join(map(str, expected)) if isinstance(expected, list) else str(expected)


def write_raw_field(
    build_runtime: Callable[[], Runtime], process: Process, parsed: Parsed
) -> Outcome | OSError:
    """Write the long field of an answer to stdout, part by part. Return the outcome, or the error
    of stdout.

    Raises: Fault for an error before the operation runs.
    """
    runtime, params, called = _gather(build_runtime, process, parsed)
    trouble: OSError | None = None

    def deliver(chunks: Iterator[bytes]) -> dict[str, Json]:
        nonlocal trouble
        for chunk in chunks:  # a chunk ends where an item does, so no secret is split
            trouble = process.deliver_line(chunk)
            if trouble is not None:
                break
        return {}

    outcome = perform_chunked(runtime, called, params, deliver, _caller(parsed), process.commits)
    return outcome if trouble is None else trouble


def stream(
    build_runtime: Callable[[], Runtime], process: Process, parsed: Parsed, ask: Ask
) -> Iterator[StreamItem | Outcome]:
    """Yield the lines of a stream as they come, then the outcome.

    Raises: Fault for an error before the operation runs.
    """
    runtime, params, called = _gather(build_runtime, process, parsed)
    return perform_stream(runtime, called.name, params, ask, _caller(parsed))


def output_settings(runtime: Runtime, parsed: Parsed) -> Settings | None:
    """Return the settings for this call; None for a command that reports problems of the settings.

    Raises: Fault E_CONFIG.
    """
    assert parsed.command is not None, "only a command is answered"
    try:
        project = runtime.workspace.project(str(parsed.options.get("project", "")))
    except Fault:  # the operation reports this if it needs a project
        project = ""
    try:
        return runtime.settings.of(project)
    except Fault:
        if parsed.command["operation"].startswith(SELF_DESCRIPTION):
            return None
        raise


def _gather(
    build_runtime: Callable[[], Runtime], process: Process, parsed: Parsed
) -> tuple[Runtime, dict[str, Json], Operation]:
    """Return the runtime, the input and the operation for a command line."""
    assert parsed.command is not None, "only a command is answered"
    runtime = _shield(build_runtime(), process, parsed)
    params = params_of(parsed, process, runtime)
    return runtime, params, operation_of(runtime.registry, parsed.command["operation"])


def _caller(parsed: Parsed) -> Caller:
    """Return the caller. Its creations need a key, because a shell may lose an answer and repeat the call."""
    return Caller(tool=TOOL, command=parsed.words, needs_key=True)


def _shield(runtime: Runtime, process: Process, parsed: Parsed) -> Runtime:
    return msgspec.structs.replace(
        runtime,
        log=shield_log(runtime.log, process),
        authored=shield(runtime.authored, process, "create", "replace", "create_private"),
        confirmed=shield(runtime.confirmed, process, "claim"),
        keys=shield(runtime.keys, process, "rotate"),
        settings=shield(runtime.settings, process, "keep"),
        check_programs=lambda: _shield_programs(runtime.check_programs(), process),
        interruptions=process,
        trees_due=process.trees_due,
        progress=TerminalProgress(
            process,
            is_quiet=bool({"quiet", "stream"} & set(parsed.options)),
            is_asked="progress" in parsed.options,
            is_text=parsed.formats[-1:] in (("text",), ("human",)),
        ),
    )
