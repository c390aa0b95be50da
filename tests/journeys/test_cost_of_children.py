"""What handing out work costs where none is handed out: nothing."""

from __future__ import annotations

from typing import Any

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.journeys.conversation import advance, rehydrate
from tests.journeys.given_workflows import begin, step
from tests.journeys.interfaces import tool_call
from tests.journeys.test_delegation import child, finish, handing_out

_KEYS_OF_CHILDREN = {"children", "childrenOmitted", "workToken", "worker", "parent"}


def all_keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(all_keys, value.values()))
    return set().union(*map(all_keys, value)) if isinstance(value, list) else set()


def walk(*last: dict[str, Any]) -> tuple[Runtime, list[dict[str, Any]], list[str]]:
    """The replies of two plain steps before the last one, and the text that an agent gets for each."""
    runtime = memory_runtime()
    first = begin(runtime, step("plan"), step("write"), *last, fields={})
    replies = [first, advance(runtime, first)]
    shown = [tool_call(runtime, "continue_workflow", stateToken=one["stateToken"]).text for one in replies]
    return runtime, replies, shown


def test_a_reply_without_children_grows_by_none() -> None:
    _, plain, plain_text = walk(step("review"))
    runtime, replies, text = walk(handing_out(child("a"), child("b")), step("conclude"))
    waiting = advance(runtime, replies[-1])
    for handed in waiting["children"]:
        finish(runtime, handed)
    after = advance(runtime, rehydrate(runtime, waiting))

    assert [estimate_tokens(one) for one in replies] == [estimate_tokens(one) for one in plain]
    assert [estimate_tokens(one) for one in text] == [estimate_tokens(one) for one in plain_text]
    assert [len(one) for one in text] == [len(one) for one in plain_text]
    assert all_keys(replies) == all_keys(plain)
    assert all_keys([*replies, after]) & _KEYS_OF_CHILDREN == set()
    assert all_keys(waiting) & _KEYS_OF_CHILDREN != set()
