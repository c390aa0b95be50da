"""Ports for a team client's call: each answers from the facts that the client sent.

The server opens no project file and starts no program. If a fact is missing, the port raises `FactsDue`: it
leaves the operation without a lock or a record; the client then repeats the call with that fact. Repeats must
be identical, so random bytes are derived from the id of the call.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NoReturn, cast

import msgspec

from handrail.contract.catalogue import E_VALIDATION, KINDS, RESULTS_STALE
from handrail.contract.ids import ObservationKey, SourceKind
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault, Json, make_from, refuse_argument
from handrail.contract.workflow_files import WorkflowFile
from handrail.ports.actions import Preview
from handrail.ports.checks import KnownCheck, NoChecksKnown, ProgramCall, ProgramEnd, ReportFile
from handrail.ports.process import Randomness
from handrail.ports.server import FactsDue
from handrail.ports.trees import (
    CHANGED_SECONDS,
    MOST_READ_BYTES,
    TAKE_SECONDS,
    GitEntry,
    TakenTree,
    TreeChange,
    UnseenTrees,
)
from handrail.ports.workspace import (
    DeclaredCheck,
    DesiredSettings,
    NamedWorkspace,
    SettingProblem,
    Settings,
    SettingsFiles,
    WorkflowLibrary,
)
from handrail.ports.worktree import LocatedFile, PlaceAsked, PlaceSeen, Unseen, UnseenWorktree
from handrail.runtime.runtime import NO_PLACES, Runtime
from handrail_team.client.wire import (
    ActionOrder,
    ActionRow,
    ClientCall,
    FactsOrder,
    ProgramOrder,
    SourceName,
    Surroundings,
    TreePair,
)

DECLARED_ON: Final = " (declared on {})"
"""Suffix of the name of a workflow file that came from a client."""
_LOOKING: Final = ("git", "always", "off")


def enter_client(runtime: Runtime, call: ClientCall) -> Runtime:
    """Return the runtime for a client's call: the server's store and keys, the client's facts."""
    here, account = call.here, runtime.workspace.account()
    worktree = SentWorktree(call)
    trees = SentTrees(call)
    programs = SentPrograms(call, trees)
    known = SentKnownChecks(here)
    return msgspec.structs.replace(
        runtime,
        workspace=SentWorkspace(here, account),
        settings=SentSettings(runtime.settings, here),
        library=SentLibrary(runtime.library, call),
        worktree=lambda: worktree,
        trees=lambda: trees,
        places=NO_PLACES,
        check_programs=lambda: programs,
        known_checks=lambda: known,
        actions=lambda operation, params: SentAction(call, operation, params),
        randomness=CallRandomness(runtime.randomness, runtime.keys.request_key(), call.call_id),
        client=here.client,
        can_ask=here.can_ask,
        team_client=here.machine,
        is_served=False,
        trees_due=[],
    )


def _ask(**wanted: Any) -> NoReturn:
    raise FactsDue(FactsOrder(**wanted))


class CallRandomness:
    """Random bytes that are the same in every repeat of a call and unpredictable without the key."""

    def __init__(self, chance: Randomness, key: bytes, call_id: str) -> None:
        self._chance = chance
        self._seed = hmac.digest(key, b"handrail.team_client\0" + call_id.encode(), "sha256")
        self._drawn = 0

    def bytes(self, count: int) -> bytes:
        self._drawn += 1
        return hashlib.shake_256(self._seed + self._drawn.to_bytes(8)).digest(count)


class SentWorkspace(NamedWorkspace):
    """The workspace of the client's machine."""

    def __init__(self, here: Surroundings, account: str) -> None:
        super().__init__(account)
        self._here = here

    def project(self, asked: str) -> str:
        del asked  # the client has resolved the directory
        return f"{self._here.machine}:{self._here.project}"

    def observations(self, project: str) -> dict[ObservationKey, str]:
        del project
        return dict(self._here.observations)

    def identity(self, project: str) -> str:
        del project
        return self._here.identity

    def worker(self) -> str:
        return self._here.worker


class SentSettings:
    """`ports.SettingsFiles` with the client's project and user settings, and the server's limits."""

    def __init__(self, own: SettingsFiles, here: Surroundings) -> None:
        self._own = own
        self._here = here

    def of(self, project: str = "") -> Settings:
        del project
        here, own = self._here, self._own.of()
        insists = here.confirmations == "person"
        looking = here.looking if here.looking in _LOOKING else "off"
        return msgspec.structs.replace(
            own,
            checks=here.checks,
            confirmations="person" if insists else own.confirmations,
            confirmations_from="user" if insists else own.confirmations_from,
            looking=cast(Literal["git", "always", "off"], looking),
            snapshots="off",  # contents of files stay where they are
            autonomy=here.autonomy,
            risk_policy=here.risk_policy,
            start_session=here.start_session,
        )

    def problems(self, project: str = "") -> tuple[SettingProblem, ...]:
        del project
        return ()

    def read_checks(self, content: bytes) -> tuple[DeclaredCheck, ...]:
        return self._own.read_checks(content)

    def desired(self, project: str = "") -> DesiredSettings:
        return self._own.desired(project)

    def keep(self, changes: Mapping[str, Json], held: Mapping[str, Json]) -> bool:
        return self._own.keep(changes, held)

    def check(self, changes: Mapping[str, Json]) -> None:
        self._own.check(changes)


class ServersSettings:
    """`ports.SettingsFiles` of a server, read-only: only its operator can change them."""

    def __init__(self, own: SettingsFiles) -> None:
        self.of = own.of
        self.problems = own.problems
        self.desired = own.desired
        self.read_checks = own.read_checks

    def keep(self, changes: Mapping[str, Json], held: Mapping[str, Json]) -> bool:
        del changes, held
        message = "Settings and preferences of a user belong to their machine."
        raise Fault(
            E_VALIDATION,
            message,
            details={"param": "session"},
            hint="Set them there, or name a session of the team.",
        )

    def check(self, changes: Mapping[str, Json]) -> None:
        self.keep(changes, {})


_SERVERS: Final = ("bundled", "user")
"""Sources for which the server has its own files: bundled ones, and those of its operator."""


class SentLibrary:
    """`ports.WorkflowLibrary` with the server's files and those that the client sent."""

    def __init__(self, own: WorkflowLibrary, call: ClientCall) -> None:
        self._own = own
        self._call = call
        self._mark = DECLARED_ON.format(call.here.machine)

    def files(self, project: str) -> Sequence[WorkflowFile]:
        sent = self._call.facts.sources
        if sent is None:
            _ask(sources=True)
        own = [file for file in self._own.files(project) if file.source_kind in _SERVERS]
        # The summary and the decoded form are only stated by the client, so the server reads the content.
        declared = [
            msgspec.structs.replace(file, source_ref=file.source_ref + self._mark, summary=b"", decoded=b"")
            for file in sent
            if file.source_kind != "bundled"
        ]
        return [*own, *declared]

    def content_now(self, project: str, source_kind: SourceKind, source_ref: str) -> bytes | None:
        if source_kind in _SERVERS and not source_ref.endswith(self._mark):
            return self._own.content_now(project, source_kind, source_ref)
        if not source_ref.endswith(self._mark):
            return None
        name = source_ref.removesuffix(self._mark)
        for row in self._call.facts.contents:
            if (row.source_kind, row.source_ref) == (source_kind, name):
                return row.content
        _ask(contents=(SourceName(source_kind=source_kind, source_ref=name),))

    def named_files(self, directory: str, project: str) -> Sequence[WorkflowFile]:
        del directory, project
        return ()

    def refused_file(self, path: str, project: str) -> WorkflowFile | None:
        del path, project
        return None


class SentWorktree(UnseenWorktree):
    """`ports.Worktree` from the client's facts. File contents are not sent."""

    def __init__(self, call: ClientCall) -> None:
        seen = call.facts
        self._places = {row.asked: row.seen for row in seen.places}
        self._files = {row.text: row.file for row in seen.files}

    def see_places(self, project: str, asked: Sequence[PlaceAsked]) -> tuple[PlaceSeen, ...]:
        del project
        if missing := tuple(place for place in asked if place not in self._places):
            _ask(paths=missing, files=tuple(dict.fromkeys(place.path for place in missing)))
        return tuple(self._places[place] for place in asked)

    def locate_files(self, project: str, named: Sequence[str]) -> tuple[LocatedFile, ...]:
        del project
        if missing := tuple(text for text in dict.fromkeys(named) if text not in self._files):
            _ask(files=missing)
        return tuple(self._files[text] for text in named)


_UNKNOWN: Final = GitEntry(path="", mode="100644", object_id="")
"""Stands for any file of a tree: the server has names at most, which is enough to compare trees."""


class SentTrees(UnseenTrees):
    """`ports.Trees` from the client's facts. File contents are not sent."""

    def __init__(self, call: ClientCall) -> None:
        seen = call.facts
        self._changes = {(row.before, row.after): row for row in seen.changes}
        self._changed = {row.tree: row for row in seen.changed}
        self._trouble = seen.tree_trouble
        self._packs: list[bytes] = []
        self._seen = {row.tree.taken.tree: row.tree for row in seen.programs if row.tree is not None}
        self._seen |= {} if seen.tree is None else {seen.tree.taken.tree: seen.tree}
        self.may_ask = True
        """Whether the client still waits for an answer; after it, a missing fact stays unknown."""
        self.now = seen.tree
        """The present files; after a program ran, the files that it left."""

    def take(
        self, project: str, seconds: float = TAKE_SECONDS, *, is_anywhere: bool = False
    ) -> TakenTree | Unseen:
        del project, seconds, is_anywhere
        if self.now is not None:
            return self.now.taken
        if self._trouble:
            return Unseen(reason=self._trouble)
        _ask(tree=True)

    def is_clean(self, project: str, taken: TakenTree) -> bool | Unseen:
        del project
        return taken.tree in self._seen and self._seen[taken.tree].is_clean

    def pack_step(
        self, project: str, tree: str, known: Sequence[str] = (), most_bytes: int = MOST_READ_BYTES
    ) -> bytes | Unseen:
        del project, known, most_bytes
        seen = self._seen.get(tree)
        return Unseen(reason="that tree was not sent") if seen is None else seen.names

    def keep(self, project: str, name: str, tree: str) -> str:
        del project, name, tree
        return ""

    def list_entries(self, project: str, tree: str) -> tuple[GitEntry, ...] | Unseen:
        del project, tree
        return (_UNKNOWN,)

    def unpack(self, project: str, content: bytes) -> str:
        del project
        self._packs.append(content)
        return ""

    def list_changed(
        self, project: str, tree: str, seconds: float = CHANGED_SECONDS
    ) -> tuple[str, ...] | Unseen:
        del project, seconds
        row = self._changed.get(tree)
        if row is None:
            _ask(changed=(tree,))
        return Unseen(reason=row.trouble) if row.paths is None else row.paths

    def diff(self, project: str, before: str, after: str) -> tuple[TreeChange, ...] | Unseen:
        del project
        if before == after:
            return ()
        row = self._changes.get((before, after))
        if row is None and not self.may_ask:
            return Unseen(reason="the client was not asked to compare them")
        if row is None:
            _ask(compare=(TreePair(before=before, after=after, packs=tuple(self._packs)),))
        return Unseen(reason=row.trouble) if row.changes is None else row.changes


class SentPrograms:
    """`ports.CheckPrograms` from programs that the client ran. The client decides which it starts."""

    def __init__(self, call: ClientCall, trees: SentTrees) -> None:
        self._machine = call.here.machine
        self._directories = {row.asked: row for row in call.facts.directories}
        self._ran = list(call.facts.programs)
        self._trees = trees
        self._report_path = ""
        self._report = ReportFile()

    def directory_in(self, project: str, asked: str) -> str:
        del project
        row = self._directories.get(asked)
        if row is None:
            _ask(directories=(asked,), tree=self._trees.now is None)
        if row.path:
            return f"{self._machine}:{row.path}"
        raise refuse_argument(row.trouble, "directory", row.trouble)

    def run(
        self,
        call: ProgramCall,
        stop_reason: Callable[[], Literal["", "signal", "deadline"]],
        take: Callable[[bytes], None],
    ) -> ProgramEnd:
        del stop_reason
        row = next((one for one in self._ran if is_same_call(one.call, call)), None)
        if row is None:
            _ask(checks=(ProgramOrder(call=call, report=self._report_path),))
        self._ran.remove(row)
        take(row.printed)
        self._report, self._trees.now = row.report, row.tree
        return row.end

    def find_trouble(self, project: str, argv: Sequence[str]) -> str:
        del project, argv
        return ""

    def end_now(self) -> None:
        return

    def register_secrets(self) -> None:
        return

    def look_at_report(self, project: str, path: str) -> str:
        del project
        self._report_path = path
        return ""

    def read_report(self, project: str, path: str, before: str) -> ReportFile:
        del project, path, before
        return self._report


def is_same_call(one: ProgramCall, other: ProgramCall) -> bool:
    """Whether both start the same program. Time limits differ between repeats, so they do not count."""
    same = (one.argv, one.directory, one.is_declared)
    return same == (other.argv, other.directory, other.is_declared)


class SentKnownChecks(NoChecksKnown):
    """`ports.KnownChecks` as the client keeps them; the server can approve none."""

    def __init__(self, here: Surroundings) -> None:
        self._known = {row.digest: row for row in here.known_checks}

    def find(self, project: str, digest: str) -> KnownCheck:
        del project
        row = self._known.get(digest)
        return KnownCheck() if row is None else make_from(KnownCheck, row)


class SentAction:
    """`ports.OwnAction` that the client performs."""

    def __init__(self, call: ClientCall, operation: str, params: dict[str, Any]) -> None:
        self._done = call.facts.actions
        self._operation = operation
        self._params = params

    def call(self) -> dict[str, Json]:
        return self._find(None)

    def apply(self, preview: Preview) -> dict[str, Json]:
        return self._find(preview)

    def _find(self, preview: Preview | None) -> dict[str, Json]:
        wanted = digest([self._operation, self._params, msgspec.to_builtins(preview)])
        for row in self._done:
            if digest([row.operation, row.params, msgspec.to_builtins(row.preview)]) == wanted:
                return _result_of(row)
        _ask(actions=(ActionOrder(operation=self._operation, params=self._params, preview=preview),))


def _result_of(row: ActionRow) -> dict[str, Json]:
    if row.result is not None:
        return row.result
    kind = KINDS.get(row.code, RESULTS_STALE)
    raise Fault(kind, row.message[:1000] or kind.code, hint=row.hint[:500])
