"""A project's own contract: one JSON file with a schema, embedded into every workflow that names it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from handrail.contract.outcome import Fault, Json
from handrail.contract.strict_json import decode_json
from handrail.contract.suggest import nearest
from handrail.workflows.compiled import Contract
from handrail.workflows.contract_check import allowed_schema, violations
from handrail.workflows.limits import MAX_CONTRACT_SCHEMA_BYTES, MAX_DESCRIPTION_CHARACTERS
from handrail.workflows.places import with_places
from handrail.workflows.problem import Problem
from handrail.workflows.reading.findings import child, shown

MAX_CONTRACT_BYTES = 4 * MAX_CONTRACT_SCHEMA_BYTES
_ID = re.compile(r"(?!wr\.)[a-z][a-z0-9_-]*\.contracts\.[a-z][a-z0-9_-]*")
_KIND = re.compile(r"(?!wr\.)[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*")
_KEYS: dict[str, tuple[type, str]] = {
    **dict.fromkeys(("id", "artifactKind", "guidance", "description", "$schema"), (str, "a text")),
    **dict.fromkeys(("schema", "example"), (dict, "an object")),
}
_PLAIN_GUIDANCE = "Deliver this artifact; every member means what its name says."


class ReadContract(msgspec.Struct, frozen=True, kw_only=True):
    """There is no contract where there is a problem."""

    id: str
    contract: Contract | None = None
    problems: tuple[Problem, ...] = ()


def read_contract(content: bytes, file_name: str) -> ReadContract:
    """Decode and check the shape of one contract file; its id is the file's name unless it says another."""
    stem = file_name.rsplit("/", 1)[-1].removesuffix(".json")
    try:
        document = decode_json(content, max_bytes=MAX_CONTRACT_BYTES)
    except Fault as fault:
        fix = "Write one JSON object in UTF-8."
        problem = Problem(code="unreadable", message=fault.message, pointer="", fix=fix)
        return ReadContract(id=stem, problems=(problem,))
    if not isinstance(document, dict):
        fix = "Write an object with a schema."
        problem = Problem(code="not_an_object", message="The file is not an object.", pointer="", fix=fix)
        return ReadContract(id=stem, problems=(problem,))
    named = document.get("id", stem)
    contract_id = named if isinstance(named, str) else stem
    problems = tuple(_problems(document, contract_id))
    if problems:
        return ReadContract(id=contract_id, problems=with_places(content.decode(), problems))
    return ReadContract(id=contract_id, contract=_contract(document, contract_id))


def contract_trouble(contract: Contract) -> list[tuple[str, str]]:
    """Why a well-formed contract cannot be used, each reason with its fix. Looks into the schema."""
    troubles = [(trouble.message, trouble.fix) for trouble in allowed_schema(contract.schema)]
    if troubles:
        return troubles
    is_closed = contract.schema.get("additionalProperties") is False
    if is_closed and "kind" not in contract.schema.get("properties", {}):
        fix = f'Add "kind": {{"const": "{contract.artifact_kind}"}} to its properties.'
        return [("Its schema does not allow the kind that every artifact has.", fix)]
    wrong = violations(contract.schema, contract.example) if contract.example else []
    return [
        (f"Its example is wrong at {one.pointer or 'its root'}: {one.message}", "Correct the example.")
        for one in wrong
    ]


def _problems(document: dict[str, Json], contract_id: str) -> Iterator[Problem]:
    for name, value in document.items():
        if name not in _KEYS:
            near = nearest(name, _KEYS)
            fix = f"Did you mean {' or '.join(near)}?" if near else "Remove it."
            message = f"{shown(name)} is not known here."
            yield Problem(code="unknown_key", message=message, pointer=child("", name), fix=fix)
        elif not isinstance(value, _KEYS[name][0]):
            words = _KEYS[name][1]
            message = f"{shown(name)} is not {words}."
            yield Problem(code="wrong_type", message=message, pointer=child("", name), fix=f"Write {words}.")
    if "schema" not in document:
        fix = 'Add "schema": a JSON Schema of an object.'
        yield Problem(code="missing_key", message="schema is missing.", pointer="", fix=fix)
    if not _ID.fullmatch(contract_id):
        message = f"{shown(contract_id)} cannot be the id of a contract."
        fix = "Name it <namespace>.contracts.<name>, such as project.contracts.api_change; wr. is reserved."
        yield Problem(code="bad_id", message=message, pointer="/id", fix=fix)
    kind = document.get("artifactKind", "project.any")
    if isinstance(kind, str) and not _KIND.fullmatch(kind):
        message = f"{shown(kind)} cannot be the kind of an artifact."
        fix = "Write <namespace>.<name>, such as project.api_change; wr. is reserved."
        yield Problem(code="bad_id", message=message, pointer="/artifactKind", fix=fix)
    guidance = document.get("guidance", "")
    if isinstance(guidance, str) and len(guidance) > MAX_DESCRIPTION_CHARACTERS:
        fix = f"Write at most {MAX_DESCRIPTION_CHARACTERS} characters."
        message = "guidance is too long for a prompt."
        yield Problem(code="too_large", message=message, pointer="/guidance", fix=fix)


def _contract(document: dict[str, Json], contract_id: str) -> Contract:
    kind: str = document.get("artifactKind", contract_id.replace(".contracts.", "."))
    example = document.get("example", {})
    guidance: str = document.get("guidance") or document.get("description") or _PLAIN_GUIDANCE
    return Contract(
        artifact_kind=kind,
        schema=document["schema"],
        example={"kind": kind, **example} if example else {},
        guidance=guidance,
    )
