"""Plans of edits for tests: a refusal is an answer that can be looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from handrail_code.edit import move, plan, rename, replace
from handrail_code.edit.plan import Plan, Refusal
from handrail_code.facts.join import Project

_P = ParamSpec("_P")
_T = TypeVar("_T")


def answer(make: Callable[_P, _T]) -> Callable[_P, _T | Refusal]:
    @wraps(make)
    def made(*args: _P.args, **kwargs: _P.kwargs) -> _T | Refusal:
        try:
            return make(*args, **kwargs)
        except Refusal as refusal:
            return refusal

    return made


plan_move = answer(move.plan_move)
plan_extract = answer(move.plan_extract)
plan_rename = answer(rename.plan_rename)
plan_member_rename = answer(rename.plan_member_rename)
plan_replace = answer(replace.plan_replace)
list_unrestored = answer(move.list_unrestored)
apply_in_memory = plan.apply_in_memory


def texts_of(project: Project) -> dict[str, str]:
    return {path: (project.source.text(path) or b"").decode() for path in project.source.files()}


def texts_after(project: Project, plain: Mapping[str, str], made: Plan | Refusal) -> dict[str, str] | Refusal:
    """All texts after an edit, without those of files that it removes."""
    if isinstance(made, Refusal):
        return made
    after = {**plain, **{path: text.decode() for path, text in apply_in_memory(made, project.source).items()}}
    return {path: text for path, text in after.items() if path not in made.removed}
