"""A package index that a test plants in a child: what it offers, or the trouble that it makes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec

from handrail import __version__
from handrail.contract import released
from handrail.contract.catalogue import Kind
from handrail.contract.outcome import Fault
from handrail.host.program.installation import PACKAGE
from handrail.host.program.updates import LocalUpdates
from handrail.ports.program import Fetched, Installed, ManagerExit

NEWER = "99.0.0"


def offers(version: str = __version__) -> Callable[[], None]:
    """An index with one release, whose file is not what its listing says; the manager installs nothing."""

    def plant() -> None:
        name = f"handrail-{version}-py3-none-any.whl"
        row = {"filename": name, "url": name, "hashes": {"sha256": "0" * 64}}
        page = json.dumps({"files": [row]}).encode()
        installed_by_pip()

        def fetch(_: Any, url: str, *__: Any) -> Fetched:
            return Fetched(content=page, url=url)

        _set("fetch", fetch)

    return plant


def installed_by_pip() -> None:
    """The program is one that pip put there; the manager installs nothing, and the index is a real one."""
    real_facts = LocalUpdates.facts

    def facts(self: LocalUpdates) -> Any:
        return msgspec.structs.replace(real_facts(self), method="pip", is_writable=True)

    _set("facts", facts)
    released.IS_RELEASED = True
    _set("drive", lambda *_: ManagerExit(status=1))
    _set("installed", lambda _: Installed(version=__version__, package=PACKAGE))


def answers(kind: Kind) -> Callable[[], None]:
    """An index that answers with this trouble."""

    def plant() -> None:
        offers()()

        def fetch(*_: Any) -> NoReturn:
            raise Fault(kind, "The index is in trouble.")

        _set("fetch", fetch)

    return plant


def _set(name: str, member: Any) -> None:
    setattr(LocalUpdates, name, member)
