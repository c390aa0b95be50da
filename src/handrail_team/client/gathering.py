"""Gather the facts about files and programs that a team server asks for, with the code of a local run.

The server decides what it wants to know. This machine decides what it starts: a program only if the call
names it or the user approved exactly that declaration, and an action only if this program brings it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.catalogue import INTERNAL_ERROR
from handrail.contract.outcome import Fault, make_from
from handrail.operations.declared_checks import digest_check
from handrail.operations.proof_trees import take_present
from handrail.ports.actions import OwnAction
from handrail.ports.checks import ProgramEnd, ReportFile
from handrail.ports.server import TeamCall
from handrail.ports.trees import TakenTree
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import Runtime, looks_at_code
from handrail_team.client.wire import (
    ActionOrder,
    ActionRow,
    ChangedRow,
    ChangesRow,
    ClientFacts,
    ContentRow,
    DirectoryRow,
    FactsOrder,
    FileRow,
    KnownRow,
    PlaceRow,
    ProgramOrder,
    ProgramRow,
    Surroundings,
    TreePair,
    TreeRow,
)

MOST_PRINTED_BYTES = 1_000_000
"""How much of a program's output is sent to the server: its end."""
_WITH_TREE = frozenset({"run.start", "run.continue", "run.checkpoint"})
"""Calls whose node keeps the files of that moment, so the tree is sent along."""
_NO_ACTION = "This machine runs actions only for a report."
_REFUSED = "this machine only starts programs that its own call names"


def describe_surroundings(
    rt: Runtime, project: str, machine: str, call: TeamCall, version: str
) -> Surroundings:
    """Return where a call comes from. Raises Fault if the settings cannot be read, as a local call does."""
    settings = rt.settings.of(project)
    known = rt.known_checks() if settings.checks else None
    digests = map(digest_check, settings.checks)
    return make_from(
        Surroundings,
        settings,
        machine=machine,
        version=version,
        client=call.client,
        worker=rt.workspace.worker(),
        can_ask=call.can_ask,
        project=project,
        identity=rt.workspace.identity(project),
        observations=rt.workspace.observations(project),
        known_checks=()
        if known is None
        else tuple(make_from(KnownRow, known.find(project, one), digest=one) for one in digests),
    )


def gather_beforehand(rt: Runtime, project: str, call: TeamCall) -> ClientFacts:
    """Return the facts that the call is known to need, so that one request is enough."""
    seen = ClientFacts()
    if call.where == "both":
        seen = msgspec.structs.replace(seen, sources=_find_sources(rt, project))
    if call.operation in _WITH_TREE and call.effect != "read" and looks_at_code(rt, project):
        seen = _with_tree(rt, project, seen)
    return seen


class FactGatherer:
    """Gathers the facts of one call."""

    def __init__(self, rt: Runtime, project: str, machine: str, call: TeamCall) -> None:
        self._rt = rt
        self._project = project
        self._prefix = f"{machine}:"
        self._call = call

    def gather(self, order: FactsOrder, seen: ClientFacts) -> ClientFacts:
        """Return the facts gathered before, with what this order asks for added."""
        rt, project = self._rt, self._project
        worktree = rt.worktree()
        if order.tree and seen.tree is None and not seen.tree_trouble:
            seen = _with_tree(rt, project, seen)
        if order.sources:
            seen = msgspec.structs.replace(seen, sources=_find_sources(rt, project))
        places = worktree.see_places(project, order.paths) if order.paths else ()
        files = worktree.locate_files(project, order.files) if order.files else ()
        return msgspec.structs.replace(
            seen,
            places=(
                *seen.places,
                *(PlaceRow(asked=a, seen=b) for a, b in zip(order.paths, places, strict=True)),
            ),
            files=(*seen.files, *(FileRow(text=a, file=b) for a, b in zip(order.files, files, strict=True))),
            changes=(*seen.changes, *map(self._compare, order.compare)),
            changed=(*seen.changed, *map(self._list_changed, order.changed)),
            contents=(
                *seen.contents,
                *(
                    ContentRow(
                        source_kind=one.source_kind,
                        source_ref=one.source_ref,
                        content=rt.library.content_now(project, one.source_kind, one.source_ref),
                    )
                    for one in order.contents
                ),
            ),
            directories=(*seen.directories, *map(self._find_directory, order.directories)),
            programs=(*seen.programs, *map(self._run, order.checks)),
            actions=(*seen.actions, *map(self._act, order.actions)),
        )

    def _compare(self, pair: TreePair) -> ChangesRow:
        trees = self._rt.trees()
        if not trees.has_tree(self._project, pair.before):
            for pack in pair.packs:
                trees.unpack(self._project, pack)
        found = trees.diff(self._project, pair.before, pair.after)
        return ChangesRow(
            before=pair.before,
            after=pair.after,
            changes=None if isinstance(found, Unseen) else found,
            trouble=found.reason if isinstance(found, Unseen) else "",
        )

    def _list_changed(self, tree: str) -> ChangedRow:
        found = self._rt.trees().list_changed(self._project, tree)
        if isinstance(found, Unseen):
            return ChangedRow(tree=tree, trouble=found.reason)
        return ChangedRow(tree=tree, paths=found)

    def _find_directory(self, asked: str) -> DirectoryRow:
        try:
            return DirectoryRow(
                asked=asked, path=self._rt.check_programs().directory_in(self._project, asked)
            )
        except Fault as fault:
            return DirectoryRow(asked=asked, trouble=fault.message)

    def _run(self, order: ProgramOrder) -> ProgramRow:
        """Start a program that the call names or the user approved; reject any other."""
        if not self._may_start(order):
            return ProgramRow(call=order.call, end=ProgramEnd(trouble=_REFUSED))
        rt, programs = self._rt, self._rt.check_programs()
        programs.register_secrets()
        call = msgspec.structs.replace(
            order.call, project=self._project, directory=order.call.directory.removeprefix(self._prefix)
        )
        before = programs.look_at_report(self._project, order.report) if order.report else ""
        kept = bytearray()

        def take(chunk: bytes) -> None:
            rt.progress.write(rt.secrets.redact_text(chunk.decode(errors="replace")))
            kept.extend(chunk)
            del kept[:-MOST_PRINTED_BYTES]

        with rt.interruptions.defer():
            ended = programs.run(call, rt.interruptions.stop_reason, take)
        self._keep_duration(order, ended)
        report = programs.read_report(self._project, order.report, before) if order.report else ReportFile()
        taken = take_present(rt, self._project)
        return ProgramRow(
            call=order.call,
            end=ended,
            printed=rt.secrets.redact_text(bytes(kept).decode(errors="replace")).encode(),
            report=report,
            tree=_describe(rt, self._project, taken) if isinstance(taken, TakenTree) else None,
        )

    def _may_start(self, order: ProgramOrder) -> bool:
        params, argv = self._call.params, order.call.argv
        if self._call.operation == "check.run":
            if params.get("argv") is not None:
                return list(argv) == list(params["argv"])
            named = [
                one for one in self._rt.settings.of(self._project).checks if one.name == params.get("name")
            ]
            return any(one.command == argv for one in named)
        if self._call.operation != "run.continue":
            return False
        checks = [one for one in self._rt.settings.of(self._project).checks if one.command == argv]
        known = self._rt.known_checks()
        return any(known.find(self._project, digest_check(one)).is_approved for one in checks)

    def _keep_duration(self, order: ProgramOrder, ended: ProgramEnd) -> None:
        for one in self._rt.settings.of(self._project).checks:
            if one.command == order.call.argv:
                duration = None if ended.status is None else ended.duration_ms
                self._rt.known_checks().keep_run(self._project, digest_check(one), duration)

    def _act(self, order: ActionOrder) -> ActionRow:
        row = make_from(ActionRow, order)
        if self._call.operation != "run.continue":
            return msgspec.structs.replace(row, code=INTERNAL_ERROR.code, message=_NO_ACTION)
        try:
            opened: OwnAction = self._rt.registry.adapter("actions")(
                self._rt, self._project, order.operation, order.params
            )
            result = opened.call() if order.preview is None else opened.apply(order.preview)
        except Fault as fault:
            return msgspec.structs.replace(row, code=fault.kind.code, message=fault.message, hint=fault.hint)
        except AssertionError:  # the operation is not an action
            return msgspec.structs.replace(row, code=INTERNAL_ERROR.code, message="There is no such action.")
        return msgspec.structs.replace(row, result=msgspec.to_builtins(result))


def _with_tree(rt: Runtime, project: str, seen: ClientFacts) -> ClientFacts:
    taken = take_present(rt, project)
    if isinstance(taken, Unseen):
        return msgspec.structs.replace(seen, tree_trouble=taken.reason)
    return msgspec.structs.replace(seen, tree=_describe(rt, project, taken))


def _describe(rt: Runtime, project: str, taken: TakenTree) -> TreeRow:
    known = (f"{taken.head}^{{tree}}",) if taken.head else ()
    names = rt.trees().pack_step(project, taken.tree, known, 0)
    return TreeRow(
        taken=taken,
        names=b"" if isinstance(names, Unseen) else names,
        is_clean=bool(taken.head) and rt.trees().is_clean(project, taken) is True,
    )


def _find_sources(rt: Runtime, project: str) -> tuple[Any, ...]:
    """Return the workflow files of the user and the project. The server has the bundled ones itself."""
    return tuple(
        msgspec.structs.replace(file, summary=b"", decoded=b"")
        for file in rt.library.files(project)
        if file.source_kind != "bundled"
    )
