"""Which file a Python module name means: relative names, packages, stubs, and where imports start. Pure.

Nothing here asks an interpreter for its path. A folder is a root if packages lie in it: the nearest to the
importing file wins, and a name that two other roots have is not guessed.
"""

from __future__ import annotations

import posixpath
from functools import cached_property
from typing import Final

from handrail_code.facts.python_words import PYTHON, is_python
from handrail_code.facts.resolution import Resolved
from handrail_code.facts.source import Source, folders_up, list_folders

INIT: Final = "__init__"
USUAL_ROOTS: Final = ("", "src", "lib")


class PythonModules:
    """Resolution for one project. A module is told by its file; a folder without `__init__` ends with `/`."""

    def __init__(self, source: Source) -> None:
        self._files = frozenset(path for path in source.files() if is_python(path))
        self._known: dict[tuple[str, str], str | None] = {}

    def resolve(self, importer: str, specifier: str) -> Resolved | None:
        found = self.find(importer, specifier)
        return None if found is None or found.endswith("/") else Resolved(path=found)

    def find(self, importer: str, specifier: str) -> str | None:
        key = (posixpath.dirname(importer), specifier)
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def child(self, module: str, name: str) -> str | None:
        """The module `name` inside a package."""
        folder = self.folder_of(module)
        return None if folder is None else self._find_in(folder, name)

    def folder_of(self, module: str) -> str | None:
        """Of a package; None for any other module."""
        if module.endswith("/"):
            return module.rstrip("/")
        folder, _, name = module.rpartition("/")
        return folder if name.partition(".")[0] == INIT else None

    def beside(self, path: str) -> str | None:
        """The stub of a module, or the module of a stub."""
        other = path + "i" if path.endswith(".py") else path.removesuffix("i")
        return other if other in self._files else None

    def name_in_imports(self, path: str) -> str:
        """The last part of a module's name: whoever imports it spells that, or imports it from `.`."""
        folder, _, name = path.rpartition("/")
        stem = name.partition(".")[0]
        return posixpath.basename(folder) if stem == INIT else stem

    def _find(self, folder: str, specifier: str) -> str | None:
        bare = specifier.lstrip(".")
        dots = len(specifier) - len(bare)
        parts = bare.split(".") if bare else []
        if dots:
            for _ in range(dots - 1):
                if not folder:
                    return None
                folder = posixpath.dirname(folder)
            return self._descend(self._module_at(folder), parts)
        near = self._find_near(folder, parts[0])
        if near is None:
            far = self._find_far(parts[0])
            near = far[0] if len(far) == 1 else None
        return None if near is None else self._descend(near, parts[1:])

    def _descend(self, module: str | None, parts: list[str]) -> str | None:
        for part in parts:
            module = None if module is None else self.child(module, part)
        return module

    def _find_near(self, folder: str, name: str) -> str | None:
        """From the folder in which the importer's own package lies outwards, then the usual places."""
        while folder and self._init_of(folder) is not None:
            folder = posixpath.dirname(folder)
        found = (self._find_in(root, name) for root in (*folders_up(folder), *USUAL_ROOTS))
        return next((each for each in found if each is not None and not each.endswith("/")), None)

    def _find_far(self, name: str) -> list[str]:
        """Packages of this name in other roots; then folders without `__init__`, if there is no package."""
        found = [self._find_in(root, name) for root in self._roots]
        packages = [each for each in found if each is not None and not each.endswith("/")]
        if packages:
            return packages
        plain = [self._find_in(root, name) for root in USUAL_ROOTS]
        return [each for each in plain if each is not None]

    def _find_in(self, folder: str, name: str) -> str | None:
        base = f"{folder}/{name}" if folder else name
        package = self._init_of(base)
        if package is not None:
            return package
        for extension in PYTHON:
            if base + extension in self._files:
                return base + extension
        return base + "/" if base in self._folders else None

    def _module_at(self, folder: str) -> str | None:
        return self._init_of(folder) or (folder + "/" if folder in self._folders else None)

    def _init_of(self, folder: str) -> str | None:
        base = f"{folder}/{INIT}" if folder else INIT
        return next((base + each for each in PYTHON if base + each in self._files), None)

    @cached_property
    def _roots(self) -> tuple[str, ...]:
        """Folders that are no package and hold one."""
        inits = (INIT + ".py", INIT + ".pyi")
        packages = {posixpath.dirname(path) for path in self._files if posixpath.basename(path) in inits}
        above = {posixpath.dirname(folder) for folder in packages if folder}
        return tuple(sorted(above - packages))

    @cached_property
    def _folders(self) -> frozenset[str]:
        return list_folders(self._files)
