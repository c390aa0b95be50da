"""Files that are one module in several forms: a declaration file and the source that it describes. Pure.

An import is resolved to one of them, as TypeScript does it, while programs load another. So what both export
under one name is one thing, and who changes it in one form changes it in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

DESCRIBED: Final = {".d.ts": (".js", ".jsx"), ".d.mts": (".mjs",), ".d.cts": (".cjs",)}
"""The endings of a declaration file and of the sources that it may describe."""
MADE_FROM: Final = {
    **dict.fromkeys((".d.ts", ".js", ".jsx"), (".ts", ".tsx")),
    **dict.fromkeys((".d.mts", ".mjs"), (".mts",)),
    **dict.fromkeys((".d.cts", ".cjs"), (".cts",)),
}
"""The endings of what a compiler writes and of its sources: no import finds the former beside the latter."""


class Twins:
    """The forms of each module. `entries` are the files that one door of a package may mean."""

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
