"""Where a package manager would look for releases, from the variables and files that it reads itself.

Only names are taken from there; a file that cannot be read says nothing, and its manager will complain of it.
"""

from __future__ import annotations

import configparser
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.ports.program import IndexSource

PUBLIC_INDEX = "https://pypi.org/simple"
_MOST_BYTES = 1_048_576
_FIRST_ONLY = "first-index"
_PIP_FILE = "pip.conf"
_PIP_OPTIONS = ("index-url", "extra-index-url", "find-links", "no-index")
_PIP_SECTIONS = ("global", "install")
"""In the order in which pip lets one win over the other."""

Manager: TypeAlias = Literal["uv tool", "uv pip", "pip"]


class IndexChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Every place, in the order of the manager, and whether the first that knows a package is enough."""

    sources: tuple[IndexSource, ...]
    takes_first: bool


class _Layer(msgspec.Struct, frozen=True, kw_only=True):
    """What one variable, file or receipt says."""

    default: tuple[IndexSource, ...] = ()
    extras: tuple[IndexSource, ...] = ()
    links: tuple[IndexSource, ...] = ()
    no_index: bool = False
    strategy: str = ""


def index_sources(
    manager: Manager,
    environment: Mapping[str, str],
    *,
    prefix: str = sys.prefix,
    receipt: Mapping[str, Any] | None = None,
    arguments: Sequence[str] = (),
) -> IndexChoice:
    """The places of this manager; `arguments` are those that pipx passes on to it each time."""
    given = _given_layer(arguments)
    if manager == "pip":
        return _joined([given, _pip_layer(environment, prefix)], takes_first=False)
    told = (receipt or {}).get("options")
    layers = [
        given,
        _uv_variables(environment),
        _uv_layer(told if isinstance(told, dict) else {}, "the receipt of uv"),
        *_uv_files(environment, manager),
    ]
    strategy = next((layer.strategy for layer in layers if layer.strategy), _FIRST_ONLY)
    return _joined(layers, takes_first=strategy == _FIRST_ONLY)


def _joined(layers: Sequence[_Layer], *, takes_first: bool) -> IndexChoice:
    """The default of the first layer that names one; everything else is added up."""
    links = tuple(one for layer in layers for one in layer.links)
    if any(layer.no_index for layer in layers):
        return IndexChoice(sources=links, takes_first=takes_first)
    extras = tuple(one for layer in layers for one in layer.extras)
    public = (IndexSource(url=PUBLIC_INDEX, named_by="nobody"),)
    default = next((layer.default for layer in layers if layer.default), public)[:1]
    return IndexChoice(
        sources=(*links, *extras, *default) if takes_first else (*default, *extras, *links),
        takes_first=takes_first,
    )


def _sources(
    addresses: Sequence[str], named_by: str, role: Literal["default", "extra", "links"]
) -> tuple[IndexSource, ...]:
    found = (address.strip() for address in addresses)
    return tuple(IndexSource(url=one, named_by=named_by, role=role) for one in found if one)


def _is_true(text: str) -> bool:
    return text.strip().lower() in ("1", "true", "yes", "on", "y", "t")


def _uv_variables(environment: Mapping[str, str]) -> _Layer:
    def of(
        name: str, role: Literal["default", "extra", "links"], separator: str | None = None
    ) -> tuple[IndexSource, ...]:
        told = environment.get(name, "")
        words = [told] if role == "default" else told.split(separator)
        return _sources([_without_name(word) for word in words], name, role)

    return _Layer(
        default=of("UV_DEFAULT_INDEX", "default") or of("UV_INDEX_URL", "default"),
        extras=of("UV_INDEX", "extra") + of("UV_EXTRA_INDEX_URL", "extra"),
        links=of("UV_FIND_LINKS", "links", ","),
        no_index=_is_true(environment.get("UV_NO_INDEX", "")),
        strategy=environment.get("UV_INDEX_STRATEGY", ""),
    )


def _without_name(word: str) -> str:
    """uv lets an index be called by a name: `internal=https://…`."""
    name, equals, address = word.partition("=")
    return address if equals and name.replace("-", "").replace("_", "").isalnum() else word


def _uv_files(environment: Mapping[str, str], manager: Manager) -> Iterator[_Layer]:
    """The files of the user and of the machine. One in a project is not trusted with an update."""
    for path in _uv_paths(environment):
        try:
            with open(path, "rb") as file:
                said = tomllib.loads(file.read(_MOST_BYTES).decode("utf-8", "replace"))
        except (OSError, tomllib.TOMLDecodeError, RecursionError):
            continue
        own = said.get("pip")
        if manager == "uv pip" and isinstance(own, dict):
            yield _uv_layer(own, os.path.basename(path))
        yield _uv_layer(said, os.path.basename(path))


def _uv_paths(environment: Mapping[str, str]) -> list[str]:
    if _is_true(environment.get("UV_NO_CONFIG", "")):
        return []
    if environment.get("UV_CONFIG_FILE"):
        return [environment["UV_CONFIG_FILE"]]
    user = environment.get("XDG_CONFIG_HOME") or os.path.join(_user(environment), ".config")
    machine = [*environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep), "/etc"]
    shared = [os.path.join(folder, "uv", "uv.toml") for folder in machine if folder]
    return [os.path.join(user, "uv", "uv.toml"), *[path for path in shared if os.path.isfile(path)][:1]]


def _uv_layer(said: Mapping[str, Any], named_by: str) -> _Layer:
    """A table of uv, in a receipt or a file: named indexes and the older single values."""
    listed = said.get("index")
    rows = [one for one in (listed if isinstance(listed, list) else []) if isinstance(one, dict)]
    plain = [one for one in rows if one.get("explicit") is not True]
    defaults = [str(one.get("url", "")) for one in plain if one.get("default") is True]
    extras = [str(one.get("url", "")) for one in plain if one.get("default") is not True]
    return _Layer(
        default=_sources([*defaults, *_texts(said.get("index-url"))], named_by, "default"),
        extras=_sources([*extras, *_texts(said.get("extra-index-url"))], named_by, "extra"),
        links=_sources(_texts(said.get("find-links")), named_by, "links"),
        no_index=said.get("no-index") is True,
        strategy=str(said.get("index-strategy") or ""),
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _pip_layer(environment: Mapping[str, str], prefix: str) -> _Layer:
    """Of each option the last word: later files win, `install` wins over `global`, variables win over all."""
    said: dict[str, tuple[str, str]] = {}
    read = [_pip_file(path) for path in _pip_paths(environment, prefix)]
    for section in _PIP_SECTIONS:
        for option in _PIP_OPTIONS:
            for file in read:
                if file.has_option(section, option) and file.get(section, option).strip():
                    said[option] = (file.get(section, option), _PIP_FILE)
    for option in _PIP_OPTIONS:
        variable = "PIP_" + option.upper().replace("-", "_")
        if environment.get(variable, "").strip():
            said[option] = (environment[variable], variable)

    def of(option: str, role: Literal["default", "extra", "links"]) -> tuple[IndexSource, ...]:
        text, named_by = said.get(option, ("", ""))
        return _sources(text.split(), named_by, role)

    return _Layer(
        default=of("index-url", "default"),
        extras=of("extra-index-url", "extra"),
        links=of("find-links", "links"),
        no_index=_is_true(said.get("no-index", ("", ""))[0]),
    )


def _pip_paths(environment: Mapping[str, str], prefix: str) -> list[str]:
    """From the weakest to the strongest, as pip reads them; the null device switches all of them off."""
    named = environment.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    user = _user(environment)
    shared = environment.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    paths = [os.path.join(folder, "pip", _PIP_FILE) for folder in shared.split(os.pathsep) if folder]
    paths.append(os.path.join("/etc", _PIP_FILE))
    if sys.platform == "darwin":
        paths.append(os.path.join("/Library/Application Support/pip", _PIP_FILE))
    if not (named and os.path.exists(named)):
        paths.append(os.path.join(user, ".pip", _PIP_FILE))
        paths.append(os.path.join(_pip_user_folder(environment, user), _PIP_FILE))
    paths.append(os.path.join(prefix, _PIP_FILE))
    return [*paths, named] if named else paths


def _pip_user_folder(environment: Mapping[str, str], user: str) -> str:
    apple = os.path.join(user, "Library", "Application Support", "pip")
    if sys.platform == "darwin" and os.path.isdir(apple):
        return apple
    return os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(user, ".config"), "pip")


def _pip_file(path: str) -> configparser.RawConfigParser:
    read = configparser.RawConfigParser()
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            read.read_string(file.read(_MOST_BYTES))
    except (OSError, configparser.Error):
        return configparser.RawConfigParser()
    return read


def _given_layer(arguments: Sequence[str]) -> _Layer:
    """The index flags among arguments, in both spellings of a value."""
    words: list[str] = []
    for argument in arguments:
        words += argument.split("=", 1) if argument.startswith("--") else [argument]
    pairs = list(pairwise(words))

    def of(names: tuple[str, ...], role: Literal["default", "extra", "links"]) -> tuple[IndexSource, ...]:
        return _sources([value for name, value in pairs if name in names], "the arguments of pipx", role)

    return _Layer(
        default=of(("--default-index", "--index-url", "-i"), "default"),
        extras=of(("--index", "--extra-index-url"), "extra"),
        links=of(("--find-links", "-f"), "links"),
        no_index="--no-index" in arguments,
    )


def _user(environment: Mapping[str, str]) -> str:
    return environment.get("HOME") or os.path.expanduser("~")
