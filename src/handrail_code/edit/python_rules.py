"""What a rename in Python must not do, beyond what reading the edited files again would show. Pure.

Python looks names up while it runs, so some uses cannot be found in the text. Where one of them may mean the
renamed name, the rename is refused with the place.
"""

from __future__ import annotations

from collections.abc import Iterator

from handrail_code.edit.plan import Refusal
from handrail_code.facts.join import Component, Project
from handrail_code.facts.model import NONE, UNREAD, Dynamic, FileFacts, Member, Use
from handrail_code.facts.python_names import LIST
from handrail_code.facts.python_words import RESERVED, is_python
from handrail_code.facts.spelled_names import Exported, Local, Slot


def is_python_name(name: str) -> bool:
    return name.isidentifier() and name not in RESERVED


def refuse_in_python(project: Project, name: str, new_name: str, component: Component) -> Iterator[Refusal]:
    """The rules that the rename breaks."""
    first = component.tokens[0]
    if name.startswith("__") and name.endswith("__"):
        yield Refusal("external", "Python itself knows this name.", first.path, first)
    yield from _refuse_private_members(project, name)
    for slot in component.slots:
        yield from _refuse_slot(project, slot, name, new_name)
    for token in component.tokens:
        yield from _refuse_place(project, token.path, token.start, name)


def _refuse_private_members(project: Project, name: str) -> Iterator[Refusal]:
    """`_A__b` is how others reach `__b` of the class A: it has the name of the class in it."""
    prefix = f"_{name.lstrip('_')}__"
    for path in project.source.candidates(prefix):
        facts = project.look(path)
        named: list[Use | Member] = [*facts.uses, *facts.members]
        for each in named if is_python(path) else ():
            if each.name.startswith(prefix):
                message = "This private name has the name of the class in it."
                yield Refusal("dynamic", message, path, each)


def _refuse_slot(project: Project, slot: Slot, name: str, new_name: str) -> Iterator[Refusal]:
    if not isinstance(slot, Local | Exported):
        return
    facts = project.look(slot.path)
    at = slot.binding if isinstance(slot, Local) else project.slots.python.top(slot.path).get(slot.name, NONE)
    if at == NONE:
        return
    binding = facts.bindings[at]
    scope = facts.scopes[binding.scope]
    if scope.kind == "class":
        use = facts.uses[binding.uses[0]]
        message = "This is a member, and which objects have it cannot be proven."
        yield Refusal("member", message, slot.path, use)
    for each in facts.dynamic:
        if _sees(each, facts, binding.scope):
            message = "Code that is made while the program runs may use the name here."
            yield Refusal("dynamic", message, slot.path, each)
    if isinstance(slot, Exported):
        yield from _refuse_top(project, slot, facts, name, new_name)
        return
    for place in project.slots.python.keywords_of(slot).unclear:
        yield Refusal("dynamic", place.why, place.path, place)


def _sees(dynamic: Dynamic, facts: FileFacts, scope: int) -> bool:
    """Whether `eval`, `globals` or `locals` at this place has the names of the scope."""
    inside = facts.scopes[scope].start <= dynamic.start < facts.scopes[scope].end
    match dynamic.kind:
        case "eval":
            return scope == 0 or inside
        case "globals":
            return scope == 0
        case "locals":
            return scope != 0 and inside
        case _:
            return False


def _refuse_top(
    project: Project, slot: Exported, facts: FileFacts, name: str, new_name: str
) -> Iterator[Refusal]:
    python = project.slots.python
    use = facts.uses[facts.bindings[python.top(slot.path)[slot.name]].uses[0]]
    if python.modules.child(slot.path, new_name) is not None:
        message = "The package has a module of this name."
        yield Refusal("collision", message, slot.path, use)
    for star in python.stars_of(slot.path):
        target = python.modules.find(slot.path, star.module)
        if target is not None and python.takes(target, name) and python.find_exported(target, name):
            message = "The name also comes through this star import; which one is meant shows only in a run."
            yield Refusal("dynamic", message, slot.path, star.statement)
    for found in facts.imports if python.modules.child(slot.path, name) is None else ():
        is_own = found.imported == name and python.modules.find(slot.path, found.module) == slot.path
        if is_own and found.binding == python.top(slot.path)[slot.name]:
            message = "The module imports the name from itself here, and one of the two would stay."
            yield Refusal("dynamic", message, slot.path, found.statement)
    around = _find_fixture(facts, use.start)
    if around is not None:
        message = "Tests ask for this fixture by its name, as a parameter."
        yield Refusal("dynamic", message, slot.path, around)
    importers = _star_importers(project, slot)
    yield from _refuse_namespaces(project, {slot.path, *importers})
    yield from _refuse_star_importers(project, slot, importers, name, new_name)


def _refuse_namespaces(project: Project, modules: set[str]) -> Iterator[Refusal]:
    """`vars(module)` and `module.__dict__` have its names as data, and whoever reads them knows the names."""
    python = project.slots.python
    paths = {path for word in ("__dict__", "vars", "dir") for path in project.source.candidates(word)}
    for path in sorted(path for path in paths if is_python(path)):
        facts = project.look(path)
        for member in facts.members:
            is_all = member.name == "__dict__"
            if is_all and python.module_behind_member(path, facts, member) in modules:
                message = "The names of the module are used as data here."
                yield Refusal("dynamic", message, path, member)


def _find_fixture(facts: FileFacts, start: int) -> Use | Member | None:
    """The decorator `fixture` of the function whose name stands here."""
    for definition in facts.definitions:
        if definition.start != start or definition.kind != "function":
            continue
        named: list[Use | Member] = [*facts.uses, *facts.members]
        for each in named:
            if each.name == "fixture" and definition.extent_start <= each.start < definition.start:
                return each
    return None


def _refuse_star_importers(
    project: Project, slot: Exported, importers: list[str], name: str, new_name: str
) -> Iterator[Refusal]:
    """Whoever takes everything from the module takes the new name too, and perhaps no longer the old one."""
    python = project.slots.python
    has_list = LIST in python.top(slot.path)
    will_be_taken = not has_list and not new_name.startswith("_")
    if not will_be_taken and not python.takes(slot.path, name):
        return
    for path in importers:
        facts = project.look(path)
        if name in python.top(path) and python.takes(slot.path, name):
            use = facts.uses[facts.bindings[python.top(path)[name]].uses[0]]
            message = "This file takes everything from the module, and binds the name as well."
            yield Refusal("dynamic", message, path, use)
        for use in facts.uses:
            if use.name == new_name and (use.binding == NONE or facts.bindings[use.binding].scope == 0):
                message = "This file takes everything from the module, and has this name already."
                yield Refusal("captured", message, path, use)
        is_used = any(
            use.name == name and use.binding == NONE and python.slot_of_use(path, use) == slot
            for use in facts.uses
        )
        stars = python.stars_of(path)
        others = [each for each in stars if python.modules.find(path, each.module) is None]
        if is_used and others:
            span = others[0].statement
            message = "The name may also come from another star import here."
            yield Refusal("dynamic", message, path, span)
        is_hidden = new_name.startswith("_") and not name.startswith("_")
        if is_used and is_hidden and not has_list:
            span = stars[0].statement
            yield Refusal("changed_meaning", "This star import would leave it out.", path, span)


def _star_importers(project: Project, slot: Exported) -> list[str]:
    """Files that take everything from the module, directly or through others."""
    python = project.slots.python
    found: dict[str, None] = {}
    waiting = [slot.path]
    while waiting:
        module = waiting.pop(0)
        for path in python.importers_of(module):
            for star in python.stars_of(path):
                if path not in found and python.modules.find(path, star.module) == module:
                    found[path] = None
                    waiting.append(path)
    return list(found)


def _refuse_place(project: Project, path: str, start: int, name: str) -> Iterator[Refusal]:
    facts = project.look(path) if is_python(path) else UNREAD
    for found in facts.imports:
        is_dotted = "." in found.module.lstrip(".") and found.imported == "*"
        if is_dotted and found.module_span.start == start and found.kind == "namespace":
            message = "The import binds the first part of a module's name; give it another name with `as`."
            yield Refusal("external", message, path, found.module_span)
    text = project.source.text(path) or b""
    for each in facts.dynamic:
        if each.kind == "scope" and text[each.start : each.end].decode() == name:
            message = "Which of two names this use means shows only in a run."
            yield Refusal("dynamic", message, path, each)
