"""Problems of a workflow source, each with its place and fix: collected, edited, and kept
applicable. Pure.

A problem has an edit only if it is certain what was meant; advice that leaves a choice is only a
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from handrail.contract.json.places import join_pointer, unescape_key
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_clearly_nearest, find_same_word
from handrail.contract.wording import quote
from handrail.workflows.limits import MAX_PROBLEMS

# Edits: operations of a JSON Patch, or a stretch of the text


class EditOperation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"source": "from"}):
    """One operation of RFC 6902, whose `from` is `source`; or `rewrite`, which edits the text.

    `rewrite` puts `text` in place of `length` characters at a line and column.
    """

    op: Literal["add", "remove", "replace", "move", "rewrite"]
    path: str = ""
    source: str = ""
    value: Any = UNSET
    line: int = 0
    column: int = 0
    length: int = 0
    text: str = ""


Edit: TypeAlias = tuple[EditOperation, ...]
NO_EDIT: Edit = ()


def is_patch(edit: Edit) -> bool:
    """Whether it changes the document; other edits change the text, which may not be readable as a document
    yet.
    """
    return bool(edit) and all(one.op != "rewrite" for one in edit)


def drop_edits(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems of a translation without edits, which would not apply to the author's own file."""
    return tuple(msgspec.structs.replace(one, edit=NO_EDIT) if one.edit else one for one in problems)


def replace_value(pointer: str, value: Json) -> Edit:
    return (EditOperation(op="replace", path=pointer, value=value),)


def add_value(pointer: str, value: Json) -> Edit:
    return (EditOperation(op="add", path=pointer, value=value),)


def remove_value(pointer: str) -> Edit:
    return (EditOperation(op="remove", path=pointer),)


def rename_key(pointer: str, key: str) -> Edit:
    """Return the operation that moves the member to another key of the same object."""
    return (EditOperation(op="move", source=pointer, path=join_pointer(holder_of(pointer), key)),)


def rewrite_text(line: int, column: int, length: int, text: str) -> Edit:
    return (EditOperation(op="rewrite", line=line, column=column, length=length, text=text),)


def holder_of(pointer: str) -> str:
    """Return the pointer of the object or list around a place."""
    return pointer.rpartition("/")[0]


def is_within(place: str, holder: str) -> bool:
    """Whether a place is another one, or inside it."""
    return place == holder or place.startswith(f"{holder}/")


def value_at(document: Json, pointer: str) -> Json:
    """Return the value at a pointer; None if there is none."""
    value = document
    for part in pointer.split("/")[1:]:
        if isinstance(value, dict):
            value = value.get(unescape_key(part))
        elif isinstance(value, list) and part.isdecimal() and len(part) < 9 and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def edit_rows(edit: Edit) -> list[dict[str, Any]]:
    """Return an edit in the form that answers use."""
    return [msgspec.to_builtins(operation) for operation in edit]


# Problems

ProblemCode: TypeAlias = Literal[
    "unreadable",
    "not_an_object",
    "missing_key",
    "unknown_key",
    "wrong_type",
    "bad_value",
    "bad_id",
    "bad_name",
    "duplicate_id",
    "no_steps",
    "too_large",
    "too_many_problems",
    "bad_pattern",
    "reserved_id",
    "legacy_id",
    "shadowed_id",
    "unknown_id",
    "template_cycle",
    "bad_argument",
    "loop_without_decision",
    "unreachable_step",
    "impossible_condition",
    "flag_only_validation",
    "unused",
    "missing_feature",
    "bad_recommendation",
    "soft_words",
    "bad_source",
    "foreign_spelling",
    "changed_meaning",
    "undeclared_name",
    "bad_placeholder",
    "not_a_list",
    "read_too_early",
    "impassable_gate",
    "broken_contract",
]


Severity: TypeAlias = Literal["error", "warning", "hint"]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem; `pointer` is an RFC 6901 pointer into the source document."""

    code: ProblemCode
    message: str
    pointer: str
    fix: str
    severity: Severity = "error"
    line: int = 0
    """1-based; 0 if the place is not known."""
    column: int = 0
    edit: tuple[EditOperation, ...] = NO_EDIT
    """A fix that a program can apply; empty if the author has to choose."""
    within: str = ""
    """The words of a long text at the pointer that the problem is about; their place is shown."""
    beside: str = ""
    """Pointer of the second of two related places; once known, its line and column end the message."""


def make_problem(
    code: ProblemCode,
    pointer: str,
    message: str,
    fix: str,
    edit: Edit = NO_EDIT,
    severity: Severity = "error",
) -> Problem:
    """Return a problem whose line is not known yet."""
    return Problem(code=code, message=message, pointer=pointer, fix=fix, edit=edit, severity=severity)


# The problems of one file while it is read, in a bounded number

_PLAIN = re.compile(r"[A-Za-z0-9_.$-]{1,64}")


class Findings:
    """Problems as they are found. Once it is full, checks may stop."""

    def __init__(self, severity: Severity = "error", *, has_open_names: bool = False) -> None:
        """Create an empty collection; `has_open_names` means that edits would not apply to the author's own
        file.
        """
        self._severity = severity
        self.has_open_names = has_open_names
        self.problems: list[Problem] = []
        self.has_errors = False
        self.closed: set[str] = set()
        """Pointers of values that are over a limit and are not checked further."""
        self.document: dict[str, Json] = {}
        """The whole document, if the meaning of a value depends on declarations elsewhere."""
        self.patterns = 0
        """Patterns that were found so far."""

    @property
    def is_full(self) -> bool:
        return len(self.problems) > MAX_PROBLEMS

    @property
    def severity_of_unknown(self) -> Severity:
        """Return a warning, with a stand-in, if a workflow may name what exists only elsewhere; otherwise
        an error.
        """
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
        """Add a problem of another check; one that several places share is reported once."""
        self.has_errors = self.has_errors or problem.severity == "error"
        if not self.is_full and problem not in self.problems:
            is_last = len(self.problems) == MAX_PROBLEMS
            self.problems.append(more_problems(problem.severity) if is_last else problem)

    def warn(self, code: ProblemCode, pointer: str, message: str, fix: str, edit: Edit = NO_EDIT) -> None:
        """Report something that may go wrong."""
        self.report(code, pointer, message, fix, edit, severity="warning")


def more_problems(severity: Severity) -> Problem:
    """Return the problem that replaces all those beyond the limit."""
    message = f"There are more than {MAX_PROBLEMS} problems; the others are not listed."
    fix = "Correct the listed ones and check the file again."
    return make_problem("too_many_problems", "", message, fix, severity=severity)


def guess_name(name: str, known: Iterable[str]) -> str:
    """Return a known name to ask about: the same word or the nearest one; empty if there is none."""
    names = list(known)
    return find_same_word(name, names) or find_clearly_nearest(name, names)


def guess_surely(name: str, known: Iterable[str]) -> str:
    """Return the name that an edit may write: the same word in its known spelling; empty if unsure."""
    return find_same_word(name, known)


def label_pointer(pointer: str) -> str:
    """Return the label of a value in a message: its key, or its list and its index."""
    holder, _, last = pointer.rpartition("/")
    name = unescape_key(last)
    if not pointer:
        return "The file"
    if last.isdecimal() and holder:
        return f"{quote_name(unescape_key(holder.rpartition('/')[2]))}[{last}]"
    return quote_name(name)


def quote_name(name: str) -> str:
    """Return a name as a sentence shows it: bare if it is plain, otherwise quoted."""
    return name if _PLAIN.fullmatch(name) else quote(name)


# Edits that a program may apply one after the other: each is tried before it is offered
#
# An edit is right for its own place; only a check of the edited file shows what it means for the rest. One
# that causes a new error is not offered, nor is one that overlaps another. The sentence of the fix stays, and
# the next check of the file offers what is left.

_MOST_TRIALS = 20
_FEW_TRIALS = 2
_LARGE_BYTES = 64_000
_OF_THE_SHAPE = frozenset({"wrong_type", "unknown_key", "missing_key", "bad_id", "bad_name", "not_an_object"})
"""Rules about a value at its place; a moved value takes its other faults along."""
_OF_THE_HOLDER = frozenset({"missing_key", "duplicate_id", "bad_value"})

Judge = Callable[[bytes], Iterable[Problem]]


def keep_sound_edits(
    document: Json, size: int, problems: Iterable[Problem], judge: Judge
) -> tuple[Problem, ...]:
    """Return the problems of a file, with those edits that can all be applied in this order.

    `document` is the content of the file, None if it cannot be read, and `size` its bytes. `judge`
    returns what is wrong with a JSON file; it must not call this function.
    """
    problems = _apart(tuple(problems))
    edited = [one for one in problems if is_patch(one.edit)]
    if not edited:
        return problems
    if document is None:  # there is nothing to try an edit on
        return tuple(_without_edit(one) if is_patch(one.edit) else one for one in problems)
    known = {_key(one) for one in problems}
    if _is_sound(document, [one.edit for one in edited], known, judge):
        return problems
    most = _FEW_TRIALS if size > _LARGE_BYTES else _MOST_TRIALS
    sound = {_key(one) for one in edited[:most] if _is_sound(document, [one.edit], known, judge)}
    return tuple(
        _without_edit(one) if is_patch(one.edit) and _key(one) not in sound else one for one in problems
    )


def _apart(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Return the problems without edits that touch what an earlier one has touched, unless both are equal."""
    taken: list[EditOperation] = []
    kept: list[Problem] = []
    for one in problems:
        if is_patch(one.edit):
            if any(_meet(ours, theirs) for ours in one.edit for theirs in taken if ours != theirs):
                one = _without_edit(one)
            taken += one.edit
        kept.append(one)
    return tuple(kept)


def _meet(one: EditOperation, other: EditOperation) -> bool:
    ours, theirs = _places(one), _places(other)
    return any(is_within(left, right) or is_within(right, left) for left in ours for right in theirs)


def _places(operation: EditOperation) -> list[str]:
    """Return the places that an operation touches; one that removes an item moves those after it."""
    places = [one for one in (operation.path, operation.source) if one]
    if operation.op in ("remove", "move"):
        places = [holder_of(one) if one.rpartition("/")[2].isdecimal() else one for one in places]
    return places


def _is_sound(document: Json, edits: list[Edit], known: set[tuple[str, str, str]], judge: Judge) -> bool:
    operations = [operation for edit in edits for operation in edit]
    try:
        content = msgspec.json.encode(apply_operations(document, operations))
    except (LookupError, ValueError, TypeError):
        return False
    errors = [one for one in judge(content) if one.severity == "error" and _key(one) not in known]
    return not any(_is_caused(error, operation) for error in errors for operation in operations)


def _is_caused(error: Problem, operation: EditOperation) -> bool:
    """Whether an operation causes an error that was not there before.

    Errors elsewhere existed before: checks cannot find them while a file is unreadable.
    """
    if error.code in _OF_THE_HOLDER and error.pointer == holder_of(operation.path):
        return True
    if operation.op == "remove" or not is_within(error.pointer, operation.path):
        return False
    return operation.op != "move" or error.code in _OF_THE_SHAPE


def apply_operations(document: Json, operations: Iterable[EditOperation]) -> Json:
    """Return the document after operations of a JSON Patch, each applied to the result of the one
    before.

    Raises: LookupError or ValueError if a place does not exist.
    """
    whole = [msgspec.json.decode(msgspec.json.encode(document))]
    for operation in operations:
        value = _taken(whole, operation.source) if operation.op == "move" else operation.value
        if operation.op == "remove":
            _taken(whole, operation.path)
            continue
        holder, key = _found(whole, operation.path)
        if isinstance(holder, list) and operation.op != "replace" and operation.path:
            holder.insert(len(holder) if key == "-" else int(key), value)
        elif isinstance(holder, list):
            holder[int(key)] = value
        else:
            holder[key] = value
    return whole[0]


def _taken(whole: list[Json], pointer: str) -> Json:
    holder, key = _found(whole, pointer)
    return holder.pop(int(key) if isinstance(holder, list) else key)


def _found(whole: list[Json], pointer: str) -> tuple[Json, str]:
    """Return the object or list around a place, and the key there; `whole` contains the document itself."""
    holder: Json = whole
    *way, last = ["0", *(unescape_key(part) for part in pointer.split("/")[1:])]
    for part in way:
        holder = holder[int(part) if isinstance(holder, list) else part]
    return holder, last


def _without_edit(problem: Problem) -> Problem:
    return msgspec.structs.replace(problem, edit=NO_EDIT)


def _key(problem: Problem) -> tuple[str, str, str]:
    # Where the other one of two equal ids stands may change with an edit.
    return problem.code, problem.pointer, problem.message.partition(" at line ")[0]
