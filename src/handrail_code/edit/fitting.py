"""Which calls of a definition no longer fit the parameters of a new text. Pure.

Only calls that are proven to call it are compared, and what a call spreads is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from handrail_code.edit.plan import Misfit, MisfitCode
from handrail_code.facts.class_members import find_member_uses
from handrail_code.facts.join import Found, Project
from handrail_code.facts.model import NONE, Definition, FileFacts
from handrail_code.facts.python_words import is_python
from handrail_code.languages.signatures import Arguments, Parameters, read_arguments, read_parameters

_OWN = frozenset({"self", "cls"})


def find_misfits(project: Project, edited: Project, found: Found, new: Definition) -> tuple[Misfit, ...]:
    """By path and place; none where the parameters are as they were, or cannot be read."""
    old_parameters = _read(project, found.path, found.definition)
    parameters = _read(edited, found.path, new)
    if parameters is None or parameters == old_parameters:
        return ()
    misfits = []
    places: dict[str, dict[int, int]] = {}
    for path, start, end in _list_calls(project, found):
        places.setdefault(path, {})[start] = end
    for path in sorted(places):
        text = project.source.text(path) or b""
        for start, given in sorted(read_arguments(path, text, places[path]).items()):
            problem = _find_problem(parameters, given)
            if problem is None or (old_parameters and problem == _find_problem(old_parameters, given)):
                continue  # it did not fit before either, in the same way
            code, why = problem
            misfits.append(Misfit(path=path, start=start, end=places[path][start], code=code, why=why))
    return tuple(misfits)


def _read(project: Project, path: str, definition: Definition) -> Parameters | None:
    if len(_list_same(project.read_facts(path), definition)) > 1:  # overloads, or a getter and its setter
        return None
    text = project.source.text(path) or b""
    return read_parameters(path, text, definition.start, definition.end)


def _list_same(facts: FileFacts, definition: Definition) -> list[Definition]:
    same = (definition.name, definition.binding, definition.container)
    return [each for each in facts.definitions if (each.name, each.binding, each.container) == same]


def _list_calls(project: Project, found: Found) -> Iterator[tuple[str, int, int]]:
    """Outside of the definition, which gets another text."""
    old = found.definition
    for path, start, end in _list_every_call(project, found):
        if path != found.path or not old.extent_start <= start < old.extent_end:
            yield path, start, end


def _list_every_call(project: Project, found: Found) -> Iterable[tuple[str, int, int]]:
    symbol = project.symbol_of(found.path, found.index)
    if symbol is not None:
        sure = project.references(symbol).sure
        return [(one.path, one.start, one.end) for one in sure if one.role == "call"]
    if is_python(found.path):
        return _list_own_calls(project.read_facts(found.path), found)
    uses = find_member_uses(project, found)
    return [(one.path, one.start, one.end) for one in (() if uses is None else uses.proven)]


def _list_own_calls(facts: FileFacts, found: Found) -> Iterator[tuple[str, int, int]]:
    """`self.name()` in the class of a method."""
    home = found.definition.container
    if home == NONE:
        return
    body = facts.definitions[home]
    for one in facts.members:
        is_here = one.name == found.definition.name and body.extent_start <= one.start < body.extent_end
        is_own = is_here and one.receiver == "use" and facts.uses[one.index].name in _OWN
        if is_own and _find_class(facts, one.definition) == home:
            yield found.path, one.start, one.end


def _find_class(facts: FileFacts, index: int) -> int:
    while index != NONE and facts.definitions[index].kind != "class":
        index = facts.definitions[index].container
    return index


def _find_problem(parameters: Parameters, given: Arguments) -> tuple[MisfitCode, str] | None:
    names = parameters.names
    if given.count > len(names) and not parameters.has_rest:
        return "too_many_arguments", f"it gives {given.count}, and at most {len(names)} fit"
    twice = [name for name in names[parameters.unnamed : given.count] if name in given.keywords]
    if twice:
        return "too_many_arguments", f"it gives {', '.join(twice)} twice"
    by_name = given.keywords - set(names[: parameters.unnamed])
    wanted = zip(names[given.count :], parameters.required[given.count :], strict=True)
    missing = [name for name, is_required in wanted if is_required and name not in by_name]
    if missing:
        return "too_few_arguments", f"it gives no {', '.join(missing)}"
    missing = [name for name in parameters.required_keywords if name not in given.keywords]
    if missing:
        return "missing_keyword", f"it gives no {', '.join(f'{name}=' for name in missing)}"
    return None
