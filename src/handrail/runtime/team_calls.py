"""A call of a project that belongs to a team goes to the server, within what the user allows here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Json, Outcome, Success
from handrail.ports.server import TeamCall
from handrail.runtime.operation import Operation, StreamItem, effect_of
from handrail.runtime.permission import Caller, require_permission
from handrail.runtime.runtime import Runtime, WritePorts


def ask_team(
    runtime: Runtime, called: Operation, params: dict[str, Json], ask: Ask, caller: Caller
) -> Outcome | None:
    """What the server answers; None: the call is not its own. Raises Fault."""
    assert runtime.team is not None, "only a machine with a team asks it"
    team, call = runtime.team(), _describe(runtime, called, params, ask, caller)
    if not team.takes(call):
        return None
    if call.effect != "read":
        require_permission(runtime.settings.of(), effect_of(called, params))
    runtime.commits.is_sent = call.effect != "read"
    answer = team.perform(call)
    runtime.commits.is_sent = False  # a stop in between leaves it, for the surface to say
    return answer


def keep_parts(
    runtime: Runtime,
    called: Operation,
    params: dict[str, Json],
    keep: Callable[[Iterator[bytes]], dict[str, Json]],
    caller: Caller,
) -> Outcome | None:
    """An answer whose long field is written elsewhere: the server sends it as a whole. Raises Fault."""
    answer = ask_team(runtime, called, params, Ask(), caller)
    if not isinstance(answer, Success) or not isinstance(answer.data, dict) or "content" not in answer.data:
        return answer
    facts = {name: value for name, value in answer.data.items() if name not in ("content", "_untrusted")}
    content = answer.data["content"]
    whole = content.encode() if isinstance(content, str) else msgspec.json.encode(content)
    return msgspec.structs.replace(answer, data=facts | keep(iter((whole,))))


def list_lines(outcome: Outcome) -> Iterator[StreamItem | Outcome]:
    """An answer that came as a whole, as the lines of a stream."""
    if isinstance(outcome, Success) and outcome.page is not None:
        yield from (StreamItem(data=item) for item in outcome.page.items)
        outcome = msgspec.structs.replace(outcome, page=None)
    yield outcome


def _describe(
    runtime: WritePorts, called: Operation, params: dict[str, Json], ask: Ask, caller: Caller
) -> TeamCall:
    return TeamCall(
        operation=called.name,
        where=called.where,
        effect=effect_of(called, params),
        params=params,
        ask=ask,
        needs_key=caller.needs_key,
        client=runtime.client,
        can_ask=runtime.can_ask,
    )
