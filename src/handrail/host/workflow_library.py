"""Workflow files of every source, in the order in which they count: bundled, user, project, git, plugin.

Their summaries are kept, so that a listing of many is quick: a cache and nothing else, one file that can be
deleted at any time. An entry counts only for exactly the bytes and the code that it was made from; a damaged
file counts as empty.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping

import msgspec

import handrail.workflows
from handrail.contract.ids import SourceKind
from handrail.contract.workflow_files import WorkflowFile
from handrail.host.bounds import Bounds
from handrail.host.private_files import (
    content_of,
    ensure_private_directory,
    leads_outside,
    open_regular_file,
    replace_cache,
)
from handrail.host.workflow_sources.directories import (
    OWN_FOLDER,
    Roots,
    UserSettings,
    list_files,
    list_named_files,
    read_project_settings,
    read_user_settings,
    refuse_named_file,
)
from handrail.host.workflow_sources.stamps import Stamp, is_settled, stamp_sources
from handrail.runtime.recent import Recent
from handrail.workflows.limits import MAX_SOURCE_BYTES, file_kind, spelling_of

_HERE = os.path.dirname(os.path.abspath(__file__))
_BUNDLED = os.path.join(_HERE, "bundled")
_DECODED = os.path.join(os.path.dirname(_HERE), "packed", "workflows.json")
"""The documents of the bundled workflows, by the digest of their content: reading Markdown again is slow."""
MOST_KEPT = 64
"""Projects whose files a server keeps in memory."""
MOST_KEPT_BYTES = 16 * 1024 * 1024
_BY_DIGEST = msgspec.json.Decoder(dict[str, msgspec.Raw])


class DirectoryLibrary:
    """`ports.WorkflowLibrary` over directories, and over what the user's `config.json` names."""

    def __init__(self, home: str, environment: Mapping[str, str] | None = None, workflows: str = "") -> None:
        """`workflows` stands in place of the folder of that name in the home."""
        self._home = home
        self._workflows = workflows or os.path.join(home, "workflows")
        self._environment = os.environ if environment is None else environment

        self._kept: Recent[str, tuple[Stamp, tuple[WorkflowFile, ...]]] = Recent(MOST_KEPT, MOST_KEPT_BYTES)

    def files(self, project: str) -> tuple[WorkflowFile, ...]:
        """The same object as long as nothing was changed."""
        stamp = self._stamp(project)
        kept = self._kept.get(project)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        found = tuple(self._read_files(project))
        if stamp is not None and is_settled(stamp):
            self._kept.put(project, (stamp, found), sum(len(file.content) for file in found))
        else:
            self._kept.take(project)
        return found

    def _stamp(self, project: str) -> Stamp | None:
        """None where the files are read each time: what a repository or a plugin holds has no stamp here."""
        own = read_user_settings(self._home)
        if own.git or own.plugins:
            return None
        ours = os.path.join(project, OWN_FOLDER)
        named = [os.path.join(project, name) for name in read_project_settings(project).directories]
        if any(os.path.realpath(folder) != os.path.abspath(folder) for folder in named):
            return None
        folders = [self._workflows, os.path.join(self._home, "contracts")]
        folders += [os.path.join(ours, name) for name in ("workflows", "contracts")] + named
        settings = [os.path.join(place, "config.json") for place in (self._home, ours)]
        # The bundled files belong to the program: whoever replaces them replaces its code too.
        return stamp_sources(folders, [_DECODED, ours, *settings])

    def _read_files(self, project: str) -> list[WorkflowFile]:
        own = read_user_settings(self._home)
        bounds = Bounds(project, self._home)
        found = [
            *list_bundled_files(),
            *list_files(self._workflows, "user"),
            *_project_files(project, bounds),
            *self._named_files(own),
            *own.troubles,
            *list_files(os.path.join(self._home, "contracts"), "user", holds="contract"),
            *_project_contracts(project, bounds),
        ]
        return SummaryCache(self._home).with_summaries(found)

    def content_now(self, project: str, source_kind: SourceKind, source_ref: str) -> bytes | None:
        directory = self._directory_of(project, source_kind, source_ref)
        if directory is None:
            return None
        path = os.path.join(directory, source_ref)
        root = project if source_kind == "project" else directory
        return (
            content_of(path, MAX_SOURCE_BYTES) if file_kind(path) and not leads_outside(path, root) else b""
        )

    def named_files(self, directory: str, project: str) -> list[WorkflowFile]:
        return list_named_files(directory, self._roots(project))

    def refused_file(self, path: str, project: str) -> WorkflowFile | None:
        return refuse_named_file(path, self._roots(project))

    def _roots(self, project: str) -> Roots:
        own = [self._workflows, os.path.join(self._home, "contracts")]
        return [("user", own[0]), ("user", own[1]), ("project", project)]

    def _directory_of(self, project: str, source_kind: SourceKind, source_ref: str) -> str | None:
        """Where a file was found; None where no directory of this machine holds it."""
        folders = source_ref.split("/")
        if ".." in folders or source_ref.startswith("/"):
            return None
        named = "/".join(folders[:-1])
        if source_kind == "project" and named:
            asked = read_project_settings(project).directories
            if any(named == one or named.startswith(f"{one}/") for one in asked):
                return project
        own = {
            "bundled": _BUNDLED,
            "user": self._workflows,
            "project": os.path.join(project, ".handrail", "workflows"),
        }
        return own.get(source_kind)

    def _named_files(self, own: UserSettings) -> list[WorkflowFile]:
        if not own.git and not own.plugins:
            return []
        # A process is started only for a user who configured one, and only then its module is paid for.
        from handrail.host.workflow_sources.named import read_named_files  # noqa: PLC0415 - see above

        return read_named_files(own, self._home, self._environment)


def list_bundled_files() -> list[WorkflowFile]:
    """The workflows that come with the program. One whose document is not packed is read from its text."""
    documents = _BY_DIGEST.decode(content_of(_DECODED, MAX_SOURCE_BYTES) or b"{}")
    return [
        msgspec.structs.replace(
            file, decoded=bytes(documents.get(hashlib.sha256(file.content).hexdigest(), b""))
        )
        for file in list_files(_BUNDLED, "bundled")
    ]


def _project_files(project: str, bounds: Bounds) -> list[WorkflowFile]:
    asked = read_project_settings(project)
    if _is_elsewhere(project):
        return list(asked.troubles)
    found = list_files(os.path.join(project, OWN_FOLDER, "workflows"), "project", root=project, bounds=bounds)
    for name in asked.directories:
        directory = os.path.join(project, name)
        if not bounds.is_hidden_place(os.path.realpath(directory)):
            found += list_files(directory, "project", shown_as=name, root=project, bounds=bounds)
    return [*found, *asked.troubles]


def _project_contracts(project: str, bounds: Bounds) -> list[WorkflowFile]:
    if _is_elsewhere(project):
        return []
    directory = os.path.join(project, OWN_FOLDER, "contracts")
    return list_files(directory, "project", holds="contract", root=project, bounds=bounds)


def _is_elsewhere(project: str) -> bool:
    """Whether the project's own folder is a link out of it: then that is the one trouble to tell."""
    return leads_outside(os.path.join(project, OWN_FOLDER), project)


# Summaries of workflow files

MOST_ENTRIES = 20_000


class SummaryCache:
    """Summaries by the digest of the content."""

    def __init__(self, home: str) -> None:
        self._directory = os.path.join(home, "data", "cache", "workflows")

    def with_summaries(self, files: Iterable[WorkflowFile]) -> list[WorkflowFile]:
        """Add summaries to the files; missing ones are read now and kept."""
        listed = list(files)
        path = os.path.join(self._directory, f"{_reader_version()}.json")
        known = _load(path)
        used: dict[str, bytes] = {}
        done: list[WorkflowFile] = []
        for file in listed:
            if not file.trouble:
                digest = _digest_source(file)
                if digest not in used:
                    used[digest] = known.get(digest) or _summary(file)
                file = msgspec.structs.replace(file, summary=used[digest])
            done.append(file)
        if not used.keys() <= known.keys():
            self._keep(path, known | used if len(known) + len(used) <= MOST_ENTRIES else used)
        return done

    def _keep(self, path: str, table: dict[str, bytes]) -> None:
        """Replace the file; a listing does not fail if it cannot be written."""
        content = msgspec.json.encode({digest: msgspec.Raw(table[digest]) for digest in sorted(table)})
        try:
            ensure_private_directory(self._directory)
            for name in os.listdir(self._directory):
                if os.path.join(self._directory, name) != path:
                    os.unlink(os.path.join(self._directory, name))  # made by another version of the reader
            replace_cache(path, content)
        except OSError:
            return


def _digest_source(file: WorkflowFile) -> str:
    """What a summary depends on: the content, its spelling, and of a contract also the file's name."""
    if file.holds == "workflow":
        spelling = spelling_of(file.source_ref)
        mark = b"" if spelling == "json" else f"{spelling}\0".encode()
        return hashlib.sha256(mark + file.content).hexdigest()
    name = file.source_ref.rpartition("/")[2].encode("utf-8", "surrogatepass")
    return hashlib.sha256(b"contract\0" + name + b"\0" + file.content).hexdigest()


def _summary(file: WorkflowFile) -> bytes:
    # It loads the language, which a call on a running session never needs.
    from handrail.workflows.catalog import (  # noqa: PLC0415 - see above
        encode_summary,
        summarise,
        summarise_contract,
    )

    if file.holds == "workflow":
        return encode_summary(summarise(file.content, spelling_of(file.source_ref), file.decoded))
    return encode_summary(summarise_contract(file.content, file.source_ref))


def _load(path: str) -> dict[str, bytes]:
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            return {digest: bytes(raw) for digest, raw in _BY_DIGEST.decode(file.read()).items()}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _reader_version() -> str:
    """A version of the code that reads files, from the size and time of its modules."""
    facts: list[str] = []
    for root in handrail.workflows.__path__:
        for folder, _, names in sorted(os.walk(root)):
            for name in sorted(names):
                if name.endswith(".py"):
                    found = os.stat(os.path.join(folder, name))
                    facts.append(f"{folder}/{name} {found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256(os.fsencode("\n".join(facts))).hexdigest()[:32]
