"""Compile the work that a step delegates together with its workflow. Pure.

A child is a workflow of its own: the compiled step has its id and its hash, so nothing is resolved
when a run arrives there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.json.places import join_pointer
from handrail.contract.wording import shorten
from handrail.workflows.compiled import Child, InputSpec, Pinned
from handrail.workflows.compiling.compilation import report_unknown
from handrail.workflows.limits import (
    MAX_BRIEF_TOKENS,
    MAX_CHILD_DEPTH,
    MAX_CHILDREN,
    MAX_RUN_CHILDREN,
    MAX_WORKFLOW_ID_CHARACTERS,
)
from handrail.workflows.model import (
    SourceChild,
    SourceDelegate,
    SourcePart,
    SourceWorkflow,
    names_set_by,
    walk_source,
)
from handrail.workflows.problem import Findings

if TYPE_CHECKING:
    from handrail.workflows.compiling.compilation import Compilation, Surroundings

_TRY = re.compile(r"(.+)-[2-9]")
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_LONGEST_BRIEF = 160
"""Characters of a child's goal, so that a brief with inputs and call stays within its tokens."""

CompileChild = Callable[[SourceWorkflow], "Compilation"]


class ChildCompiler:
    """Compiles the children of one workflow, and collects what their parent must be pinned with."""

    def __init__(
        self,
        source: SourceWorkflow,
        around: Surroundings,
        trail: Findings,
        above: tuple[str, ...],
        compile_child: CompileChild,
    ) -> None:
        self._source = source
        self._workflows, self._ids = around.workflows, around.workflow_ids
        self._trail = trail
        self._above = (*above, source.id)
        self._compile = compile_child
        self.pins: dict[str, Pinned] = {}
        self.inline: list[tuple[SourceWorkflow, Compilation]] = []
        """Workflows written inside this one, for callers that check them further."""

    @property
    def is_outermost(self) -> bool:
        """Whether no other workflow delegates this one."""
        return len(self._above) == 1

    def contracts_inside(self) -> set[str]:
        """What the steps of inline children deliver, at every depth."""
        own = f"{self._source.id}--"
        held = (one.workflow for one in self.pins.values())
        return {name for one in held if one.id.startswith(own) for name in one.contracts}

    def compile(self, step: SourceDelegate, child: SourceChild, when: str) -> Child | None:
        """Return the child as its step stores it; None if it cannot be used, which is reported."""
        if len(self._above) > MAX_CHILD_DEPTH:
            message = f"Work is delegated more than {MAX_CHILD_DEPTH} levels deep here."
            self._trail.report("too_large", child.pointer, message, "Give this work to a step of its own.")
            return None
        if (estimate_tokens(child.brief) or 0) > MAX_BRIEF_TOKENS:
            message = f"The brief of {child.id} has more than {MAX_BRIEF_TOKENS} tokens."
            fix = "Write one sentence; the steps say the rest."
            self._trail.report("too_large", f"{child.pointer}/brief", message, fix)
        found = self._named(child) if child.workflow else self._written(step, child)
        if found is None:
            return None
        pinned, passed = found
        for one in (pinned, *pinned.children):
            self.pins.setdefault(one.workflow_hash, msgspec.structs.replace(one, children=()))
        inputs = {**passed, **({step.item: f"{{{{{step.item}}}}}"} if step.item else {}), **child.inputs}
        self._check_inputs(child, pinned, set(inputs))
        return Child(
            id=child.id,
            workflow_id=pinned.workflow.id,
            workflow_hash=pinned.workflow_hash,
            inputs=dict(sorted(inputs.items())),
            brief=_make_brief(child, pinned),
            when=when,
        )

    def _named(self, child: SourceChild) -> tuple[Pinned, dict[str, str]] | None:
        place = f"{child.pointer}/workflow"
        if child.workflow in self._above:
            way = " > ".join((*self._above[self._above.index(child.workflow) :], child.workflow))
            message = f"The workflow hands itself out: {way}."
            self._trail.report("template_cycle", place, message, "Remove one of these steps.")
            return None
        source = self._workflows.get(child.workflow)
        if source is None:
            report_unknown(self._trail, "workflow", child.workflow, self._ids, place, "It is left out.")
            return None
        made = self._compile(source)
        if made.pinned is None:
            errors = [problem for problem in made.problems if problem.severity == "error"]
            message = f"{child.workflow} cannot be used: {errors[0].message}"
            self._trail.report("bad_source", place, message, "Correct that workflow.")
            return None
        return made.pinned, {}

    def _written(self, step: SourceDelegate, child: SourceChild) -> tuple[Pinned, dict[str, str]] | None:
        """Return the steps of an inline child as a workflow, which gets the values of the run that
        it names.
        """
        workflow_id = f"{self._source.id}--{step.id}--{child.id}"
        if len(workflow_id) > MAX_WORKFLOW_ID_CHARACTERS:
            message = f"{workflow_id} is too long for an id: {MAX_WORKFLOW_ID_CHARACTERS} characters at most."
            self._trail.report("too_large", child.pointer, message, "Write shorter ids.")
            return None
        own = {name: InputSpec() for name in (*child.inputs, *([step.item] if step.item else []))}
        title = child.title or f"{step.title}: {child.id}"
        source = msgspec.structs.replace(
            self._source,
            id=workflow_id,
            kind="workflow",
            name=title,
            description=child.brief or title,
            inputs=own,
            capabilities={},
            preconditions=(),
            questions=(),
            steps=child.steps,
            slots=(),
        )
        used = self._compile(source)
        passed: dict[str, str] = {}
        if used.pinned is not None:
            known = {**dict.fromkeys(names_set_by(self._source.steps), InputSpec()), **self._source.inputs}
            implicit = [name for name, spec in used.pinned.workflow.inputs.items() if spec.implicit]
            shared = {name: _as_passed(known[name]) for name in implicit if name in known}
            passed = {name: f"{{{{{name}}}}}" for name in shared}
            source = msgspec.structs.replace(source, inputs={**own, **shared})
            used = self._compile(source) if shared else used
        for problem in used.problems:
            self._trail.add(problem)
        self.inline.append((source, used))
        return None if used.pinned is None else (used.pinned, passed)

    def _check_inputs(self, child: SourceChild, pinned: Pinned, given: set[str]) -> None:
        place = f"{child.pointer}/inputs"
        declared = pinned.workflow.inputs
        for name in sorted(given - set(declared)):
            if child.workflow and name in child.inputs:
                where = join_pointer(place, name)
                report_unknown(self._trail, "input", name, declared, where, "Nothing reads it.")
        for name, spec in declared.items():
            if spec.required and name not in given and not spec.from_goal:
                message = f"{child.id} needs {name}, and nothing gives it."
                self._trail.report(
                    "missing_key", child.pointer, message, f'Add "{name}" to the inputs of {child.id}.'
                )


def check_delegate(step: SourceDelegate, trail: Findings) -> None:
    """Check the children of one step together."""
    ids = {child.id for child in step.children}
    for child in step.children:
        found = _TRY.fullmatch(child.id)
        if found is not None and found[1] in ids:
            message = f"{child.id} is what a second try of {found[1]} is called."
            trail.report("duplicate_id", f"{child.pointer}/id", message, "Choose another id.")
    sure = sum(child.when is None for child in step.children)
    if not step.for_each and step.at_least > sure:
        message = (
            f"Conditions may leave fewer than {step.at_least} children; then all that there are must be done."
        )
        trail.report(
            "bad_value", step.pointer, message, "Ask for fewer, or drop conditions.", severity="warning"
        )


def count_children(parts: tuple[SourcePart, ...]) -> int:
    """Return how many child runs the steps of a workflow delegate at most, each step counted once."""
    return sum(MAX_CHILDREN if step.for_each else len(step.children) for step in list_delegates(parts))


def check_count(source: SourceWorkflow, trail: Findings) -> None:
    """Report a run that delegates more than the limit."""
    count = count_children(source.steps)
    if count > MAX_RUN_CHILDREN:
        message = f"The steps of this workflow delegate up to {count} runs; the limit is {MAX_RUN_CHILDREN}."
        trail.report("too_large", "/steps", message, "Delegate less, or put several pieces into one child.")


def list_delegates(parts: tuple[SourcePart, ...]) -> Iterator[SourceDelegate]:
    """Return the steps that delegate work, without those of their children."""
    return (part for part in walk_source(parts) if isinstance(part, SourceDelegate))


def list_named(parts: tuple[SourcePart, ...]) -> Iterator[str]:
    """Yield the workflows that steps delegate by their ids, including those of inline children."""
    for step in list_delegates(parts):
        for child in step.children:
            if child.workflow:
                yield child.workflow
            yield from list_named(child.steps)


def _as_passed(spec: InputSpec) -> InputSpec:
    """Return an input of the parent as its child declares it: not required, because the parent's run asks
    for it.
    """
    return InputSpec(type=spec.type, enum=spec.enum, description=spec.description)


def _make_brief(child: SourceChild, pinned: Pinned) -> str:
    what = _SENTENCE.split(pinned.workflow.description.strip(), maxsplit=1)[0]
    brief = f"{what} {child.brief}" if child.workflow and child.brief else what
    return shorten(brief, _LONGEST_BRIEF)
