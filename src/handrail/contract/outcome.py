"""What an operation returns before an interface renders it: an Outcome, a Success or a Failure.
Pure.

Errors are raised as a Fault and become a Failure in one place. `Commits` records what a call has
changed permanently: from then on, no error can turn its answer into a failure.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from handrail.contract.catalogue import INTERNAL_ERROR, VALIDATION_ERROR, Kind

# Payload styles


class Payload(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A payload whose names EXEC defines: camelCase on the wire; fields are only ever added."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Any other payload: snake_case, with every key always present."""


_S = TypeVar("_S", bound=msgspec.Struct)


def make_from(kind: type[_S], /, *held: msgspec.Struct, **own: Any) -> _S:
    """Return a record with the given fields, and the remaining ones from other records that have the same
    names; the first record with a name provides it.
    """
    for one in held:
        shared = (name for name in kind.__struct_fields__ if name in one.__struct_fields__)
        own |= {name: getattr(one, name) for name in shared if name not in own}
    return kind(**own)


# Outcomes

Json: TypeAlias = Any
"""A decoded JSON value: dict, list, str, int, float, bool or None."""

UNTRUSTED = "_untrusted"
"""The key of a payload that lists its fields with text from outside."""
MESSAGE_LIMIT = 1024
HINT_LIMIT = 512


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a list. `items` are its rows; the interface creates the cursor."""

    items: tuple[Json, ...]
    list_key: str = "items"
    """Name of the rows in the payload. Another name means a document with its own shape: no `count`
    is added.
    """
    sort_keys: tuple[tuple[str, ...], ...] = ()
    """One stable sort key per item, the id last; a cursor continues after the last item shown."""
    style: Literal["cursor", "offset", "none"] = "cursor"
    """`none` for a short list without further pages; if it is cut it says `truncated`."""
    limit: int = 50
    offset: int = 0
    has_more: bool = False
    total: int | None = None
    truncated: bool = False
    is_whole: bool = False
    """Whether the payload is about exactly these rows, so that a budget repeats the query instead
    of cutting.
    """
    next_cursor: str | None = None
    """The cursor, created after disclosure, when the last item that is really sent is known."""


WITH_DEPRECATIONS: frozenset[str] = frozenset()
"""The operations that have entries in `deprecations`: other calls need not load the table."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A fact besides the payload, about the context or the disclosure: `meta.notices` or LAFS
    `_meta.warnings`.
    """

    type: str
    message: str
    severity: Literal["info", "warning"] = "info"
    extra: dict[str, Json] = {}


class LedgerRef(msgspec.Struct, frozen=True, kw_only=True):
    """Version of the run's context ledger when the outcome was recorded."""

    ledger_id: str
    version: int
    previous_version: int


class NextCall(msgspec.Struct, frozen=True, kw_only=True):
    """The exact next call; each surface spells it as a tool call, a command line or a route."""

    operation: str
    params: dict[str, Json] = {}


class Success(msgspec.Struct, frozen=True, kw_only=True):
    """A payload. `data` keeps its key order and is never a scalar (LAFS section 6)."""

    data: dict[str, Json] | list[Json]
    page: Page | None = None
    notices: tuple[Notice, ...] = ()
    ledger: LedgerRef | None = None
    disclosure: Literal["minimal", "standard", "full", "custom"] = "standard"
    """The level that `disclose` sets, which LAFS reports as `_meta.mvi`."""
    extensions: dict[str, Json] = {}
    """LAFS `_extensions` of this outcome, `x-token-estimate` after a cut."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An error with a row of the catalogue. It has no payload; known facts are in `details`."""

    kind: Kind
    message: str
    details: dict[str, Json] = {}
    hint: str = ""
    next_call: NextCall | None = None
    retry_after_ms: int | None = None

    def __post_init__(self) -> None:
        unknown = set(self.details) - set(self.kind.details)
        assert not unknown, f"{self.kind.code} does not allow the detail keys {sorted(unknown)}"
        assert 1 <= len(self.message) <= MESSAGE_LIMIT, "a failure message has 1 to 1024 characters"
        assert len(self.hint) <= HINT_LIMIT, "a hint has at most 512 characters"


Outcome: TypeAlias = Success | Failure


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about one call that the runtime adds; never part of an Outcome."""

    operation: str
    request_id: str
    at: str
    duration_ms: int = 0
    transport: Literal["cli", "http", "grpc", "sdk"] = "cli"
    session_id: str = ""
    notices: tuple[Notice, ...] = ()
    """Notices for every answer of this call, success or failure."""


class Fault(Exception):
    """An error that a caller can cause or meet; the runtime turns it into a Failure, once."""

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        details: dict[str, Json] | None = None,
        hint: str = "",
        next_call: NextCall | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(f"{kind.code}: {message}")
        self.kind = kind
        self.message = message
        self.details = details or {}
        self.hint = hint
        self.next_call = next_call
        self.retry_after_ms = retry_after_ms


def refuse_argument(
    message: str,
    param: str,
    problem: str,
    expected: str = "",
    *,
    kind: Kind = VALIDATION_ERROR,
    hint: str = "",
    next_call: NextCall | None = None,
    **details: Json,
) -> Fault:
    """Return the refusal of one argument: what is wrong with it, and what would be accepted."""
    row = {"param": param, "problem": problem} | ({"expected": expected} if expected else {})
    return Fault(kind, message, details={"problems": [row], **details}, hint=hint, next_call=next_call)


class PartlyDone(Fault):
    """An error in the middle of a batch; its details say which parts are done and stay done."""


def failure_of(fault: Fault) -> Failure:
    """Return the Failure that a Fault stands for."""
    return Failure(**{name: getattr(fault, name) for name in Failure.__struct_fields__})


def success_of(outcome: Outcome) -> Success:
    """Return the success, or raise the Fault for a failure."""
    if isinstance(outcome, Success):
        return outcome
    raise Fault(**msgspec.structs.asdict(outcome))


def failure_of_defect(defect: Exception, incident: str) -> Failure:
    """Return the Failure for an unforeseen exception; its traceback is kept under the incident."""
    details: dict[str, Json] = {"incident": incident} if incident else {}
    if _is_out_of_memory(defect):
        return Failure(
            kind=INTERNAL_ERROR,
            message="There is not enough memory for this call.",
            details=details,
            hint="Free memory or raise the limit of this process, then send the same call again.",
        )
    return Failure(kind=INTERNAL_ERROR, message="Handrail hit an unexpected error.", details=details)


def _is_out_of_memory(defect: Exception) -> bool:
    """Whether memory ran out. Python raises its own class, the system a number (ENOMEM), the import system
    a text.
    """
    match defect:
        case MemoryError() | OSError(errno=12):
            return True
        case ImportError():
            return "map segment" in str(defect) or "allocate memory" in str(defect)
        case _:
            return False


# Answers after a commit

STAND_IN = "reply_not_built"
"""Type of the notice on an answer whose reply could not be built."""
DONE = "The change is made and stored, but its answer could not be built."


class Commits:
    """What one call has changed, as far as its answer depends on it."""

    def __init__(self) -> None:
        self.reads_back: NextCall | None = None
        """The call that reads the change; None while nothing has changed."""
        self.notify: Any = None
        """Who gets a notice about it; None if there is none."""
        self.is_sent = False
        """Whether a team server has received the call but not answered, so that only it knows what
        it changed.
        """

    @property
    def is_made(self) -> bool:
        return self.reads_back is not None

    def note(self, reads_back: NextCall) -> None:
        """Record that something was changed, and the call that reads it."""
        self.reads_back = reads_back


def make_stand_in(commits: Commits, *, cause: str = "", incident: str = "") -> Success:
    """Return the answer that replaces a reply which could not be built: which call reads the change."""
    following = commits.reads_back
    assert following is not None, "only a change that was made is answered this way"
    read: dict[str, Json] = {"operation": following.operation, "params": following.params}
    message = f"{DONE} Do not repeat the call; read what is there with {following.operation}."
    why = {"cause": cause, "incident": incident}
    extra: dict[str, Json] = {name: value for name, value in why.items() if value}
    notice = Notice(type=STAND_IN, message=message, severity="warning", extra=extra)
    return Success(data={"committed": True, "message": message, "read": read}, notices=(notice,))


def is_stand_in(success: Success) -> bool:
    return any(notice.type == STAND_IN for notice in success.notices)


def spell_reading_call(success: Success, call: str) -> Success:
    """Return the same answer, with the reading call in the spelling of one surface."""
    assert isinstance(success.data, dict), "such an answer is an object"
    message = f"{DONE} Do not repeat the call; read what is there with: {call}"
    notices = tuple(
        msgspec.structs.replace(one, message=message) if one.type == STAND_IN else one
        for one in success.notices
    )
    read = {**success.data["read"], "call": call}
    return msgspec.structs.replace(
        success, data={**success.data, "message": message, "read": read}, notices=notices
    )
