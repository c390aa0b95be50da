"""Trials in one folder: write a tree, run the check on it, and read its cases."""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import msgspec

from handrail.contract.ids import Isolation
from handrail.host.private_files import is_below, replace_cache
from handrail.ports.trees import GitEntry, Trees
from handrail.ports.trials import StopReason, TrialCheck, TrialResult, TrialState
from handrail.ports.worktree import Unseen
from handrail.trials import dependencies, environment, reports
from handrail.trials.case_file import Found, read_case_file
from handrail.trials.in_place import NotPossible, PlacedTrees
from handrail.trials.processes import Ended, Launch, Mount, launch
from handrail.trials.scratch import Slot, digest_hooks, remove_tree

PRINTED = "-"
_MOST_CASE_BYTES = 256 * 1024 * 1024
_MOST_REPORT_BYTES = 64 * 1024 * 1024
_MOST_REPLACED_MODE = 0o666


class _Stopped(Exception):
    """The trial does not start; the exception carries its result."""

    def __init__(self, reason: str, tail: str = "", state: TrialState = "not_started") -> None:
        super().__init__(reason)
        self.result = TrialResult(state=state, reason=reason, tail=tail)


class _Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """What the `prepare` command made in a folder."""

    digest: str
    paths: tuple[str, ...]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What the trials need to work in a project."""

    project: str
    """Without links."""
    slot: Slot
    trees: Trees
    caller: Mapping[str, str]
    can_mount: bool
    placed: PlacedTrees | None = None
    """The trees in the project itself, if the trials run there."""


class LocalRoom:
    """`TrialRoom` of this machine."""

    def __init__(self, place: Place, check: TrialCheck, stop_reason: Callable[[], StopReason]) -> None:
        self._place = place
        self._check = check
        self._stop_reason = stop_reason
        self._links: tuple[str, ...] = ()

    @property
    def isolation(self) -> Isolation:
        if self._place.placed is not None:
            return "in_place"
        if self._check.prepare:
            return "prepared"
        return "bind_mount" if self._place.can_mount else "linked_folder"

    @property
    def environment(self) -> str:
        check, project = self._check, self._place.project
        fixed = environment.make_fixed(check, self._place.caller)
        links = self._find_links(frozenset({f"{check.directory}/package.json"}))
        rows = [
            *(f"{name}={value}" for name, value in sorted(fixed.items())),
            *(_describe_system(), project, self.isolation, digest_hooks()),
            *(
                _describe_program(word, fixed["PATH"], project)
                for word in (*check.command[:1], *check.prepare[:1])
            ),
            *links,
            dependencies.digest_state(project, links),
        ]
        return hashlib.sha256("\0".join(rows).encode("utf-8", "surrogateescape")).hexdigest()

    def _find_links(self, paths: frozenset[str]) -> tuple[str, ...]:
        """Return what the copy takes from the project; what `prepare` makes is its own."""
        found = dependencies.find_links(self._place.project, paths, self._check.links)
        own = {os.path.normpath(link) for link in self._check.links}
        return tuple(link for link in found if link in own) if self._check.prepare else found

    # A trial

    def run(
        self,
        tree: str,
        *,
        replaced: Mapping[str, bytes] = {},
        command: Sequence[str] = (),
        timeout_seconds: int = 0,
    ) -> TrialResult:
        argv = tuple(command) or self._check.command
        seconds = timeout_seconds or self._check.timeout_seconds
        try:
            if self._place.placed is not None:
                return self._run_placed(self._place.placed, tree, replaced, argv, seconds)
            paths = self._write(tree, replaced)
            return self._run_copy(paths, argv, seconds)
        except _Stopped as stopped:
            return msgspec.structs.replace(stopped.result, isolation=self.isolation)
        except OSError as error:
            reason = f"the copy could not be made ({error.strerror})"
            return TrialResult(state="not_started", reason=reason, isolation=self.isolation)

    def run_in_place(self) -> TrialResult:
        variables = environment.make_callers(self._check, self._place.caller)
        variables |= self._place_bytecode()
        try:
            result = self._start(
                self._place.project,
                variables,
                self._check.command,
                self._check.timeout_seconds,
            )
        except _Stopped as stopped:
            result = stopped.result
        return msgspec.structs.replace(result, isolation="in_place")

    def _run_placed(
        self,
        placed: PlacedTrees,
        tree: str,
        replaced: Mapping[str, bytes],
        argv: tuple[str, ...],
        seconds: int,
    ) -> TrialResult:
        try:
            placed.write(tree)
        except NotPossible as trouble:
            raise _Stopped(str(trouble)) from trouble
        self._replace(self._place.project, replaced)
        variables = environment.make_fixed(self._check, self._place.caller)
        variables |= self._place_bytecode()
        self._place.slot.empty_tmp()
        variables |= _name_tmp(self._place.slot.tmp)
        return self._start(self._place.project, variables, argv, seconds)

    def _place_bytecode(self) -> dict[str, str]:
        """Return variables by which Python keeps the bytecode of packages, and loads none of the project's
        files.
        """
        folder = os.path.join(self._place.slot.folder, "bytecode")
        own = os.path.join(folder, self._place.project.lstrip(os.sep))
        with suppress(OSError):
            for above, names, files in os.walk(own):
                names[:] = [name for name in names if name not in dependencies.FOLDERS]
                for name in files:
                    os.unlink(os.path.join(above, name))
        return {"PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}

    # The copy

    def _write(self, tree: str, replaced: Mapping[str, bytes]) -> frozenset[str]:
        """Write the files of a tree, and what they need beside them. Raises _Stopped and OSError."""
        place, slot = self._place, self._place.slot
        listed = place.trees.list_entries(place.project, tree)
        if isinstance(listed, Unseen):
            raise _Stopped(listed.reason)
        paths = frozenset(entry.path for entry in listed)
        prepared = self._find_prepared(listed)
        self._links = self._find_links(paths)
        kept = (*self._links, *(prepared.paths if prepared is not None else ()))
        written = place.trees.write_out(place.project, tree, slot.files, kept)
        if isinstance(written, Unseen):  # odd leftovers, or a folder of another home
            remove_tree(slot.files)
            prepared = None
            written = place.trees.write_out(place.project, tree, slot.files, self._links)
        if isinstance(written, Unseen):
            raise _Stopped(written.reason)
        slot.empty_tmp()
        if place.can_mount:
            dependencies.make_mount_points(place.project, slot.files, self._links)
        else:
            dependencies.link_folders(place.project, slot.files, self._links)
        if self._check.prepare and prepared is None:
            self._prepare(listed)
        self._replace(slot.files, replaced)
        return paths

    def _replace(self, root: str, replaced: Mapping[str, bytes]) -> None:
        for path, content in replaced.items():
            place = os.path.join(root, path)
            if is_below(os.path.realpath(os.path.dirname(place)), root) and not os.path.islink(place):
                mode = os.stat(place).st_mode & 0o777 if os.path.exists(place) else _MOST_REPLACED_MODE
                with suppress(FileNotFoundError):
                    os.unlink(place)
                with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                    file.write(content)

    def _digest_manifests(self, entries: Sequence[GitEntry]) -> str:
        ids = {entry.path: entry.object_id.encode("ascii") for entry in entries}
        words = "\0".join(self._check.prepare)
        return f"{words}\0{dependencies.digest_manifests(ids, ids.get)}"

    def _find_prepared(self, entries: Sequence[GitEntry]) -> _Prepared | None:
        """Return what `prepare` made earlier from the same manifests."""
        if not self._check.prepare:
            return None
        with suppress(OSError, msgspec.MsgspecError), open(self._place.slot.prepared, "rb") as file:
            found = msgspec.json.decode(file.read(), type=_Prepared)
            return found if found.digest == self._digest_manifests(entries) else None
        return None

    def _prepare(self, entries: Sequence[GitEntry]) -> None:
        """Raises _Stopped and OSError."""
        slot = self._place.slot
        ended = self._launch_copy(self._check.prepare, self._check.timeout_seconds)
        line = environment.show(self._check.prepare)
        if ended.stopped_by:
            raise _make_stopped(ended, f"`{line}` did not end within {self._check.timeout_seconds} seconds")
        if ended.trouble:
            raise _Stopped(f"`{line}`: {ended.trouble}", ended.tail)
        if ended.status:
            raise _Stopped(f"`{line}` ended with the status {ended.status}", ended.tail)
        paths = {entry.path for entry in entries}
        made = tuple(path for path in _list_new(slot.files, paths) if path not in self._links)
        kept = _Prepared(digest=self._digest_manifests(entries), paths=made)
        replace_cache(slot.prepared, msgspec.json.encode(kept))

    # The program

    def _run_copy(self, paths: frozenset[str], argv: tuple[str, ...], seconds: int) -> TrialResult:
        place, files = self._place, self._place.slot.files
        variables = environment.make_fixed(self._check, place.caller) | _name_tmp(place.slot.tmp)
        if place.can_mount:
            return self._start(
                place.project, variables, argv, seconds, mounts=self._list_mounts(), paths=paths
            )
        variables["PATH"] = environment.move_below(variables["PATH"], place.project, files)
        if any(os.path.basename(path) in ("pyproject.toml", "setup.py", "setup.cfg") for path in paths):
            found = dependencies.list_import_places(place.project, files, self._links)
            variables = environment.add_import_places(variables, found)
        moved = (environment.move_below(argv[0], place.project, files), *argv[1:])
        return self._start(files, variables, moved, seconds, paths=paths)

    def _list_mounts(self) -> tuple[Mount, ...]:
        project, files = self._place.project, self._place.slot.files
        own = ((os.path.join(project, link), os.path.join(files, link)) for link in self._links)
        return (*own, (files, project))

    def _launch_copy(self, argv: tuple[str, ...], seconds: int) -> Ended:
        place = self._place
        root = place.project if place.can_mount else place.slot.files
        call = Launch(
            argv=argv,
            directory=os.path.normpath(os.path.join(root, self._check.directory)),
            root=root,
            environment=environment.make_fixed(self._check, place.caller) | _name_tmp(place.slot.tmp),
            mounts=self._list_mounts() if place.can_mount else (),
            seconds=seconds,
        )
        return launch(call, place.caller, self._stop_reason)

    def _start(
        self,
        root: str,
        variables: Mapping[str, str],
        argv: tuple[str, ...],
        seconds: int,
        *,
        mounts: tuple[Mount, ...] = (),
        paths: frozenset[str] = frozenset(),
    ) -> TrialResult:
        """Raises _Stopped."""
        slot, report = self._place.slot, self._check.report
        slot.renew_hooks()
        nonce, case_file = secrets.token_hex(16), slot.make_case_file()
        own = self._place.slot.files if mounts else root
        """Return where the files of this trial are while no mount covers them."""
        report_place = os.path.join(own, report.path) if report is not None and report.path != PRINTED else ""
        if report_place:
            stamp = _stamp(report_place)
        try:
            call = Launch(
                argv=argv,
                directory=os.path.normpath(os.path.join(root, self._check.directory)),
                root=root,
                environment=environment.add_hooks(
                    variables, slot.hooks, {"path": case_file, "nonce": nonce, "root": root}
                ),
                mounts=mounts,
                seconds=seconds,
                keeps_printed=report is not None and report.path == PRINTED,
            )
            ended = launch(call, self._place.caller, self._stop_reason)
            with open(case_file, "rb") as file:
                written = file.read(_MOST_CASE_BYTES)
        finally:
            with suppress(OSError):
                os.unlink(case_file)
        if ended.trouble:
            raise _Stopped(ended.trouble, ended.tail)
        if report is None:
            return self._judge(ended, read_case_file(written, nonce), seconds)
        content = ended.printed
        if report_place:
            content = _read_fresh(report_place, own, stamp)
        return self._judge(ended, self._read_report(ended, content, root, paths), seconds)

    def _read_report(self, ended: Ended, content: bytes | None, root: str, paths: frozenset[str]) -> Found:
        """Raises _Stopped."""
        report = self._check.report
        assert report is not None, "a report is declared"
        own = self._place.slot.files if self._place.placed is None and paths else root
        name = "what it printed" if report.path == PRINTED else f"`{report.path}`"
        trouble = f"it wrote no report to {name}"
        if content is not None:
            try:
                found = reports.read_report(
                    content,
                    report.format,
                    root,
                    lambda path: path in paths or (not paths and os.path.isfile(os.path.join(own, path))),
                )
                return Found() if found is None else found
            except reports.Unreadable as error:
                trouble = f"its report, {name}, could not be read: {error}"
        if not ended.stopped_by and ended.status == 0:
            raise _Stopped(trouble, ended.tail)
        return Found(cases=(), is_ended_early=True, trouble=trouble)

    def _judge(self, ended: Ended, found: Found, seconds: int) -> TrialResult:
        is_red = any(case.outcome in ("failed", "error") for case in found.cases or ())
        state: TrialState
        if ended.stopped_by:
            state = "interrupted" if ended.stopped_by == "signal" else "timed_out"
        elif ended.status or is_red or found.unloaded or found.is_ended_early:
            state = "failed"
        else:
            state = "passed"
        reason = found.trouble
        if state == "timed_out":
            reason = f"it did not end within {seconds} seconds"
        elif state == "interrupted":
            reason = "it was interrupted"
        elif ended.status is not None and ended.status < 0:
            reason = f"it was ended by {_name_signal(-ended.status)}"
        return TrialResult(
            state=state,
            exit_status=ended.status if ended.status is not None and ended.status >= 0 else None,
            cases=found.cases,
            unloaded=found.unloaded,
            is_ended_early=found.is_ended_early and not ended.stopped_by,
            tail=ended.tail,
            isolation=self.isolation,
            duration_ms=ended.duration_ms,
            processor_ms=ended.processor_ms,
            reason=reason,
        )


def _make_stopped(ended: Ended, slow: str) -> _Stopped:
    if ended.stopped_by == "signal":
        return _Stopped("it was interrupted", ended.tail, "interrupted")
    return _Stopped(slow, ended.tail)


def _name_tmp(folder: str) -> dict[str, str]:
    return {"TMPDIR": folder, "TMP": folder, "TEMP": folder}


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _stamp(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _read_fresh(path: str, root: str, before: tuple[int, ...]) -> bytes | None:
    """Return a report that was written since; None if there is none, or if it leads out of the copy."""
    now = _stamp(path)
    if not now or now == before or not is_below(os.path.realpath(path), root):
        return None
    with open(path, "rb") as file:
        content = file.read(_MOST_REPORT_BYTES + 1)
    return content if len(content) <= _MOST_REPORT_BYTES else None


def _list_new(root: str, paths: set[str]) -> list[str]:
    """Return files and folders that exist and are in no tree: the uppermost of each."""
    folders = {"/".join(names[:count]) for names in map(_split, paths) for count in range(1, len(names))}
    found = []
    for above, names, files in os.walk(root):
        below = os.path.relpath(above, root)
        prefix = "" if below == os.curdir else f"{below}/"
        found += [prefix + name for name in (*names, *files) if prefix + name not in paths | folders]
        names[:] = [name for name in names if prefix + name in folders]
    return found


def _split(path: str) -> list[str]:
    return path.split("/")


def _describe_system() -> str:
    """Return which system this is, from fields that start no program: `processor` would start `uname`."""
    system = platform.uname()
    return f"{system.system} {system.release} {system.version} {system.machine}"


def _describe_program(word: str, path: str, project: str) -> str:
    """Return the file that a command starts, and its stamp."""
    places = (
        [os.path.join(project, word)]
        if os.sep in word
        else [os.path.join(folder, word) for folder in path.split(os.pathsep)]
    )
    for place in places:
        if os.path.isfile(place) and os.access(place, os.X_OK):
            real = os.path.realpath(place)
            return "\0".join((place, real, *map(str, _stamp(real)[1:3])))
    return word
