"""What the compiler finds wrong and what it decides, while it works. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_nearest
from handrail.workflows.builtins.capabilities import CAPABILITIES
from handrail.workflows.compiling.compilation import Decision, DecisionKind
from handrail.workflows.limits import MAX_PROBLEMS
from handrail.workflows.problem import NO_EDIT, Edit, Problem, ProblemCode, Severity, replace_value
from handrail.workflows.reading.findings import guess_surely, quote_name


class Trail:
    """Problems and decisions in the order in which they came up."""

    def __init__(self, *, has_open_names: bool = False) -> None:
        self.has_open_names = has_open_names
        self.problems: list[Problem] = []
        self.decisions: list[Decision] = []
        self.has_errors = False

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
        severity: Severity = "error",
        edit: Edit = NO_EDIT,
    ) -> None:
        fitting = NO_EDIT if self.has_open_names else edit
        problem = Problem(
            code=code, message=message, pointer=pointer, fix=fix, severity=severity, edit=fitting
        )
        # One mistake in a routine or a shared part would otherwise be reported once per use.
        self.has_errors = self.has_errors or severity == "error"
        if problem in self.problems or len(self.problems) > MAX_PROBLEMS:
            return
        self.problems.append(problem if len(self.problems) < MAX_PROBLEMS else _more(severity))

    def add(self, problem: Problem) -> None:
        """Report what the compilation of a part found."""
        self.report(
            problem.code, problem.pointer, problem.message, problem.fix, problem.severity, problem.edit
        )

    def unknown(
        self, what: str, name: str, known: Iterable[str], pointer: str, stand_in: str, meant: Json = None
    ) -> None:
        """An id that names nothing; a warning says what stands in. `meant` is what it surely stands for."""
        names = sorted(known)
        is_told = len(self.problems) <= MAX_PROBLEMS
        near, sure = _near(name, names) if is_told else ([], "")
        fix = f"Did you mean {' or '.join(near)}?" if near else _elsewhere(what, name) + _choices(what, names)
        message = f"There is no {what} {quote_name(name)}."
        if self.has_open_names:
            message = f"{message} {stand_in}"
        edit = replace_value(pointer, sure) if sure else NO_EDIT
        if meant is not None:
            fix, edit = f"Write {canonical_bytes(meant).decode()}.", replace_value(pointer, meant)
        self.report("unknown_id", pointer, message, fix, self.severity_of_unknown, edit)

    def decide(self, kind: DecisionKind, origin: str, step_id: str, why: str) -> None:
        self.decisions.append(Decision(kind=kind, origin=origin, step_id=step_id, why=why))


def _more(severity: Severity) -> Problem:
    return Problem(
        code="too_many_problems",
        message=f"There are more than {MAX_PROBLEMS} problems; the others are not listed.",
        pointer="",
        fix="Correct the listed ones and check the file again.",
        severity=severity,
    )


def _near(name: str, names: list[str]) -> tuple[list[str], str]:
    """What to ask about, and the one that is certain.

    Compared behind the last dot where that much is right: a long prefix would make strangers alike.
    """
    prefix, _, own = name.rpartition(".")
    beside = {other.rpartition(".")[2]: other for other in names if other.rpartition(".")[0] == prefix}
    if not beside:
        ending = [other for other in names if not prefix and other.endswith(f".{name}")]
        sure = ending[0] if len(ending) == 1 else guess_surely(name, names)
        return ([sure] if sure else find_nearest(name, names)), sure
    sure = beside.get(guess_surely(own, beside), "")
    return ([sure] if sure else [beside[one] for one in find_nearest(own, beside)]), sure


def _elsewhere(what: str, name: str) -> str:
    """Where a thing of this name is written, if it is not here."""
    if what == "feature" and any(name == one.id for one in CAPABILITIES):
        return f'That is a capability: write "capabilities": {{"{name}": "preferred"}} beside steps. '
    if what == "contract" and not name.startswith("wr."):
        return "A contract of the project is a file in .handrail/contracts that holds its id. "
    return ""


def _choices(what: str, names: list[str]) -> str:
    if not names:
        return f"Declare it, or remove the reference: there is no {what} here."
    listed = ", ".join(names[:12])
    return f"Use one of {listed}{' and others' if len(names) > 12 else ''}."
