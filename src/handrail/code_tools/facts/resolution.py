"""Which file a module name means: relative paths, extensions, index files, package.json, tsconfig. Pure.

The order of tries is TypeScript's for a bundler: a source beside its output wins (`./a.js` finds `a.ts`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

import msgspec

from handrail.code_tools.facts.source import MANIFEST, Source

EXTENSIONS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs", ".d.mts", ".d.cts")
SOURCES_OF = {
    ".js": (".ts", ".tsx", ".d.ts", ".js", ".jsx"),
    ".jsx": (".tsx", ".ts", ".d.ts", ".jsx", ".js"),
    ".mjs": (".mts", ".d.mts", ".mjs"),
    ".cjs": (".cts", ".d.cts", ".cjs"),
}
CONDITIONS = frozenset(
    {"types", "import", "require", "node", "module", "browser", "development", "source", "default"}
)
MAX_EXTENDS = 10
MAX_NESTING = 20


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    path: str


class External(msgspec.Struct, frozen=True, kw_only=True):
    """Another package, a builtin, or a file that is no source, such as JSON."""

    specifier: str


class Unresolved(msgspec.Struct, frozen=True, kw_only=True):
    """Looks like a file of this project, and none is there."""

    specifier: str


class Modules:
    """Resolution for one project. Settings are read on first need and kept."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._files = frozenset(source.files())
        self._folders: frozenset[str] | None = None
        self._packages: dict[str, str] | None = None
        self._paths: dict[str, tuple[str, Mapping[str, object], str | None] | None] = {}
        self._spelled: dict[str, set[str]] | None = None
        self._known: dict[tuple[str, str], Resolved | External | Unresolved] = {}

    def resolve(self, importer: str, specifier: str) -> Resolved | External | Unresolved:
        key = (posixpath.dirname(importer), specifier)
        if key not in self._known:
            self._known[key] = self._resolve(*key)
        return self._known[key]

    def spellings(self, path: str) -> frozenset[str]:
        """Texts of which every file that imports this one has at least one; an empty text fits all files."""
        *folders, name = path.split("/")
        stem = name.split(".")[0]
        found = {stem if stem != "index" else folders[-1] if folders else ""}
        found |= self._mapped().get(path, set())
        return frozenset(found)

    def _mapped(self) -> dict[str, set[str]]:
        """File -> texts by which settings map to it: packages, `#names`, exact `paths`, a folder's `main`."""
        if self._spelled is None:
            self._spelled = {}
            for manifest in self._source.manifests():
                home = posixpath.dirname(manifest)
                self._map_package(home, self._manifest(home))
            for folder in sorted(self._all_folders()):
                paths = self._paths_of(folder)
                for key in paths[1] if paths is not None else ():
                    self._map(self._find_by_paths(folder, key) if "*" not in key else None, key)
        return self._spelled

    def _map_package(self, home: str, settings: Mapping[str, object]) -> None:
        name, exports, private = settings.get("name"), settings.get("exports"), settings.get("imports")
        if home:
            self._map(self._find_folder(home), posixpath.basename(home))
        if isinstance(name, str):
            parts = [key[1:] for key in exports if "*" not in key] if isinstance(exports, dict) else []
            for part in ["", *(part for part in parts if part.startswith("/"))]:
                self._map(self._find_in_packages(name + part), name)
        for key in private if isinstance(private, dict) else ():
            if "*" not in key:
                self._map(self._find_private(home, key), key)

    def _map(self, path: str | None, text: str) -> None:
        assert self._spelled is not None, "called while it is made"
        if path is not None:
            self._spelled.setdefault(path, set()).add(text)

    def _resolve(self, folder: str, specifier: str) -> Resolved | External | Unresolved:
        if specifier.startswith(("./", "../")) or specifier in (".", ".."):
            found = self._find(_join(folder, specifier))
            if found is not None:
                return Resolved(path=found)
            is_data = self._source.settings(_join(folder, specifier)) is not None
            return External(specifier=specifier) if is_data else Unresolved(specifier=specifier)
        if specifier.startswith("#"):
            found = self._find_private(folder, specifier)
            return Unresolved(specifier=specifier) if found is None else Resolved(path=found)
        found = self._find_by_paths(folder, specifier) or self._find_in_packages(specifier)
        return External(specifier=specifier) if found is None else Resolved(path=found)

    def _find(self, path: str) -> str | None:
        """A file as it would be found at this path, without or with an extension, or as a folder."""
        if path.startswith("../") or path == "..":
            return None
        stem, extension = posixpath.splitext(path)
        for tried in SOURCES_OF.get(extension, ()):
            if stem + tried in self._files:
                return stem + tried
        if path in self._files:
            return path
        for extension in EXTENSIONS:
            if path + extension in self._files:
                return path + extension
        return self._find_folder(path)

    def _find_folder(self, path: str) -> str | None:
        if path not in self._all_folders():
            return None
        manifest = self._manifest(path)
        for field in ("types", "typings", "module", "main"):
            entry = manifest.get(field)
            if isinstance(entry, str) and path:
                found = self._find_file(_join(path, entry))
                if found is not None:
                    return found
        return self._find_file(_join(path, "index"))

    def _find_file(self, path: str) -> str | None:
        stem, extension = posixpath.splitext(path)
        tries = [stem + tried for tried in SOURCES_OF.get(extension, ())]
        tries += [
            path,
            *(path + tried for tried in EXTENSIONS),
            *(f"{path}/index{tried}" for tried in EXTENSIONS),
        ]
        return next((tried for tried in tries if tried in self._files), None)

    def _all_folders(self) -> frozenset[str]:
        if self._folders is None:
            folders = {""}
            for path in self._files:
                folder = posixpath.dirname(path)
                while folder and folder not in folders:
                    folders.add(folder)
                    folder = posixpath.dirname(folder)
            self._folders = frozenset(folders)
        return self._folders

    def _manifest(self, folder: str) -> Mapping[str, object]:
        value = self._source.settings(_join(folder, MANIFEST))
        return value if isinstance(value, dict) else {}

    # package.json `imports`, `exports` and workspaces

    def _find_private(self, folder: str, specifier: str) -> str | None:
        for home in _folders_up(folder):
            table = self._manifest(home).get("imports")
            if isinstance(table, dict):
                return self._find_in_table(home, table, specifier)
        return None

    def _find_in_packages(self, specifier: str) -> str | None:
        if self._packages is None:
            self._packages = {}
            for manifest in self._source.manifests():
                folder = posixpath.dirname(manifest)
                name = self._manifest(folder).get("name")
                if isinstance(name, str):
                    self._packages.setdefault(name, folder)
        parts = specifier.split("/")
        name = "/".join(parts[:2]) if specifier.startswith("@") else parts[0]
        home = self._packages.get(name)
        if home is None:
            return None
        rest = specifier[len(name) :]
        exports = self._manifest(home).get("exports")
        if exports is None:
            return self._find(_join(home, "." + rest)) if rest else self._find_entry(home)
        has_paths = isinstance(exports, dict) and any(key.startswith(".") for key in exports)
        table = exports if has_paths and isinstance(exports, dict) else {".": exports}
        return self._find_in_table(home, table, "." + rest)

    def list_entries(self) -> Iterator[list[str]]:
        """The files that each door of a package may mean, under whatever condition."""
        for manifest in self._source.manifests():
            home = posixpath.dirname(manifest)
            settings = self._manifest(home)
            exports, private = settings.get("exports"), settings.get("imports")
            has_paths = isinstance(exports, dict) and any(key.startswith(".") for key in exports)
            table = dict(exports) if has_paths and isinstance(exports, dict) else {".": exports}
            main = settings.get("main", "./index.js" if exports is None else None)
            fields = [settings.get(field) for field in ("types", "typings", "module", "browser")]
            table["."] = [table.get("."), main, *fields]
            for key, value in [*table.items(), *(private if isinstance(private, dict) else {}).items()]:
                yield from self._list_forms(home, key, list(_targets(value)))

    def _list_forms(self, home: str, key: str, targets: list[str]) -> Iterator[list[str]]:
        """The files behind one key; of a pattern, those for each text that its star may stand for."""
        is_path = not key.startswith("#")
        paths = [_join(home, target) for target in targets if is_path or target.startswith("./")]
        middles = {""}
        if "*" in key:
            middles = {found for path in paths for file in self._files if (found := _match(path, file))}
        for middle in sorted(middles):
            filled = [path.replace("*", middle) for path in paths]
            files = (path if path in self._files else self._find_file(path) for path in filled)
            yield sorted({path for path in files if path is not None})

    def _find_entry(self, home: str) -> str | None:
        manifest = self._manifest(home)
        for field in ("types", "typings", "module", "main"):
            entry = manifest.get(field)
            found = self._find_file(_join(home, entry)) if isinstance(entry, str) else None
            if found is not None:
                return found
        return self._find_file(_join(home, "index"))

    def _find_in_table(self, home: str, table: Mapping[str, object], wanted: str) -> str | None:
        """Exact keys first, then the pattern with the longest text before its star."""
        patterns = sorted(
            (key for key in table if "*" in key and _match(key, wanted) is not None),
            key=lambda key: (-key.index("*"), key),
        )
        for key in ([wanted] if wanted in table else []) + patterns:
            middle = _match(key, wanted) or ""
            for target in _targets(table[key]):
                filled = target.replace("*", middle) if "*" in key else target
                if filled.startswith("./"):
                    found = self._find_file(_join(home, filled))
                elif filled.startswith("#") or filled == wanted:
                    found = None
                else:
                    found = self._find_in_packages(filled)
                if found is not None:
                    return found
        return None

    # tsconfig `paths` and `baseUrl`

    def _find_by_paths(self, folder: str, specifier: str) -> str | None:
        settings = self._paths_of(folder)
        if settings is None:
            return None
        home, paths, root = settings
        keys = sorted(
            (key for key in paths if _match(key, specifier) is not None),
            key=lambda key: ("*" in key, -key.index("*") if "*" in key else 0, key),
        )
        for key in keys:
            middle = _match(key, specifier) or ""
            targets = paths[key]
            for target in targets if isinstance(targets, list) else []:
                if isinstance(target, str):
                    found = self._find(_join(home, target.replace("*", middle, 1)))
                    if found is not None:
                        return found
        return None if root is None else self._find(_join(root, specifier))

    def _paths_of(self, folder: str) -> tuple[str, Mapping[str, object], str | None] | None:
        """Of the nearest tsconfig or jsconfig: where paths start, the paths, and the base of bare names."""
        if folder not in self._paths:
            self._paths[folder] = None
            for home in _folders_up(folder):
                for name in ("tsconfig.json", "jsconfig.json"):
                    if self._source.settings(_join(home, name)) is not None:
                        self._paths[folder] = self._read_config(_join(home, name))
                        return self._paths[folder]
        return self._paths[folder]

    def _read_config(self, path: str) -> tuple[str, Mapping[str, object], str | None]:
        paths: Mapping[str, object] | None = None
        home = posixpath.dirname(path)
        base: str | None = None
        waiting = [path]
        for _ in range(MAX_EXTENDS):
            if not waiting:
                break
            path = waiting.pop(0)
            value = self._source.settings(path)
            settings = value if isinstance(value, dict) else {}
            options = settings.get("compilerOptions")
            options = options if isinstance(options, dict) else {}
            folder = posixpath.dirname(path)
            if base is None and isinstance(options.get("baseUrl"), str):
                base = _join(folder, options["baseUrl"])
            if paths is None and isinstance(options.get("paths"), dict):
                paths, home = options["paths"], base if base is not None else folder
            extended = settings.get("extends")
            for one in [extended] if isinstance(extended, str) else list(reversed(extended or [])):
                waiting.extend(self._config_files(folder, one) if isinstance(one, str) else [])
        return home, paths or {}, base

    def _config_files(self, folder: str, extended: str) -> list[str]:
        tries = [_join(folder, extended), _join(folder, extended + ".json")]
        if not extended.startswith((".", "/")):
            return []
        return [tried for tried in tries if self._source.settings(tried) is not None][:1]


def _join(folder: str, relative: str) -> str:
    joined = posixpath.normpath(
        posixpath.join(folder, relative.lstrip("/") if relative.startswith("/") else relative)
    )
    return "" if joined == "." else joined


def _folders_up(folder: str) -> Iterator[str]:
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _match(pattern: str, name: str) -> str | None:
    """What the star stands for; empty for an equal name; None where they differ."""
    if "*" not in pattern:
        return "" if pattern == name else None
    before, _, after = pattern.partition("*")
    is_match = len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)
    return name[len(before) : len(name) - len(after)] if is_match else None


def _targets(value: object) -> Iterator[str]:
    """The files that a conditional target may mean, in order."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop(0)
        if isinstance(one, str):
            yield one
        elif isinstance(one, list) and depth < MAX_NESTING:
            waiting[:0] = [(each, depth + 1) for each in one]
        elif isinstance(one, dict) and depth < MAX_NESTING:
            waiting[:0] = [(each, depth + 1) for key, each in one.items() if key in CONDITIONS]
