"""`settings set`: change one setting.

A preview is enough for how replies look, what is kept and audited, and the two preferences. The rest are
rules: only a person loosens one, because an agent that could loosen them would have none.
"""

from __future__ import annotations

import shlex
from typing import Annotated, cast

from msgspec import Meta

from handrail.contract.catalogue import E_HUMAN_REQUIRED
from handrail.contract.disclosure.fields import Shape
from handrail.contract.fence import flatten_text
from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Answer, Fault, Json, NextCall, Success, refuse_argument
from handrail.contract.parameters import NamedId
from handrail.contract.printed_text import spell_whole
from handrail.contract.suggest import find_nearest
from handrail.contract.tokens.confirm import refusal
from handrail.contract.wording import quote
from handrail.program.doctor.packed_settings import PackedSetting, list_packed, redact_value
from handrail.runtime.operation import Operation
from handrail.runtime.permission import require_permission
from handrail.runtime.runtime import Runtime, WritePorts
from handrail.runtime.who_confirms import require_yes
from handrail.runtime.write_permission import Change, DryRun, GatedInput, Plan, preview_or_write

LONGEST_VALUE = 16_384
LOOK = (
    *("output.format", "output.envelope", "output.compact", "startSession", "idleMinutes"),
    *("retentionDays", "keptSessions", "auditReads", "auditMonths"),
    *("preferences.autonomy", "preferences.riskPolicy"),
)
"""What a preview is enough for; every other setting is a rule."""
_STRICTER: dict[str, tuple[Json, ...]] = {
    "confirmations": ("claimed", "person"),
    "maxEffect": ("dangerous", "write", "read"),
    "code.snapshots": ("off", "git", "always"),
    "update.verify": (False, True),
}
"""Of rules with an order, the values from the loosest to the strictest."""
_FEWER = ("workflowSources", "plugins", "roots")
"""Rules that are tighter with fewer entries."""


class SetSetting(GatedInput, frozen=True, kw_only=True):
    """Which setting, and what it is from now on."""

    key: Annotated[NamedId, Meta(description="The name of the setting.", min_length=1, max_length=128)]
    value: Annotated[
        str, Meta(description="As text or as JSON; null: the default again.", max_length=LONGEST_VALUE)
    ]


class SettingSet(Answer, frozen=True, kw_only=True):
    """The setting as the user's file has it now; null: the default holds."""

    key: str
    before: Json
    after: Json
    file: str
    source: str
    """Where a person agreed; empty: nobody had to."""


def set_setting(rt: Runtime, request: SetSetting) -> DryRun | Success:
    """Show or keep the change.

    Raises Fault VALIDATION_ERROR for a name or value that is none, E_HUMAN_REQUIRED where a rule would be
    loosened and nobody agrees, and what the gate raises.
    """
    one = _find_setting(rt, request.key)
    after = _read_value(request.value)
    desired = rt.settings.desired()
    before = desired.user.get(one.name)
    rt.settings.check({one.name: after})
    is_looser = loosens(one, before, after)
    if not (is_looser or rt.is_at_console):  # a program may do it, so what binds programs does
        require_permission(rt.settings.of(), OPERATION.effect)
    sources: list[str] = []

    def wait() -> None:
        if is_looser:
            sources.append("console" if rt.is_at_console else _ask(rt, one, before, after, request.value))

    def resolve() -> Plan[Json]:
        change = Change(
            action="none" if before == after else "update",
            resource="setting",
            id=one.name,
            before={"value": redact_value(before)},
            after={"value": redact_value(after)},
        )
        asked = " It loosens a rule, so a person has to agree at a terminal or in the Console."
        return Plan(
            action="set a setting",
            changes=(change,),
            targets=(one.name,),
            versions={one.name: str(before)},
            blast_radius="What Handrail does in every project of this home." + asked * is_looser,
            found=before,
        )

    def write(held: Json) -> SettingSet:
        if not rt.settings.keep({one.name: after}, {one.name: held}):
            raise refusal("target_changed")
        rt.commits.note(NextCall(operation="self.settings"))
        return SettingSet(
            key=one.name,
            before=redact_value(held),
            after=redact_value(after),
            file=desired.user_file,
            source="".join(sources),
        )

    return preview_or_write(rt, OPERATION, request, workspace="", resolve=resolve, write=write, wait=wait)


def loosens(one: PackedSetting, before: Json, after: Json) -> bool:
    """Whether the change makes a rule less strict; of a rule without an order every change does."""
    if one.name in LOOK or before == after:
        return False
    old, new = (one.default if value is None else value for value in (before, after))
    if one.name in _STRICTER:
        order = _STRICTER[one.name]
        return order.index(new) < order.index(old)
    if one.name in _FEWER:
        return any(entry not in (old or []) for entry in new or [])
    return True


def _find_setting(rt: Runtime, name: str) -> PackedSetting:
    known = {one.name: one for one in list_packed(rt)}
    if name in known and "user" in known[name].of:
        return known[name]
    own = [one for one in known if "user" in known[one].of]
    expected = " or ".join(find_nearest(name, own)) or "a name that `settings show` lists"
    if name in known:
        message = f"{name} is a setting of projects: it stands in .handrail/config.json of the project."
    else:
        message = f"There is no setting {quote(name)}."
    following = NextCall(operation="self.settings")
    raise refuse_argument(message, "key", "is not one", expected, next_call=following)


def _read_value(text: str) -> Json:
    """JSON where it is JSON, else the text itself: nobody quotes a word twice."""
    try:
        return decode_json(text.encode(), max_bytes=LONGEST_VALUE)
    except Fault:
        return text


def _ask(rt: WritePorts, one: PackedSetting, before: Json, after: Json, typed: str) -> str:
    def show(value: Json) -> str:
        return f'"{spell_whole(str(one.default if value is None else value))}"'

    text = (
        f"\n{one.name}: {flatten_text(one.text)}\nIt is {show(before)} and would be {show(after)}, "
        "which loosens a rule for every project.\nSet it? [y/n] "
    )
    shown = cast("str", redact_value(typed))
    command = f"handrail settings set {one.name} {shlex.quote(shown)} --dry-run"
    return require_yes(rt, text, command=command, resume="handrail settings show")


OPERATION = Operation(
    name="settings.set",
    effect="gated",
    where="client",
    summary="Set a user setting. Only a person can loosen a rule.",
    input=SetSetting,
    output=SettingSet,
    perform=set_setting,
    is_persons=True,
    shape=Shape(levels={"minimal": ("key", "after")}, id_field="key", untrusted=("before", "after")),
    errors=(E_HUMAN_REQUIRED.code,),
)
