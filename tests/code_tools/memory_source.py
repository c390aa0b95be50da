"""A project that is all in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from handrail_code.facts.compiler_settings import read_jsonc
from handrail_code.facts.model import Links, ReadFile, Unreadable
from handrail_code.facts.source import MANIFEST, Skipped, may_hold_code, shorten


class MemorySource:
    """A project as a mapping from path to bytes; facts are read once, on first need."""

    def __init__(
        self,
        texts: Mapping[str, bytes],
        read: Callable[[str, bytes], ReadFile],
        is_source: Callable[[str], bool],
    ) -> None:
        self._texts = dict(sorted(texts.items()))
        self.read = read
        self._files = [path for path in self._texts if is_source(path)]
        self._facts: dict[str, ReadFile] = {}

    def files(self) -> Sequence[str]:
        return self._files

    def manifests(self) -> Sequence[str]:
        return [path for path in self._texts if path == MANIFEST or path.endswith("/" + MANIFEST)]

    def facts(self, path: str) -> ReadFile | None:
        if path not in self._facts:
            if path not in self._texts:
                return None
            self._facts[path] = self.read(path, self._texts[path])
        return self._facts[path]

    def links(self, path: str) -> Links | Unreadable | None:
        return shorten(self.facts(path))

    def candidates(self, name: str) -> Sequence[str]:
        wanted = name.encode()
        return [path for path in self._files if wanted in self._texts[path]]

    def text(self, path: str) -> bytes | None:
        return self._texts.get(path)

    def holders(self, words: Sequence[str]) -> Sequence[tuple[str, bytes]]:
        wanted = [word.encode() for word in words]
        others = [each for each in self._texts.items() if may_hold_code(each[0])]
        return [(path, text) for path, text in others if any(word in text for word in wanted)]

    def settings(self, path: str) -> object | None:
        text = self._texts.get(path)
        return None if text is None else read_jsonc(text.decode(errors="replace"))

    def skipped(self) -> Sequence[Skipped]:
        return ()

    def unasked(self) -> Sequence[str]:
        return ()
