"""Summaries of workflow files, so that a listing of many is quick.

A cache and nothing else: one file that can be deleted at any time. An entry counts only for exactly the
bytes it was made from and for the code that made it; a damaged file counts as empty.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

import msgspec

import handrail.workflows
from handrail.host.private_files import ensure_private_directory, replace_cache
from handrail.ports.workspace import WorkflowFile
from handrail.workflows.catalog import encode_summary, summarise, summarise_contract
from handrail.workflows.limits import spelling_of

MOST_ENTRIES = 20_000
_TABLE = msgspec.json.Decoder(dict[str, msgspec.Raw])


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
                digest = _digest(file)
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


def _digest(file: WorkflowFile) -> str:
    """What a summary depends on: the content, its spelling, and of a contract also the file's name."""
    if file.holds == "workflow":
        spelling = spelling_of(file.source_ref)
        mark = b"" if spelling == "json" else f"{spelling}\0".encode()
        return hashlib.sha256(mark + file.content).hexdigest()
    name = file.source_ref.rpartition("/")[2].encode("utf-8", "surrogatepass")
    return hashlib.sha256(b"contract\0" + name + b"\0" + file.content).hexdigest()


def _summary(file: WorkflowFile) -> bytes:
    if file.holds == "workflow":
        return encode_summary(summarise(file.content, spelling_of(file.source_ref), file.decoded))
    return encode_summary(summarise_contract(file.content, file.source_ref))


def _load(path: str) -> dict[str, bytes]:
    try:
        with open(path, "rb") as file:
            return {digest: bytes(raw) for digest, raw in _TABLE.decode(file.read()).items()}
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
