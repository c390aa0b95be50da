"""One leaf on a copy of the seeded home: its plain and previewed calls, and the ways to its codes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec

from tests.conformance.damage import BEGUN, during, keyring
from tests.conformance.forked import ForkedTool
from tests.conformance.leaf_forms import AWAY, Leaf, Way
from tests.conformance.leaves import LEAVES
from tests.conformance.seeded import NOT_READABLE, READ_FAILS, Seeded, spelt
from tests.surfaces.cli.tool import Ran, checked_document

NO_WAY = Way()
"""Succeeds, so a code that nobody knows how to get is told as missing."""
KEYRING = Way(damage=keyring)
GATED = ("gated", "dangerous")

SHARED: dict[str, Way] = {
    "E_USAGE": Way(more=("--bogus",)),
    "E_VALIDATION": Way(more=("--timeout", "0")),
    "VALIDATION_ERROR": Way(more=("--input", '{"colour":1}')),
    "FORMAT_CONFLICT": Way(more=("--json", "--human")),
    "FIELD_CONFLICT": Way(more=("--field", "a", "--fields", "a")),
    "FIELD_UNKNOWN": Way(more=("--fields", "colour_of_the_sky")),
    "EXPAND_UNKNOWN": Way(more=("--expand", "colour_of_the_sky")),
    "BUDGET_EXCEEDED": Way(more=("--budget", "bytes=1")),
    "VERSION_UNSUPPORTED": Way(more=("--schema-version", "9.0")),
    "REQUEST_TOO_LARGE": Way(more=("--input", "@BIG_FILE")),
    "E_NOT_FOUND": Way(more=("--input", "@absent.json")),
    "E_FORBIDDEN": Way(more=("--input", f"@{NOT_READABLE}")),
    "E_CONFIG": Way(environment={"HANDRAIL_FORMAT": "xml"}),
    "E_IO": Way(more=("--input", f"@{READ_FAILS}")),
    "E_TIMEOUT": Way(more=("--input", "-", "--timeout", "1"), ending="silence", plant="hasty"),
    "E_INTERRUPTED": Way(more=("--input", "-"), stdin=b"{", ending="signal"),
    "INTERNAL_ERROR": Way(plant="defect"),
    "STORE_IO_ERROR": Way(plant="disk error"),
    "STORE_PERMISSION_DENIED": Way(plant="disk denied"),
    "STORE_UNAVAILABLE": Way(environment=AWAY),
}
"""How every command comes to the codes that many declare."""


class Called:
    """A leaf, what `reference` says of it, and a copy of the home that is its own."""

    def __init__(self, path: str, declared: dict[str, Any], seeded: Seeded, folder: Path) -> None:
        self.path = path
        self.declared = declared
        self.leaf: Leaf = LEAVES[path]
        self.tool: ForkedTool = seeded.copy(folder, self.leaf.project)
        self.names = {**seeded.names, "HOME": self.tool.home}
        self._team_store = seeded.team_store

    @property
    def is_gated(self) -> bool:
        return self.declared["effect"] in GATED

    def bare(self) -> list[str]:
        """A write without its key or token; a read as it is."""
        return self.spelt(self.leaf.line)

    def safe(self) -> list[str]:
        """A call that succeeds and may be repeated: a preview where there is a gate."""
        gate = ("--dry-run",) if self.is_gated else ()
        return self.spelt((*self.leaf.line, *self.leaf.key, *self.leaf.dangerous, *gate))

    def spelt(self, line: tuple[str, ...]) -> list[str]:
        if "TEAM_STORE" in line and "TEAM_STORE" not in self.names:
            self.names["TEAM_STORE"] = self._team_store()
        if "OTHER_HOME" in line and "OTHER_HOME" not in self.names:
            self.names["OTHER_HOME"] = shutil.copytree(self.tool.home, f"{self.tool.home}-other")
        if "CURSOR" in line or "FOREIGN_PAGE" in line:
            self._find_cursors()
        if {"SCAN_TOKEN", "APPLY_TOKEN"} & {*line}:
            self._find_code_tokens()
        if {"RESUME_TOKEN", "FORMER_TOKEN", "WRITE_TOKEN"} & {*line}:
            self._find_run_tokens()
        return spelt(line, self.names)

    def _find_code_tokens(self) -> None:
        """A continuation token is good in one checkout, and this copy is another than the template."""
        found = self.tool.data("js-scan", "--search", "greet", "--ai-mode")
        rename = ("js-edit", "--file", "src/app.js", "--rename", "greet", "--to", "welcome")
        preview = self.tool.data(*rename, "--ai-mode")
        self.names |= {
            "SCAN_TOKEN": found["continuation_tokens"]["analyze:0"],
            "APPLY_TOKEN": preview["continuation_tokens"]["apply"],
        }

    def _find_run_tokens(self) -> None:
        """A run of a workflow file after its first step, and one before the step that writes."""
        first = self.tool.data(*BEGUN.split())
        former = first["continuation_tokens"]["continue"]
        report = ("--notes", "The first is done.")
        second = self.tool.data("js-tools", "--workflow-resume", former, *report)
        rename = self.tool.data("js-tools", "--workflow", "rename.json")
        self.names |= {
            "FORMER_TOKEN": former,
            "RESUME_TOKEN": second["continuation_tokens"]["continue"],
            "WRITE_TOKEN": rename["continuation_tokens"]["apply"],
            "SESSION_ID": second["session_id"],
        }

    def _find_cursors(self) -> None:
        foreign = "workflow builtins" if self.path != "workflow builtins" else "workflow list"
        own = spelt(self.leaf.page or self.leaf.line, self.names)
        self.names |= {
            "CURSOR": self._next_cursor(own),
            "FOREIGN_PAGE": self._next_cursor(foreign.split()),
        }

    def _next_cursor(self, line: list[str]) -> str:
        return str(self.tool.data(*line, "--limit", "1")["next_cursor"])

    def token(self, line: list[str]) -> str:
        """The confirm token of this line's preview."""
        return str(self.tool.data(*line, "--dry-run")["confirm_token"])

    def refused(self, way: Way) -> Ran:
        """The call that must be refused, while the damage lasts."""
        line = [*self.spelt(way.line)] if way.line else self.safe()
        if "CONFIRM_TOKEN" in way.line:
            place = way.line.index("--confirm")
            line[place + 1] = self.token(line[:place])
        line += self.spelt(way.more)
        with during(way.damage, self.tool, self.names):
            return self.tool.run(
                *line,
                stdin=way.stdin,
                environment=way.environment,
                plant=way.plant or self.leaf.plant,
                ending=msgspec.convert(way.ending, Any),
            )


def way_to(called: Called, code: str) -> Way:
    """How this command comes to this code."""
    own = called.leaf.ways.get(code)
    if own is not None:
        return own
    if code == "KEYRING_INVALID":
        return KEYRING
    if code == "E_CONFIRMATION_REQUIRED":
        return Way(line=called.leaf.line)
    if code == "E_CONFLICT":
        gate = (*called.leaf.key, *called.leaf.dangerous, "--confirm", "ct_fabricated_0000")
        return Way(line=(*called.leaf.line, *gate))
    return SHARED.get(code, NO_WAY)


def code_of(ran: Ran) -> str:
    """The code that a caller acts on: the domain's own, else the native one; empty for success."""
    document = checked_document(ran)
    if document["ok"]:
        return ""
    error = document["error"]
    return str(error["details"].get("domain_code", error["code"]))


def a_call(path: str, reference: Any, seeded: Seeded, folder: Path) -> Called:
    declared = next(command for command in reference["commands"] if command["path"] == path)
    return Called(path, declared, seeded, folder)
