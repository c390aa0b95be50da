"""Rename one symbol in all files, or say why not. Pure.

Only proven places change. Afterwards every binding must resolve as before: a name that would be caught by
another declaration, or would catch another's uses, is refused with the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from handrail_code.edit.plan import Edit, Plan, Refusal, hash_text
from handrail_code.edit.python_rules import is_python_name, refuse_in_python
from handrail_code.edit.verify import verify_importers, verify_plan
from handrail_code.facts.join import Component, Project, Style, Symbol
from handrail_code.facts.model import NONE, FileFacts, Span
from handrail_code.facts.python_words import is_python
from handrail_code.facts.slots import Exported, Local, Shared, Slot, Token

IDENTIFIER = re.compile(r"#?(?:[^\W\d]|\$)(?:\w|\$)*")
MAX_UNTOUCHED = 500
RESERVED = frozenset(
    {
        *(
            "break",
            "case",
            "catch",
            "class",
            "const",
            "continue",
            "debugger",
            "default",
            "delete",
            "do",
            "else",
        ),
        *("enum", "export", "extends", "false", "finally", "for", "function", "if", "import", "in"),
        *("instanceof", "new", "null", "return", "super", "switch", "this", "throw", "true", "try", "typeof"),
        *(
            "var",
            "void",
            "while",
            "with",
            "implements",
            "interface",
            "let",
            "package",
            "private",
            "protected",
        ),
        *("public", "static", "yield", "await", "eval", "arguments", "undefined", "NaN", "Infinity"),
    }
)


def plan_rename(project: Project, symbol: Symbol, new_name: str, style: Style = "keep") -> Plan | Refusal:
    """The edits, proven by reading the edited files again; or the reason why there are none.

    Both styles are those of TypeScript's service: `keep` is what editors ask it for, `follow` what it does
    when nothing is asked (docs/explanation/settled.md).
    """
    refusal = _refuse_name(symbol, new_name)
    if refusal is not None:
        return refusal
    component = project.component(symbol, style)
    refusal = _refuse_component(project, new_name, component)
    if refusal is None and is_python(component.tokens[0].path):
        refusal = refuse_in_python(project, symbol.name, new_name, component)
    if refusal is not None:
        return refusal
    edits = []
    for token in component.tokens:
        text = project.source.text(token.path)
        assert text is not None, "a token stands in a file"
        replacement = spell(token, component.slots, symbol.name, new_name)
        facts = project.facts(token.path)
        assert facts is not None, "a token stands in facts"
        gone = rejoin(facts, text, token, new_name) if replacement == new_name else None
        places = [(token.start, token.end, replacement)]
        if gone is not None:
            places.append((*gone, ""))
        edits += [
            Edit(path=token.path, start=start, end=end, replacement=spelled, before_hash=hash_text(text))
            for start, end, spelled in sorted(places)
        ]
    plan = Plan(edits=tuple(edits))
    refusal = verify_plan(project, plan)
    if refusal is None and any(not isinstance(slot, Local) for slot in component.slots):
        refusal = verify_importers(project, plan, new_name)
    if refusal is not None:
        return refusal
    return _add_rest(project, symbol, plan)


def _add_rest(project: Project, symbol: Symbol, plan: Plan) -> Plan:
    """What the plan leaves alone, so that whoever reads the preview can decide."""
    edited = {(edit.path, edit.start) for edit in plan.edits}
    found = project.references(symbol)
    rest = [each for each in found.items if (each.path, each.start) not in edited]
    return Plan(
        edits=plan.edits,
        untouched=tuple(rest[:MAX_UNTOUCHED]),
        complete=found.complete,
        reasons=found.reasons,
    )


def spell(token: Token, slots: Sequence[Slot], old: str, new: str) -> str:
    """What the token becomes: one name, or two where only one side of it changes."""
    if token.split == "none" or (token.tie is not None and token.tie in slots):
        return new
    first, second = (new, old) if token.is_first else (old, new)
    return f"{first}: {second}" if token.split in ("shorthand", "pattern") else f"{first} as {second}"


def _refuse_name(symbol: Symbol, new_name: str) -> Refusal | None:
    is_private = symbol.name.startswith("#")
    if new_name == symbol.name:
        return Refusal(code="same_name", message="The new name is the old one; name another.")
    if not isinstance(symbol.slot, Shared) and is_python(symbol.slot.path):
        if is_python_name(new_name):
            return None
        return Refusal(code="invalid_name", message=f"{new_name[:80]!r} is no name in Python; name another.")
    if (
        IDENTIFIER.fullmatch(new_name) is None
        or new_name in RESERVED
        or new_name.startswith("#") != is_private
    ):
        return Refusal(code="invalid_name", message=f"{new_name[:80]!r} is no identifier; name another.")
    return None


def _refuse_component(project: Project, new_name: str, component: Component) -> Refusal | None:
    if not component.tokens:
        return Refusal(code="not_found", message="Nothing in this project spells the name.")
    if any(isinstance(slot, Shared) for slot in component.slots):
        refusal = _refuse_shared(project, new_name) or _refuse_global(project, component)
        if refusal is not None:
            return refusal
    for slot in component.slots:
        if isinstance(slot, Exported) and slot.name in ("default", "="):
            return Refusal(code="external", message="A default export has no name to change.", path=slot.path)
    for path in sorted({token.path for token in component.tokens}):
        facts = project.facts(path)
        if facts is None:
            return Refusal(code="unreadable", message="The file cannot be read as source.", path=path)
        if facts.troubles:
            trouble = facts.troubles[0]
            return Refusal(
                code="parse_error",
                message="The file has a syntax error; correct it first.",
                path=path,
                start=trouble.start,
                end=trouble.end,
            )
        for token in component.tokens:
            if token.path != path:
                continue
            for each in facts.dynamic:
                if each.kind == "with" and each.start <= token.start < each.end:
                    return Refusal(
                        code="dynamic",
                        message="The name is used inside `with`, where it may mean something else.",
                        path=path,
                        start=token.start,
                        end=token.end,
                    )
    return _refuse_properties(project, component)


def _refuse_shared(project: Project, new_name: str) -> Refusal | None:
    """A script's top level is everyone's: a global of the new name, wherever it is used, would be another."""
    for path in project.source.candidates(new_name):
        facts = project.facts(path)
        for use in facts.uses if facts is not None else ():
            if use.name != new_name:
                continue
            if use.binding == NONE or isinstance(project.slots.slot_of_binding(path, use.binding), Shared):
                return Refusal(
                    code="collision",
                    message="Scripts share this name already.",
                    path=path,
                    start=use.start,
                    end=use.end,
                )
    return None


def _refuse_global(project: Project, component: Component) -> Refusal | None:
    """What `declare global` adds to may be declared outside of the project as well."""
    for token in component.tokens:
        facts = project.facts(token.path)
        for each in facts.dynamic if facts is not None else ():
            if each.kind == "global" and each.start <= token.start < each.end:
                return Refusal(
                    code="external",
                    message="The name is global, and perhaps declared outside of this project.",
                    path=token.path,
                    start=token.start,
                    end=token.end,
                )
    return None


def _refuse_properties(project: Project, component: Component) -> Refusal | None:
    """A parameter that is also a property of the class has uses that only types can prove."""
    for slot in component.slots:
        if not isinstance(slot, Local):
            continue
        facts = project.facts(slot.path)
        binding = None if facts is None else facts.bindings[slot.binding]
        if facts is None or binding is None or binding.kind != "parameter":
            continue
        declared = {facts.uses[at].start for at in binding.uses if facts.uses[at].role == "declaration"}
        for member in facts.members:
            if member.start in declared and member.role == "declaration":
                return Refusal(
                    code="member",
                    message="The parameter is also a property; its uses as a member cannot be proven.",
                    path=slot.path,
                    start=member.start,
                    end=member.end,
                )
    return None


# Two names that a rename makes equal are written as one again: `{a: a}` as `{a}`, `a as a` as `a`.
#
# A rename writes one token as two where only one side changes. The rename back then gives the bytes that were
# there before, so it writes them as one. Only what is spelt as a rename spells it is joined: `{a:b}` and
# `{"a": b}` stay two names.


PAIR = b": "
ALIAS = b" as "


def rejoin(facts: FileFacts, text: bytes, token: Token, new_name: str) -> tuple[int, int] | None:
    """What goes away beside the token, or over it, so that one name is left; None where two stay."""
    spelled = new_name.encode()
    for first, second, between in _pairs(facts, text, token):
        if text[first.end : second.start] != between:
            continue
        if second.start == token.start and text[first.start : first.end] == spelled:
            return first.start, second.start
        if first.start == token.start and text[second.start : second.end] == spelled:
            return first.end, second.end
    return None


def _pairs(facts: FileFacts, text: bytes, token: Token) -> Iterator[tuple[Span, Span, bytes]]:
    """Places of two names that may be written as one; the token is one of them."""
    here = Span(start=token.start, end=token.end)
    for found in facts.imports:
        span = found.imported_span
        is_near = span is not None and token.start == span.end + len(ALIAS)
        if span is not None and is_near and token.role == "declaration":
            yield span, here, ALIAS
    for export in facts.exports:
        if export.local_span is None or export.exported_span is None:
            continue
        if export.kind == "commonjs":
            yield export.exported_span, export.local_span, PAIR
        else:
            yield export.local_span, export.exported_span, ALIAS
    for member in facts.members:
        if member.end + len(PAIR) != token.start:
            continue
        follows = text[token.end :].lstrip()[:2]
        is_last = follows[:1] in (b",", b"}")
        is_default = follows[:1] == b"=" and follows != b"=="
        is_value = token.role == "read" and member.role == "declaration" and is_last
        is_target = token.role in ("declaration", "write") and member.role == "pattern"
        if is_value or (is_target and (is_last or is_default)):
            yield Span(start=member.start, end=member.end), here, PAIR
