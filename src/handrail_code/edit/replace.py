"""Replace one definition by a given text, or say why not. Pure.

The text must define the same name, and the module must export what it exported. Every name elsewhere in the
file must mean what it meant; the plan lists names that the text uses and nothing declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail_code.edit.fitting import find_misfits
from handrail_code.edit.moving.meanings import compare_kept
from handrail_code.edit.plan import Edit, Plan, Refusal, edited_project, read_whole
from handrail_code.facts.join import Found, Project
from handrail_code.facts.model import NONE, Definition, FileFacts
from handrail_code.facts.python_words import BUILTIN_NAMES, is_python
from handrail_code.facts.spelled_names import Local, doubt
from handrail_code.languages.python.indentation import indent_text, is_sound_block

MAX_TEXT = 1_000_000
KNOWN_GLOBALS = frozenset(
    {
        *("Array", "ArrayBuffer", "BigInt", "Boolean", "Buffer", "Date", "Error", "Function", "Infinity"),
        *("Intl", "JSON", "Map", "Math", "NaN", "Number", "Object", "Promise", "Proxy", "RangeError"),
        *("Reflect", "RegExp", "Set", "String", "Symbol", "SyntaxError", "TypeError", "URL", "Uint8Array"),
        *("WeakMap", "WeakRef", "WeakSet", "arguments", "clearInterval", "clearTimeout", "console"),
        *("decodeURIComponent", "document", "encodeURIComponent", "exports", "fetch", "globalThis"),
        *("isFinite", "isNaN", "module", "parseFloat", "parseInt", "process", "queueMicrotask", "require"),
        *("setImmediate", "setInterval", "setTimeout", "structuredClone", "undefined", "window"),
        *("Record", "Partial", "Readonly", "Required", "Pick", "Omit", "Exclude", "Extract", "Awaited"),
        *("NonNullable", "Parameters", "ReturnType", "Iterable", "Iterator", "ReadonlyArray", "const"),
    }
)


def plan_replace(project: Project, found: Found, new_text: str) -> Plan:
    """The text of a definition, also of a method, becomes `new_text`."""
    path, old = found.path, found.definition
    facts, text = read_whole(project, path)
    if len(new_text) > MAX_TEXT or "\0" in new_text:
        raise Refusal("parse_error", "The given text is too long or no text.", path)
    if not old.digest:
        raise Refusal("nested", f"{old.name} has no text of its own; replace what is around it.", path, old)
    shown = new_text.replace("\r\n", "\n").strip("\n")
    placements = list_placements(text, old.extent_start, shown) if is_python(path) else (shown,)
    refusals: list[Refusal] = []
    for placed in placements:
        try:
            return _plan(project, found, facts, _edit(path, text, old, placed))
        except Refusal as refusal:
            refusals.append(refusal)
    raise refusals[0]


def _plan(project: Project, found: Found, facts: FileFacts, edit: Edit) -> Plan:
    plan = Plan(edits=(edit,))
    edited = edited_project(project, plan)
    new = _find_new(project, edited, found, edit)
    if is_python(found.path):
        refuse_more_than_one(edited, found, edit.start, edit.replacement)
        refuse_lost_keywords(project, edited, found, edit.start)
    else:
        _refuse_twice(found, facts, edited, edit)
    compare_kept(project, edited, found.path, plan.edits, lambda _, meaning: meaning)
    misfits = find_misfits(project, edited, found, new)
    return Plan(
        edits=plan.edits,
        unresolved=_newly_unresolved(facts, edited, edit),
        reasons=tuple(doubt(one.code, one.path, one) for one in misfits),
        misfits=misfits,
    )


def _edit(path: str, text: bytes, definition: Definition, placed: str) -> Edit:
    """The text with the line ends of the file; its last newline and semicolon are there already."""
    shown = placed.replace("\n", "\r\n" if b"\r\n" in text else "\n")
    start, end = definition.extent_start, definition.extent_end
    if shown.endswith(";") and text[end : end + 1] == b";":
        shown = shown.removesuffix(";")
    return Edit(path=path, start=start, end=end, replacement=shown)


def _find_new(project: Project, edited: Project, found: Found, edit: Edit) -> Definition:
    """The text must define the name in the same place, and exports must be the same."""
    path, old = found.path, found.definition
    before, after = project.read_facts(path), edited.read_facts(path)
    end = edit.start + len(edit.replacement.encode())
    alike = [
        each
        for each in after.definitions
        if each.name == old.name
        and edit.start <= each.start < end
        and _is_alike(before, old, after, each, edit)
    ]
    if not alike:
        raise Refusal("not_found", f"The given text does not define {old.name}.", path, old)
    old_names, new_names = _exports(project, path), _exports(edited, path)
    if old_names != new_names:
        names = ", ".join(sorted(old_names ^ new_names))
        raise Refusal("changed_meaning", f"The module would export other names ({names}).", path, old)
    return alike[0]


def _refuse_twice(found: Found, before: FileFacts, edited: Project, edit: Edit) -> None:
    """What the text declares besides must not stand in its scope, or its class, already."""
    after = edited.read_facts(found.path)
    end = edit.start + len(edit.replacement.encode())
    old = _count_declared(before, found.definition.extent_start, found.definition.extent_end)
    for key, (inside, outside) in _count_declared(after, edit.start, end).items():
        was = old.get(key, (0, 0))[0]
        is_overload = before.language in ("typescript", "tsx") and key[0] == found.definition.name
        if inside > was and (outside or inside > 1) and not is_overload:
            message = f"The given text declares {key[0]}, which is declared there already."
            raise Refusal("collision", message, found.path, found.definition)


def _count_declared(facts: FileFacts, start: int, end: int) -> dict[tuple[str, str], tuple[int, int]]:
    """How often each name of a scope, or of a class, is declared inside of a stretch and outside of it."""
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for each in facts.definitions:
        place = "member of {} {}".format(*_holder(facts, each))
        if each.binding != NONE:
            at = facts.bindings[each.binding].scope
            around = facts.scopes[facts.scopes[at].parent]
            if around.kind == "parameters" and facts.scopes[at].kind != "parameters":
                at = facts.scopes[at].parent  # a body cannot declare a parameter again
            if at != 0 and facts.scopes[at].start >= start and facts.scopes[at].end <= end:
                continue
            place = f"scope {facts.scopes[at].start}"
        inside, outside = counts.get((each.name, place), (0, 0))
        is_inside = start <= each.start < end
        counts[each.name, place] = (inside + is_inside, outside + (not is_inside))
    return counts


def _exports(project: Project, path: str) -> set[str]:
    """What others can import: in Python every name at the top."""
    return set(project.slots.python.top(path) if is_python(path) else project.slots.exports_of(path))


def _is_alike(before: FileFacts, old: Definition, after: FileFacts, new: Definition, edit: Edit) -> bool:
    """A declared name stays one in the same scope, and a member stays one of the same definition."""
    if old.binding == NONE:
        return new.binding == NONE and _holder(before, old) == _holder(after, new)
    return new.binding != NONE and _is_outer(after, new, edit.start, before.bindings[old.binding].scope == 0)


def _holder(facts: FileFacts, definition: Definition) -> tuple[str, int]:
    """The definition around one, which begins before any text in it."""
    if definition.container == NONE:
        return "", NONE
    around = facts.definitions[definition.container]
    return around.name, around.extent_start


def _is_outer(facts: FileFacts, definition: Definition, start: int, is_top: bool) -> bool:
    """Declared in the scope around the text, not inside of it."""
    scope = facts.bindings[definition.binding].scope
    return scope == 0 if is_top else scope != 0 and facts.scopes[scope].start < start


def _newly_unresolved(facts: FileFacts, edited: Project, edit: Edit) -> tuple[str, ...]:
    after = edited.read_facts(edit.path)
    known = {use.name for use in facts.uses if use.binding == NONE}
    known |= BUILTIN_NAMES if is_python(edit.path) else KNOWN_GLOBALS
    end = edit.start + len(edit.replacement.encode())
    return tuple(
        sorted(
            {
                use.name
                for use in after.uses
                if use.binding == NONE and edit.start <= use.start < end and use.role != "doc"
            }
            - known
        )
    )


# What a replacement in Python needs beyond others: its indentation, and callers by keyword


_ANY_KEYWORD = re.compile(r"\*\*\s*\w")
_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\n]*)?(?:\n|$))*")


def list_placements(text: bytes, start: int, new_text: str) -> Iterator[str]:
    """The text as it can stand at this place: indented for it, or as it is."""
    line = text[text.rfind(b"\n", 0, start) + 1 : start].decode()
    if line.strip():
        yield new_text
        return
    indented = indent_text(new_text, line).removeprefix(line)
    yield indented
    if new_text != indented:
        yield new_text


def refuse_more_than_one(edited: Project, found: Found, start: int, replacement: str) -> None:
    """The text must be the definition and nothing else, so that no line of it falls out of its block."""
    path, name = found.path, found.definition.name
    facts, text = edited.facts(path), edited.source.text(path)
    assert facts is not None, "the new text was read"
    assert text is not None, "the new text was read"
    end = start + len(replacement.encode())
    if not is_sound_block(text, start, end):
        message = "Python would refuse the given text: a block, a clause or a statement is out of place."
        raise Refusal("parse_error", message, path)
    for each in facts.definitions:
        if each.name == name and start <= each.extent_start and each.extent_end <= end and each.digest:
            around = (text[start : each.extent_start].decode(), text[each.extent_end : end].decode())
            if all(_COMMENTS.fullmatch(part) for part in around):
                return
    message = f"The given text is not one definition of {name} and nothing else."
    raise Refusal("not_found", message, path, found.definition)


def refuse_lost_keywords(project: Project, edited: Project, found: Found, start: int) -> None:
    """A caller that names a parameter must find it in the new text."""
    path, old = found.path, found.definition
    before, after = project.read_facts(path), edited.read_facts(path)
    new_index = next(
        (at for at, each in enumerate(after.definitions) if each.name == old.name and each.start >= start),
        None,
    )
    if new_index is None or _ANY_KEYWORD.search(after.definitions[new_index].signature):
        return
    new_names = set(_parameters(after, new_index))
    for name, binding in _parameters(before, found.index).items():
        if name in new_names:
            continue
        for token in project.slots.python.keywords_of(Local(path=path, binding=binding)).tokens:
            if token.path != path or not old.extent_start <= token.start < old.extent_end:
                message = f"{name}= is given in this call, and the given text takes no {name}."
                raise Refusal("changed_meaning", message, token.path, token)


def _parameters(facts: FileFacts, index: int) -> dict[str, int]:
    """The bindings of the parameters that callers may name."""
    return {
        member.name: facts.uses[member.index].binding
        for member in facts.members
        if member.role == "keyword" and member.receiver == "this" and member.definition == index
    }
