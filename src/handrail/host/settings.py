"""Settings from two `config.json` files and the environment, checked value by value.

The project's file comes with a checkout and is not trusted: it may only set how answers look, and declare
checks, which run when somebody asks for one by name, or the user approved just that declaration; elsewhere it
may ask for more care, never for less.
What both files say about workflows belongs to `workflow_sources`.
"""

# ruff: noqa: PLC0415 - most homes have no settings file, and its readers are slow to load

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta

from handrail.contract.catalogue import E_CONFIG, E_IO, VALIDATION_ERROR
from handrail.contract.envelopes.cli import find_wrong_variables
from handrail.contract.ids import Autonomy, Confirmations, MaxEffect, RiskPolicy
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Fault, Json, make_from
from handrail.contract.suggest import find_only_near
from handrail.contract.wording import quote
from handrail.host.private_files import (
    content_of,
    ensure_private_directory,
    explain_unreadable,
    leads_outside,
    lock_file,
    replace_private,
)
from handrail.ports.workspace import (
    INSIDE,
    LONGEST_COMMAND_WORD,
    MOST_COMMAND_WORDS,
    DeclaredCheck,
    DesiredSettings,
    Notify,
    ReportPlace,
    SettingProblem,
    Settings,
    TeamLimits,
)

MOST_BYTES = 65_536
USER_FILE = "config.json"
PROJECT_FILE = ".handrail/config.json"
MAX_EFFECT_VARIABLE = "HANDRAIL_MAX_EFFECT"

WORKFLOW_KEYS = {USER_FILE: ("workflowSources", "plugins"), PROJECT_FILE: ("workflowDirectories",)}
_EFFECTS: tuple[MaxEffect, ...] = get_args(MaxEffect)
_NESTED = ("output", "preferences", "update", "code", "notify", "limits")


class _Preferences(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    autonomy: Autonomy | None = None
    """How far agents go without the user, in sessions that begin from now on; guided by default."""
    risk_policy: RiskPolicy | None = None
    """How much risk agents take, in sessions that begin from now on; conservative by default."""


class _Output(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    format: Literal["", "json", "text"] = ""
    """What commands print: JSON by default, or text for people."""
    envelope: Literal["", "cli", "lafs"] = ""
    """The dialect of the JSON document: `cli`, the default, or that of the LAFS specification."""
    compact: bool = False
    """JSON on one line."""


class _Update(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    index: Annotated[str, Meta(max_length=2048)] = ""
    """The package index that `update` asks; without it the public one."""
    verify: bool = False
    """Every update installs a release only if our release workflow signed it."""
    trusted_root: Annotated[str, Meta(max_length=4096)] = ""
    """A file with the trust that this check of signatures starts from, in place of the public one."""


MOST_ROOTS = 100
MOST_CHECKS = 20
MOST_CHECK_VARIABLES = 20
_OPEN_VARIABLE = r"^(?!HANDRAIL_|AI_NATIVE_CLI_)[A-Za-z_][A-Za-z0-9_]*\Z"
"""A name that a project may set: what is Handrail's own, it may not."""
MOST_CHECK_SECONDS = 7_200
_CHECK_NAME = r"^[a-z0-9][a-z0-9_-]{0,39}\Z"
MOST_LINKS = 20
MOST_PATTERNS = 40
_Word = Annotated[str, Meta(min_length=1, max_length=LONGEST_COMMAND_WORD, pattern=r"^[^\x00]+\Z")]
_Words = Annotated[tuple[_Word, ...], Meta(max_length=MOST_COMMAND_WORDS)]
_Inside = Annotated[str, Meta(min_length=1, max_length=500, pattern=INSIDE)]


class _Check(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    command: Annotated[tuple[_Word, ...], Meta(min_length=1, max_length=MOST_COMMAND_WORDS)]
    """The program and its arguments, word by word; no shell reads them."""
    directory: Annotated[str, Meta(max_length=500, pattern=INSIDE)] = "."
    """Where it starts, relative to the project."""
    timeout_seconds: Annotated[int, Meta(ge=1, le=MOST_CHECK_SECONDS)] = 600
    """When it is ended, and recorded as timed out."""
    description: Annotated[str, Meta(max_length=200)] = ""
    """What it checks, for people and agents."""
    report: ReportPlace | None = None
    """A file in which its tests are counted."""
    environment: Annotated[
        dict[
            Annotated[str, Meta(max_length=100, pattern=_OPEN_VARIABLE)],
            Annotated[str, Meta(max_length=LONGEST_COMMAND_WORD, pattern=r"^[^\x00]*\Z")],
        ],
        Meta(max_length=MOST_CHECK_VARIABLES),
    ] = {}
    """Variables that it gets. `check run` adds those of the caller that steer no runner, `prove` a few."""
    narrow: _Words = ()
    """For `prove`: the command for some test files alone; the word `{files}` stands for them."""
    prepare: _Words = ()
    """For `prove`: a command that makes a copy of the project ready, such as `npm ci`."""
    links: Annotated[tuple[_Inside, ...], Meta(max_length=MOST_LINKS)] = ()
    """For `prove`: files and folders outside of git that a copy needs, beside `.venv` and `node_modules`."""
    inherits: Annotated[
        tuple[Annotated[str, Meta(max_length=100, pattern=_OPEN_VARIABLE)], ...],
        Meta(max_length=MOST_CHECK_VARIABLES),
    ] = ()
    """For `prove`: variables of the caller that it needs in a copy, by name."""
    tests: Annotated[tuple[_Inside, ...], Meta(max_length=MOST_PATTERNS)] = ()
    """For `prove`: patterns of the files that are tests, in place of the usual names."""


class _Code(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    snapshots: Literal["git", "always", "off"] = "git"
    """Whether Handrail keeps the files of each step, to compare them: in git repositories, always, never."""


class _ProjectCode(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    snapshots: Literal["", "off"] = ""
    """`off`: keep no contents here, only names and digests. A project cannot loosen what its user set."""


class _ProjectFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    output: _Output = _Output()
    checks: Annotated[
        dict[Annotated[str, Meta(pattern=_CHECK_NAME)], _Check], Meta(max_length=MOST_CHECKS)
    ] = {}
    """Commands that count as evidence, by name: for `check run NAME`, and Handrail itself once approved."""
    code: _ProjectCode = _ProjectCode()
    project: Annotated[str, Meta(max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*\Z")] = ""
    """What this project is called on every machine; without it the first commit of its repository tells."""
    confirmations: Literal["", "person"] = ""
    """`person`: an agent's statement never confirms a step. A project cannot loosen what its user set."""


class _UserFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    output: _Output = _Output()
    start_session: bool = False
    """Offer agents the tool `start_session`, for sessions without a run."""
    max_effect: MaxEffect = "dangerous"
    """The most that any call may do; the environment can lower it further."""
    idle_minutes: Annotated[int, Meta(ge=1, le=100_000)] = 60
    """Minutes without a change after which a run under way is shown as idle, and a waiting one as stalled."""
    retention_days: Annotated[int, Meta(ge=1, le=36_500)] = 90
    """Days without activity after which `store gc` offers to remove a session."""
    kept_sessions: Annotated[tuple[str, ...], Meta(max_length=1_000)] = ()
    """Ids of sessions that `store gc` always leaves."""
    audit_reads: bool = False
    """Write an audit line for calls that only read, too."""
    audit_months: Annotated[int, Meta(ge=1, le=120)] = 12
    """How many files of the audit are kept, one per month with a line."""
    preferences: _Preferences = _Preferences()
    update: _Update = _Update()
    code: _Code = _Code()
    notify: Notify = Notify()
    limits: TeamLimits = TeamLimits()
    confirmations: Confirmations = "claimed"
    """Whether an agent's statement of an approval is enough, or a person must answer."""
    roots: Annotated[
        tuple[Annotated[str, Meta(max_length=4096, pattern=r"^(/|~/)")], ...], Meta(max_length=MOST_ROOTS)
    ] = ()
    """Folders in which servers may work for agents, beside the one that each was started in."""


_File = TypeVar("_File", _UserFile, _ProjectFile)


class LocalSettings:
    """The settings of one home."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment

    def of(self, project: str = "") -> Settings:
        """The settings in force. Raises Fault E_CONFIG, naming file and key."""
        user = _decoded(os.path.join(self._home, USER_FILE), USER_FILE, _UserFile)
        output = user.output
        checks: tuple[DeclaredCheck, ...] = ()
        snapshots = user.code.snapshots
        confirmations = user.confirmations
        named = ""
        insisting: Literal["", "user", "project"] = "user" if confirmations == "person" else ""
        if project and not _leads_out(project):
            file = _decoded(os.path.join(project, PROJECT_FILE), PROJECT_FILE, _ProjectFile)
            theirs, checks, named = file.output, _checks(file), file.project
            snapshots = file.code.snapshots or snapshots
            confirmations = file.confirmations or confirmations
            insisting = insisting or ("project" if file.confirmations else "")
            output = _Output(
                format=theirs.format or output.format,
                envelope=theirs.envelope or output.envelope,
                compact=theirs.compact or output.compact,
            )
        return make_from(
            Settings,
            user,
            user.preferences,
            max_effect=self._lowered(user.max_effect),
            output_format=output.format,
            output_envelope=output.envelope,
            is_compact=output.compact,
            update_index=user.update.index,
            verify_updates=user.update.verify,
            trusted_root=user.update.trusted_root,
            checks=checks,
            snapshots=snapshots,
            looking=user.code.snapshots,
            notify=user.notify if user.notify.url or user.notify.command else None,
            project_name=named,
            confirmations=confirmations,
            confirmations_from=insisting,
        )

    def read_checks(self, content: bytes) -> tuple[DeclaredCheck, ...]:
        """The checks of a project's file by its bytes. Raises Fault E_CONFIG."""
        return _checks(_convert(_parse(content, PROJECT_FILE), PROJECT_FILE, _ProjectFile))

    def problems(self, project: str = "") -> tuple[SettingProblem, ...]:
        """Everything wrong with files and variables, including unknown names, which change nothing."""
        found = _problems_of(os.path.join(self._home, USER_FILE), USER_FILE, _UserFile)
        if project and _leads_out(project):
            message = f"{PROJECT_FILE} is behind a link that leads out of the project, so it is not read."
            fix = "Put the file itself in its place, or remove the link."
            found.append(SettingProblem(place=PROJECT_FILE, message=message, fix=fix))
        elif project:
            found += _problems_of(os.path.join(project, PROJECT_FILE), PROJECT_FILE, _ProjectFile)
        try:
            self._lowered("dangerous")
        except Fault as fault:
            found.append(_problem(MAX_EFFECT_VARIABLE, fault))

        found += [_problem(name, fault) for name, fault in find_wrong_variables(self._environment).items()]
        return tuple(found)

    def desired(self, project: str = "") -> DesiredSettings:
        """What the files ask for. Never raises."""
        own = os.path.join(self._home, USER_FILE)
        theirs = os.path.join(project, PROJECT_FILE)
        return DesiredSettings(
            user_file=own,
            project_file=theirs,
            user=_asked_for(own, USER_FILE),
            project={} if not project or _leads_out(project) else _asked_for(theirs, PROJECT_FILE),
        )

    def keep(self, changes: Mapping[str, Json], held: Mapping[str, Json]) -> bool:
        """Compared under the lock, so that of two callers who saw the same only one writes."""
        path = os.path.join(self._home, USER_FILE)
        try:
            ensure_private_directory(self._home)
            with lock_file(path + ".lock"):
                document = self._changed(changes)
                now = _asked_for(path, USER_FILE)
                if any(now.get(name) != value for name, value in held.items()):
                    return False
                replace_private(path, canonical_bytes(document) + b"\n")
                return True
        except OSError as trouble:
            raise Fault(E_IO, f"The settings could not be written: {trouble.strerror}.") from trouble

    def check(self, changes: Mapping[str, Json]) -> None:
        self._changed(changes)

    def _changed(self, changes: Mapping[str, Json]) -> dict[str, Json]:
        """The user's document with these changes. Raises Fault E_CONFIG or VALIDATION_ERROR."""
        path = os.path.join(self._home, USER_FILE)
        _decoded(path, USER_FILE, _UserFile)
        document = _document(path, USER_FILE)
        for name, value in changes.items():
            outer, _, inner = name.rpartition(".")
            holder = document.setdefault(outer, {}) if outer else document
            if value is None:
                holder.pop(inner, None)
            else:
                holder[inner] = value
        try:
            msgspec.convert(document, _UserFile)
        except msgspec.ValidationError as trouble:
            named = ", ".join(changes)
            why = _explain(USER_FILE, str(trouble)).removeprefix(f"{named}: ")
            raise _not_allowed(named, why) from trouble
        _check_sources(document)
        return document

    def _lowered(self, ceiling: MaxEffect) -> MaxEffect:
        """The environment can only lower the ceiling."""
        asked = self._environment.get(MAX_EFFECT_VARIABLE, "")
        if not asked:
            return ceiling
        if asked not in _EFFECTS:
            raise Fault(
                E_CONFIG,
                f"{MAX_EFFECT_VARIABLE} is not one of {', '.join(_EFFECTS)}.",
                details={"setting": MAX_EFFECT_VARIABLE, "source": "environment"},
                hint=f"Set {MAX_EFFECT_VARIABLE} to one of {', '.join(_EFFECTS)}, or unset it.",
            )
        return min(ceiling, asked, key=_EFFECTS.index)


def _check_sources(document: dict[str, Json]) -> None:
    """What is lenient where it is read is refused where it is written."""
    from handrail.host.workflow_sources.directories import parse_user_settings

    for name in WORKFLOW_KEYS[USER_FILE]:
        if not isinstance(document.get(name, []), list):
            raise _not_allowed(name, "it takes a list.")
    for trouble in parse_user_settings(document).troubles:
        raise _not_allowed("workflowSources", f"{trouble.trouble} {trouble.remedy}")


def _not_allowed(name: str, why: str) -> Fault:
    return Fault(
        VALIDATION_ERROR,
        f"The setting {name} cannot have this value: {why}",
        details={"problems": [{"param": "value", "problem": why}]},
        hint="`handrail settings show` says what each setting takes.",
    )


def _checks(file: _ProjectFile) -> tuple[DeclaredCheck, ...]:
    return tuple(
        make_from(DeclaredCheck, check, name=name, environment=tuple(sorted(check.environment.items())))
        for name, check in file.checks.items()
    )


def _leads_out(project: str) -> bool:
    path = os.path.join(project, PROJECT_FILE)
    if not os.path.lexists(path):
        return False
    return leads_outside(path, project)


def _decoded(path: str, shown: str, kind: type[_File]) -> _File:
    return _convert(_document(path, shown), shown, kind)


def _convert(document: dict[str, Json], shown: str, kind: type[_File]) -> _File:
    if not document:
        return kind()
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as trouble:
        raise _broken(shown, _explain(shown, str(trouble))) from trouble


def _document(path: str, shown: str) -> dict[str, Json]:
    if not os.path.lexists(path):
        return {}
    if why := explain_unreadable(path):
        raise _broken(shown, f"it {why}.")
    return _parse(content_of(path, MOST_BYTES), shown)


def _parse(content: bytes, shown: str) -> dict[str, Json]:
    from handrail.contract.json.strict import decode_json

    try:
        document = decode_json(content, max_bytes=MOST_BYTES)
    except Fault as fault:
        raise _broken(shown, fault.message) from fault
    if not isinstance(document, dict):
        raise _broken(shown, "it is not one JSON object.")
    return document


def _asked_for(path: str, shown: str) -> dict[str, Json]:
    """The document by dotted names; what stands under names of its own stays together."""
    try:
        document = _document(path, shown)
    except Fault:
        return {}
    asked: dict[str, Json] = {}
    for name, value in document.items():
        if name in _NESTED and isinstance(value, dict):
            asked |= {f"{name}.{inner}": held for inner, held in value.items()}
        else:
            asked[name] = value
    return asked


def _broken(shown: str, why: str) -> Fault:
    return Fault(
        E_CONFIG,
        f"The settings in {shown} cannot be used: {why}",
        details={"setting": shown, "source": "file"},
        hint=f"Correct {shown}, or remove it to go back to the defaults.",
    )


_TIGHTENS = "a project may only tighten what its user set, and the setting may be left out"
_ALLOWED = {
    (PROJECT_FILE, "confirmations"): f'only "person" is allowed here: {_TIGHTENS}',
    (PROJECT_FILE, "code.snapshots"): f'only "off" is allowed here: {_TIGHTENS}',
    (USER_FILE, "confirmations"): 'allowed are "claimed" and "person"',
    (USER_FILE, "code.snapshots"): 'allowed are "git", "always" and "off"',
    (
        PROJECT_FILE,
        "report",
    ): 'write {"path": "build/junit.xml", "format": "junit"}, or {"path": "-", "format": "tap"}',
    (PROJECT_FILE, "report.path"): "write a path inside the project, such as build/junit.xml",
    (PROJECT_FILE, "report.format"): 'allowed are "junit", "jest", "tap", "go", "cargo" and "unittest"',
    (PROJECT_FILE, "directory"): "write a path inside the project, such as packages/web",
    (PROJECT_FILE, "command"): 'write a list of words, such as ["uv", "run", "pytest", "-q"]',
}
"""What is allowed, where the reader of values would tell of types and patterns."""


_TAKES = {
    "int": "a whole number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "names with values",
}
_BOUNDS = ((" of length >= ", " of at least "), (" of length <= ", " of at most "), (" >= ", " of at least "))


def _explain(shown: str, trouble: str) -> str:
    """What is wrong with a value, and where, in plain words."""
    reason, _, place = trouble.rpartition(" - at `$.")
    name = place.removesuffix("`")
    ending = name.rpartition("[...].")[2]
    allowed = _ALLOWED.get((shown, ending)) or _allowed_words(shown, name) or _in_words(reason or trouble)
    return f"{name}: {allowed}." if name else f"{allowed}."


def _allowed_words(shown: str, name: str) -> str:
    """The words that a setting can be, where it is one of a few."""
    kind: Any = _UserFile if shown == USER_FILE else _ProjectFile
    for part in name.split("."):
        is_struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
        fields = msgspec.structs.fields(kind) if is_struct else ()
        kind = next((field.type for field in fields if field.encode_name == part), None)
    words = [word for word in get_args(kind) if word] if get_origin(kind) is Literal else []
    return f"allowed are {', '.join(words)}" if words else ""


def _in_words(message: str) -> str:
    """What the reader of values says of types and bounds, as people say it."""
    if message.startswith("Object contains unknown field `"):
        return f"there is no setting {message.split('`')[1]}"
    kind, _, bound = message.removeprefix("Expected `").partition("`")
    if kind not in _TAKES or "regex" in bound:
        return "this is no value that it takes"
    for old, new in (*_BOUNDS, (" <= ", " of at most ")):
        bound = bound.replace(old, new)
    return f"it takes {_TAKES[kind]}{bound.partition(',')[0]}"


def _problems_of(path: str, shown: str, kind: type[msgspec.Struct]) -> list[SettingProblem]:
    found = []
    document: dict[str, Any] = {}
    try:
        document = _document(path, shown)
        msgspec.convert(document, kind)
    except Fault as fault:
        found.append(_problem(shown, fault))
    except msgspec.ValidationError as trouble:
        found.append(_problem(shown, _broken(shown, _explain(shown, str(trouble)))))

    known = (*(field.encode_name for field in msgspec.structs.fields(kind)), *WORKFLOW_KEYS[shown])
    for name in sorted(set(document) - set(known)):
        near = find_only_near(name, known)
        fix = f"Write {near} instead." if near else f"Remove it; known here: {', '.join(sorted(known))}."
        message = f"{shown} has a setting that nothing reads: {quote(name)}."
        found.append(SettingProblem(place=f"{shown} {name}", message=message, fix=fix))
    return found


def _problem(place: str, fault: Fault) -> SettingProblem:
    return SettingProblem(place=place, message=fault.message, fix=fault.hint)
