"""Operations: what one is, what a package adds to the program, and the registry that loads each by its name.

A command line runs one operation, so it imports only that operation's module and structs.
"""

import importlib
import sys
from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, UnsetType

from handrail.contract.catalogue import E_CONFIG
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, Json, Success
from handrail.contract.released import WHERE, spell_requirement

# Operations: defined once, offered by every interface

Effect: TypeAlias = Literal["read", "record", "process", "create", "ack", "gated", "dangerous", "update"]
"""What a call may change.

read changes nothing. record appends one fact about work that happened anyway, without a gate. process starts
a program that the caller names and records how it ended, so no server may ever offer it. create takes an
idempotency key. ack is gated by a token that Handrail minted. gated needs the token of a dry run; dangerous
also needs the `dangerous` field. update replaces the program itself.
"""

Where: TypeAlias = Literal["server", "client", "both"]
"""Who performs the operation if a project belongs to a team.

server: the team server decides. client: the team client on the agent's machine reads files. both: the client
sends what it found and the server decides.
"""

WORKED_THROUGH = frozenset({"run.continue", "run.checkpoint", "check.run", "code.status"})
"""The operations that accept the token of delegated work; no other does."""
WORK_ARGUMENTS = frozenset({"stateToken", "ackToken", "checkpointToken", "argv"})
"""The arguments in which these operations accept one; the words of a program may contain one."""
TOKEN_PREFIXES = ("ak1", "ch1", "ck1", "st1", "wk1")
"""How a token of a run begins, written out so that calls without a token need not load the token code."""
REQUEST_ID_PATTERN = r"^[A-Za-z0-9._:-]{1,128}$"
OFFERED_CALL_BYTES = 4_096
"""Largest call that a refusal offers to copy; a caller still has what it sent."""


class Input(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """Shared options of operation inputs: an unknown name is refused, and absent and null stay different."""


_T = TypeVar("_T")
Maybe: TypeAlias = _T | UnsetType
"""An input field that may be left out."""
ReportOnly = Annotated[bool, Meta(description="A negative verdict is an answer, not a failure.")]


class ValueRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for values of the right type, so that they are refused together with all other problems."""

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
    """One line that says what it does. Help, reference and tool description begin with it."""
    input: type[Any]
    output: type[Any]
    """The payload, as every interface sends it (for a list: without the paging keys)."""
    variants: tuple[type[Any], ...] = ()
    """Other payloads, if a parameter asks for another document."""
    item: type[Any] | None = None
    """For a list: the type of one row."""
    perform: Callable[[Any, Any], Any]
    """`(runtime, input) -> output or Success`."""
    shape: Shape = Shape()
    where: Where = "server"
    starts_programs: bool = False
    """Whether it starts programs other than git, which no server does."""
    why_only_local: str = ""
    """Why no server offers it to any caller; empty if the operation itself is no reason."""
    is_persons: bool = False
    """Whether it asks a person at the terminal before it does anything, so `maxEffect` does not bind it."""
    reads_without: str = ""
    """For a write: the input field, by wire name, without which it only reads."""
    reads_with: tuple[str, ...] = ()
    """For a write: the switches, by wire name, with which it only reads."""
    stream: Callable[[Any, Any], Iterator[StreamItem | Success]] | None = None
    """The same as a stream: `(runtime, input) ->` its items, then what `perform` would have answered."""
    chunked: Callable[[Any, Any], Chunked] | None = None
    """The same for a file: every possible refusal comes before the first byte."""
    default_sort: str = ""
    """For a list: the declared order, its last key the id."""
    tool: str = ""
    """The MCP tool that offers it; empty if none does, because read models are not for agents."""
    tool_description: str = ""
    tool_fields: tuple[str, ...] = ()
    """The input fields, by wire name, that the tool offers."""
    tool_required: tuple[str, ...] = ()
    """Input fields that the tool requires and other callers may replace with something else."""
    tool_choices: dict[str, tuple[str, ...]] = {}
    """Enum values that the tool offers, if they are fewer than those of the operation."""
    value_rules: dict[str, ValueRule] = {}
    """Rules of input fields, by wire name."""
    foresee: Callable[[Any, Any], object] | None = None
    """For a creation: `(runtime, input)` raises the Fault that the creation would raise. Changes nothing."""
    errors: tuple[str, ...] = ()
    """Catalogue codes it can answer with, in addition to those that follow from its effect, fields and
    flags.
    """


def find_misplaced_work(called: Operation, params: dict[str, Json]) -> dict[str, Json]:
    """Return arguments that look like a token of a child run in a call that accepts none."""
    taken = WORK_ARGUMENTS if called.name in WORKED_THROUGH else ()
    return {name: held for name, held in params.items() if name not in taken and _may_hold_work(held)}


def _may_hold_work(value: Json) -> bool:
    texts = value if isinstance(value, list) else (value,)
    return any(one in text.lower() for text in texts if isinstance(text, str) for one in TOKEN_PREFIXES)


Verdict: TypeAlias = Literal["would_advance", "would_block", "would_save", "already_answered"]


class AckVerdict(Answer, frozen=True, kw_only=True):
    """What the same call without the dry run would answer."""

    verdict: Verdict
    step_id: str
    """The pending step that the token belongs to."""
    blockers: list[dict[str, Any]]
    """Why it would be blocked, as the reply would list it."""
    issues: list[dict[str, Any]]
    """Every fault, as the reply would list it."""
    gaps: list[str]
    """What would be recorded as missing, accepted or blocked."""
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
    """Return how the answer to these params may be reduced: a dry run answers with a document of its own.

    The minimal answer to a write is needed to continue, so no choice of fields drops it.
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
    """Return what a call with these params does: `run.continue` without an ack only reads."""
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
    "run.checkpoint": "handrail.operations.checkpoints",
    "run.close": "handrail.operations.runs.close_run",
    "run.answer": "handrail.operations.runs.answer_run",
    "run.graph": "handrail.operations.runs.show_graph",
    "run.node": "handrail.operations.runs.show_node",
    "run.compare": "handrail.operations.runs.compare_nodes",
    "check.run": "handrail.operations.checks.run_check",
    "check.list": "handrail.operations.checks.list_checks",
    "check.approve": "handrail.operations.checks.approve_check",
    "check.prove": "handrail.operations.checks.prove_change",
    "receipt.export": "handrail.operations.checks.export_receipt",
    "receipt.verify": "handrail.operations.checks.verify_receipt",
    "receipt.key": "handrail.operations.checks.receipt_key",
    "code.status": "handrail.operations.code.show_status",
    "code.diff": "handrail.operations.code.show_diff",
    "code.restore": "handrail.operations.code.restore_code",
    "session.list": "handrail.operations.sessions.list_sessions",
    "session.show": "handrail.operations.sessions.show_session",
    "session.inbox": "handrail.operations.sessions.list_inbox",
    "session.search": "handrail.operations.sessions.search_sessions",
    "session.timeline": "handrail.operations.sessions.show_timeline",
    "session.resume": "handrail.operations.sessions.resume_session",
    "session.start": "handrail.operations.sessions.start_session",
    "session.gaps": "handrail.operations.sessions.list_gaps",
    "session.resolve_gap": "handrail.operations.sessions.resolve_gap",
    "session.rename": "handrail.operations.sessions.rename_session",
    "session.delete": "handrail.operations.store.delete_sessions",
    "preferences.show": "handrail.operations.sessions.show_preferences",
    "preferences.set": "handrail.operations.sessions.set_preferences",
    "keys.rotate": "handrail.operations.store.rotate_keys",
    "store.verify": "handrail.operations.store.verify_store",
    "store.du": "handrail.operations.store.measure_store",
    "store.selftest": "handrail.operations.store.selftest_store",
    "session.events": "handrail.operations.sessions.list_events",
    "store.gc": "handrail.operations.store.collect_garbage",
    "store.copy": "handrail.operations.store.copy_store",
    "store.adopt": "handrail.operations.store.adopt_store",
    "store.move": "handrail.operations.store.move_store",
    "session.export": "handrail.operations.sessions.export_session",
    "session.import": "handrail.operations.sessions.import_session",
    "ledger.show": "handrail.operations.sessions.show_ledger",
    "lafs.check": "handrail.operations.store.check_lafs",
    "clients.setup": "handrail.program.setup.set_up_clients",
    "program.update": "handrail.program.update.update_program",
    "self.context": "handrail.program.doctor.show_context",
    "self.settings": "handrail.program.doctor.show_settings",
    "settings.set": "handrail.program.doctor.set_setting",
    "self.doctor": "handrail.program.doctor.examine_installation",
}
"""The operations of the core, each with the module that defines it as `OPERATION`, or under another name."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What one package adds to the program, as tables that name modules; reading a part loads none."""

    package: str
    requirement: str = "handrail"
    """The requirement to install, if an extra brings its libraries."""
    operations: dict[str, str] = {}
    """The module that defines `OPERATION`, by operation; `module:name` if it defines several."""
    tool_sets: dict[str, str] = {}
    """The module that defines `TOOL_SET` for MCP, by name."""
    adapters: dict[str, str] = {}
    """`module:name` of the implementation, by port of the runtime."""


CORE = Part(package="handrail", operations=MODULES)
NEIGHBOURS = ("handrail_code", "handrail_serve", "handrail_team")
"""The other packages of this distribution, which may be installed with the core."""


class Registry:
    """The installed parts, joined. The core comes first, so that its calls load no other part."""

    def __init__(self, core: Part, neighbours: Sequence[str] = ()) -> None:
        """Create it; `neighbours` are packages that may be installed, each of which defines a `part.PART`."""
        self._core = core
        self._packages = neighbours

    @cached_property
    def _neighbours(self) -> dict[str, Part | None]:
        return {package: _load_part(package) for package in self._packages}

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the installed parts, the core first."""
        return (self._core, *(part for part in self._neighbours.values() if part is not None))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of all operations."""
        return tuple(name for part in self.parts for name in part.operations)

    def operations(self) -> tuple[Operation, ...]:
        """Return every operation. Loads all of them."""
        return tuple(self.operation(name) for name in self.names)

    def operation(self, name: str) -> Operation:
        """Return one operation; its module is imported here, because each costs its structs at start-up.

        Raise Fault E_CONFIG with the command that installs what it needs.
        """
        if name in self._core.operations:
            return operation(name)
        part = self._find(lambda one: one.operations, name, f"The operation {name}")
        return _operation_in(part.operations[name], partial(_load, part))

    def tool_set(self, name: str) -> Any:
        """Return the set of MCP tools of a part. Raise Fault E_CONFIG if it is not installed."""
        part = self._find(lambda one: one.tool_sets, name, f"The tool set {name}")
        return _load(part, part.tool_sets[name]).TOOL_SET

    def adapter(self, port: str) -> Any:
        """Return the implementation of a port. Raise Fault E_CONFIG if no installed part has it."""
        part = self._find(lambda one: one.adapters, port, f"What {port} needs")
        return _made_in(part.adapters[port], partial(_load, part))

    def _find(self, table: Callable[[Part], Container[str]], name: str, what: str) -> Part:
        for part in self.parts:
            if name in table(part):
                return part
        raise self.refuse_missing(what)

    def refuse_missing(self, what: str) -> Fault:
        """Return the refusal of what only a part that is not installed can provide."""
        missing = [package for package, part in self._neighbours.items() if part is None]
        assert missing, f"{what} is in the table of no part"
        return _refuse(f"{what} comes with {' or '.join(missing)}", self._core.requirement)


def _load_part(package: str) -> Part | None:
    """Return the tables of a package; None if it is not installed."""
    try:
        part = importlib.import_module(f"{package}.part").PART
    except ModuleNotFoundError as missing:
        if missing.name not in (package, f"{package}.part"):
            raise
        return None
    assert isinstance(part, Part), f"{package}.part must define PART"
    return part


def _load(part: Part, module: str) -> Any:
    """Return a module of a part. Raise Fault E_CONFIG if a library that it needs is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as missing:
        if (missing.name or "").startswith("handrail"):  # a defect of Handrail itself, and nothing to install
            raise
        raise _refuse(f"{part.package} needs {missing.name or missing}", part.requirement) from missing


def _refuse(what: str, requirement: str) -> Fault:
    command = [sys.executable, "-m", "pip", "install", "--force-reinstall", spell_requirement(requirement)]
    return Fault(
        E_CONFIG,
        f"{what}, which is not installed.",
        details={"reason": "part_missing", "install_command": command},
        hint=f"Install it{WHERE}, then repeat the call: {' '.join(command)}",
    )


@cache
def operation(name: str) -> Operation:
    """Return one operation of the core."""
    return _operation_in(MODULES[name], importlib.import_module)


def _operation_in(place: str, load: Callable[[str], Any]) -> Operation:
    loaded = _made_in(place, load)
    assert isinstance(loaded, Operation), f"{place} must define it"
    return loaded


def _made_in(place: str, load: Callable[[str], Any]) -> Any:
    """Return the object at `module:name`."""
    module, _, made = place.partition(":")
    return getattr(load(module), made or "OPERATION")
