"""The compiled workflow: fully expanded, checked, pinned by the hash of its canonical bytes. Pure.

Everything the engine needs is inside: rendered prompts, conditions, contracts with their schemas.
It has no ids of runs, no times, and nothing of the environment.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from handrail.contract.catalogue import STORE_UNSUPPORTED_VERSION
from handrail.contract.ids import Autonomy, ProofWant, RiskPolicy, WorkflowHash, WorkflowId
from handrail.contract.outcome import Fault, Json
from handrail.workflows.conditions import Condition, ConditionId
from handrail.workflows.evidence import Evidence

# Annotations are not strings here: msgspec would compile each of them again in every process.


COMPILED_VERSION = 1
WITH_EVIDENCE = 2
"""Version of a workflow whose contracts have evidence rules; a program that cannot check them refuses it."""
WITH_CHILDREN = 3
"""Version of a workflow that delegates work; a program that cannot wait for it refuses it."""
WITH_PROOF = 4
"""Version of a workflow that requires a proof, requires outputs by name or marks an option."""
CONFIRMERS = {
    "other": "a person none of whose agents did the work",
    "role:owner": "an owner",
    "role:admin": "an admin or owner",
    "role:member": "a member, admin or owner",
}
"""Who a step can ask to confirm it, in words; a workflow that names one has version 3."""
VERSIONS = (COMPILED_VERSION, WITH_EVIDENCE, WITH_CHILDREN, WITH_PROOF)
OWN_OPERATIONS = frozenset({"code.scan", "code.edit"})
"""The operations that Handrail itself runs for an action. It runs no others, and none is a program."""

InputType: TypeAlias = Literal["string", "number", "integer", "boolean", "array", "object", "any"]
TYPE_WORDS = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
    "any": "anything",
}
"""What a sentence calls a value of each type."""
ProvenanceKind: TypeAlias = Literal["authored", "template", "feature", "capability_probe", "base", "overlay"]
"""Origins of a step; `base` and `overlay` only if a workflow extends another."""
UserOnlyReason: TypeAlias = Literal[
    "needs_user_secret_or_token",
    "needs_user_account_access",
    "needs_user_artifact",
    "needs_user_choice",
    "needs_user_approval",
    "needs_user_environment_action",
]
ChoiceKind: TypeAlias = Literal[
    "preference_tradeoff",
    "scope_boundary",
    "irreversible_action",
    "external_side_effect",
    "policy_or_compliance",
]


JsonType: TypeAlias = Literal["object", "array", "string", "number", "boolean", "null"]

_TYPES: dict[type, JsonType] = {
    dict: "object",
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def json_type(value: Json) -> JsonType:
    return _TYPES[type(value)]


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


_OF_TYPE: dict[InputType, Callable[[Any], bool]] = {
    "any": lambda _: True,
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: is_number(value) and (isinstance(value, int) or value.is_integer()),
    "number": is_number,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def has_declared_type(kind: InputType, value: Any) -> bool:
    """Whether a JSON value has a declared type."""
    return _OF_TYPE[kind](value)


class Compiled(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Shared options of compiled parts; defaults are left out, so adding a field keeps old hashes."""


class Provenance(Compiled, frozen=True, kw_only=True):
    """The origin of a step: the author, or what added it."""

    kind: ProvenanceKind = "authored"
    origin: str = ""
    """Template, feature, capability or workflow id; empty for authored steps."""


class InputSpec(Compiled, frozen=True, kw_only=True):
    """A declared context input. `implicit` means that a condition or prompt uses it without a declaration."""

    type: InputType = "any"
    enum: tuple[Any, ...] = ()
    default: Any = msgspec.UNSET
    required: bool = False
    description: str = ""
    implicit: bool = False
    counted_by: str = ""
    """Name of a number; while this list is not given, it is the numbers from 1 to that one."""
    from_goal: bool = False
    """Whether a start that does not give it fills it with the goal."""


class Fragment(Compiled, frozen=True, kw_only=True):
    """A piece of prompt that is added if its condition holds."""

    when: ConditionId = ""
    text: str


class UserOnly(Compiled, frozen=True, kw_only=True):
    """A value that only the user can give."""

    reason: UserOnlyReason
    choice_kind: ChoiceKind | None = None
    input: str = ""
    """The declared input whose value answers it; empty if an artifact of kind `wr.user_input` does."""


class RuleShape(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", rename="camel"):
    """Shared options of rules for notes."""


class AllOf(RuleShape, frozen=True, kw_only=True, tag="all"):
    of: "tuple[Rule, ...]"


class AnyOf(RuleShape, frozen=True, kw_only=True, tag="any"):
    of: "tuple[Rule, ...]"


class ContainsRule(RuleShape, frozen=True, kw_only=True, tag="contains"):
    """A rule that the notes contain this text, ignoring case."""

    value: str
    message: str


class PatternRule(RuleShape, frozen=True, kw_only=True, tag="regex"):
    """A rule that this pattern matches somewhere in the notes."""

    pattern: str
    flags: str = ""
    message: str


class LengthRule(RuleShape, frozen=True, kw_only=True, tag="length"):
    """A rule about the number of characters of the notes."""

    minimum: int = 0
    maximum: int | None = None
    message: str


class SchemaRule(RuleShape, frozen=True, kw_only=True, tag="schema"):
    """A rule that the notes are a JSON document of this schema."""

    schema: dict[str, Any]
    message: str


Rule: TypeAlias = AllOf | AnyOf | ContainsRule | PatternRule | LengthRule | SchemaRule


class Gate(Compiled, frozen=True, kw_only=True):
    """An assessment that the step must report; a listed level requires a follow-up before the run
    continues.
    """

    assessment_id: str
    purpose: str
    dimensions: dict[str, tuple[str, ...]]
    """Dimension ids, each with its levels."""
    followups: dict[str, str] = {}
    """For each level the guidance that is given if any dimension has it."""


class ProofDemand(Compiled, frozen=True, kw_only=True):
    """What the four runs of the project's check must show about the change of a step."""

    wants: ProofWant
    is_required: bool = msgspec.field(default=False, name="required")
    """Whether it is required. False means `where_possible`: it blocks once; then the run continues
    with a gap.
    """
    base: Literal["", "run"] = ""
    """Where the change begins: `run` for the start of the run; empty for the start of the innermost loop's
    iteration, or of the run outside loops.
    """


VALUE_PREFIX = "context."
"""Prefix of a context value in the list of what a step requires; entries without it are contracts."""


class Step(Compiled, frozen=True, kw_only=True, tag_field="kind", tag="step"):
    """One step as it is executed; `prompt` is what the agent reads before fragments and functions."""

    id: str
    title: str
    prompt: str
    fragments: tuple[Fragment, ...] = ()
    when: ConditionId = ""
    require_confirmation: bool | ConditionId = False
    confirmed_by: str = ""
    """Who has to confirm, one of `CONFIRMERS`; empty for any person."""
    contract: str = ""
    """Id in `contracts` of the artifact that this step must deliver; empty for notes only."""
    hints: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    gates: tuple[Gate, ...] = ()
    functions: tuple[str, ...] = ()
    user_only: UserOnly | None = None
    capability: str = ""
    """For a probe: the capability that it observes."""
    notes_optional: bool = False
    notes_required: bool = False
    check: str = ""
    """A declared check of the project that must have passed on the present files."""
    asks: tuple[str, ...] = ()
    """Context values for which the step's call has placeholders until they are given."""
    requires: tuple[str, ...] = ()
    """Requirements besides notes and `contract`: `context.NAME`, or an id in `contracts`."""
    proof: ProofDemand | None = None
    provenance: Provenance = Provenance()


class Option(Compiled, frozen=True, kw_only=True):
    """One option of a choice; `sets` becomes context."""

    id: str
    label: str
    description: str = ""
    sets: dict[str, Any] = {}
    irreversible: bool = False
    """Whether it cannot be undone, so that a person is asked a second time."""
    recommended: bool = False
    """Whether its author recommends it."""


class Choice(Compiled, frozen=True, kw_only=True, tag_field="kind", tag="choice"):
    """Named options, each with its own token."""

    id: str
    title: str
    prompt: str
    options: tuple[Option, ...]
    when: ConditionId = ""
    non_assumable: ChoiceKind | None = None
    provenance: Provenance = Provenance()


class Action(Compiled, frozen=True, kw_only=True, tag_field="kind", tag="action"):
    """An operation: Handrail runs it if it is a code tool, otherwise the agent does."""

    id: str
    title: str
    operation: str
    params: dict[str, Any] = {}
    save_as: str = ""
    when: ConditionId = ""
    provenance: Provenance = Provenance()

    @property
    def is_own(self) -> bool:
        """Whether Handrail runs it."""
        return self.operation in OWN_OPERATIONS

    @property
    def is_guarded(self) -> bool:
        """Whether it writes files when Handrail runs it."""
        return self.is_own and self.params.get("fix", False) is not False


class Child(Compiled, frozen=True, kw_only=True):
    """Delegated work, pinned like the workflow that delegates it."""

    id: str
    workflow_id: WorkflowId
    workflow_hash: WorkflowHash
    inputs: dict[str, Any] = {}  # a text may name values of the run that delegates it
    brief: str = ""
    when: ConditionId = ""


class Delegate(Compiled, frozen=True, kw_only=True, tag_field="kind", tag="delegate"):
    """Child runs that are opened on arrival; the step is done when enough of them are."""

    id: str
    title: str
    children: tuple[Child, ...]
    for_each: str = ""
    item: str = ""
    """The input of the only child that gets the item, if the child is delegated once for each item
    of a list.
    """
    at_least: int = 0
    """How many must be done; 0 for all."""
    collect: str = ""  # the value that gets the results of the children
    non_assumable: ChoiceKind | None = None
    """Why an agent must not decide what happens after a child was closed."""
    when: ConditionId = ""
    provenance: Provenance = Provenance()


class RepeatShape(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", rename="camel", omit_defaults=True
):
    """Shared options of the ways in which a loop repeats."""


class While(RepeatShape, frozen=True, kw_only=True, tag="while"):
    """A further iteration while the condition holds. A loop_control condition always allows the first one."""

    condition: ConditionId


class Until(RepeatShape, frozen=True, kw_only=True, tag="until"):
    """Iterations until the condition holds; the first one always runs."""

    condition: ConditionId


class ForEach(RepeatShape, frozen=True, kw_only=True, tag="for_each"):
    """One iteration per item of an array input."""

    input: str
    item: str
    index: str = ""


class Count(RepeatShape, frozen=True, kw_only=True, tag="count"):
    """A fixed number of iterations."""

    count: int
    index: str = ""


Repeat: TypeAlias = While | Until | ForEach | Count


class Loop(Compiled, frozen=True, kw_only=True, tag_field="kind", tag="loop"):
    """Steps that may run more than once, at most `max_iterations` times."""

    id: str
    repeat: Repeat
    max_iterations: int
    body: "tuple[Part, ...]"
    when: ConditionId = ""
    provenance: Provenance = Provenance()


Leaf: TypeAlias = Step | Choice | Action | Delegate
Part: TypeAlias = Step | Choice | Action | Delegate | Loop


class Contract(Compiled, frozen=True, kw_only=True):
    """Requirements of an artifact, embedded so that pinning covers them."""

    artifact_kind: str
    schema: dict[str, Any]
    example: dict[str, Any]
    guidance: str
    evidence: tuple[Evidence, ...] = ()
    """What can be checked beyond the schema."""


Schema: TypeAlias = dict[str, Any]
"""The schema of a contract. A `$ref` in it names one of the definitions at its root."""

DEFINITIONS = "#/$defs/"
MAX_DEPTH = 16
"""Levels of nesting of a schema, and of references that lead to one another."""


def resolve_ref(schema: Json, root: Schema) -> Json:
    """Return the schema itself, or the definition that its `$ref` names; an empty one if there is none."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        schema = list_definitions(root).get(str(schema["$ref"]).removeprefix(DEFINITIONS), {})
    return {}


def list_definitions(root: Schema) -> Schema:
    found = root.get("$defs")
    return found if isinstance(found, dict) else {}


class Reference(Compiled, frozen=True, kw_only=True):
    """A document that the steps rely on; resolved when it is shown, never part of the run's
    recorded facts.
    """

    id: str
    title: str
    source: str
    purpose: str = ""
    authoritative: bool = False
    resolve_from: Literal["workspace", "package"] = "workspace"


class Recommended(Compiled, frozen=True, kw_only=True):
    """The most automation that the author considers safe."""

    autonomy: Autonomy | None = None
    risk_policy: RiskPolicy | None = None


class LeftOut(Compiled, frozen=True, kw_only=True):
    """A step of the base with proof, a question or an action that the customisation skips or rewrites."""

    id: str
    title: str
    how: Literal["skip", "replace"]


class CompiledBase(Compiled, frozen=True, kw_only=True):
    """The base with which a customisation was compiled."""

    id: WorkflowId
    hash: WorkflowHash
    left_out: tuple[LeftOut, ...] = ()


class CompiledWorkflow(Compiled, frozen=True, kw_only=True, dict=True):
    """A compiled workflow. Values derived from it alone are cached with it (`derive_once`)."""

    v: int
    id: WorkflowId
    kind: Literal["workflow", "routine"]
    name: str
    description: str
    version: str
    inputs: dict[str, InputSpec] = {}
    recommended: Recommended = Recommended()
    capabilities: dict[str, Literal["required", "preferred", "disabled"]] = {}
    conditions: dict[ConditionId, Condition] = {}
    contracts: dict[str, Contract] = {}
    functions: dict[str, str] = {}
    references: tuple[Reference, ...] = ()
    steps: tuple[Part, ...]
    base: CompiledBase | None = None
    """The base, only for a workflow that extends another."""


class SlotPlace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place where a customisation may add parts: before a part, or after the last one of its list."""

    id: str
    title: str = ""
    description: str = ""
    before: str = ""
    after: str = ""


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled workflow with the bytes that its hash names; the hash is also the blob's ref."""

    workflow: CompiledWorkflow
    content: bytes
    workflow_hash: WorkflowHash
    children: "tuple[Pinned, ...]" = ()
    """Every workflow that its steps delegate, including those of its children, each once."""
    slots: tuple[SlotPlace, ...] = ()
    """Only after compiling: the bytes do not have them."""


_DECODER = msgspec.json.Decoder(CompiledWorkflow)


def decode_compiled(content: bytes) -> CompiledWorkflow:
    """Return the compiled workflow of pinned bytes.

    Raises: Fault STORE_UNSUPPORTED_VERSION if they cannot be read; the hash proves them, so another
    version wrote them.
    """
    try:
        workflow = _DECODER.decode(content)
    except msgspec.DecodeError as error:
        raise _refuse_form(str(error)[:200]) from error
    if workflow.v not in VERSIONS:
        raise _refuse_form(f"version {workflow.v}")
    return workflow


def _refuse_form(found: str) -> Fault:
    return Fault(
        STORE_UNSUPPORTED_VERSION,
        "The workflow of this run was pinned in a form that this version does not know.",
        details={"found": found, "supported": max(VERSIONS)},
    )


# Values derived from a workflow alone

_T = TypeVar("_T")


def derive_once(workflow: CompiledWorkflow, derive: Callable[[CompiledWorkflow], _T]) -> _T:
    """Return what `derive` finds in a workflow, cached with that workflow; callers do not change
    it.

    A server needs the same facts about a decoded workflow in every call. Two threads may both
    derive them, and get the same.
    """
    kept: dict[Any, Any] = vars(workflow)
    if derive not in kept:
        kept[derive] = derive(workflow)
    found: _T = kept[derive]
    return found


def walk_parts(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield every part in the order of the file, a loop before its body."""
    for part in parts:
        yield part
        if isinstance(part, Loop):
            yield from walk_parts(part.body)


def list_leaves(parts: Iterable[Part]) -> Iterator[Leaf]:
    """Return every step, choice, action and delegation, in order."""
    return (part for part in walk_parts(parts) if not isinstance(part, Loop))


# Values that come from inside a workflow, so that no caller sends them


def names_set_inside(parts: tuple[Part, ...]) -> Iterator[str]:
    """Yield the names that a choice sets, an action saves and children deliver."""
    for part in list_leaves(parts):
        match part:
            case Choice(options=options):
                yield from (name for option in options for name in option.sets)
            case Action(save_as=name) | Delegate(collect=name):
                yield name
            case _:
                pass


def list_wanted_checks(parts: tuple[Part, ...]) -> Iterator[tuple[str, str]]:
    """Return steps that require a declared check of the project, each with the name of the check."""
    return ((part.id, part.check) for part in list_leaves(parts) if isinstance(part, Step) and part.check)


def list_required_values(step: Step) -> list[str]:
    """Return the names of the context values that a step requires."""
    return [one.removeprefix(VALUE_PREFIX) for one in step.requires if one.startswith(VALUE_PREFIX)]


def list_required_contracts(step: Step) -> list[str]:
    """Return the ids of the contracts whose artifacts a step requires, besides its own contract."""
    return [one for one in step.requires if not one.startswith(VALUE_PREFIX)]


def loop_variables(loop: Loop) -> frozenset[str]:
    """Return the variables of a loop: its counter and its item."""
    match loop.repeat:
        case ForEach(item=item, index=index):
            return frozenset({item, index} - {""})
        case Count(index=index):
            return frozenset({index} - {""})
        case _:
            return frozenset()
