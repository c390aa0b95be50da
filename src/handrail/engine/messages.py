"""Every message about a run, made from codes: why, what is wrong in detail, the fix, and the way on. Pure.

The judge records what a reason waits for as names (`WaitsFor`). The log keeps them beside the `message` and
the `suggestedFix` of EXEC, which are replayed as they were recorded. The shown text is made here for its
reader: an agent at the MCP server gets calls, a shell gets flags, and a person gets no part of the
protocol. MCP text, command line, Console and reports only lay the parts out; none of them parses a
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from handrail.contract.ids import RunId
from handrail.engine.events import GapRecorded
from handrail.engine.history import History
from handrail.engine.reasons import (
    BY_PERSON,
    Blocker,
    Issue,
    Purpose,
    WaitsFor,
    wait_of,
    waits_for_person,
)

Reader: TypeAlias = Literal["agent", "shell", "person"]
"""Who reads: an agent with tools, a shell with commands, a person with neither."""


RUN_CONFIRM: Final = "handrail run answer"
NOTES_PLACE: Final = "/notesMarkdown"
"""The pointer of a fault in the notes."""


VERBS: Final[Mapping[Reader, Mapping[str, str]]] = {
    "agent": {
        "artifacts": "output.artifacts",
        "notes": "output.notesMarkdown",
        "call": "nextCall",
        "again": "make the call in nextCall",
        "read": "the stateToken",
    },
    "shell": {
        "artifacts": "--artifacts",
        "notes": "--notes",
        "call": "the command below",
        "again": "run the command below",
        "read": "the command for lost context",
    },
}
"""Names of the parts of a call for each reader; a person makes no calls."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """One reason, in the words of its reader."""

    code: str = ""
    """The code of EXEC, for programs."""
    why: str
    faults: tuple[str, ...] = ()
    """What is wrong in detail, each with its place."""
    fix: str = ""


class ShownBlocker(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A blocker as a reply shows it; text in it may have been shortened or marked on the way."""

    code: str
    pointer: dict[str, Any]
    message: str
    suggested_fix: str = ""
    waits_for: WaitsFor | None = None


# For callers: agents and shells

_FIXES: Final[Mapping[tuple[str, str], str]] = {
    ("notes", "missing"): "Write {notes} so that every rule holds.",
    ("notes", "invalid"): "Write {notes} so that every rule holds.",
    ("output", "missing"): "Add it to {artifacts}.",
    ("output", "invalid"): "Fix the listed entries and send the report again.",
    ("output", "not_asked"): "Fix the listed entries, or leave the artifact out.",
    ("assessment", "missing"): "Judge each dimension and add the artifact: {levels}.",
    ("assessment", "invalid"): "Give every dimension one of its levels: {levels}.",
    ("assessment", "follow_up"): "{followup} Then assess again and {again}.",
    ("proof", "missing"): "Run {command} after your last edit, and {again} again.",
    ("confirm", "missing"): "Show the user what you did and ask for the confirmation, then {again}.",
    ("confirm", "another_report"): "Show the user what you did and ask for the confirmation, then {again}.",
    ("choose", "missing"): "Ask the user, then take the option that they choose.",
    ("choose", "invalid"): "Take the option {option}.",
    ("give", "missing"): "Ask the user, then send the answer in {artifacts}, like the example, and {again}.",
    ("give", "invalid"): "Ask the user, then send the answer in {artifacts}, like the example, and {again}.",
    ("capability", "unknown"): "Try it once and report available or unavailable, with provenance probe_step.",
    ("capability", "unavailable"): (
        "Ask the user to enable it. Then {again}, try it, and send what you see in the observation that its "
        "reply frames."
    ),
}
"""What to do about a reason; a name in braces is a verb of the reader or a value of the reason."""

_PERSONS_FIXES: Final[Mapping[tuple[str, str], str]] = {
    ("confirm", "missing"): "Ask the user to {answer}, then {again} again.",
    ("confirm", "another_report"): (
        "Ask the user to {answer}, which shows this report, then {again} again; or send "
        "the report that they confirmed, word for word."
    ),
    ("confirm", "declined"): (
        "Ask the user what to change, change it, and {again} with that: they are asked about it again. This "
        "report passes only if they say yes {by_answer}."
    ),
    ("allow_write", "missing"): "Ask the user to {answer}, then {again} again.",
    ("allow_write", "another_report"): "Ask the user to {answer}, then {again} again.",
    ("allow_write", "declined"): (
        "Ask the user what to change. This is written only if they say yes {by_answer}."
    ),
    ("choose", "missing"): (
        "Ask the user to {answer} and take an option there, then make the call of that option."
    ),
    ("choose", "declined"): ("Ask the user why. The run goes on when they take an option {by_answer}."),
    (
        "give",
        "missing",
    ): "Ask the user to {answer} and answer there, then {again} again.",
    ("give", "declined"): (
        "Ask the user why. The run goes on when they answer {by_answer}; then {again} again."
    ),
}
"""What to do if only a person's answer counts: the line that the person runs."""

_NAMED_FIX: Final = "Ask {who} to confirm this in the Console, then {again} again."
"""What to do if the author names who confirms: accounts are checked in the Console, and nowhere else."""


_HEADS: Final[Mapping[tuple[str, str], str]] = {
    ("notes", "missing"): "The notes are not enough yet:",
    ("notes", "invalid"): "The notes are not enough yet:",
    ("output", "invalid"): "`{artifact}` was rejected:",
    ("output", "not_asked"): "`{artifact}` was rejected:",
}
"""The first line of a reason whose faults say the rest."""


def write_fix(waits: WaitsFor, reader: Reader = "agent") -> str:
    """Return what a caller does about a reason; empty if only the recorded message says it."""
    fixes = _PERSONS_FIXES if waits.values.get("by") == BY_PERSON["by"] else _FIXES
    form = fixes.get((waits.kind, waits.state), "")
    if "who" in waits.values and waits.state == "missing":
        form = _NAMED_FIX
    words = {**VERBS[reader], **_write_answering(waits.values), **waits.values}
    try:
        return form.format_map(words)
    except KeyError:  # a log of another version lacks a name
        return ""


def confirm_line(history: History, run_id: str) -> str:
    """Return the line with which a person answers a run at a terminal."""
    run = f" --run {run_id}" if len(history.runs) > 1 else ""
    return f"{RUN_CONFIRM} --session {history.session_id}{run}"


def describe_answering(history: History, run_id: RunId) -> str:
    """Return what a person does to answer a run."""
    return _write_answering(_find_place(history, run_id))["answer"]


def _find_place(history: History, run_id: RunId) -> dict[str, str]:
    """Return the page where a person answers a run of a team, or the line for a terminal."""
    if history.runs[run_id].actor is not None and history.imported is None:
        return {"page": f"/sessions/{history.session_id}"}
    return {"line": confirm_line(history, run_id)}


def _write_answering(values: Mapping[str, str]) -> dict[str, str]:
    if page := values.get("page", ""):
        there = f"in the Console of the team, at {page}"
        return {"answer": f"answer {there}", "by_answer": there}
    line = f"`{values.get('line', RUN_CONFIRM)}` in a terminal"
    return {"answer": f"run {line} or answer in the Console", "by_answer": f"with {line} or in the Console"}


def name_session(blockers: Iterable[Blocker], history: History, run_id: RunId) -> list[Blocker]:
    """Return blockers for a caller: the line that a person runs names the session, and the run if there are
    several. In a team, a person answers on a page, and no command in a terminal counts.

    These names are not recorded, because a bundle takes the log into another session.
    """
    line = _find_place(history, run_id)
    shown: list[Blocker] = []
    for blocker in blockers:
        waits = blocker.waits_for
        if waits is not None and waits_for_person(blocker):
            named = replace(waits, values=waits.values | line)
            blocker = replace(blocker, waits_for=named, suggested_fix=write_fix(named))
        shown.append(blocker)
    return shown


def explain(blocker: ShownBlocker, issues: Sequence[Issue], reader: Reader, title: str = "") -> Parts:
    """Return one blocker for its reader; `issues` are all faults of the report, `title` is that of its
    step.
    """
    waits = blocker.waits_for
    if reader == "person":
        return _explain_to_person(blocker, waits, issues, title)
    if waits is None:
        return Parts(code=blocker.code, why=blocker.message, fix=blocker.suggested_fix)
    own = _own_faults(blocker, issues)
    head = _HEADS.get((waits.kind, waits.state), "") if own else ""
    return Parts(
        code=blocker.code,
        why=head.format_map(waits.values) if head else blocker.message,
        faults=tuple(_spell_fault(one, reader) for one in own) if head else (),
        fix=blocker.suggested_fix if reader == "agent" else write_fix(waits, reader) or blocker.suggested_fix,
    )


def explain_all(
    blockers: Iterable[Mapping[str, Any]], issues: Iterable[Mapping[str, Any]], reader: Reader
) -> tuple[list[tuple[ShownBlocker, Parts]], list[str]]:
    """Return the blockers of a reply, then the faults that no blocker mentions; both as the reply shows
    them.
    """
    held = [msgspec.convert(one, Issue) for one in issues]
    shown = [msgspec.convert(one, ShownBlocker) for one in blockers]
    parts = [explain(one, held, reader) for one in shown]
    made = list(zip(shown, parts, strict=True))
    telling = [one for one, part in made if part.faults or _is_one_fault(one)]
    named = [issue for one in telling for issue in _own_faults(one, held)]
    rest = [_spell_fault(issue, reader) for issue in held if all(issue is not one for one in named)]
    return made, rest


def _is_one_fault(blocker: ShownBlocker) -> bool:
    """Whether the message of a blocker says all that is wrong, because it is about a single thing and not
    about a text.
    """
    return blocker.waits_for is not None and blocker.waits_for.kind not in ("output", "notes", "assessment")


def _own_faults(blocker: ShownBlocker, issues: Iterable[Issue]) -> list[Issue]:
    """Return the faults of a report that a blocker is about: of its contract, or of the notes."""
    ref = blocker.pointer.get("contractRef", "")
    return [issue for issue in issues if issue.contract_ref == ref and (ref or issue.pointer)]


def _spell_fault(issue: Issue, reader: Reader) -> str:
    """Return a fault with its place: a pointer for an agent, words for other readers."""
    text = f"{issue.pointer} {issue.message}".strip()
    return text if reader == "agent" else spell_fault_in_words(issue)


def show_blocker(blocker: Blocker) -> ShownBlocker:
    """Return a recorded blocker; for one of an older log, what it waits for follows from its text."""
    shown = msgspec.convert(msgspec.to_builtins(blocker), ShownBlocker)
    return msgspec.structs.replace(shown, waits_for=wait_of(blocker))


def judged_words(reader: Reader = "agent", *, is_retryable: bool = True) -> str:
    """Return what every blocked reply says: what happened to the report, and what changes that."""
    verbs = VERBS[reader]
    if is_retryable:
        sentence = f"Fix the report and send it with {verbs['call']}; the same report gets this reply again."
    else:
        sentence = "Every report gets this reply until that has changed."
    return f"{sentence} Read the step with {verbs['read']}."


# For callers: where the call of a warning leads

PURPOSES: Final[Mapping[Purpose, str]] = {
    "retry": "send it as the next attempt at this step",
    "fork": "store it as a fork",
    "checkpoint": "keep it as one more checkpoint",
    "notes": "keep these notes too",
    "go_on": "go on from there",
    "preview": "make the preview again, read its step and acknowledge it",
    "other_run": "continue that run instead",
}
"""The purpose of a warning's call, as the end of a sentence that starts with "To"."""


def spell_purpose(warning: Mapping[str, Any]) -> str:
    """Return the purpose of a warning's call, to be shown before it; empty if it has none or states it
    itself.
    """
    purpose = warning.get("purpose")
    return "" if purpose is None else f"To {PURPOSES[purpose]}"


# For people

WHY_TO_PERSON: Final[Mapping[tuple[str, str], str]] = {
    ("confirm", "missing"): "{step} needs a person's yes, and nobody has confirmed what the agent reports.",
    ("confirm", "another_report"): "A person confirmed {step}, and the agent has sent another report since.",
    ("confirm", "declined"): "A person declined what the agent reports for {step}.",
    ("allow_write", "missing"): "{step} writes files, and nobody has allowed that yet.",
    ("allow_write", "declined"): "A person declined that {step} writes files.",
    ("allow_write", "another_report"): "A person allowed {step}, and what it would write has changed since.",
    ("choose", "missing"): "The choice in {step} belongs to a person, and nobody has answered.",
    ("choose", "declined"): "A person took none of the options of {step}.",
    ("choose", "invalid"): "For {step} the agent took another option than the person who answered.",
    ("choose", "another_report"): "A person answered {step}, and its options have changed since.",
    ("give", "missing"): "{step} needs something that only a person can give.",
    ("give", "invalid"): "What the agent says that a person gave for {step} does not fit.",
    ("give", "declined"): "A person did not give what {step} needs.",
    ("notes", "missing"): "The agent left no notes on {step}.",
    ("notes", "invalid"): "The agent's notes on {step} are not enough yet.",
    ("output", "missing"): "The agent has not delivered what {step} asks for: {artifact}.",
    ("output", "invalid"): "What the agent delivered for {step} is not right yet: {artifact}.",
    (
        "output",
        "not_asked",
    ): "For {step} the agent sent what nobody asked for, and it is not right: {artifact}.",
    ("assessment", "missing"): "The agent has not judged {assessment}, which {step} asks for.",
    ("assessment", "invalid"): "The agent's judgement of {assessment} in {step} is incomplete.",
    ("assessment", "follow_up"): "{dimension} is {level} in {step}, and that needs a follow-up first.",
    ("proof", "missing"): "The change of {step} is not proven.",
    ("context", "missing"): "What follows {step} needs the {type} {name}, and nobody has given it.",
    ("capability", "unknown"): "Whether the agent has {capability} is not known, and the work needs it.",
    ("capability", "unavailable"): "The work needs {capability}, and the agent does not have it.",
    ("action", "missing"): "Handrail could not carry out {operation} in {step}: {because}",
}
_FIX: Final[Mapping[str, str]] = {
    "confirm": "Read the report and answer yes or no.",
    "allow_write": "Look at what would be written and answer yes or no.",
    "choose": "Take one of the options.",
    "give": "Give it to the agent in its chat. Never a password or a key: only say that it is done.",
    "context": "Tell the agent in its chat what belongs there.",
    "capability": "Enable it for the agent, then tell the agent to go on.",
    "action": "The agent can try again; if it has stopped, tell it to go on.",
}
_GIVE_YOURSELF: Final = (
    "Give it in the Console or at a terminal: what you tell the agent in its chat does not count here. Never "
    "a password or a key: only say that it is done."
)
_AGENT_CORRECTS: Final = "The agent can correct this by itself; if it has stopped, tell it to go on."
AGENT_READS_IT: Final = (
    "The agent reads this at its next call and reports again; then you are asked about that. If it has "
    "stopped, tell it what to change; or answer again."
)
_NAMED: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_.-]+")


def _explain_to_person(
    blocker: ShownBlocker, waits: WaitsFor | None, issues: Sequence[Issue], title: str
) -> Parts:
    title = title or ("" if waits is None else waits.values.get("title", ""))
    step = f"the step “{title}”" if title else "a step"
    if waits is None:
        why = f"What the agent reports for {step} is not enough yet."
        return Parts(code=blocker.code, why=why, fix=_AGENT_CORRECTS)
    values = {name: in_words(value) if name in _SPELLED else value for name, value in waits.values.items()}
    values |= {"step": step}
    unknown = "What the agent reports for {step} is not enough yet."  # an older log has other reasons
    form = WHY_TO_PERSON.get((waits.kind, waits.state)) or WHY_TO_PERSON.get((waits.kind, "missing"), unknown)
    try:
        why = form.format_map(values)
    except KeyError:  # a log of another version lacks a name
        why = unknown.format_map(values)
    is_detailed = waits.kind in ("notes", "output", "assessment") and waits.state != "missing"
    own = _own_faults(blocker, issues) if is_detailed else []  # if something is missing, `why` says all
    return Parts(
        code=blocker.code,
        why=why[:1].upper() + why[1:],
        faults=tuple(spell_fault_in_words(issue) for issue in own if issue.message),
        fix=_write_fix(waits),
    )


def _write_fix(waits: WaitsFor) -> str:
    if waits.state == "declined":
        return AGENT_READS_IT
    if waits.kind == "give" and BY_PERSON.items() <= waits.values.items():
        return _GIVE_YOURSELF
    return _FIX.get(waits.kind, _AGENT_CORRECTS)


_SPELLED: Final = frozenset({"artifact", "assessment", "dimension", "capability", "operation"})


def in_words(name: str) -> str:
    """Return an id as words: `wr.changed_files` → `changed files`."""
    own = name.removeprefix("wr.")
    return " ".join(_NAMED.sub(" ", own).split()).lower()


def spell_fault_in_words(issue: Issue) -> str:
    """Return a fault with its place in words: `/files/0/change` → `files, entry 1, change`."""
    steps = [part for part in issue.pointer.replace(NOTES_PLACE, "/notes").split("/") if part]
    where = [f"entry {int(part) + 1}" if part.isdigit() else in_words(part) for part in steps]
    return f"{', '.join(where)}: {issue.message}" if where else issue.message


def spell_recorded_fault(line: str) -> str:
    """Return a fault as the log keeps it, `/files/0/why: it is missing`, with its place in words."""
    place, separator, message = line.partition(": ")
    is_placed = separator and place.startswith("/")
    return spell_fault_in_words(Issue(pointer=place, message=message)) if is_placed else line


def explain_gap(gap: GapRecorded, title: str = "") -> str:
    """Return a gap in words for a person: from what it waits for, or its recorded summary."""
    if gap.waits_for is None or gap.reason == "reported" or gap.waits_for.kind == "proof":
        return gap.summary
    blocker = ShownBlocker(code="", pointer={}, message=gap.summary, waits_for=gap.waits_for)
    return explain(blocker, (), "person", title).why


def explain_to_person(blocker: Blocker, issues: Sequence[Issue], title: str) -> Parts:
    """Return a recorded blocker in words for a person."""
    return explain(show_blocker(blocker), issues, "person", title)


def join_parts(parts: Parts) -> str:
    """Return the reason and all its faults as one paragraph."""
    return " ".join((parts.why, *parts.faults))
