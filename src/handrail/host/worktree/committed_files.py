"""`ports.CommittedFiles` with git: commits by name, and their files in a scratch folder."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from handrail.host.programs import open_listing
from handrail.host.worktree.bounds import Bounds
from handrail.host.worktree.repository import EXECUTABLE, FILE, LINK, Repository
from handrail.ports.checks import NamedCommit

MOST_COPIED_BYTES = 512 * 1024 * 1024
"""Of the files of a commit in a scratch folder."""
_SECONDS = 30.0
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/@^~{}-]{0,255}")
"""A name that is no option of git."""
_MODES = {FILE: 0o644, EXECUTABLE: 0o755}


class LocalCommittedFiles:
    """The repository around a project."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment

    def find(self, project: str, ref: str) -> NamedCommit | None:
        if _NAME.fullmatch(ref) is None:
            return None
        git = open_listing(project, self._environment, _SECONDS)
        printed = git.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}") or b""
        commit = printed.decode("ascii", "replace").strip()
        tree = (git.run("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}") or b"") if commit else b""
        if not tree:
            return None
        return NamedCommit(commit=commit, tree=tree.decode("ascii", "replace").strip())

    def read(self, project: str, commit: str, path: str) -> bytes | None:
        repository = self._open(project)
        found = (repository.find_commit_files(commit) or {}).get(os.fsencode(path))
        if found is None:
            return None
        name = found[1].hex()
        return repository.read_contents([name]).get(name)

    @contextmanager
    def copy(self, project: str, commit: str) -> Iterator[str]:
        folder = tempfile.mkdtemp(prefix="handrail-replay-")
        try:
            yield folder if self._fill(project, commit, folder) else ""
        finally:
            with suppress(OSError):
                shutil.rmtree(folder)

    def _fill(self, project: str, commit: str, folder: str) -> bool:
        repository = self._open(project)
        files = repository.find_commit_files(commit)
        if files is None:
            return False
        contents = repository.read_contents(sorted({digest.hex() for _, digest in files.values()}))
        if sum(map(len, contents.values())) > MOST_COPIED_BYTES:
            return False
        try:
            for path, (mode, digest) in sorted(files.items()):
                content = contents.get(digest.hex())
                if content is None:
                    return False
                _write(os.path.join(os.fsencode(folder), path), mode, content)
        except OSError:
            return False
        return True

    def _open(self, project: str) -> Repository:
        return Repository(Bounds(project, self._home), self._environment, _SECONDS)


def _write(path: bytes, mode: bytes, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if mode == LINK:
        os.symlink(content, path)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(path, flags, _MODES[mode]), "wb") as file:
        file.write(content)
