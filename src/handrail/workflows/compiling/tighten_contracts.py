"""A contract with what an overlay demands on top: it can only ask for more. Pure."""

from __future__ import annotations

import msgspec

from handrail.contract.outcome import Json
from handrail.workflows.compiled import Contract, Schema, resolve_ref
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.contracts.check import find_violations, make_example
from handrail.workflows.contracts.evidence_rules import read_evidence
from handrail.workflows.evidence import Consistent, Demand, Evidence
from handrail.workflows.model import TightenedContract
from handrail.workflows.reading.findings import guess_name, quote_name

_STRENGTH: dict[Demand, int] = {"shown": 0, "where_possible": 1, "required": 2}


def tighten(contract: Contract, change: TightenedContract, trail: Trail) -> Contract:
    """The contract that a run of the overlay holds reports against."""
    schema: Schema = msgspec.json.decode(msgspec.json.encode(contract.schema))
    for place, member in enumerate(change.required):
        _require(schema, member, f"{change.pointer}/required/{place}", trail)
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
    if contract.example and find_violations(schema, contract.example):
        return msgspec.structs.replace(made, example=make_example(made))
    return made


def _raise_demand(rule: Evidence, least: Demand) -> Evidence:
    if isinstance(rule, Consistent) or _STRENGTH[rule.demand] >= _STRENGTH[least]:
        return rule
    return msgspec.structs.replace(rule, demand=least)


def _require(schema: Schema, member: str, pointer: str, trail: Trail) -> None:
    """Make a member required where it stands; a place such as /findings/*/line goes into lists."""
    *folders, name = member.removeprefix("/").split("/")
    here: Json = schema
    for folder in folders:
        inside = here.get("items") if folder == "*" else _members(here).get(folder)
        if not isinstance(inside, dict):
            _unknown(folder, here, pointer, trail)
            return
        here = resolve_ref(inside, schema)
    if name not in _members(here):
        _unknown(name, here, pointer, trail)
    elif name in here.get("required", []):
        message = f"{quote_name(member)} is required already, so nothing is tightened."
        trail.report("bad_value", pointer, message, "Leave it out.")
    else:
        here["required"] = [*here.get("required", []), name]


def _members(schema: Schema) -> Schema:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _unknown(name: str, schema: Schema, pointer: str, trail: Trail) -> None:
    members = list(_members(schema))
    near = guess_name(name, members)
    fix = f"Did you mean {near}?" if near else f"Name a member of the contract: {', '.join(members)}."
    trail.report("unknown_id", pointer, f"The contract knows nothing at {quote_name(name)}.", fix)
