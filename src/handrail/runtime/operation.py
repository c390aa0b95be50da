"""Operations: what one is, and the registry that loads each by its name.

A command line runs one operation, so it imports only that operation's module and structs.
"""

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Json, Success

# Operations: defined once, offered by every surface

Effect: TypeAlias = Literal["read", "record", "process", "create", "ack", "gated", "dangerous", "update"]
"""read changes nothing; record appends one fact about work that happened anyway, without a gate; process
starts a program that the caller names and records how it ended, so no server may ever offer it; create takes
an idempotency key; ack is gated by a token we minted; gated needs the token of a dry run; dangerous also a
word that the danger is meant; update replaces the program itself."""


OFFERED_CALL_BYTES = 4_096
"""A refusal offers no larger call to copy: the caller still has what it sent."""


class Input(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """Shared options of operation inputs: a typo is refused, absent and null stay different."""


class ValueRule(msgspec.Struct, frozen=True, kw_only=True):
    """What a value of the right type must also be, so that it is refused with everything else."""

    fits: Callable[[Any], bool]
    problem: str
    expected: str


class StreamItem(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a stream before its summary."""

    data: dict[str, Json]


class Chunked(msgspec.Struct, frozen=True, kw_only=True):
    """An answer whose long field comes in parts: its other fields, and the bytes of that one."""

    facts: dict[str, Json]
    chunks: Iterator[bytes]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a caller can ask for."""

    name: str
    effect: Effect
    summary: str
    """One line: what it does. Help, reference and tool description begin with it."""
    input: type[Any]
    output: type[Any]
    """The payload, as every surface sends it (for a list: without the paging keys)."""
    variants: tuple[type[Any], ...] = ()
    """Other payloads, where a param asks for another document."""
    item: type[Any] | None = None
    """Of a list: one row."""
    perform: Callable[[Any, Any], Any]
    """`(runtime, input) -> output or Success`."""
    shape: Shape
    starts_programs: bool = False
    """Whether it starts programs other than git, which no server does."""
    reads_without: str = ""
    """Of a write: the input field, by wire name, without which it only reads."""
    reads_with: tuple[str, ...] = ()
    """Of a write: the switches, by wire name, with which it only looks."""
    stream: Callable[[Any, Any], Iterator[StreamItem | Success]] | None = None
    """The same as a stream: `(runtime, input) ->` its items, then what `perform` would have answered."""
    chunked: Callable[[Any, Any], Chunked] | None = None
    """The same for a file: whatever can be refused is, before there is a first byte."""
    default_sort: str = ""
    """Of a list: the declared order, its last key the id."""
    tool: str = ""
    """The MCP tool that offers it; empty: none, because read models are not for agents."""
    tool_description: str = ""
    tool_fields: tuple[str, ...] = ()
    """Which input fields the tool offers, by wire name."""
    tool_choices: dict[str, tuple[str, ...]] = {}
    """Where the tool offers fewer values of an enum than the operation takes."""
    value_rules: dict[str, ValueRule] = {}
    """Of input fields, by wire name."""
    foresee: Callable[[Any, Any], object] | None = None
    """Of a creation: `(runtime, input)` raises the Fault that the creation would raise. Changes nothing."""
    errors: tuple[str, ...] = ()
    """Catalogue codes it can answer with, beside those that follow from its effect, fields and flags."""


Verdict: TypeAlias = Literal["would_advance", "would_block", "would_save", "already_answered"]


class AckVerdict(Answer, frozen=True, kw_only=True):
    """What the same call without the dry run would do."""

    verdict: Verdict
    step_id: str
    """The pending step that the token belongs to."""
    blockers: list[dict[str, Any]]
    """Why it would block, as the reply would name it."""
    issues: list[dict[str, Any]]
    """Every fault, as the reply would list it."""
    gaps: list[str]
    """What would be recorded as missing, whatever the verdict."""
    example: dict[str, Any] | None
    """An artifact that would be accepted."""


_DRY_RUN_SHAPE = Shape(
    levels={
        "minimal": (
            "preview.action",
            "preview.total",
            "preview.targets",
            "preview.changes.action",
            "preview.changes.resource",
            "preview.changes.id",
            "preview.unchanged",
            "preview.blast_radius",
            "confirm_token",
            "expires_at",
        )
    },
    untrusted=tuple(f"preview.changes.after.{name}" for name in ("workflows", "pinned", "steps")),
)
_VERDICT_SHAPE = Shape(levels={"minimal": ("verdict", "step_id", "blockers")})


def shape_of(called: Operation, params: dict[str, Json]) -> Shape:
    """How the answer to these params may be reduced: a dry run answers with a document of its own.

    What a write answers at its minimal level is needed to go on, so no choice of fields drops it.
    """
    shape = called.shape
    if params.get("dryRun") is True:
        if called.effect == "ack":
            shape = _VERDICT_SHAPE
        elif called.effect in ("create", "gated", "dangerous"):
            shape = _DRY_RUN_SHAPE
    if called.effect == "read":
        return shape
    return msgspec.structs.replace(shape, required=shape.levels.get("minimal") or ())


def effect_of(called: Operation, params: dict[str, Json]) -> Effect:
    """What a call with these params does: `run.continue` without an ack only reads."""
    if called.reads_without and called.reads_without not in params:
        return "read"
    if any(params.get(name) is True for name in called.reads_with):
        return "read"
    return called.effect


# The registry

MODULES = {
    "workflow.list": "handrail.operations.workflows.list_workflows",
    "workflow.inspect": "handrail.operations.workflows.inspect_workflow",
    "workflow.validate": "handrail.operations.workflows.validate_workflows",
    "workflow.graph": "handrail.operations.workflows.graph_workflow",
    "workflow.simulate": "handrail.operations.workflows.simulate_workflow",
    "workflow.builtins": "handrail.operations.workflows.list_builtins",
    "workflow.schema": "handrail.operations.workflows.show_schema",
    "workflow.new": "handrail.operations.workflows.new_workflow",
    "workflow.diff": "handrail.operations.workflows.diff_workflows",
    "workflow.convert": "handrail.operations.workflows.convert_workflow",
    "workflow.fmt": "handrail.operations.workflows.fmt_workflow",
    "workflow.save": "handrail.operations.workflows.save_workflow",
    "run.start": "handrail.operations.runs.start_run",
    "run.continue": "handrail.operations.runs.continue_run",
    "run.checkpoint": "handrail.operations.runs.checkpoint_run",
    "run.close": "handrail.operations.runs.close_run",
    "run.confirm": "handrail.operations.runs.confirm_run",
    "run.graph": "handrail.operations.runs.show_graph",
    "run.node": "handrail.operations.runs.show_node",
    "run.compare": "handrail.operations.runs.compare_nodes",
    "check.run": "handrail.operations.checks.run_check",
    "check.list": "handrail.operations.checks.list_checks",
    "check.approve": "handrail.operations.checks.approve_check",
    "check.replay": "handrail.operations.checks.replay_checks",
    "receipt.export": "handrail.operations.receipts.export_receipt",
    "receipt.verify": "handrail.operations.receipts.verify_receipt",
    "receipt.key": "handrail.operations.receipts.show_key",
    "code.status": "handrail.operations.code.show_status",
    "code.diff": "handrail.operations.code.show_diff",
    "code.restore": "handrail.operations.code.restore_code",
    "code.scan": "handrail.operations.code.tools.scan_code",
    "code.edit": "handrail.operations.code.tools.edit_code",
    "code.workflow": "handrail.operations.runs.run_file",
    "session.list": "handrail.operations.sessions.list_sessions",
    "session.show": "handrail.operations.sessions.show_session",
    "session.needs": "handrail.operations.sessions.list_needs",
    "session.search": "handrail.operations.sessions.search_sessions",
    "session.timeline": "handrail.operations.sessions.show_timeline",
    "session.resume": "handrail.operations.sessions.resume_session",
    "session.start": "handrail.operations.sessions.start_session",
    "session.gaps": "handrail.operations.sessions.list_gaps",
    "session.settle_gap": "handrail.operations.sessions.settle_gap",
    "session.delete": "handrail.operations.sessions.delete_sessions",
    "preferences.show": "handrail.operations.sessions.show_preferences",
    "preferences.set": "handrail.operations.sessions.set_preferences",
    "keys.rotate": "handrail.operations.store.rotate_keys",
    "store.verify": "handrail.operations.store.verify_store",
    "store.du": "handrail.operations.store.measure_store",
    "store.selftest": "handrail.operations.store.selftest_store",
    "session.events": "handrail.operations.sessions.list_events",
    "store.gc": "handrail.operations.store.collect_garbage",
    "store.copy": "handrail.operations.store.copy_store",
    "session.export": "handrail.operations.sessions.export_session",
    "session.import": "handrail.operations.sessions.import_session",
    "ledger.show": "handrail.operations.sessions.show_ledger",
    "lafs.check": "handrail.operations.store.check_lafs",
    "clients.setup": "handrail.program.setup.set_up_clients",
    "program.update": "handrail.program.update.update_program",
    "self.context": "handrail.program.doctor.show_context",
    "self.settings": "handrail.program.doctor.show_settings",
    "self.doctor": "handrail.program.doctor.examine_installation",
}

OPERATION_NAMES: tuple[str, ...] = tuple(MODULES)


@cache
def operation(name: str) -> Operation:
    """One operation. Its module is imported here, late, because each costs its structs at start-up."""
    loaded = importlib.import_module(MODULES[name]).OPERATION
    assert isinstance(loaded, Operation), f"{MODULES[name]} must define OPERATION"
    return loaded


def all_operations() -> tuple[Operation, ...]:
    """Every operation, in the order of the table."""
    return tuple(operation(name) for name in OPERATION_NAMES)
