"""Things that a source names and another place provides: contracts, refs, functions; contract files. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Fault, Json
from handrail.workflows.builtins.contracts import CONTRACTS
from handrail.workflows.builtins.prompt_texts import REFS
from handrail.workflows.builtins.templates import find_contract, find_ref
from handrail.workflows.compiled import Contract, Schema, resolve_ref
from handrail.workflows.compiling.compilation import Surroundings, report_unknown
from handrail.workflows.contracts.check import Violation, check_contract_schema, find_violations
from handrail.workflows.contracts.schema_subset import read_evidence
from handrail.workflows.evidence import Consistent, Demand, Evidence
from handrail.workflows.limits import MAX_CONTRACT_SCHEMA_BYTES, MAX_DESCRIPTION_CHARACTERS
from handrail.workflows.model import RefPart, SourceWorkflow, TightenedContract
from handrail.workflows.problem import (
    NO_EDIT,
    Findings,
    Problem,
    add_value,
    guess_name,
    guess_surely,
    make_problem,
    quote_name,
    remove_value,
    rename_key,
    replace_value,
)
from handrail.workflows.problem_places import add_places, suggest_repair

# A project's own contract: one JSON file with a schema, embedded into every workflow that names it

MAX_CONTRACT_BYTES = 4 * MAX_CONTRACT_SCHEMA_BYTES
_ID = re.compile(r"(?!wr\.)[a-z][a-z0-9_-]*\.contracts\.[a-z][a-z0-9_-]*")
_KIND = re.compile(r"(?!wr\.)[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*")
_KEYS: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("id", "artifactKind", "guidance", "description", "$schema"), (str, "a text")),
    **dict.fromkeys(("schema", "example"), (dict, "an object")),
    "evidence": (list, "a list of rules"),
}
_PLAIN_GUIDANCE = "Deliver this artifact; every member means what its name says."


class ReadContract(msgspec.Struct, frozen=True, kw_only=True):
    """The result of reading a contract file; without a contract if one of the problems is an error."""

    id: str
    contract: Contract | None = None
    problems: tuple[Problem, ...] = ()


def read_contract(content: bytes, file_name: str) -> ReadContract:
    """Decode and check the shape of one contract file; its id is the file's name unless it states another."""
    stem = file_name.rsplit("/", 1)[-1].removesuffix(".json")
    try:
        document = decode_json(content, max_bytes=MAX_CONTRACT_BYTES)
    except Fault as fault:
        return ReadContract(id=stem, problems=(_unreadable(fault, content),))
    if not isinstance(document, dict):
        fix = "Write an object with a schema."
        problem = make_problem("not_an_object", "", "The file is not an object.", fix)
        return ReadContract(id=stem, problems=(problem,))
    if "steps" in document and "schema" not in document:
        fix = "Put the file into .handrail/workflows of the project."
        message = "This is a workflow and not a contract: it has steps and no schema."
        problem = make_problem("bad_source", "", message, fix)
        return ReadContract(id=stem, problems=add_places(content, [problem]))
    named = document.get("id", stem)
    contract_id = named if isinstance(named, str) else stem
    problems = tuple(_problems(document, contract_id))
    if problems:
        beside = tuple(_schema_problems(document))
        return ReadContract(id=contract_id, problems=add_places(content, (*problems, *beside)))
    return ReadContract(id=contract_id, contract=_contract(document, contract_id))


def _schema_problems(document: dict[str, Json]) -> Iterator[Problem]:
    """Yield problems of schema and example even if there are others, so that the author gets them all at
    once.
    """
    schema, example = document.get("schema"), document.get("example")
    if not isinstance(schema, dict):
        return
    troubles = check_contract_schema(schema)
    yield from map(_schema_problem, troubles)
    if isinstance(example, dict) and not troubles:
        wrong = find_violations(schema, example)
        yield from (_example_problem(one) for one in wrong if one.pointer != "/kind")


def is_contract(document: Json) -> bool:
    """Whether a document is meant as a contract, wherever the file is."""
    return isinstance(document, dict) and isinstance(document.get("schema"), dict) and "steps" not in document


def find_contract_problems(contract: Contract) -> list[Problem]:
    """Return why a well-formed contract cannot be used, each reason with its place in the contract's file."""
    troubles = [_schema_problem(trouble) for trouble in check_contract_schema(contract.schema)]
    if troubles:
        return troubles
    is_closed = contract.schema.get("additionalProperties") is False
    if is_closed and "kind" not in contract.schema.get("properties", {}):
        kind = {"const": contract.artifact_kind}
        message = "Its schema does not allow the kind that every artifact has."
        fix = f'Add "kind": {{"const": "{contract.artifact_kind}"}} to its properties.'
        edit = add_value("/schema/properties/kind", kind)
        return [make_problem("broken_contract", "/schema", message, fix, edit)]
    of_kind = _kind_trouble(contract)
    if of_kind is not None:
        return [of_kind]
    wrong = find_violations(contract.schema, contract.example) if contract.example else []
    misspelt = {f"{one.pointer.rpartition('/')[0]}/{one.meant}" for one in wrong if one.meant}
    # A misspelt member is not also reported as missing.
    return [_example_problem(one) for one in wrong if one.rule != "required" or one.pointer not in misspelt]


def _kind_trouble(contract: Contract) -> Problem | None:
    """Return what is wrong unless schema and example allow the one kind that all its artifacts have."""
    kind, declared = contract.artifact_kind, contract.schema.get("properties", {}).get("kind")
    own = {"type": "object", "properties": {"kind": declared}, "$defs": contract.schema.get("$defs", {})}
    if declared is not None and find_violations(own, {"kind": kind}):
        message = f"Its schema does not allow the kind {kind} that every artifact of it has."
        fix = f'Write {{"const": "{kind}"}}, or name the kind that is meant under artifactKind.'
        return make_problem("broken_contract", "/schema/properties/kind", message, fix)
    if contract.example and contract.example.get("kind") != kind:
        message = f"Its example is of another kind; an artifact of this contract is a {kind}."
        fix = f"Write {kind} there, or name the kind that is meant under artifactKind."
        is_same = bool(guess_surely(str(contract.example.get("kind")), [kind]))
        edit = replace_value("/example/kind", kind) if is_same else NO_EDIT
        return make_problem("broken_contract", "/example/kind", message, fix, edit)
    return None


def _schema_problem(found: Problem) -> Problem:
    """Return a problem of a schema at its place in the contract's file."""
    edit = tuple(
        msgspec.structs.replace(
            one, path=f"/schema{one.path}", source=f"/schema{one.source}" if one.source else ""
        )
        for one in found.edit
    )
    return msgspec.structs.replace(found, pointer=f"/schema{found.pointer}", edit=edit)


def _example_problem(wrong: Violation) -> Problem:
    """Return the problem of an example that its own schema rejects; agents copy examples."""
    message = f"Its example is wrong at {wrong.pointer or 'its root'}: {wrong.message}"
    pointer, edit = f"/example{wrong.pointer}", NO_EDIT
    if wrong.pointer == "/kind":
        edit = remove_value(pointer)
    elif wrong.rule == "additionalProperties" and wrong.meant:
        edit = rename_key(pointer, wrong.meant)
    fix = f"Write it as {wrong.meant}." if wrong.meant else "Correct the example, or the schema."
    return make_problem("broken_contract", pointer, message, fix, edit)


def _unreadable(fault: Fault, content: bytes) -> Problem:
    fix, edit = suggest_repair(content)
    return Problem(
        code="unreadable",
        message=fault.message,
        pointer="",
        fix=fix or "Write one JSON object in UTF-8.",
        line=fault.details.get("line", 1),
        column=fault.details.get("column", 1),
        edit=edit,
    )


def _problems(document: dict[str, Json], contract_id: str) -> Iterator[Problem]:
    # An edit is offered only if it cannot change what was meant: an unused spelling of a known key. A near
    # name is a question, and a key that is there already is left to the author.
    for name, value in document.items():
        if name not in _KEYS:
            sure, place = _key_meant(name, document), join_pointer("", name)
            near = sure or guess_name(name, set(_KEYS) - set(document))
            there = "" if near else guess_name(name, [one for one in _KEYS if one in document])
            fix = f"Did you mean {near}?" if near else f"Remove it; known keys: {', '.join(_KEYS)}."
            if there:
                fix = f"{there} is already there: keep the value that you mean under {there}."
            edit = rename_key(place, sure) if sure else NO_EDIT
            message = f"{quote_name(name)} is not known here."
            yield make_problem("unknown_key", place, message, fix, edit)
        elif not isinstance(value, _KEYS[name][0]):
            words, place = _KEYS[name][1], join_pointer("", name)
            message = f"{quote_name(name)} is not {words}."
            yield make_problem("wrong_type", place, message, f"Write {words}.")
    unknown = [name for name in document if name not in _KEYS]
    if "schema" not in document and not any(_key_meant(name, document) == "schema" for name in unknown):
        fix = 'Add "schema": a JSON Schema of an object.'
        yield make_problem("missing_key", "", "schema is missing.", fix)
    if not document.get("example") and not any(_key_meant(name, document) == "example" for name in unknown):
        fix = 'Add "example": an artifact that fits the schema. Agents copy it.'
        yield make_problem("missing_key", "", "example is missing.", fix)
    if not _ID.fullmatch(contract_id):
        message = f"{quote_name(contract_id)} cannot be the id of a contract."
        fix = "Name it <namespace>.contracts.<name>, such as project.contracts.api_change; wr. is reserved."
        own = _id_meant(contract_id) if "id" in document else ""
        edit = replace_value("/id", own) if own else NO_EDIT
        fix = f"Name it {own}." if own else fix
        yield make_problem("bad_id", "/id", message, fix, edit)
    kind = document.get("artifactKind", "project.any")
    if isinstance(kind, str) and not _KIND.fullmatch(kind):
        message = f"{quote_name(kind)} cannot be the kind of an artifact."
        fix = "Write <namespace>.<name>, such as project.api_change; wr. is reserved."
        yield make_problem("bad_id", "/artifactKind", message, fix)
    guidance = document.get("guidance", "")
    if isinstance(guidance, str) and len(guidance) > MAX_DESCRIPTION_CHARACTERS:
        fix = f"Write at most {MAX_DESCRIPTION_CHARACTERS} characters."
        message = "guidance is too long for a prompt."
        yield make_problem("too_large", "/guidance", message, fix)
    schema, evidence = document.get("schema"), document.get("evidence")
    if isinstance(schema, dict) and isinstance(evidence, list):
        yield from read_evidence(evidence, schema).problems


_OTHER_KEYS = {"jsonSchema": "schema", "kind": "artifactKind", "sample": "example", "title": "description"}


def _key_meant(name: str, document: dict[str, Json]) -> str:
    """Return the key that was meant by an unknown one; never one that is already there."""
    other = _OTHER_KEYS.get(name, "")
    return other if other and other not in document else guess_surely(name, set(_KEYS) - set(document))


def _id_meant(text: str) -> str:
    """Return the id in the form of contract ids, with `project.` and `contracts.` added if they are
    missing.
    """
    parts = [re.sub("[^a-z0-9_-]+", "_", one.strip().lower()).strip("_") for one in text.split(".")]
    if len(parts) == 2 and parts[0] != "contracts":
        parts = [parts[0], "contracts", parts[1]]
    elif len(parts) < 3:
        parts = ["project", "contracts", parts[-1]]
    if parts[0] == "wr":
        parts[0] = "project"
    made = ".".join(parts)
    return made if _ID.fullmatch(made) else ""


def _contract(document: dict[str, Json], contract_id: str) -> Contract:
    kind: str = document.get("artifactKind", contract_id.replace(".contracts.", "."))
    example: dict[str, Json] = document["example"]
    guidance: str = document.get(guidance_key(document), "") or _PLAIN_GUIDANCE
    return Contract(
        artifact_kind=kind,
        schema=document["schema"],
        example={"kind": kind, **example},
        guidance=guidance,
        evidence=read_evidence(document.get("evidence", []), document["schema"]).rules,
    )


def guidance_key(document: dict[str, Json]) -> str:
    """Return the key of the text that an agent reads."""
    return "guidance" if document.get("guidance") else "description"


# The shelf


class Shelf:
    """Finds named things; what was found is embedded, so that pinning covers it."""

    def __init__(self, around: Surroundings, source: SourceWorkflow, trail: Findings) -> None:
        self._own = around.contracts
        self._broken = around.broken_contracts
        self._functions = source.functions
        self._tightened = {} if source.overlay is None else source.overlay.contracts
        self._trail = trail
        self._used: dict[str, Contract] = {}

    def contract(self, contract_id: str, pointer: str) -> Contract | None:
        """Return the contract and embed it; None if there is none, which is reported."""
        if contract_id in self._used:
            return self._used[contract_id]
        builtin = find_contract(contract_id)
        if builtin is not None:
            found = builtin.compiled()
        elif contract_id in self._own:
            found = self._checked(contract_id, self._own[contract_id], pointer)
        elif self._why_broken(contract_id):
            message = f"{contract_id} cannot be used: {self._why_broken(contract_id)}"
            self._trail.report("broken_contract", pointer, message, "Correct the file of the contract.")
            return None
        else:
            known = [contract.id for contract in CONTRACTS] + list(self._own)
            report_unknown(
                self._trail, "contract", contract_id, known, pointer, "The step asks for notes only."
            )
            return None
        if contract_id in self._tightened:
            found = tighten(found, self._tightened[contract_id], self._trail)
        self._used[contract_id] = found
        return found

    def contract_of_kind(self, kind: str, pointer: str) -> str:
        """Return the id of the contract of an artifact kind, and embed it; empty if there is none."""
        own = {name: contract.artifact_kind for name, contract in (self._used | self._own).items()}
        kinds = {**{one.id: one.artifact_kind for one in CONTRACTS}, **own}
        found = next((name for name, held in kinds.items() if held == kind), "")
        if not found:
            stand_in = "The step does not ask for it."
            report_unknown(self._trail, "artifact kind", kind, set(kinds.values()), pointer, stand_in)
        return found if found and self.contract(found, pointer) is not None else ""

    def report_untightened(self, inside: Set[str]) -> None:
        """Report a tightened contract that no step delivers, here or `inside` a child, because it
        is misspelt.
        """
        known = self._used.keys() | inside
        for name, change in self._tightened.items():
            if name not in known:
                stand_in = "Nothing is tightened."
                report_unknown(
                    self._trail, "contract of the base", name, sorted(known), change.pointer, stand_in
                )

    def _why_broken(self, contract_id: str) -> str:
        """Return why the named file is broken; a file that cannot be read has no id but its name."""
        return self._broken.get(contract_id, "") or self._broken.get(contract_id.rpartition(".")[2], "")

    def used_contracts(self) -> dict[str, Contract]:
        return dict(sorted(self._used.items()))

    def ref_text(self, part: RefPart) -> str:
        ref = find_ref(part.ref_id)
        if ref is None:
            known = [ref.id for ref in REFS]
            place = f"{part.pointer}/refId"
            report_unknown(self._trail, "ref", part.ref_id, known, place, "It is left out of the prompt.")
            return ""
        return ref.text

    def function_names(self, names: tuple[str, ...], pointer: str) -> tuple[str, ...]:
        """Return the functions that exist, in the order in which the step names them, each once."""
        for place, name in enumerate(names):
            if name not in self._functions:
                here = f"{pointer}/{place}"
                report_unknown(self._trail, "function", name, self._functions, here, "It is left out.")
        return tuple(dict.fromkeys(name for name in names if name in self._functions))

    def _checked(self, contract_id: str, contract: Contract, pointer: str) -> Contract:
        """Return a project's contract; its problems are reported at the place that names it."""
        for trouble in find_contract_problems(contract):
            message = f"{contract_id} cannot be used: {trouble.message}"
            self._trail.report("broken_contract", pointer, message, trouble.fix)
        return contract


# A contract with what a customisation demands on top: it can only ask for more.


_STRENGTH: dict[Demand, int] = {"shown": 0, "where_possible": 1, "required": 2}


def tighten(contract: Contract, change: TightenedContract, trail: Findings) -> Contract:
    """Return the stricter contract for runs of the customisation."""
    schema: Schema = msgspec.json.decode(msgspec.json.encode(contract.schema))
    example: dict[str, Json] = msgspec.json.decode(msgspec.json.encode(contract.example))
    for place, member in enumerate(change.required):
        if _require(schema, member, f"{change.pointer}/required/{place}", trail):
            _show(example, schema, schema, member.removeprefix("/").split("/"))
    evidence = contract.evidence
    if change.demand is not None:
        evidence = tuple(_raise_demand(rule, change.demand) for rule in evidence)
        if evidence == contract.evidence:
            message = f"No rule of evidence demands less than {change.demand}, so nothing is tightened."
            trail.report(
                "bad_value", f"{change.pointer}/demand", message, "Leave it out, or write a higher one."
            )
    if change.evidence:
        read = read_evidence(list(change.evidence), schema)
        for problem in read.problems:
            trail.report(problem.code, change.pointer + problem.pointer, problem.message, problem.fix)
        evidence = (*evidence, *(rule for rule in read.rules if rule not in evidence))
    made = msgspec.structs.replace(contract, schema=schema, evidence=evidence)
    return msgspec.structs.replace(made, example={} if find_violations(schema, example) else example)


def _raise_demand(rule: Evidence, least: Demand) -> Evidence:
    if isinstance(rule, Consistent) or _STRENGTH[rule.demand] >= _STRENGTH[least]:
        return rule
    return msgspec.structs.replace(rule, demand=least)


def _require(schema: Schema, member: str, pointer: str, trail: Findings) -> bool:
    """Make a member required; a place such as /findings/*/line goes into lists."""
    *folders, name = member.removeprefix("/").split("/")
    here: Json = schema
    for folder in folders:
        inside = here.get("items") if folder == "*" else _members(here).get(folder)
        if not isinstance(inside, dict):
            _unknown(folder, here, pointer, trail)
            return False
        here = resolve_ref(inside, schema)
    if name not in _members(here):
        _unknown(name, here, pointer, trail)
        return False
    if name in here.get("required", []):
        message = f"{quote_name(member)} is required already, so nothing is tightened."
        trail.report("bad_value", pointer, message, "Leave it out.")
        return False
    here["required"] = [*here.get("required", []), name]
    return True


def _show(example: Json, schema: Json, root: Schema, way: list[str]) -> None:
    """Give an example that lacks a required member a value of its type."""
    (name, *rest), schema = way, resolve_ref(schema, root)
    if name == "*" and isinstance(example, list):
        for row in example:
            _show(row, schema["items"], root, rest)
    elif isinstance(example, dict) and rest:
        _show(example.get(name), _members(schema)[name], root, rest)
    elif isinstance(example, dict) and name not in example:
        declared = resolve_ref(_members(schema)[name], root)
        example[name] = next(iter(declared.get("enum", ())), _PLAIN_VALUES.get(declared.get("type"), "text"))


_PLAIN_VALUES: dict[Json, Json] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def _members(schema: Schema) -> Schema:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _unknown(name: str, schema: Schema, pointer: str, trail: Findings) -> None:
    members = list(_members(schema))
    near = guess_name(name, members)
    fix = f"Did you mean {near}?" if near else f"Name a member of the contract: {', '.join(members)}."
    trail.report("unknown_id", pointer, f"The contract knows nothing at {quote_name(name)}.", fix)
