"""What an agent pays in tokens: the tool definitions once, and each step beside its prompt.

Counts with the estimator of the contract (LAFS 9.5.4, which overstates JSON) and with real tokenizers
whose vocabularies ship inside their packages, so nothing is downloaded while it runs: `bpe-openai`
(o200k, cl100k) and `splintr-rs` (Llama 3, DeepSeek V3). Run: `python bench/tokens.py`, or with both
`uv run --with bpe-openai==0.1.4 --with splintr-rs==0.22.0 python bench/tokens.py`. Exits 1 over a bound.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.disclosure.fields import Level
from handrail.surfaces.mcp.calls import answer_call
from handrail.surfaces.mcp.results import Rendered
from handrail.surfaces.mcp.tools import offered_tools
from handrail.wiring import build_runtime

DEFINITIONS_BOUND = 1_800
STEP_BOUND = 165
STEP_WITH_TOKENS_BOUND = 290
"""Four token strings on top, of about 38 tokens each by tokenizers."""
MINIMAL_BOUND = 100
ARTIFACT_BOUND = 60
"""What the frame of an artifact may add to each of them."""
WORKFLOWS = {"a step": "wr.bug_investigation", "a step with an artifact": "wr.small_change"}
"""By what their second step is."""
GOAL = "Round the invoice total only once"
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
        for tool in offered_tools(start_session=True).values():
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


def channels(reply: Rendered) -> Iterator[tuple[str, Any]]:
    """What a client that shows one channel gives the model, the text of the prompt taken out."""
    pending = reply.structured["pending"]
    yield "text", reply.text.replace(pending["prompt"], "")
    yield "structured", {**reply.structured, "pending": {**pending, "prompt": ""}}


def second_step(workflow_id: str, mvi: Level) -> Rendered:
    """The reply of an ordinary advance, in a scratch store."""
    tools = offered_tools()
    with tempfile.TemporaryDirectory() as home:
        # A fixed key and request make the same ids and tokens in every run, so figures can be compared.
        surroundings = {**os.environ, "HANDRAIL_PROJECT": home, "AI_NATIVE_CLI_SECRET": "b" * 32}
        runtime = build_runtime(surroundings, home=home)
        start = {"workflowId": workflow_id, "goal": GOAL, "requestId": "bench"}
        first = answer_call(runtime, tools, tools["start_workflow"], start, mvi)
        following = first.structured["nextCall"]
        params = {**following["params"], "output": {"notesMarkdown": "done"}}
        return answer_call(runtime, tools, tools[following["tool"]], params, mvi)


def tokens_emptied(value: Any) -> Any:
    return TOKEN.sub("", value) if isinstance(value, str) else json.loads(TOKEN.sub("", json.dumps(value)))


def written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main())
