"""Lasting folders in the user's cache: one per project and slot, each held by one process at a time."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

import msgspec

from handrail.host.private_files import ensure_private_directory, lock_file, replace_cache

MOST_SLOTS = 16
_KEPT_SECONDS = 30 * 24 * 3600
"""Folders of a project without a proof for this long are removed."""
_NAME_LENGTH = 12
_HOOKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hooks")


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """One folder, with the parts of a trial. Names are short: some programs put sockets into `tmp`."""

    folder: str

    @property
    def files(self) -> str:
        """Return the folder into which the tree is written."""
        return os.path.join(self.folder, "files")

    @property
    def tmp(self) -> str:
        return os.path.join(self.folder, "tmp")

    @property
    def hooks(self) -> str:
        """Return the folder with what test runners load; a copy, because the project may be Handrail."""
        return os.path.join(self.folder, "hooks")

    @property
    def prepared(self) -> str:
        """Return the record of what the `prepare` command made, and of which manifests."""
        return os.path.join(self.folder, "prepared.json")

    def empty_tmp(self) -> None:
        """Raises OSError."""
        remove_tree(self.tmp)
        os.makedirs(self.tmp, exist_ok=True)

    def renew_hooks(self) -> None:
        """Copy what test runners load again: an earlier trial could have changed it. Raises OSError."""
        os.makedirs(self.hooks, exist_ok=True)
        names = _list_hooks()
        for name in {*os.listdir(self.hooks)}.difference(names):
            remove_tree(os.path.join(self.hooks, name))
        for name in names:
            with open(os.path.join(_HOOKS, name), "rb") as file:
                replace_cache(os.path.join(self.hooks, name), file.read())

    def make_case_file(self) -> str:
        """Make an empty file for the cases of one trial. Raises OSError."""
        path = os.path.join(self.folder, f"cases-{os.urandom(8).hex()}")
        with open(path, "xb"):
            return path


def find_cache(environment: Mapping[str, str]) -> str:
    """The user's cache folder."""
    named = environment.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        return named
    user = environment.get("HOME") or os.path.expanduser("~")
    return f"{user}/Library/Caches" if sys.platform == "darwin" else f"{user}/.cache"


@contextmanager
def hold_slot(cache: str, mark: str) -> Iterator[Slot | None]:
    """Yield a folder for the scope of the `with`; None if all are in use. Raises OSError.

    `mark` names the project.
    """
    above = os.path.join(cache, "handrail", "trials")
    own = os.path.join(above, hashlib.sha256(os.fsencode(mark)).hexdigest()[:_NAME_LENGTH])
    ensure_private_directory(own)
    os.utime(own)
    _remove_old(above, own)
    with ExitStack() as stack:
        for number in range(MOST_SLOTS):
            folder = os.path.join(own, str(number))
            try:
                stack.enter_context(lock_file(f"{folder}.lock", is_waiting=False))
            except BlockingIOError:
                continue
            ensure_private_directory(folder)
            slot = Slot(folder=folder)
            _clean(slot)
            yield slot
            with suppress(OSError):
                remove_tree(slot.tmp)
            return
        yield None


def _clean(slot: Slot) -> None:
    """Remove what a killed process left."""
    for name in os.listdir(slot.folder):
        if name.startswith("cases-"):
            os.unlink(os.path.join(slot.folder, name))
    slot.empty_tmp()


def digest_hooks() -> str:
    """Return the digest of the files that test runners load."""
    digest = hashlib.sha256()
    for name in _list_hooks():
        with open(os.path.join(_HOOKS, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def _list_hooks() -> list[str]:
    return sorted(name for name in os.listdir(_HOOKS) if name.endswith((".py", ".cjs")))


def _remove_old(above: str, own: str) -> None:
    for name in os.listdir(above):
        place = os.path.join(above, name)
        with suppress(OSError):
            if place == own or os.stat(place).st_mtime > time.time() - _KEPT_SECONDS:
                continue
            with ExitStack() as stack:
                for lock in [one for one in os.listdir(place) if one.endswith(".lock")]:
                    stack.enter_context(lock_file(os.path.join(place, lock), is_waiting=False))
                remove_tree(place)


def remove_tree(path: str) -> None:
    """Remove a file or a folder, also if a test took away the right to do so; links are not followed."""
    if os.path.islink(path) or not os.path.isdir(path):
        with suppress(FileNotFoundError):
            os.unlink(path)
        return
    with suppress(OSError):
        shutil.rmtree(path)
        return
    for folder, _, _ in os.walk(path):
        with suppress(OSError):
            os.chmod(folder, stat.S_IRWXU)
    for folder, names, _ in os.walk(path):
        for name in names:
            place = os.path.join(folder, name)
            if not os.path.islink(place):
                with suppress(OSError):
                    os.chmod(place, stat.S_IRWXU)
    shutil.rmtree(path)
