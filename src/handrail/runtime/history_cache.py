"""Encodes a folded history to bytes and back, for a cache that makes a cold start cheap. Pure.

Other programs must not rely on these bytes: a program that folds differently rejects them, and folds the log
instead.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, get_args, get_type_hints

import msgspec

from handrail.contract.ids import NodeId
from handrail.engine.folding import Growth
from handrail.engine.history import NOTHING_INHERITED, History, Inherited, Node

FOLD_VERSION: Final = 4
"""Raise it when the same events fold to another result while the fields stay the same."""


class _Remembered(msgspec.Struct, frozen=True, kw_only=True):
    form: str
    history: History
    """The history without inherited values: written out for every node, they would grow with the square."""
    added: dict[NodeId, Inherited]
    """Inherited values in which a node differs from its parent; absent if it shares its parent's."""
    whole: dict[NodeId, Inherited]
    """All inherited values of a node that lacks something its parent has."""


def encode_history(history: History) -> bytes:
    """Return the bytes of a history, for `decode_history` of the same program."""
    added, whole = _own_shares(history)
    kept = msgspec.structs.replace(history, inherited={})
    return _encoder().encode(_Remembered(form=fingerprint_structs(), history=kept, added=added, whole=whole))


def decode_history(content: bytes) -> History | None:
    """Return the history; None if these bytes have another form."""
    try:
        remembered = _decoder().decode(content)
    except msgspec.MsgspecError:
        return None
    if remembered.form != fingerprint_structs():
        return None
    inherited: dict[NodeId, Inherited] = {}
    for node_id, node in remembered.history.nodes.items():
        held = remembered.whole.get(node_id)
        if held is None:
            held = _with(_parents(inherited, node), remembered.added.get(node_id))
        inherited[node_id] = held
    return msgspec.structs.replace(remembered.history, inherited=inherited)


@cache
def fingerprint_structs() -> str:
    """Return a name for the form of a history; it changes if a struct gains, loses or renames a field."""
    found: dict[str, None] = {}
    waiting: list[Any] = [History]
    while waiting:
        kind = waiting.pop()
        waiting.extend(get_args(kind))
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            form = f"{kind.__name__}({', '.join(kind.__struct_encode_fields__)})"
            if form not in found:
                found[form] = None
                waiting.extend(get_type_hints(kind).values())
    return hashlib.sha256(f"{FOLD_VERSION} {sorted(found)}".encode()).hexdigest()


@cache
def _encoder() -> msgspec.msgpack.Encoder:
    return msgspec.msgpack.Encoder(enc_hook=_plain)


@cache
def _decoder() -> msgspec.msgpack.Decoder[_Remembered]:
    return msgspec.msgpack.Decoder(_Remembered)


def _plain(value: Any) -> Any:
    """Return the maps of a history as types that msgspec knows."""
    return dict(value.items())


def _own_shares(history: History) -> tuple[dict[NodeId, Inherited], dict[NodeId, Inherited]]:
    inherited = dict(history.inherited.items())
    added: dict[NodeId, Inherited] = {}
    whole: dict[NodeId, Inherited] = {}
    for node_id, node in history.nodes.items():
        held, before = inherited[node_id], _parents(inherited, node)
        if held is before:
            continue
        held, before = _flat(held), _flat(before)
        own = _beside(before, held)
        if _is_exactly(_flat(_with(before, own)), held):
            added[node_id] = own
        else:
            whole[node_id] = held
    return added, whole


def _flat(held: Inherited) -> Inherited:
    """Return the value with its context as a flat map, because each of its keys is compared."""
    return msgspec.structs.replace(held, context=dict(held.context.items()))


def _parents(inherited: dict[NodeId, Inherited], node: Node) -> Inherited:
    return NOTHING_INHERITED if node.parent is None else inherited[node.parent]


def _beside(before: Inherited, held: Inherited) -> Inherited:
    """Return the inherited value with only those map entries that the parent does not have."""
    changes = {}
    for name, (old, new) in _maps(before, held).items():
        changes[name] = {key: value for key, value in new.items() if key not in old or old[key] is not value}
    return msgspec.structs.replace(held, **changes)


def _with(before: Inherited, own: Inherited | None) -> Inherited:
    if own is None:
        return before
    return msgspec.structs.replace(
        own, **{name: _joined(name, old, new) for name, (old, new) in _maps(before, own).items()}
    )


def _joined(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return both maps joined, in the form that the fold makes.

    The context has many keys and shares what its parent has.
    """
    if name != "context":
        return {**old, **new}
    growth = Growth(old)
    growth.update(new)
    return growth.done()


def _is_exactly(one: Inherited, other: Inherited) -> bool:
    """Whether both are equal and in the same order: reading must not depend on who folded the history."""
    return one == other and all(list(left) == list(right) for left, right in _maps(one, other).values())


def _maps(one: Inherited, other: Inherited) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the maps of both, by the name of their field."""
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in Inherited.__struct_fields__}
    return {name: (left, right) for name, (left, right) in pairs.items() if isinstance(left, Mapping)}
