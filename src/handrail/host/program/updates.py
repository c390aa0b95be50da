"""Finding and installing updates: `ports.Updates` with the network and package managers."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Literal

import msgspec

from handrail.contract.catalogue import E_TIMEOUT
from handrail.contract.outcome import Fault
from handrail.contract.redaction import Secrets, find_credentials, redact_credentials
from handrail.host.notices import NOTICES
from handrail.host.private_files import ensure_private_directory, read_document, replace_private
from handrail.host.program.client_files import sync_skill
from handrail.host.program.fetching import FETCH_SECONDS, Silence, add_login, fetch_address, resolve_address
from handrail.host.program.index_sources import Manager, index_sources
from handrail.host.program.installation import PACKAGE, InstallMethod, install_method
from handrail.host.programs import find_program, make_child_environment
from handrail.ports.program import (
    Fetched,
    Installed,
    InstallFacts,
    ManagerCall,
    ManagerExit,
    SkillCopy,
    UpdateCheck,
)

RETRY_MS = 150
"""A second try after a silence waits between this and twice as long."""
LONGEST_RETRY_MS = 2_000
"""An index that asks for a longer wait is not asked again by this call."""
_LOOK_SECONDS = 0.05
_PATIENCE_SECONDS = 10
_NEUTRAL = os.path.abspath(os.sep)
"""Where a manager is started: managers read files of the working directory, which is not trusted."""
_PRINT_VERSION = "import handrail, os; print(handrail.__version__); print(os.path.dirname(handrail.__file__))"
_LOOK = ("data", "cache", "update-check.json")
_MOST_BYTES = 65_536


class LocalUpdates:
    """One installation on this machine."""

    def __init__(self, home: str, environment: Mapping[str, str], secrets: Secrets | None = None) -> None:
        self._home = home
        self._environment = environment
        self._secrets = Secrets() if secrets is None else secrets

    def facts(self) -> InstallFacts:
        found = {name: find_program(name, self._environment) for name in ("uv", "pipx")}
        method = install_method(PACKAGE)
        receipt, pipx = _receipt(), _pipx_metadata()
        has_pip = find_spec("pip") is not None
        speaks_uv = _speaks_uv(method, pipx, has_pip=has_pip)
        arguments = pipx.main_package.pip_args if method == "pipx" else ()
        manager: Manager = "pip" if not speaks_uv else "uv tool" if method == "uv-tool" else "uv pip"
        choice = index_sources(manager, self._environment, receipt=receipt, arguments=arguments)
        return InstallFacts(
            method=method,
            executable=sys.executable,
            python=".".join(str(part) for part in sys.version_info[:3]),
            prefix=sys.prefix,
            is_writable=os.access(os.path.dirname(PACKAGE), os.W_OK),
            programs={name: path for name, path in found.items() if path},
            has_pip=has_pip,
            is_pinned=_is_pinned(receipt),
            sources=choice.sources,
            takes_first=choice.takes_first,
            speaks_uv=speaks_uv,
            environment_name=os.path.basename(sys.prefix) if method == "pipx" else "handrail",
            suffix=pipx.main_package.suffix if method == "pipx" else "",
            can_verify=find_spec("sigstore") is not None,
        )

    def fetch(self, url: str, accept: str, asked: Callable[[], str], base: str = "") -> Fetched:
        """Fetch, and once more after a silence or where the index says soon. Raises Fault."""
        address = self._signed_in(resolve_address(url, base))
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
        """Whether to ask once more; waits for as long as the index says, or a moment that nobody shares."""
        if not fault.kind.is_retryable:
            return False
        told = fault.retry_after_ms
        if told is None and not isinstance(fault, Silence):
            return False
        wait = RETRY_MS * (1 + random.random()) if told is None else told  # noqa: S311 - no secret: it spreads callers
        until = time.monotonic() + wait / 1000
        if wait > LONGEST_RETRY_MS or until > ends_at:
            return False
        while (left := until - time.monotonic()) > 0 and not asked():
            time.sleep(min(left, _LOOK_SECONDS))
        return not asked()

    def _signed_in(self, address: str) -> str:
        file = self._environment.get("NETRC") or os.path.join(self._user(), ".netrc")
        known = add_login(address, file)
        for secret in find_credentials(known):
            self._secrets.register(secret)
        return known

    def _user(self) -> str:
        return self._environment.get("HOME") or os.path.expanduser("~")

    def drive(self, call: ManagerCall, asked: Callable[[], str], say: Callable[[str], None]) -> ManagerExit:
        try:
            child = subprocess.Popen(  # noqa: S603 - a package manager with a list of arguments, never a shell
                list(call.argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=make_child_environment(self._environment, **call.environment),
                cwd=_NEUTRAL,
                start_new_session=True,
            )
        except OSError as trouble:
            return ManagerExit(status=-1, trouble=f"it could not be started: {trouble.strerror}")
        with child:
            stopped = _watch(child, asked, say)
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

    backend: str = "pip"
    main_package: _PipxPackage = _PipxPackage()


def _pipx_metadata() -> _PipxMetadata:
    path = os.path.join(sys.prefix, "pipx_metadata.json")
    return read_document(path, _PipxMetadata, 1_048_576) or _PipxMetadata()


def _speaks_uv(method: InstallMethod, pipx: _PipxMetadata, *, has_pip: bool) -> bool:
    if method == "pipx":
        return pipx.backend == "uv"
    return method == "uv-tool" or not has_pip


def _receipt() -> Mapping[str, Any]:
    """What uv recorded when it installed the tool; empty if it did not."""
    try:
        with open(os.path.join(sys.prefix, "uv-receipt.toml"), "rb") as file:
            tool = tomllib.load(file).get("tool", {})
    except (OSError, tomllib.TOMLDecodeError):
        return {}
    return tool if isinstance(tool, dict) else {}


def _is_pinned(receipt: Mapping[str, Any]) -> bool:
    listed = receipt.get("requirements", [])
    return any(
        isinstance(one, dict)
        and one.get("name") == "handrail"
        and str(one.get("specifier", "")).startswith("==")
        for one in (listed if isinstance(listed, list) else [])
    )


def _watch(
    child: subprocess.Popen[bytes], asked: Callable[[], str], say: Callable[[str], None]
) -> Literal["", "signal", "deadline"]:
    """Pass its lines on until it ends. When the call is cancelled, it is stopped within ten seconds."""
    assert child.stdout is not None, "its output is a pipe"
    stopped: Literal["", "signal", "deadline"] = ""
    kill_at = 0.0
    rest = b""
    while True:
        ready, _, _ = select.select([child.stdout], [], [], _LOOK_SECONDS)
        chunk = os.read(child.stdout.fileno(), 65_536) if ready else b""
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            say(redact_credentials(line.decode("utf-8", "replace")) + "\n")
        if (ready and not chunk) or (not ready and child.poll() is not None):
            return stopped
        word = asked()
        if word and not stopped:
            stopped = "deadline" if word == "deadline" else "signal"
            kill_at = time.monotonic() + _PATIENCE_SECONDS
            _signal(child, signal.SIGINT if stopped == "signal" else signal.SIGTERM)
        elif stopped and time.monotonic() > kill_at:
            _signal(child, signal.SIGKILL)


def _signal(child: subprocess.Popen[bytes], number: int) -> None:
    with suppress(OSError):
        os.killpg(child.pid, number)
