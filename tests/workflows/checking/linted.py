"""Workflows as an author writes them, with what the linter says about them."""

from __future__ import annotations

from typing import Any

from handrail.workflows.checking.linter import check
from handrail.workflows.compiling.compilation import Surroundings
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.problem import Problem
from tests.workflows.compiling.written import document, source


def linted(*steps: dict[str, Any], around: Surroundings | None = None, **more: Any) -> tuple[Problem, ...]:
    """What the linter says about a workflow of these steps, which compiles."""
    read = source(document(*steps, **more))
    done = compile_workflow(read, around)
    assert done.pinned is not None, done.problems
    return check(read, done)


def seen(problems: tuple[Problem, ...]) -> list[tuple[str, str, str]]:
    """Severity, code and pointer of each."""
    return [(problem.severity, problem.code, problem.pointer) for problem in problems]
