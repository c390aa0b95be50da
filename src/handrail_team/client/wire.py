"""The messages between a team client and its server: the call, the facts asked for, the facts sent.

Facts are rows, because one call can ask several questions about a file. A path that is not valid text travels
as bytes and arrives unchanged.
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
    """Shared options of rows. Fields of a newer version are ignored."""


# Facts


class PlaceRow(_Row, frozen=True, kw_only=True):
    asked: PlaceAsked
    seen: PlaceSeen


class FileRow(_Row, frozen=True, kw_only=True):
    text: str
    file: LocatedFile


class ChangesRow(_Row, frozen=True, kw_only=True):
    """The differences between two trees. `trouble` says why there are none to show."""

    before: str
    after: str
    changes: tuple[TreeChange, ...] | None = None
    trouble: str = ""


class ChangedRow(_Row, frozen=True, kw_only=True):
    """Paths that changed since a tree, by file times. `trouble` says why there are none to show."""

    tree: str
    paths: tuple[str, ...] | None = None
    trouble: str = ""


class TreeRow(_Row, frozen=True, kw_only=True):
    """A file snapshot: names and ids, no contents."""

    taken: TakenTree
    names: bytes = b""
    """A git pack of what the commit does not have of it."""
    is_clean: bool = False


class ContentRow(_Row, frozen=True, kw_only=True):
    """The present content of a workflow file; None: it cannot be read."""

    source_kind: SourceKind
    source_ref: str
    content: bytes | None = None


class DirectoryRow(_Row, frozen=True, kw_only=True):
    """The directory a program would start in. Without a path, `trouble` says why."""

    asked: str
    path: str = ""
    trouble: str = ""


class ProgramRow(_Row, frozen=True, kw_only=True):
    """A program that ran on the client: its output, its report file, and the files afterwards."""

    call: ProgramCall
    end: ProgramEnd
    printed: bytes = b""
    report: ReportFile = ReportFile()
    tree: TreeRow | None = None


class ActionRow(_Row, frozen=True, kw_only=True):
    """The result of an action, or its error."""

    operation: str
    params: dict[str, Json]
    preview: Preview | None = None
    result: dict[str, Json] | None = None
    code: str = ""
    message: str = ""
    hint: str = ""


class ClientFacts(_Row, frozen=True, kw_only=True):
    """All facts that a team client gathered for one call."""

    places: tuple[PlaceRow, ...] = ()
    files: tuple[FileRow, ...] = ()
    tree: TreeRow | None = None
    tree_trouble: str = ""
    """Why there is no tree. If both are empty, no tree was asked for."""
    changes: tuple[ChangesRow, ...] = ()
    changed: tuple[ChangedRow, ...] = ()
    sources: tuple[WorkflowFile, ...] | None = None
    """The workflow files that do not come with the program; None: not sent."""
    contents: tuple[ContentRow, ...] = ()
    directories: tuple[DirectoryRow, ...] = ()
    programs: tuple[ProgramRow, ...] = ()
    actions: tuple[ActionRow, ...] = ()


# Facts that the server asks for


class TreePair(_Row, frozen=True, kw_only=True):
    before: str
    after: str
    packs: tuple[bytes, ...] = ()
    """Git packs that the server has of them."""


class SourceName(_Row, frozen=True, kw_only=True):
    source_kind: SourceKind
    source_ref: str


class ProgramOrder(_Row, frozen=True, kw_only=True):
    call: ProgramCall
    report: str = ""
    """The file in which the program counts its tests."""


class ActionOrder(_Row, frozen=True, kw_only=True):
    operation: str
    params: dict[str, Json]
    preview: Preview | None = None
    """The plan to apply; None: only preview."""


class FactsOrder(_Row, frozen=True, kw_only=True):
    """Facts that a call needs before it can be decided. Asking records nothing and holds no lock."""

    request_state: str = ""
    """Sent back with the facts; valid only for this call."""
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
    """One declared check as the client knows it."""

    digest: str
    is_approved: bool = False
    was_run: bool = False
    duration_ms: int | None = None


class Surroundings(_Row, frozen=True, kw_only=True):
    """Where a call comes from: the project, its settings, and the calling program."""

    machine: str
    version: str
    client: str = ""
    worker: str = ""
    can_ask: bool = False
    project: str
    """The directory's path on the client; the server never opens it."""
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
    """One call of a team client. Repeats have the same `call_id`."""

    protocol: int = PROTOCOL
    call_id: str
    operation: str
    params: dict[str, Json]
    ask: dict[str, Json] = {}
    needs_key: bool = False
    here: Surroundings
    request_state: str = ""
    facts: ClientFacts = ClientFacts()


class ClientAnswer(_Row, frozen=True, kw_only=True):
    """The outcome, or the facts to send first."""

    version: str
    outcome: dict[str, Json] | None = None
    facts_first: FactsOrder | None = None


# Strings that are not valid text


def to_wire(value: object) -> bytes:
    """Return the message as JSON."""
    return msgspec.json.encode(_wrap(msgspec.to_builtins(value)))


def from_wire(content: bytes, kind: type[_T]) -> _T:
    """Return the decoded message. Raises msgspec.MsgspecError if it does not fit `kind`."""
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
                raise msgspec.ValidationError("invalid base64") from trouble
        case dict():
            return {name: _unwrap(held) for name, held in value.items()}
        case list():
            return [_unwrap(held) for held in value]
        case _:
            return value


# Versions


def require_same_major(other: str, side: str) -> None:
    """Raise Fault VERSION_UNSUPPORTED unless both have the same major version."""
    own = __version__.partition(".")[0]
    if other.partition(".")[0] == own:
        return
    raise Fault(
        VERSION_UNSUPPORTED,
        f"The team client and the server have different versions: {__version__} here, {other} there.",
        details={"requested": other[:40], "supported": [__version__]},
        hint=f"Run handrail update on the older side ({side}).",
    )
