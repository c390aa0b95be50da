"""Looking up and replacing the installed program: `ports.Updates` with the network and package managers."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Literal

from handrail.contract.catalogue import E_IO, E_NETWORK, E_NOT_FOUND, E_TIMEOUT, E_VALIDATION
from handrail.contract.client_facts import SkillCopy
from handrail.contract.outcome import Fault
from handrail.contract.update_facts import Driven, Fetched, Installed, InstallFacts
from handrail.contract.upstream import kind_of_upstream, wait_ms_of_header
from handrail.host.install_method import install_method
from handrail.host.installation import PACKAGE, on_path
from handrail.host.private_files import ensure_private_directory, replace_private
from handrail.host.skill_files import sync_skill

_FETCH_SECONDS = 15
_LOOK_SECONDS = 0.05
_MOST_BYTES = 33_554_432
_PATIENCE_SECONDS = 10
_TELL = "import handrail, os; print(handrail.__version__); print(os.path.dirname(handrail.__file__))"
_INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_NOTICES = ("data", "cache", "notices.json")


class LocalUpdates:
    """One installation on this machine."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment

    def facts(self) -> InstallFacts:
        found = {name: on_path(name, self._environment) for name in ("uv", "pipx")}
        receipt = _receipt()
        return InstallFacts(
            method=install_method(PACKAGE),
            executable=sys.executable,
            python=".".join(str(part) for part in sys.version_info[:3]),
            prefix=sys.prefix,
            is_writable=os.access(os.path.dirname(PACKAGE), os.W_OK),
            programs={name: path for name, path in found.items() if path},
            has_pip=find_spec("pip") is not None,
            is_pinned=_is_pinned(receipt),
            index=self._index(receipt),
            can_verify=find_spec("sigstore") is not None,
        )

    def fetch(self, url: str, accept: str, asked: Callable[[], str], base: str = "") -> Fetched:
        """In a thread of its own, so that a stalled connection never keeps a signal waiting."""
        box: list[Fetched | Fault] = []
        worker = threading.Thread(
            target=lambda: box.append(_fetched(urllib.parse.urljoin(base, url), accept)), daemon=True
        )
        worker.start()
        ends_at = time.monotonic() + _FETCH_SECONDS
        while not box:
            worker.join(_LOOK_SECONDS)
            if asked() or time.monotonic() > ends_at:
                raise Fault(E_TIMEOUT, "The index did not answer in time.")
        if isinstance(box[0], Fault):
            raise box[0]
        return box[0]

    def drive(self, command: Sequence[str], asked: Callable[[], str], say: Callable[[str], None]) -> Driven:
        try:
            child = subprocess.Popen(  # noqa: S603 - a package manager with a list of arguments, never a shell
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=dict(self._environment),
                start_new_session=True,
            )
        except OSError as trouble:
            return Driven(status=-1, trouble=f"it could not be started: {trouble.strerror}")
        with child:
            stopped = _watched(child, asked, say)
        return Driven(status=child.returncode, stopped_by=stopped)

    def installed(self) -> Installed | None:
        environment = {key: value for key, value in self._environment.items() if key != "PYTHONPATH"}
        try:
            done = subprocess.run(  # noqa: S603 - our own interpreter
                [sys.executable, "-P", "-c", _TELL],
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
        user = self._environment.get("HOME") or os.path.expanduser("~")
        return sync_skill(os.path.join(package, "packed", "skill"), user, self._home)

    def keep_notice(self, content: bytes | None) -> None:
        path = os.path.join(self._home, *_NOTICES)
        with suppress(OSError):
            if content is None:
                os.unlink(path)
            else:
                ensure_private_directory(os.path.dirname(path))
                replace_private(path, content)

    def _index(self, receipt: Mapping[str, Any]) -> str:
        named = next(
            (self._environment[name] for name in _INDEX_VARIABLES if self._environment.get(name)), ""
        )
        if named:
            return named.strip()
        options = receipt.get("options", {})
        listed = options.get("index", []) if isinstance(options, dict) else []
        url = options.get("index-url", "") if isinstance(options, dict) else ""
        first = listed[0].get("url", "") if listed and isinstance(listed[0], dict) else ""
        return str(url or first)


def _receipt() -> Mapping[str, Any]:
    """What uv wrote down when it installed the tool; empty when it did not."""
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


def _fetched(url: str, accept: str) -> Fetched | Fault:
    """The one place where trouble with an address gets its kind: by type and status, never by words."""
    try:
        scheme = urllib.parse.urlsplit(url).scheme
        if scheme == "file":
            return _from_file(url)
        if scheme not in ("http", "https"):
            return Fault(E_VALIDATION, "The index is no file:, http: or https: address.")
        request = urllib.request.Request(url, headers={"Accept": accept, "User-Agent": "handrail-update"})  # noqa: S310 - the scheme was checked
        with urllib.request.urlopen(request, timeout=_FETCH_SECONDS) as answer:  # noqa: S310 - the scheme was checked
            content = answer.read(_MOST_BYTES + 1)
            if len(content) > _MOST_BYTES:
                return Fault(E_IO, "The index answered with more than it should.")
            return Fetched(content=content, media_type=answer.headers.get_content_type(), url=answer.geturl())
    except urllib.error.HTTPError as trouble:
        with trouble:
            wait_ms = wait_ms_of_header(trouble.headers.get("Retry-After"))
        kind = kind_of_upstream(trouble.code)
        return Fault(kind, f"The index answered with the status {trouble.code}.", retry_after_ms=wait_ms)
    except TimeoutError:
        return Fault(E_TIMEOUT, "The index did not answer in time.")
    except urllib.error.URLError as trouble:
        kind = E_TIMEOUT if isinstance(trouble.reason, TimeoutError) else E_NETWORK
        return Fault(kind, "The index could not be reached.")
    except (OSError, ValueError, urllib.error.ContentTooShortError):
        return Fault(E_NETWORK, "The connection to the index broke.")


def _from_file(url: str) -> Fetched | Fault:
    """A file; of a directory its page, or the names in it as a page would list them."""
    path = urllib.request.url2pathname(urllib.parse.urlsplit(url).path)
    try:
        if os.path.isdir(path):
            page = os.path.join(path, "index.html")
            if not os.path.isfile(page):
                names = "".join(
                    f'<a href="{urllib.parse.quote(name)}">x</a>' for name in sorted(os.listdir(path))
                )
                return Fetched(content=names.encode(), media_type="text/html", url=url.rstrip("/") + "/")
            path, url = page, url.rstrip("/") + "/"
        with open(path, "rb") as file:
            return Fetched(content=file.read(_MOST_BYTES), media_type="text/html", url=url)
    except FileNotFoundError:
        return Fault(
            E_NOT_FOUND, "The index has no such file.", details={"resource": "package", "id": "handrail"}
        )
    except OSError as trouble:
        return Fault(E_IO, "The index could not be read.", details={"reason": trouble.strerror or "unknown"})


def _watched(
    child: subprocess.Popen[bytes], asked: Callable[[], str], say: Callable[[str], None]
) -> Literal["", "signal", "deadline"]:
    """Pass its lines on until it ends; when the call shall end, so shall it, within ten seconds."""
    assert child.stdout is not None, "its output is a pipe"
    stopped: Literal["", "signal", "deadline"] = ""
    kill_at = 0.0
    rest = b""
    while True:
        ready, _, _ = select.select([child.stdout], [], [], _LOOK_SECONDS)
        chunk = os.read(child.stdout.fileno(), 65_536) if ready else b""
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            say(line.decode("utf-8", "replace") + "\n")
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
