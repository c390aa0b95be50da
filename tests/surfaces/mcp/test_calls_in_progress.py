"""Calls that hang, are cancelled, are overdue or wait for a person keep nobody else waiting."""

from __future__ import annotations

import gc
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import msgspec
import pytest

from handrail.contract.workflow_files import WorkflowFile
from handrail.event_log.memory import MemoryLog
from handrail.ports.workspace import WorkflowLibrary
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.calls_in_progress import BURST_BYTES, LIMITS, Call, Limits, Outlet
from handrail.surfaces.mcp.eras import Work
from handrail.surfaces.mcp.messages import Id
from handrail.surfaces.mcp.questions import ToolCall
from tests.conftest import GivenFiles
from tests.journeys.at_a_form import REPORT
from tests.surfaces.mcp.conversations import WORKFLOW, notice, opening, request, tool
from tests.surfaces.mcp.pipes import BOUND_SECONDS, Client, connected
from tests.surfaces.mcp.test_ask import REGION, give
from tests.surfaces.mcp.test_ask import WORKFLOW as ASKS

MOST_LOOKS = 500


class StuckFiles:
    """A library whose files cannot be read until a test lets them; it counts who waits."""

    def __init__(self, files: WorkflowLibrary) -> None:
        self._files = files
        self._let = threading.Event()
        self._changed = threading.Condition()
        self.waiting = 0

    def files(self, project: str) -> Sequence[WorkflowFile]:
        with self._changed:
            self.waiting += 1
            self._changed.notify_all()
        assert self._let.wait(BOUND_SECONDS), "nobody let the library go on"
        with self._changed:
            self.waiting -= 1
            self._changed.notify_all()
        return self._files.files(project)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.waiting == count, BOUND_SECONDS)

    def let_go(self) -> None:
        self._let.set()


def stuck(runtime: Runtime) -> tuple[Adapter, StuckFiles]:
    library = StuckFiles(runtime.library)
    return Adapter(msgspec.structs.replace(runtime, library=cast(WorkflowLibrary, library))), library


@contextmanager
def opened(adapter: Adapter, limits: Limits = LIMITS, capabilities: Any = None) -> Iterator[Client]:
    with connected(adapter, limits) as client:
        first, second = opening(capabilities=capabilities)
        assert isinstance(first, dict)
        assert isinstance(second, dict)
        client.ask(first)
        client.send(second)
        yield client


def wait_for_workers() -> None:
    """Also for those whose call is over, until they have seen that."""
    for thread in threading.enumerate():
        if thread.name == "worker":
            thread.join(BOUND_SECONDS)
            assert not thread.is_alive()


def call(number: Any, name: str, **arguments: Any) -> dict[str, Any]:
    return request(number, "tools/call", tool(name, **arguments))


def started(adapter: Adapter, workflow: str = WORKFLOW) -> str:
    """The ack of a run."""
    with opened(adapter) as client:
        reply = client.ask(call(1, "start_workflow", workflowId=workflow))
    token: str = reply["result"]["structuredContent"]["ackToken"]
    return token


def test_a_ping_is_answered_while_all_workers_hang(runtime: Runtime) -> None:
    adapter, library = stuck(runtime)
    with opened(adapter) as client:
        client.send(*(call(number, "list_workflows") for number in range(20)))
        library.wait_for(LIMITS.calls_at_once)

        assert client.ask(request("p", "ping")) == {"jsonrpc": "2.0", "id": "p", "result": {}}

        library.let_go()
        answered = {client.heard()["id"] for _ in range(20)}
    assert answered == set(range(20))


def test_overdue_call_hears_that_its_outcome_is_unknown(
    runtime: Runtime,
) -> None:
    adapter, library = stuck(runtime)
    with opened(adapter, msgspec.structs.replace(LIMITS, call_seconds=0.02)) as client:
        told = client.ask(call(1, "list_workflows"))["result"]
        library.let_go()
        library.wait_for(0)
        client.hang_up()

        assert client.rest() == b""
    assert told["isError"]
    assert told["structuredContent"]["code"] == "E_TIMEOUT"
    assert told["content"][0]["text"].splitlines()[:2] == [
        "E_TIMEOUT: The call took more than 0.02 seconds; its outcome is unknown.",
        "fix: Repeat the call: what was stored is answered again, what was not is done.",
    ]


def test_a_listing_that_is_overdue_is_refused(runtime: Runtime) -> None:
    adapter, library = stuck(runtime)
    with opened(adapter, msgspec.structs.replace(LIMITS, call_seconds=0.02)) as client:
        refused = client.ask(request(1, "prompts/list"))["error"]
        library.let_go()

    assert refused["code"] == -32603
    assert refused["data"]["code"] == "E_TIMEOUT"


def test_cancelled_call_changes_nothing_and_frees_its_worker(runtime: Runtime) -> None:
    adapter, library = stuck(runtime)
    with opened(adapter, msgspec.structs.replace(LIMITS, calls_at_once=1)) as client:
        client.send(call(1, "start_workflow", workflowId=WORKFLOW))
        library.wait_for(1)
        client.send(notice("notifications/cancelled", requestId="1"))

        served = client.ask(call(2, "resume_session"))

        library.let_go()
        library.wait_for(0)
        client.hang_up()
        assert client.rest() == b""
    wait_for_workers()
    assert served["id"] == 2
    assert not cast(MemoryLog, runtime.log).list_sessions()


def test_call_cancelled_before_its_worker_is_never_begun(runtime: Runtime) -> None:
    adapter, library = stuck(runtime)
    with opened(adapter, msgspec.structs.replace(LIMITS, calls_at_once=1)) as client:
        client.send(call(1, "list_workflows"), call(2, "list_workflows"), call(3, "resume_session"))
        library.wait_for(1)
        client.send(notice("notifications/cancelled", requestId=2))
        assert client.ask(request(4, "ping"))["id"] == 4  # so the cancellation was heard

        library.let_go()

        assert [client.heard()["id"] for _ in range(2)] == [1, 3]


def test_the_check_before_a_commit_ends_a_cancelled_call(runtime: Runtime) -> None:
    """The lock is given back, and the run stands where it stood."""
    token = started(Adapter(runtime))
    under_way = Call(Id(text=b"1", key=1), Work(perform=lambda *_: {}), 1, None, cast(Outlet, None))
    under_way.is_cancelled = True
    given_up = msgspec.structs.replace(runtime, interruptions=under_way)

    refused = Adapter(runtime).call_tool(given_up, _continuing(token), "never")
    served = Adapter(runtime).call_tool(runtime, _continuing(token), "never")

    assert isinstance(refused, dict)
    assert isinstance(served, dict)
    assert refused["structuredContent"]["code"] == "E_INTERRUPTED"
    assert refused["structuredContent"]["message"] == "The client cancelled the call; nothing was changed."
    assert served["structuredContent"]["pending"]["stepId"] == "second"


def _continuing(token: str) -> ToolCall:
    return ToolCall(
        name="continue_workflow", arguments={"ackToken": token, "output": {"notesMarkdown": "done"}}
    )


def test_calls_beyond_the_limit_leave_no_worker(runtime: Runtime) -> None:
    adapter, library = stuck(runtime)
    with opened(adapter, msgspec.structs.replace(LIMITS, calls_at_once=1, hanging_calls=0)) as client:
        client.send(call(1, "list_workflows"))
        library.wait_for(1)
        client.send(notice("notifications/cancelled", requestId=1))

        refused = client.ask(call(2, "list_workflows"))["error"]

        assert refused["data"]["code"] == "SERVER_BUSY"
        assert client.ask(request(3, "ping"))["id"] == 3
        library.let_go()


def test_a_question_to_a_person_keeps_no_worker(runtime: Runtime) -> None:
    give(runtime, REGION)
    adapter = Adapter(runtime)
    token = started(adapter, ASKS)
    limits = msgspec.structs.replace(LIMITS, calls_at_once=1, hanging_calls=0)
    with opened(adapter, limits, {"elicitation": {}}) as client:
        asked = client.ask(call(1, "continue_workflow", ackToken=token, output=REPORT))
        assert asked["method"] == "elicitation/create"

        meanwhile = client.ask(call(2, "list_workflows"))

        assert meanwhile["id"] == 2
        answer = {"action": "accept", "content": {"region": "eu"}}
        reply = client.ask({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
    assert reply["id"] == 1
    assert reply["result"]["structuredContent"]["pending"]["stepId"] == "go"


def asked_and(runtime: Runtime, then: Callable[[Client, dict[str, Any]], None], **limits: float) -> bytes:
    """Everything that is heard after a question, when the client does `then`."""
    give(runtime, REGION)
    adapter = Adapter(runtime)
    token = started(adapter, ASKS)
    with opened(adapter, msgspec.structs.replace(LIMITS, **limits), {"elicitation": {}}) as client:
        asked = client.ask(call(1, "continue_workflow", ackToken=token, output=REPORT))
        then(client, asked)
        client.hang_up()
        return client.rest()


def test_cancelled_call_takes_its_question_back(runtime: Runtime) -> None:
    def cancel(client: Client, asked: dict[str, Any]) -> None:
        client.send(notice("notifications/cancelled", requestId=1))
        taken_back = client.heard()
        assert taken_back["method"] == "notifications/cancelled"
        assert taken_back["params"]["requestId"] == asked["id"]
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}})

    assert asked_and(runtime, cancel) == b""


def test_nobody_answers_in_time_and_the_blocked_reply_stands(runtime: Runtime) -> None:
    def wait(client: Client, asked: dict[str, Any]) -> None:
        heard = [client.heard(), client.heard()]
        taken_back = next(each for each in heard if "method" in each)
        reply = next(each for each in heard if "result" in each)
        assert taken_back["params"] == {"requestId": asked["id"], "reason": "nobody answered"}
        assert reply["result"]["structuredContent"]["kind"] == "blocked"

    assert asked_and(runtime, wait, answer_seconds=0.02) == b""


@pytest.mark.parametrize(
    "answer",
    [
        {"error": {"code": -32603, "message": "no window"}},
        {"result": []},
        {"result": {}},
        {"result": {"action": "maybe"}},
        {"result": {"action": "accept", "content": {"region": {"deep": 1}}}},
    ],
    ids=json.dumps,
)
def test_a_client_that_cannot_ask_leaves_the_blocked_reply(runtime: Runtime, answer: Any) -> None:
    def reply(client: Client, asked: dict[str, Any]) -> None:
        told = client.ask({"jsonrpc": "2.0", "id": asked["id"], **answer})
        assert told["result"]["structuredContent"]["kind"] == "blocked"

    assert asked_and(runtime, reply) == b""


# A person who is asked to confirm a step

CONFIRMED = {"action": "accept", "content": {"confirm": True}}


def at_confirmation(adapter: Adapter) -> dict[str, Any]:
    """The reply of a run whose pending step asks for a confirmation."""
    with opened(adapter) as client:
        reply = client.ask(call(1, "start_workflow", workflowId=WORKFLOW))
        for number in (2, 3):
            reply = client.ask(
                call(number, "continue_workflow", **_ack(reply["result"]["structuredContent"]))
            )
    content: dict[str, Any] = reply["result"]["structuredContent"]
    return content


def _ack(reply: dict[str, Any]) -> dict[str, Any]:
    return {"ackToken": reply["nextCall"]["params"]["ackToken"], "output": REPORT}


def answers_of(runtime: Runtime, reply: dict[str, Any]) -> list[str]:
    loaded = runtime.log.load(reply["session"]["sessionId"])
    assert loaded is not None
    stored = [json.loads(record.body)["data"] for record in loaded.records]
    return [fact["answer"] for fact in stored if fact["kind"] == "confirmation_recorded"]


def test_session_goes_on_while_a_person_is_asked(runtime: Runtime) -> None:
    adapter = Adapter(runtime)
    third = at_confirmation(adapter)
    limits = msgspec.structs.replace(LIMITS, calls_at_once=1, hanging_calls=0)
    with opened(adapter, limits, {"elicitation": {}}) as client:
        asked = client.ask(call(1, "continue_workflow", **_ack(third)))
        assert asked["method"] == "elicitation/create"

        saved = client.ask(
            call(2, "checkpoint_workflow", checkpointToken=third["checkpointToken"], output=REPORT)
        )
        other = client.ask(call(3, "start_workflow", workflowId=WORKFLOW, goal="something else"))

        assert (saved["id"], saved["result"]["isError"]) == (2, False)
        assert (other["id"], other["result"]["isError"]) == (3, False)
        reply = client.ask({"jsonrpc": "2.0", "id": asked["id"], "result": CONFIRMED})
    assert reply["result"]["structuredContent"]["isComplete"] is True


def test_many_questions_take_no_slot(runtime: Runtime) -> None:
    adapter = Adapter(runtime)
    waiting = [at_confirmation(adapter) for _ in range(12)]
    limits = msgspec.structs.replace(LIMITS, calls_at_once=2, hanging_calls=0)
    with opened(adapter, limits, {"elicitation": {}}) as client:
        client.send(
            *(call(number, "continue_workflow", **_ack(reply)) for number, reply in enumerate(waiting))
        )
        questions = [client.heard() for _ in waiting]
        assert {question["method"] for question in questions} == {"elicitation/create"}

        assert client.ask(call("free", "list_workflows"))["id"] == "free"

        client.send(
            *({"jsonrpc": "2.0", "id": one["id"], "result": CONFIRMED} for one in reversed(questions))
        )
        replies = [client.heard() for _ in waiting]
    assert sorted(reply["id"] for reply in replies) == list(range(12))
    assert all(reply["result"]["structuredContent"]["isComplete"] for reply in replies)


def test_cancelled_question_records_nothing_and_is_asked_again(runtime: Runtime) -> None:
    adapter = Adapter(runtime)
    third = at_confirmation(adapter)
    with opened(adapter, LIMITS, {"elicitation": {}}) as client:
        asked = client.ask(call(1, "continue_workflow", **_ack(third)))
        client.send(notice("notifications/cancelled", requestId=1))
        assert client.heard()["method"] == "notifications/cancelled"
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": CONFIRMED})
        assert client.ask(request("p", "ping"))["id"] == "p"
        assert answers_of(runtime, third) == []

        again = client.ask(call(2, "continue_workflow", **_ack(third)))
        reply = client.ask({"jsonrpc": "2.0", "id": again["id"], "result": CONFIRMED})

    assert again["params"] == asked["params"]
    assert reply["result"]["structuredContent"]["isComplete"] is True
    assert answers_of(runtime, third) == ["confirmed"]


@pytest.mark.parametrize("limits", [{"answer_seconds": 0.02}, {}], ids=["nobody in time", "end of input"])
def test_unanswered_question_leaves_the_blocked_reply(runtime: Runtime, limits: dict[str, float]) -> None:
    adapter = Adapter(runtime)
    third = at_confirmation(adapter)
    with opened(adapter, msgspec.structs.replace(LIMITS, **limits), {"elicitation": {}}) as client:
        client.ask(call(1, "continue_workflow", **_ack(third)))
        heard = [client.heard(), client.heard()] if limits else []
        client.hang_up()
        heard += [json.loads(line) for line in client.rest().splitlines()]

    (reply,) = [each["result"]["structuredContent"] for each in heard if "result" in each]
    assert reply["kind"] == "blocked"
    assert answers_of(runtime, third) == []


def test_second_question_after_the_end_of_input_is_not_asked(runtime: Runtime) -> None:
    give(runtime, REGION, is_confirmed=True)
    adapter = Adapter(runtime)
    token = started(adapter, ASKS)
    with opened(adapter, LIMITS, {"elicitation": {}}) as client:
        asked = client.ask(call(1, "continue_workflow", ackToken=token, output=REPORT))
        assert "region" in asked["params"]["requestedSchema"]["properties"]
        answer = {"action": "accept", "content": {"region": "eu"}}
        client.send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
        client.hang_up()
        heard = [json.loads(line) for line in client.rest().splitlines()]

    (reply,) = [each["result"]["structuredContent"] for each in heard if "result" in each]
    assert reply["kind"] == "blocked"
    assert reply["blockers"][0]["pointer"] == {"kind": "workflow_step", "stepId": "pick"}


def test_everything_is_answered_though_little_is_read_ahead(runtime: Runtime) -> None:
    """With room for one answer at a time a flood only waits; notifications take no room at all."""
    limits = msgspec.structs.replace(LIMITS, owed_answers=1)
    sent = [
        message
        for number in range(60)
        for message in (call(number, "list_workflows"), notice("notifications/x"))
    ]
    with opened(Adapter(runtime), limits) as client:
        writer = threading.Thread(target=lambda: client.send(*sent), daemon=True)
        writer.start()
        answered = [client.heard()["id"] for _ in range(60)]
        writer.join(BOUND_SECONDS)

    assert sorted(answered) == list(range(60))


def test_deaf_client_ends_the_server_though_a_call_hangs(runtime: Runtime) -> None:
    adapter, library = stuck(runtime)
    client = Client(adapter, LIMITS)
    client.send(*(each for each in opening() if isinstance(each, dict)), call(1, "list_workflows"))
    library.wait_for(1)

    client.stop_listening()

    assert client.ended()
    library.let_go()
    client.hang_up()


def test_end_of_input_waits_a_bounded_time_for_a_call(runtime: Runtime) -> None:
    adapter, library = stuck(runtime)
    with opened(adapter, msgspec.structs.replace(LIMITS, last_answers_seconds=0.02)) as client:
        client.send(call(1, "list_workflows"))
        library.wait_for(1)
        client.hang_up()

        assert client.rest() == b""
        library.let_go()


def test_after_a_burst_memory_is_given_back_once_nothing_is_owed(runtime: Runtime) -> None:
    with opened(Adapter(runtime)) as client:
        client.ask(call(1, "list_workflows"))
        assert not client.tidied.is_set()

        client.ask(call(2, "list_workflows", query="x" * BURST_BYTES))

        assert client.tidied.wait(BOUND_SECONDS)
        assert client.ask(request(3, "ping"))["id"] == 3


def test_a_worker_keeps_nothing_of_its_last_call(runtime: Runtime) -> None:
    with opened(Adapter(runtime)) as client:
        client.ask(call(1, "list_workflows"))

        assert any(_no_call_is_kept() for _ in range(MOST_LOOKS))  # the worker may still be on its way back


def _no_call_is_kept() -> bool:
    gc.collect()
    return not any(isinstance(each, Call) for each in gc.get_objects())


def test_progress_goes_to_a_client_that_asked_for_it() -> None:
    reading, writing = os.pipe()
    with os.fdopen(os.dup(writing), "wb", 0) as wake:
        outlet = Outlet(writing, wake)
        for token in ("p", None):
            work = Work(perform=lambda *_: {}, progress_token=token)
            under_way = Call(Id(text=b"1", key=1), work, 1, None, outlet)
            under_way.report(1, 3, "parts done")
            under_way.is_over = True
            under_way.report(2, 3, "parts done")
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        heard = [json.loads(line) for line in file]

    assert heard == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {"progressToken": "p", "progress": 1, "message": "parts done", "total": 3},
        }
    ]


def test_a_defect_in_an_operation_is_an_answer(runtime: Runtime) -> None:
    class Broken(GivenFiles):
        def files(self, project: str) -> Sequence[WorkflowFile]:
            raise RuntimeError("secret details")

    adapter = Adapter(msgspec.structs.replace(runtime, library=Broken()))
    with opened(adapter) as client:
        result = client.ask(call(1, "list_workflows"))["result"]
        refused = client.ask(request(2, "prompts/list"))["error"]

    assert result["structuredContent"]["code"] == "INTERNAL_ERROR"
    assert refused["code"] == -32603
    assert "secret" not in json.dumps([result, refused])
