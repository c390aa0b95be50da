"""One operation for one command line: gather its input, keep the gate, perform, pick a bare field."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from handrail.contract.canonical import digest
from handrail.contract.catalogue import E_CONFIRMATION_REQUIRED
from handrail.contract.named_fields import select_field
from handrail.contract.outcome import Fault, Json, NextCall, Outcome, Success, failure_of
from handrail.contract.shape import Ask
from handrail.runtime.hub import perform
from handrail.runtime.inputs import decode_input
from handrail.runtime.operation import Operation
from handrail.runtime.registry import operation
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.kept_files import kept_in_file
from handrail.surfaces.cli.params import params_of
from handrail.surfaces.cli.parse import Parsed
from handrail.surfaces.cli.process import Process
from handrail.surfaces.cli.shield import ShieldedFiles, ShieldedLog, ShieldedTokens

_KEY_LENGTH = 16


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
    runtime = build_runtime()
    called = operation(parsed.command["operation"])
    key = parsed.command["key"]
    if key and key not in params:
        raise _key_required(runtime, called, key, params)
    runtime = msgspec.structs.replace(
        runtime,
        log=ShieldedLog(runtime.log, process),
        authored=ShieldedFiles(runtime.authored, process),
        confirmed=ShieldedTokens(runtime.confirmed, process),
    )
    if "out" in parsed.options:  # the file gets all of it, whatever the answer is to show
        whole = perform(runtime, called.name, params)
        return kept_in_file(runtime.authored, whole, parsed.command["out"], str(parsed.options["out"]))
    outcome = perform(runtime, called.name, params, ask, measure)
    if ask.field is None or not isinstance(outcome, Success):
        return outcome
    try:
        return select_field(outcome, called.shape, ask.field)
    except Fault as fault:
        return failure_of(fault)


def _key_required(runtime: Runtime, called: Operation, key: str, params: dict[str, Json]) -> Fault:
    """A create without a key could not be repeated safely, so the next command carries one.

    Raises Fault VALIDATION_ERROR first when the arguments are wrong anyway.
    """
    decode_input(called, params)
    # The same arguments in another project are another start.
    where = runtime.workspace.project(params.get("project", ""))
    content = digest({"operation": called.name, "params": params, "project": where})
    derived = "auto-" + content.removeprefix("sha256:")[:_KEY_LENGTH]
    return Fault(
        E_CONFIRMATION_REQUIRED,
        "This command creates something and needs a request id, so that a repeat does not create it twice.",
        details={"missing": "request_id", "effect": called.effect},
        next_call=NextCall(operation=called.name, params=params | {key: derived}),
    )
