"""`ports.KnownChecks` in the home: which checks a person approved, and how long each took last.

Approvals are in a file of their own that people can read. One that others could have written, or that is a
link, approves nothing.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from handrail.contract.catalogue import E_IO
from handrail.contract.outcome import Fault
from handrail.host.private_files import (
    ensure_private_directory,
    open_regular_file,
    open_unfollowed,
    replace_private,
)
from handrail.ports.checks import KnownCheck

APPROVED = "approved-checks.json"
MOST_APPROVED = 1_000
MOST_REMEMBERED = 500
_REMEMBERED = ("data", "cache", "checks-run")
_LINE_BYTES = 80
_MOST_BYTES = 4 * 1024 * 1024
_NEVER_ENDED = "-"
_OTHERS_WRITE = 0o022


class _Approval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's yes: to one declaration under one name in one project."""

    project: str
    check: str
    digest: str
    who: str
    at: str


class _Approvals(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    v: Literal[1] = 1
    approved: tuple[_Approval, ...] = ()


class LocalKnownChecks:
    """The files of one home."""

    def __init__(self, home: str) -> None:
        self._approved = os.path.join(home, APPROVED)
        self._remembered = os.path.join(home, *_REMEMBERED)

    def find(self, project: str, digest: str) -> KnownCheck:
        place = _place(project)
        duration = self._read_runs().get(_mark(place, digest))
        return KnownCheck(
            is_approved=any((one.project, one.digest) == (place, digest) for one in self._read_approved()),
            was_run=duration is not None,
            duration_ms=int(duration) if duration is not None and duration.isdecimal() else None,
        )

    def approve(self, project: str, digests: Mapping[str, str], who: str, at: str) -> None:
        place = _place(project)
        new = [
            _Approval(project=place, check=name, digest=digest, who=who, at=at)
            for name, digest in digests.items()
        ]
        self._replace(place, digests, new)

    def withdraw(self, project: str, names: Sequence[str]) -> None:
        self._replace(_place(project), names, [])

    def keep_run(self, project: str, digest: str, duration_ms: int | None) -> None:
        duration = _NEVER_ENDED if duration_ms is None else str(duration_ms)
        mark = _mark(_place(project), digest)
        known = {one: held for one, held in self._read_runs().items() if one != mark} | {mark: duration}
        lines = [f"{one} {held}\n" for one, held in known.items()][-MOST_REMEMBERED:]
        with suppress(OSError):
            ensure_private_directory(os.path.dirname(self._remembered))
            replace_private(self._remembered, "".join(lines).encode())

    def _replace(self, place: str, names: Sequence[str] | Mapping[str, str], new: list[_Approval]) -> None:
        held = self._read_approved()
        kept = [one for one in held if one.project != place or one.check not in names]
        if not new and len(kept) == len(held):
            return
        file = _Approvals(approved=tuple([*kept, *new][-MOST_APPROVED:]))
        try:
            ensure_private_directory(os.path.dirname(self._approved))
            replace_private(self._approved, msgspec.json.format(msgspec.json.encode(file)) + b"\n")
        except OSError as trouble:
            raise Fault(
                E_IO,
                f"The approval could not be kept: {os.strerror(trouble.errno or 0)}.",
                details={"path": self._approved},
                hint="Make the Handrail home writable, then run the command again.",
            ) from trouble

    def _read_approved(self) -> tuple[_Approval, ...]:
        try:
            with open(self._approved, "rb", opener=open_unfollowed) as file:
                held = os.fstat(file.fileno())
                if stat.S_IMODE(held.st_mode) & _OTHERS_WRITE or held.st_uid != os.geteuid():
                    return ()
                return msgspec.json.decode(file.read(_MOST_BYTES), type=_Approvals).approved
        except (OSError, msgspec.MsgspecError, ValueError):
            return ()

    def _read_runs(self) -> dict[str, str]:
        try:
            with open(self._remembered, "rb", opener=open_regular_file) as file:
                lines = file.read(MOST_REMEMBERED * _LINE_BYTES).decode("ascii", "replace").splitlines()
        except OSError:
            return {}
        pairs = (line.partition(" ") for line in lines)
        return {mark: duration for mark, _, duration in pairs}


def _place(project: str) -> str:
    """Where the project is, links followed, as text that a file can hold."""
    return os.fsencode(os.path.realpath(project)).decode("utf-8", "backslashreplace")


def _mark(place: str, digest: str) -> str:
    return hashlib.sha256(f"{place}\0{digest}".encode()).hexdigest()
