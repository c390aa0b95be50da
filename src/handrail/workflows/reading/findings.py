"""The problems of one file while it is read, in a bounded number. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from handrail.contract.json.places import unescape_key
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_clearly_nearest, find_same_word
from handrail.contract.wording import quote
from handrail.workflows.limits import MAX_PROBLEMS
from handrail.workflows.problem import NO_EDIT, Edit, Problem, ProblemCode, Severity

_PLAIN = re.compile(r"[A-Za-z0-9_.$-]{1,64}")


class Findings:
    """Problems as they are found. Once it is full, checks may stop."""

    def __init__(self, severity: Severity = "error", *, has_open_names: bool = False) -> None:
        """`has_open_names`: an edit of what is checked would say nothing about the author's own file."""
        self._severity = severity
        self.has_open_names = has_open_names
        self.problems: list[Problem] = []
        self.has_errors = False
        self.closed: set[str] = set()
        """Pointers of values that are over a limit and are not checked further."""
        self.document: dict[str, Json] = {}
        """All that is being checked, where a value means something by what is declared elsewhere."""
        self.patterns = 0
        """Patterns that were met so far."""

    @property
    def is_full(self) -> bool:
        return len(self.problems) > MAX_PROBLEMS

    @property
    def severity_of_unknown(self) -> Severity:
        """A warning, with a stand-in, where a workflow may name what exists only elsewhere."""
        return "warning" if self.has_open_names else "error"

    def report(
        self,
        code: ProblemCode,
        pointer: str,
        message: str,
        fix: str,
        edit: Edit = NO_EDIT,
        within: str = "",
        beside: str = "",
        severity: Severity | None = None,
    ) -> None:
        problem = Problem(
            code=code,
            message=message,
            pointer=pointer,
            fix=fix,
            severity=severity or self._severity,
            edit=NO_EDIT if self.has_open_names else edit,
            within=within,
            beside=beside,
        )
        self.add(problem)

    def add(self, problem: Problem) -> None:
        """Report what another check found; what is used in several places is told once."""
        self.has_errors = self.has_errors or problem.severity == "error"
        if not self.is_full and problem not in self.problems:
            is_last = len(self.problems) == MAX_PROBLEMS
            self.problems.append(more_problems(problem.severity) if is_last else problem)

    def warn(self, code: ProblemCode, pointer: str, message: str, fix: str, edit: Edit = NO_EDIT) -> None:
        """Report something that may go wrong."""
        self.report(code, pointer, message, fix, edit, severity="warning")


def more_problems(severity: Severity) -> Problem:
    """What stands for all problems beyond the limit."""
    return Problem(
        code="too_many_problems",
        message=f"There are more than {MAX_PROBLEMS} problems; the others are not listed.",
        pointer="",
        fix="Correct the listed ones and check the file again.",
        severity=severity,
    )


def guess_name(name: str, known: Iterable[str]) -> str:
    """Guess a known name to ask about: the same word or the nearest one; empty if there is none."""
    names = list(known)
    return find_same_word(name, names) or find_clearly_nearest(name, names)


def guess_surely(name: str, known: Iterable[str]) -> str:
    """Guess the name that an edit may write: the same word in its known spelling; empty if unsure."""
    return find_same_word(name, known)


def label_pointer(pointer: str) -> str:
    """What a message calls the value at a pointer: its key, or its list and its index."""
    holder, _, last = pointer.rpartition("/")
    name = unescape_key(last)
    if not pointer:
        return "The file"
    if last.isdecimal() and holder:
        return f"{quote_name(unescape_key(holder.rpartition('/')[2]))}[{last}]"
    return quote_name(name)


def quote_name(name: str) -> str:
    """A name as a sentence shows it: bare if it is plain, otherwise quoted."""
    return name if _PLAIN.fullmatch(name) else quote(name)
