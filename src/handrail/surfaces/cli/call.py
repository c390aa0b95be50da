"""One operation for one command line: gather its input, run it shielded from signals, pick a field."""

# ruff: noqa: PLC0415 - few calls ask for one field or for a file

from __future__ import annotations

import hashlib
import importlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from handrail.contract.catalogue import E_CONFLICT
from handrail.contract.disclosure.fields import Ask
from handrail.contract.ids import BlobRef, SessionId
from handrail.contract.outcome import Failure, Fault, Json, Outcome, Success, failure_of, is_stand_in
from handrail.contract.wording import quote
from handrail.ports.log import (
    Appended,
    Blob,
    Committed,
    Draft,
    EventLog,
    Loaded,
    Remembered,
    SessionHold,
    SessionStamp,
)
from handrail.ports.process import Claim, ConfirmedTokens, KeyringFacts, Keys
from handrail.ports.workspace import AuthoredFiles, DesiredSettings, SettingProblem, Settings, SettingsFiles
from handrail.runtime.hub import audit_call, declared_of, perform_chunked, perform_operation, perform_stream
from handrail.runtime.operation import Operation, Registry, StreamItem, effect_of, shape_of
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.process import STDERR, Interrupted, Process, is_terminal
from handrail.surfaces.cli.reading.params import params_in_line, params_of
from handrail.surfaces.cli.reading.parse import SELF_DESCRIPTION, Parsed, Problem, label_of
from handrail.surfaces.cli.reading.spelling import describe_stop

if TYPE_CHECKING:
    from typing import Literal

    from handrail.ports.checks import CheckPrograms, ProgramCall, ProgramEnd, ReportFile
    from handrail.ports.workspace import FilePlace


# Operations that only a command line has: they describe the command table itself

_MODULES = {
    "self.reference": "handrail.surfaces.cli.self_description.reference",
    "self.changelog": "handrail.surfaces.cli.self_description.changelog",
    "self.completion": "handrail.surfaces.cli.self_description.completion",
    "self.version": "handrail.surfaces.cli.self_description.version",
}

OWN_OPERATION_NAMES: tuple[str, ...] = tuple(_MODULES)


def operation_of(registry: Registry, name: str) -> Operation:
    """One operation, ours or the registry's. Its module is imported when it is called."""
    module = _MODULES.get(name)
    if module is None:
        return registry.operation(name)
    loaded = importlib.import_module(module).OPERATION
    assert isinstance(loaded, Operation), f"{module} must define OPERATION"
    return loaded


# `--out FILE`: part of the answer goes into a new file


def write_to_file(files: AuthoredFiles, path: str, chunks: Iterator[bytes]) -> dict[str, Json]:
    """Write the chunks to a new file, and return its path, size and digest.

    Raises Fault E_CONFLICT, and what the file system or the chunks refuse.
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
"""Before the first line of progress, and between lines."""


class TerminalProgress:
    """`ports.Progress` on stderr: of text at a terminal, or where it is asked for; never if quiet is."""

    def __init__(self, process: Process, *, is_quiet: bool, is_asked: bool, is_text: bool) -> None:
        self._process = process
        self._is_silent = is_quiet
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


# Ports that a signal cannot interrupt in the middle of a commit: it waits, and then the result is reported


class ShieldedLog:
    """Passes everything on; only appending is shielded."""

    def __init__(self, log: EventLog, process: Process) -> None:
        self._log = log
        self._process = process

    def load(self, session_id: SessionId) -> Loaded | None:
        return self._log.load(session_id)

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        return self._log.load_since(session_id, index)

    def recall(self, session_id: SessionId) -> Remembered | None:
        return self._log.recall(session_id)

    def list_sessions(self) -> Sequence[SessionStamp]:
        return self._log.list_sessions()

    def get_blob(self, ref: BlobRef) -> bytes:
        return self._log.get_blob(ref)

    def hold(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[SessionHold]:
        return _ShieldedScope(self._log.hold(session_id, wait_ms, known), self._process)

    def hold_existing(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[SessionHold]:
        return _ShieldedScope(self._log.hold_existing(session_id, wait_ms, known), self._process)


class ShieldedFiles:
    """Files of the project: written as a whole, and reported."""

    def __init__(self, files: AuthoredFiles, process: Process) -> None:
        self._files = files
        self._process = process

    def place(self, project: str, directory: str, name: str, param: str) -> FilePlace:
        return self._files.place(project, directory, name, param)

    def create(self, path: str, content: bytes) -> bool:
        with self._process.shielded():
            is_made = self._files.create(path, content)
            if is_made:
                self._process.settle()
        return is_made

    def replace(self, path: str, content: bytes, expected: bytes) -> bool:
        with self._process.shielded():
            is_made = self._files.replace(path, content, expected)
            if is_made:
                self._process.settle()
        return is_made

    def create_private(self, path: str, parts: Iterable[bytes]) -> bool:
        with self._process.shielded():
            is_made = self._files.create_private(path, parts)
            if is_made:
                self._process.settle()
        return is_made


class ShieldedTokens:
    """Used confirm tokens: a claim is not interrupted; the write it is for may be."""

    def __init__(self, tokens: ConfirmedTokens, process: Process) -> None:
        self._tokens = tokens
        self._process = process

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        with self._process.shielded():
            return self._tokens.claim(fingerprint, expires_at=expires_at, now=now)

    def is_used(self, fingerprint: str) -> bool:
        return self._tokens.is_used(fingerprint)


class ShieldedKeys:
    """The keyring: a rotation is not interrupted, and is reported."""

    def __init__(self, keys: Keys, process: Process) -> None:
        self._keys = keys
        self._process = process

    def facts(self) -> KeyringFacts:
        return self._keys.facts()

    def signing_key(self, purpose: str) -> bytes:
        return self._keys.signing_key(purpose)

    def request_key(self) -> bytes:
        return self._keys.request_key()

    def verifying_keys(self, purpose: str) -> tuple[bytes, ...]:
        return self._keys.verifying_keys(purpose)

    def rotate(self, expected_version: str) -> bool:
        with self._process.shielded():
            is_done = self._keys.rotate(expected_version)
            if is_done:
                self._process.settle()
        return is_done


class ShieldedSettings:
    """The user's settings: a change is not interrupted, and is reported."""

    def __init__(self, settings: SettingsFiles, process: Process) -> None:
        self._settings = settings
        self._process = process

    def of(self, project: str = "") -> Settings:
        return self._settings.of(project)

    def problems(self, project: str = "") -> tuple[SettingProblem, ...]:
        return self._settings.problems(project)

    def desired(self, project: str = "") -> DesiredSettings:
        return self._settings.desired(project)

    def check(self, changes: Mapping[str, Json]) -> None:
        self._settings.check(changes)

    def keep(self, changes: Mapping[str, Json], held: Mapping[str, Json]) -> bool:
        with self._process.shielded():
            is_set = self._settings.keep(changes, held)
            if is_set:
                self._process.settle()
        return is_set


class ShieldedPrograms:
    """Checks: a second signal, which ends this process at once, ends what it started too."""

    def __init__(self, programs: CheckPrograms, process: Process) -> None:
        self._programs = programs
        self._process = process

    def directory_in(self, project: str, asked: str) -> str:
        return self._programs.directory_in(project, asked)

    def run(
        self,
        call: ProgramCall,
        stop_reason: Callable[[], Literal["", "signal", "deadline"]],
        take: Callable[[bytes], None],
    ) -> ProgramEnd:
        self._process.before_leaving = self._programs.end_now
        return self._programs.run(call, stop_reason, take)

    def find_trouble(self, project: str, argv: Sequence[str]) -> str:
        return self._programs.find_trouble(project, argv)

    def end_now(self) -> None:
        self._programs.end_now()

    def register_secrets(self) -> None:
        self._programs.register_secrets()

    def look_at_report(self, project: str, path: str) -> str:
        return self._programs.look_at_report(project, path)

    def read_report(self, project: str, path: str, before: str) -> ReportFile:
        return self._programs.read_report(project, path, before)


class _ShieldedScope(AbstractContextManager[SessionHold]):
    def __init__(self, scope: AbstractContextManager[SessionHold], process: Process) -> None:
        self._scope = scope
        self._process = process

    def __enter__(self) -> SessionHold:
        return _ShieldedHold(self._scope.__enter__(), self._process)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._scope.__exit__(kind, error, trace)


class _ShieldedHold:
    def __init__(self, hold: SessionHold, process: Process) -> None:
        self._hold = hold
        self._process = process

    def load(self) -> Loaded | None:
        return self._hold.load()

    def load_since(self, index: int) -> Loaded | None:
        return self._hold.load_since(index)

    def append(self, expected_head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = ()) -> Appended:
        with self._process.shielded():
            answer = self._hold.append(expected_head, plan, blobs)
            if isinstance(answer, Committed):
                self._process.settle()
        return answer

    def remember(self, content: bytes) -> None:
        self._hold.remember(content)


# Answering

TOOL = "handrail cli"


def answer_command(
    build_runtime: Callable[[], Runtime],
    process: Process,
    parsed: Parsed,
    ask: Ask,
    measure: Callable[[Success], int],
) -> Outcome | str:
    """The outcome, or the bare value when one field was asked for.

    Raises Fault for trouble before the operation runs.
    """
    assert parsed.command is not None, "only a command is answered"
    runtime = _shield(build_runtime(), process, parsed)
    params = params_of(parsed, process, runtime)
    called = operation_of(runtime.registry, parsed.command["operation"])
    caller = _caller(parsed)
    started_ms = runtime.clock.monotonic_ms()
    try:
        if "out" in parsed.options:  # the file gets all of it, whatever the answer shows
            keep = partial(write_to_file, runtime.authored, str(parsed.options["out"]))
            return perform_chunked(runtime, called, params, keep, caller, process.commits)
        outcome = perform_operation(runtime, called, params, ask, measure, caller, process.commits)
    except Interrupted as stop:
        audit_call(runtime, called, params, describe_stop(stop, process.commits), caller, started_ms)
        raise
    if isinstance(outcome, Failure) or is_stand_in(outcome):
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


def input_problems(registry: Registry, parsed: Parsed) -> list[Problem]:
    """What the operation would refuse in the values of the line; a missing one may only be misspelt."""
    if parsed.command is None or not parsed.command["operation"]:
        return []
    params = params_in_line(parsed)
    if not params:
        return []
    from handrail.runtime.input_problems import input_problems as found_in

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
    """Write the long field of an answer to stdout, part by part. Returns the outcome, or the error of stdout.

    Raises Fault for trouble before the operation runs.
    """
    assert parsed.command is not None, "only a command is answered"
    runtime = _shield(build_runtime(), process, parsed)
    params = params_of(parsed, process, runtime)
    called = operation_of(runtime.registry, parsed.command["operation"])
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

    Raises Fault for trouble before the operation runs.
    """
    assert parsed.command is not None, "only a command is answered"
    runtime = _shield(build_runtime(), process, parsed)
    params = params_of(parsed, process, runtime)
    return perform_stream(runtime, parsed.command["operation"], params, ask, _caller(parsed))


def output_settings(runtime: Runtime, parsed: Parsed) -> Settings | None:
    """The settings for this call; None for a command that reports what is wrong with them.

    Raises Fault E_CONFIG.
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


def _caller(parsed: Parsed) -> Caller:
    """A shell may lose an answer and repeat the call, so a creation needs its key here."""
    return Caller(tool=TOOL, command=parsed.words, needs_key=True)


def _shield(runtime: Runtime, process: Process, parsed: Parsed) -> Runtime:
    return msgspec.structs.replace(
        runtime,
        log=ShieldedLog(runtime.log, process),
        authored=ShieldedFiles(runtime.authored, process),
        confirmed=ShieldedTokens(runtime.confirmed, process),
        keys=ShieldedKeys(runtime.keys, process),
        settings=ShieldedSettings(runtime.settings, process),
        check_programs=lambda: ShieldedPrograms(runtime.check_programs(), process),
        interruptions=process,
        trees_due=process.trees_due,
        progress=TerminalProgress(
            process,
            is_quiet=bool({"quiet", "stream"} & set(parsed.options)),
            is_asked="progress" in parsed.options,
            is_text=parsed.formats[-1:] in (("text",), ("human",)),
        ),
    )
