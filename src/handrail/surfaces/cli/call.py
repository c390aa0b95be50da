"""One operation for one command line: gather its input, perform it under the shield, pick a bare field."""

# ruff: noqa: PLC0415 - few calls ask for one field or for a file

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from handrail.contract.commits import is_unseen
from handrail.contract.outcome import Fault, Json, Outcome, Success, failure_of
from handrail.contract.shape import Ask
from handrail.ports import Settings
from handrail.runtime.hub import account, declared_of, perform_chunked, perform_operation, perform_stream
from handrail.runtime.operation import StreamItem, effect_of, shape_of
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.own_operations import operation_of
from handrail.surfaces.cli.params import params_in_line, params_of
from handrail.surfaces.cli.parse import SELF_DESCRIPTION, Parsed
from handrail.surfaces.cli.process import Interrupted, Process
from handrail.surfaces.cli.progress import TerminalProgress
from handrail.surfaces.cli.shield import (
    ShieldedFiles,
    ShieldedKeys,
    ShieldedLog,
    ShieldedSettings,
    ShieldedTokens,
)
from handrail.surfaces.cli.stopped import stopped
from handrail.surfaces.cli.values import Problem, label_of

TOOL = "handrail cli"


def answer(
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
    params = params_of(parsed, process)
    runtime = _shielded(build_runtime(), process, parsed)
    called = operation_of(parsed.command["operation"])
    caller = _caller(parsed)
    started_ms = runtime.clock.monotonic_ms()
    try:
        if "out" in parsed.options:  # the file gets all of it, whatever the answer is to show
            from handrail.surfaces.cli.kept_files import kept_in_file

            keep = partial(kept_in_file, runtime.authored, str(parsed.options["out"]))
            return perform_chunked(runtime, called, params, keep, caller, process.commits)
        outcome = perform_operation(runtime, called, params, ask, measure, caller, process.commits)
    except Interrupted as stop:
        account(runtime, called, params, stopped(stop), caller, started_ms)
        raise
    if ask.field is None or not isinstance(outcome, Success) or is_unseen(outcome):
        return outcome
    from handrail.contract.named_fields import select_field

    try:
        return select_field(outcome, shape_of(called, params), ask.field, declared_of(called))
    except Fault as fault:
        if effect_of(called, params) == "read":
            return failure_of(fault)
        process.tell(f"handrail: {fault.message}\n".encode())
        return "null"


def input_problems(parsed: Parsed) -> list[Problem]:
    """What the operation would refuse of the values in the line; what is missing may only be misspelt."""
    if parsed.command is None or not parsed.command["operation"]:
        return []
    params = params_in_line(parsed)
    if not params:
        return []
    from handrail.runtime.inputs import input_problems as found_in

    labels = {param["name"].partition(".")[0]: label_of(param) for param, _ in parsed.values}
    return [
        Problem(
            param=labels.get(str(row["param"]), str(row["param"])),
            problem=str(row["problem"]),
            expected=str(row.get("did_you_mean") or _listed(row.get("expected", ""))),
            is_usage=False,
        )
        for row in found_in(operation_of(parsed.command["operation"]), params)[0]
        if row["problem"] != "missing"
    ]


def _listed(expected: Json) -> str:
    return ", ".join(map(str, expected)) if isinstance(expected, list) else str(expected)


def pour(build_runtime: Callable[[], Runtime], process: Process, parsed: Parsed) -> Outcome | OSError:
    """The long field of an answer straight to stdout, part by part; what is wrong with stdout, if it is.

    Raises Fault for trouble before the operation runs.
    """
    assert parsed.command is not None, "only a command is answered"
    params = params_of(parsed, process)
    runtime = _shielded(build_runtime(), process, parsed)
    called = operation_of(parsed.command["operation"])
    trouble: OSError | None = None

    def deliver(chunks: Iterator[bytes]) -> dict[str, Json]:
        nonlocal trouble
        for chunk in chunks:  # a secret is never torn apart: a chunk ends where an item does
            trouble = process.deliver_line(chunk)
            if trouble is not None:
                break
        return {}

    outcome = perform_chunked(runtime, called, params, deliver, _caller(parsed), process.commits)
    return outcome if trouble is None else trouble


def stream(
    build_runtime: Callable[[], Runtime], process: Process, parsed: Parsed, ask: Ask
) -> Iterator[StreamItem | Outcome]:
    """The lines of a stream as they come, then the outcome.

    Raises Fault for trouble before the operation runs.
    """
    assert parsed.command is not None, "only a command is answered"
    params: dict[str, Json] = params_of(parsed, process)
    runtime = _shielded(build_runtime(), process, parsed)
    return perform_stream(runtime, parsed.command["operation"], params, ask, _caller(parsed))


def output_settings(runtime: Runtime, parsed: Parsed) -> Settings | None:
    """The settings that count for this call; None for a command that tells what is wrong with them.

    Raises Fault E_CONFIG.
    """
    assert parsed.command is not None, "only a command is answered"
    try:
        project = runtime.workspace.project(str(parsed.options.get("project", "")))
    except Fault:  # the operation itself says so, if it needs a project
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


def _shielded(runtime: Runtime, process: Process, parsed: Parsed) -> Runtime:
    return msgspec.structs.replace(
        runtime,
        log=ShieldedLog(runtime.log, process),
        authored=ShieldedFiles(runtime.authored, process),
        confirmed=ShieldedTokens(runtime.confirmed, process),
        keys=ShieldedKeys(runtime.keys, process),
        settings=ShieldedSettings(runtime.settings, process),
        interruptions=process,
        progress=TerminalProgress(process, is_quiet=bool({"quiet", "stream"} & set(parsed.options))),
    )
