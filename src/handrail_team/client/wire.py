"""What a team client and its server say to each other: who calls from where, what to look at, what was seen.

Everything is rows, because a file may be asked about in many ways. A path of the system may be no text; such
a string travels as its bytes, and arrives as it was.
"""

from __future__ import annotations

import base64
from typing import Any, TypeVar

import msgspec

from handrail.contract.catalogue import VERSION_UNSUPPORTED
from handrail.contract.ids import Autonomy, Confirmations, ObservationKey, RiskPolicy, SourceKind
from handrail.contract.outcome import Fault, Json
from handrail.contract.workflow_files import WorkflowFile
from handrail.ports.actions import Preview
from handrail.ports.checks import ProgramCall, ProgramEnd, ReportFile
from handrail.ports.trees import TakenTree, TreeChange
from handrail.ports.workspace import DeclaredCheck
from handrail.ports.worktree import LocatedFile, PlaceAsked, PlaceSeen
from handrail.version import __version__

PROTOCOL = 1
_BYTES = "bytes!"
_T = TypeVar("_T")


class _Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Shared options of rows; what a newer version adds is left alone."""


# What was seen


class PlaceRow(_Row, frozen=True, kw_only=True):
    asked: PlaceAsked
    seen: PlaceSeen


class FileRow(_Row, frozen=True, kw_only=True):
    text: str
    file: LocatedFile


class ChangesRow(_Row, frozen=True, kw_only=True):
    """What differs between two trees, by their ids; without changes, why nobody knows."""

    before: str
    after: str
    changes: tuple[TreeChange, ...] | None = None
    trouble: str = ""


class ChangedRow(_Row, frozen=True, kw_only=True):
    """The paths that differ from a tree by the times of the files; None: why nobody knows."""

    tree: str
    paths: tuple[str, ...] | None = None
    trouble: str = ""


class SeenTree(_Row, frozen=True, kw_only=True):
    """The files at one moment: names and ids, no contents."""

    taken: TakenTree
    names: bytes = b""
    """A git pack of what the commit does not have of it."""
    is_clean: bool = False


class ContentRow(_Row, frozen=True, kw_only=True):
    """What a workflow file holds now; None: that cannot be told."""

    source_kind: SourceKind
    source_ref: str
    content: bytes | None = None


class DirectoryRow(_Row, frozen=True, kw_only=True):
    """Where a program would start; without a path, why not."""

    asked: str
    path: str = ""
    trouble: str = ""


class ProgramRow(_Row, frozen=True, kw_only=True):
    """A program that ran here, what it printed, the report that it wrote, and the files afterwards."""

    call: ProgramCall
    end: ProgramEnd
    printed: bytes = b""
    report: ReportFile = ReportFile()
    tree: SeenTree | None = None


class ActionRow(_Row, frozen=True, kw_only=True):
    """What an action of ours answered, or why it did not."""

    operation: str
    params: dict[str, Json]
    preview: Preview | None = None
    result: dict[str, Json] | None = None
    code: str = ""
    message: str = ""
    hint: str = ""


class Sighting(_Row, frozen=True, kw_only=True):
    """Everything that a team client saw for one call."""

    places: tuple[PlaceRow, ...] = ()
    files: tuple[FileRow, ...] = ()
    tree: SeenTree | None = None
    tree_trouble: str = ""
    """Why there is no tree; both empty: nobody looked."""
    changes: tuple[ChangesRow, ...] = ()
    changed: tuple[ChangedRow, ...] = ()
    sources: tuple[WorkflowFile, ...] | None = None
    """The workflow files that do not come with the program; None: not sent."""
    contents: tuple[ContentRow, ...] = ()
    directories: tuple[DirectoryRow, ...] = ()
    programs: tuple[ProgramRow, ...] = ()
    actions: tuple[ActionRow, ...] = ()


# What is to be looked at


class TreePair(_Row, frozen=True, kw_only=True):
    before: str
    after: str
    packs: tuple[bytes, ...] = ()
    """What the server has of them."""


class SourceName(_Row, frozen=True, kw_only=True):
    source_kind: SourceKind
    source_ref: str


class ProgramOrder(_Row, frozen=True, kw_only=True):
    call: ProgramCall
    report: str = ""
    """The file in which it counts its tests."""


class ActionOrder(_Row, frozen=True, kw_only=True):
    operation: str
    params: dict[str, Json]
    preview: Preview | None = None
    """The plan that it writes; None: it only asks."""


class LookOrder(_Row, frozen=True, kw_only=True):
    """What a call needs to have seen before it can be decided. It is recorded nowhere and holds no lock."""

    request_state: str = ""
    """To be sent back with the sighting; of this call alone."""
    paths: tuple[PlaceAsked, ...] = ()
    files: tuple[str, ...] = ()
    tree: bool = False
    compare: tuple[TreePair, ...] = ()
    changed: tuple[str, ...] = ()
    sources: bool = False
    contents: tuple[SourceName, ...] = ()
    directories: tuple[str, ...] = ()
    checks: tuple[ProgramOrder, ...] = ()
    actions: tuple[ActionOrder, ...] = ()


# The call


class KnownRow(_Row, frozen=True, kw_only=True):
    """What the machine knows of one declaration of a check."""

    digest: str
    is_approved: bool = False
    was_run: bool = False
    duration_ms: int | None = None


class Surroundings(_Row, frozen=True, kw_only=True):
    """Where a call comes from: the project, what it declares, and the program that asks."""

    machine: str
    version: str
    client: str = ""
    worker: str = ""
    can_ask: bool = False
    project: str
    """The directory, as the machine names it; the server never opens it."""
    identity: str = ""
    observations: dict[ObservationKey, str] = {}
    checks: tuple[DeclaredCheck, ...] = ()
    known_checks: tuple[KnownRow, ...] = ()
    confirmations: Confirmations = "claimed"
    looking: str = "git"
    autonomy: Autonomy | None = None
    risk_policy: RiskPolicy | None = None
    start_session: bool = False


class ClientCall(_Row, frozen=True, kw_only=True):
    """One call of a team client; its repeats have the same `call_id`."""

    protocol: int = PROTOCOL
    call_id: str
    operation: str
    params: dict[str, Json]
    ask: dict[str, Json] = {}
    needs_key: bool = False
    here: Surroundings
    request_state: str = ""
    sighting: Sighting = Sighting()


class ClientAnswer(_Row, frozen=True, kw_only=True):
    """The outcome, or what to look at first."""

    version: str
    outcome: dict[str, Json] | None = None
    look_first: LookOrder | None = None


# Strings that are no text


def to_wire(value: object) -> bytes:
    """The message as JSON."""
    return msgspec.json.encode(_wrap(msgspec.to_builtins(value)))


def from_wire(content: bytes, kind: type[_T]) -> _T:
    """The message again. Raises msgspec.MsgspecError for what is none."""
    return msgspec.convert(_unwrap(msgspec.json.decode(content)), kind)


def _wrap(value: Any) -> Any:
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return {_BYTES: base64.b64encode(value.encode("utf-8", "surrogateescape")).decode()}
            return value
        case dict():
            return {name: _wrap(held) for name, held in value.items()}
        case list() | tuple():
            return [_wrap(held) for held in value]
        case _:
            return value


def _unwrap(value: Any) -> Any:
    match value:
        case {"bytes!": str() as held, **rest} if not rest:
            try:
                return base64.b64decode(held, validate=True).decode("utf-8", "surrogateescape")
            except ValueError as trouble:
                raise msgspec.ValidationError("bytes that are no base64") from trouble
        case dict():
            return {name: _unwrap(held) for name, held in value.items()}
        case list():
            return [_unwrap(held) for held in value]
        case _:
            return value


# Versions: those of one major version go together


def require_same_major(other: str, whose: str) -> None:
    """Raises Fault VERSION_UNSUPPORTED unless both have the same major version."""
    own = __version__.partition(".")[0]
    if other.partition(".")[0] == own:
        return
    raise Fault(
        VERSION_UNSUPPORTED,
        f"The team client and the server have different versions: {__version__} here, {other} there.",
        details={"requested": other[:40], "supported": [__version__]},
        hint=f"Update the older one: {whose} with handrail update.",
    )
