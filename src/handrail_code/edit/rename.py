"""Rename one symbol in all files, or say why not. Pure.

Only proven places change. Afterwards every binding must resolve as before: a name that would be caught by
another declaration, or would catch another's uses, is refused with the place.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from handrail_code.edit.plan import Edit, Plan, Refusal, refuse_troubles
from handrail_code.edit.python_rules import is_python_name, refuse_in_python
from handrail_code.edit.verify import verify_importers, verify_plan
from handrail_code.facts.class_members import find_member_uses, list_taken
from handrail_code.facts.join import Component, Found, Project, Style, Symbol
from handrail_code.facts.model import NONE, Dynamic, FileFacts, Span, list_ties
from handrail_code.facts.python_words import is_python
from handrail_code.facts.source import line_and_column
from handrail_code.facts.spelled_names import Exported, Local, Shared, Slot, Token, Trouble, doubt

IDENTIFIER = re.compile(r"#?(?:[^\W\d]|\$)(?:\w|\$)*")
RESERVED = frozenset(
    {
        *("break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do"),
        *("else", "enum", "export", "extends", "false", "finally", "for", "function", "if", "import"),
        *("in", "instanceof", "new", "null", "return", "super", "switch", "this", "throw", "true", "try"),
        *("typeof", "var", "void", "while", "with", "implements", "interface", "let", "package"),
        *("private", "protected", "public", "static", "yield", "await", "eval", "arguments", "undefined"),
        *("NaN", "Infinity"),
    }
)


ACCEPTABLE = frozenset({"dynamic", "external"})
"""Refusals about places that only a run or somebody else can tell about: a person may have looked."""


def plan_rename(
    project: Project,
    symbol: Symbol,
    new_name: str,
    style: Style = "keep",
    accept: Collection[str] = (),
) -> Plan:
    """The edits, proven by reading the edited files again. Raises Refusal.

    `keep` and `follow` are those of TypeScript's service: what editors ask it for, and what it does when
    nothing is asked; `public` also changes what CommonJS and barrels call it.
    A place in `accept`, `FILE:LINE` or `FILE:LINE:COLUMN`, is a refusal that a person has looked at.
    """
    _refuse_name(symbol, new_name)
    component = project.component(symbol, style)
    accepted = _accept(project, _list_refusals(project, symbol, new_name, component), accept)
    edits = []
    for token in component.tokens:
        text = project.source.text(token.path)
        assert text is not None, "a token stands in a file"
        replacement = spell(token, component.slots, symbol.name, new_name)
        facts = project.read_facts(token.path)
        gone = rejoin(facts, text, token, new_name) if replacement == new_name else None
        places = [(token.start, token.end, replacement)]
        if gone is not None:
            places.append((*gone, ""))
        edits += [
            Edit(path=token.path, start=start, end=end, replacement=spelled)
            for start, end, spelled in sorted(places)
        ]
    plan = Plan(edits=tuple(edits))
    edited = verify_plan(project, plan)
    if any(not isinstance(slot, Local) for slot in component.slots):
        verify_importers(project, edited, plan, new_name)
    return _add_rest(project, symbol, plan, accepted)


def plan_member_rename(project: Project, found: Found, new_name: str, accept: Collection[str] = ()) -> Plan:
    """The same for a member of a class: a place that may be another's is refused, or accepted as it is."""
    old = found.definition
    uses = find_member_uses(project, found)
    if uses is None or old.name == "constructor":
        raise Refusal(
            "member", "This is a member, and which objects have it cannot be proven", found.path, old
        )
    _refuse_name(Symbol(slot=Shared(name=old.name), name=old.name, kind=old.kind), new_name)
    for each in list_taken(project, uses, new_name):
        # Any place that names the new one may be of this class, unless it is proven to be another's.
        raise Refusal("collision", "The class may have a member of this name already.", each.path, each)
    message = "Whether this is a member of the class only a run can tell."
    refusals = (Refusal("dynamic", message, each.path, each) for each in uses.unsure)
    accepted = _accept(project, refusals, accept)
    edits = [
        Edit(path=each.path, start=each.start, end=each.end, replacement=new_name) for each in uses.proven
    ]
    reasons = (*accepted, *uses.troubles)
    mentions = (
        one for path in project.slots.candidates(old.name) for one in project.mentions(path, [old.name])
    )
    rest = {(one.path, one.start): one for one in (*mentions, *uses.other, *uses.unsure)}
    plan = Plan(
        edits=tuple(sorted(edits, key=lambda each: (each.path, each.start))),
        untouched=tuple(rest[place] for place in sorted(rest)),
        reasons=reasons,
    )
    verify_plan(project, plan)
    return plan


def _accept(project: Project, refusals: Iterable[Refusal], accept: Collection[str]) -> list[Trouble]:
    """The refusals that somebody has looked at. Raises one that nobody may accept, or all that nobody has."""
    accepted, doubtful = [], []
    for refusal in refusals:
        if refusal.code not in ACCEPTABLE:
            raise refusal
        if spell_places(project, refusal) & set(accept):
            accepted.append(doubt("accepted", refusal.path, refusal))
        else:
            doubtful.append(refusal)
    if doubtful:
        first, *others = doubtful
        first.others = tuple((one.path, one.start) for one in others)
        raise first
    return accepted


def spell_places(project: Project, refusal: Refusal) -> set[str]:
    """How a caller may name the place of a refusal."""
    line, column = line_and_column(project.source.text(refusal.path) or b"", refusal.start)
    return {f"{refusal.path}:{line}", f"{refusal.path}:{line}:{column}"}


def _list_refusals(
    project: Project, symbol: Symbol, new_name: str, component: Component
) -> Iterator[Refusal]:
    yield from _refuse_component(project, new_name, component)
    if component.tokens and is_python(component.tokens[0].path):
        yield from refuse_in_python(project, symbol.name, new_name, component)


def _add_rest(project: Project, symbol: Symbol, plan: Plan, accepted: Sequence[Trouble]) -> Plan:
    """What the plan leaves alone, so that whoever reads the preview can decide."""
    edited = {(edit.path, edit.start) for edit in plan.edits}
    found = project.references(symbol)
    rest = [each for each in found.items if (each.path, each.start) not in edited]
    return msgspec.structs.replace(plan, untouched=tuple(rest), reasons=(*accepted, *found.reasons))


def spell(token: Token, slots: Sequence[Slot], old: str, new: str) -> str:
    """What the token becomes: one name, or two where only one side of it changes."""
    if token.split == "none" or (token.tie is not None and token.tie in slots):
        return new
    first, second = (new, old) if token.is_first else (old, new)
    return f"{first}: {second}" if token.split in ("shorthand", "pattern") else f"{first} as {second}"


def _refuse_name(symbol: Symbol, new_name: str) -> None:
    is_private = symbol.name.startswith("#")
    if new_name == symbol.name:
        raise Refusal("same_name", "The new name is the old one; name another.")
    if is_python(symbol.slot.path):
        if is_python_name(new_name):
            return
        raise Refusal("invalid_name", f"{new_name[:80]!r} is no name in Python; name another.")
    if (
        IDENTIFIER.fullmatch(new_name) is None
        or new_name in RESERVED
        or new_name.startswith("#") != is_private
    ):
        raise Refusal("invalid_name", f"{new_name[:80]!r} is no identifier; name another.")


def _refuse_component(project: Project, new_name: str, component: Component) -> Iterator[Refusal]:
    if not component.tokens:
        yield Refusal("not_found", "Nothing in this project spells the name.")
    is_shared = any(isinstance(slot, Shared) for slot in component.slots)
    if is_shared:
        yield from _refuse_shared(project, new_name)
    for slot in component.slots:
        if isinstance(slot, Exported) and slot.name in ("default", "="):
            message = "A default export has no name to change."
            yield Refusal("default_export", message, slot.path)
    for path in sorted({token.path for token in component.tokens}):
        facts = project.read_facts(path)
        if facts.troubles:
            yield refuse_troubles(path, facts)
    for token in component.tokens:
        for each in project.look(token.path).dynamic:
            if each.start <= token.start < each.end and (each.kind == "with" or is_shared):
                yield from _refuse_around(token, each)
    yield from _refuse_properties(project, component)
    yield from _refuse_conditions(project, component)


def _refuse_conditions(project: Project, component: Component) -> Iterator[Refusal]:
    """`import {a} from "#x"`, where package.json gives a module of ours for `#x`, or one from elsewhere."""
    for slot in component.slots:
        if not isinstance(slot, Exported) or is_python(slot.path):
            continue
        for module in project.givers_of(slot.path):
            for path in project.importers_of(module):
                for each in list_ties(project.slots.links(path)):
                    is_taken = each.imported in (slot.name, "*") and each.module_span is not None
                    if not is_taken or not project.slots.modules.leads_outside(path, each.module):
                        continue
                    if project.slots.module_of(path, each.module) == module:
                        message = "Under another condition of package.json this is no module of this project."
                        yield Refusal("external", message, path, each.statement)


def _refuse_shared(project: Project, new_name: str) -> Iterator[Refusal]:
    """A script's top level is everyone's: a global of the new name, wherever it is used, would be another."""
    for path in project.source.candidates(new_name):
        for use in project.look(path).uses:
            if use.name != new_name:
                continue
            if use.binding == NONE or isinstance(project.slots.slot_of_binding(path, use.binding), Shared):
                yield Refusal("collision", "Scripts share this name already.", path, use)


def _refuse_around(token: Token, around: Dynamic) -> Iterator[Refusal]:
    """What `declare global` adds to may be declared outside of the project as well."""
    if around.kind == "with":
        message = "The name is used inside `with`, where it may mean something else."
        yield Refusal("dynamic", message, token.path, token)
    elif around.kind == "global":
        message = "The name is global, and perhaps declared outside of this project."
        yield Refusal("external", message, token.path, token)


def _refuse_properties(project: Project, component: Component) -> Iterator[Refusal]:
    """A parameter that is also a property of the class has uses that only types can prove."""
    for slot in component.slots:
        if not isinstance(slot, Local):
            continue
        facts = project.read_facts(slot.path)
        binding = facts.bindings[slot.binding]
        if binding.kind != "parameter":
            continue
        declared = {facts.uses[at].start for at in binding.uses if facts.uses[at].role == "declaration"}
        for member in facts.members:
            if member.start in declared and member.role == "declaration":
                message = "The parameter is also a property; its uses as a member cannot be proven."
                yield Refusal("member", message, slot.path, member)


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
