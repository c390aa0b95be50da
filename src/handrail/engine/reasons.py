"""Why a report is not accepted as it is: one closed set of reasons, with two forms. Pure.

A blocking mode shows a reason as a blocker, `full_auto_never_stop` records it as a critical gap. Only
`consequence` decides which.
"""

from typing import Any, Final, Literal, TypeAlias

import msgspec

from handrail.contract.ids import Autonomy

MOST_BLOCKERS = 10
MOST_LEFT_OUT = 100
"""Limit for the reasons beyond these ten that a blocked reply lists among its faults."""
MOST_ISSUES_IN_FULL = 10
MOST_ISSUES_SHOWN = 100
MESSAGE_BYTES = 512
LEFT_OUT_BYTES = 200
"""Limit in bytes for the message of a reason beyond the ten."""
FIX_BYTES = 1_024

Purpose: TypeAlias = Literal["retry", "fork", "checkpoint", "notes", "go_on", "preview", "other_run"]
"""The purpose of the call of a warning."""

ReasonName: TypeAlias = Literal[
    "user_only_dependency:needs_user_secret_or_token",
    "user_only_dependency:needs_user_account_access",
    "user_only_dependency:needs_user_artifact",
    "user_only_dependency:needs_user_choice",
    "user_only_dependency:needs_user_approval",
    "user_only_dependency:needs_user_environment_action",
    "contract_violation:missing_required_output",
    "contract_violation:invalid_required_output",
    "capability_missing:required_capability_unknown",
    "capability_missing:required_capability_unavailable",
    "unexpected:invariant_violation",
    "unexpected:storage_corruption_detected",
]
BlockerCode: TypeAlias = Literal[
    "USER_ONLY_DEPENDENCY",
    "MISSING_REQUIRED_OUTPUT",
    "INVALID_REQUIRED_OUTPUT",
    "REQUIRED_CAPABILITY_UNKNOWN",
    "REQUIRED_CAPABILITY_UNAVAILABLE",
    "INVARIANT_VIOLATION",
    "STORAGE_CORRUPTION_DETECTED",
]

BLOCKER_CODES: dict[ReasonName, BlockerCode] = {
    "user_only_dependency:needs_user_secret_or_token": "USER_ONLY_DEPENDENCY",
    "user_only_dependency:needs_user_account_access": "USER_ONLY_DEPENDENCY",
    "user_only_dependency:needs_user_artifact": "USER_ONLY_DEPENDENCY",
    "user_only_dependency:needs_user_choice": "USER_ONLY_DEPENDENCY",
    "user_only_dependency:needs_user_approval": "USER_ONLY_DEPENDENCY",
    "user_only_dependency:needs_user_environment_action": "USER_ONLY_DEPENDENCY",
    "contract_violation:missing_required_output": "MISSING_REQUIRED_OUTPUT",
    "contract_violation:invalid_required_output": "INVALID_REQUIRED_OUTPUT",
    "capability_missing:required_capability_unknown": "REQUIRED_CAPABILITY_UNKNOWN",
    "capability_missing:required_capability_unavailable": "REQUIRED_CAPABILITY_UNAVAILABLE",
    "unexpected:invariant_violation": "INVARIANT_VIOLATION",
    "unexpected:storage_corruption_detected": "STORAGE_CORRUPTION_DETECTED",
}


class PointerShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind"):
    """Shared options of pointers: tagged by `kind`, with the field names of EXEC `blockers[].pointer`."""


class ContextKey(PointerShape, frozen=True, kw_only=True, tag="context_key"):
    key: str


class ContextBudget(PointerShape, frozen=True, kw_only=True, tag="context_budget"):
    """The context as a whole."""


class OutputContract(PointerShape, frozen=True, kw_only=True, tag="output_contract"):
    contract_ref: str


class CapabilityPointer(PointerShape, frozen=True, kw_only=True, tag="capability"):
    capability: str


class WorkflowStep(PointerShape, frozen=True, kw_only=True, tag="workflow_step"):
    step_id: str


Pointer: TypeAlias = ContextKey | ContextBudget | OutputContract | CapabilityPointer | WorkflowStep


AskKind: TypeAlias = Literal["confirm", "choose", "give", "allow_write"]
"""What a person is asked for: approval of a report, an option, a value, approval of a write."""
WaitKind: TypeAlias = (
    AskKind | Literal["notes", "output", "assessment", "check", "proof", "context", "capability", "action"]
)
WaitState: TypeAlias = Literal[
    "missing", "invalid", "not_asked", "follow_up", "unknown", "unavailable", "declined", "another_report"
]
"""`not_asked`: an invalid artifact was not required. `follow_up`: it is valid, and other work has to come
first.
"""


class WaitsFor(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What would remove a reason, as data. Each reader gets text made from it; no text is parsed back."""

    kind: WaitKind
    state: WaitState = "missing"
    values: dict[str, str] = {}
    """Values that the text needs: the name of a step, a contract, a command, an option."""


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that prevents acceptance."""

    name: ReasonName
    pointer: Pointer
    waits_for: WaitsFor
    message: str
    fix: str = ""
    is_retryable: bool = True
    """Whether a corrected call can remove it."""
    example: dict[str, Any] | None = None
    """An artifact that would have been accepted."""
    capability: str = ""
    """The capability that the reason is about: an observation that it works resolves the gap."""


class Blocker(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A reason in the form of EXEC, as the log keeps it."""

    code: BlockerCode
    pointer: Pointer
    message: str
    suggested_fix: str = ""
    waits_for: WaitsFor | None = None
    """Missing in logs of older versions."""

    def __post_init__(self) -> None:
        assert len(self.message.encode()) <= MESSAGE_BYTES, "a blocker's message has at most 512 bytes"
        assert len(self.suggested_fix.encode()) <= FIX_BYTES, "a blocker's fix has at most 1024 bytes"


class Issue(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One fault of a report. Beyond the first few, a reply only gives the place: `message` is empty then."""

    contract_ref: str = ""
    """The contract that is not met; empty for the rules of the step."""
    pointer: str = ""
    """The place in the artifact, a JSON Pointer; `/notesMarkdown` for the notes."""
    message: str = ""


class InputProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One key of a context that is refused: the report is not judged then."""

    key: str
    problem: str
    expected: str
    got: str = ""
    """The value, shortened; empty if there is none, or if it belongs to another owner."""


class Proceed(msgspec.Struct, frozen=True, kw_only=True):
    """The run goes on; every reason becomes a critical gap."""

    gaps: tuple[Reason, ...]


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """The run stays; the first reasons are shown as blockers, the others are listed beside them."""

    reasons: tuple[Reason, ...]
    """All reasons, in the order of EXEC."""


def consequence(reasons: tuple[Reason, ...], autonomy: Autonomy, title: str = "") -> Proceed | Block:
    """Return what reasons do in a mode: never-stop discloses them and goes on, the other modes block.

    A gap outlives its step, so it keeps the `title` for its readers.
    """
    ordered = tuple(sorted(reasons, key=_order))
    if not reasons or autonomy == "full_auto_never_stop":
        return Proceed(gaps=tuple(name_step(one, title) for one in ordered))
    return Block(reasons=ordered)


def name_step(reason: Reason, title: str) -> Reason:
    """Return the reason with the title of its step among its values, for the words that people read."""
    waits = reason.waits_for
    named = msgspec.structs.replace(waits, values=waits.values | {"title": title})
    return msgspec.structs.replace(reason, waits_for=named) if title else reason


def blocker_of(reason: Reason) -> Blocker:
    """Return the reason as a blocker."""
    return Blocker(
        code=BLOCKER_CODES[reason.name],
        pointer=reason.pointer,
        message=reason.message,
        suggested_fix=reason.fix,
        waits_for=reason.waits_for,
    )


_CONFIRM, _CHOOSE = WaitsFor(kind="confirm"), WaitsFor(kind="choose")
_EARLIER_NAME: Final = "run confirm"
"""What `run answer` was called when these sentences were recorded."""
_RECORDED_FIXES = {
    f"Ask the user to run `handrail {_EARLIER_NAME}` in a terminal, then make the call in nextCall "
    "again.": _CONFIRM,
    "Make the call in nextCall with nothing new in it, or ask the user to run "
    f"`handrail {_EARLIER_NAME}` for this report first.": WaitsFor(kind="confirm", state="another_report"),
    "Show the user what you did and ask for the confirmation, then make the call in nextCall.": _CONFIRM,
    "Ask the user yourself; if they agree, make the call in nextCall, which counts as your word.": _CONFIRM,
    "Ask the user what to change, and change it; then make the call in nextCall. If it is refused again, the "
    f"user says yes with `handrail {_EARLIER_NAME}` in a terminal first.": WaitsFor(
        kind="confirm", state="declined"
    ),
    "Ask the user yourself, then make the call of the option that they take.": _CHOOSE,
}
"""Sentences that show, in logs of older versions, that a person was asked; those logs have no other sign of
it.
"""


def wait_of(blocker: Blocker) -> WaitsFor | None:
    """Return what a recorded blocker waits for, or None if it is of an older log and waits for no person."""
    return blocker.waits_for or _RECORDED_FIXES.get(blocker.suggested_fix)


BY_PERSON = {"by": "person"}
"""Values of a wait that nothing sent by an agent can end."""


def waits_for_run(blocker: Blocker) -> bool:
    """Whether the report is kept as it is, and only a command still has to run."""
    waits = blocker.waits_for
    return waits is not None and waits.kind == "proof"


def waits_for_person(blocker: Blocker) -> bool:
    """Whether only a person can answer, so that a retry has nothing to send for it."""
    return blocker.waits_for is not None and BY_PERSON.items() <= blocker.waits_for.values.items()


def select_blockers(reasons: tuple[Reason, ...]) -> tuple[Blocker, ...]:
    """Return as many blockers as EXEC allows in a reply."""
    return tuple(map(blocker_of, reasons[:MOST_BLOCKERS]))


def list_hidden_blockers(reasons: tuple[Reason, ...]) -> tuple[Blocker, ...]:
    """Return the reasons beyond that limit, shortened. One of each code and place comes first, so no limit
    hides any.
    """
    firsts: list[Blocker] = []
    repeats: list[Blocker] = []
    seen: set[tuple[str, Pointer]] = set()
    for reason in reasons[MOST_BLOCKERS:]:
        code = BLOCKER_CODES[reason.name]
        short = Blocker(
            code=code,
            pointer=reason.pointer,
            message=shorten_message(reason.message, LEFT_OUT_BYTES),
            waits_for=reason.waits_for,
        )
        (repeats if (code, reason.pointer) in seen else firsts).append(short)
        seen.add((code, reason.pointer))
    return (*firsts, *repeats)[:MOST_LEFT_OUT]


def shorten_issues(issues: tuple[Issue, ...]) -> tuple[Issue, ...]:
    """Return the faults as a reply shows them: the first in full, others by their place, the rest counted."""
    full, others = issues[:MOST_ISSUES_IN_FULL], issues[MOST_ISSUES_IN_FULL:MOST_ISSUES_SHOWN]
    pointed = dict.fromkeys(Issue(contract_ref=held.contract_ref, pointer=held.pointer) for held in others)
    rest = len(issues) - MOST_ISSUES_SHOWN
    return (*full, *pointed, *((Issue(message=f"{rest} more faults."),) if rest > 0 else ()))


def issue_of(blocker: Blocker) -> Issue:
    """Return a reason as a fault, for a reason that exceeds the limit of the blockers."""
    ref = blocker.pointer.contract_ref if isinstance(blocker.pointer, OutputContract) else ""
    return Issue(contract_ref=ref, message=blocker.message)


def shorten_message(text: str, limit: int = MESSAGE_BYTES) -> str:
    """Return text from outside, shortened between characters so that a blocker can hold it."""
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return encoded[: limit - 3].decode(errors="ignore") + "…"


def _order(reason: Reason) -> tuple[str, ...]:
    """Return the sort key of EXEC `blockers[]`: code, pointer kind, pointer fields."""
    pointer = msgspec.to_builtins(reason.pointer)
    kind = pointer.pop("kind")
    return (BLOCKER_CODES[reason.name], kind, *pointer.values(), reason.message)
