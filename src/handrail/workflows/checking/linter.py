"""What is wrong with a workflow that reads and compiles: warnings and hints, all at once. Pure.

Errors are the reader's and the compiler's: what they accept can be started.
"""

from __future__ import annotations

from handrail.workflows.checking.advice import (
    check_capabilities,
    check_first_step,
    check_prompt_sizes,
    check_recommendation,
    check_titles,
)
from handrail.workflows.checking.reachability import check_reachability
from handrail.workflows.checking.soft_words import check_soft_words
from handrail.workflows.checking.usage import check_usage
from handrail.workflows.checking.weak_validation import check_validation
from handrail.workflows.compiling.compilation import Compilation
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.model import SourceWorkflow
from handrail.workflows.problem import Problem


def check(source: SourceWorkflow, compilation: Compilation) -> tuple[Problem, ...]:
    """Everything the author should look at; nothing when it did not compile, because that comes first."""
    if compilation.pinned is None:
        return ()
    workflow, pointers = compilation.pinned.workflow, compilation.pointers
    trail = Trail(is_foreign=False)
    check_reachability(workflow, pointers, trail)
    check_first_step(workflow, pointers, trail)
    check_validation(workflow, pointers, trail)
    check_soft_words(source.steps, trail)
    check_usage(source, workflow, trail)
    check_prompt_sizes(workflow, pointers, trail)
    check_recommendation(source, workflow, trail)
    check_capabilities(source, trail)
    check_titles(workflow, pointers, trail)
    return tuple(trail.problems)
