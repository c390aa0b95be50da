"""`keys.rotate`: a new signing key. Gated: the preview says which tokens stop working."""

from __future__ import annotations

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, NextCall, Success
from handrail.contract.tokens.confirm import refusal
from handrail.contract.tokens.workflow import CONFIRM
from handrail.ports.process import KeyringFacts
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import WritePorts
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write

_RING = "keyring"
_STAYS = "Those made since the last rotation; they work until the next one."
_ENDS = "Those made before the last rotation; `handrail session resume` makes new ones."
_NOTHING_ENDS = "None: there was no rotation before this one."


class RotateKeys(GatedInput, frozen=True, kw_only=True):
    """An empty gated input: there is one keyring."""


class RotatedKeys(Answer, frozen=True, kw_only=True):
    """The keys that verify from now on."""

    key_count: int
    stays_valid: str
    stops_working: str


def rotate_keys(rt: WritePorts, request: RotateKeys) -> DryRun | Success:
    """Return the preview, or rotate. History stays valid; only tokens end with their key.

    Raise Fault KEYRING_INVALID, and what the gate raises.
    """

    def resolve() -> Plan[KeyringFacts]:
        rt.keys.signing_key(CONFIRM)  # the very first confirm token creates the keyring
        return _plan(rt.keys.facts())

    def write(held: KeyringFacts) -> RotatedKeys:
        if not rt.keys.rotate(held.version):
            raise refusal("target_changed")
        rt.commits.note(NextCall(operation="self.doctor", params={"checks": ["keyring"]}))
        return RotatedKeys(key_count=2, stays_valid=_STAYS, stops_working=_ended(held))

    return preview_or_write(rt, OPERATION, request, workspace="", resolve=resolve, write=write)


def _plan(held: KeyringFacts) -> Plan[KeyringFacts]:
    change = Change(
        action="update",
        resource=_RING,
        id=_RING,
        before={"key_count": held.count},
        after={"key_count": 2, "stays_valid": _STAYS, "stops_working": _ended(held)},
    )
    return Plan(
        action="rotate the signing key",
        changes=(change,),
        targets=(_RING,),
        versions={_RING: held.version},
        blast_radius="Tokens made before the last rotation; no history, and no session.",
        found=held,
    )


def _ended(held: KeyringFacts) -> str:
    return _ENDS if held.count > 1 else _NOTHING_ENDS


OPERATION = Operation(
    name="keys.rotate",
    effect="gated",
    summary="Sign with a new key; tokens made before the last rotation stop working.",
    input=RotateKeys,
    output=RotatedKeys,
    perform=rotate_keys,
    shape=Shape(levels={"minimal": ("key_count",)}),
)
