"""What an agent pays in tokens: the tool definitions once, each step beside its prompt, and its evidence.

Counts with the estimator of the contract (LAFS 9.5.4, which overstates JSON) and with real tokenizers
whose vocabularies ship inside their packages, so nothing is downloaded while it runs: `bpe-openai`
(o200k, cl100k) and `splintr-rs` (Llama 3, DeepSeek V3). Run: `python -m bench.tokens`, or with both
`uv run --with bpe-openai==0.1.4 --with splintr-rs==0.22.0 python -m bench.tokens`. Exits 1 over a bound.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec

from bench.run_costs import GOAL, play, scratch_runtime
from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.disclosure.fields import Level
from handrail.surfaces.mcp.results import Rendered, answer_call
from handrail.surfaces.mcp.tools import offered_tools
from handrail.workflows.builtins import templates as registry
from handrail_code.mcp.tool_set import code_tool_definitions, tools

DEFINITIONS_BOUND = 1_800
CODE_DEFINITIONS_BOUND = 1_200
STEP_BOUND = 165
STEP_WITH_TOKENS_BOUND = 290
"""Four token strings on top, of about 38 tokens each by tokenizers."""
MINIMAL_BOUND = 100
ARTIFACT_BOUND = 60
"""What the frame of an artifact may add to each of them."""
EVIDENCE_BOUND = 25
"""What evidence may add to a step of an honest agent."""
HELP_BOUND = 600
LIST_ROW_BOUND = 30
"""A row of `workflow list`: its id and one sentence."""
COLD_START_BOUND = 2_000
"""What an agent with a shell reads before its first step: the page, the list, and the reply to a start."""
SKILL_START_BOUND = 1_600
"""The same with the skill, which replaces the page and names the fields of the list."""
EVIDENCE_END_BOUND = 120
"""What its sum, and what only the agent states, may add to the reply that ends a run."""
BLOCKED_BOUND = 250
"""A blocked reply beside its example: the text as it is, the structured content without its token strings."""
STANDARD = {"size": "standard"}
WHOLE_RUNS: tuple[tuple[str, dict[str, str], int], ...] = (
    ("wr.small_change", {}, 2_000),
    ("wr.feature_delivery", {}, 4_500),
    ("wr.bug_investigation", {}, 4_600),
)
"""All text read and all arguments written, with default inputs and without a refusal."""
REFUSED_RUNS: tuple[tuple[str, dict[str, str], int], ...] = (
    ("wr.bug_investigation", {}, 8_000),
    ("wr.feature_delivery", STANDARD, 9_000),
)
"""The same with three refusals, and with the tool definitions once."""
REFUSALS = 3
OF_EVIDENCE = ("checkResultId", "leftOut", "exitCode")
"""Members of builtin contracts that are there to be checked."""
WORKFLOWS = {"a step": "wr.research", "a step with an artifact": "wr.small_change"}
"""By what their second step is."""
SKILL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "skills/handrail/SKILL.md")
TOKEN = re.compile(r"\b(?:st1|ak1|ck1|ch1)[0-9a-z]{40,}")

Count: TypeAlias = Callable[[Any], int]
Row: TypeAlias = tuple[str, int, int]
"""What was measured, its tokens, and its bound."""


def main() -> int:
    """Print every figure beside its bound; 1 when one is over."""
    is_over = False
    for name, count, is_binding in counters():
        print(name if is_binding else f"{name} (for comparison)")
        for what, tokens, bound in measured(count):
            print(f"  {what:<64}{tokens:>6}  {'within' if tokens <= bound else 'OVER'} {bound}")
            is_over = is_over or (is_binding and tokens > bound)
        for tool in (*offered_tools(start_session=True).values(), *tools().values()):
            print(f"    {tool.name:<24}{count(tool.definition):>6}")
        print()
    return 1 if is_over else 0


def counters() -> Iterator[tuple[str, Count, bool]]:
    """Ways to count, and whether the bounds are meant for them; text as it is, the rest as compact JSON."""
    yield "contract estimator", lambda value: estimate_tokens(value) or 0, True
    if importlib.util.find_spec("bpe_openai") is None:
        print("bpe-openai is not installed, so o200k and cl100k do not count\n")
    else:
        library = importlib.import_module("bpe_openai")
        for name in ("o200k_base", "cl100k_base"):
            yield name, counter_of(library.get_encoding(name)), True
    if importlib.util.find_spec("splintr") is None:
        print("splintr-rs is not installed, so Llama 3 and DeepSeek V3 do not count\n")
    else:
        library = importlib.import_module("splintr")
        for name, is_binding in (("llama3", True), ("deepseek_v3", False)):
            yield name, counter_of(library.Tokenizer.from_pretrained(name)), is_binding


def counter_of(encoding: Any) -> Count:
    return lambda value: len(encoding.encode(written(value)))


def measured(count: Count) -> Iterator[Row]:
    """All definitions, then one ordinary advance without its prompt, in each channel alone."""
    definitions = [tool.definition for tool in offered_tools(start_session=True).values()]
    yield "all seven tool definitions", count(definitions), DEFINITIONS_BOUND
    yield "all five definitions of the code set", count(code_tool_definitions()), CODE_DEFINITIONS_BOUND
    for kind, workflow_id in WORKFLOWS.items():
        more = 0 if kind == "a step" else ARTIFACT_BOUND
        for mvi in ("standard", "minimal"):
            for channel, whole in channels(second_step(workflow_id, mvi)):
                what = f"{kind}, {mvi}, {channel}"
                if mvi == "minimal":
                    yield f"{what}, with token strings", count(whole), MINIMAL_BOUND + more
                else:
                    yield f"{what}, with token strings", count(whole), STEP_WITH_TOKENS_BOUND + more
                    yield f"{what}, without token strings", count(tokens_emptied(whole)), STEP_BOUND + more
    refused = blocked_reply()
    example = refused.structured["example"]
    shown = refused.text.replace(json.dumps(example, separators=(",", ":"), ensure_ascii=False), "")
    yield "a blocked reply beside its example, text", count(shown), BLOCKED_BOUND
    beside = {key: value for key, value in refused.structured.items() if key != "example"}
    yield "the same, structured, without token strings", count(tokens_emptied(beside)), BLOCKED_BOUND
    for workflow_id, context, bound in WHOLE_RUNS:
        yield f"{workflow_id}, whole", sum(map(count, play(workflow_id, context))), bound
    for workflow_id, context, bound in REFUSED_RUNS:
        texts = sum(map(count, play(workflow_id, context, REFUSALS)))
        yield f"{workflow_id}, whole, with three refusals", count(definitions) + texts, bound
    yield from measured_front_door(count)
    with_evidence = play_small_change()
    with without_evidence():
        without = [forget_evidence(reply) for reply in play_small_change()]
    added = [
        count(tokens_emptied(one)) - count(tokens_emptied(other))
        for one, other in zip(with_evidence, without, strict=True)
    ]
    yield "what evidence adds to a step, prompt included, at most", max(added[:-1]), EVIDENCE_BOUND
    yield "what evidence adds to the reply that ends a run", added[-1], EVIDENCE_END_BOUND


def measured_front_door(count: Count) -> Iterator[Row]:
    """What an agent with a shell reads first, by the commands as they print."""
    with tempfile.TemporaryDirectory() as home:
        page, listed = shell(home, "help"), shell(home, "workflow", "list", "--compact")
        names = shell(home, "workflow", "list", "--fields", "items.id", "--compact")
        context = shell(home, "context", "--compact")
        line = ("run", "start", "wr.small_change", "--goal", GOAL, "--request-id", "bench", "--compact")
        started = shell(home, *line)
    with open(SKILL, encoding="utf-8") as file:
        skill = file.read()
    rows = json.loads(listed)["data"]["items"]
    yield "the first help", count(page), HELP_BOUND
    yield "a row of the list of workflows, on average", count(rows) // len(rows), LIST_ROW_BOUND
    yield "from a shell to the first step", sum(map(count, (page, listed, started))), COLD_START_BOUND
    with_skill = sum(map(count, (skill, context, names, started)))
    yield "from a shell with the skill to the first step", with_skill, SKILL_START_BOUND


def shell(home: str, *line: str) -> str:
    """What one command prints, in a home of its own."""
    command = [sys.executable, "-m", "handrail.main", *line]
    environment = {
        **os.environ,
        "HANDRAIL_HOME": os.path.join(home, "home"),
        "HANDRAIL_PROJECT": os.path.dirname(SKILL),
    }
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, encoding="utf-8", timeout=60
    ).stdout


@contextmanager
def without_evidence() -> Iterator[None]:
    """Builtin contracts as they would be if nothing were checked beyond their schemas."""
    held = dict(registry._CONTRACTS)
    try:
        for name, spec in held.items():
            registry._CONTRACTS[name] = msgspec.structs.replace(
                spec,
                evidence=(),
                schema=forget_members(spec.schema),
                example=forget_optional(spec.example, spec.schema["required"]),
            )
        yield
    finally:
        registry._CONTRACTS.update(held)


def forget_optional(example: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """The example without what is there only to be checked; later steps may show what is required."""
    return {key: value for key, value in example.items() if key not in OF_EVIDENCE or key in required}


def forget_members(schema: Any) -> Any:
    """The schema without what is there only to be checked; what a program sends all the same is let in."""
    if isinstance(schema, list):
        return [forget_members(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    rest = {key: forget_members(value) for key, value in schema.items()}
    required = rest.get("required", [])
    gone = [name for name in OF_EVIDENCE if name in rest.get("properties", {}) and name not in required]
    if gone:
        rest["properties"] = {key: value for key, value in rest["properties"].items() if key not in gone}
        rest.pop("additionalProperties", None)
    return rest


def forget_evidence(reply: dict[str, Any]) -> dict[str, Any]:
    """The reply without the sum of its evidence."""
    rest = {key: value for key, value in reply.items() if key != "evidence"}
    if "closing" in rest:
        rest["closing"] = re.sub(
            r"; (?:evidence: |everything that can|only the agent's)[^;.]*", "", rest["closing"]
        )
    return rest


def fill(params: dict[str, Any], output: dict[str, Any]) -> dict[str, Any]:
    """The offered call with a report, and a value in every place of its context."""
    context = dict.fromkeys(params.get("context", {}), "true")
    return {**params, "output": output} | ({"context": context} if context else {})


def blocked_reply() -> Rendered:
    """The reply to a report without the artifact that its step asks for."""
    tools = offered_tools()
    with tempfile.TemporaryDirectory() as home:
        runtime, _ = scratch_runtime(home)
        start = {"workflowId": "wr.small_change", "goal": GOAL, "requestId": "bench"}
        reply = answer_call(runtime, tools, tools["start_workflow"], start, "standard")
        for _ in range(2):
            following = reply.structured["nextCall"]
            params = fill(following["params"], {"notesMarkdown": "done"})
            reply = answer_call(runtime, tools, tools[following["tool"]], params, "standard")
        assert reply.structured["kind"] == "blocked", reply.text
        return reply


def play_small_change() -> list[dict[str, Any]]:
    """The replies to an honest agent, from the start to the end, in a scratch repository."""
    tools = offered_tools()
    place = {"source": "file", "ref": "bill.py:1", "result": "It rounds once, at the end."}
    claim = {"claim": "The total is rounded once.", "status": "confirmed", "evidence": [place]}
    files = [{"path": "bill.py", "change": "added", "why": "Rounds the sum."}]
    checks = [{"command": "true", "exitCode": 0, "summary": "It is fine."}]
    reports: tuple[list[dict[str, Any]], ...] = (
        [],
        [{"kind": "wr.changed_files", "files": files, "checks": checks}],
        [{"kind": "wr.verification_report", "verdict": "passed", "claims": [claim], "notChecked": []}],
    )
    with tempfile.TemporaryDirectory() as home:
        runtime, project = scratch_runtime(home)
        start = {"workflowId": "wr.small_change", "goal": GOAL, "requestId": "bench"}
        replies = [answer_call(runtime, tools, tools["start_workflow"], start, "standard").structured]
        with open(os.path.join(project, "bill.py"), "w", encoding="utf-8") as file:
            file.write("total = round(sum(rows), 2)\n")
        for artifacts in reports:
            following = replies[-1]["nextCall"]
            output = {"notesMarkdown": "done"} | ({"artifacts": artifacts} if artifacts else {})
            params = fill(following["params"], output)
            replies.append(
                answer_call(runtime, tools, tools[following["tool"]], params, "standard").structured
            )
        assert replies[-1]["isComplete"], replies[-1]
        return [{**reply, "session": {**reply["session"], "project": ""}} for reply in replies]


def channels(reply: Rendered) -> Iterator[tuple[str, Any]]:
    """What a client that shows one channel gives the model, the text of the prompt taken out."""
    pending = reply.structured["pending"]
    yield "text", reply.text.replace(pending["prompt"], "")
    yield "structured", {**reply.structured, "pending": {**pending, "prompt": ""}}


def second_step(workflow_id: str, mvi: Level) -> Rendered:
    """The reply of an ordinary advance, in a scratch store."""
    tools = offered_tools()
    with tempfile.TemporaryDirectory() as home:
        runtime, _ = scratch_runtime(home)
        start = {"workflowId": workflow_id, "goal": GOAL, "requestId": "bench"}
        first = answer_call(runtime, tools, tools["start_workflow"], start, mvi)
        following = first.structured["nextCall"]
        params = fill(following["params"], {"notesMarkdown": "done"})
        return answer_call(runtime, tools, tools[following["tool"]], params, mvi)


def tokens_emptied(value: Any) -> Any:
    return TOKEN.sub("", value) if isinstance(value, str) else json.loads(TOKEN.sub("", json.dumps(value)))


def written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
