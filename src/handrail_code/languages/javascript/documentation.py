"""Names in JSDoc comments, as uses; and the text of each comment for the definition it stands before. Pure.

TypeScript's service reads these comments as code, so a rename that skips them leaves them wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail_code.facts.model import EVERY_MEANING, NAMESPACE, NONE, TYPE, VALUE, Language
from handrail_code.languages.draft import FoundImport, FoundUse
from handrail_code.languages.javascript.draft import Draft

DOC_LENGTH = 600
LINE_LENGTH = 500
TAG = re.compile(rb"@([a-zA-Z]+)\b")
PARAMETER_TAGS = frozenset({b"param", b"arg", b"argument"})
TYPED_TAGS = PARAMETER_TAGS | {
    *(b"property", b"prop", b"type", b"typedef", b"return", b"returns", b"throws", b"exception", b"this"),
    *(b"satisfies", b"enum", b"template", b"extends", b"augments", b"implements", b"class", b"constructor"),
}
NAMING_TAGS = frozenset({b"typedef", b"callback"})
HERITAGE_TAGS = frozenset({b"extends", b"augments", b"implements"})
LINK_TAGS = frozenset({b"link", b"linkcode", b"linkplain"})
INLINE_SPACE = re.compile(rb"[ \t]*")
SPACE = re.compile(rb"(?:[ \t]|\r?\n[ \t]*\*(?!/))*")
NAME = re.compile(rb"[A-Za-z_$\x80-\xff][\w$\x80-\xff]*")
PARAMETER = re.compile(rb"\[?[ \t]*([A-Za-z_$\x80-\xff][\w$\x80-\xff]*)")
TOKEN = re.compile(rb"""'[^'\n]*'|"[^"\n]*"|`[^`]*`|[A-Za-z_$\x80-\xff][\w$\x80-\xff]*|[.:?=()]|=>""")
KEYWORDS = frozenset(
    {
        *(b"string", b"number", b"boolean", b"any", b"unknown", b"void", b"never", b"null", b"undefined"),
        *(b"function", b"new", b"this", b"typeof", b"keyof", b"readonly", b"is", b"asserts", b"true"),
        *(b"false", b"infer", b"extends", b"unique", b"symbol", b"object", b"bigint", b"in", b"out"),
        b"import",
    }
)
IMPORTED_TYPE = re.compile(
    rb"""\bimport\(\s*(['"])([^'"\n]+)\1\s*\)\s*\.\s*([A-Za-z_$\x80-\xff][\w$\x80-\xff]*)"""
)
BETWEEN = re.compile(rb"\s*")
COMMENT_LINE = re.compile(rb"^[ \t]*\*? ?", re.MULTILINE)


def read_documentation(draft: Draft, language: Language) -> dict[int, str]:
    """Adds uses to the draft; answers definition -> text."""
    docs: dict[int, str] = {}
    is_script = language in ("javascript", "jsx")
    if is_script:
        for start, end, _, definition in draft.comments:
            _declare_types(draft, start, end, definition)
    for start, end, scope, definition in draft.comments:
        after = _next_place(draft.text, end)
        described = draft.documented.get(after, NONE)
        if described != NONE:
            docs[described] = _plain_text(draft.text[start:end])
        parameters = draft.signatures.get(after, NONE)
        if after not in draft.function_values and not _begins_line(draft.text, start):
            parameters = NONE  # to the service it belongs to what stands before it on the line
        if not is_script:
            _add_templates(draft, start, end, draft.generics.get(after, NONE), definition)
        _read_tags(draft, (start, end), scope, parameters, definition)
    return docs


def _begins_line(text: bytes, start: int) -> bool:
    before = text[:start] if start < LINE_LENGTH else text[start - LINE_LENGTH : start]
    return before.rstrip(b" \t\xef\xbb\xbf")[-1:] in (b"", b"\n", b"\r")


def _next_place(text: bytes, end: int) -> int:
    """Where the code after a comment begins; other comments between do not count."""
    while True:
        found = BETWEEN.match(text, end)
        end = found.end() if found is not None else end
        if text.startswith(b"/*", end) and (close := text.find(b"*/", end + 2)) != -1:
            end = close + 2
        elif text.startswith(b"//", end) and (close := text.find(b"\n", end)) != -1:
            end = close
        else:
            return end


def _declare_types(draft: Draft, start: int, end: int, definition: int) -> None:
    """`@typedef {…} Name` and `@callback Name` are types of the file."""
    for tag in TAG.finditer(draft.text, start, end):
        if tag[1] in NAMING_TAGS:
            at = _skip_type(draft.text, _skip_space(draft.text, tag.end(), end), end)
            name = NAME.match(draft.text, _skip_space(draft.text, at, end), end)
            if name is not None:
                text = name[0].decode(errors="replace")
                _add_use(draft, text, name.span(), 0, TYPE, definition, draft.bind(text, "type", TYPE, 0))


def _read_tags(draft: Draft, span: tuple[int, int], scope: int, parameters: int, definition: int) -> None:
    text, (start, end) = draft.text, span
    templates = frozenset(found[0] for found in _template_names(text, start, end))
    for tag in TAG.finditer(text, start, end):
        at = _skip_space(text, tag.end(), end)
        if tag[1] in LINK_TAGS:
            if text[tag.start() - 1 : tag.start()] == b"{":
                inline = INLINE_SPACE.match(text, tag.end(), end)
                at = tag.end() if inline is None else inline.end()
                _add_name(draft, at, end, scope, definition, templates)
            continue
        if tag[1] == b"see":
            _add_name(draft, at, end, scope, definition, templates)
            continue
        if tag[1] not in TYPED_TAGS:
            continue
        after = _skip_type(text, at, end)
        if after > at:
            _add_type_names(draft, at + 1, after - 1, scope, definition, templates)
        elif tag[1] in HERITAGE_TAGS:
            _add_name(draft, at, end, scope, definition, templates)
        if tag[1] in PARAMETER_TAGS and parameters != NONE:
            _add_parameter(draft, _skip_space(text, after, end), end, parameters, definition)


def _template_names(text: bytes, start: int, end: int) -> Iterator[re.Match[bytes]]:
    for tag in TAG.finditer(text, start, end):
        if tag[1] == b"template":
            at = _skip_space(text, _skip_type(text, _skip_space(text, tag.end(), end), end), end)
            while (name := NAME.match(text, at, end)) is not None:
                yield name
                at = _skip_space(text, name.end(), end)
                if text[at : at + 1] != b",":
                    break
                at = _skip_space(text, at + 1, end)


def _add_templates(draft: Draft, start: int, end: int, scope: int, definition: int) -> None:
    """`@template T` before a declaration with a type parameter T."""
    for name in _template_names(draft.text, start, end) if scope != NONE else ():
        text = name[0].decode(errors="replace")
        binding = draft.scopes[scope].names.get(text)
        if binding is not None and draft.bindings[binding].kind == "type_parameter":
            _add_use(draft, text, name.span(), scope, TYPE, definition, binding)


def _skip_space(text: bytes, at: int, end: int) -> int:
    found = SPACE.match(text, at, end)
    return at if found is None else found.end()


def _skip_type(text: bytes, at: int, end: int) -> int:
    """The end of a type in braces; the same place where none begins."""
    if text[at : at + 1] != b"{" or text[at + 1 : at + 2] == b"@":
        return at
    depth = 0
    for place in range(at, end):
        if text[place] == 0x7B:
            depth += 1
        elif text[place] == 0x7D:
            depth -= 1
            if depth == 0:
                return place + 1
    return at


def _add_parameter(draft: Draft, at: int, end: int, scope: int, definition: int) -> None:
    named = PARAMETER.match(draft.text, at, end)
    if named is None or draft.text.startswith(b"...", named.end()):
        return
    name = named[1].decode(errors="replace")
    binding = draft.scopes[scope].names.get(name)
    if binding is not None and binding in draft.whole_parameters:
        _add_use(draft, name, named.span(1), scope, VALUE, definition, binding)


def _add_use(
    draft: Draft,
    name: str,
    span: tuple[int, int],
    scope: int,
    meaning: int,
    definition: int,
    binding: int = NONE,
) -> None:
    draft.uses.append(FoundUse(name, *span, "doc", scope, definition, meaning, binding))


def _add_name(
    draft: Draft, at: int, end: int, scope: int, definition: int, templates: frozenset[bytes]
) -> None:
    """One name, perhaps with members after it."""
    name = NAME.match(draft.text, at, end)
    if name is None or name[0] in templates or draft.text[name.end() : name.end() + 3] == b"://":
        return
    text = name[0].decode(errors="replace")
    _add_use(draft, text, name.span(), scope, EVERY_MEANING, definition)


def _add_type_names(
    draft: Draft, at: int, end: int, scope: int, definition: int, templates: frozenset[bytes]
) -> None:
    """Names in a type that are neither members, keys, parameters nor the language's own."""
    _add_imported_types(draft, at, end, definition)
    tokens = list(TOKEN.finditer(draft.text, at, end))
    for place, token in enumerate(tokens):
        if NAME.fullmatch(token[0]) is None or token[0] in KEYWORDS or token[0] in templates:
            continue
        before = tokens[place - 1][0] if place else b""
        after = tokens[place + 1][0] if place + 1 < len(tokens) else b""
        further = tokens[place + 2][0] if place + 2 < len(tokens) else b""
        if before == b"." and draft.text[token.start() - 2 : token.start()] != b"..":
            continue
        if after == b":" or (after == b"?" and further == b":"):
            continue
        meaning = VALUE if before == b"typeof" else TYPE | NAMESPACE
        _add_use(draft, token[0].decode(errors="replace"), token.span(), scope, meaning, definition)


def _add_imported_types(draft: Draft, at: int, end: int, definition: int) -> None:
    """`import("./x").Name` in a type."""
    for found in IMPORTED_TYPE.finditer(draft.text, at, end):
        module, name = found[2].decode(errors="replace"), found[3].decode(errors="replace")
        made = FoundImport("type", module, found.span(2), found.span(), definition, name, found.span(3))
        made.is_type_only = True
        draft.imports.append(made)


def _plain_text(comment: bytes) -> str:
    body = COMMENT_LINE.sub(b"", comment[3:-2]).decode(errors="replace").strip()
    return body if len(body) <= DOC_LENGTH else body[: DOC_LENGTH - 1] + "…"
