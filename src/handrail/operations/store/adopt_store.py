"""`store.adopt`: a person declares that the history from before the store key is their own."""

from __future__ import annotations

from handrail.contract.catalogue import E_HUMAN_REQUIRED, KEYRING_INVALID
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, NextCall
from handrail.contract.wording import format_count
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.who_confirms import require_yes


class AdoptStore(Input, frozen=True, kw_only=True):
    """An empty input: there is one list of unproven sessions."""


class AdoptedStore(Answer, frozen=True, kw_only=True):
    """What counts as recorded here now; `is_new` is false if it did before this call."""

    sessions: int
    """Number of sessions that are older than the store key."""
    is_new: bool


def adopt_store(rt: Runtime, request: AdoptStore) -> AdoptedStore:
    """Ask the person once, for the whole list.

    Raise Fault E_HUMAN_REQUIRED if no person can be asked or the person does not agree, and KEYRING_INVALID.
    """
    del request
    keeper = rt.keeper()
    found = keeper.origin()
    if found.is_adopted or not found.listed:
        return AdoptedStore(sessions=found.listed, is_new=False)
    counted = format_count(found.listed, "session is", "sessions are")
    text = (
        f"\n{counted} older than the key of this store, so Handrail cannot prove who answered in them.\n"
        "If you adopt them, every answer and check result in them counts as recorded here.\n"
        "Do not adopt a store that somebody else gave you.\nAdopt all of them? [y/n] "
    )
    require_yes(rt, text, command="handrail store adopt", resume="handrail doctor --checks store")
    keeper.adopt()
    rt.commits.note(NextCall(operation="self.doctor", params={"checks": ["store"]}))
    return AdoptedStore(sessions=found.listed, is_new=True)


OPERATION = Operation(
    name="store.adopt",
    effect="record",
    where="client",
    summary="Adopt the history from before the store key. Requires a person at a terminal.",
    input=AdoptStore,
    output=AdoptedStore,
    perform=adopt_store,
    why_only_local="A person at the terminal of this machine says whose history it is.",
    shape=Shape(levels={"minimal": ("sessions", "is_new")}),
    errors=(E_HUMAN_REQUIRED.code, KEYRING_INVALID.code),
)
