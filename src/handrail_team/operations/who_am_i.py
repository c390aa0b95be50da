"""`whoami`: who a call comes from, as the server of the team knows it."""

from __future__ import annotations

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import make_from
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime
from handrail.views.team import Caller
from handrail_team.operations.team_scope import spell_time


class WhoAmI(Input, frozen=True, kw_only=True):
    """The caller."""


def who_am_i(rt: Runtime, request: WhoAmI) -> Caller:
    """Who a credential stands for; without a team, whoever runs the program."""
    del request
    found = rt.principal
    if found is None:
        who = rt.workspace.account()
        return Caller(
            account=who, name=who, kind="local", agent="", machine="", workspace="", role="", scopes=[]
        )
    expires_at = spell_time(found.expires_at)
    return make_from(Caller, found, scopes=list(found.scopes), server=rt.origin, expires_at=expires_at)


OPERATION = Operation(
    name="team.whoami",
    effect="read",
    summary="Show which account of the team the calls of this project come from.",
    input=WhoAmI,
    output=Caller,
    perform=who_am_i,
    shape=Shape(levels={"minimal": ("account", "kind", "role")}, untrusted=("name", "agent")),
)
