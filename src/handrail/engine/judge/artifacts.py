"""Everything that can be wrong with what an agent sends: context values and artifacts. Pure.

Context is checked against the declared inputs, an artifact against the contract of its kind and its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from handrail.contract.json.canonical import digest
from handrail.contract.suggest import count_edits, find_nearest
from handrail.contract.wording import explain_unseen, shorten
from handrail.engine.artifact_shapes import (
    ASSESSMENT,
    CAPABILITY_OBSERVATION,
    GAP,
    LOOP_CONTROL,
    SHAPES,
    WORKFLOW_DIVERGENCE,
    Judgement,
    LoopDecision,
    ReportedGap,
    UserInput,
    find_contradictions,
    list_required_members,
    read_kind,
)
from handrail.engine.events import Artifact
from handrail.engine.judge.computed import Computed, drop_computed, fill_in
from handrail.engine.judge.consistency import find_inconsistent
from handrail.engine.judge.report_frame import TO_FILL_IN, find_misfits, gate_of, mark_of
from handrail.engine.navigate import LoopFrame, deciding_loop, open_loops
from handrail.engine.reasons import InputProblem, Issue, shorten_message
from handrail.workflows.compiled import (
    CompiledWorkflow,
    Contract,
    InputSpec,
    InputType,
    Step,
    has_declared_type,
)

# ruff: noqa: PLC0415 - contracts are loaded only when an artifact needs one

# Context against declared inputs

_SHORT, _LONG = 4, 8
"""Length of a name from which one slip, or two, is still read as the same name."""


def is_blank_answer(value: Any) -> bool:
    """Whether a value is invisible text, an empty list or an empty object."""
    return value is None or (isinstance(value, str) and bool(explain_unseen(value))) or value in ([], {})


def check_start_context(inputs: Mapping[str, InputSpec], context: Mapping[str, Any]) -> list[InputProblem]:
    """Return what is missing or wrong in the context of a start. Undeclared keys are accepted."""
    missing = [
        InputProblem(key=name, problem="missing", expected=describe_input(spec))
        for name, spec in inputs.items()
        if _must_be_sent(spec) and context.get(name) is None
    ]
    return missing + _find_blank(inputs, context) + _find_wrong_values(inputs, context)


def check_context_change(inputs: Mapping[str, InputSpec], delta: Mapping[str, Any]) -> list[InputProblem]:
    """Return what is wrong in a later change of context; null deletes, but not what the workflow requires."""
    deleted = [
        InputProblem(key=name, problem="cannot be deleted", expected=describe_input(spec))
        for name, spec in inputs.items()
        if name in delta and delta[name] is None and _must_be_sent(spec)
    ]
    return deleted + _find_blank(inputs, delta) + _find_wrong_values(inputs, delta)


def _must_be_sent(spec: InputSpec) -> bool:
    return spec.required and spec.default is msgspec.UNSET


def _find_blank(inputs: Mapping[str, InputSpec], context: Mapping[str, Any]) -> list[InputProblem]:
    """Return required texts that are blank. An empty list or object can be a real answer."""
    return [
        InputProblem(key=name, problem=_explain_blank(context[name]), expected=describe_input(spec))
        for name, spec in inputs.items()
        if _must_be_sent(spec) and isinstance(context.get(name), str) and is_blank_answer(context[name])
        if not spec.enum and spec.type in ("string", "any")
    ]


def _explain_blank(value: Any) -> str:
    """Return what is wrong with a blank answer, to follow its name."""
    why = explain_unseen(value) if isinstance(value, str) else ""
    return "empty" if why in ("", "is blank") else why


class MistypedKey(msgspec.Struct, frozen=True, kw_only=True):
    """An undeclared context key, and the declared one that it nearly matches."""

    key: str
    declared: str


def find_mistyped_keys(inputs: Mapping[str, InputSpec], delta: Mapping[str, Any]) -> tuple[MistypedKey, ...]:
    """Return keys that look mistyped. A key that is sent together with the declared one means something
    else.
    """
    found = []
    for key, value in delta.items():
        if key in inputs or value is None:
            continue
        near = [name for name in sorted(inputs) if name not in delta and _is_nearly(key, name)]
        if near:
            found.append(MistypedKey(key=key, declared=near[0]))
    return tuple(found)


def _is_nearly(key: str, name: str) -> bool:
    """Whether two names are nearly the same: apart from case, underscores and hyphens, one slip in a short
    name and two in a long one.
    """
    given, known = (text.lower().replace("_", "").replace("-", "")[:64] for text in (key, name))
    allowed = 0 if len(known) < _SHORT else 1 if len(known) < _LONG else 2
    return count_edits(given, known, allowed) <= allowed


def correct_context(
    inputs: Mapping[str, InputSpec], context: Mapping[str, Any], keys: set[str]
) -> dict[str, Any]:
    """Return the context with a valid value for each of these keys, or a mark if none is known."""
    fixed = dict(context)
    for name in inputs:
        if name in keys:
            fixed[name] = _suggest_value(inputs[name], context.get(name))
    return fixed


def describe_input(spec: InputSpec) -> str:
    """Return what an input must be, in words."""
    if spec.enum:
        what = "one of " + ", ".join(_show_value(value) for value in spec.enum)
    else:
        what = "any value" if spec.type == "any" else f"a value of type {spec.type}"
    return f"{what}: {spec.description}" if spec.description else what


def _find_wrong_values(inputs: Mapping[str, InputSpec], context: Mapping[str, Any]) -> list[InputProblem]:
    problems = []
    for name, spec in inputs.items():
        value = context.get(name)
        if value is None:
            continue
        if not has_declared_type(spec.type, value):
            problem = f"not of type {spec.type}"
        elif spec.enum and not any(_same(value, allowed) for allowed in spec.enum):
            problem = "not an allowed value"
        else:
            continue
        got = shorten(value if isinstance(value, str) else msgspec.json.encode(value).decode())
        problems.append(InputProblem(key=name, problem=problem, expected=describe_input(spec), got=got))
    return problems


def _same(left: Any, right: Any) -> bool:
    """Whether two values are equal in JSON: true is not 1."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _suggest_value(spec: InputSpec, given: Any) -> Any:
    """Return the value that was surely meant, or the default, or else a mark: a made-up value would be
    taken for an answer.
    """

    if spec.default is not msgspec.UNSET:
        return spec.default
    if spec.enum:
        words = {value.lower(): value for value in spec.enum if isinstance(value, str)}
        near = find_nearest(given, words, 1) if isinstance(given, str) else []
        return words[near[0]] if near else TO_FILL_IN
    if isinstance(given, str) and spec.type in ("integer", "number", "boolean"):
        converted = _convert_text(spec.type, given)
        if converted is not None:
            return converted
    if spec.type == "array" and isinstance(given, str | int | float) and given != TO_FILL_IN:
        return [given]
    return mark_of(spec)


def _convert_text(kind: InputType, given: str) -> Any:
    """Return a value that was sent as text: 3 for "3". None if it cannot be converted."""
    try:
        value = msgspec.json.decode(given.strip().encode())
    except msgspec.DecodeError:
        return None
    return value if has_declared_type(kind, value) else None


def _show_value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


# Kinds of artifacts, and what a misspelt kind was meant to be
#
# A kind is known by its full name: an artifact counts under its own kind, never under a similar one.

OTHER_NAMES = {"workflow_divergence": WORKFLOW_DIVERGENCE, "gap": GAP}
"""Alternative names that EXEC uses; checked like the full ones."""
SHORTEST_WORD = 7
"""Minimum length of a single word that is taken for part of a reserved name."""
OURS = "wr."
"""The reserved namespace: an unknown kind in it is a mistake."""


class MisnamedKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that is nearly a known one; `suggestion` is the kind that was probably meant."""

    kind: str
    suggestion: str = ""


def full_kind(kind: str) -> str:
    """Return the full name of a kind that has two names."""
    return OTHER_NAMES.get(kind, kind)


def find_kind_contract(workflow: CompiledWorkflow, kind: str, asked: str = "") -> tuple[str, Contract | None]:
    """Return the contract of a kind: the one that the step requires, or one of the workflow, or a builtin."""
    own = workflow.contracts.get(asked)
    if own is not None and own.artifact_kind == kind:
        return asked, own
    for ref, held in workflow.contracts.items():
        if held.artifact_kind == kind:
            return ref, held
    return _builtin(kind) if kind.startswith(OURS) else ("", None)


def find_misnaming(workflow: CompiledWorkflow, kind: str) -> MisnamedKind | None:
    """Return what a misspelt kind was meant to be, or None if the kind is known or has its own name."""
    if find_kind_contract(workflow, full_kind(kind))[0]:
        return None
    known = {held.artifact_kind for held in workflow.contracts.values()} | _builtin_kinds()
    meant = guess_kind(kind, known)
    return MisnamedKind(kind=kind, suggestion=meant) if meant or kind.lower().startswith(OURS) else None


def list_misnamings(workflow: CompiledWorkflow, artifacts: Iterable[Artifact]) -> tuple[MisnamedKind, ...]:
    """Return the misspelt kinds of recorded artifacts, each once; a valid artifact has a correct kind."""
    kinds = {artifact.kind for artifact in artifacts if not artifact.contract_ref}
    found = [find_misnaming(workflow, kind) for kind in sorted(kinds)]
    return tuple(held for held in found if held is not None)


def guess_kind(kind: str, known: Iterable[str]) -> str:
    """Return the known kind of which this one is a misspelling; empty if it has its own name.

    Case, separators, a plural, one wrong letter in five and one word of two are misspellings. Another
    namespace is not: a kind with a namespace is compared only with kinds whose namespace differs by at most
    one letter. Authors cannot use the reserved namespace, so there one wrong letter is a misspelling of any
    name.
    """

    known = list(known)
    space, _, bare = kind.rpartition(".")
    scored = []
    for candidate in known:
        its_space, _, its_name = candidate.rpartition(".")
        if space and count_edits(_first(space), _first(its_space)) > 1:
            continue
        spellings = (its_name,) if space else (its_name, candidate)
        distance = min(count_edits(_folded(bare), _folded(spelling)) for spelling in spellings)
        if distance <= max(len(_folded(bare)) // 5, 1 if f"{space}." == OURS else 0):
            scored.append((distance, candidate))
    return min(scored)[1] if scored else _find_by_word(kind, known)


def _find_by_word(kind: str, known: Iterable[str]) -> str:
    """Return the only reserved kind that contains a bare word: `divergence` in wr.workflow_divergence.
    Empty if there is none, or several.
    """
    if len(kind) < SHORTEST_WORD or "." in kind:
        return ""
    words = {one: [_folded(word) for word in one.removeprefix(OURS).split("_")] for one in known}
    found = [one for one in words if one.startswith(OURS) and _folded(kind) in words[one]]
    return found[0] if len(found) == 1 else ""


def _first(namespace: str) -> str:
    return namespace.partition(".")[0].lower()


def _folded(name: str) -> str:
    """Return a name without what people vary: case, camel humps, separators, the plural."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:64])
    return re.sub(r"[^a-z0-9]+", "_", snake.lower()).strip("_").removesuffix("s")


def _builtin(kind: str) -> tuple[str, Contract | None]:
    from handrail.workflows.builtins.contracts import CONTRACTS

    held = ((spec.id, spec.compiled()) for spec in CONTRACTS if spec.artifact_kind == kind)
    return next(held, ("", None))


def _builtin_kinds() -> set[str]:
    from handrail.workflows.builtins.contracts import CONTRACTS

    return {spec.artifact_kind for spec in CONTRACTS}


# Artifacts against their contracts


ISSUE_BYTES = 300
MOST_GAPS_NAMED = 5

SUBJECTS = {LOOP_CONTROL: "loopId", CAPABILITY_OBSERVATION: "capability", ASSESSMENT: "assessmentId"}
"""The member that says what an artifact is about; two about the same thing must have the same verdict."""
VERDICTS = {LOOP_CONTROL: "decision", CAPABILITY_OBSERVATION: "status", ASSESSMENT: "dimensions"}


class KnownGaps(msgspec.Struct, frozen=True, kw_only=True):
    """The gaps that were recorded on a branch, and those that evidence opened."""

    ids: tuple[str, ...] = ()
    by_evidence: frozenset[str] = frozenset()


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place in a workflow where a report is judged."""

    workflow: CompiledWorkflow
    leaf_id: str = ""
    """The pending step; empty at a finished run."""
    step: Step | None = None
    """None at a choice, an action or a finished run: nothing is required there."""
    frames: tuple[LoopFrame, ...] = ()
    gaps: KnownGaps | None = None
    """The gaps of this branch; None in a simulation, which has none."""
    is_given: bool = False
    """A person gave what only the user can give."""
    computed: Computed | None = None
    """What Handrail fills into a report; None in a simulation."""


class JudgedArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """An artifact with the contract of its kind, what it is about, and every fault in it."""

    artifact: Artifact
    """Its `contract_ref` is set if the complete contract was checked and nothing is wrong."""
    ref: str = ""
    contract: Contract | None = None
    """The contract of its kind; `ref` is its name."""
    about: str = ""
    issues: tuple[Issue, ...] = ()
    misnamed: MisnamedKind | None = None
    is_brought: bool = True
    """False if an earlier, blocked attempt sent it."""

    @property
    def is_good(self) -> bool:
        return not self.issues and self.misnamed is None


def judge_report(
    place: Place, brought: Iterable[dict[str, Any]], kept: Iterable[dict[str, Any]] = ()
) -> list[JudgedArtifact]:
    """Return the judged artifacts of a report, each once, ordered by digest.

    An artifact of earlier attempts (`kept`) is included if it is valid now and the report itself has none
    about the same subject.
    """
    own = _judge_all(place, brought)
    answered = {subject_of(place, found.artifact.body) for found in own}
    inherited = [
        msgspec.structs.replace(found, is_brought=False)
        for found in _mark_contradictions(_judge_all(place, kept))
        if found.is_good and subject_of(place, found.artifact.body) not in answered
    ]
    return sorted(_mark_contradictions([*own, *inherited]), key=lambda found: found.artifact.digest)


def subject_of(place: Place, body: dict[str, Any]) -> tuple[str, str]:
    """Return what an artifact is about. A later one about the same subject replaces it."""
    kind = full_kind(str(body.get("kind", "")))
    named = str(body.get(SUBJECTS[kind], "")) if kind in SUBJECTS else ""
    if kind == LOOP_CONTROL and not named and len(open_loops(place.workflow, place.frames)) == 1:
        return kind, deciding_loop(place.workflow, place.frames)
    return kind, named


def keep_unchecked(bodies: Iterable[dict[str, Any]]) -> list[JudgedArtifact]:
    """Return artifacts of a checkpoint, which are kept and not checked yet."""
    return [
        JudgedArtifact(artifact=Artifact(kind=str(body["kind"]), digest=name, body=body))
        for name, body in _unique(bodies)
    ]


def read_sent(place: Place, body: dict[str, Any]) -> dict[str, Any]:
    """Return an artifact without what Handrail fills in: it is the same before and after a report is
    judged.
    """
    asked = place.step.contract if place.step is not None else ""
    _, contract = find_kind_contract(place.workflow, full_kind(str(body["kind"])), asked)
    return body if contract is None else drop_computed(contract, body)


def _judge_all(place: Place, bodies: Iterable[dict[str, Any]]) -> list[JudgedArtifact]:
    return [_judge(place, name, body) for name, body in _unique(bodies)]


def _unique(bodies: Iterable[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return artifacts in the order in which they are recorded, each once, under the full name of their
    kind.
    """
    named = [body | {"kind": full_kind(str(body["kind"]))} for body in bodies]
    return sorted({digest(body): body for body in named}.items())


def _judge(place: Place, name: str, body: dict[str, Any]) -> JudgedArtifact:
    kind = str(body["kind"])
    asked = place.step.contract if place.step is not None else ""
    ref, contract = find_kind_contract(place.workflow, kind, asked)
    if contract is None:
        artifact = Artifact(kind=kind, digest=name, body=body)
        return JudgedArtifact(artifact=artifact, misnamed=find_misnaming(place.workflow, kind))
    filled = fill_in(contract, body, place.computed)
    if filled is not body:
        name, body = digest(filled), filled
    issues = _violations(ref, contract.schema, body)
    is_whole = not issues
    if issues and kind in SHAPES and ref != asked:
        # The step does not require it, so a fact that can be understood is enough; it meets no contract.
        schema = contract.schema | {"required": list(list_required_members(kind))}
        issues = _violations(ref, schema, body)
    issues = issues or _find_misplaced(place, ref, contract, body)
    accepted = ref if is_whole and not issues else ""
    return JudgedArtifact(
        artifact=Artifact(kind=kind, digest=name, body=body, contract_ref=accepted),
        ref=ref,
        contract=contract,
        about=subject_of(place, body)[1],
        issues=tuple(issues),
    )


def _violations(ref: str, schema: dict[str, Any], body: dict[str, Any]) -> list[Issue]:
    from handrail.workflows.contracts.check import find_violations

    return [
        Issue(
            contract_ref=ref,
            pointer=found.pointer or "/",
            message=shorten_message(found.message, ISSUE_BYTES),
        )
        for found in find_violations(schema, body)
    ]


def _find_misplaced(place: Place, ref: str, contract: Contract, body: dict[str, Any]) -> list[Issue]:
    """Return faults that a schema cannot find: whether a well-formed artifact matches its own rows and its
    place in the run.
    """
    kind = contract.artifact_kind
    match read_kind(kind, body):
        case str() as trouble:
            found = [("/", trouble)]
        case LoopDecision(loop_id=loop_id):
            found = _wrong_loop(place, loop_id)
        case ReportedGap(resolves_gap_id=gap_id):
            found = _unknown_gap(place, gap_id)
        case Judgement() as judgement:
            gate = gate_of(place.step, judgement.assessment_id)
            found = find_misfits(gate, judgement) if gate is not None else []
        case UserInput(answer=answer):
            found = _blank_user_input(answer)
        case _:
            found = find_contradictions(kind, body)
    return [
        Issue(contract_ref=ref, pointer=pointer, message=shorten_message(message, ISSUE_BYTES))
        for pointer, message in (*found, *find_inconsistent(contract, body))
    ]


def _blank_user_input(answer: Any) -> list[tuple[str, str]]:
    if not is_blank_answer(answer):
        return []
    why = _explain_blank(answer)
    return [("/answer", "is empty" if why == "empty" else f"{why}; send the words of the user")]


def _wrong_loop(place: Place, loop_id: str) -> list[tuple[str, str]]:
    around = [frame.loop_id for frame in place.frames]
    if loop_id in around:
        return []
    known = ", ".join(around) or "no loop"
    if loop_id:
        named = shorten_message(loop_id, 64)
        return [("/loopId", f"{named} is not a loop around this step; around it: {known}")]
    if len(open_loops(place.workflow, place.frames)) > 1:
        return [("/loopId", f"several loops are open, so the decision must name its own: {known}")]
    return []


def _unknown_gap(place: Place, named: str) -> list[tuple[str, str]]:
    if not named or place.gaps is None:
        return []
    if named in place.gaps.by_evidence:
        return [("/resolvesGapId", f"only evidence or a person resolves {named}, no sentence of yours")]
    if named in place.gaps.ids:
        return []
    known = ", ".join(place.gaps.ids[-MOST_GAPS_NAMED:]) or "none"
    return [("/resolvesGapId", f"no such gap was recorded on this branch; recorded here: {known}")]


def _mark_contradictions(found: list[JudgedArtifact]) -> list[JudgedArtifact]:
    """Return the artifacts; valid ones about one subject with different verdicts are all marked as faulty."""
    subjects: dict[tuple[str, str], list[Any]] = {}
    for held in found:
        if held.is_good and held.artifact.kind in VERDICTS:
            verdict = held.artifact.body.get(VERDICTS[held.artifact.kind])
            subjects.setdefault((held.artifact.kind, held.about), []).append(verdict)
    torn = {subject for subject, verdicts in subjects.items() if any(one != verdicts[0] for one in verdicts)}
    return [_mark_contradicted(held) if (held.artifact.kind, held.about) in torn else held for held in found]


def _mark_contradicted(held: JudgedArtifact) -> JudgedArtifact:
    if not held.is_good:
        return held
    member = VERDICTS[held.artifact.kind]
    message = f"the report says this twice, and differently{f', of {held.about}' if held.about else ''}"
    issue = Issue(contract_ref=held.ref, pointer=f"/{member}", message=shorten_message(message, ISSUE_BYTES))
    artifact = msgspec.structs.replace(held.artifact, contract_ref="")
    return msgspec.structs.replace(held, artifact=artifact, issues=(issue,))
