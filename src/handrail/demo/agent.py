"""The scripted agent: a process that makes the calls it is told to make and keeps the tokens in memory.

Killing it loses the tokens, as when a chat is lost. Run by the demo: `python -m handrail.demo.agent`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from handrail.demo.processes import FROM_MEMORY, Order, call_handrail, encode_line, kill_handrail


def main() -> int:
    """Take orders until stdin closes."""
    memory: dict[str, str] = {}
    sessions = os.path.join(os.environ["HANDRAIL_HOME"], "data", "sessions")
    for line in sys.stdin.buffer:
        order = msgspec.json.decode(line, type=Order)
        arguments = [memory.get(FROM_MEMORY.get(word, ""), word) for word in order.arguments]
        if order.kill is None:
            report = call_handrail(arguments)
        else:
            report = kill_handrail(arguments, order.kill, os.path.join(sessions, memory["sessionId"]))
        memory |= read_tokens(report.out)
        sys.stdout.buffer.write(encode_line(report))
        sys.stdout.buffer.flush()
    return 0


def read_tokens(out: str) -> dict[str, str]:
    """The tokens of an answer; of a list, those of the next call of its first item."""
    try:
        data = msgspec.json.decode(out).get("data", {})
    except (msgspec.DecodeError, AttributeError):
        return {}
    places: list[Any] = [data, data.get("session", {})]
    for candidate in data.get("items", [])[:1]:
        places += [candidate, candidate.get("nextCall", {}).get("params", {})]
    return {name: place[name] for place in places for name in FROM_MEMORY.values() if place.get(name)}


if __name__ == "__main__":
    sys.exit(main())
