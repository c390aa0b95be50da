"""`clients.setup`: add Handrail to agent clients, or remove it. Gated: every change is previewed first."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_CONFIG, E_IO, E_NOT_FOUND
from handrail.contract.disclosure.fields import Shape
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault, Json, Success
from handrail.contract.parameters import ProjectPath
from handrail.contract.tokens.confirm import refusal
from handrail.contract.wording import quote
from handrail.operations.checks.approve_check import ApproveCheck, approve_check
from handrail.operations.checks.found_commands import LOOKED_AT, find_commands
from handrail.operations.declared_checks import digest_check
from handrail.ports.program import ClientFiles, ClientPlaces
from handrail.ports.workspace import DeclaredCheck
from handrail.ports.worktree import Unseen
from handrail.program.setup.clients import (
    CLIENTS,
    ENTRIES,
    HOOKS,
    TABLE,
    TOOL_SETS,
    ClientName,
    Scope,
    ToolSet,
    build_command,
    entry_of,
    file_of,
    path_of,
)
from handrail.program.setup.edits import (
    NotEditable,
    decode_text,
    diff_texts,
    has_entry,
    hooks_snippet,
    read_entry,
    remove_entry,
    remove_hooks,
    set_member,
    snippet_of,
    worker_file,
    worker_text,
    write_entry,
    write_hooks,
    write_worker,
)
from handrail.program.setup.first_checks import suggest_checks
from handrail.runtime.batch import BatchResult, run_batch, targets_of
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import Runtime, WritePorts, project_of
from handrail.runtime.write_permission import (
    Change,
    DryRun,
    GatedInput,
    Plan,
    dry_run_of,
    mark_unreached,
    preview_or_write,
)

SKILL = "skill"
CHECKS = "checks"
PROJECT_SETTINGS = ".handrail/config.json"
HOOKS_OF = "{} hooks"
WORKER_OF = "{} worker"
CODE_SET = (
    "For an agent without a shell, tools about source code: handrail setup --set code --dry-run --compact."
)
_APPROVING = "To let Handrail run its short checks itself when a report needs them: handrail check approve"
TRUST = "In Codex, look at Handrail's hooks with /hooks and trust them; before that they do not run."


class SetUpClients(GatedInput, frozen=True, kw_only=True):
    """Which clients, for whom, and whether in or out."""

    clients: Maybe[
        Annotated[
            list[ClientName], Meta(description="Which clients; default: those found here.", max_length=20)
        ]
    ] = UNSET
    scope: Maybe[
        Annotated[Scope, Meta(description="For all your work, or for this project; default user.")]
    ] = UNSET
    sets: Maybe[
        Annotated[
            list[ToolSet],
            Meta(description="Which tools: a server serves one set; default workflow, to remove all."),
        ]
    ] = UNSET
    hooks: Maybe[
        Annotated[bool, Meta(description="Also add hooks, around a compaction and at a session start.")]
    ] = UNSET
    checks: Maybe[
        Annotated[
            bool,
            Meta(description="Declare a first set of checks in this project, from the files found in it."),
        ]
    ] = UNSET
    remove: Maybe[
        Annotated[bool, Meta(description="Take it out, hooks too; the skill goes with the last client.")]
    ] = UNSET
    project: Maybe[ProjectPath] = UNSET
    continue_on_error: Maybe[Annotated[bool, Meta(description="Continue after a target failed.")]] = UNSET


class SetUp(BatchResult, frozen=True, kw_only=True):
    """What came of each target, and what to do next."""

    next_steps: list[str]


class _Target(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to change: a file, through a client's own command, or the skill."""

    name: str
    path: str
    version: str
    before: bytes | None = None
    after: bytes | None = None
    commands: tuple[tuple[str, ...], ...] = ()
    sets: tuple[ToolSet, ...] = ()
    """Of the commands: whose entries they change."""
    snippet: str = ""
    trouble: Fault | None = None
    is_restored: bool = False
    """The file is exactly as it was before `setup` first changed it."""
    is_changed: bool = True
    reason: str = ""
    """Of the skill: why it stays as it is."""


class _Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the clients, and where it goes."""

    files: ClientFiles
    places: ClientPlaces
    scope: Scope
    project: str
    sets: tuple[ToolSet, ...]
    is_removal: bool

    @property
    def within(self) -> str:
        """The folder that no link leads out of: a checkout decides what lies in it, and nothing beside it."""
        return self.project if self.scope == "project" else ""

    def file(self, name: ClientName) -> str:
        return file_of(TABLE[name], self.scope, self.project, self.places)

    def hooks_file(self, name: ClientName) -> str:
        return file_of(HOOKS[name], self.scope, self.project, self.places)

    def worker_file(self, name: ClientName) -> str:
        return worker_file(name, self.scope, self.project, self.places)

    def edit_hooks(self, name: ClientName, text: str) -> str:
        return remove_hooks(name, text) if self.is_removal else write_hooks(name, text, self.places.command)


def set_up_clients(rt: Runtime, request: SetUpClients) -> DryRun | Success:
    """Show or make the changes.

    Raises Fault E_NOT_FOUND when no client is found, and what the gate raises.
    """
    project = project_of(rt, request.project)
    files = rt.clients()

    def resolve() -> Plan[dict[str, _Target]]:
        return _plan(request, _targets(rt, files, request, project))

    def write(found: dict[str, _Target]) -> SetUp:
        def act(name: str) -> None:
            _apply(files, found[name], request, project)
            rt.commits.note(dry_run_of(OPERATION, request))

        result = run_batch(
            rt,
            tuple(found),
            act,
            what="clients set up",
            continue_on_error=request.continue_on_error is not False,
        )
        offered = _offer_checks(rt, files, request, project)
        return SetUp(**msgspec.structs.asdict(result), next_steps=[*_next_steps(request, found), *offered])

    # What is set up for the user is the same wherever the call is made.
    workspace = project if request.scope == "project" or request.checks is True else ""
    return preview_or_write(rt, OPERATION, request, workspace=workspace, resolve=resolve, write=write)


def _targets(rt: WritePorts, files: ClientFiles, request: SetUpClients, project: str) -> list[_Target]:
    """The clients and the skill; checks belong to the project, so asking for them alone changes only that."""
    is_asked = request.checks is True and request.remove is not True
    checks = [_of_checks(rt, files, project)] if is_asked else []
    if checks and request.clients is UNSET:
        return checks
    return [*checks, *_of_clients(files, request, project)]


def _of_checks(rt: WritePorts, files: ClientFiles, project: str) -> _Target:
    """The project's settings with a first set of checks; what it declares already stays as it is."""
    path = f"{project}/{PROJECT_SETTINGS}"
    if files.exists(os.path.dirname(path)):
        rt.check_programs().directory_in(project, os.path.dirname(PROJECT_SETTINGS))
    found = _suggest_startable(rt, files, project)
    wrong = [one.message for one in rt.settings.problems(project) if one.place == PROJECT_SETTINGS]
    if wrong:
        trouble = Fault(E_CONFIG, wrong[0], details={"setting": PROJECT_SETTINGS, "source": "file"})
        return _Target(name=CHECKS, path=path, version="wrong", trouble=trouble)
    declared = rt.settings.of(project).checks
    if declared or not found:
        reason = "the project declares checks already" if declared else "no test suite was recognised here"
        return _Target(name=CHECKS, path=path, version=reason, is_changed=False, reason=reason)

    def changed(text: str) -> str:
        return set_member(text if text.strip() else "{}\n", (), "checks", found)

    snippet = msgspec.json.encode({"checks": found}).decode()
    return _of_file(files, CHECKS, path, snippet, changed, is_removal=False, within=project)


def _suggest_startable(rt: WritePorts, files: ClientFiles, project: str) -> dict[str, Any]:
    """What could be declared: only commands whose program is on this machine."""
    programs = rt.check_programs()
    found = suggest_checks(find_commands(_list_paths(rt, files, project), partial(_load, files, project)))
    return {
        name: check for name, check in found.items() if not programs.find_trouble(project, check["command"])
    }


def _list_paths(rt: WritePorts, files: ClientFiles, project: str) -> Collection[str]:
    """The project's files; where git does not list them, those that say most."""
    taken = rt.trees().take(project)
    listed = taken if isinstance(taken, Unseen) else rt.trees().list_entries(project, taken.tree)
    if isinstance(listed, Unseen):
        return frozenset(path for path in LOOKED_AT if files.exists(f"{project}/{path}"))
    return frozenset(one.path for one in listed)


def _load(files: ClientFiles, project: str, path: str) -> str:
    """The text of a file of the project; one that cannot be read says nothing."""
    with suppress(Fault):
        return (files.read(f"{project}/{path}") or b"").decode("utf-8", "replace")
    return ""


def _offer_checks(rt: WritePorts, files: ClientFiles, request: SetUpClients, project: str) -> list[str]:
    """The command that would declare checks where something was found, or have Handrail run declared ones."""
    if request.remove is True:
        return []
    listing = ["handrail check list --compact"] if request.checks is True else []
    try:
        declared = rt.settings.of(project).checks
    except Fault:
        return listing
    if declared:
        return [*listing, *([] if _are_approved(rt, request, declared, project) else [_APPROVING])]
    found = list(_suggest_startable(rt, files, project)) if not listing else []
    offer = f"To declare {', '.join(found)}: handrail setup --checks --dry-run --compact"
    return [*listing, *([offer] if found else [])]


def _are_approved(
    rt: WritePorts, request: SetUpClients, checks: Sequence[DeclaredCheck], project: str
) -> bool:
    """Whether Handrail may run all of them itself; who sets up checks at a terminal is asked there."""
    with suppress(Fault):  # nobody is there, or nobody agrees: the command is offered
        if request.checks is True:
            approve_check(rt, ApproveCheck(project=project))
    return all(rt.known_checks().find(project, digest_check(one)).is_approved for one in checks)


def _of_clients(files: ClientFiles, request: SetUpClients, project: str) -> list[_Target]:
    places = files.places()
    if request.scope == "project":  # these files are committed, and this machine's paths are nobody else's
        places = msgspec.structs.replace(places, command=("handrail",))
    setup = _Setup(
        files=files,
        places=places,
        scope="user" if request.scope is UNSET else request.scope,
        project=project,
        sets=_choose_sets(request),
        is_removal=request.remove is True,
    )
    chosen = _choose(files, request, setup.places)
    is_workflow = "workflow" in setup.sets
    with_hooks = request.hooks is True or (setup.is_removal and is_workflow)
    hooked = [name for name in chosen if name in HOOKS and with_hooks]
    apart = [name for name in hooked if setup.hooks_file(name) != setup.file(name)]
    targets = [_of_client(setup, name, has_hooks=name in hooked and name not in apart) for name in chosen]
    targets += [_of_hooks(setup, name) for name in apart]
    workers = [(name, setup.worker_file(name)) for name in chosen if is_workflow]
    targets += [_of_worker(setup, name, path) for name, path in workers if path]
    return [*targets, _of_skill(setup, _users_of_skill(setup, targets) if setup.is_removal else "")]


def _choose_sets(request: SetUpClients) -> tuple[ToolSet, ...]:
    if request.sets is UNSET or not request.sets:
        return TOOL_SETS if request.remove is True else ("workflow",)
    return tuple(one for one in TOOL_SETS if one in request.sets)


def _users_of_skill(setup: _Setup, targets: Sequence[_Target]) -> str:
    """Who still needs the skill after a removal: it is one copy for everything this user does."""
    if setup.scope == "project":
        return "it serves your other projects too"
    going = {target.name for target in targets if target.trouble is None}
    staying = [one for one in TOOL_SETS if one not in setup.sets]
    left = [name for name in CLIENTS if _has_entry(setup, name, staying if name in going else TOOL_SETS)]
    return f"{', '.join(left)} still {'uses' if len(left) == 1 else 'use'} it" if left else ""


def _has_entry(setup: _Setup, name: ClientName, sets: Sequence[ToolSet]) -> bool:
    """Whether a client of this user starts Handrail; one that cannot be read may."""
    try:
        return _has_any(name, decode_text(setup.files.read(setup.file(name))), sets)
    except (Fault, NotEditable):
        return bool(sets)


def _has_any(name: ClientName, text: str, sets: Sequence[ToolSet]) -> bool:
    return any(read_entry(name, text, one) is not None for one in sets)


def _of_skill(setup: _Setup, users: str) -> _Target:
    held = setup.files.held_skill()
    if setup.is_removal:
        stays = {"absent": "it is gone already", "changed": "you changed it", "foreign": "it is not ours"}
        reason = stays.get(held.state) or users
    else:
        reason = "it is as it should be" if held.state == "as_packed" else ""
    path = f"{setup.places.user}/.agents/skills/handrail"
    trouble = None
    if held.state == "foreign" and not setup.is_removal:
        reason = "a directory of that name is not Handrail's"
        trouble = _skill_trouble(path, reason)
    version = f"{held.version} {reason}"
    return _Target(
        name=SKILL, path=path, version=version, reason=reason, trouble=trouble, is_changed=not reason
    )


def _choose(files: ClientFiles, request: SetUpClients, places: ClientPlaces) -> Sequence[ClientName]:
    """Those that were named; else every client that has left a sign of itself here."""
    if request.clients is not UNSET:
        targets_of(request.clients, "clients")
        return list(dict.fromkeys(request.clients))
    found = find_clients(files, places)
    if not found:
        raise Fault(
            E_NOT_FOUND,
            "No agent client was found on this machine.",
            details={"resource": "client", "id": ", ".join(CLIENTS)},
            hint="Name the ones to set up with --clients, such as --clients cursor.",
        )
    return found


def find_clients(files: ClientFiles, places: ClientPlaces) -> list[ClientName]:
    """Every client that has left a sign of itself on this machine."""
    return [
        name
        for name, client in TABLE.items()
        if client.program in places.programs or any(files.exists(path_of(s, places)) for s in client.signs)
    ]


def _of_client(setup: _Setup, name: ClientName, *, has_hooks: bool) -> _Target:
    """The entries, and with them the hooks where the client keeps both in one file."""
    places, sets, is_removal = setup.places, setup.sets, setup.is_removal
    entries = {one: entry_of(name, places.command, one) for one in sets}

    snippet = snippet_of(name, {ENTRIES[one]: entry for one, entry in entries.items()})
    if TABLE[name].is_toml:
        return _of_own_command(setup, name, entries, snippet)

    def changed(text: str) -> str:
        for one, entry in entries.items():
            text = remove_entry(name, text, one) if is_removal else write_entry(name, text, entry, one)
        return setup.edit_hooks(name, text) if has_hooks else text

    def is_whole(text: str) -> bool:
        return not _has_any(name, text, [one for one in TOOL_SETS if one not in sets])

    path = setup.file(name)
    target = _of_file(
        setup.files,
        name,
        path,
        snippet,
        changed,
        is_removal=is_removal,
        within=setup.within,
        is_whole=is_whole,
    )
    if target.trouble is not None or not target.is_changed or target.is_restored:
        return target
    text = decode_text(target.before)
    if has_hooks and setup.edit_hooks(name, text) != text:
        return target  # the client's command changes only the entry, and leaves a file that we did not plan
    held = {one: read_entry(name, text, one) for one in sets}
    if is_removal:
        wrong = [one for one in sets if held[one] is not None]
    else:
        wrong = [one for one in sets if write_entry(name, text, entries[one], one) != text]
        if any(held[one] is not None for one in wrong):
            return target  # an entry to correct is edited: the client's own command refuses a second one
    commands = [build_command(name, setup.scope, places, one, is_removal=is_removal) for one in wrong]
    if not all(commands):
        return target
    version = _version_entries(name, text, sets)
    return msgspec.structs.replace(target, version=version, sets=sets, commands=tuple(commands))


def _of_own_command(
    setup: _Setup, name: ClientName, entries: dict[ToolSet, dict[str, Any]], snippet: str
) -> _Target:
    """A client whose file only its own command changes; without that, a person does."""
    path, sets = setup.file(name), setup.sets
    try:
        path = setup.files.resolve(path, setup.within)
        text = decode_text(setup.files.read(path))
        held = {one: read_entry(name, text, one) for one in sets}
    except Fault as fault:
        return _Target(name=name, path=path, version="unreadable", snippet=snippet, trouble=fault)
    except NotEditable as trouble:
        refused = _not_editable(path, str(trouble), snippet)
        return _Target(name=name, path=path, version="unreadable", snippet=snippet, trouble=refused)
    steps = [(one, True) for one in sets if held[one] is not None and not has_entry(held[one], entries[one])]
    if setup.is_removal:
        steps = [(one, True) for one in sets if held[one] is not None]
    else:
        steps += [(one, False) for one in sets if not has_entry(held[one], entries[one])]
    commands = [build_command(name, setup.scope, setup.places, one, is_removal=out) for one, out in steps]
    missing = _not_editable(path, "only its own command changes it, which is not there for this", snippet)
    return _Target(
        name=name,
        path=path,
        version=_version_entries(name, text, sets),
        snippet=snippet,
        sets=sets,
        commands=tuple(commands),
        is_changed=bool(commands),
        trouble=None if all(commands) else missing,
    )


def _version_entries(name: ClientName, text: str, sets: Sequence[ToolSet]) -> str:
    """Of our own entries only: a running client rewrites its file all the time."""
    return sha256(canonical_bytes([read_entry(name, text, one) for one in sets])).hexdigest()


def _of_hooks(setup: _Setup, name: ClientName) -> _Target:
    target, snippet = HOOKS_OF.format(name), hooks_snippet(name, setup.places.command)
    changed = partial(setup.edit_hooks, name)
    path = setup.hooks_file(name)
    return _of_file(
        setup.files, target, path, snippet, changed, is_removal=setup.is_removal, within=setup.within
    )


def _of_worker(setup: _Setup, name: ClientName, path: str) -> _Target:
    """A definition that somebody changed stays when Handrail goes; one that is as it was is put back."""

    def changed(text: str) -> str:
        return text if setup.is_removal else write_worker(name, text)

    target, snippet = WORKER_OF.format(name), worker_text(name)
    return _of_file(
        setup.files, target, path, snippet, changed, is_removal=setup.is_removal, within=setup.within
    )


def _of_file(
    files: ClientFiles,
    name: str,
    path: str,
    snippet: str,
    changed: Callable[[str], str],
    *,
    is_removal: bool,
    within: str = "",
    is_whole: Callable[[str], bool] = lambda _: True,
) -> _Target:
    """The file as it would be, by its real path. What setup itself made is put back exactly, if nobody
    touched it since. No link out of the folder `within` is followed.
    """
    try:
        path = files.resolve(path, within)
        before = files.read(path)
    except Fault as fault:
        return _Target(name=name, path=path, version="unreadable", snippet=snippet, trouble=fault)
    version = "absent" if before is None else sha256(before).hexdigest()
    target = _Target(name=name, path=path, version=version, before=before, after=before, snippet=snippet)
    kept = files.kept(path)
    try:
        text = decode_text(before)
        if is_removal and kept is not None and kept.after_sha256 == version and is_whole(text):
            return msgspec.structs.replace(
                target, after=kept.before, is_restored=True, is_changed=kept.before != before
            )
        after = changed(text)
    except NotEditable as trouble:
        return msgspec.structs.replace(target, trouble=_not_editable(path, str(trouble), snippet))
    if after == text:
        return msgspec.structs.replace(target, is_changed=False)
    return msgspec.structs.replace(target, after=after.encode())


def _not_editable(path: str, why: str, snippet: str) -> Fault:
    return Fault(
        E_CONFIG,
        f"{quote(path)} was left alone: {why}. Put this into it by hand: {snippet}",
        details={"setting": path, "source": "file"},
        hint=f"Put what the message shows into {path} by hand, or correct the file and run setup again.",
    )


def _plan(request: SetUpClients, targets: list[_Target]) -> Plan[dict[str, _Target]]:
    is_removal = request.remove is True
    changes = tuple(_change(target, is_removal=is_removal) for target in targets)
    if request.continue_on_error is False:
        changes = mark_unreached(changes, {target.name for target in targets if target.trouble is not None})
    is_skill = changes[-1].id == SKILL and changes[-1].action != "none"
    skill = "; and the skill, which all your clients share" if is_skill else ""
    action = "take Handrail out of agent clients" if is_removal else "set Handrail up in agent clients"
    return Plan(
        action="declare checks of this project" if changes[-1].id == CHECKS else action,
        changes=changes,
        targets=tuple(target.name for target in targets),
        versions={target.name: target.version for target in targets},
        blast_radius="Our own entry in each file; everything else in them stays as it is, byte for byte"
        f"{skill}.",
        found={target.name: target for target in targets},
    )


def _change(target: _Target, *, is_removal: bool) -> Change:
    if target.name == SKILL:
        after: dict[str, Json] = {"path": target.path, "state": "absent" if is_removal else "as packed"}
        if not target.is_changed:
            after = {"path": target.path, "reason": target.reason}
            return Change(action="none", resource="skill", id=SKILL, after=after)
        return Change(action="delete" if is_removal else "update", resource="skill", id=SKILL, after=after)
    if target.trouble is not None:
        after = {"reason": target.trouble.message, "snippet": target.snippet}
        return Change(action="none", resource="client", id=target.name, after=after)
    resource = CHECKS if target.name == CHECKS else "client"
    if not target.is_changed:
        after = {"reason": target.reason or "it is as it should be"}
        return Change(action="none", resource=resource, id=target.name, after=after)
    if target.commands:
        lines: list[Json] = [list(command) for command in target.commands]
        after = {"path": target.path, **({"command": lines[0]} if len(lines) == 1 else {"commands": lines})}
        return Change(action="update", resource="client", id=target.name, after=after)
    difference = diff_texts((target.before or b"").decode(errors="replace"), (target.after or b"").decode())
    action: Any = "create" if target.before is None else "delete" if target.after is None else "update"
    return Change(
        action=action,
        resource=resource,
        id=target.name,
        after={"path": target.path},
        diff={"path": target.path, **difference},
    )


def _apply(files: ClientFiles, target: _Target, request: SetUpClients, project: str) -> None:
    if target.trouble is not None:
        raise target.trouble
    if target.name == SKILL:
        if not target.is_changed:
            return
        if f"{files.held_skill().version} {target.reason}" != target.version:
            raise refusal("target_changed")
        copy = files.remove_skill() if request.remove is True else files.sync_skill()
        if copy.status == "failed":
            raise _skill_trouble(copy.path, copy.trouble)
        return
    if target.commands:
        _require_same_entries(files, target)
    for command in target.commands:
        trouble = files.run(command, project)
        if trouble:
            message = f"The client's own command failed: {trouble}. Its file is unchanged by Handrail."
            raise Fault(E_IO, message, details={"reason": "client_command", "command": list(command)})
    if target.commands or not target.is_changed:
        return
    if not files.replace(target.path, target.before, target.after):
        raise refusal("target_changed")
    if target.is_restored:
        files.forget(target.path)


def _require_same_entries(files: ClientFiles, target: _Target) -> None:
    """The client's own command compares nothing. Raises Fault E_CONFLICT."""
    name = next(one for one in CLIENTS if one == target.name)
    if _version_entries(name, decode_text(files.read(target.path)), target.sets) != target.version:
        raise refusal("target_changed")


def _skill_trouble(path: str, why: str) -> Fault:
    message = f"The skill in {quote(path)} was not updated: {why}."
    return Fault(E_IO, message, details={"reason": "skill", "path": path})


def _next_steps(request: SetUpClients, targets: Mapping[str, _Target]) -> list[str]:
    if set(targets) == {CHECKS}:
        return []
    if request.remove is True:
        return ["Restart the clients."]
    trust = [TRUST] if HOOKS_OF.format("codex") in targets else []
    checked = "handrail doctor --checks mcp_registration,skill_sync --compact"
    return ["Restart the clients.", *trust, checked, *([] if "code" in _choose_sets(request) else [CODE_SET])]


OPERATION = Operation(
    name="clients.setup",
    effect="gated",
    where="client",
    summary="Put Handrail into your agent clients, with its skill and hooks; or take it out again.",
    input=SetUpClients,
    output=SetUp,
    perform=set_up_clients,
    starts_programs=True,
    shape=Shape(levels={"minimal": ("items", "summary", "skipped")}),
)
