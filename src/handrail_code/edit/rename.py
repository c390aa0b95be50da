"""Rename one symbol in all files, or say why not. Pure.

Only proven places change. Afterwards every binding must resolve as before: a name that would be caught by
another declaration, or would catch another's uses, is refused with the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

import msgspec

from handrail.contract.json.canonical import digest
from handrail_code.edit.plan import Edit, Plan, Refusal, refuse_troubles
from handrail_code.edit.python_rules import is_python_name, refuse_in_python
from handrail_code.edit.verify import verify_importers, verify_plan
from handrail_code.facts.class_members import find_member_uses, list_taken
from handrail_code.facts.join import Component, Found, Project, Style, Symbol
from handrail_code.facts.model import NONE, Dynamic, FileFacts, Span, list_ties
from handrail_code.facts.python_words import is_python
from handrail_code.facts.source import line_and_column
from handrail_code.facts.spelled_names import (
    Exported,
    Local,
    Shared,
    Slot,
    Token,
    Trouble,
    doubt,
)

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


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody decided about unproven places, each `FILE:LINE:COLUMN` as the refusal listed it."""

    also: frozenset[str] = frozenset()
    """Renamed too."""
    leave: frozenset[str] = frozenset()
    """Left as they are."""
    accept: str = ""
    """The token of the whole list: what has no answer of its own is left as it is."""


class _Decided(msgspec.Struct, frozen=True, kw_only=True):
    also: tuple[Refusal, ...]
    leave: tuple[Refusal, ...]

    def list_reasons(self) -> tuple[Trouble, ...]:
        return (
            *(doubt("renamed_unproven", one.path, one) for one in self.also),
            *(doubt("left_unproven", one.path, one) for one in self.leave),
        )

    def list_left(self) -> set[tuple[str, int]]:
        return {(one.path, one.start) for one in self.leave}

    def list_edits(self, project: Project, old: str, new: str) -> Iterator[Edit]:
        for one in self.also:
            uses = project.look(one.path).uses
            is_pair = any(use.start == one.start and use.role in ("shorthand", "pattern") for use in uses)
            spelled = f"{new}: {old}" if is_pair else new
            yield Edit(path=one.path, start=one.start, end=one.end, replacement=spelled)


NO_ANSWERS = Answers()
_TOKEN_LENGTH = 16


def plan_rename(
    project: Project,
    symbol: Symbol,
    new_name: str,
    style: Style = "keep",
    answers: Answers = NO_ANSWERS,
) -> Plan:
    """The edits, proven by reading the edited files again. Raises Refusal.

    `keep` and `follow` are those of TypeScript's service: what editors ask it for, and what it does when
    nothing is asked; `public` also changes what CommonJS and barrels call it.
    Every unproven place needs one of the answers.
    """
    _refuse_name(symbol, new_name)
    component = project.component(symbol, style)
    refusals = _list_refusals(project, symbol, new_name, component)
    decided = _decide(project, symbol.name, refusals, answers)
    left = decided.list_left()
    edits = []
    for token in component.tokens:
        if (token.path, token.start) in left:
            continue
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
    edited_places = {(edit.path, edit.start) for edit in edits}
    more = decided.list_edits(project, symbol.name, new_name)
    edits += [edit for edit in more if (edit.path, edit.start) not in edited_places]
    plan = Plan(edits=tuple(sorted(edits, key=lambda each: (each.path, each.start))))
    edited = verify_plan(project, plan, left)
    if any(not isinstance(slot, Local) for slot in component.slots):
        verify_importers(project, edited, plan, new_name)
    return _add_rest(project, symbol, plan, decided.list_reasons())


def plan_member_rename(project: Project, found: Found, new_name: str, answers: Answers = NO_ANSWERS) -> Plan:
    """The same for a member of a class: a place that may be another's needs an answer."""
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
    decided = _decide(project, old.name, refusals, answers)
    edits = [
        Edit(path=each.path, start=each.start, end=each.end, replacement=new_name) for each in uses.proven
    ]
    edits += decided.list_edits(project, old.name, new_name)
    edited_places = {(edit.path, edit.start) for edit in edits}
    mentions = (
        one for path in project.slots.candidates(old.name) for one in project.mentions(path, [old.name])
    )
    rest = {(one.path, one.start): one for one in (*mentions, *uses.other, *uses.unsure)}
    plan = Plan(
        edits=tuple(sorted(edits, key=lambda each: (each.path, each.start))),
        untouched=tuple(rest[place] for place in sorted(rest.keys() - edited_places)),
        reasons=(*decided.list_reasons(), *uses.troubles),
    )
    verify_plan(project, plan)
    return plan


def _decide(project: Project, old: str, refusals: Iterable[Refusal], answers: Answers) -> _Decided:
    """What is to become of each unproven place.

    Raises Refusal for what nobody may answer, for answers that fit no place, and with all places that have
    no answer.
    """
    doubtful: dict[str, Refusal] = {}
    for refusal in refusals:
        if refusal.code not in ACCEPTABLE:
            raise refusal
        doubtful.setdefault(_spell_place(project, refusal), refusal)
    token = _name_list(project, doubtful)
    also, leave = answers.also, answers.leave
    wrong = _find_wrong_answer(project, old, doubtful, answers, token)
    if wrong is not None:
        wrong.places, wrong.token = tuple(doubtful), token
        raise wrong
    waiting = () if answers.accept else tuple(place for place in doubtful if place not in also | leave)
    if waiting:
        first = doubtful[waiting[0]]
        first.places, first.token = waiting, token
        raise first
    return _Decided(
        also=tuple(one for place, one in doubtful.items() if place in also),
        leave=tuple(one for place, one in doubtful.items() if place not in also),
    )


def _find_wrong_answer(
    project: Project, old: str, doubtful: dict[str, Refusal], answers: Answers, token: str
) -> Refusal | None:
    for place in sorted(answers.also & answers.leave):
        return Refusal("two_answers", f"{place} is in --also and in --not; a place has one answer")
    for place in sorted((answers.also | answers.leave) - doubtful.keys()):
        return Refusal("unknown_place", f"{place} is no unproven place; files may have changed since")
    if answers.accept and answers.accept != token:
        return Refusal(
            "unknown_place", "The token of --accept is of another list; files may have changed since"
        )
    for place in sorted(answers.also):
        one = doubtful[place]
        if (project.source.text(one.path) or b"")[one.start : one.end] != old.encode():
            return Refusal("unknown_place", f"{place} does not spell {old}, so --also cannot rename it")
    return None


def _spell_place(project: Project, refusal: Refusal) -> str:
    line, column = line_and_column(project.source.text(refusal.path) or b"", refusal.start)
    return f"{refusal.path}:{line}:{column}"


def _name_list(project: Project, doubtful: dict[str, Refusal]) -> str:
    """The token of these places: another one where a place, or the text of its file, is another."""
    texts = {one.path: project.source.text(one.path) or b"" for one in doubtful.values()}
    content = {path: sha256(text).hexdigest() for path, text in texts.items()}
    held = [[place, content[one.path]] for place, one in doubtful.items()]
    return digest(held).rpartition(":")[2][:_TOKEN_LENGTH]


def _list_refusals(
    project: Project, symbol: Symbol, new_name: str, component: Component
) -> Iterator[Refusal]:
    yield from _refuse_component(project, new_name, component)
    if component.tokens and is_python(component.tokens[0].path):
        yield from refuse_in_python(project, symbol.name, new_name, component)


def _add_rest(project: Project, symbol: Symbol, plan: Plan, decided: Sequence[Trouble]) -> Plan:
    """What the plan leaves alone, so that whoever reads the preview can decide."""
    edited = {(edit.path, edit.start) for edit in plan.edits}
    found = project.references(symbol)
    rest = [each for each in found.items if (each.path, each.start) not in edited]
    return msgspec.structs.replace(plan, untouched=tuple(rest), reasons=(*decided, *found.reasons))


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
