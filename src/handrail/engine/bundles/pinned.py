"""Whether the workflows of a bundle can be executed: complete, known, and within the limits of a step.
Pure.

Workflows compiled by Handrail follow these rules by construction; a bundle from elsewhere may contain
anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from handrail.contract.outcome import Json
from handrail.contract.wording import quote
from handrail.engine.bundles.document import malformed_fault, newer_version_fault, too_large_fault
from handrail.engine.bundles.limits import MOST_CONTRACT_PLACES
from handrail.workflows import limits
from handrail.workflows.compiled import (
    VERSIONS,
    Action,
    Choice,
    CompiledWorkflow,
    Delegate,
    Loop,
    Part,
    PatternRule,
    Step,
    list_leaves,
    list_required_contracts,
)
from handrail.workflows.compiling.shelf import find_contract_problems
from handrail.workflows.contracts.heavy_parts import (
    count_contract_places,
    find_heavy_contracts,
    find_heavy_parts,
)
from handrail.workflows.contracts.patterns import explain_pinned_refusal
from handrail.workflows.part_contents import conditions_of, walk_rules


def check_workflows(pinned: Mapping[str, Json]) -> dict[str, CompiledWorkflow]:
    """Return the workflows by hash.

    Raise Fault BUNDLE_UNSUPPORTED_VERSION, BUNDLE_INVALID_FORMAT or BUNDLE_TOO_LARGE if one cannot be
    executed.
    """
    checked = {}
    places = 0
    for workflow_hash in sorted(pinned):
        workflow = _decoded(workflow_hash, pinned[workflow_hash])
        places += count_contract_places(workflow)
        if places > MOST_CONTRACT_PLACES:
            raise too_large_fault("places in the schemas of its contracts", places, MOST_CONTRACT_PLACES)
        _check(workflow_hash, workflow)
        checked[workflow_hash] = workflow
    return checked


def _decoded(workflow_hash: str, plain: Json) -> CompiledWorkflow:
    path = f"session/pinnedWorkflows/{workflow_hash}"
    if plain.get("v") not in VERSIONS:
        message = "A pinned workflow was compiled by a version that is not known here."
        raise newer_version_fault(message, path, found=str(plain.get("v")), supported=max(VERSIONS))
    try:
        return msgspec.convert(plain, CompiledWorkflow)
    except msgspec.ValidationError as error:
        raise malformed_fault(f"A pinned workflow has another shape: {error}"[:512], path) from error


def _check(workflow_hash: str, workflow: CompiledWorkflow) -> None:
    problem = next(_problems(workflow), "")
    if problem:
        path = f"session/pinnedWorkflows/{workflow_hash}"
        raise malformed_fault(f"A pinned workflow cannot be executed: {problem}"[:512], path)


def _problems(workflow: CompiledWorkflow) -> Iterator[str]:
    """Yield the problems of a workflow. The caller stops at the first one."""
    for heavy in find_heavy_contracts(workflow):
        yield heavy.message
    yield from _broken_contracts(workflow)
    yield from _misplaced(workflow)
    yield from _slow_rules(workflow.steps)
    for heavy in find_heavy_parts(workflow):
        yield heavy.message


def _misplaced(workflow: CompiledWorkflow) -> Iterator[str]:
    ids: set[str] = set()
    waiting: list[tuple[Part, int]] = [(part, 0) for part in workflow.steps]
    if not waiting:
        yield "it has no steps"
    while waiting:
        part, depth = waiting.pop()
        if part.id in ids:
            yield "an id is used twice"
        ids.add(part.id)
        if len(ids) > limits.MAX_PARTS:
            yield "it has too many steps"
        yield from _dangling(workflow, part)
        if isinstance(part, Loop):
            yield from _endless(part, depth)
            waiting += [(inner, depth + 1) for inner in part.body]


def _broken_contracts(workflow: CompiledWorkflow) -> Iterator[str]:
    """Yield the problems of contracts. They are checked like contract files, because they decide what a run
    accepts and what that costs.
    """
    if len(workflow.contracts) > limits.MAX_PARTS:
        yield "it has too many contracts"
        return
    for contract_id, contract in sorted(workflow.contracts.items()):
        if len(contract.guidance) > limits.MAX_DESCRIPTION_CHARACTERS:
            yield f"the guidance of the contract {quote(contract_id)} is too long"
        for problem in find_contract_problems(contract)[:1]:
            yield f"the contract {quote(contract_id)} is broken. {problem.message}"


def _dangling(workflow: CompiledWorkflow, part: Part) -> Iterator[str]:
    """Yield the names in a part that refer to nothing."""
    match part:
        case Step():
            if part.contract and part.contract not in workflow.contracts:
                yield "a step names a contract that is not there"
            if not set(list_required_contracts(part)) <= set(workflow.contracts):
                yield "a step requires a contract that is not there"
            if not set(part.functions) <= set(workflow.functions):
                yield "a step names a function that is not there"
        case Choice(options=options):
            if not options or len({option.id for option in options}) != len(options):
                yield "a choice has no options, or two with one id"
        case Delegate(children=children):
            if not children or len({child.id for child in children}) != len(children):
                yield "a step delegates nothing, or two children with one id"
            if len(children) > limits.MAX_CHILDREN or (part.for_each and len(children) > 1):
                yield "a step delegates too much"
        case Loop() | Action():
            pass
    if not set(conditions_of(part)) <= set(workflow.conditions):
        yield "a condition is named that is not there"


def _endless(loop: Loop, depth: int) -> Iterator[str]:
    if not 1 <= loop.max_iterations <= limits.MAX_ITERATIONS:
        yield "a loop may run too often"
    if depth >= limits.MAX_LOOP_DEPTH:
        yield "loops are nested too deep"
    if not loop.body:
        yield "a loop is empty"


def _slow_rules(parts: tuple[Part, ...]) -> Iterator[str]:
    """Yield the patterns that are too slow. A bundle of an older version may have look-around: it was
    pinned, so only the slow patterns are refused.
    """
    steps = (leaf for leaf in list_leaves(parts) if isinstance(leaf, Step))
    for rule in (rule for step in steps for rule in walk_rules(step.rules)):
        if isinstance(rule, PatternRule) and explain_pinned_refusal(rule.pattern, rule.flags):
            yield "a rule has a pattern that is refused"
