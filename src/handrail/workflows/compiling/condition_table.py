"""The conditions of a compiled workflow by id, and the one plain JSON form of compiled values. Pure."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from hashlib import sha256
from typing import Any, assert_never

import msgspec

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Json
from handrail.workflows.compiling.compilation import Trail
from handrail.workflows.conditions import (
    GENERATED_PREFIX,
    AlwaysTrue,
    And,
    Condition,
    ConditionId,
)
from handrail.workflows.model import ConditionRef, InlineCondition, When

# Plain JSON in one form only: a value that equals its default is left out
#
# msgspec's own `omit_defaults` compares by identity, so a default that an author wrote out could stay or go
# with the way its text was read. A hash must not depend on that.


def to_plain_json(value: Any) -> Json:
    """Structs become objects with wire names; tuples become lists."""
    if isinstance(value, msgspec.Struct):
        return _object(value)
    if isinstance(value, dict):
        return {key: to_plain_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain_json(inner) for inner in value]
    return value


def _object(value: msgspec.Struct) -> dict[str, Json]:
    config = value.__struct_config__
    form: dict[str, Json] = {config.tag_field: config.tag} if config.tag_field is not None else {}
    for name, encoded, default in _fields(type(value)):
        held = getattr(value, name)
        is_default = type(held) is type(default) and held == default
        if held is not msgspec.UNSET and not (config.omit_defaults and is_default):
            form[encoded] = to_plain_json(held)
    return form


@cache
def _fields(kind: type[msgspec.Struct]) -> list[tuple[str, str, Any]]:
    """Each field by its name, its wire name and its default."""
    return [
        (
            field.name,
            field.encode_name,
            field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory(),
        )
        for field in msgspec.structs.fields(kind)
    ]


# The table: declared conditions by their id, the others by a derived one

_SHORTEST = 12


_ASKED = ("user", "person", "human", "owner", "required", "manual", "yes")
"""Words that say that a person is asked, and name no condition."""


class ConditionTable:
    """Every condition by id. Equal conditions written in place share one id, made of their digest."""

    def __init__(self, declared: dict[str, Condition], trail: Trail, truths: Collection[str] = ()) -> None:
        """`truths` are inputs that are true or false: some authors name one where a condition is named."""
        self._declared = declared
        self._truths = truths
        self._trail = trail
        self._held: dict[ConditionId, Condition] = dict(declared)

    def id_of(self, *named: When | None) -> ConditionId:
        """The id under which all of them hold together; empty for none."""
        whens = tuple(when for when in named if when is not None)
        found = tuple(self.condition(when) for when in whens)
        match whens:
            case ():
                return ""
            case (ConditionRef(condition_id=name),) if name in self._declared:
                return name
            case (_,):
                return self._add(found[0])
            case _:
                return self._add(And(of=found))

    def sorted(self) -> dict[ConditionId, Condition]:
        return dict(sorted(self._held.items()))

    def condition(self, when: When) -> Condition:
        """The condition itself. An id that names none is reported, and `always_true` stands in."""
        match when:
            case InlineCondition(condition=condition):
                return condition
            case ConditionRef(condition_id=name, pointer=pointer):
                if name not in self._declared:
                    meant, stand_in = self._meant(name, pointer), "It is taken to hold."
                    self._trail.unknown("condition", name, self._declared, pointer, stand_in, meant)
                return self._declared.get(name, AlwaysTrue())
            case never:
                assert_never(never)

    def _meant(self, name: str, pointer: str) -> Json:
        if name in self._truths:
            return {"kind": "compare", "input": name, "op": "equals", "value": True}
        truth = {"always": "true", "never": "false"}.get(name, name)
        if pointer.endswith("/requireConfirmation"):
            return {"true": True, "false": False}.get("true" if name in _ASKED else truth)
        return {"kind": f"always_{truth}"} if truth in ("true", "false") else None

    def _add(self, condition: Condition) -> ConditionId:
        name = sha256(canonical_bytes(to_plain_json(condition))).hexdigest()
        length = _SHORTEST
        # An author may have taken the short name for something else; a longer one is still theirs to find.
        while self._held.get(GENERATED_PREFIX + name[:length], condition) != condition:
            length += 4
        self._held[GENERATED_PREFIX + name[:length]] = condition
        return GENERATED_PREFIX + name[:length]
