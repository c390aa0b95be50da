"""A public collection of workflow files as a pinned source, unedited: what can be done with each of them.

`python -m tests.workflows.public_source FOLDER` prints the counts for any folder of such files, and exits 1
when one of them cannot be listed, validated, walked by the simulator, started, or asks too little.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from handrail.contract.outcome import Failure
from handrail.engine.judge.report_frame import AT_START, steering_values
from handrail.host.workflow_library import DirectoryLibrary
from handrail.operations.workflow_catalog import compile_entry, list_errors_in_use, load_catalog, read_entry
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.workflows.catalog import Catalog, CatalogEntry
from handrail.workflows.compiled import CompiledWorkflow, walk_parts
from tests.conftest import memory_runtime
from tests.engine.simulation.simulated import first_start, simulate
from tests.properties.mutated_files import SMALL, run_to_end

NAMESPACES = {"wr.": "workrail.", "": "workrail."}
_WHO = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")


class Used(msgspec.Struct, frozen=True, kw_only=True):
    """What was done with the files, and everything that went wrong, by file."""

    counts: Counter[str]
    wrong: list[str]


def use_collection(folder: Path, place: Path) -> Used:
    """Commit the files of a folder unedited, name the commit as a source, and use each of them."""
    runtime = _with_source(folder, place)
    catalog = load_catalog(runtime, "")
    counts: Counter[str] = Counter(files=len(list(folder.rglob("*.json"))))
    wrong: list[str] = []
    for entry in catalog.entries:
        if entry.source_kind != "git":
            continue
        counts["taken"] += 1
        problem = _use(runtime, catalog, entry, counts)
        if problem:
            wrong.append(f"{entry.source_ref}: {problem}")
    return Used(counts=counts, wrong=wrong)


def _with_source(folder: Path, place: Path) -> Runtime:
    repository, home = place / "collection", place / "home"
    shutil.copytree(folder, repository, copy_function=shutil.copyfile)
    repository.chmod(0o755)
    home.mkdir()
    for line in (("init", "-q"), ("add", "."), (*_WHO, "commit", "-q", "-m", "As they are")):
        subprocess.run(["git", *line], cwd=repository, check=True)
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True)
    source = {"kind": "git", "path": str(repository), "ref": found.stdout.decode().strip()}
    settings = {"workflowSources": [{**source, "namespaces": NAMESPACES}]}
    (home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return msgspec.structs.replace(memory_runtime(), library=DirectoryLibrary(str(home), {}))


def _use(runtime: Runtime, catalog: Catalog, entry: CatalogEntry, counts: Counter[str]) -> str:
    """What is wrong with one of them; empty where it can be used to the end."""
    source = read_entry(entry).workflow
    errors = list_errors_in_use(catalog, entry)
    if source is None or errors:
        told = [problem for problem in (*entry.problems, *errors) if problem.severity == "error"]
        return "not validated: " + "; ".join(f"{one.pointer} {one.message}" for one in told)
    counts["validated"] += 1
    pinned = compile_entry(catalog, entry, source).pinned
    assert pinned is not None, "a workflow without errors is compiled"
    workflow = pinned.workflow
    counts["calls of their own routines"] += sum(
        ".routine." in part.provenance.origin for part in walk_parts(workflow.steps)
    )
    if not entry.id.startswith("workrail."):
        return f"not under its namespace: {entry.id}"
    report = simulate(workflow, SMALL, ("guided",))
    if report.problems or not (report.completed or report.truncated):
        return f"not simulated: {[one.message for one in report.problems]}"
    counts["simulated"] += 1
    return _run(runtime, entry.id, workflow, counts)


def _run(runtime: Runtime, workflow_id: str, workflow: CompiledWorkflow, counts: Counter[str]) -> str:
    """Start it knowing nothing, and send each value with the step that asks for it."""
    values, steering = first_start(workflow), steering_values(workflow)
    early = {name: values[name] for name, held in steering.items() if AT_START in held.asked_at}
    begun = perform(runtime, "run.start", {"workflowId": workflow_id, "context": early})
    if isinstance(begun, Failure):
        return f"not started: {begun.message}"
    counts["started"] += 1
    asked = set(early)
    silent: list[str] = []

    def watch(step_id: str, reply: dict[str, Any]) -> dict[str, Any]:
        due = [name for name, held in steering.items() if step_id in held.asked_at and name not in asked]
        shown = json.dumps(reply["pending"])
        silent.extend(f"{name} at {step_id}" for name in due if name not in shown)
        asked.update(due)
        return {name: values[name] for name in due if name in values}

    ended = run_to_end(runtime, workflow, begun, watch)
    is_for_user = "the user must confirm" in ended  # nobody is there to do it
    counts["waits for the user" if is_for_user else ended.partition(" at ")[0]] += 1
    counts["values that steer"] += len(steering)
    counts["values asked for by a step"] += len(asked - set(early))
    silent += [f"{name} anywhere" for name, held in steering.items() if not held.asked_at]
    if silent:
        return f"not asked for: {', '.join(silent)}"
    return ended if ended.startswith(("refused", "blocked")) and not is_for_user else ""


def main(folder: str) -> int:
    with tempfile.TemporaryDirectory() as place:
        used = use_collection(Path(folder), Path(place))
    sys.stdout.write("\n".join([*used.wrong, json.dumps(dict(used.counts))]) + "\n")
    return 1 if used.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
