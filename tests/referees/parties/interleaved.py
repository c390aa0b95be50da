"""Two clients at once on each door, whose request ids are the same: no answer may reach the other one."""

from __future__ import annotations

from typing import Any

import anyio
from mcp import Client

from tests.referees.clients.python_2 import target_of
from tests.referees.judged_place import Place
from tests.referees.parties.clients import PYTHON_2, version_of
from tests.referees.report import Check, Report, judged

PARTY = "two clients at once"
CALLS = 250
"""Per client; both number their requests from one."""
AT_ONCE = 8
LIMIT_SECONDS = 120


def visit(place: Place, address: str) -> list[Report]:
    stdio = {"command": place.stdio_command, "env": place.environment, "cwd": place.folder}
    doors: dict[str, dict[str, Any]] = {"stdio": stdio, "HTTP": {"url": f"{address}/mcp"}}
    reports = []
    for door, target in doors.items():
        mixed = anyio.run(_interleave, target)
        check = Check(
            name=f"{2 * CALLS} interleaved calls, each answered to its caller",
            status="failed" if mixed else "passed",
            detail="; ".join(mixed[:5]),
        )
        version = version_of(PYTHON_2[0])
        reports.append(Report(party=PARTY, version=version, target=door, checks=judged([check], {})))
    return reports


async def _interleave(target: dict[str, Any]) -> list[str]:
    """Each client asks for workflows that only it names; the refusal quotes the name."""
    mixed: list[str] = []

    async def ask(client: Client, name: str) -> None:
        result = await client.call_tool("inspect_workflow", {"workflowId": name})
        if f'"{name}"' not in getattr(result.content[0], "text", ""):
            mixed.append(f"{name} got another answer")

    async def work(client: Client, own: str, lane: int) -> None:
        for number in range(lane, CALLS, AT_ONCE):
            await ask(client, f"project.{own}_{number}")

    with anyio.fail_after(LIMIT_SECONDS):
        async with (
            Client(target_of(target), mode="legacy") as older,
            Client(target_of(target), mode="auto") as modern,
            anyio.create_task_group() as lanes,
        ):
            for lane in range(AT_ONCE):
                lanes.start_soon(work, older, "older", lane)
                lanes.start_soon(work, modern, "modern", lane)
    return mixed
