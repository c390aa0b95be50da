"""What stored data costs its readers, by count and never by time: twice the data, at most twice the work.

Every line of the source that runs is counted while a call is answered. A line that runs four times as often
for twice the data is work that explodes.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import msgspec
import pytest

from handrail.contract.ids import BlobRef
from handrail.contract.outcome import Failure, Success
from handrail.engine.bundles import links, pinned
from handrail.event_log.files.log import FileLog
from handrail.projections.html.elements import MOST_INVENTED_CELLS, notes_html
from handrail.projections.report import markdown
from handrail.projections.run_graph import MOST_RAILS
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import HotLog
from handrail.workflows.compiled import Contract
from handrail.workflows.contracts.heavy_parts import find_heavy_parts
from tests.conftest import GivenWorkspace, memory_runtime
from tests.engine.bundles.made import Document, rechained, repinned
from tests.engine.written_log import compiled
from tests.journeys.conversation import advance, answer, refusal, rehydrate, start
from tests.journeys.given_workflows import give, step
from tests.journeys.interfaces import command, tool_call

SMALL, LARGE = 16, 32
OFTEN = 130
"""Lines that run less often are not looked at."""
MOST_GROWTH = 2.6
Reply = dict[str, Any]
Made = tuple[Runtime, Reply, Reply]
"""Where it is, and the replies to its first and last step."""


def many_runs(count: int) -> Made:
    runtime = memory_runtime()
    first = last = start(runtime, goal="Begin")
    for number in range(count):
        last = start(runtime, session=first["session"]["sessionId"], goal=f"Run {number}")
        advance(runtime, last, "x")
    return runtime, first, last


def many_closed_runs(count: int) -> Made:
    runtime = memory_runtime()
    first = start(runtime, goal="Begin")
    for number in range(count):
        closed = start(runtime, session=first["session"]["sessionId"], goal=f"Run {number}")
        answer(runtime, "run.close", run=closed["session"]["runId"], reason="abandoned")
        forked(runtime, first)
    return runtime, first, first


def branches_in_branches(count: int) -> Made:
    """Every step but the last is left a second time, the last one first."""
    runtime = memory_runtime()
    first = last = start(runtime, workflowId=give(runtime, *(step(f"s{n}") for n in range(count + 2))))
    replies = [first]
    for _ in range(count):
        last = advance(runtime, last, "x")
        replies.append(last)
    for reply in reversed(replies[:-1]):
        forked(runtime, reply)
    return runtime, first, last


def many_keys(count: int) -> Made:
    """Every step adds keys to a context that the later steps hold."""
    runtime = memory_runtime()
    first = last = start(runtime, workflowId=give(runtime, *(step(f"s{n}") for n in range(count + 2))))
    for number in range(count):
        last = answer(
            runtime,
            "run.continue",
            ackToken=last["ackToken"],
            output={"notesMarkdown": "x"},
            context={f"key{number}_{place}": place for place in range(8)},
        )
    return runtime, first, last


def many_forks(count: int) -> Made:
    runtime = memory_runtime()
    first = last = start(runtime, goal="Begin")
    for _ in range(count):
        last = forked(runtime, first)
    return runtime, first, last


def forked(runtime: Runtime, reply: Reply) -> Reply:
    return advance(runtime, rehydrate(runtime, reply), "left")


def reads(first: Reply, last: Reply) -> dict[str, tuple[str, dict[str, Any]]]:
    session, run = first["session"]["sessionId"], first["session"]["runId"]
    return {
        "list": ("session.list", {"query": "begin"}),
        "resume": ("session.resume", {}),
        "search": ("session.resume", {"query": "(a+)+$ zebra"}),
        "show": ("session.show", {"sessionId": session}),
        "events": ("session.events", {"sessionId": session}),
        "bundle": ("session.export", {"sessionId": session}),
        "markdown": ("session.export", {"sessionId": session, "as": "markdown"}),
        "html": ("session.export", {"sessionId": session, "as": "html"}),
        "ledger": ("ledger.show", {"runId": run}),
        "ledger view": ("ledger.show", {"runId": run, "view": "state"}),
        "first step": ("run.continue", {"stateToken": first["stateToken"]}),
        "last step": ("run.continue", {"stateToken": last["stateToken"]}),
    }


def lines_run(work: Callable[[], object]) -> Counter[str]:
    counted: Counter[str] = Counter()

    def trace(frame: FrameType, _event: str, _given: object) -> Any:
        if f"{'handrail'}/" not in frame.f_code.co_filename:
            return None
        counted[f"{frame.f_code.co_filename}:{frame.f_lineno}"] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


def counts(made: Made) -> dict[str, Counter[str]]:
    runtime, first, last = made
    found = {}
    for name, (operation, params) in reads(first, last).items():
        # the first call pays for imports, which are no work of the call
        assert isinstance(perform(runtime, operation, params), Success), name
        # The default binds this call.
        found[name] = lines_run(lambda call=(operation, params): perform(runtime, *call))  # type: ignore[misc]
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("make", [many_runs, many_closed_runs, branches_in_branches, many_forks, many_keys])
def test_twice_as_much_is_at_most_twice_the_work(make: Callable[[int], Made]) -> None:
    small, large = counts(make(SMALL)), counts(make(LARGE))

    exploding = [
        f"{name}: {line} ran {small[name][line]} and then {often} times"
        for name, counted in large.items()
        for line, often in counted.items()
        if often > OFTEN and often > MOST_GROWTH * small[name][line] and small[name][line]
    ]

    assert exploding == []


@pytest.mark.thorough
def test_drawing_of_nested_branches_is_as_wide_as_its_rails() -> None:
    runtime, first, _ = branches_in_branches(3 * MOST_RAILS)
    session = first["session"]["sessionId"]

    (run,) = answer(runtime, "session.show", sessionId=session)["runs"]
    status, told = command(runtime, "session", "show", session)

    assert max(line.count("|") for line in run["graph"]) <= MOST_RAILS + 1
    assert (status, told["ok"]) == (0, True)


HEAVY = {f"a{number}": {"type": "string", "pattern": "^(ab{1,9}|[a-z]{1,900})$"} for number in range(5)}
"""About 4 500 places in 400 bytes."""


def with_contracts(document: Document, count: int) -> None:
    def add(workflow: Document) -> None:
        schema = {"type": "object", "properties": {"kind": {}, **HEAVY}}
        one = {"artifactKind": "project.x", "schema": schema, "example": {}, "guidance": "g"}
        workflow["contracts"] |= {f"project.contracts.c{number}": one for number in range(count)}

    repinned(document, add)


def refused_bundle(text: str) -> Failure:
    return refusal(memory_runtime(), "session.import", bundle={"source": "b", "text": text}, dryRun=True)


def test_contracts_too_large_together_are_refused_untried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[Contract] = []
    text = rechained(lambda document: with_contracts(document, 60))
    monkeypatch.setattr(pinned, "find_contract_problems", tried.append)

    failure = refused_bundle(text)

    assert failure.kind.code == "BUNDLE_INVALID_FORMAT"
    assert "all contracts" in failure.message
    assert tried == []


def test_file_with_contracts_too_large_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": HEAVY}
    contract = Contract(artifact_kind="project.x", schema=schema, example={}, guidance="")
    workflow = compiled("only")

    def heavy(count: int) -> list[str]:
        held = {f"c{number}": contract for number in range(count)}
        return [one.message for one in find_heavy_parts(msgspec.structs.replace(workflow, contracts=held))]

    assert heavy(40) == []
    assert "all contracts" in heavy(60)[0]


def crowded(document: Document, count: int) -> None:
    """Many more facts at the node that has one."""
    session = document["session"]
    kinds = {"gap_recorded", "capability_observed", "validation_performed", "divergence_recorded"}
    model = next(event for event in session["events"] if event["body"]["data"]["kind"] in kinds)
    for number in range(count):
        index = len(session["events"])
        session["events"].append(
            {**model, "eventIndex": index, "dedupeKey": f"{model['dedupeKey']}x{number}"}
        )
        session["manifest"].append({"eventIndex": index, "digest": ""})


@pytest.mark.parametrize(
    ("spoil", "module", "bound", "most"),
    [
        (lambda document: with_contracts(document, 1), pinned, "MOST_CONTRACT_PLACES", 10),
        (lambda document: crowded(document, 60), links, "MOST_FOLDED", 1_000),
    ],
    ids=["all workflows together", "what folding copies"],
)
def test_a_bundle_is_measured_before_it_is_folded(
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Document], Any],
    module: ModuleType,
    bound: str,
    most: int,
) -> None:
    text = rechained(spoil)
    monkeypatch.setattr(module, bound, most)

    failure = refused_bundle(text)

    assert (failure.kind.code, failure.details["limit"]) == ("BUNDLE_TOO_LARGE", most)


def test_a_table_that_invents_cells_stands_as_it_was_written() -> None:
    wide = "|a" * 300 + "|\n" + "|-" * 300 + "|\n" + "|\n" * 4_000
    honest = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 500

    assert notes_html(wide).markup.count("<td") <= MOST_INVENTED_CELLS
    assert notes_html(honest).markup.count("<td>") == 1_000


def test_page_lays_out_a_bounded_number_of_notes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(markdown, "MOST_MARKUP_ON_PAGE", 5)
    runtime = memory_runtime()
    reply = advance(runtime, start(runtime), "The *first* one.")
    advance(runtime, reply, "The *second* <b>one</b>.")

    shown = str(answer(runtime, "session.export", sessionId=reply["session"]["sessionId"], **{"as": "html"}))

    assert "<em>first</em>" in shown
    assert re.search(r"<pre><code>The \*second\* &lt;b&gt;one&lt;/b&gt;.\\n</code></pre>", shown)


def test_running_server_sees_damage_to_a_pinned_workflow(tmp_path: Path) -> None:
    def server() -> Runtime:
        return msgspec.structs.replace(memory_runtime(), log=HotLog(FileLog(str(tmp_path))))

    running = server()
    reply = advance(running, start(running), "first")
    (blob,) = (file for file in tmp_path.glob("blobs/*/*") if file.is_file())
    blob.chmod(0o600)
    blob.write_bytes(b"{}" + blob.read_bytes()[2:])

    codes = [
        refusal(runtime, "run.continue", stateToken=reply["stateToken"]).kind.code
        for runtime in (running, server())
    ]
    told = [
        tool_call(runtime, "continue_workflow", stateToken=reply["stateToken"]).text
        for runtime in (running, server())
    ]

    assert codes == ["STORE_CORRUPT"] * 2
    assert told[0] == told[1]


def advance_late(directory: Path, steps: int) -> tuple[Counter[str], Counter[str]]:
    """The lines that one advance runs near the end of a workflow of so many steps, and what it looks up."""
    looked_up: Counter[str] = Counter()

    class CountedLog(FileLog):
        def get_blob(self, ref: BlobRef) -> bytes:
            looked_up["pinned workflow"] += 1
            return super().get_blob(ref)

    class CountedWorkspace(GivenWorkspace):
        def project(self, asked: str) -> str:
            looked_up["project"] += 1
            return super().project(asked)

    runtime = msgspec.structs.replace(
        memory_runtime(), log=HotLog(CountedLog(str(directory))), workspace=CountedWorkspace()
    )
    conditional = {"runCondition": {"var": "mode", "equals": "deep"}}
    parts = [step(f"s{number}", **(conditional if number % 2 else {})) for number in range(steps)]
    reply = start(runtime, workflowId=give(runtime, *parts), context={"mode": "deep"})
    for _ in range(steps - 4):
        reply = advance(runtime, reply, "x")
    looked_up.clear()
    return lines_run(lambda: advance(runtime, reply, "x")), looked_up


def test_late_advance_in_a_server_costs_no_more(
    tmp_path: Path,
) -> None:
    short, _ = advance_late(tmp_path / "short", 12)
    long, looked_up = advance_late(tmp_path / "long", 96)

    assert long.total() < 1.2 * short.total()
    assert looked_up == {"pinned workflow": 1, "project": 1}
