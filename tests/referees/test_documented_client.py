"""The client that a page shows walks a workflow to its end, as it stands there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import StdioServerParameters

from tests.filled_in import in_own_words, make_named_files
from tests.house.markdown import fenced_blocks
from tests.house.tree import page
from tests.referees.test_mcp_process import environment, place

pytestmark = pytest.mark.thorough

__all__ = ["place"]

PAGE = "docs/how-to/build-on-mcp.md"


def test_the_client_of_the_page_follows_a_workflow(place: Path) -> None:
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
        delivered = [in_own_words(reply["example"])] if reply["kind"] == "blocked" else []
        return {"notesMarkdown": "Did it.", "artifacts": delivered}

    reply = anyio.run(names["follow"], "wr.small_change", "Try the page", "page-1", work)

    assert reply["isComplete"] is True
    assert seen == ["ok plan", "ok change", "blocked change", "ok verify", "blocked verify"]
