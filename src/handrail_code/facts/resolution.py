"""Which file a module name means: relative paths, extensions, index files, package.json, tsconfig. Pure.

The order of tries is TypeScript's for a bundler: a source beside its output wins (`./a.js` finds `a.ts`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

import msgspec

from handrail_code.facts.compiler_settings import CompilerSettings, PathRules, join_path
from handrail_code.facts.source import MANIFEST, Source, folders_up, list_folders

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
DEPENDENCIES = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
BUILTINS = frozenset(
    {
        *("assert", "async_hooks", "buffer", "bun", "child_process", "cluster", "console", "constants"),
        *("crypto", "dgram", "diagnostics_channel", "dns", "domain", "events", "fs", "http", "http2"),
        *("https", "inspector", "module", "net", "os", "path", "perf_hooks", "process", "punycode"),
        *("querystring", "readline", "repl", "stream", "string_decoder", "sys", "test", "timers", "tls"),
        *("trace_events", "tty", "url", "util", "v8", "vm", "wasi", "worker_threads", "zlib"),
    }
)
"""Modules that come with Node."""
MAX_NESTING = 20
ENTRY_FIELDS = ("main", "module", "types", "typings", "browser", "bin", "exports", "source")
"""Where a package.json names files that other packages may import."""
MAX_ENTRIES = 500


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    others: tuple[str, ...] = ()
    """What the name means under other conditions of a package.json."""


class Modules:
    """Resolution for one project. Settings are read on first need and kept."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._files = frozenset(source.files())
        self._settings = CompilerSettings(source, lambda name: self._packages.get(name))
        self._known: dict[tuple[str, str], Resolved | None] = {}

    def resolve(self, importer: str, specifier: str) -> Resolved | None:
        """None for another package, a builtin, a file that is no source, and where nothing is there."""
        key = (posixpath.dirname(importer), specifier)
        if key not in self._known:
            found = self._resolve(*key)
            instead = None if found is None else self._replaced.get(found.path)
            if found is not None and instead is not None and instead not in found.others:
                found = Resolved(path=found.path, others=(*found.others, instead))
            self._known[key] = found
        return self._known[key]

    def spellings(self, path: str) -> frozenset[str]:
        """Texts of which every file that imports this one has at least one; an empty text fits all files."""
        return frozenset({_spell(path), *self._mapped.get(path, ())})

    @cached_property
    def _mapped(self) -> dict[str, set[str]]:
        """File -> texts by which settings map to it: packages, `#names`, exact `paths`, a folder's `main`."""
        made: dict[str, set[str]] = {}
        for path, text in self._list_mapped():
            if path is not None:
                made.setdefault(path, set()).add(text)
        return made

    def _list_mapped(self) -> Iterator[tuple[str | None, str]]:
        for home, settings in self._list_packages():
            yield from self._map_package(home, settings)
        yield from ((instead, _spell(path)) for path, instead in self._replaced.items())
        for folder in sorted(self._folders):
            for rules in self._settings.rules_for(folder):
                yield from ((self._find_by_rules(rules, key), key) for key in rules.paths if "*" not in key)

    def _map_package(self, home: str, settings: Mapping[str, object]) -> Iterator[tuple[str | None, str]]:
        name, exports, private = settings.get("name"), settings.get("exports"), settings.get("imports")
        if home:
            yield self._find_folder(home), posixpath.basename(home)
        if isinstance(name, str):
            parts = [key[1:] for key in exports if "*" not in key] if isinstance(exports, dict) else []
            for part in ["", *(part for part in parts if part.startswith("/"))]:
                yield from ((path, name) for path in self._list_in_packages(name + part))
        for key in private if isinstance(private, dict) else ():
            if "*" not in key:
                yield from ((path, key) for path in self._list_private(home, key))

    def _resolve(self, folder: str, specifier: str) -> Resolved | None:
        if specifier.startswith(("./", "../")) or specifier in (".", ".."):
            found = self._find(join_path(folder, specifier))
            if found is None:
                found = self._find_in_root_dirs(folder, join_path(folder, specifier))
            return None if found is None else Resolved(path=found)
        if specifier.startswith("#"):
            return _resolved(self._list_private(folder, specifier))
        found = self._find_by_paths(folder, specifier)
        return _resolved(self._list_in_packages(specifier) if found is None else [found])

    def _find(self, path: str) -> str | None:
        """A file as it would be found at this path, without or with an extension, or as a folder."""
        if path.startswith("../") or path == "..":
            return None
        return self._find_plain(path) or self._find_folder(path)

    def _find_plain(self, path: str) -> str | None:
        stem, extension = posixpath.splitext(path)
        tries = [stem + tried for tried in SOURCES_OF.get(extension, ())]
        tries += [path, *(path + tried for tried in EXTENSIONS)]
        return next((tried for tried in tries if tried in self._files), None)

    def _find_folder(self, path: str) -> str | None:
        if path not in self._folders:
            return None
        return self._find_entry(path) if path else self._find_file("index")

    def _find_file(self, path: str) -> str | None:
        inside = (f"{path}/index{tried}" for tried in EXTENSIONS)
        return self._find_plain(path) or next((tried for tried in inside if tried in self._files), None)

    @cached_property
    def _folders(self) -> frozenset[str]:
        return list_folders(self._files)

    def _list_packages(self) -> Iterator[tuple[str, Mapping[str, object]]]:
        """The folder and the content of each package.json."""
        for manifest in self._source.manifests():
            home = posixpath.dirname(manifest)
            yield home, self._manifest(home)

    def _manifest(self, folder: str) -> Mapping[str, object]:
        value = self._source.settings(join_path(folder, MANIFEST))
        return value if isinstance(value, dict) else {}

    # package.json `imports`, `exports` and workspaces

    def _list_private(self, folder: str, specifier: str) -> list[str]:
        return self._list_in_table(*self._find_private(folder), specifier)

    def _find_private(self, folder: str) -> tuple[str, Mapping[str, object]]:
        """The nearest table of `#names`, and the folder that has it."""
        tables = ((home, each.get("imports")) for home, each in self._list_above(join_path(folder, MANIFEST)))
        return next(((home, table) for home, table in tables if isinstance(table, dict)), ("", {}))

    @cached_property
    def _replaced(self) -> Mapping[str, str]:
        """File or package -> the file that a bundler takes instead: `"browser": {"./a.js": "./b.js"}`."""
        made: dict[str, str] = {}
        for home, settings in self._list_packages():
            tables = [settings.get(field) for field in ("browser", "react-native")]
            pairs = [pair for table in tables if isinstance(table, dict) for pair in table.items()]
            for key, value in pairs:
                new = self._find_file(join_path(home, value)) if isinstance(value, str) else None
                old = self._find_file(join_path(home, key)) if key.startswith(".") else key
                if old is not None and new is not None and old != new:
                    made[old] = new
        return made

    def leads_outside(self, importer: str, specifier: str) -> bool:
        """Whether a `#name` means, under some condition, a module that is none of this project."""
        if not specifier.startswith("#"):
            return False
        _, table = self._find_private(posixpath.dirname(importer))
        keys = [key for key in table if _match(key, specifier) is not None]
        targets = (each for key in keys for each in list_targets(table[key], None))
        return any(not each.startswith((".", "#")) and not self._list_in_packages(each) for each in targets)

    @cached_property
    def _packages(self) -> dict[str, str]:
        """The folder of each package of this project; of two with one name, the first."""
        listed = reversed([(settings.get("name"), home) for home, settings in self._list_packages()])
        return {name: home for name, home in listed if isinstance(name, str)}

    def _list_in_packages(self, specifier: str) -> list[str]:
        """The files that a name of a package of this project means, by the conditions that it has."""
        name = package_of(specifier)
        home = self._packages.get(name)
        if home is None:
            return []
        rest = specifier[len(name) :]
        exports = self._manifest(home).get("exports")
        if exports is None:
            found = self._find(join_path(home, "." + rest)) if rest else self._find_entry(home)
            return [] if found is None else [found]
        return self._list_in_table(home, _list_doors(exports), "." + rest)

    def list_entries(self) -> Iterator[list[str]]:
        """The files that each entry of a package may mean, under whatever condition."""
        for home, settings in self._list_packages():
            exports, private = settings.get("exports"), settings.get("imports")
            table = _list_doors(exports)
            main = settings.get("main", "./index.js" if exports is None else None)
            fields = [settings.get(field) for field in ("types", "typings", "module", "browser")]
            table["."] = [table.get("."), main, *fields]
            for key, value in [*table.items(), *(private if isinstance(private, dict) else {}).items()]:
                yield from self._list_forms(home, key, list(list_targets(value, CONDITIONS)))

    def _list_forms(self, home: str, key: str, targets: list[str]) -> Iterator[list[str]]:
        """The files behind one key; of a pattern, those for each text that its star may stand for."""
        is_path = not key.startswith("#")
        paths = [join_path(home, target) for target in targets if is_path or target.startswith("./")]
        middles = {""}
        if "*" in key:
            middles = {found for path in paths for file in self._files if (found := _match(path, file))}
        for middle in sorted(middles):
            filled = [path.replace("*", middle) for path in paths]
            files = (path if path in self._files else self._find_file(path) for path in filled)
            yield sorted({path for path in files if path is not None})

    def is_entry(self, path: str) -> bool:
        """Whether package.json names this file, so that others may import what it exports."""
        for home, settings in self._list_packages():
            if home and not path.startswith(home + "/"):
                continue
            listed = list_targets([settings.get(field) for field in ENTRY_FIELDS], None)
            targets = list(islice(listed, MAX_ENTRIES))
            if not any(field in settings for field in ("main", "module", "exports")):
                targets.append("./index")
            if any(self._names(home, target, path) for target in targets):
                return True
        return False

    def _names(self, home: str, target: str, path: str) -> bool:
        if "*" in target:
            return _match(join_path(home, target), path) is not None
        found = self.resolve(join_path(home, MANIFEST), "./" + target.removeprefix("./"))
        return found is not None and found.path == path

    def system_of(self, path: str) -> str:
        """`module` or `commonjs`: how the nearest package.json makes Node read a plain .js file."""
        for _, settings in self._list_above(path):
            return "module" if settings.get("type") == "module" else "commonjs"
        return ""

    def home_of(self, path: str) -> str:
        """The folder of the package that this file belongs to; a package.json without a name makes none."""
        named = (home for home, each in self._list_above(path) if isinstance(each.get("name"), str))
        return next(named, "")

    def _list_above(self, path: str) -> Iterator[tuple[str, Mapping[str, object]]]:
        for folder in folders_up(posixpath.dirname(path)):
            value = self._source.settings(join_path(folder, MANIFEST))
            if isinstance(value, dict):
                yield folder, value

    def _find_entry(self, home: str) -> str | None:
        manifest = self._manifest(home)
        for field in ("types", "typings", "module", "main"):
            entry = manifest.get(field)
            found = self._find_file(join_path(home, entry)) if isinstance(entry, str) else None
            if found is not None:
                return found
        return self._find_file(join_path(home, "index"))

    def _list_in_table(self, home: str, table: Mapping[str, object], wanted: str) -> list[str]:
        """Exact keys first, then the pattern with the longest text before its star."""
        patterns = sorted(
            (key for key in table if "*" in key and _match(key, wanted) is not None),
            key=lambda key: (-key.index("*"), key),
        )
        for key in ([wanted] if wanted in table else []) + patterns:
            middle = _match(key, wanted) or ""
            listed: dict[str, None] = {}
            known = list(list_targets(table[key], CONDITIONS))
            for at, target in enumerate((*known, *list_targets(table[key], None))):
                if at >= len(known) and not listed:
                    break  # a condition of its own is set by few: it adds to a file, and gives none alone
                filled = target.replace("*", middle) if "*" in key else target
                if filled.startswith("./"):
                    found = self._find_file(join_path(home, filled))
                    listed |= {} if found is None else {found: None}
                elif not filled.startswith("#") and filled != wanted:
                    listed |= dict.fromkeys(self._list_in_packages(filled))
            if listed:
                return list(listed)
        return []

    # tsconfig `paths`, `baseUrl` and `rootDirs`

    def _find_by_paths(self, folder: str, specifier: str) -> str | None:
        found = (self._find_by_rules(rules, specifier) for rules in self._settings.rules_for(folder))
        return next((each for each in found if each is not None), None)

    def _find_by_rules(self, rules: PathRules, specifier: str) -> str | None:
        keys = sorted(
            (key for key in rules.paths if _match(key, specifier) is not None),
            key=lambda key: ("*" in key, -key.index("*") if "*" in key else 0, key),
        )
        for key in keys:
            middle = _match(key, specifier) or ""
            targets = rules.paths[key]
            for target in targets if isinstance(targets, list) else []:
                if isinstance(target, str):
                    filled = target.replace("*", middle, 1)
                    place = filled[1:] if filled.startswith("/") else join_path(rules.home, filled)
                    found = self._find(place)
                    if found is not None:
                        return found
        return None if rules.root is None else self._find(join_path(rules.root, specifier))

    def _find_in_root_dirs(self, folder: str, path: str) -> str | None:
        """A relative name may lead from one of the root folders into another."""
        for rules in self._settings.rules_for(folder):
            for root in rules.root_dirs:
                if path != root and not path.startswith(root + "/" if root else ""):
                    continue
                rest = path[len(root) :].lstrip("/")
                found = (self._find(join_path(other, rest)) for other in rules.root_dirs if other != root)
                there = next((each for each in found if each is not None), None)
                if there is not None:
                    return there
        return None

    # What a name that leads nowhere may mean

    def may_mean(self, importer: str, specifier: str, path: str) -> bool:
        """Whether a module name that was not resolved could be this file all the same.

        It is a package of this project whose file is not known here; or bundlers take this file for it; or it
        is no installed package, and it ends as the file is called, or there are settings that could not be
        read.
        """
        if specifier.startswith((".", "#", "/")):
            return _ends_like(specifier, path)
        if self._replaced.get(specifier) == path:
            return True
        name = package_of(specifier)
        home = self._packages.get(name)
        if home is not None:
            return path.startswith(home + "/" if home else "")
        if name.startswith("node:") or name in BUILTINS or name in self._dependencies:
            return False
        rules = self._settings.rules_for(posixpath.dirname(importer))
        return _ends_like(specifier, path) or not all(each.is_whole for each in rules)

    @cached_property
    def _dependencies(self) -> frozenset[str]:
        tables = [settings.get(field) for _, settings in self._list_packages() for field in DEPENDENCIES]
        return frozenset(name for table in tables if isinstance(table, dict) for name in table)


def package_of(specifier: str) -> str:
    """The package that a bare module name begins with."""
    return "/".join(specifier.split("/")[: 2 if specifier.startswith("@") else 1])


def _spell(path: str) -> str:
    """A text that every file which imports this one by its path has; an empty text fits all files."""
    *folders, name = path.split("/")
    stem = name.split(".")[0]
    return stem if stem != "index" else folders[-1] if folders else ""


def _ends_like(specifier: str, path: str) -> bool:
    *folders, name = path.split("/")
    stem = name.split(".")[0]
    wanted = {stem} if stem != "index" else {stem, *folders[-1:]}
    return posixpath.basename(specifier).split(".")[0] in wanted


def _match(pattern: str, name: str) -> str | None:
    """What the star stands for; empty for an equal name; None where they differ."""
    if "*" not in pattern:
        return "" if pattern == name else None
    before, _, after = pattern.partition("*")
    is_match = len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)
    return name[len(before) : len(name) - len(after)] if is_match else None


def _resolved(paths: list[str]) -> Resolved | None:
    return Resolved(path=paths[0], others=tuple(paths[1:])) if paths else None


def _list_doors(exports: object) -> dict[str, object]:
    """What `exports` gives for each path into the package."""
    has_paths = isinstance(exports, dict) and any(key.startswith(".") for key in exports)
    return dict(exports) if has_paths and isinstance(exports, dict) else {".": exports}


def list_targets(value: object, conditions: frozenset[str] | None) -> Iterator[str]:
    """The files that a conditional target may mean, in order; without conditions, under any of them."""
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop(0)
        if isinstance(one, str):
            yield one
        elif isinstance(one, list) and depth < MAX_NESTING:
            waiting[:0] = [(each, depth + 1) for each in one]
        elif isinstance(one, dict) and depth < MAX_NESTING:
            waiting[:0] = [
                (each, depth + 1) for key, each in one.items() if conditions is None or key in conditions
            ]


DESCRIBED: Final = {".d.ts": (".js", ".jsx"), ".d.mts": (".mjs",), ".d.cts": (".cjs",)}
"""The endings of a declaration file and of the sources that it may describe."""
MADE_FROM: Final = {
    **dict.fromkeys((".d.ts", ".js", ".jsx"), (".ts", ".tsx")),
    **dict.fromkeys((".d.mts", ".mjs"), (".mts",)),
    **dict.fromkeys((".d.cts", ".cjs"), (".cts",)),
}
"""The endings of what a compiler writes and of its sources: no import finds the former beside the latter."""


class Twins:
    """Files that are one module in several forms: a declaration file and the source that it describes.

    An import is resolved to one of them, as TypeScript does it, while programs load another. So what both
    export under one name is one thing, and who changes it in one form changes it in all. `entries` are the
    files that one entry of a package may mean.
    """

    def __init__(self, files: frozenset[str], entries: Iterable[Sequence[str]]) -> None:
        self._files = files
        self._groups: dict[str, frozenset[str]] = {}
        for path in files:
            for described in DESCRIBED.get(_ending(path), ()):
                source = path.removesuffix(_ending(path)) + described
                if source in files and self.make_from(path) is None:
                    self._join((path, source))
        for entry in entries:
            sources = [self.make_from(path) or path for path in entry]
            if any(_ending(path) in DESCRIBED for path in sources):
                self._join(sources)

    def __bool__(self) -> bool:
        return bool(self._groups)

    def of(self, path: str) -> Sequence[str]:
        """The other forms of a module, sorted."""
        return sorted(self._groups.get(path, frozenset()) - {path})

    def declared_at(self, path: str) -> str | None:
        """The declaration file that describes a source at this path, which need not be there yet."""
        for ending, described in DESCRIBED.items():
            declared = path.removesuffix(_ending(path)) + ending
            if _ending(path) in described and declared in self._files:
                return declared
        return None

    def make_from(self, path: str) -> str | None:
        """The source beside a file that a compiler writes."""
        stem = path.removesuffix(_ending(path))
        made = (stem + each for each in MADE_FROM.get(_ending(path), ()))
        return next((each for each in made if each in self._files), None)

    def _join(self, paths: Sequence[str]) -> None:
        whole = frozenset(paths).union(*(self._groups.get(path, frozenset()) for path in paths))
        if len(whole) > 1:
            self._groups |= dict.fromkeys(whole, whole)


def _ending(path: str) -> str:
    """The last part of the name, with the `.d` before it."""
    name = path[path.rfind("/") + 1 :]
    at = name.rfind(".")
    if at > 1 and name[:at].endswith(".d"):
        at -= 2
    return name[at:] if at > 0 else ""
