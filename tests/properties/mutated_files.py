"""Workflow files with seeded mutations, and what validate, simulate and a real run say about each.

Some are written in YAML or Markdown before their text is changed. `python -m tests.properties.mutated_files
10000` really runs every file that is called fine, prints the tally and each disagreement with its seed, and
exits 1 when there is one; a second number is the first seed. HANDRAIL_MUTATED_FILES makes the test go through
as many.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from handrail.contract.outcome import Failure, Success
from handrail.contract.workflow_files import WorkflowFile
from handrail.engine.history import History
from handrail.engine.navigate import Running, leaf_at
from handrail.engine.simulation.made_reports import notes_for, valid_reports
from handrail.engine.simulation.report import Limits
from handrail.engine.tips import find_tip
from handrail.host.workflow_library import DirectoryLibrary
from handrail.operations.workflow_catalog import RegistryOperations
from handrail.operations.workflows.examine_workflows import WorkflowText, examine_texts
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import read_session
from handrail.wiring import registry
from handrail.workflows.catalog import Catalog, build_catalog
from handrail.workflows.compiled import Choice, CompiledWorkflow, Delegate, Step
from handrail.workflows.limits import Spelling, spelling_of
from handrail.workflows.spellings.spelling import decode_document, write_document
from tests.conftest import library_of, memory_runtime
from tests.engine.simulation.simulated import first_start, simulate
from tests.filled_in import filled_in
from tests.operations.intended_files import FOREIGN, INTENDED, OVERLAY
from tests.workflows.test_corpus import FILES as CORPUS

SMALL = Limits(max_paths=60, max_loop_iterations=1, max_starts=4, max_positions=120)
MOST_STEPS = 40
SPELLED = 0.1
COUNT = 500
RUN_EVERY = 5
"""The tests really run every so many files that are called fine: it costs as much as fifty simulations."""


EXTENDED = {**INTENDED, "id": "project.extended"}
"""What the overlays among the files extend; it is never mutated."""


class Told(NamedTuple):
    """What three ways of looking at one file say."""

    seed: int
    is_fine: bool
    """Validate finds no error."""
    refused: str
    """Why a start refuses it; empty when it does not."""
    walks: str
    """What is wrong with the walks of the simulator; empty when nothing is."""
    run: str
    """How a real run ended: at the end, in the middle, or not tried."""


def originals(home: str) -> list[dict[str, Any]]:
    """Files that are fine: bundled, written for the tests, and public ones where they are at hand."""
    bundled = [json.loads(file.decoded) for file in DirectoryLibrary(home, {}).files("/nowhere")]
    renamed = [{**one, "id": f"project.{one['id'].rpartition('.')[2]}_copy"} for one in bundled]
    public = [json.loads(Path(path).read_bytes()) for path in CORPUS]
    public = [{**one, "id": one["id"].replace("wr.", "project.")} for one in public]
    return [INTENDED, *renamed, FOREIGN, INTENDED, *[{**OVERLAY, "extends": EXTENDED["id"]}] * 3, *public]


def mutated(document: dict[str, Any], chance: random.Random) -> tuple[str, str]:
    """The name and the text of the file: the document with one to three changes, mostly small ones.

    Sometimes the text itself is changed, and one in ten is in another spelling.
    """
    changed = copy.deepcopy(document)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        _mutate(changed, chance)
    spelling: Spelling = chance.choice(("md", "yaml")) if chance.random() < SPELLED else "json"
    try:
        text = write_document(changed, spelling, {})
    except (AttributeError, KeyError, TypeError, ValueError):  # of what is no workflow, only JSON can be made
        spelling, text = "json", json.dumps(changed, ensure_ascii=False)
    if chance.random() < (0.05 if spelling == "json" else 0.5):
        place = chance.randrange(len(text))
        text = text[:place] + chance.choice(("", ",", "'", "}", " //", "\n", "#")) + text[place + 1 :]
    return f"mutated.{spelling}", text


def _mutate(document: dict[str, Any], chance: random.Random) -> None:
    holders = list(_holders(document))
    holder = chance.choice(holders)
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    if not keys:
        return
    key = chance.choice(keys)
    match chance.randrange(8):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[_typo(str(key), chance)] = holder.pop(key)
        case 2 if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        case 3:
            other = chance.choice(holders)
            keys_there = list(other) if isinstance(other, dict) else list(range(len(other)))
            if keys_there:
                holder[key] = copy.deepcopy(other[chance.choice(keys_there)])
        case 4 if isinstance(holder, dict):
            holder[chance.choice(_KEYS)] = chance.choice(_VALUES)
        case _:
            holder[key] = _other(holder[key], chance)


_KEYS = ("when", "prompt", "title", "output", "gates", "set", "default", "enum", "lenient", "saveAs", "id")
_VALUES: tuple[Any, ...] = ("", "size", "is_large", 0, 1, -1, 3.5, True, None, [], {}, ["a"], "{{note}}")


def _other(value: Any, chance: random.Random) -> Any:
    if isinstance(value, str) and value and chance.random() < 0.7:
        return _typo(value, chance)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice((0, 1, value + 1, -value, value * 1000, str(value)))
    return copy.deepcopy(chance.choice(_VALUES))


def _typo(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text)) if text else 0
    match chance.randrange(4):
        case 0:
            return text[:place] + text[place + 1 :]
        case 1:
            return text[:place] + text[place : place + 1] * 2 + text[place + 1 :]
        case 2:
            return text.swapcase()
        case _:
            return text[:place] + chance.choice("aez_{}") + text[place:]


def _holders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _holders(inner)


class Judge:
    """The library with the bundled workflows, and what is said about one more file in it."""

    def __init__(self, home: str, run_every: int) -> None:
        self._run_every = run_every
        self._bundled = [
            *DirectoryLibrary(home, {}).files("/nowhere"),
            WorkflowFile(
                source_kind="user", source_ref="extended.json", content=json.dumps(EXTENDED).encode()
            ),
        ]
        self._catalog: Catalog = msgspec.structs.replace(
            build_catalog(self._bundled), operations=RegistryOperations(registry())
        )
        self._originals = originals(home)

    def told(self, seed: int) -> Told:
        chance = random.Random(seed)
        source, text = mutated(chance.choice(self._originals), chance)
        [examined] = examine_texts(self._catalog, [WorkflowText(source=source, text=text)])
        is_fine = all(problem.severity != "error" for problem in examined.problems)
        is_stopped = any(problem.code in _STOPPING for problem in examined.problems)
        runtime = memory_runtime()
        library_of(runtime).held = [
            *self._bundled,
            WorkflowFile(source_kind="project", source_ref=source, content=text.encode()),
        ]
        workflow = None if examined.pinned is None else examined.pinned.workflow
        workflow_id = _claimed_id(source, text) if workflow is None else workflow.id
        context = {} if workflow is None else first_start(workflow)
        outcome = perform(runtime, "run.start", {"workflowId": workflow_id, "context": context})
        refused = outcome.message if isinstance(outcome, Failure) else ""
        walks = _walks(workflow) if workflow is not None and is_fine and not is_stopped else ""
        run = "not tried"
        may_run = workflow is not None and not is_stopped and seed % self._run_every == 0
        if workflow is not None and may_run and isinstance(outcome, Success):
            run = run_to_end(runtime, workflow, outcome)
        return Told(seed=seed, is_fine=is_fine, refused=refused, walks=walks, run=run)


_STOPPING = ("impassable_gate",)
"""In a file from elsewhere these are warnings: it starts, and its author was told where it stops."""


def _claimed_id(source: str, text: str) -> str:
    """The id that a broken file has or claims to have."""
    document = decode_document(text.encode(), spelling_of(source, text.encode()))
    claimed = document.get("id") if isinstance(document, dict) else None
    return claimed if isinstance(claimed, str) and 0 < len(claimed) <= 128 else source


def _walks(workflow: CompiledWorkflow) -> str:
    report = simulate(workflow, SMALL, ("guided",))
    if report.problems:
        return f"{report.problems[0].kind}: {report.problems[0].message}"
    return "" if report.completed or report.truncated else "no walk comes to the end"


Watch = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Gets a step's id and the reply that shows it; what it returns is sent as context with the report."""


def run_to_end(
    runtime: Runtime, workflow: CompiledWorkflow, started: Success, watch: Watch = lambda *_: {}
) -> str:
    """Do every step with a report that must be enough, as far as the bound goes."""
    reply: dict[str, Any] = msgspec.to_builtins(started.data)
    for _ in range(MOST_STEPS):
        if reply["isComplete"]:
            return "complete"
        state = _state(runtime, reply)
        leaf = leaf_at(workflow, state)
        params: dict[str, Any] = {"ackToken": reply.get("ackToken"), "context": watch(leaf.id, reply)}
        if isinstance(leaf, Choice):
            params["ackToken"] = reply["pending"]["choices"][0]["token"]
        elif isinstance(leaf, Step):
            notes = notes_for(leaf.rules)
            if notes is None:
                return "nothing could be made up"
            made = valid_reports(workflow, leaf, state, notes)[0]
            named = (one.removeprefix("context.") for one in leaf.requires if one.startswith("context."))
            params["context"] |= {one: "given" for one in named if one not in workflow.inputs}
            params["output"] = {
                "notesMarkdown": made.notes,
                "artifacts": [filled_in(artifact) for artifact in made.artifacts],
            }
        elif isinstance(leaf, Delegate):
            return "delegated"
        else:
            params["output"] = {"notesMarkdown": "Ran it."}
            params["context"] |= {leaf.save_as: ["result"]} if leaf.save_as else {}
        outcome = perform(runtime, "run.continue", params)
        if isinstance(outcome, Failure):
            return f"refused at {leaf.id}: {outcome.message}"
        reply = msgspec.to_builtins(outcome.data)
        if reply["kind"] == "blocked":
            return f"blocked at {leaf.id}: {reply['blockers'][0]['message']}"
    return "bounded"


def _state(runtime: Runtime, reply: dict[str, Any]) -> Running:
    session = read_session(runtime.log, reply["session"]["sessionId"])
    assert session is not None
    history: History = session.history
    run = next(held for held in history.runs.values() if held.parent is None)  # the others are its children
    state = find_tip(history, run.run_id).state
    assert isinstance(state, Running)
    return state


def disagreement(told: Told) -> str:
    """Why the three do not agree; empty when they do."""
    if told.is_fine and told.refused:
        return f"called fine, and a start refuses it: {told.refused}"
    if told.is_fine and told.walks:
        return f"called fine, and its walks go wrong: {told.walks}"
    if told.run.startswith(("refused", "blocked")):
        return f"called fine, and a run does not go on: {told.run}"
    if not told.is_fine and not told.refused:
        return "called broken, and it starts"
    return ""


def tally(
    home: str, count: int, first: int = 0, run_every: int = RUN_EVERY
) -> tuple[Counter[str], list[str]]:
    """How many files were what, and every disagreement with its seed."""
    judge = Judge(home, run_every)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(first, first + count):
        told = judge.told(seed)
        counts["fine" if told.is_fine else "broken"] += 1
        counts[f"run {told.run.partition(' at ')[0]}"] += 1
        found = disagreement(told)
        if found:
            wrong.append(f"seed {seed}: {found}")
    return counts, wrong


def main(count: int = COUNT, first: int = 0) -> int:
    """Print the tally, in steps that show how far it is; 1 when something disagrees."""
    counted: Counter[str] = Counter()
    disagreeing: list[str] = []
    for start in range(first, first + count, COUNT):
        counts, wrong = tally("/nonexistent", min(COUNT, first + count - start), start, run_every=1)
        counted += counts
        disagreeing += wrong
        print("\n".join([*wrong, f"{counted.total() // 2} files"]), flush=True)
    print(dict(counted))
    print(f"{len(disagreeing)} disagreements")
    return 1 if disagreeing else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
