"""Which language a file is in, by its name. Pure."""

from __future__ import annotations

from handrail_code.facts.model import Language

LANGUAGES: dict[str, Language] = {
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "jsx",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".py": "python",
    ".pyi": "python",
}
DECLARATIONS = (".d.ts", ".d.mts", ".d.cts", ".pyi")


def language_of(path: str) -> Language | None:
    dot = path.rfind(".")
    return LANGUAGES.get(path[dot:]) if dot > path.rfind("/") else None


def is_declaration_file(path: str) -> bool:
    return path.endswith(DECLARATIONS)
