"""Every command line of the agent skill runs as it stands, in its order, against a real home."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from tests.conftest import THREE_STEPS
from tests.filled_in import make_named_files
from tests.house.markdown import fenced_blocks
from tests.house.tree import ROOT, markdown_files, page
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
    with open(f"{tool.project}/artifacts.json", "wb") as file:
        file.write(b"[]")
    with open(f"{tool.project}/notes.md", "wb") as file:
        file.write(b"Looked at it.\n")
    return {
        "ACK_TOKEN": started["ackToken"],
        "STATE_TOKEN": started["stateToken"],
        "CHECKPOINT_TOKEN": started["checkpointToken"],
        "SESSION_ID": started["session"]["sessionId"],
    }


@pytest.mark.promise("cli.pages-run")
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.thorough
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
            names["CONFIRM_TOKEN"] = previewed.get("confirm_token", "")


def test_a_whole_run_needs_nothing_but_what_the_skill_says(fresh_tool: Tool) -> None:
    """Start, continue, artifacts as a file, the token of a blocked answer: the loop as it is told."""
    make_named_files(fresh_tool.project)
    replies = [fresh_tool.data("run", "start", "wr.small_change", "--request-id", "whole", "--compact")]

    while not replies[-1]["isComplete"] and len(replies) < 20:
        newest = replies[-1]
        token = newest.get("retryAckToken") or newest["ackToken"]
        line = ["run", "continue", "--ack", token, "--notes", "Did what the prompt says."]
        if newest["kind"] == "blocked":
            with open(f"{fresh_tool.project}/artifacts.json", "w", encoding="utf-8") as file:
                json.dump([newest["example"]], file)
            line += ["--artifacts", "@artifacts.json"]
        replies.append(fresh_tool.data(*line))

    assert [reply["kind"] for reply in replies].count("blocked") == 2
    assert replies[-1]["isComplete"] is True
    assert replies[-1]["nextIntent"] == "complete"


@pytest.mark.promise("cli.aliases")
def test_no_page_recommends_a_compatibility_spelling() -> None:
    """CLI 14: aliases may exist, but new pages show the one way."""
    texts = {source.path: source.text for source in markdown_files() if "/reference/" not in source.path}
    shown = [
        (path, line)
        for path, text in texts.items()
        for block in fenced_blocks(text)
        for line in block.lines
        if line.lstrip("$ ").startswith("handrail ") and "--json" in line.split()
    ]

    assert len(texts) > 20
    assert shown == []
