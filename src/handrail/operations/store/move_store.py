"""`store.move`: a person moves a whole store to another machine, with the keys that prove its history."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import (
    E_HUMAN_REQUIRED,
    E_VALIDATION,
    KEYRING_INVALID,
    STORE_TARGET_NOT_EMPTY,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.fence import flatten_text
from handrail.contract.outcome import Answer, NextCall, refuse_argument
from handrail.contract.parameters import PathText
from handrail.ports.store import CopyWay, SessionCopy
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.who_confirms import require_yes


class MoveStore(Input, frozen=True, kw_only=True):
    """The directory to move the store to, or from."""

    source: Maybe[
        Annotated[
            PathText,
            Meta(description="What `store move --to` made on the old machine.", max_length=4096),
        ]
    ] = msgspec.field(default=UNSET, name="from")
    target: Maybe[
        Annotated[PathText, Meta(description="The directory to take to the new machine.", max_length=4096)]
    ] = msgspec.field(default=UNSET, name="to")


class MovedStore(Answer, frozen=True, kw_only=True):
    """What was moved; a session that is not sound stays behind."""

    sessions: int
    events: int
    left: list[SessionCopy]
    next: str
    """What to do next, as a sentence."""


_OUT = (
    "\nEvery session goes to {place}, with the keys that sign tokens and prove this history.\n"
    "Whoever has that directory can sign as this store: delete it when the new machine has it.\n"
    "Move the store? [y/n] "
)
_IN = (
    "\nEvery session of {place} comes into this store, with its keys.\n"
    "Its answers and check results count as recorded here. Do not move in what somebody else gave you.\n"
    "Move the store? [y/n] "
)
_THERE = "Take the directory to the new machine, and run `handrail store move --from DIRECTORY` there."
_HERE = "Run `handrail store verify`, then delete the directory."


def move_store(rt: Runtime, request: MoveStore) -> MovedStore:
    """Ask the person, then copy sessions and keys; nothing is deleted, and a repeat continues.

    Raise Fault E_VALIDATION unless exactly one place is given, E_HUMAN_REQUIRED if the person does not
    agree, KEYRING_INVALID, and STORE_TARGET_NOT_EMPTY if the receiving store has sessions and another key.
    """
    is_out = request.target is not UNSET
    if is_out == (request.source is not UNSET):
        message = "Name one directory: --to on the old machine, --from on the new one."
        raise refuse_argument(message, "to", "stands alone", "either to or from", kind=E_VALIDATION)
    source = "" if request.source is UNSET else request.source
    target = "" if request.target is UNSET else request.target
    text = (_OUT if is_out else _IN).format(place=flatten_text(target or source))
    command = "handrail store move --to DIRECTORY" if is_out else "handrail store move --from DIRECTORY"
    require_yes(rt, text, command=command, resume="handrail store verify")
    moved = rt.keeper().move(CopyWay(source=source, target=target))
    rt.commits.note(NextCall(operation="store.verify", params={}))
    return MovedStore(
        sessions=moved.sessions,
        events=moved.events,
        left=list(moved.left),
        next=_THERE if is_out else _HERE,
    )


OPERATION = Operation(
    name="store.move",
    effect="record",
    where="client",
    summary="Move the whole store with its keys to another machine. Requires a person at a terminal.",
    input=MoveStore,
    output=MovedStore,
    perform=move_store,
    why_only_local="A person at the terminal of this machine moves its store.",
    shape=Shape(levels={"minimal": ("sessions", "events", "next")}, untrusted=("left",)),
    errors=(E_HUMAN_REQUIRED.code, KEYRING_INVALID.code, STORE_TARGET_NOT_EMPTY.code),
)
