"""Finding and installing updates: `ports.Updates` with the network and package managers."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from shlex import join
from typing import Any
from urllib.parse import urljoin

import msgspec

from handrail.contract.catalogue import E_TIMEOUT
from handrail.contract.outcome import Fault
from handrail.contract.redaction import find_credentials, redact_credentials
from handrail.host.private_files import ensure_private_directory, read_document, replace_private
from handrail.host.process import NOTICES
from handrail.host.program.client_files import sync_skill
from handrail.host.program.fetching import FETCH_SECONDS, Silence, fetch_address
from handrail.host.program.installation import PACKAGE, install_method
from handrail.host.programs import EndedBy, find_program, make_child_environment, watch_child
from handrail.ports.program import (
    Fetched,
    Installed,
    InstallFacts,
    InstallMethod,
    ManagerExit,
    SkillCopy,
    UpdateCheck,
)

RETRY_MS = 150
"""A second try after a silence waits between this and twice as long."""
LONGEST_RETRY_MS = 2_000
"""An index that asks for a longer wait is not asked again by this call."""
_NEUTRAL = os.path.abspath(os.sep)
"""Where a manager is started: managers read files of the working directory, which is not trusted."""
_LOOK_SECONDS = 0.05
_PATIENCE_SECONDS = 10
_PRINT_VERSION = "import handrail, os; print(handrail.__version__); print(os.path.dirname(handrail.__file__))"
_LOOK = ("data", "cache", "update-check.json")
_MOST_BYTES = 65_536
_EXTRAS = {"a2a": "a2a", "otel": "opentelemetry", "team": "psycopg", "verify": "sigstore"}
"""Our extras, each with a library that only it brings."""


class LocalUpdates:
    """One installation on this machine."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment

    def facts(self) -> InstallFacts:
        found = {name: find_program(name, self._environment) for name in ("uv", "pipx")}
        method = install_method(PACKAGE)
        return InstallFacts(
            method=method,
            executable=sys.executable,
            python=".".join(str(part) for part in sys.version_info[:3]),
            prefix=sys.prefix,
            is_writable=os.access(os.path.dirname(PACKAGE), os.W_OK),
            programs={name: path for name, path in found.items() if path},
            has_pip=find_spec("pip") is not None,
            extras=tuple(name for name, library in _EXTRAS.items() if find_spec(library) is not None),
            options=tuple(_list_options(method)),
        )

    def fetch(self, url: str, accept: str, asked: Callable[[], str], base: str = "") -> Fetched:
        """Fetch, and again after a silence or where the index says soon. Raises Fault."""
        address = urljoin(base, url)
        ends_at = time.monotonic() + FETCH_SECONDS
        found = self._ask(address, accept, asked, ends_at)
        if isinstance(found, Fault) and self._waits_for_more(found, asked, ends_at):
            found = self._ask(address, accept, asked, ends_at)
        if isinstance(found, Fault):
            raise found
        return found

    def _ask(self, address: str, accept: str, asked: Callable[[], str], ends_at: float) -> Fetched | Fault:
        """Fetch in another thread, so that a stalled connection never delays a signal."""
        box: list[Fetched | Fault] = []
        worker = threading.Thread(target=lambda: box.append(fetch_address(address, accept)), daemon=True)
        worker.start()
        while not box:
            worker.join(_LOOK_SECONDS)
            if asked() or (not box and time.monotonic() > ends_at):
                return Fault(E_TIMEOUT, "The index did not answer in time.")
        return box[0]

    def _waits_for_more(self, fault: Fault, asked: Callable[[], str], ends_at: float) -> bool:
        """Whether to ask again; waits for as long as the index says, or a moment that nobody shares."""
        if not fault.kind.is_retryable:
            return False
        stated_ms = fault.retry_after_ms
        if stated_ms is None and not isinstance(fault, Silence):
            return False
        # No secret: it spreads callers.
        wait = RETRY_MS * (1 + random.random()) if stated_ms is None else stated_ms  # noqa: S311
        until = time.monotonic() + wait / 1000
        if wait > LONGEST_RETRY_MS or until > ends_at:
            return False
        while (left := until - time.monotonic()) > 0 and not asked():
            time.sleep(min(left, _LOOK_SECONDS))
        return not asked()

    def _user(self) -> str:
        return self._environment.get("HOME") or os.path.expanduser("~")

    def drive(
        self, argv: Sequence[str], asked: Callable[[], str], write: Callable[[str], None]
    ) -> ManagerExit:
        try:
            child = subprocess.Popen(  # noqa: S603 - a package manager with a list of arguments, never a shell
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=make_child_environment(self._environment),
                cwd=_NEUTRAL,
                start_new_session=True,
            )
        except OSError as trouble:
            return ManagerExit(status=-1, trouble=f"it could not be started: {trouble.strerror}")
        rest = b""

        def take(chunk: bytes) -> None:
            nonlocal rest
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                write(redact_credentials(line.decode("utf-8", "replace")) + "\n")

        def why_stopped() -> EndedBy:
            word = asked()
            return "deadline" if word == "deadline" else "signal" if word else ""

        with child:
            stopped = watch_child(child, why_stopped, take, _PATIENCE_SECONDS)
        return ManagerExit(status=child.returncode, stopped_by=stopped)

    def installed(self) -> Installed | None:
        environment = {key: value for key, value in self._environment.items() if key != "PYTHONPATH"}
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter
                [sys.executable, "-P", "-c", _PRINT_VERSION],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=environment,
                timeout=30,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        return (
            Installed(version=lines[0], package=lines[1])
            if done.returncode == 0 and len(lines) == 2
            else None
        )

    def sync_skill(self, package: str) -> SkillCopy:
        return sync_skill(os.path.join(package, "packed", "skill"), self._user(), self._home)

    def last_check(self) -> UpdateCheck | None:
        return read_document(os.path.join(self._home, *_LOOK), UpdateCheck, _MOST_BYTES)

    def keep_check(self, look: UpdateCheck | None) -> None:
        """Two files, so that a call with nothing to tell finds no file to open."""
        notices = None if look is None or look.notice is None else [look.notice]
        self._keep(NOTICES, notices)
        self._keep(_LOOK, look)

    def _keep(self, name: tuple[str, ...], content: Any) -> None:
        path = os.path.join(self._home, *name)
        with suppress(OSError, Fault):
            if content is None:
                os.unlink(path)
            else:
                ensure_private_directory(os.path.dirname(path))
                replace_private(path, msgspec.json.encode(content))


class _PipxPackage(msgspec.Struct, frozen=True, kw_only=True):
    pip_args: tuple[str, ...] = ()
    suffix: str = ""


class _PipxMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What pipx recorded about the installation and an update needs."""

    main_package: _PipxPackage = _PipxPackage()


def _list_options(method: InstallMethod) -> Iterator[str]:
    """The options of this installation, as its manager recorded them."""
    if method == "pipx":
        path = os.path.join(sys.prefix, "pipx_metadata.json")
        kept = read_document(path, _PipxMetadata, 1_048_576) or _PipxMetadata()
        yield from ("--suffix", kept.main_package.suffix) if kept.main_package.suffix else ()
        yield from (f"--pip-args={join(kept.main_package.pip_args)}",) if kept.main_package.pip_args else ()
    elif method == "uv-tool":
        yield from list_receipt_options(_read_receipt())


def list_receipt_options(receipt: Mapping[str, Any]) -> Iterator[str]:
    """The indexes and the further packages that a receipt of `uv tool install` names."""
    for one in receipt.get("options", {}).get("index") or ():
        if not find_credentials(one.get("url", "")):  # An argument is public; uv has its own keyring.
            yield from ("--default-index" if one.get("default") else "--index", one.get("url", ""))
    for one in receipt.get("requirements") or ():
        if one.get("name") != "handrail":
            extras = f"[{','.join(one['extras'])}]" if one.get("extras") else ""
            source = f" @ {one['url']}" if one.get("url") else one.get("specifier", "")
            yield from ("--with", f"{one.get('name')}{extras}{source}")


def _read_receipt() -> Mapping[str, Any]:
    """What uv recorded when it installed the tool; empty if it did not."""
    try:
        with open(os.path.join(sys.prefix, "uv-receipt.toml"), "rb") as file:
            tool = tomllib.load(file).get("tool", {})
    except (OSError, tomllib.TOMLDecodeError):
        return {}
    return tool if isinstance(tool, dict) else {}
