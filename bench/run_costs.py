"""What a whole run of each bundled workflow costs: all text that an agent reads and all arguments it writes.

The cheapest run is the one with default inputs, in which every report passes at once. Notes have about 500
characters, and are written where a step asks for them. Tool definitions are not in it: a client pays for
them once, however many runs follow. Run: `python -m bench.run_costs`; it prints the figures, and writes them
into the pages of `docs/workflows/`, rounded up.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import msgspec

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.host.workflow_library import list_bundled_files
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.results import answer_call
from handrail.surfaces.mcp.tools import offered_tools
from handrail.wiring import build_runtime
from handrail.workflows.builtins import templates as registry
from tests.filled_in import filled_in, make_named_files
from tests.surfaces.mcp.scripted_agents import answered
from tools.workflow_pages import PAGES, page_of, read_document

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOAL = "Round the invoice total only once"
NOTES = ("Given a bill of 3 rows, when it is printed, then the total is rounded once. " * 7)[:500]
HOME = "/srv/work"
LONGEST_RUN = 60
ROUNDED_TO = 50


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    steps: int
    tokens: int


def main() -> int:
    """Print the costs and write them into the pages."""
    for file in list_bundled_files():
        workflow_id = file.source_ref.removesuffix(".md")
        if any("delegate" in part for part in read_document(ROOT, file.source_ref)["steps"]):
            continue  # what it costs depends on who does the work
        cost = cheapest_run(workflow_id)
        print(f"{workflow_id:<36}{cost.steps:>4}{cost.tokens:>8}")
        write_cost(workflow_id, cost)
    return 0


def cheapest_run(workflow_id: str) -> Cost:
    """The cost of the run with default inputs."""
    inputs = read_document(ROOT, f"{workflow_id}.md")["inputs"]
    needed = [name for name, spec in inputs.items() if spec.get("required") and not spec.get("fromGoal")]
    values = list(play(workflow_id, dict.fromkeys(needed, GOAL)))
    return Cost(steps=len(values) // 2 - 1, tokens=sum(estimate_tokens(value) or 0 for value in values))


def say_cost(cost: Cost) -> str:
    steps = "1 step" if cost.steps == 1 else f"{cost.steps} steps"
    return f"The cheapest run: {steps}, about {say_tokens(cost)} tokens read and written."


def say_tokens(cost: Cost) -> str:
    rounded = -(-cost.tokens // ROUNDED_TO) * ROUNDED_TO
    return f"{rounded:,}".replace(",", " ")


def write_cost(workflow_id: str, cost: Cost) -> None:
    own = re.compile(rf"(Its id is `{workflow_id}`\.\n\n)The cheapest run: .*")
    page = page_of(workflow_id).partition("#")[0]
    _rewrite(os.path.join(ROOT, PAGES, page), lambda text: own.sub(rf"\g<1>{say_cost(cost)}", text))
    row = re.compile(rf"^(\| \[`{workflow_id}`\].* \| )[0-9]+ \| [0-9 ]+ \|$", re.MULTILINE)
    told = rf"\g<1>{cost.steps} | {say_tokens(cost)} |"
    _rewrite(os.path.join(ROOT, PAGES, "index.md"), lambda text: row.sub(told, text))


def _rewrite(path: str, change: Any) -> None:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(change(text))


def play(workflow_id: str, context: dict[str, Any], refusals: int = 0) -> Iterator[Any]:
    """What an agent writes and reads, in turn, until a run ends; so often it forgets what a step asks for."""
    tools, left = offered_tools(), refusals
    examples = {spec.artifact_kind: spec.example for spec in registry._CONTRACTS.values()}
    with tempfile.TemporaryDirectory() as home:
        runtime, project = scratch_runtime(home)
        params: dict[str, Any] = {"workflowId": workflow_id, "goal": GOAL, "requestId": "bench"}
        params |= {"context": context} if context else {}
        tool = "start_workflow"
        for _ in range(LONGEST_RUN):
            reply = answer_call(runtime, tools, tools[tool], params, "standard")
            yield from (params, reply.text.replace(home, HOME))  # else the cost depends on the machine
            assert not reply.is_error, reply.text
            if reply.structured["isComplete"]:
                return
            make_named_files(project)
            following = reply.structured["nextCall"]
            tool, offered = following["tool"], following.get("options", [following])[0]["params"]
            asked = offered.get("output", {}).get("artifacts", [])
            is_forgotten = bool(asked) and left > 0
            left -= is_forgotten
            shown, prompt = reply.structured.get("example", {}), reply.structured["pending"].get("prompt", "")
            known = examples | {shown.get("kind", ""): shown}
            params = _answer(offered, prompt, [] if is_forgotten else asked, known)
    raise AssertionError(f"{workflow_id} does not end")


def _answer(
    offered: dict[str, Any], prompt: str, asked: list[dict[str, Any]], examples: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """The offered call, filled in: of the values that the prompt asks for, the first that may be."""
    has_notes = "notesMarkdown" in offered.get("output", {})
    output: dict[str, Any] = {"notesMarkdown": NOTES} if has_notes else {}
    if asked:
        known = [{name: one[name] for name in ("loopId", "capability") if name in one} for one in asked]
        output["artifacts"] = [
            filled_in(examples[one["kind"]]) | held | _passing(one["kind"])
            for one, held in zip(asked, known, strict=True)
        ]
    return answered(offered, prompt) | {"output": output or {"notesMarkdown": NOTES}}


def _passing(kind: str) -> dict[str, Any]:
    """What lets a run end soon."""
    return {"verdict": "approve"} if kind == "wr.review_findings" else {}


def scratch_runtime(home: str) -> tuple[Runtime, str]:
    """A store and a repository beside it. A fixed key makes the same tokens in every run, to be compared."""
    project = os.path.join(home, "project")
    subprocess.run(["git", "init", "-q", project], check=True)
    surroundings = {**os.environ, "HANDRAIL_PROJECT": project, "AI_NATIVE_CLI_SECRET": "b" * 32}
    return build_runtime(surroundings, home=os.path.join(home, "store")), project


if __name__ == "__main__":
    sys.exit(main())
