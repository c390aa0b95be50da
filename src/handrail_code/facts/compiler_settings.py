"""What tsconfig and jsconfig files say about module names: `paths`, `baseUrl`, `rootDirs`. Pure.

Settings come from the nearest file, from those that it extends, and from those of the projects that it
refers to. What cannot be read (a file of another package, a name that leads nowhere) is reported: then a
module name may mean a file of the project, and nobody here knows.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from handrail_code.facts.source import Source, folders_up

NAMES: Final = ("tsconfig.json", "jsconfig.json")
MAX_FILES: Final = 30
"""Settings files that one is put together from."""
HERE: Final = "${configDir}"


class PathRules(msgspec.Struct, frozen=True, kw_only=True):
    """One set of rules."""

    home: str
    """Where the targets of `paths` start."""
    paths: Mapping[str, object]
    root: str | None
    """`baseUrl`: where bare names are looked for."""
    root_dirs: tuple[str, ...]
    """Folders that count as one."""
    is_whole: bool
    """Everything that it extends was read."""


class CompilerSettings:
    def __init__(self, source: Source, find_package: Callable[[str], str | None]) -> None:
        self._source = source
        self._find_package = find_package
        self._known: dict[str, tuple[PathRules, ...]] = {}

    def rules_for(self, folder: str) -> tuple[PathRules, ...]:
        """Of the nearest file, then of what it refers to; empty where there is none."""
        if folder not in self._known:
            self._known[folder] = ()
            for home in folders_up(folder):
                named = (join_path(home, name) for name in NAMES)
                found = next((path for path in named if self._source.settings(path) is not None), None)
                if found is not None:
                    self._known[folder] = tuple(self._read_all(found))
                    break
        return self._known[folder]

    def _read_all(self, path: str) -> Iterator[PathRules]:
        """A file for many projects has no rules of its own and refers to those that have some."""
        waiting, seen = [path], {path}
        while waiting:
            path = waiting.pop(0)
            yield self._read(path)
            listed = self._object(path).get("references")
            for one in listed if isinstance(listed, list) else ():
                named = one.get("path") if isinstance(one, dict) else None
                target = join_path(posixpath.dirname(path), named) if isinstance(named, str) else None
                tries = () if target is None else (target, *(join_path(target, name) for name in NAMES))
                for tried in tries:
                    is_new = tried not in seen and len(seen) < MAX_FILES
                    if is_new and self._source.settings(tried) is not None:
                        seen.add(tried)
                        waiting.append(tried)

    def _read(self, path: str) -> PathRules:
        start = posixpath.dirname(path)
        paths: Mapping[str, object] | None = None
        home, base, root_dirs, is_whole = start, None, None, True
        waiting, seen = [path], {path}
        while waiting:
            path = waiting.pop(0)
            folder, settings = posixpath.dirname(path), self._object(path)
            options = settings.get("compilerOptions")
            options = options if isinstance(options, dict) else {}
            if base is None and isinstance(options.get("baseUrl"), str):
                base = _place(start, folder, options["baseUrl"])
            if paths is None and isinstance(options.get("paths"), dict):
                paths, home = options["paths"], folder
            if root_dirs is None and isinstance(options.get("rootDirs"), list):
                listed = [one for one in options["rootDirs"] if isinstance(one, str)]
                root_dirs = tuple(_place(start, folder, one) for one in listed)
            extended = settings.get("extends")
            named = (
                [extended] if isinstance(extended, str) else extended if isinstance(extended, list) else []
            )
            below: list[str] = []
            for one in reversed(named):  # the last one wins
                found = self._find_extended(folder, one) if isinstance(one, str) else None
                is_whole = is_whole and found is not None and len(seen) < MAX_FILES
                if found is not None and found not in seen and len(seen) < MAX_FILES:
                    seen.add(found)
                    below.append(found)
            waiting[:0] = below
        return PathRules(
            home=home if base is None else base,
            paths={key: _place_all(start, value) for key, value in (paths or {}).items()},
            root=base,
            root_dirs=root_dirs or (),
            is_whole=is_whole,
        )

    def _find_extended(self, folder: str, named: str) -> str | None:
        """A file beside this one, or one of a package of this project or of an installed one."""
        tries: list[str] = []
        if named.startswith((".", "/")):
            tries = [join_path(folder, named)]
        else:
            parts = named.split("/")
            size = 2 if named.startswith("@") else 1
            package, rest = "/".join(parts[:size]), "/".join(parts[size:]) or NAMES[0]
            home = self._find_package(package)
            tries = [] if home is None else [join_path(home, rest)]
            tries += [join_path(up, f"node_modules/{package}/{rest}") for up in folders_up(folder)]
        found = (each for one in tries for each in (one, one + ".json", join_path(one, NAMES[0])))
        return next((each for each in found if self._source.settings(each) is not None), None)

    def _object(self, path: str) -> Mapping[str, object]:
        value = self._source.settings(path)
        return value if isinstance(value, dict) else {}


def _place(start: str, folder: str, named: str) -> str:
    is_from_start = named.startswith(HERE)
    return join_path(start if is_from_start else folder, "./" + named.removeprefix(HERE).lstrip("/"))


def _place_all(start: str, targets: object) -> object:
    """`${configDir}` is the folder of the first file, from wherever it is read."""
    if not isinstance(targets, list):
        return targets
    return [
        "/" + _place(start, start, one) if isinstance(one, str) and one.startswith(HERE) else one
        for one in targets
    ]


def join_path(folder: str, relative: str) -> str:
    joined = posixpath.normpath(
        posixpath.join(folder, relative.lstrip("/") if relative.startswith("/") else relative)
    )
    return "" if joined == "." else joined


MAX_LENGTH = 1_000_000
_PART = r'(?s)"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[\]}])'


def read_jsonc(text: str) -> object | None:
    """The value, or None where the text is not even that."""
    if len(text) > MAX_LENGTH:
        return None
    plain = re.sub(
        _PART, lambda found: found[0] if found[0].startswith('"') else "", text.removeprefix("\ufeff")
    )
    try:
        value: object = msgspec.json.decode(plain)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return value
