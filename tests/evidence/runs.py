"""Runs of a check, written by hand."""

from __future__ import annotations

from typing import Any

from handrail.evidence.runs import RanCase, RunResult, UnloadedFile

_OUTCOMES: dict[str, Any] = {".": "passed", "F": "failed", "E": "error", "s": "skipped"}


def make_run(
    *cases: str, unloaded: tuple[str, ...] = (), status: int | None = None, **known: Any
) -> RunResult:
    """A run whose cases are written as `. file::name`, `F …` (failed), `E …` (error) or `s …` (skipped).

    What follows ` missing ` is the name that is not defined. A file that cannot be loaded has such a name
    behind it, or its error behind ` because `.
    """
    made = [_make_case(case) for case in cases]
    files = [_make_unloaded(one) for one in unloaded]
    is_red = bool(files) or any(case.outcome in ("failed", "error") for case in made)
    ended = int(is_red) if status is None else status
    given: dict[str, Any] = {"state": "failed" if ended else "passed", "exit_status": ended}
    return RunResult(
        **{**given, "isolation": "linked_folder", **known}, cases=tuple(made), unloaded=tuple(files)
    )


def make_status(status: int, **known: Any) -> RunResult:
    """A run of a check that names no cases."""
    given: dict[str, Any] = {"state": "failed" if status else "passed", "exit_status": status}
    return RunResult(**{**given, "isolation": "linked_folder", **known})


def _make_unloaded(text: str) -> UnloadedFile:
    known, _, trouble = text.partition(" because ")
    file, _, missing = known.partition(" ")
    return UnloadedFile(file=file, missing_name=missing, trouble=trouble)


def _make_case(text: str) -> RanCase:
    mark, _, rest = text.partition(" ")
    name, _, missing = rest.partition(" missing ")
    file = name.partition("::")[0] if "::" in name else ""
    return RanCase(name=name, file=file, outcome=_OUTCOMES[mark], missing_name=missing)
