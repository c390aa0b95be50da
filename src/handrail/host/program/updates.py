"""Finding and installing updates: `ports.Updates` with the network and package managers."""

from __future__ import annotations

import ast
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
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.catalogue import E_TIMEOUT
from handrail.contract.outcome import Fault
from handrail.contract.redaction import Secrets, find_credentials, redact_credentials
from handrail.host.private_files import ensure_private_directory, read_document, replace_private
from handrail.host.process import NOTICES
from handrail.host.program.client_files import sync_skill
from handrail.host.program.fetching import FETCH_SECONDS, Silence, add_login, fetch_address, resolve_address
from handrail.host.program.installation import PACKAGE, InstallMethod, install_method
from handrail.host.programs import EndedBy, find_program, make_child_environment, watch_child
from handrail.ports.program import (
    Fetched,
    IndexSource,
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
_NEUTRAL = os.path.abspath(os.sep)
"""Where a manager is started: managers read files of the working directory, which is not trusted."""
_LOOK_SECONDS = 0.05
_PATIENCE_SECONDS = 10
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
        receipt = _receipt()
        kept = read_document(os.path.join(sys.prefix, "pipx_metadata.json"), _PipxMetadata, 1_048_576)
        pipx = kept or _PipxMetadata()
        has_pip = find_spec("pip") is not None
        speaks_uv = _speaks_uv(method, pipx, has_pip=has_pip)
        arguments = pipx.main_package.pip_args if method == "pipx" else ()
        manager: Manager = "uv" if speaks_uv else "pip"
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

    def _signed_in(self, address: str) -> str:
        file = self._environment.get("NETRC") or os.path.join(self._user(), ".netrc")
        known = add_login(address, file)
        for secret in find_credentials(known):
            self._secrets.register(secret)
        return known

    def _user(self) -> str:
        return self._environment.get("HOME") or os.path.expanduser("~")

    def drive(self, call: ManagerCall, asked: Callable[[], str], write: Callable[[str], None]) -> ManagerExit:
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

    backend: str = "pip"
    main_package: _PipxPackage = _PipxPackage()


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


# Where a package manager would look for releases: it is asked, because it knows its own variables and files.
#
# Of one that does not answer, its variable and its receipt count; whoever drives it will hear why.

PUBLIC_INDEX = "https://pypi.org/simple"
_ASKING_SECONDS = 10
_FIRST_ONLY = "first-index"
_ASKING_UV = (
    "pip",
    "compile",
    "-",
    "--emit-index-url",
    "--emit-find-links",
    "--no-header",
    "--offline",
    "-q",
)
"""Of no requirement at all, so it prints only where it would look."""
_ASKING_PIP = (sys.executable, "-P", "-m", "pip", "config", "list")
_PIP_SECTIONS = ("global", "install", ":env:")
"""In the order in which pip lets one win over the other."""
_FLAGS: dict[str, Literal["default", "extra", "links"]] = {
    **dict.fromkeys(("--default-index", "--index-url", "-i"), "default"),
    **dict.fromkeys(("--index", "--extra-index-url"), "extra"),
    **dict.fromkeys(("--find-links", "-f"), "links"),
}

Manager: TypeAlias = Literal["uv", "pip"]


class IndexChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Every place, in the order of the manager, and whether the first that knows a package is enough."""

    sources: tuple[IndexSource, ...]
    takes_first: bool


def index_sources(
    manager: Manager,
    environment: Mapping[str, str],
    *,
    receipt: Mapping[str, Any] | None = None,
    arguments: Sequence[str] = (),
) -> IndexChoice:
    """The places of this manager; `arguments` are those that pipx passes on to it each time."""
    own = list(_read_flags(arguments))
    if manager == "pip":
        return _order([*own, *_ask_pip(environment)], manager, environment, takes_first=False)
    options = (receipt or {}).get("options")
    kept = list(_read_receipt(options if isinstance(options, dict) else {}))
    if environment.get("UV_DEFAULT_INDEX") or environment.get("UV_INDEX_URL"):
        kept = [(flag, value) for flag, value in kept if flag != "--default-index"]
    flags = _ask_uv(environment, [*own, *kept])
    strategy = environment.get("UV_INDEX_STRATEGY") or _FIRST_ONLY
    return _order(flags, manager, environment, takes_first=strategy == _FIRST_ONLY)


def _order(
    flags: Sequence[tuple[str, str]], manager: Manager, environment: Mapping[str, str], *, takes_first: bool
) -> IndexChoice:
    """The first default that is named; everything else is added up."""
    has_none = ("--no-index", "") in flags
    found = [
        IndexSource(url=url, named_by=_find_name(url, manager, environment), role=_FLAGS[flag])
        for flag, value in flags
        if flag in _FLAGS and not (has_none and _FLAGS[flag] != "links")
        for url in value.split()
    ]
    of = {role: tuple(one for one in found if one.role == role) for role in ("default", "extra", "links")}
    public = () if has_none else (IndexSource(url=PUBLIC_INDEX, named_by="nobody"),)
    default = (of["default"] or public)[:1]
    places = (of["links"], of["extra"], default) if takes_first else (default, of["extra"], of["links"])
    return IndexChoice(sources=tuple(one for part in places for one in part), takes_first=takes_first)


def _find_name(url: str, manager: Manager, environment: Mapping[str, str]) -> str:
    """The variable that names an address; where none does, who told it."""
    if url == PUBLIC_INDEX:
        return "nobody"
    own = (
        name for name, text in environment.items() if name.startswith(f"{manager.upper()}_") and url in text
    )
    return next(own, manager)


def _read_flags(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The flags about indexes among these words, in both spellings of a value."""
    apart = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    yield from ((flag, value) for flag, value in pairwise(apart) if flag in _FLAGS)
    yield from [("--no-index", "")] if "--no-index" in apart else []


def _read_receipt(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What `uv tool install` was told, in its own words: named indexes and the older single values."""
    for one in options.get("index") or ():
        yield "--default-index" if one.get("default") else "--index", str(one.get("url", ""))
    for name, flag in (("index-url", "--default-index"), ("extra-index-url", "--index")):
        values = options.get(name) or ()
        yield from ((flag, value) for value in ([values] if isinstance(values, str) else values))
    yield from (("--find-links", value) for value in options.get("find-links") or ())


def _ask_uv(environment: Mapping[str, str], flags: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """As uv spells it for pip; it says where indexes are, also where none may be asked."""
    program = find_program("uv", environment)
    words = (word for pair in flags for word in pair if word)
    printed = _run((program, *_ASKING_UV, "--python", sys.executable, *words), environment) if program else ""
    none = [("--no-index", "")] if _is_true(environment.get("UV_NO_INDEX", "")) else []
    if not printed:  # it is not there, and the update will say so: what it was told is known all the same
        named = environment.get("UV_DEFAULT_INDEX") or environment.get("UV_INDEX_URL") or ""
        return [*none, *flags, ("--index-url", named)]
    lines = (line.partition(" ") for line in printed.splitlines())
    return [*none, *((flag, value) for flag, _, value in lines)]


def _ask_pip(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Of each option the last word: `install` wins over `global`, variables win over all."""
    settings: dict[str, str] = {}
    for line in (_run(_ASKING_PIP, environment) or "").splitlines():
        name, _, value = line.partition("=")
        with suppress(ValueError, SyntaxError):
            settings[name] = str(ast.literal_eval(value))
    for option in ("index-url", "extra-index-url", "find-links", "no-index"):
        values = [settings.get(f"{section}.{option}", "") for section in reversed(_PIP_SECTIONS)]
        value = next((one for one in values if one.strip()), "")
        if option != "no-index":
            yield f"--{option}", value
        elif _is_true(value):
            yield "--no-index", ""


def _is_true(text: str) -> bool:
    return text.strip().lower() in ("1", "true", "yes", "on", "y", "t")


def _run(argv: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """What it printed; None when it was refused, or took too long."""
    try:
        done = subprocess.run(  # noqa: S603 - a package manager with a list of arguments, never a shell
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=make_child_environment(environment),
            cwd=_NEUTRAL,
            timeout=_ASKING_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
