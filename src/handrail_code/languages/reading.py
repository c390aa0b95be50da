"""From the bytes of one source file to its facts. Pure: same path and bytes, same facts.

Whoever calls this pays for the parser, so it is imported only where facts are missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec import structs

from handrail_code.facts.model import FileFacts, Language, ParseTrouble, Unreadable
from handrail_code.languages.extensions import is_declaration_file, language_of
from handrail_code.languages.grammars import Node, parse_text

MAX_BYTES = 2_000_000
MAX_TROUBLES = 5
MODULE_STATEMENTS = frozenset({"import_statement", "export_statement"})
ALWAYS_MODULES = (".mjs", ".mts")


def go_on() -> bool:
    return True


def read_facts(path: str, text: bytes, may_go_on: Callable[[], bool] = go_on) -> FileFacts | Unreadable:
    """`may_go_on` is asked while the parser works; a caller with a clock stops it there."""
    language = language_of(path)
    if language is None:
        return Unreadable(reason="unknown_language")
    if len(text) > MAX_BYTES:
        return Unreadable(reason="too_large")
    if not _is_text(text):
        return Unreadable(reason="not_text")
    root = parse_text(language, text, may_go_on)
    if root is None:
        return Unreadable(reason="too_long_to_parse")
    if language == "python":
        return _number_twins(_read_python(path, text, root))
    return _number_twins(_read_javascript(language, path, text, root))


def _number_twins(facts: FileFacts | Unreadable) -> FileFacts | Unreadable:
    """The same text may stand in a file twice, as `let i = 0` does."""
    if isinstance(facts, Unreadable):
        return facts
    seen: Counter[tuple[str, str]] = Counter()
    definitions = []
    for one in facts.definitions:
        key = (one.name, one.digest)
        twin = seen[key] if one.digest else 0
        definitions.append(structs.replace(one, twin=twin) if twin else one)
        seen[key] += 1
    return structs.replace(facts, definitions=tuple(definitions))


def _read_javascript(language: Language, path: str, text: bytes, root: Node) -> FileFacts | Unreadable:
    # Each language's reader is loaded by its first file.
    from handrail_code.languages.javascript.assembly import assemble  # noqa: PLC0415 - see above
    from handrail_code.languages.javascript.walk import walk  # noqa: PLC0415 - see above

    is_module = path.endswith(ALWAYS_MODULES) or any(
        child.type in MODULE_STATEMENTS for child in root.named_children
    )
    draft = walk(language, root, text, is_module)
    if draft is None:
        return Unreadable(reason="too_deep")
    draft.is_module = draft.is_module or is_module
    return assemble(draft, language, is_declaration_file(path), _troubles(root))


def _read_python(path: str, text: bytes, root: Node) -> FileFacts | Unreadable:
    from handrail_code.languages.python.assembly import assemble  # noqa: PLC0415 - see above
    from handrail_code.languages.python.walk import walk  # noqa: PLC0415 - see above

    draft = walk(root, text)
    if draft is None:
        return Unreadable(reason="too_deep")
    return assemble(draft, is_declaration_file(path), _troubles(root))


def _is_text(text: bytes) -> bool:
    if b"\0" in text:
        return False
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _troubles(root: Node) -> tuple[ParseTrouble, ...]:
    """The first places that the grammar could not read."""
    found: list[ParseTrouble] = []
    waiting = [root] if root.has_error else []
    while waiting and len(found) < MAX_TROUBLES:
        node = waiting.pop()
        if node.is_missing or node.is_error:
            found.append(ParseTrouble(start=node.start_byte, end=node.end_byte))
        else:
            waiting.extend(child for child in reversed(node.children) if child.has_error or child.is_missing)
    return tuple(found)
