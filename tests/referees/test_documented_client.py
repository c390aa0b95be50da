"""The client that a page shows walks a workflow to its end, as it stands there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import StdioServerParameters

from tests.filled_in import make_named_files
from tests.house.markdown import fenced_blocks
from tests.house.tree import page
from tests.referees.test_mcp_process import environment, place

pytestmark = pytest.mark.thorough

__all__ = ["place"]

PAGE = "docs/how-to/build-on-mcp.md"
HELPERS = "docs/tutorial/first-helpers.md"


def follow(place: Path, workflow_id: str) -> tuple[dict[str, Any], list[str]]:
    """The last reply that the client of the page gets, and the steps that it did."""
    (code,) = [block for block in fenced_blocks(page(PAGE).text) if block.language == "python"]
    names: dict[str, Any] = {}
    exec(compile("\n".join(code.lines), PAGE, "exec"), names)
    names["SERVER"] = StdioServerParameters(
        command=sys.executable,
        args=["-c", "from handrail.main import console; console()", *names["SERVER"].args],
        env=environment(place),
        cwd=place,
    )
    make_named_files(place / "project")
    seen: list[str] = []

    async def work(reply: dict[str, Any]) -> dict[str, Any]:
        seen.append(f"{reply['kind']} {reply['pending']['stepId']}")
        delivered = [reply["example"]] if reply["kind"] == "blocked" else []
        return {"notesMarkdown": "Did it.", "artifacts": delivered}

    return anyio.run(names["follow"], workflow_id, "Try the page", "page-1", work), seen


def test_the_client_of_the_page_follows_a_workflow(place: Path) -> None:
    reply, seen = follow(place, "wr.small_change")

    assert reply["isComplete"] is True
    assert seen == ["ok plan", "ok change", "blocked change", "ok verify", "blocked verify"]


def test_the_client_of_the_page_does_work_that_is_handed_out(place: Path) -> None:
    (written,) = [block for block in fenced_blocks(page(HELPERS).text) if block.language == "markdown"]
    workflows = place / "project" / ".handrail" / "workflows"
    workflows.mkdir(parents=True, exist_ok=True)
    text = "\n".join(written.lines).replace("required: true", "default: the release note") + "\n"
    (workflows / "read_twice.md").write_text(text, encoding="utf-8")

    reply, seen = follow(place, "project.read_twice")

    assert reply["isComplete"] is True
    assert seen == ["ok look", "ok look", "ok read", "ok sum"]
