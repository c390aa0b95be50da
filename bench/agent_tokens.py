"""What an agent pays in tokens: the tool definitions once, and each step beside its prompt.

Counts with the estimator of the contract (LAFS 9.5.4, which overstates JSON) and, where `tiktoken` is
installed with its data, with two tokenizers. Run: `python bench/agent_tokens.py`
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import tempfile
from collections.abc import Callable
from typing import Any

from handrail.contract.estimate import estimate_tokens
from handrail.contract.shape import Level
from handrail.surfaces.mcp.calls import answer_call
from handrail.surfaces.mcp.results import Rendered
from handrail.surfaces.mcp.tools import offered_tools, tool_definitions
from handrail.wiring import build_runtime

DEFINITIONS_BOUND = 1_800
STEP_BOUND = 120
STEP_WITH_TOKENS_BOUND = 270
MINIMAL_BOUND = 90
WORKFLOW = "wr.small_change"
TOKEN = re.compile(r"\b(?:st1|ak1|ck1|ch1)[0-9a-z]{40,}")

Count = Callable[[Any], int]


def main() -> None:
    for name, count in counters().items():
        print(f"{name}")
        show("all tool definitions", count(tool_definitions()), DEFINITIONS_BOUND)
        for definition in tool_definitions():
            print(f"    {definition['name']:<22}{count(definition):>6}")
        show_steps(count)


def counters() -> dict[str, Count]:
    """Ways to count; text as it is, anything else as compact JSON."""
    found: dict[str, Count] = {"contract estimator": lambda value: estimate_tokens(value) or 0}
    if importlib.util.find_spec("tiktoken") is None:
        print("tiktoken is not installed, so only the estimator counts\n")
        return found
    tiktoken = importlib.import_module("tiktoken")
    for name in ("o200k_base", "cl100k_base"):
        found[name] = counter_of(tiktoken.get_encoding(name))
    return found


def counter_of(encoding: Any) -> Count:
    return lambda value: len(encoding.encode(written(value)))


def show_steps(count: Count) -> None:
    """One ordinary advance, without its prompt: each channel alone, with and without token strings."""
    bounds: dict[Level, int] = {"standard": STEP_WITH_TOKENS_BOUND, "minimal": MINIMAL_BOUND}
    for mvi, bound in bounds.items():
        reply = second_step(mvi)
        text = reply.text.replace(reply.structured["pending"]["prompt"], "")
        pending = {**reply.structured["pending"], "prompt": ""}
        structured = {**reply.structured, "pending": pending}
        for channel, whole in (("text", text), ("structured", structured)):
            show(f"a step, {mvi}, {channel}, with token strings", count(whole), bound)
            if mvi == "standard":
                bare = TOKEN.sub("", whole) if isinstance(whole, str) else tokens_emptied(whole)
                show(f"a step, {mvi}, {channel}, without token strings", count(bare), STEP_BOUND)
    print()


def second_step(mvi: Level) -> Rendered:
    """The reply of an ordinary advance, in a scratch store."""
    tools = offered_tools()
    with tempfile.TemporaryDirectory() as home:
        runtime = build_runtime({**os.environ, "HANDRAIL_PROJECT": home}, home=home)
        first = answer_call(runtime, tools, tools["start_workflow"], {"workflowId": WORKFLOW}, mvi)
        following = first.structured["nextCall"]
        params = {**following["params"], "output": {"notesMarkdown": "done"}}
        return answer_call(runtime, tools, tools[following["tool"]], params, mvi)


def tokens_emptied(value: Any) -> Any:
    return json.loads(TOKEN.sub("", json.dumps(value)))


def written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def show(what: str, tokens: int, bound: int) -> None:
    verdict = "within" if tokens <= bound else "OVER"
    print(f"  {what:<52}{tokens:>6}  {verdict} {bound}")


if __name__ == "__main__":
    main()
