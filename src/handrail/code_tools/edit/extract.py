"""Move one function, class or constant of an ES module into a new module of its own, or say why not. Pure.

The old module imports it back where it still uses it and goes on exporting it, so that no importer changes.
What the declaration needs comes along as imports. A name that the new module could not see is refused, and so
is a name that either side writes to, because an import cannot be written. Afterwards both texts are read
again: no name may have lost its meaning.
"""

from __future__ import annotations

import re

import msgspec

from handrail.code_tools.edit.plan import Edit, Plan, Refusal, RefusalCode, hash_text
from handrail.code_tools.facts.join import Found, Project
from handrail.code_tools.facts.model import NONE, FileFacts, Import, Use
from handrail.code_tools.facts.source import EditedSource
from handrail.code_tools.languages.reading import read_facts

_DECLARATION = re.compile(rb"(export\s+)?((?:async\s+)?function\b|(?:abstract\s+)?class\b|const\b)")
_KNOWN_ENDING = re.compile(r"\.[cm]?[jt]sx?$")
_LAZY = "function"


class _Needed(msgspec.Struct, frozen=True, kw_only=True):
    """One import statement of the new module."""

    at: int
    """Where the old module has it; its own names come last."""
    module: str
    clause: str
    is_type: bool


def plan_extract(project: Project, found: Found, to_module: str = "") -> Plan | Refusal:
    """The plan; without a module, one beside the file that is named after the declaration."""
    facts, text = project.facts(found.path), project.source.text(found.path)
    if facts is None or text is None or facts.troubles:
        return _refuse(found, "parse_error", "the file has a syntax error; correct it first")
    target = to_module.removeprefix("./") or name_module(found.path, found.definition.name)
    refusal = _refuse_place(project, found, facts, target) or _refuse_shape(found, facts, text)
    if refusal is not None:
        return refusal
    needed = _find_needed(project, found, facts, target)
    if isinstance(needed, Refusal):
        return needed
    start, end = _find_lines(text, found)
    declaration = text[start:end].decode()
    lead = len(text[start : found.definition.extent_start].decode())
    body = declaration[lead:].removeprefix("export").lstrip()
    new_text = "".join([_spell_imports(needed), declaration[:lead], "export ", body])
    edits = [
        Edit(
            path=found.path,
            start=start,
            end=_skip_blank_line(text, start, end),
            replacement="",
            before_hash=hash_text(text),
        ),
        Edit(path=target, start=0, end=0, replacement=new_text.rstrip("\n") + "\n", before_hash=""),
    ]
    joined = _spell_return(found, facts, text, target)
    if joined:
        at = _find_import_place(facts, text)
        edits.insert(
            0, Edit(path=found.path, start=at, end=at, replacement=joined, before_hash=hash_text(text))
        )
    plan = Plan(edits=tuple(sorted(edits, key=lambda edit: (edit.path, edit.start, edit.end))))
    return _verify(project, found, target, plan) or plan


def name_module(path: str, name: str) -> str:
    """A module beside this file: `fetchData` of `src/app.js` goes to `src/fetch-data.js`."""
    stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower().strip("_$") or "extracted"
    folder = path.rpartition("/")[0]
    return "/".join(filter(None, (folder, stem + path[path.rfind(".") :])))


def apply_with_new_files(plan: Plan, old: dict[str, bytes]) -> dict[str, bytes]:
    """Every changed file; an edit without a hash of what was there makes a new one."""
    texts = {edit.path: edit.replacement.encode() for edit in plan.edits if not edit.before_hash}
    for path in sorted({edit.path for edit in plan.edits if edit.before_hash}):
        text, at, pieces = old[path], 0, []
        for edit in plan.edits:
            if edit.path == path:
                pieces += [text[at : edit.start], edit.replacement.encode()]
                at = edit.end
        texts[path] = b"".join([*pieces, text[at:]])
    return texts


def _refuse_place(project: Project, found: Found, facts: FileFacts, target: str) -> Refusal | None:
    if not facts.is_module or facts.is_commonjs or facts.is_declaration:
        return _refuse(found, "external", "only a declaration of an ES module can be extracted")
    parts = target.split("/")
    if target.startswith("/") or not all(parts) or {".", ".."} & set(parts) or "\0" in target:
        return _refuse(found, "invalid_name", "the new module must be a path inside the project")
    if target[target.rfind(".") :] != found.path[found.path.rfind(".") :]:
        return _refuse(found, "invalid_name", "the new module must have the ending of the old one")
    if project.source.text(target) is not None or target in project.source.files():
        return _refuse(found, "collision", f"the module {target} exists; name a new one")
    return None


def _refuse_shape(found: Found, facts: FileFacts, text: bytes) -> Refusal | None:
    definition = found.definition
    declared = _DECLARATION.match(text, definition.extent_start, definition.extent_end)
    beside = [
        other
        for other in facts.definitions
        if other.container == NONE
        and definition.extent_start <= other.start < definition.extent_end
        and other.start != definition.start
        and other.kind not in ("parameter", "type_parameter")
    ]
    if definition.container != NONE or declared is None or beside or definition.binding == NONE:
        return _refuse(
            found, "member", "only one function, class or constant at the top of a module can be extracted"
        )
    line = text.rfind(b"\n", 0, definition.extent_start) + 1
    end = text.find(b"\n", definition.extent_end)
    after = text[definition.extent_end : end if end >= 0 else len(text)]
    if text[line : definition.extent_start].strip() or after.strip() not in (b"", b";"):
        return _refuse(found, "member", "something else stands on its lines")
    for use in facts.uses:
        is_inside = definition.extent_start <= use.start < definition.extent_end
        if use.binding == definition.binding and use.role in ("write", "pattern") and not is_inside:
            return _refuse(found, "captured", "it is assigned elsewhere, and an import cannot be", use)
    return None


def _find_needed(project: Project, found: Found, facts: FileFacts, target: str) -> list[_Needed] | Refusal:
    """What the declaration takes from its module."""
    definition = found.definition
    needed: dict[str, _Needed] = {}
    for use in facts.uses:
        if not definition.extent_start <= use.start < definition.extent_end or use.role == "doc":
            continue
        if use.binding in (NONE, definition.binding) or facts.bindings[use.binding].scope != 0:
            continue
        name = facts.bindings[use.binding].name
        if use.role == "write":
            return _refuse(found, "captured", f"it writes to {name}, which an import cannot be", use)
        imported = next((one for one in facts.imports if one.binding == use.binding), None)
        if imported is not None:
            spelled = _spell_import(found.path, target, name, imported)
            if spelled is None:
                return _refuse(
                    found, "dynamic", f"{name} comes from a place that cannot be spelled again", use
                )
            needed[name] = spelled
            continue
        exported = next((one.exported for one in facts.exports if one.binding == use.binding), "")
        if not exported or definition.kind != _LAZY:
            return _refuse(found, "captured", f"it uses {name}, which only its module can see", use)
        clause = "{ " + (name if exported == name else f"{exported} as {name}") + " }"
        module = _spell_module(project, found.path, target, found.path)
        needed[name] = _Needed(at=facts.size, module=module, clause=clause, is_type=False)
    return sorted(needed.values(), key=lambda one: (one.at, one.clause))


def _spell_import(path: str, target: str, name: str, imported: Import) -> _Needed | None:
    module = imported.module
    if module.startswith("."):
        module = _relative(_join(path, module), target)
    match imported.kind:
        case "default":
            clause = name
        case "namespace":
            clause = f"* as {name}"
        case "named" | "type":
            clause = "{ " + (name if imported.imported == name else f"{imported.imported} as {name}") + " }"
        case _:
            return None
    return _Needed(at=imported.statement.start, module=module, clause=clause, is_type=imported.is_type_only)


def _spell_imports(needed: list[_Needed]) -> str:
    lines = [f"import {'type ' if one.is_type else ''}{one.clause} from '{one.module}';\n" for one in needed]
    return "".join(lines) + ("\n" if lines else "")


def _spell_return(found: Found, facts: FileFacts, text: bytes, target: str) -> str:
    """What the old module says instead: an import where it uses the name, an export where it gave it."""
    definition = found.definition
    name = definition.name
    module = _like_others(facts, found.path, _relative(target, found.path))
    is_used = any(
        use.binding == definition.binding
        and use.role != "doc"
        and not definition.extent_start <= use.start < definition.extent_end
        for use in facts.uses
    )
    was_exported = text[definition.extent_start :].startswith(b"export")
    lines = [f"import {{ {name} }} from '{module}';\n"] if is_used else []
    lines += [f"export {{ {name} }} from '{module}';\n"] if was_exported else []
    return "".join(lines)


def _spell_module(project: Project, path: str, seen_from: str, target: str) -> str:
    facts = project.facts(path)
    relative = _relative(target, seen_from)
    return relative if facts is None else _like_others(facts, path, relative)


def _like_others(facts: FileFacts, path: str, relative: str) -> str:
    """With the ending that the other imports of the file have, or without one as they are."""
    spelled = [one.module for one in facts.imports if one.module.startswith(".")]
    if spelled:
        has_ending = _KNOWN_ENDING.search(spelled[0]) is not None
    else:
        has_ending = not path.endswith((".ts", ".tsx"))
    if not has_ending:
        return _KNOWN_ENDING.sub("", relative)
    if path.endswith((".ts", ".tsx", ".mts", ".cts")) and not (
        spelled and spelled[0].endswith(("ts", "tsx"))
    ):
        return re.sub(r"\.([cm]?)tsx?$", r".\1js", relative)
    return relative


def _join(path: str, module: str) -> str:
    """The path that a module specifier of this file means; `..` stays where it leads out of the project."""
    parts = path.split("/")[:-1]
    for name in module.split("/"):
        if name == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif name not in ("", "."):
            parts.append(name)
    return "/".join(parts)


def _relative(target: str, seen_from: str) -> str:
    """The specifier of a path in this file."""
    here, there = seen_from.split("/")[:-1], target.split("/")
    alike = 0
    while alike < min(len(here), len(there) - 1) and here[alike] == there[alike]:
        alike += 1
    up = [".."] * (len(here) - alike)
    return "/".join([*(up or ["."]), *there[alike:]])


def _find_lines(text: bytes, found: Found) -> tuple[int, int]:
    """The declaration with its own lines and the comment right above it."""
    start = text.rfind(b"\n", 0, found.definition.extent_start) + 1
    end = text.find(b"\n", found.definition.extent_end)
    while start > 0:
        above = text.rfind(b"\n", 0, start - 1) + 1
        line = text[above:start].strip()
        if line.startswith(b"//"):
            start = above
        elif line.endswith(b"*/") and (opened := text.rfind(b"/*", 0, start)) >= 0:
            start = text.rfind(b"\n", 0, opened) + 1
        else:
            break
    return start, len(text) if end < 0 else end + 1


def _skip_blank_line(text: bytes, start: int, end: int) -> int:
    """One of two blank lines that would be left goes, too."""
    next_line = text.find(b"\n", end)
    is_blank = next_line >= 0 and not text[end:next_line].strip()
    follows_blank = start == 0 or text[:start].endswith((b"\n\n", b"\r\n\r\n"))
    return next_line + 1 if is_blank and follows_blank else end


def _find_import_place(facts: FileFacts, text: bytes) -> int:
    """After the last import at the top, else at the beginning, behind a hash bang and directives."""
    ends = [
        one.statement.end
        for one in facts.imports
        if one.kind in ("named", "default", "namespace", "bare", "type")
    ]
    if ends:
        line = text.find(b"\n", max(ends))
        return len(text) if line < 0 else line + 1
    lead = re.match(rb"(?:\xef\xbb\xbf)?(?:#![^\n]*\n)?(?:\s*(['\"])use [^'\"\n]*\1;?[ \t]*\n)*", text)
    return 0 if lead is None else lead.end()


def _verify(project: Project, found: Found, target: str, plan: Plan) -> Refusal | None:
    """Read both texts again: what was global stays global, and nothing else becomes so."""
    before = project.facts(found.path)
    texts = apply_with_new_files(plan, {found.path: project.source.text(found.path) or b""})
    edited = Project(EditedSource(project.source, texts, read_facts))
    assert before is not None, "it was read before"
    known = _list_unbound(before)
    for path in (found.path, target):
        after = edited.facts(path)
        if after is None or after.troubles or _list_unbound(after) - known:
            return _refuse(found, "changed_meaning", "a name would lose its meaning")
    old_names, new_names = set(project.slots.exports_of(found.path)), set(edited.slots.exports_of(found.path))
    if old_names != new_names:
        return _refuse(found, "changed_meaning", "the exports of the module would change")
    return None


def _list_unbound(facts: FileFacts) -> set[str]:
    return {use.name for use in facts.uses if use.binding == NONE and use.role != "doc"}


def _refuse(found: Found, code: RefusalCode, message: str, use: Use | None = None) -> Refusal:
    place = found.definition if use is None else use
    return Refusal(code=code, message=message, path=found.path, start=place.start, end=place.end)
