"""What a test may plant in a child before it becomes the tool: a defect, a refusing disk, a later hour."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from typing import Any, NoReturn

from handrail.contract.catalogue import E_AUTH, E_CONFLICT, E_NETWORK, E_RATE_LIMITED, E_SERVER
from handrail.event_log.files.disk import Disk
from handrail.event_log.files.selftest import ScratchProof
from handrail.operations.store import remove_sessions
from handrail.ports.store import ProofPart
from handrail.projections import ledger
from handrail.runtime import sessions
from handrail.surfaces.cli import call
from handrail.surfaces.cli.process import Process
from handrail.worktree import list_files
from tests.conformance.planted_index import NEWER, answers, installed_by_pip, offers

LATER_SECONDS = 2 * 3600


def _defect() -> None:
    """Whatever the command asks of its operation ends in an error that nobody foresaw."""

    def broken(*_: Any) -> NoReturn:
        raise ZeroDivisionError("a planted defect")

    vars(call)["params_of"] = broken


def _refusing(number: int) -> Callable[[], None]:
    """Every call to the disk of the store is refused with this error."""

    def plant() -> None:
        def refused(*_: Any) -> NoReturn:
            raise OSError(number, os.strerror(number))

        for name, member in list(vars(Disk).items()):
            if callable(member) and not name.startswith("_") and name != "now_ns":
                setattr(Disk, name, refused)

    return plant


def _later() -> None:
    """Two hours have passed: cursors and confirm tokens are out of date."""
    seconds, nanoseconds = time.time, time.time_ns
    time.time = lambda: seconds() + LATER_SECONDS
    time.time_ns = lambda: nanoseconds() + LATER_SECONDS * 1_000_000_000


def _restless() -> None:
    """Files are other ones each time that they are read."""
    vars(list_files)["_has_its_name"] = lambda *_: False


def _proof(*problems: str) -> Callable[[], None]:
    """The proof of the store comes to this end at once; the real one has tests of its own."""

    def plant() -> None:
        part = ProofPart(name="kills", cases=1, facts={"acknowledged": 3}, problems=problems)
        setattr(ScratchProof, "run", lambda *_: iter((part,)))  # noqa: B010 - mypy refuses the plain form

    return plant


def _small_ledgers() -> None:
    """A ledger of any run compares more than it may."""
    ledger.MOST_LEDGER_WORK = 1


def _impatient() -> None:
    """Nobody waits for a lock."""
    sessions.LOCK_WAIT_MS = 0
    vars(remove_sessions)["LOCK_WAIT_MS"] = 0


def _hasty() -> None:
    """A second of the time that a call is given is over in a moment."""
    start: Any = Process.start_deadline

    def sooner(process: Process, seconds: float) -> None:
        start(process, seconds / 50)

    setattr(Process, "start_deadline", sooner)  # noqa: B010 - mypy refuses the plain form


PLANTS: dict[str, Callable[[], None]] = {
    "index": offers(),
    "installed by pip": installed_by_pip,
    "tampered index": offers(NEWER),
    **{
        f"index says {kind.code}": answers(kind)
        for kind in (E_AUTH, E_CONFLICT, E_NETWORK, E_RATE_LIMITED, E_SERVER)
    },
    "defect": _defect,
    "restless": _restless,
    "disk denied": _refusing(errno.EACCES),
    "disk error": _refusing(errno.EIO),
    "hasty": _hasty,
    "impatient": _impatient,
    "later": _later,
    "small ledgers": _small_ledgers,
    "sound proof": _proof(),
    "unsound proof": _proof("A byte that was acknowledged is gone."),
}
