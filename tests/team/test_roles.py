"""What a credential may do: its role, its kind, and the scopes of an agent's token."""

from __future__ import annotations

import pytest

from handrail.contract.accounts import Principal
from handrail.contract.outcome import Fault
from handrail.runtime.operation import Effect
from handrail.wiring import registry
from handrail_team.accounts.roles import READ, WORK, require_right


def agent(*scopes: str) -> Principal:
    return Principal(
        account="acc_a",
        name="A",
        kind="agent",
        workspace="ws_a",
        role="member",
        credential="crd_a",
        scopes=scopes,
    )


def ask(caller: Principal, name: str, effect: Effect) -> None:
    require_right(caller, registry().operation(name), effect)


@pytest.mark.parametrize("scopes", [(), (WORK,)])
def test_token_without_read_scope_reads_nothing(scopes: tuple[str, ...]) -> None:
    with pytest.raises(Fault) as refused:
        ask(agent(*scopes), "session.list", "read")

    assert "the scope read" in refused.value.message


@pytest.mark.parametrize("scopes", [(), (READ,)])
def test_token_without_work_scope_changes_nothing(scopes: tuple[str, ...]) -> None:
    with pytest.raises(Fault) as refused:
        ask(agent(*scopes), "run.start", "create")

    assert "the scope work" in refused.value.message


def test_token_does_what_its_scopes_say() -> None:
    ask(agent(READ), "session.list", "read")
    ask(agent(WORK), "run.start", "create")
