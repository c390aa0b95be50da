"""Every command line of the agent skill runs as it stands, in its order, against a real home."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from tests.conftest import THREE_STEPS
from tests.house.markdown import fenced_blocks
from tests.house.tree import ROOT, page
from tests.surfaces.cli.tool import Tool
from tools.packed_files import skill_files

PAGES = [name for name in skill_files(ROOT) if name.endswith(".md")]


def lines_of(name: str) -> list[str]:
    blocks = fenced_blocks(page(f"skills/handrail/{name}").text)
    return [line for block in blocks for line in block.lines]


def seeded(tool: Tool) -> dict[str, str]:
    """A home with a run, and what the words in capitals stand for."""
    goal = ("--goal", "parser review")
    started: Any = tool.data("run", "start", "wr.small_change", *goal, "--request-id", "seed")
    with open(f"{tool.project}/my_check.json", "wb") as file:
        file.write(THREE_STEPS)
    return {
        "ACK_TOKEN": started["ackToken"],
        "STATE_TOKEN": started["stateToken"],
        "CHECKPOINT_TOKEN": started["checkpointToken"],
        "SESSION_ID": started["session"]["sessionId"],
    }


@pytest.mark.parametrize("name", PAGES)
def test_every_line_of_a_page_runs(fresh_tool: Tool, name: str) -> None:
    names = seeded(fresh_tool)
    lines = lines_of(name)
    assert lines

    for line in lines:
        words = [names.get(word, word) for word in shlex.split(line)]
        ran = fresh_tool.run(*words[1:])
        assert (ran.status, ran.err) == (0, b""), (line, ran.out)
        if "--dry-run" in words:
            previewed = fresh_tool.data(*words[1:])
            names["CONFIRM_TOKEN"] = previewed["confirm_token"]
